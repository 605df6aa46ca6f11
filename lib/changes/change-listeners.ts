/** Tells those who listen of changes of what their lists show: the same is asked once for all callers with the same conditions. */

import { eventText } from '../http/event-stream.js'
import { writeJson } from '../kernel/json-numerals.js'
import { oncePer } from '../kernel/once-per.js'
import { type ChangeFeed, PAGE } from './change-feed.js'
import { currentSnapshot, type FoundChange, isLast, type NewChanges, selectNew } from './changes-table.js'
import { isBehind, type Position, positionText, shownBy } from './position.js'
import type { VisibleChanges } from './visible-changes.js'

/** How many groups of callers are asked for at the same time. */
const AT_ONCE = 4
/** How often those who hear of nothing are told how far they came, in milliseconds. */
const BEAT = 15_000

/** Who listens. */
export interface Listener {
  readonly visible: VisibleChanges
  /** The table of what it listens to. */
  readonly model: string
  /** What clients call that. */
  readonly resource: string
  send(text: string): void
  end(): void
}

/** The listeners of one database in this process. */
export class ChangeListeners {
  readonly #feed: ChangeFeed
  readonly #groups = new Map<string, Set<Listener>>()
  /** What those are told who still read what they have missed. */
  readonly #backlogs = new Map<Listener, Bell[]>()
  /** Of those who came while the feed was behind: a snapshot of what they know already. */
  readonly #known = new Map<Listener, string>()
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
    const own = this.#groups.get(group) ?? new Set()
    this.#groups.set(group, own.add(listener))
    if (since) this.#backlogs.set(listener, [])
    this.#beat ??= setInterval(() => this.#sendBeat(), BEAT).unref()
    const position = await this.#feed.follow(this.#take)
    this.#position ??= position
    if (since) return
    listener.send(eventText({ id: positionText(this.#position) }))
    this.#known.set(listener, await currentSnapshot(this.#feed.knex))
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
  async catchUp(listener: Listener, since: Position): Promise<void> {
    let from = since
    for (let isEnd = false; !isEnd; ) {
      const found = await selectNew(this.#feed.knex, from, PAGE)
      const bells = await bellsOf(listener, found, from)
      listener.send(bells.map(({ text }) => text).join(''))
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
    listener.send(fresh.map(({ text }) => text).join(''))
  }

  async #tell(found: NewChanges, from: Position): Promise<void> {
    const models = new Set(found.changes.map(({ model }) => model))
    const groups = [...this.#groups.values()].filter(([first]) => first && models.has(first.model))
    const next = groups.values()
    const work = async () => {
      for (const group of next) await this.#tellGroup(group, found, from)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
    this.#position = found.position
    const { last } = found.position
    for (const [listener, known] of this.#known) if (isBehind(known, last)) this.#known.delete(listener)
  }

  async #tellGroup(group: ReadonlySet<Listener>, found: NewChanges, from: Position): Promise<void> {
    const [first] = group
    if (!first) return
    try {
      const bells = await bellsOf(first, found, from)
      if (bells.length === 0) return
      for (const listener of group) {
        const backlog = this.#backlogs.get(listener)
        if (backlog) backlog.push(...bells)
        else this.#send(listener, bells)
      }
    } catch {
      // who connects again says how far it came, and misses nothing
      for (const listener of group) listener.end()
    }
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

async function bellsOf(
  { visible, model, resource }: Listener,
  { changes, position }: NewChanges,
  from: Position,
): Promise<readonly Bell[]> {
  const own = changes.filter((change) => change.model === model)
  const seen = own.length === 0 ? new Set<FoundChange>() : await visible.of(own)
  const snapshot = position.next?.snapshot ?? position.last
  return [...own]
    .filter((change) => seen.has(change))
    .map((change) => {
      const id = positionText({ last: from.last, next: { snapshot: from.next?.snapshot ?? snapshot, id: change.id } })
      const data = writeJson({ resource, id: visible.shownKey(change), position: id }) as string
      return { text: eventText({ id, data }), transaction: change.transaction }
    })
}
