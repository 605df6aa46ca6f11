/** Readiness of a process: as its databases say, until it drains. */

import type { Knex } from 'knex'
import { reportError } from '../http/answer-error.js'
import type { Context } from '../http/context.js'
import { ConfigurationError, ServiceUnavailable } from '../kernel/errors.js'
import { checkKinds } from '../kernel/option-kinds.js'
import { isKnex } from '../postgres/pg-types.js'
import { Probe, type Probed } from './probe.js'
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
      kinds: { api: 'any', databases: 'list', timeout: 'size', live: 'name', ready: 'name' },
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
    for (const [name, path] of Object.entries({ live, ready })) {
      if (!path.startsWith('/')) throw new ConfigurationError(`health(): ${name} is "${path}"; begin it with a slash`)
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
