/** The pages of docs/reference/api, made of the source. */
import type { PublicName } from './doors.js'
import type { Entry, Member } from './entries.js'
import { allNames, basesOf, headingOf, linkTo, membersOf, optionsOf, publicOf, shownMembers } from './known.js'
import { code, inLine, prose, sentencesOf } from './markdown.js'
import { compare, exampleOf, methodItem, page, paragraphs, shortened, tableOf } from './parts.js'
import { ROOMS, type Room, roomOf } from './rooms.js'
import { isView, METHODS, methodsOf, methodsPage, STATICS, staticsOf, staticsPage } from './view-pages.js'

export const FOLDER = 'docs/reference/api'

/** Every page, by its path. */
export function referencePages(): ReadonlyMap<string, string> {
  const rooms = ROOMS.map((room) => [room.file, roomPage(room)] as const)
  const others = [
    ['names', namesPage()],
    [STATICS, staticsPage()],
    [METHODS, methodsPage()],
  ] as const
  return new Map([...rooms, ...others].map(([file, text]) => [`${FOLDER}/${file}.md`, text]))
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

function parametersPart({ doc }: Entry): string {
  return [...(doc?.params ?? [])].map(([name, says]) => `- ${code(name)}: ${prose(inLine(says))}`).join('\n')
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

/** Where the members of a view stand. */
function viewPart(entry: Entry): string {
  const anchor = entry.name.toLowerCase()
  const links = [
    ...(staticsOf(entry).length > 0 ? [`[statics](${STATICS}.md#${anchor})`] : []),
    ...(methodsOf(entry).length > 0 ? [`[methods](${METHODS}.md#${anchor})`] : []),
  ]
  return links.length === 0 ? '' : `Its ${links.join(', its ')}.`
}

function namesPage(): string {
  const rows = [...allNames()]
    .sort((one, other) => compare(one.name, other.name))
    .map((one) => `| [${code(one.name)}](${linkTo(one)}) | ${one.entry.kind} | ${code(one.door)} |`)
  const intro = 'Every name that an application can import, and where from.'
  return page('All names', intro, [['| name | kind | import from |', '|---|---|---|', ...rows].join('\n')])
}
