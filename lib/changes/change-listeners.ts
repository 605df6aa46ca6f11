/** Change stream listeners, told of changes of what their lists show: the same is asked once for all callers with the same conditions. */

import { eventText } from '../http/event-stream.js'
import { forEachAtOnce, Gate } from '../kernel/at-once.js'
import { writeJson } from '../kernel/json-numerals.js'
import { getOrInsert } from '../kernel/maps.js'
import { oncePer } from '../kernel/once-per.js'
import { type ChangeFeed, PAGE } from './change-feed.js'
import { isBehind, type Position, positionText, shownBy } from './position.js'
import { currentSnapshot, type FoundChange, isLast, type NewChanges, selectNew } from './select-changes.js'
import { VisibleChanges } from './visible-changes.js'

/** How many statements ask at the same time what groups of callers see, and how many of those who came back what they missed. */
const AT_ONCE = 4
/** The most groups that one statement asks for. */
const MOST_TOGETHER = 100
/** How often those who hear of nothing are told how far they came, in milliseconds. */
const BEAT = 15_000

/** Who listens. */
export interface Listener {
  readonly visible: VisibleChanges
  /** The table of what it listens to. */
  readonly model: string
  /** What clients call that. */
  readonly resource: string
  /** Bytes where many get the same. */
  send(text: string | Buffer): void
  end(): void
}

/** Those with the same conditions; never empty while it is known. */
type Group = ReadonlySet<Listener>

/** The listeners of one database in this process. */
export class ChangeListeners {
  readonly #feed: ChangeFeed
  readonly #groups = new Map<string, Set<Listener>>()
  /** What those are told who still read what they have missed. */
  readonly #backlogs = new Map<Listener, Bell[]>()
  /** Of those who came while the feed was behind: a snapshot of what they know already. */
  readonly #known = new Map<Listener, string>()
  /** Those who have lost a process come back all at once. */
  readonly #catchingUp = new Gate(AT_ONCE)
  #beat: NodeJS.Timeout | undefined
  /** Behind what everybody was told. */
  #position: Position | undefined
  readonly #take = (found: NewChanges, from: Position) => this.#tell(found, from)

  constructor(feed: ChangeFeed) {
    this.#feed = feed
  }

