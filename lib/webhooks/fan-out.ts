/** Reads changes as they are committed, and writes what endpoints are to be told of them: each once, whichever process does so. */

import type { Knex } from 'knex'
import { currentPosition, isLast, selectNew } from '../changes/changes-table.js'
import { type Position, positionText, readPosition } from '../changes/position.js'
import { runRaw } from '../postgres/type-parsers.js'
import { addDeliveries } from './delivery-table.js'
import { type FindOwner, NewDeliveries, type ToldEndpoint } from './new-deliveries.js'
import type { ToldResource } from './owner-view.js'
import { TABLES } from './webhook-tables.js'

/** Hands deliveries to somebody else, in the transaction that makes them. */
export type Enqueue = (trx: Knex.Transaction, deliveries: readonly { readonly id: string }[]) => Promise<unknown>

export interface FanOutOptions {
  readonly knex: Knex
  /** The table of endpoints. */
  readonly endpoints: string
  /** By the names of their models in the table of changes. */
  readonly resources: ReadonlyMap<string, readonly ToldResource[]>
  readonly findOwner: FindOwner
  readonly enqueue: Enqueue | undefined
}

/** The most changes that are read at once. */
const PAGE = 200

export class FanOut {
  readonly #options: FanOutOptions

  constructor(options: FanOutOptions) {
    this.#options = options
  }

  /** Notes where to begin, where nobody has read for webhooks yet. */
  async begin(): Promise<void> {
    const { knex } = this.#options
    const position = positionText(await currentPosition(knex))
    await runRaw(knex, `insert into ${TABLES.progress} (position) values (?) on conflict do nothing`, [position])
  }

  /**
   * Reads what is new. Nothing is locked while owners are asked for: whoever has written what is told goes on, and another
   * process that has read the same meanwhile has it done.
   * @returns false where there may be more
   */
  async readOnce(): Promise<boolean> {
    const { knex, resources, findOwner, enqueue } = this.#options
    const { rows } = await runRaw<{ rows: readonly { position: string }[] }>(
      knex,
      `select position from ${TABLES.progress}`,
    )
    const text = rows[0]?.position ?? ''
    const from = readPosition(text) as Position
    const { changes, position } = await selectNew(knex, from, PAGE)
    const next = positionText(position)
    if (changes.length === 0 && next === text) return true
    const told = changes.filter(({ model }) => resources.has(model))
    const endpoints = told.length > 0 ? await this.#activeEndpoints() : []
    const deliveries = await new NewDeliveries(resources, findOwner).of(told, endpoints)
    await knex.transaction(async (trx) => {
      const done = await trx.raw<{ rowCount: number }>(
        `update ${TABLES.progress} set position = ? where position = ?`,
        [next, text],
      )
      if (done.rowCount === 0 || deliveries.length === 0) return
      await addDeliveries(trx, deliveries)
      await enqueue?.(
        trx,
        deliveries.map(({ id }) => ({ id })),
      )
    })
    return isLast(from, position)
  }

  async #activeEndpoints(): Promise<readonly ToldEndpoint[]> {
    const { knex, endpoints } = this.#options
    const { rows } = await runRaw<{ rows: readonly ToldEndpoint[] }>(
      knex,
      'select id, owner, to_json(events) as events from ?? where is_active order by id',
      [endpoints],
    )
    return rows
  }
}
