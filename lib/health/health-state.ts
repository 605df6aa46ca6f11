/** Readiness of a process: as its databases say, until it drains. */
import type { Knex } from 'knex'
import { reportError } from '../http/answer-error.js'
import type { Context } from '../http/context.js'
import { ConfigurationError, ServiceUnavailable } from '../kernel/errors.js'
import { checkKinds } from '../kernel/option-kinds.js'
import { TooLate, within } from '../kernel/within.js'
import { askDatabase, type Question } from '../postgres/ask-database.js'
import { isKnex } from '../postgres/pg-types.js'
import type { ProbedAPI } from './readiness.js'

/** Options of `health()`. */
export interface HealthOptions {
  /** The routers that must be prepared, whose databases must answer, and whose `close()` ends readiness. @default none */
  readonly api?: ProbedAPI | readonly ProbedAPI[]
  /** Databases that must answer, beside those that the routers have read. @default none */
  readonly databases?: readonly Knex[]
  /** How long a database may take to answer, in milliseconds. @default 800 */
  readonly timeout?: number
  /** The path that tells whether the process lives. @default '/livez' */
  readonly live?: string
  /** The path that tells whether it takes requests. @default '/readyz' */
  readonly ready?: string
}

export class HealthState {
  readonly #probe: Probe
  #isDraining = false
  #wasReady = true

  constructor(probed: Probed) {
    this.#probe = new Probe(probed)
  }

  /** What the options stand for. @throws {ConfigurationError} one is wrong */
  static of(options: HealthOptions): { readonly live: string; readonly ready: string; readonly state: HealthState } {
    checkKinds('health()', options, {
      kinds: { api: 'any', databases: 'list', timeout: 'milliseconds', live: 'path', ready: 'path' },
    })
    const { api = [], databases = [], timeout = 800, live = '/livez', ready = '/readyz' } = options
    const apis = [api].flat() as readonly ProbedAPI[]
    for (const one of apis) {
      if (typeof (one as Partial<ProbedAPI> | undefined)?.readiness === 'object') continue
      throw new ConfigurationError('health(): api is no APIRouter; give health({ api }) the router that is mounted')
    }
    for (const one of databases) {
      if (isKnex(one)) continue
      throw new ConfigurationError('health(): databases holds something that is no knex instance')
    }
    return { live, ready, state: new HealthState({ apis, databases, timeout }) }
  }

  drain(): void {
    this.#isDraining = true
  }

  /** Asks; why the answer is no is reported when it was yes before. */
  async isReady(ctx: Context): Promise<boolean> {
    const reason = this.#isEnding ? undefined : await this.#probe.ask()
    // it may have begun to end meanwhile
    if (this.#isEnding) return false
    if (reason && this.#wasReady) reportError(ctx, reason)
    this.#wasReady = reason === undefined
    return this.#wasReady
  }

  get #isEnding(): boolean {
    return this.#isDraining || this.#probe.isClosing
  }
}

const UNAVAILABLE = new ServiceUnavailable()

/** Status only: who probes is not authenticated. A 503 is no fault of a request, so it is not reported as one. */
export function answerProbe(ctx: Context, isFine: boolean): void {
  ctx.set({ 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' })
  ctx.status = isFine ? 200 : 503
  if (!isFine) ctx.set(UNAVAILABLE.headers)
  ctx.body = isFine ? { status: 'ok' } : { detail: UNAVAILABLE.message, status: 503 }
}

/** What is asked. */
interface Probed {
  readonly apis: readonly ProbedAPI[]
  /** Those of the application, beside those of its APIs. */
  readonly databases: readonly Knex[]
  /** How long it may take, in milliseconds. */
  readonly timeout: number
}

/** Why the application is not ready, for its log. */
class NotReady extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(`readyz answers 503: ${reason}`, options)
    this.name = 'NotReady'
  }
}

const STILL_PREPARING = 'prepare() is not done yet'

/** A migration that drops a table, or one that is still to come, is no reason: all processes would go at once. */
const KNOWS_ANY = `select exists (select from unnest($1::text[]) as name where to_regclass(name) is not null) as known`

class Probe {
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
