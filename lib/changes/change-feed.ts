/** Change feed: reads the changes of a database as they are committed, for all of a process that wait for them. */

import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import type { Knex } from 'knex'
import { getOrInsert } from '../kernel/maps.js'
import { errorLine } from '../kernel/quote.js'
import { RepeatedErrors } from '../kernel/repeated-errors.js'
import { configOf } from '../models/describe-model.js'
import type { Queryable } from '../postgres/pg-types.js'
import { scopeOf } from '../postgres/scoped-knex.js'
import { ChangeSignal } from './change-signal.js'
import { hearOfChanges } from './committed-changes.js'
import type { ChangePosition } from './position.js'
import { currentPosition, isLast, type NewChanges, selectNew } from './select-changes.js'

/** The most changes that are read at once. */
export const CHANGES_AT_ONCE = 500
/** The least time between two readings, so that one has the changes of several transactions; and after one that failed. In milliseconds. */
const PACE = { usual: 20, failed: 1_000 }

/** Consumer of changes, and of the position behind them. It must not fail. */
export type TakeChanges = (found: NewChanges, from: ChangePosition) => Promise<void>

/** Runs what is of no request, so that its statements are nobody's. */
export const withoutRequest = AsyncLocalStorage.snapshot()

const feeds = new WeakMap<object, ChangeFeed>()

/** The feed of a database. @param knex its pool, or one that runs as the role of a request */
export function feedOf(knex: Queryable): ChangeFeed {
  const config = configOf(knex)
  return getOrInsert(feeds, config, () => new ChangeFeed((scopeOf(knex)?.base ?? knex) as Knex))
}

/** The changes of one database. Without anybody who waits it reads nothing, and holds no connection. */
export class ChangeFeed {
  readonly knex: Knex
  readonly #takers = new Set<TakeChanges>()
  readonly #signal: ChangeSignal
  readonly #errors = new RepeatedErrors(warn)
  #position: Promise<ChangePosition> | undefined
  #isRunning = false

  constructor(knex: Knex) {
    this.knex = knex
    this.#signal = new ChangeSignal(knex)
    hearOfChanges(knex, () => this.#signal.tell())
  }

  /** Waits for changes. @returns where they begin */
  async follow(take: TakeChanges): Promise<ChangePosition> {
    this.#takers.add(take)
    this.#position ??= currentPosition(this.knex)
    try {
      const position = await this.#position
      if (!this.#isRunning) void withoutRequest(() => this.#run())
      return position
    } catch (error) {
      this.#takers.delete(take)
      this.#position = undefined
      throw error
    }
  }

  /** Waits no longer. */
  leave(take: TakeChanges): void {
    this.#takers.delete(take)
    if (this.#takers.size === 0) this.#signal.wake()
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    while (this.#takers.size > 0) {
      const isEnd = await this.#errors.tried('read', () => this.#readNew())
      if (isEnd === undefined) await this.#signal.sleep(PACE.failed)
      else if (isEnd) await this.#signal.wait()
      if (this.#takers.size > 0) await delay(PACE.usual, undefined, { ref: false })
    }
    this.#position = undefined
    this.#isRunning = false
    await this.#signal.close()
  }

  /** @returns false where there is more */
  async #readNew(): Promise<boolean> {
    const from = (await this.#position) as ChangePosition
    const found = await selectNew(this.knex, from, CHANGES_AT_ONCE)
    if (found.changes.length > 0) {
      this.#signal.found()
      await Promise.all([...this.#takers].map((take) => take(found, from)))
    }
    this.#position = Promise.resolve(found.position)
    return isLast(from, found.position)
  }
}

/** Nobody's request fails: streams stay open, and tell of what they have missed once it can be read. */
function warn(error: unknown): void {
  process.emitWarning(`What has changed cannot be read, and is tried again: "${errorLine(error)}"`, {
    code: 'KOA_VIEWSETS_CHANGES',
  })
}
