/** The pages of docs/reference/api, made of the source. */
import type { PublicName } from './doors.js'
import type { Entry, Member } from './entries.js'
import {
  allNames,
  basesOf,
  headingOf,
  linkTo,
  membersOf,
  optionsOf,
  publicNamed,
  publicOf,
  shownMembers,
} from './known.js'
import { code, defaultOf, inCell, inLine, prose, sentencesOf, typeOf } from './markdown.js'
import { PAGES_OF_STATICS, ROOMS, type Room, roomOf } from './rooms.js'

export const FOLDER = 'docs/reference/api'
const MADE = '<!-- Made of the source by `npm run docs:reference`. -->'

/** Every page, by its path. */
export function referencePages(): ReadonlyMap<string, string> {
  const rooms = ROOMS.map((room) => [room.file, roomPage(room)] as const)
  const others = [
    ['names', namesPage()],
    ['statics-of-views', staticsPage()],
    ['methods-of-views', methodsPage()],
  ] as const
  return new Map([...rooms, ...others].map(([file, text]) => [`${FOLDER}/${file}.md`, text]))
}

function page(title: string, intro: string, parts: readonly string[]): string {
  const text = [`# ${title}`, MADE, intro, ...parts].filter((part) => part !== '').join('\n\n')
  return `${text.trim()}\n`
}

function roomPage(room: Room): string {
  const own = allNames().filter((one) => roomOf(one) === room)
  const doors = new Set(own.map(({ door }) => door))
  const from =
    doors.size === 1
      ? `All of it is imported from ${code([...doors][0] as string)}.`
      : 'Each entry says where it is imported from.'
  const sorted = [...own].sort((one, other) => rank(one) - rank(other) || compare(one.name, other.name))
  const owners = new Map<string, string>()
  const parts = sorted.map((one) => entryPart(one, doors.size > 1 ? one.door : undefined, owners))
  return page(room.title, `${room.intro} ${from}`, parts)
}

/** What is used at run time comes before types. */
function rank({ entry }: PublicName): number {
  return entry.kind === 'interface' || entry.kind === 'type' ? 1 : 0
}

function compare(one: string, other: string): number {
  return one.toLowerCase() < other.toLowerCase() ? -1 : 1
}

/** @param owners the entries of the page that show options without a name of their own, by what these are called */
function entryPart(found: PublicName, door: string | undefined, owners: Map<string, string>): string {
  const { entry } = found
  const signature = `\`\`\`typescript\n${entry.signatures.map(shortened).join('\n')}\n\`\`\``
  const { doc } = entry
  const parts = [
    `## ${headingOf(found)}`,
    signature,
    door === undefined ? '' : `From ${code(door)}.`,
    paragraphs(sentencesOf(doc)),
    parametersPart(entry),
    ...optionsOf(entry).map((options) => optionsPart(entry, options, owners)),
    membersPart(entry),
    ...(doc?.examples ?? []).map(exampleOf),
  ]
  return parts.filter((part) => part !== '').join('\n\n')
}

