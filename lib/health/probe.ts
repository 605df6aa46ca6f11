/** Readiness probe: whether the application can answer requests, asked once for all who ask at the same time. */

import type { Knex } from 'knex'
import { TooLate, within } from '../kernel/within.js'
import { askDatabase, type Question } from '../postgres/ask-database.js'
import type { ProbedAPI } from './readiness.js'

/** What is asked. */
export interface Probed {
  readonly apis: readonly ProbedAPI[]
  /** Those of the application, beside those of its APIs. */
  readonly databases: readonly Knex[]
  /** How long it may take, in milliseconds. */
  readonly timeout: number
}

/** Why the application is not ready, for its log. */
export class NotReady extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(`readyz answers 503: ${reason}`, options)
    this.name = 'NotReady'
  }
}

const STILL_PREPARING = 'prepare() is not done yet'

/** A migration that drops a table, or one that is still to come, is no reason: all processes would go at once. */
const KNOWS_ANY = `select exists (select from unnest($1::text[]) as name where to_regclass(name) is not null) as known`

export class Probe {
  readonly #probed: Probed
  #asking: Promise<NotReady | undefined> | undefined

  constructor(probed: Probed) {
    this.#probed = probed
  }

  /** True once `close()` of an API was called. */
  get isClosing(): boolean {
    return this.#probed.apis.some(({ readiness }) => readiness.isClosing)
  }

  /** Why the application is not ready; undefined where it is. */
  ask(): Promise<NotReady | undefined> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined
    })
    return this.#asking
  }

  async #ask(): Promise<NotReady | undefined> {
    const { apis, databases, timeout } = this.#probed
    const unprepared = apis.filter(({ readiness }) => !readiness.isPrepared)
    if (unprepared.length > 0) return prepare(unprepared, timeout)
    const tables = new Map<Knex, Set<string>>(databases.map((knex) => [knex, new Set()]))
    for (const prepared of apis.flatMap(({ readiness }) => readiness.databases)) {
      const knex = prepared.knex as Knex
      tables.set(knex, new Set([...(tables.get(knex) ?? []), ...prepared.tables]))
    }
    const found = await Promise.all([...tables].map(([knex, names]) => askOne(knex, [...names], timeout)))
    return found.find((reason) => reason !== undefined)
  }
}

/** Nobody sends requests to an application that is not ready, so the first of them cannot be waited for. */
async function prepare(apis: readonly ProbedAPI[], timeout: number): Promise<NotReady | undefined> {
  try {
    await within(timeout, Promise.all(apis.map((api) => api.prepare())))
    return undefined
  } catch (error) {
    return new NotReady(error instanceof TooLate ? STILL_PREPARING : 'prepare() fails', { cause: error })
  }
}

async function askOne(knex: Knex, tables: readonly string[], timeout: number): Promise<NotReady | undefined> {
  const question: Question = { text: KNOWS_ANY, values: [tables] }
  try {
    const row = await askDatabase(knex, tables.length > 0 ? question : { text: 'select 1', values: [] }, timeout)
    return row?.['known'] === false
      ? new NotReady('the database has none of the tables that prepare() read')
      : undefined
  } catch (error) {
    return new NotReady('the database does not answer', { cause: error })
  }
}
