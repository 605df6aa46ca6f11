/** Doc comments, taken apart. */

export interface Doc {
  /** What stands before the first tag, and behind `@see`, which is a part of the sentence. */
  readonly text: string
  readonly default?: string
  readonly throws: readonly string[]
  readonly params: ReadonlyMap<string, string>
  readonly returns?: string
  readonly examples: readonly string[]
  readonly deprecated?: string
  readonly isInternal: boolean
}

const TAG = /(?<=^|\s)@(?<tag>default|throws|param|returns|example|see|deprecated|internal)\b[ \t]*/g
const COMMENT = /\/\*\*(?<body>(?:(?!\*\/).)*)\*\/\s*(?:\/\/[^\n]*\s*|\/\*(?!\*)(?:(?!\*\/).)*\*\/\s*)*$/s

/** The comment that ends right before a place; comments of tools may stand between. */
export function docBefore(source: string, place: number): Doc | undefined {
  const start = source.lastIndexOf('/**', place)
  if (start === -1) return undefined
  const body = COMMENT.exec(source.slice(start, place))?.groups?.['body']
  return body === undefined ? undefined : readDoc(body)
}

/** Reads what stands between `/**` and its end. */
export function readDoc(body: string): Doc {
  const lines = body.split('\n').map((line) => line.replace(/^\s*\* ?/, '').trimEnd())
  const text = lines.join('\n').trim()
  const tags = [...text.matchAll(TAG)]
  const pieces = tags.map(({ index, groups, 0: all }, at) => ({
    tag: groups?.['tag'] ?? '',
    text: text.slice(index + all.length, tags[at + 1]?.index).trim(),
  }))
  const of = (tag: string) => pieces.filter((piece) => piece.tag === tag).map((piece) => piece.text)
  const [given] = of('default')
  const [returns] = of('returns')
  const [deprecated] = of('deprecated')
  const sentences = [text.slice(0, tags[0]?.index).trim(), ...of('see').map((target) => `See ${ended(target)}`)]
  return {
    text: sentences.filter((sentence) => sentence !== '').join('\n'),
    ...(given !== undefined && { default: given }),
    throws: of('throws').map((one) => one.replace(/^\{(\w+)\}/, '`$1`')),
    params: new Map(of('param').map((one) => [/^\w+/.exec(one)?.[0] ?? '', one.replace(/^\w+\s*/, '')])),
    ...(returns !== undefined && { returns }),
    examples: of('example'),
    ...(deprecated !== undefined && { deprecated }),
    isInternal: of('internal').length > 0,
  }
}

function ended(sentence: string): string {
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`
}