  /** Tells a listener of what is committed from now on; of what it has missed by `catchUp()`, where it has come to `since`. */
  async add(listener: Listener, since: Position | undefined): Promise<void> {
    const { group } = listener.visible
    getOrInsert(this.#groups, group, () => new Set()).add(listener)
    if (since) this.#backlogs.set(listener, [])
    this.#beat ??= setInterval(() => this.#sendBeat(), BEAT).unref()
    const position = await this.#feed.follow(this.#take)
    this.#position ??= position
    if (since) return
    listener.send(eventText({ id: positionText(this.#position) }))
    const snapshot = await currentSnapshot(this.#feed.knex)
    if (this.#hears(listener)) this.#known.set(listener, snapshot)
  }

  #hears(listener: Listener): boolean {
    return this.#groups.get(listener.visible.group)?.has(listener) === true
  }

  remove(listener: Listener): void {
    const { group } = listener.visible
    const own = this.#groups.get(group)
    own?.delete(listener)
    if (own?.size === 0) this.#groups.delete(group)
    this.#backlogs.delete(listener)
    this.#known.delete(listener)
    if (this.#groups.size > 0) return
    clearInterval(this.#beat)
    this.#beat = undefined
    this.#position = undefined
    this.#feed.leave(this.#take)
  }

  /** Tells a listener what it has missed, and then what came meanwhile that it does not know yet. */
  catchUp(listener: Listener, since: Position): Promise<void> {
    return this.#catchingUp.run(() => this.#catchUp(listener, since))
  }

  async #catchUp(listener: Listener, since: Position): Promise<void> {
    let from = since
    for (let isEnd = false; !isEnd; ) {
      if (!this.#hears(listener)) return
      const found = await selectNew(this.#feed.knex, from, PAGE)
      const own = found.changes.filter(({ model }) => model === listener.model)
      const bells = bellsOf(listener, await listener.visible.of(own), { found, from, made: new Map() })
      listener.send(textOf(bells))
      isEnd = isLast(from, found.position)
      from = found.position
    }
    const told = this.#backlogs.get(listener)
    // it has left meanwhile
    if (!told) return
    this.#backlogs.delete(listener)
    this.#known.set(listener, from.last)
    listener.send(eventText({ id: positionText(from) }))
    this.#send(listener, told)
  }

  #send(listener: Listener, bells: readonly Bell[]): void {
    const known = this.#known.get(listener)
    const shows = known === undefined ? undefined : shownBy(known)
    const fresh = shows ? bells.filter(({ transaction }) => !shows(transaction)) : bells
    listener.send(textOf(fresh))
  }

  async #tell(found: NewChanges, from: Position): Promise<void> {
    await forEachAtOnce(this.#partsOf(found), AT_ONCE, (groups) => this.#tellGroups(groups, found, from))
    this.#position = found.position
    const { last } = found.position
    for (const [listener, known] of this.#known) if (isBehind(known, last)) this.#known.delete(listener)
  }

  /** The groups that listen to what has changed: those together that one statement can ask for. */
  #partsOf({ changes }: NewChanges): readonly (readonly Group[])[] {
    const models = new Set(changes.map(({ model }) => model))
    const parts = new Map<object, Group[][]>()
    for (const group of this.#groups.values()) {
      const [first] = group
      if (!first || !models.has(first.model)) continue
      const kind = first.visible.together ?? first.visible
      const own = getOrInsert(parts, kind, () => [])
      const last = own.at(-1)
      if (last && last.length < MOST_TOGETHER) last.push(group)
      else own.push([group])
    }
    return [...parts.values()].flat()
  }

  async #tellGroups(groups: readonly Group[], found: NewChanges, from: Position): Promise<void> {
    const firsts = groups.flatMap((group) => [...group].slice(0, 1))
    const [{ model }] = firsts as [Listener]
    const own = found.changes.filter((change) => change.model === model)
    try {
      const seen = await VisibleChanges.ofAll(
        firsts.map(({ visible }) => visible),
        own,
      )
      const made = new Map<string, Bell>()
      for (const [index, group] of groups.entries()) {
        const bells = bellsOf(firsts[index] as Listener, seen[index] as ReadonlySet<FoundChange>, { found, from, made })
        if (bells.length === 0) continue
        const bytes = Buffer.from(textOf(bells))
        for (const listener of group) this.#ring(listener, bells, bytes)
      }
    } catch {
      // one of them may be wrong for all
      if (groups.length > 1) for (const group of groups) await this.#tellGroups([group], found, from)
      // who connects again says how far it came, and misses nothing
      else for (const group of groups) for (const listener of group) listener.end()
    }
  }

  #ring(listener: Listener, bells: readonly Bell[], bytes: Buffer): void {
    const backlog = this.#backlogs.get(listener)
    if (backlog) backlog.push(...bells)
    else if (this.#known.has(listener)) this.#send(listener, bells)
    else listener.send(bytes)
  }

  #sendBeat(): void {
    if (!this.#position) return
    const text = eventText({ id: positionText(this.#position) })
    for (const group of this.#groups.values()) {
      for (const listener of group) if (!this.#backlogs.has(listener)) listener.send(text)
    }
  }
}

/** The listeners of a feed. */
export const listenersOf = oncePer((feed: ChangeFeed) => new ChangeListeners(feed))

/** An event that tells of a change. */
interface Bell {
  readonly text: string
  readonly transaction: string
}

const textOf = (bells: readonly Bell[]) => bells.map(({ text }) => text).join('')

/** What was read, and the events that are made of it already, by their resources and changes. */
interface Reading {
  readonly found: NewChanges
  readonly from: Position
  readonly made: Map<string, Bell>
}

function bellsOf(
  { visible, resource }: Listener,
  seen: ReadonlySet<FoundChange>,
  { found: { position }, from, made }: Reading,
): readonly Bell[] {
  const snapshot = from.next?.snapshot ?? position.next?.snapshot ?? position.last
  const bellOf = (change: FoundChange): Bell => {
    const id = positionText({ last: from.last, next: { snapshot, id: change.id } })
    const data = writeJson({ resource, id: visible.shownKey(change), position: id }) as string
    return { text: eventText({ id, data }), transaction: change.transaction }
  }
  return [...seen]
    .sort((one, other) => Number(one.id) - Number(other.id))
    .map((change) => {
      return getOrInsert(made, `${resource} ${change.id}`, () => bellOf(change))
    })
}
