/** Change stream listeners, told of changes of what their lists show: the same is asked once for all callers with the same conditions. */

import { eventText } from '../http/event-stream.js'
import { forEachAtOnce } from '../kernel/at-once.js'
import { writeJson } from '../kernel/json-numerals.js'
import { getOrInsert, groupBy } from '../kernel/maps.js'
import { oncePer } from '../kernel/once-per.js'
import { type Asker, answerInTime, Questions } from '../kernel/questions.js'
import { CHANGES_AT_ONCE, type ChangeFeed, withoutRequest } from './change-feed.js'
import {
  type ChangePosition,
  commonPosition,
  isBehind,
  missedAt,
  positionAfter,
  positionText,
  shownByEither,
  visibleIn,
} from './position.js'
import { currentSnapshot, type FoundChange, isLast, type NewChanges, selectNew } from './select-changes.js'
import { VisibleChanges } from './visible-changes.js'

/** Most concurrent statements that ask what groups of callers see. */
const AT_ONCE = 4
/** The most groups that one statement asks for. */
const MOST_TOGETHER = 100
/** Heartbeat of idle streams: the interval in milliseconds, and the number of changes after which positions are sent. */
const BEAT = { milliseconds: 15_000, changes: 1_000 }

/** Who listens. */
export interface Listener {
  readonly visible: VisibleChanges
  /** The table of what it listens to. */
  readonly model: string
  /** Resource name, as clients know it. */
  readonly resource: string
  /** Bytes where many get the same. */
  send(text: string | Buffer): void
  /** @param retry how long it is no use to connect again, in milliseconds */
  end(retry?: number): void
  /** Tells of an error that the client hears nothing of. */
  report(error: unknown): void
}

/** Group of listeners with the same conditions. */
type Group = ReadonlySet<Listener>

/** Where somebody is who has missed changes, and what those are told meanwhile who have not. */
interface Behind {
  readonly at: ChangePosition
  readonly meanwhile: Bell[]
}

/** What somebody knows besides what the feed has read. */
interface Known {
  readonly snapshot: string
  /** It was told where that is: a snapshot of the moment never is, see `currentSnapshot()`. */
  readonly isTold: boolean
}

/** Callback with a group of listeners and the changes that it sees. */
type TellGroup = (group: Group, seen: ReadonlySet<FoundChange>) => void

/** The listeners of one database in this process. */
export class ChangeListeners {
  readonly #feed: ChangeFeed
  readonly #groups = new Map<string, Set<Listener>>()
  /** Those who came back, until they know what they have missed. */
  readonly #behind = new Map<Listener, Behind>()
  /** Of those who are further than the feed: what they know already. */
  readonly #known = new Map<Listener, Known>()
  /** What groups see. */
  readonly #questions = new Questions()
  #isCatchingUp = false
  #beat: NodeJS.Timeout | undefined
  /** Behind what everybody was told. */
  #position: ChangePosition | undefined
  /** Number of changes since the last heartbeat. */
  #unsaid = 0
  readonly #take = (found: NewChanges, from: ChangePosition) => this.#tell(found, from)

  constructor(feed: ChangeFeed) {
    this.#feed = feed
  }

