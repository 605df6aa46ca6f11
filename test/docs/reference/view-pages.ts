/** The pages of what views have: their statics, and their properties and methods. */
import type { PublicName } from './doors.js'
import type { Entry, Member } from './entries.js'
import { allNames, linkTo, publicNamed, shownMembers } from './known.js'
import { code, inCell, inLine, prose, sentencesOf, typeOf } from './markdown.js'
import { compare, defaultIn, exampleOf, page, paragraphs, shortened, tableOf } from './parts.js'
import { PAGES_OF_STATICS } from './rooms.js'

export const STATICS = 'statics-of-views'
export const METHODS = 'methods-of-views'

/** The classes and mixins whose members stand on pages of their own. */
export function isView({ place, kind }: Entry): boolean {
  return /^lib\/(views|changes)\//.test(place.path) && (kind === 'class' || kind === 'mixin')
}

export function staticsOf(entry: Entry): readonly Member[] {
  return shownMembers(entry).filter(({ kind }) => kind === 'static')
}

export function methodsOf(entry: Entry): readonly Member[] {
  return shownMembers(entry).filter(({ kind }) => kind !== 'static')
}

function views(): readonly PublicName[] {
  const order = ['APIView', 'GenericAPIView']
  const found = allNames().filter(({ entry }) => isView(entry))
  const place = ({ name }: PublicName) => order.indexOf(name) + 1 || order.length + 1
  return [...found].sort((one, other) => place(one) - place(other) || compare(one.name, other.name))
}

/** The headings of a page: a name that another class has, too, says of which it is. */
class Headings {
  readonly #taken = new Set(views().map(({ name }) => name.toLowerCase()))

  of(name: string, owner: string): string {
    const heading = this.#taken.has(name.toLowerCase()) ? `${name} of ${owner}` : name
    this.#taken.add(name.toLowerCase())
    return heading
  }
}

function anchorOf(heading: string): string {
  return `#${heading.toLowerCase().replaceAll(' ', '-')}`
}

export function staticsPage(): string {
  const intro =
    'What a view or a view set declares: `static override paginationClass = …` in a class, or without `static` in `modelViewSet(Book, { … })` and the like. A wrong kind or a misspelt name is a `ConfigurationError` before any request.'
  const headings = new Headings()
  const parts = views().flatMap(({ name, entry }) => {
    const found = staticsOf(entry).map((member) => ({ member, heading: headings.of(member.name, name) }))
    if (found.length === 0) return []
    const rows = found.map(({ member, heading }) => {
      const link = `[${code(member.name)}](${anchorOf(heading)})`
      const cells = [link, typeOf(member.type), defaultIn(member), firstSentence(member), pageOf(member)]
      return `| ${cells.map(inCell).join(' | ')} |`
    })
    const table = ['| static | type | default | says | more |', '|---|---|---|---|---|', ...rows].join('\n')
    return [`## ${name}`, ofView(name), table, ...found.map(({ member, heading }) => staticPart(member, heading))]
  })
  return page('Statics of views', intro, parts)
}

function staticPart(member: Member, heading: string): string {
  const { doc, type } = member
  const given = defaultIn(member)
  const more = pageOf(member)
  const facts = [
    typeOf(type),
    ...(given === '' ? [] : [`default: ${given}`]),
    ...(more === '' ? [] : [`more: ${more}`]),
  ]
  return [
    `### ${heading}`,
    facts.join('; '),
    paragraphs(sentencesOf(doc)),
    ...(doc?.examples ?? []).map(exampleOf),
  ].join('\n\n')
}

export function methodsPage(): string {
  const intro =
    'What a view has while it answers a request, and the methods that it is answered by. An application may override any of them in its class; `super` does what the package does. Which of them make a list slower, and why: [slow lists](../../how-to/slow-lists.md).'
  const headings = new Headings()
  const parts = views().flatMap(({ name, entry }) => {
    const members = methodsOf(entry)
    if (members.length === 0) return []
    const methods = members
      .filter(({ kind }) => kind.endsWith('method'))
      .map((member) => ({ member, heading: headings.of(member.name, name) }))
    const rows = methods.map(({ member, heading }) => {
      const link = `[${code(`${member.name}()`)}](${anchorOf(heading)})`
      return `| ${[link, firstSentence(member)].map(inCell).join(' | ')} |`
    })
    const table = rows.length === 0 ? [] : [['| method | says |', '|---|---|', ...rows].join('\n')]
    const properties = tableOf(members, 'property')
    const details = methods.map(({ member, heading }) => methodPart(member, heading))
    return [`## ${name}`, ofView(name), properties, ...table, ...details]
  })
  return page('Methods of views', intro, parts)
}

function methodPart({ doc, type, kind }: Member, heading: string): string {
  const signature = `${kind === 'static method' ? 'static ' : ''}${shortened(type)}`
  const parameters = [...(doc?.params ?? [])].map(([name, says]) => `- ${code(name)}: ${prose(inLine(says))}`)
  return [
    `### ${heading}`,
    exampleOf(signature),
    paragraphs(sentencesOf(doc)),
    parameters.join('\n'),
    ...(doc?.examples ?? []).map(exampleOf),
  ]
    .filter((part) => part !== '')
    .join('\n\n')
}

function firstSentence({ doc }: Member): string {
  const text = inLine(doc?.text ?? '')
  return prose(/^.*?[.!?](?= |$)/.exec(text)?.[0] ?? text)
}

/** Which views have what stands below. */
function ofView(name: string): string {
  const found = publicNamed(name)
  const link = found ? `[${code(name)}](${linkTo(found)})` : code(name)
  if (name === 'APIView') return `Of all views: ${link}.`
  if (name === 'GenericAPIView') return `Of all views of models: ${link}, and all view sets but \`ViewSet\`.`
  return `Of views with ${link}.`
}

/** The page that tells more of a static, if there is one. */
function pageOf({ name }: Member): string {
  const path = PAGES_OF_STATICS.get(name)
  if (path === undefined) return ''
  const title = path.split('/').at(-1)?.replaceAll('-', ' ')
  return `[${title}](../../${path}.md)`.replace('../../reference/', '../')
}
