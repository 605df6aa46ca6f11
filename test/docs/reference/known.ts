/** All public names together: which of them extends which, and where one is explained. */
import { type PublicName, publicNames } from './doors.js'
import { type Entry, type Member, namedEntry } from './entries.js'
import { roomOf } from './rooms.js'

const names = publicNames()
const byPlace = new Map(names.map((one) => [keyOf(one.entry), one]))
const byName = new Map(names.map((one) => [one.name, one]))

function keyOf({ place }: Pick<Entry, 'place'>): string {
  return `${place.path}#${place.name}`
}

/** Every public name, in the order of the doors. */
export function allNames(): readonly PublicName[] {
  return names
}

/** The public name of an entry, if it has one. */
export function publicOf(entry: Entry): PublicName | undefined {
  return byPlace.get(keyOf(entry))
}

export function publicNamed(name: string): PublicName | undefined {
  return byName.get(name)
}

/** What its part of a page is called: a type whose name differs from another one's by its case only is told apart. */
export function headingOf(found: PublicName): string {
  const isLike = ({ name }: PublicName) => name !== found.name && name.toLowerCase() === found.name.toLowerCase()
  const isType = found.entry.kind === 'interface' || found.entry.kind === 'type'
  return isType && names.some((one) => isLike(one) && roomOf(one) === roomOf(found))
    ? `${found.name} (type)`
    : found.name
}

/** Where a public name is explained, seen from another page of the reference. */
export function linkTo(found: PublicName): string {
  const anchor = headingOf(found).toLowerCase().replace(' (type)', '-type')
  return `${roomOf(found).file}.md#${anchor}`
}

/** What an entry extends, as far as it is ours. */
export function basesOf({ bases, place }: Entry): readonly Entry[] {
  return bases
    .flatMap((base) => base.replace(/<.*>/gs, '').match(/\w+/g) ?? [])
    .flatMap((name) => namedEntry(name, place.path) ?? [])
}

/** What it is held to besides. */
function contractsOf({ contracts, place }: Entry): readonly Entry[] {
  return contracts.flatMap((name) => namedEntry(name.replace(/<.*/s, ''), place.path) ?? [])
}

/** How the types of options are called. */
const OPTIONS = /(?:Options|Config|Spec|Routes)$/

/** The options that it is made with, or called with. */
export function optionsOf({ takes, place, kind }: Entry): readonly Entry[] {
  const found = takes.flatMap((name) => namedEntry(name, place.path) ?? [])
  const isShown = (one: Entry) =>
    OPTIONS.test(one.name) && (one.kind === 'interface' || (one.kind === 'type' && one.members.length > 0))
  return kind === 'class' || kind === 'function' ? found.filter(isShown) : []
}

/** The members of an entry, with those of bases that have no public name. */
export function membersOf(entry: Entry): readonly Member[] {
  const hidden = basesOf(entry).filter((base) => !publicOf(base))
  const own = new Set(entry.members.map(({ name }) => name))
  return [...entry.members, ...hidden.flatMap(membersOf).filter(({ name }) => !own.has(name))]
}

/** Those that a page shows: what a base or the options say already is not said again. */
export function shownMembers(entry: Entry): readonly Member[] {
  const said = new Set([...optionsOf(entry).flatMap(allMembers), ...staticsSaid(entry)].map(({ name }) => name))
  return membersOf(entry).filter((member) => {
    if (member.doc?.text || member.doc?.default !== undefined) return true
    if (member.overrides) return false
    if (member.kind === 'property' && said.has(member.name)) return false
    return !inherited(entry, member)
  })
}

/** What the type of a view's class has: the statics of views, which stand on a page of their own. */
function staticsSaid({ kind, place }: Entry): readonly Member[] {
  const view = publicNamed('GenericAPIView')
  return kind === 'interface' && view && place.path.startsWith('lib/views/') ? allMembers(view.entry) : []
}

function allMembers(entry: Entry): readonly Member[] {
  return [...entry.members, ...basesOf(entry).flatMap(allMembers)]
}

/** True for a member that a base or a contract explains. */
function inherited(entry: Entry, { name, kind }: Member): boolean {
  return [...basesOf(entry), ...contractsOf(entry)].some(
    (base) =>
      base.members.some((one) => one.name === name && isOfKind(one.kind, kind) && one.doc !== undefined) ||
      inherited(base, { name, kind } as Member),
  )
}

function isOfKind(one: Member['kind'], other: Member['kind']): boolean {
  return one.startsWith('static') === other.startsWith('static')
}