/** A long signature without what its types are made of. */
function shortened(signature: string): string {
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
function paragraphs(text: string): string {
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

function parametersPart({ doc }: Entry): string {
  return [...(doc?.params ?? [])].map(([name, says]) => `- ${code(name)}: ${prose(inLine(says))}`).join('\n')
}

function exampleOf(text: string): string {
  return `\`\`\`typescript\n${text}\n\`\`\``
}

/** Options that have a name of their own stand there; others here. */
function optionsPart(entry: Entry, options: Entry, owners: Map<string, string>): string {
  const named = publicOf(options)
  if (named) return named.entry === entry ? '' : `Options: [${code(named.name)}](${linkTo(named)}).`
  const owner = owners.get(options.name)
  if (owner !== undefined) return `Options: those of [${code(owner)}](#${owner.toLowerCase()}).`
  owners.set(options.name, entry.name)
  return `${tableOf(membersOf(options), 'option')}${inheritedPart(options)}`
}

function inheritedPart(entry: Entry): string {
  const found = basesOf(entry).flatMap((base) => publicOf(base) ?? [])
  if (found.length === 0) return ''
  return `\n\nAnd those of ${found.map((one) => `[${code(one.name)}](${linkTo(one)})`).join(', ')}.`
}

function membersPart(entry: Entry): string {
  if (isView(entry)) return viewPart(entry)
  const shown = shownMembers(entry)
  const of = (...kinds: Member['kind'][]) => shown.filter(({ kind }) => kinds.includes(kind))
  const isShape = entry.kind !== 'class' && entry.kind !== 'mixin'
  return [
    tableOf(of('static'), 'static'),
    tableOf(of('property'), isShape ? 'member' : 'property'),
    [...of('method', 'static method')].map(methodItem).join('\n'),
  ]
    .filter((part) => part !== '')
    .join('\n\n')
}

/** A table of what has a type and a default. */
function tableOf(members: readonly Member[], heading: string): string {
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

function defaultIn({ doc, kind, initial }: Member): string {
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

function methodItem(member: Member): string {
  const { doc, type, kind } = member
  const name = `${kind === 'static method' ? 'static ' : ''}${shortened(type)}`
  const parameters = [...(doc?.params ?? [])].map(([one, text]) => `${code(one)}: ${prose(text)}.`.replace('..', '.'))
  const sentences = [inLine(sentencesOf(doc)), ...parameters.map(inLine)].filter((part) => part !== '').join(' ')
  const examples = (doc?.examples ?? []).map((one) => `\n\n${exampleOf(one).replace(/^(?=.)/gm, '  ')}`)
  return `- ${code(name)}${sentences === '' ? '' : ` – ${sentences}`}${examples.join('')}`
}

// Views

const STATICS = 'statics-of-views'
const METHODS = 'methods-of-views'

/** The classes and mixins whose members stand on pages of their own. */
function isView({ place, kind }: Entry): boolean {
  return place.path.startsWith('lib/views/') && (kind === 'class' || kind === 'mixin')
}

function views(): readonly PublicName[] {
  const order = ['APIView', 'GenericAPIView']
  const found = allNames().filter(({ entry }) => isView(entry))
  const place = ({ name }: PublicName) => order.indexOf(name) + 1 || order.length + 1
  return [...found].sort((one, other) => place(one) - place(other) || compare(one.name, other.name))
}

function staticsOf(entry: Entry): readonly Member[] {
  return shownMembers(entry).filter(({ kind }) => kind === 'static')
}

function methodsOf(entry: Entry): readonly Member[] {
  return shownMembers(entry).filter(({ kind }) => kind !== 'static')
}

/** Where the members of a view stand. */
function viewPart(entry: Entry): string {
  const anchor = entry.name.toLowerCase()
  const links = [
    ...(staticsOf(entry).length > 0 ? [`[statics](${STATICS}.md#${anchor})`] : []),
    ...(methodsOf(entry).length > 0 ? [`[methods](${METHODS}.md#${anchor})`] : []),
  ]
  if (links.length === 0) return ''
  return `Its ${links.join(', its ')}.`
}

function staticsPage(): string {
  const intro =
    'What a view or a view set declares: `static override paginationClass = …` in a class, or without `static` in `modelViewSet(Book, { … })` and the like. A wrong kind or a misspelt name is a `ConfigurationError` before any request.'
  const parts = views().flatMap(({ name, entry }) => {
    const rows = staticsOf(entry).map((member) => {
      const link = PAGES_OF_STATICS.get(member.name)
      const cells = [
        code(member.name),
        typeOf(member.type),
        defaultIn(member),
        says(member),
        link ? pageLink(link) : '',
      ]
      return `| ${cells.map(inCell).join(' | ')} |`
    })
    if (rows.length === 0) return []
    return [
      [
        `## ${name}`,
        '',
        ofView(name),
        '',
        '| static | type | default | says | more |',
        '|---|---|---|---|---|',
        ...rows,
      ].join('\n'),
    ]
  })
  return page('Statics of views', intro, parts)
}

/** Which views have what stands below. */
function ofView(name: string): string {
  const found = publicNamed(name)
  const link = found ? `[${code(name)}](${linkTo(found)})` : code(name)
  if (name === 'APIView') return `Of all views: ${link}.`
  if (name === 'GenericAPIView') return `Of all views of models: ${link}, and all view sets but \`ViewSet\`.`
  return `Of views with ${link}.`
}

function pageLink(path: string): string {
  const file = path.replace(/#.*/, '')
  const title = file.split('/').at(-1)?.replaceAll('-', ' ')
  return `[${title}](../../${path.replace(/(?=#|$)/, '.md')})`.replace('../../reference/', '../')
}

function methodsPage(): string {
  const intro =
    'What a view has while it answers a request, and the methods that it is answered by. An application may override any of them in its class; `super` does what the package does. Which of them make a list slower, and why: [slow lists](../../how-to/slow-lists.md).'
  const parts = views().flatMap(({ name, entry }) => {
    const members = methodsOf(entry)
    if (members.length === 0) return []
    const properties = tableOf(members, 'property')
    const methods = members.filter(({ kind }) => kind.endsWith('method')).map(methodItem)
    return [[`## ${name}`, ofView(name), properties, methods.join('\n')].filter((part) => part !== '').join('\n\n')]
  })
  return page('Methods of views', intro, parts)
}

function namesPage(): string {
  const rows = [...allNames()]
    .sort((one, other) => compare(one.name, other.name))
    .map((one) => `| [${code(one.name)}](${linkTo(one)}) | ${one.entry.kind} | ${code(one.door)} |`)
  const intro = 'Every name that an application can import, and where from.'
  return page('All names', intro, [['| name | kind | import from |', '|---|---|---|', ...rows].join('\n')])
}
