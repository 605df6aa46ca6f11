/** Parts that pages are made of. */
import type { Member } from './entries.js'
import { code, defaultOf, inCell, inLine, prose, sentencesOf, typeOf } from './markdown.js'

const MADE = '<!-- Made of the source by `npm run docs:reference`. -->'

export function page(title: string, intro: string, parts: readonly string[]): string {
  const text = [`# ${title}`, MADE, intro, ...parts].filter((part) => part !== '').join('\n\n')
  return `${text.trim()}\n`
}

export function compare(one: string, other: string): number {
  return one.toLowerCase() < other.toLowerCase() ? -1 : 1
}

/** A long signature without what its types are made of. */
export function shortened(signature: string): string {
  if (signature.length <= 120) return signature
  if (signature.startsWith('type '))
    return signature.replace(
      /(?<= )= |(?<=^[^{]*(?:\{[^{}]*\}[^{}]*)*) (?=[|&] )/g,
      (gap) => `${gap === '= ' ? '=' : ''}\n  `,
    )
  let text = signature
  while (text.length > 120 && /<[^<>=]*>/.test(text)) text = text.replace(/<[^<>=]*>/, '')
  return text
}

/** Lines of a comment are one paragraph, but for its lists. */
export function paragraphs(text: string): string {
  return text
    .split(/\n{2,}|\n(?=Throws |Returns )/)
    .map((part) =>
      part
        .replace(/\n(?=[-*] )/g, '\u0000')
        .replace(/\s*\n\s*/g, ' ')
        .replace(/\u0000/g, '\n'),
    )
    .map((part) => part.replace(/(?<!^|\n- .*)\n(?=- )/, '\n\n'))
    .join('\n\n')
}

export function exampleOf(text: string): string {
  return `\`\`\`typescript\n${text}\n\`\`\``
}

/** A table of what has a type and a default. */
export function tableOf(members: readonly Member[], heading: string): string {
  const shown = members.filter(({ kind }) => kind === 'property' || kind === 'static')
  const calls = members.filter(({ kind }) => kind === 'method' && heading === 'option')
  if (shown.length + calls.length === 0) return ''
  const hasDefaults = shown.some((member) => defaultIn(member) !== '')
  const rows = [...shown, ...calls].map((member) => {
    const cells = [code(member.name), typeOf(member.type), ...(hasDefaults ? [defaultIn(member)] : []), says(member)]
    return `| ${cells.map(inCell).join(' | ')} |`
  })
  const head = [heading, 'type', ...(hasDefaults ? ['default'] : []), 'says']
  return [`| ${head.join(' | ')} |`, `|${head.map(() => '---').join('|')}|`, ...rows].join('\n')
}

export function defaultIn({ doc, kind, initial }: Member): string {
  if (doc?.default !== undefined) return defaultOf(doc.default)
  return kind === 'static' && initial !== undefined ? code(initial) : ''
}

/** What a member says, with its examples in the line. */
function says({ doc }: Member): string {
  const examples = (doc?.examples ?? []).map((example) => `Example: ${code(flatExample(example))}`)
  const deprecated = doc?.deprecated === undefined ? [] : [`Deprecated: ${prose(doc.deprecated)}`]
  return [...deprecated, sentencesOf(doc), ...examples].filter((part) => part !== '').join(' ')
}

function flatExample(text: string): string {
  return text.replace(/\s*\n\s*/g, ' ')
}

export function methodItem(member: Member): string {
  const { doc, type, kind } = member
  const name = `${kind === 'static method' ? 'static ' : ''}${shortened(type)}`
  const parameters = [...(doc?.params ?? [])].map(([one, text]) => `${code(one)}: ${prose(text)}.`.replace('..', '.'))
  const sentences = [inLine(sentencesOf(doc)), ...parameters.map(inLine)].filter((part) => part !== '').join(' ')
  const examples = (doc?.examples ?? []).map((one) => `\n\n${exampleOf(one).replace(/^(?=.)/gm, '  ')}`)
  return `- ${code(name)}${sentences === '' ? '' : ` – ${sentences}`}${examples.join('')}`
}
