/** Positions of readings: what several of them have in common, and how far each has come behind what was read for all. */
import { describe, expect, it } from 'vitest'
import {
  type ChangePosition,
  commonPosition,
  missedAt,
  positionAfter,
  visibleIn,
} from '../../../lib/changes/position.js'
import { Random } from '../../trust/support/random.js'
import { seed } from '../../trust/support/size.js'

interface Change {
  readonly id: string
  readonly transaction: string
}

/** Changes of transactions, and a snapshot of each moment: what was committed by then. */
interface History {
  readonly changes: readonly Change[]
  readonly snapshots: readonly string[]
}

function historyOf(random: Random): History {
  const changes: Change[] = []
  const snapshots: string[] = []
  const running = new Set<number>()
  let next = 10
  for (let moment = 0; moment < 30; moment++) {
    if (random.chance(0.6)) running.add(next++)
    for (const transaction of running) {
      if (random.chance(0.5)) changes.push({ id: String(changes.length + 1), transaction: String(transaction) })
      if (random.chance(0.2)) running.delete(transaction)
    }
    snapshots.push(`${Math.min(next, ...running)}:${next}:${[...running].join()}`)
  }
  return { changes, snapshots }
}

/** What was read by who has come to a position: its definition. */
function readAt({ changes }: History, { last, next }: ChangePosition): readonly string[] {
  const isLast = visibleIn(last)
  const isNext = next && visibleIn(next.snapshot)
  const isRead = ({ id, transaction }: Change) =>
    isLast(transaction) || (isNext?.(transaction) === true && Number(id) <= Number(next?.id))
  return changes.filter(isRead).map(({ id }) => id)
}

/** Some who go on in one snapshot, or all in none. */
function positionsOf({ changes, snapshots }: History, random: Random): readonly ChangePosition[] {
  const inside = random.chance(0.5) ? snapshots[10 + random.below(10)] : undefined
  return Array.from({ length: 1 + random.below(5) }, () => ({
    last: snapshots[random.below(10)] as string,
    next: inside === undefined ? undefined : { snapshot: inside, id: String(random.below(changes.length)) },
  }))
}

/** The next page behind a position, and where it ends; its snapshot is one of the last moments. */
function readOn(
  history: History,
  from: ChangePosition,
  limit: number,
): { found: readonly Change[]; read: ChangePosition } {
  const snapshot = from.next?.snapshot ?? history.snapshots.at(-1) ?? ''
  const known = readAt(history, from)
  const isShown = visibleIn(snapshot)
  const fresh = history.changes.filter(({ id, transaction }) => isShown(transaction) && !known.includes(id))
  const found = fresh.slice(0, limit)
  const isEnd = fresh.length <= limit
  return {
    found,
    read: isEnd ? { last: snapshot } : { last: from.last, next: { snapshot, id: found.at(-1)?.id as string } },
  }
}

describe('those who go on together', () => {
  it('are told each what it has missed, once, and come to where all of that is read', () => {
    const random = new Random(seed)
    for (let run = 0; run < 300; run++) {
      const history = historyOf(random)
      let positions = positionsOf(history, random)
      for (let page = 0; page < 3; page++) {
        const from = commonPosition(positions)
        const all = positions.map((position) => new Set(readAt(history, position)))
        // nothing is passed over that one of them has missed
        expect(readAt(history, from).filter((id) => !all.every((read) => read.has(id)))).toEqual([])
        const { found, read } = readOn(history, from, 1 + random.below(20))
        const reached = positions.map((position) => positionAfter(position, read))
        for (const [index, position] of positions.entries()) {
          const told = found.filter(missedAt(position)).map(({ id }) => id)
          expect(told.filter((id) => all[index]?.has(id))).toEqual([])
          const both = [...(all[index] as ReadonlySet<string>), ...told].sort(
            (one, other) => Number(one) - Number(other),
          )
          expect(readAt(history, reached[index] as ChangePosition)).toEqual(both)
        }
        positions = reached
        if (new Set(positions.map(({ next }) => next?.snapshot)).size > 1) break
      }
    }
  })
})
