/** Reads changes as they are committed, and writes what endpoints are to be told of them: each once, whichever process does so. */

import type { Knex } from 'knex'
import { type ChangePosition, positionText, readPosition } from '../changes/position.js'
import { currentPosition, isLast, selectByIds, selectNew } from '../changes/select-changes.js'
import { forEachAtOnce } from '../kernel/at-once.js'
import { Rests } from '../kernel/rests.js'
import { readRows, runRaw } from '../postgres/type-parsers.js'
import {
  addDeliveries,
  endpointsWithPostponed,
  type NewDelivery,
  promoteNext,
  selectPostponed,
  settlePostponed,
  takeReplayed,
} from './delivery-table.js'
import { AT_ONCE, NewDeliveries, resourcesOf, type Telling, type ToldEndpoint } from './new-deliveries.js'
import { TABLES } from './webhook-tables.js'

/** Hands deliveries to somebody else, in the transaction that makes them. */
export type Enqueue = (trx: Knex.Transaction, deliveries: readonly { readonly id: string }[]) => Promise<unknown>

export interface FanOutOptions {
  readonly knex: Knex
  /** The table of endpoints. */
  readonly endpoints: string
  readonly telling: Telling
  readonly enqueue: Enqueue | undefined
  /** Something is told later, as its owner cannot be asked now. */
  readonly postponed: () => void
}

/** The most changes that are read at once. */
const PAGE = 200

/** Result of a reading. */
export interface Reading {
  /** There is no more. */
  readonly isEnd?: boolean
  /** Something may be due. */
  readonly isNew: boolean
  /** Another process has read the same before. */
  readonly isLost?: boolean
}

export class FanOut {
  readonly #options: FanOutOptions
  /** Endpoints for whose owners it is no use to ask again now. */
  readonly #rests = new Rests()
  /** Position up to which this process knows changes to be read. */
  #known: string | undefined

  constructor(options: FanOutOptions) {
    this.#options = options
  }

  /** Notes where to begin, where nobody has read for these endpoints yet. */
  async begin(): Promise<void> {
    const { knex, endpoints } = this.#options
    const position = positionText(await currentPosition(knex))
    const sql = `insert into ${TABLES.progress} (endpoints, position) values (?, ?) on conflict do nothing`
    await runRaw(knex, sql, [endpoints, position])
  }

  /**
   * Reads what is new. Nothing is locked while owners are asked for: whoever has written what is told goes on, and another
   * process that has read the same meanwhile has it done.
   */
  async readOnce(): Promise<Reading> {
    const { knex, telling } = this.#options
    const text = this.#known ?? (await this.#progress())
    const from = readPosition(text) as ChangePosition
    const { changes, position } = await selectNew(knex, from, PAGE)
    const next = positionText(position)
    if (changes.length === 0 && next === text) {
      this.#known = text
      return { isEnd: true, isNew: false }
    }
    // owners are asked for nothing that another process has told meanwhile
    if (this.#known !== undefined && changes.length > 0 && (await this.#progress()) !== text) {
      this.#known = undefined
      return { isNew: true }
    }
    const told = changes.filter(({ model }) => resourcesOf(telling, model).length > 0)
    const endpoints = told.length > 0 ? await this.#activeEndpoints() : []
    const deliveries = await new NewDeliveries(telling).of(told, endpoints)
    this.#known = undefined
    if (!(await this.#write(text, next, deliveries))) return { isNew: true, isLost: true }
    this.#known = next
    return { isEnd: isLast(from, position), isNew: changes.length > 0 }
  }

  /** @returns false where another process has done so */
  async #write(text: string, next: string, deliveries: readonly NewDelivery[]): Promise<boolean> {
    const { knex, endpoints, postponed } = this.#options
    const waiting = await knex.transaction(async (trx) => {
      const done = await trx.raw<{ rowCount: number }>(
        `update ${TABLES.progress} set position = ? where endpoints = ? and position = ?`,
        [next, endpoints, text],
      )
      if (done.rowCount === 0) return undefined
      const added = await addDeliveries(trx, deliveries)
      await this.#handOver(trx, deliveries)
      return added
    })
    if (waiting) await promoteNext(knex, waiting)
    if (waiting && deliveries.some(({ body }) => body === null)) postponed()
    return waiting !== undefined
  }

  /** Hands over what was replayed. @returns false where there is nothing */
  async handOverReplayed(): Promise<boolean> {
    const { knex, endpoints, enqueue } = this.#options
    return knex.transaction(async (trx) => {
      const replayed = await takeReplayed(trx, endpoints)
      if (replayed.length > 0) await enqueue?.(trx, replayed)
      return replayed.length > 0
    })
  }

  async #handOver(trx: Knex.Transaction, deliveries: readonly NewDelivery[]): Promise<void> {
    const known = deliveries.filter(({ body }) => body !== null).map(({ id }) => ({ id }))
    if (known.length > 0) await this.#options.enqueue?.(trx, known)
  }

  async #progress(): Promise<string> {
    const { knex, endpoints } = this.#options
    const rows = await readRows<{ position: string }>(
      knex,
      `select position from ${TABLES.progress} where endpoints = ?`,
      [endpoints],
    )
    if (rows[0]) return rows[0].position
    await this.begin()
    return this.#progress()
  }

  async #activeEndpoints(): Promise<readonly ToldEndpoint[]> {
    const { knex, endpoints } = this.#options
    return readRows<ToldEndpoint>(
      knex,
      'select id, owner, to_json(events) as events from ?? where is_active order by id',
      [endpoints],
    )
  }

  /** Asks again for what was postponed. @returns how many are known now, which is not all of them */
  async settleOnce(): Promise<{
    readonly settled: number
    readonly isEnd: boolean
  }> {
    const { knex, endpoints, telling } = this.#options
    const postponed = await endpointsWithPostponed(knex, endpoints, telling.events)
    const asked = postponed.filter(({ id }) => this.#rests.left(id) === 0)
    let settled = 0
    await forEachAtOnce(asked, AT_ONCE, async (endpoint) => {
      const count = await this.#settle(endpoint)
      this.#rests.note(endpoint.id, count > 0)
      settled += count
    })
    return { settled, isEnd: postponed.length === 0 }
  }

  /** The oldest of an endpoint. */
  async #settle(endpoint: ToldEndpoint): Promise<number> {
    const { knex, telling } = this.#options
    const oldest = await selectPostponed(knex, endpoint.id, { events: telling.events, limit: PAGE })
    const { changes, isAll } = await selectByIds(knex, [...new Set(oldest.map(({ changeId }) => changeId))])
    const last = Number(changes.at(-1)?.id)
    const postponed = isAll ? oldest : oldest.filter(({ changeId }) => Number(changeId) <= last)
    // not by their ids, which another version of the API may have given by other view sets
    const nameOf = ({ changeId, event }: Pick<NewDelivery, 'changeId' | 'event'>) => `${changeId} ${event}`
    const told = await new NewDeliveries(telling).of(changes, [endpoint])
    const bodies = new Map(told.map((one) => [nameOf(one), one.body]))
    const settled = postponed.map((one) => ({ ...one, body: bodies.get(nameOf(one)) }))
    const known = settled.filter((one): one is NewDelivery => typeof one.body === 'string')
    const gone = settled.filter(({ body }) => body === undefined)
    if (known.length + gone.length === 0) return 0
    await knex.transaction(async (trx) => {
      await this.#handOver(trx, await settlePostponed(trx, known, gone))
    })
    await promoteNext(knex, [...known, ...gone])
    return known.length + gone.length
  }
}
