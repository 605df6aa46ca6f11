/** Positions of a change feed: how far a reading has come. */

/**
 * What was read: all that `last` shows; and, of what `next` shows besides, the changes up to an id.
 * Snapshots are those of `pg_current_snapshot()`.
 */
export interface ChangePosition {
  readonly last: string
  readonly next?: { readonly snapshot: string; readonly id: string } | undefined
}

/** Before any transaction. */
export const BEGINNING: ChangePosition = { last: '1:1:' }

/** A position as a text. Snapshots have digits, colons and commas. */
export function positionText({ last, next }: ChangePosition): string {
  return next ? `${last};${next.snapshot};${next.id}` : last
}

const SNAPSHOT = '\\d{1,19}:\\d{1,19}:(?:\\d{1,19}(?:,\\d{1,19})*)?'
const WRITTEN = new RegExp(`^(${SNAPSHOT})(?:;(${SNAPSHOT});(\\d{1,18}))?$`)

/** The position of a text; undefined for one that is none. */
export function readPosition(text: string): ChangePosition | undefined {
  const [, last, snapshot, id] = WRITTEN.exec(text) ?? []
  if (last === undefined || !isSnapshot(last)) return undefined
  if (snapshot === undefined || id === undefined) return { last }
  return isSnapshot(snapshot) ? { last, next: { snapshot, id } } : undefined
}

const MOST = 2n ** 63n

/** True for a text that PostgreSQL takes for one. */
function isSnapshot(text: string): boolean {
  const { lowest, end, running } = partsOf(text)
  if (lowest === 0n || lowest > end || end >= MOST) return false
  return running.every((one, index) => one >= lowest && one < end && (index === 0 || one > (running[index - 1] ?? 0n)))
}

function partsOf(snapshot: string) {
  const [lowest = '', end = '', running = ''] = snapshot.split(':')
  return {
    lowest: BigInt(lowest),
    end: BigInt(end),
    running: running === '' ? [] : running.split(',').map((one) => BigInt(one)),
  }
}

/** True where all that one snapshot shows was shown long since by the other. */
export function isBehind(snapshot: string, other: string): boolean {
  return partsOf(snapshot).end <= partsOf(other).lowest
}

/** Tells whether a snapshot shows a transaction that was committed, as `pg_visible_in_snapshot()` does. */
export function visibleIn(snapshot: string): (transaction: string) => boolean {
  const { lowest, end, running } = partsOf(snapshot)
  const isRunning = new Set(running)
  return (transaction) => {
    const number = BigInt(transaction)
    return number < lowest || (number < end && !isRunning.has(number))
  }
}

/** Intersection of snapshots: the transactions that all of them have seen. */
function shownByAll(snapshots: readonly string[]): string {
  const all = snapshots.map(partsOf)
  const end = all.map((one) => one.end).reduce((one, other) => (one < other ? one : other))
  const running = new Set(all.flatMap((one) => one.running.filter((number) => number < end)))
  return textOf(end, [...running].sort(ascending))
}

/** Union of two snapshots. */
export function shownByEither(one: string, other: string): string {
  return one === other
    ? one
    : snapshotAfter(one, { snapshot: other, newest: String(partsOf(other).end - 1n), own: null })
}

/** Behind what one reading goes on for all of these positions, which are in the same snapshot, or in none: it finds what any of them has missed. */
export function commonPosition(positions: readonly ChangePosition[]): ChangePosition {
  const last = shownByAll([...new Set(positions.map((one) => one.last))])
  const [next] = positions
    .flatMap(({ next }) => (next ? [next] : []))
    .sort((one, other) => Number(one.id) - Number(other.id))
  return { last, next }
}

/** Where somebody is who had come to a position, and has read what there is up to another one behind a `commonPosition()`. */
export function positionAfter({ last, next }: ChangePosition, read: ChangePosition): ChangePosition {
  if (!read.next) return { last: shownByEither(last, read.last) }
  return { last, next: next && Number(next.id) > Number(read.next.id) ? next : read.next }
}

/** Tells of changes that were found behind a `commonPosition()` whether this one of the positions has missed them. */
export function missedAt({
  last,
  next,
}: ChangePosition): (change: { readonly id: string; readonly transaction: string }) => boolean {
  const isShown = visibleIn(last)
  return ({ id, transaction }) => !isShown(transaction) && (next === undefined || Number(id) > Number(next.id))
}

/** Snapshot of a reading. */
export interface Seen {
  readonly snapshot: string
  /** The largest transaction of the changes that are shown; null where there are none. */
  readonly newest: string | null
  /** The transaction that reads, which its snapshot shows to itself; null where it has no number. */
  readonly own: string | null
}

/**
 * What was seen before, and what the snapshot shows up to the newest change that was ever seen. What is behind that has ended
 * without one, and no position counts it as seen: the number of a transaction that was rolled back is given to another one,
 * where a server crashes, or a standby takes its place, before that is on its disk.
 */
export function snapshotAfter(last: string, { snapshot, newest, own }: Seen): string {
  const [before, now] = [partsOf(last), partsOf(snapshot)]
  const nowRunning = own === null ? now.running : [...now.running, BigInt(own)].sort(ascending)
  const known = newest === null ? before.end : larger(BigInt(newest) + 1n, before.end)
  const shown = known < now.end ? known : now.end
  const end = larger(before.end, shown)
  const isShown = (number: bigint) => number < shown && !nowRunning.includes(number)
  const running = [
    ...before.running.filter((number) => !isShown(number)),
    ...nowRunning.filter((number) => number >= before.end && number < end),
  ]
  return textOf(end, running)
}

const textOf = (end: bigint, running: readonly bigint[]) => `${running[0] ?? end}:${end}:${running.join()}`

const larger = (one: bigint, other: bigint): bigint => (one > other ? one : other)
const ascending = (one: bigint, other: bigint): number => (one < other ? -1 : one > other ? 1 : 0)
