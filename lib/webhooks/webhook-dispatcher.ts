/** Delivers webhooks of changes: one for each process that is to share the work. */

import type { Knex } from 'knex'
import { ChangeSignal } from '../changes/change-signal.js'
import { hearOfChanges } from '../changes/committed-changes.js'
import { Alarm } from '../kernel/alarm.js'
import { ConfigurationError } from '../kernel/errors.js'
import { checkKinds } from '../kernel/option-kinds.js'
import { oneLine } from '../kernel/quote.js'
import type { Endpoint } from '../views/endpoint.js'
import type { GenericAPIView } from '../views/generic-api-view.js'
import { sweepDeliveries } from './delivery-table.js'
import { type Enqueue, FanOut } from './fan-out.js'
import type { FindOwner } from './new-deliveries.js'
import type { ToldResource } from './owner-view.js'
import type { Resolve } from './receiver.js'
import { Sender } from './sender.js'
import { toldResources } from './told-resources.js'
import { WebhookEndpointViewSet } from './webhook-endpoint-view-set.js'
import { resourceOfEvent } from './webhook-events.js'

/** What the dispatcher asks of an API. */
export interface ToldAPI {
  readonly endpoints: readonly Endpoint[]
  prepare(): Promise<void>
}

/** Options of a dispatcher. */
export interface WebhookDispatcherOptions {
  /** The database of what changes, in which the tables of webhooks are. */
  readonly knex: Knex
  /** The API whose view sets record their changes. */
  readonly api: ToldAPI
  /**
   * The user whom an endpoint belongs to, as `ctx.state.user` would be: what he sees is told, and no more. Undefined where
   * there is nobody any more. It is asked for each batch of changes.
   */
  readonly findOwner: FindOwner
  /** The view set of endpoints. @default the one that the API has */
  readonly endpoints?: typeof WebhookEndpointViewSet
  /** The most attempts at a time in this process. @default 50 */
  readonly concurrency?: number
  /** The most attempts at a time of one endpoint. @default 5 */
  readonly perEndpoint?: number
  /** Seconds that a receiver has to answer. @default 15 */
  readonly timeoutSeconds?: number
  /** Days that deliveries are kept which were delivered or given up. @default 30 */
  readonly retentionDays?: number
  /** Finds the addresses of hosts; what it finds is checked all the same. @default the name servers of the system */
  readonly resolve?: Resolve
  /**
   * Hands deliveries to a queue of jobs, in the transaction that makes them: a job calls `deliver(id)`. The dispatcher then
   * sends none itself.
   */
  readonly enqueue?: Enqueue
  /** Takes errors of the database and of the application's code, after which work goes on. @default a warning of the process */
  readonly onError?: (error: unknown) => void
}

const KINDS = {
  knex: 'any',
  api: 'any',
  findOwner: 'function',
  endpoints: 'any',
  concurrency: 'size',
  perEndpoint: 'size',
  timeoutSeconds: 'size',
  retentionDays: 'size',
  resolve: 'function',
  enqueue: 'function',
  onError: 'function',
} as const

/** How long to wait after an error, in milliseconds. */
const AFTER_ERROR = 2_000
/** How often deliveries are looked for that are due by now, in milliseconds. */
const POLL = 500
/** How often old deliveries are deleted, in milliseconds. */
const SWEEP = 3_600_000

/**
 * Delivers webhooks: each change of what an endpoint's owner sees, at least once and in the order of each object, signed by
 * the scheme of Standard Webhooks. Several processes may run one, and share the work. While a receiver answers, no connection
 * and no row is held.
 * @see docs/reference/webhooks.md
 * @example
 * const dispatcher = new WebhookDispatcher({ knex, api, findOwner: (id) => User.query().findById(id) })
 * await dispatcher.start()
 * process.on('SIGTERM', () => dispatcher.stop())
 */
export class WebhookDispatcher {
  readonly #options: WebhookDispatcherOptions
  #running: Running | undefined

  /** @throws {ConfigurationError} an option is wrong */
  constructor(options: WebhookDispatcherOptions) {
    checkKinds('new WebhookDispatcher()', options, { kinds: KINDS })
    this.#options = options
  }