  /** Tells a listener of what is committed from now on; and before of what it has missed, where it has come to `since`. */
  async add(listener: Listener, since: ChangePosition | undefined): Promise<void> {
    const { group } = listener.visible
    getOrInsert(this.#groups, group, () => new Set()).add(listener)
    // what is read for others meanwhile was read before it is for this one
    if (since) this.#behind.set(listener, { at: since, meanwhile: [] })
    this.#beat ??= setInterval(() => this.#sendBeat(), BEAT.milliseconds).unref()
    const position = await this.#feed.follow(this.#take)
    // it has left meanwhile: who comes next begins later
    if (!this.#groups.get(group)?.has(listener)) return
    this.#position ??= position
    if (since) {
      void withoutRequest(() => this.#catchUp())
      return
    }
    listener.send(eventText({ id: positionText(this.#position) }))
    const snapshot = await currentSnapshot(this.#feed.knex)
    if (this.#groups.get(group)?.has(listener)) this.#known.set(listener, { snapshot, isTold: false })
  }

  remove(listener: Listener): void {
    const { group } = listener.visible
    const own = this.#groups.get(group)
    own?.delete(listener)
    if (own?.size === 0) this.#groups.delete(group)
    this.#behind.delete(listener)
    this.#known.delete(listener)
    if (this.#groups.size > 0) return
    clearInterval(this.#beat)
    this.#beat = undefined
    this.#position = undefined
    this.#feed.leave(this.#take)
  }

  /**
   * Tells those who came back what they have missed. Who has lost a process comes back at once with all others: what they go on
   * with is read once for all who are in the same snapshot, which soon is one for all.
   */
  async #catchUp(): Promise<void> {
    if (this.#isCatchingUp) return
    this.#isCatchingUp = true
    while (this.#behind.size > 0) {
      const parts = groupBy(this.#behind.keys(), (listener) => this.#behind.get(listener)?.at.next?.snapshot)
      for (const part of parts.values()) await this.#readOn(part).catch((error: unknown) => this.#fail(part, error))
    }
    this.#isCatchingUp = false
  }

  async #readOn(listeners: readonly Listener[]): Promise<void> {
    const waiting = listeners.filter((listener) => this.#behind.has(listener))
    if (waiting.length === 0) return
    const from = commonPosition(waiting.map((listener) => (this.#behind.get(listener) as Behind).at))
    const found = await selectNew(this.#feed.knex, from, CHANGES_AT_ONCE)
    const groups = [...groupBy(waiting, ({ visible }) => visible.group).values()].map((group) => new Set(group))
    const all = new Map<Group, ReadonlySet<FoundChange>>()
    await this.#ask(groups, found, (group, seen) => all.set(group, seen))
    const reading = { found, from, made: new Map<string, Bell>() }
    for (const group of groups) {
      for (const listener of group) {
        this.#attempt([listener], () => this.#goOn(listener, all.get(group) ?? [], reading))
      }
    }
  }

  /** Ends those who cannot be told, and nobody else: an id of the application's own may have no text. */
  #attempt(listeners: Iterable<Listener>, tell: () => void): void {
    try {
      tell()
    } catch (error) {
      this.#fail(listeners, error)
    }
  }

  #fail(listeners: Iterable<Listener>, error: unknown): void {
    const [first] = listeners
    first?.report(error)
    this.#end(listeners)
  }

  #goOn(listener: Listener, seen: Iterable<FoundChange>, reading: Reading): void {
    const behind = this.#behind.get(listener)
    // it has left meanwhile
    if (!behind) return
    const { found, from } = reading
    const { at, meanwhile } = behind
    const missed = bellsOf(listener, [...seen].filter(missedAt(at)), reading)
    const reached = positionAfter(at, found.position)
    const text = textOf(missed, at.last) + eventText({ id: positionText(reached) })
    if (!isLast(from, found.position)) {
      this.#behind.set(listener, { at: reached, meanwhile })
      listener.send(text)
      return
    }
    this.#behind.delete(listener)
    const known = { snapshot: reached.last, isTold: true }
    this.#known.set(listener, known)
    listener.send(text + unknownText(meanwhile, known))
  }

  /** Who connects again says how far it came, and misses nothing. */
  #end(listeners: Iterable<Listener>, retry?: number): void {
    for (const listener of listeners) {
      this.#behind.delete(listener)
      listener.end(retry)
    }
  }

  async #tell(found: NewChanges, from: ChangePosition): Promise<void> {
    this.#unsaid += found.changes.length
    // before what is new: a client that is sent much has not read it at once
    if (this.#unsaid > BEAT.changes) this.#sendBeat()
    const made = new Map<string, Bell>()
    await this.#ask([...this.#groups.values()], found, (group, seen) => {
      const [first] = group
      const bells = first ? bellsOf(first, seen, { found, from, made }) : []
      if (bells.length === 0) return
      const bytes = Buffer.from(textOf(bells))
      for (const listener of group) this.#ring(listener, bells, bytes)
    })
    // who comes when all have left begins where the feed is then
    if (this.#groups.size > 0) this.#position = found.position
    const { last } = found.position
    for (const [listener, { snapshot }] of this.#known) if (isBehind(snapshot, last)) this.#known.delete(listener)
  }

  /** Asks for groups what they see of changes: for those together that one statement can ask for. */
  async #ask(groups: readonly Group[], found: NewChanges, tell: TellGroup): Promise<void> {
    const models = groupBy(found.changes, ({ model }) => model)
    const parts = new Map<object, Group[][]>()
    for (const group of groups) {
      const [first] = group
      if (!first || !models.has(first.model)) continue
      const { visible } = first
      // who was no use before holds up nobody by their statement
      const together = this.#questions.isTroubled(visible.group) ? undefined : visible.together
      const own = getOrInsert(parts, together ?? visible, () => [])
      const last = own.at(-1)
      if (last && last.length < MOST_TOGETHER) last.push(group)
      else own.push([group])
    }
    await forEachAtOnce([...parts.values()].flat(), AT_ONCE, (part) => this.#askTogether(part, models, tell))
  }

  async #askTogether(
    all: readonly Group[],
    models: ReadonlyMap<string, readonly FoundChange[]>,
    tell: TellGroup,
  ): Promise<void> {
    // the last one of a group may have left while others were asked
    const groups = all.filter(({ size }) => size > 0)
    const [first] = groups[0] ?? []
    if (!first) return
    const changes = models.get(first.model) ?? []
    if (groups.length === 1) return this.#askOne(groups[0] as Group, changes, tell)
    const visible = groups.map((group) => ([...group][0] as Listener).visible)
    const question = (asker: Asker) => VisibleChanges.ofAll(visible, changes, asker)
    const seen = await answerInTime(question).catch(() => undefined)
    // one of them may be wrong for all
    if (!seen) return forEachAtOnce(groups, AT_ONCE, (group) => this.#askOne(group, changes, tell))
    for (const [index, group] of groups.entries()) {
      this.#attempt(group, () => tell(group, seen[index] as ReadonlySet<FoundChange>))
    }
  }

  async #askOne(group: Group, changes: readonly FoundChange[], tell: TellGroup): Promise<void> {
    const [first] = group
    if (!first) return
    const { visible } = first
    const question = (asker: Asker) => visible.of(changes, asker)
    const seen = await this.#questions.ask(visible.group, question, (error) => first.report(error))
    if (seen === 'unknown') this.#end(group, this.#questions.restOf(visible.group) || undefined)
    else this.#attempt(group, () => tell(group, seen))
  }

  #ring(listener: Listener, bells: readonly Bell[], bytes: Buffer): void {
    const behind = this.#behind.get(listener)
    const known = this.#known.get(listener)
    if (behind) behind.meanwhile.push(...bells)
    else listener.send(known ? unknownText(bells, known) : bytes)
  }

  #sendBeat(): void {
    if (!this.#position) return
    this.#unsaid = 0
    const text = eventText({ id: positionText(this.#position) })
    for (const group of this.#groups.values()) {
      for (const listener of group) {
        // those who are further were told so
        if (!this.#behind.has(listener) && !this.#known.get(listener)?.isTold) listener.send(text)
      }
    }
  }
}

/** The listeners of a feed. */
export const listenersOf = oncePer((feed: ChangeFeed) => new ChangeListeners(feed))

/** Change to tell listeners of. */
interface Bell {
  readonly resource: string
  readonly key: unknown
  readonly at: ChangePosition
  readonly transaction: string
  /** For those who know what the reading knew. */
  readonly text: string
}

function textAt({ resource, key: id }: Pick<Bell, 'resource' | 'key'>, at: ChangePosition): string {
  const position = positionText(at)
  return eventText({ id: position, data: writeJson({ resource, id, position }) as string })
}

/** Events, as they are for those who know besides what a snapshot shows. */
function textOf(bells: readonly Bell[], known?: string): string {
  const texts = bells.map((bell) => {
    const last = known === undefined ? bell.at.last : shownByEither(bell.at.last, known)
    return last === bell.at.last ? bell.text : textAt(bell, { ...bell.at, last })
  })
  return texts.join('')
}

function unknownText(bells: readonly Bell[], { snapshot, isTold }: Known): string {
  const shows = visibleIn(snapshot)
  const unknown = bells.filter(({ transaction }) => !shows(transaction))
  return textOf(unknown, isTold ? snapshot : undefined)
}

/** What was read, and what is told of it already, by routes and changes. */
interface Reading {
  readonly found: NewChanges
  readonly from: ChangePosition
  readonly made: Map<string, Bell>
}

function bellsOf(
  { visible, resource }: Listener,
  seen: Iterable<FoundChange>,
  { found: { position }, from, made }: Reading,
): readonly Bell[] {
  const snapshot = from.next?.snapshot ?? position.next?.snapshot ?? position.last
  const bellOf = (change: FoundChange): Bell => {
    const key = visible.shownKey(change)
    const at = { last: from.last, next: { snapshot, id: change.id } }
    return { resource, key, at, transaction: change.transaction, text: textAt({ resource, key }, at) }
  }
  return [...seen]
    .sort((one, other) => Number(one.id) - Number(other.id))
    .map((change) => getOrInsert(made, `${visible.route} ${change.id}`, () => bellOf(change)))
}
