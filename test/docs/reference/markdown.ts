/** Doc comments and types as Markdown. */
import { readProjectFile } from '../../support/program.js'
import type { Doc } from './doc-comment.js'
import { linkTo, publicNamed } from './known.js'

const CODE = /(`+)(?:(?!\1).)+\1/gs
const PAGE = /docs\/(?<path>[\w-]+\/[\w-]+)\.md(?<anchor>#[\w-]+)?/g
const DEFAULT =
  /^(?<code>'[^']*'|"[^"]*"|\[[^\]]*\]|\{[^}]*\}|-?[\d_,.]*\d|true|false|null|undefined|[A-Z]\w*)(?<rest>.*)$/s

/** Text outside of code as it is, whatever a browser would take it for. */
function escaped(text: string): string {
  return text.replace(/</g, '&lt;').replace(/\{\{/g, '&#123;&#123;')
}

/** Changes what stands outside of code. */
function outsideOfCode(text: string, change: (prose: string) => string): string {
  const codes: string[] = []
  const prose = text.replace(CODE, (code) => `\u0000${codes.push(code) - 1}\u0000`)
  return change(prose).replace(/\u0000(\d+)\u0000/g, (_, at) => codes[Number(at)] ?? '')
}

/** The sentences of a comment: links to pages of the book and to public names are links. */
export function prose(text: string): string {
  const linked = outsideOfCode(text, (outside) =>
    escaped(outside)
      .replace(PAGE, (_, path: string, anchor = '') => `[${titleOf(`docs/${path}.md`)}](../../${path}.md${anchor})`)
      .replace(/\.md\)\)/g, '.md))')
      .replace(/(?<=\bSee )([A-Za-z]\w+)((?:\.\w+)?)/g, (all, name: string, rest: string) => {
        const found = publicNamed(name)
        return found ? `[\`${name}${rest}\`](${linkTo(found)})` : all
      }),
  )
  return linked.replace(/\.\.\/\.\.\/reference\//g, '../')
}

/** In one line, where tables have no other place. */
export function inLine(text: string): string {
  return text
    .replace(/\n+(?=[-*] )/g, '<br>')
    .replace(/\s*\n\s*/g, ' ')
    .trim()
}

/** In a cell of a table. */
export function inCell(text: string): string {
  return inLine(text).replace(/\|/g, '\\|')
}

/** Code in a line. */
export function code(text: string): string {
  const ticks = text.includes('`') ? '``' : '`'
  const space = text.includes('`') ? ' ' : ''
  return `${ticks}${space}${text}${space}${ticks}`
}

/** A type, which leads to its entry where it has one. */
export function typeOf(type: string): string {
  const name = /^(?:readonly )?(?<name>[A-Z]\w*)(?:<.*>)?(?:\[\])?(?: \| (?:undefined|null))*$/.exec(type)?.groups?.[
    'name'
  ]
  const found = name === undefined ? undefined : publicNamed(name)
  return found ? `[${code(type)}](${linkTo(found)})` : code(type)
}

/** What a comment names as the default: its code, and what it says of it. */
export function defaultOf(text: string): string {
  const { code: value, rest = '' } = DEFAULT.exec(inLine(text))?.groups ?? {}
  return value === undefined ? prose(inLine(text)) : `${code(value)}${prose(rest)}`
}

/** All of a comment but its default and its parameters. */
export function sentencesOf(doc: Doc | undefined): string {
  if (!doc) return ''
  const throws = doc.throws.map((one) => ended(`Throws ${thrown(one)}`))
  const returns = doc.returns === undefined ? [] : [ended(`Returns ${doc.returns}`)]
  return prose([doc.text, ...returns, ...throws].filter((one) => one !== '').join('\n'))
}

/** The errors, and when they are thrown. */
function thrown(text: string): string {
  const { names = '', rest = '' } =
    /^(?<names>`?[A-Z]\w+`?(?:,? (?:or |and )?[A-Z]\w+)*)(?<rest>.*)$/s.exec(text)?.groups ?? {}
  if (names === '') return text
  const codes = names.replace(/`/g, '').replace(/[A-Z]\w+/g, (name) => code(name))
  return /^\s*(?:$|when |where |if |with |as |in |for |at |also)/.test(rest)
    ? `${codes}${rest}`
    : `${codes}: ${rest.trim()}`
}

function ended(sentence: string): string {
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`
}

const titles = new Map<string, string>()

/** The heading of a page of the book. */
function titleOf(path: string): string {
  const known = titles.get(path)
  if (known !== undefined) return known
  const title = /^# (.+)$/m.exec(readProjectFile(path))?.[1] ?? path
  titles.set(path, title)
  return title
}