  /**
   * Begins: with what is committed from now on where webhooks were never sent, else where another process has ended.
   * @throws {ConfigurationError} the API has no such events, or no view set of endpoints
   */
  async start(): Promise<void> {
    if (this.#running) return
    const running = new Running(this.#options, await toldOf(this.#options))
    await running.fanOut.begin()
    this.#running = running
    running.begin()
  }

  /** Ends: waits for what is being sent, at most so many seconds, and leaves the rest to other processes, or the next start. */
  async stop({ seconds = 5 }: { readonly seconds?: number } = {}): Promise<void> {
    const running = this.#running
    if (!running) return
    this.#running = undefined
    await running.end(seconds)
  }

  /**
   * Sends one delivery now, for jobs of another queue (`enqueue`).
   * @returns true where it has ended; false where it is to be tried again: the receiver has refused it, or what was to be told
   * before it was not
   * @throws {ConfigurationError} the dispatcher has not started
   */
  deliver(id: string): Promise<boolean> {
    if (!this.#running) throw new ConfigurationError('WebhookDispatcher: deliver() needs a dispatcher that has started')
    return this.#running.sender.sendOne(id)
  }
}

/** A dispatcher between its start and its end. */
class Running {
  readonly fanOut: FanOut
  readonly sender: Sender
  readonly #options: WebhookDispatcherOptions
  readonly #signal: ChangeSignal
  /** There is something to send, or place for more. */
  readonly #sending = new Alarm()
  readonly #loops: Promise<void>[] = []
  readonly #unhear: () => void
  readonly #sweeping: NodeJS.Timeout
  #isEnding = false

  constructor(options: WebhookDispatcherOptions, { endpoints, resources }: Told) {
    const { knex, findOwner, enqueue, concurrency = 50, perEndpoint = 5, timeoutSeconds = 15, resolve } = options
    const table = endpoints.modelClass().tableName
    this.#options = options
    this.#signal = new ChangeSignal(knex)
    this.#unhear = hearOfChanges(knex, () => this.#signal.tell())
    this.fanOut = new FanOut({ knex, endpoints: table, resources, findOwner, enqueue })
    this.sender = new Sender({
      knex,
      endpoints: table,
      concurrency,
      perEndpoint,
      posting: { ...endpoints.receivers, timeoutSeconds, ...(resolve && { resolve }) },
      ended: () => this.#sending.ring(),
      onError: (error) => this.#report(error),
    })
    const days = options.retentionDays ?? 30
    const sweep = () => sweepDeliveries(knex, table, days).catch((error: unknown) => this.#report(error))
    this.#sweeping = setInterval(() => void sweep(), SWEEP).unref()
  }

  begin(): void {
    this.#loops.push(this.#readOn())
    if (!this.#options.enqueue) this.#loops.push(this.#sendOn())
  }

  async end(seconds: number): Promise<void> {
    this.#isEnding = true
    clearInterval(this.#sweeping)
    this.#unhear()
    this.#signal.wake()
    this.#sending.ring()
    await Promise.all(this.#loops)
    await this.sender.end(seconds)
    await this.#signal.close()
  }

  async #readOn(): Promise<void> {
    while (!this.#isEnding) {
      const isEnd = await this.fanOut.readOnce().catch((error: unknown) => this.#failed(error))
      this.#sending.ring()
      if (isEnd === undefined) await this.#signal.sleep(AFTER_ERROR)
      else if (isEnd) await this.#signal.wait()
    }
  }

  async #sendOn(): Promise<void> {
    while (!this.#isEnding) {
      const hasSent = await this.sender.sendDue().catch((error: unknown) => this.#failed(error))
      if (hasSent === undefined) await this.#sending.wait(AFTER_ERROR)
      else if (!hasSent) await this.#sending.wait(POLL)
    }
  }

  #failed(error: unknown): undefined {
    this.#report(error)
    return undefined
  }

  #report(error: unknown): void {
    const { onError } = this.#options
    if (onError) {
      onError(error)
      return
    }
    const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
    process.emitWarning(`A webhook dispatcher has failed, and goes on: "${oneLine(text)}"`, {
      code: 'KOA_VIEWSETS_WEBHOOKS',
    })
  }
}

/** Whose endpoints are told of what. */
interface Told {
  readonly endpoints: typeof WebhookEndpointViewSet
  readonly resources: ReadonlyMap<string, readonly ToldResource[]>
}

/** @throws {ConfigurationError} nobody can be told, or there are no such events */
async function toldOf({ api, endpoints: given }: WebhookDispatcherOptions): Promise<Told> {
  await api.prepare()
  const endpoints = given ?? api.endpoints.map(({ view }) => view).find(isEndpoints)
  if (!endpoints) {
    throw new ConfigurationError(
      'WebhookDispatcher: the API has no view set of endpoints; register one, or give it as endpoints',
    )
  }
  const found = toldResources(endpoints.events, api.endpoints)
  const missing = endpoints.events.map(resourceOfEvent).find((name) => !found.has(name))
  if (missing !== undefined || found.size === 0) {
    throw new ConfigurationError(
      `${endpoints.name}: events names ${missing === undefined ? 'nothing' : `"${missing}", and the API has no list with this basename`}; write static events = ['book.*']`,
    )
  }
  const resources = new Map<string, ToldResource[]>()
  for (const [name, resource] of found) {
    if (!resource) {
      throw new ConfigurationError(
        `WebhookDispatcher: "${name}" records no changes, or is nested; webhooks tell of view sets with ChangesMixin that have a list of their own`,
      )
    }
    const { tableName } = (resource.operation.view as typeof GenericAPIView).modelClass()
    resources.set(tableName, [...(resources.get(tableName) ?? []), resource])
  }
  return { endpoints, resources }
}

function isEndpoints(view: unknown): view is typeof WebhookEndpointViewSet {
  const { prototype } = view as typeof WebhookEndpointViewSet
  return prototype instanceof WebhookEndpointViewSet || view === WebhookEndpointViewSet
}
