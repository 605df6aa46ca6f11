/** Delivers webhooks of changes: one for each process that is to share the work. */

import type { Knex } from 'knex'
import { ChangeSignal } from '../changes/change-signal.js'
import { hearOfChanges } from '../changes/committed-changes.js'
import { Alarm } from '../kernel/alarm.js'
import { ConfigurationError } from '../kernel/errors.js'
import { checkKinds } from '../kernel/option-kinds.js'
import { Questions } from '../kernel/questions.js'
import { errorLine } from '../kernel/quote.js'
import { RepeatedErrors } from '../kernel/repeated-errors.js'
import { within } from '../kernel/within.js'
import { isBuiltIn } from '../views/built-in.js'
import type { Endpoint } from '../views/endpoint.js'
import type { GenericAPIView } from '../views/generic-api-view.js'
import { AddressRanges } from './address-ranges.js'
import { promoteAll, sweepDeliveries } from './delivery-table.js'
import { type Enqueue, FanOut } from './fan-out.js'
import type { FindOwner } from './new-deliveries.js'
import { checkOwnersDatabase, type ToldResource } from './owner-view.js'
import type { Resolve } from './receiver.js'
import { Sender } from './sender.js'
import { toldResources } from './told-resources.js'
import { WebhookEndpointViewSet } from './webhook-endpoint-view-set.js'
import { resourceOfEvent } from './webhook-events.js'
import { checkWebhookTables } from './webhook-tables.js'

/** API of the dispatcher, as far as it is used. */
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
  /**
   * Takes errors of the database and of the application's code, after which work goes on: in an outage the same one once.
   * @default a warning of the process
   */
  readonly onError?: (error: unknown) => unknown
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

/** What a receiver may have at the most is an hour: a worker that was killed has its deliveries for as long. */
const MOST = { timeoutSeconds: 3_600, retentionDays: 36_500 } as const

/** Delay after an error, in milliseconds. */
const AFTER_ERROR = 2_000
/** Poll interval for due deliveries, in milliseconds: short after there were some, then longer. */
const POLL = { first: 250, longest: 2_000 }
/** Poll intervals for deliveries of killed processes, and for postponed ones, in milliseconds. */
const MEND = { usual: 60_000, postponed: 1_000 }
/** The longest time that timers take. */
const MOST_SECONDS = 2_000_000
/** Interval of the deletion of old deliveries, and its delay after the start, in milliseconds. */
const SWEEP = { first: 60_000, usual: 3_600_000 }
/** Backoff after another process was quicker to read, the first time and at most, in milliseconds. */
const LEAVE = { first: 50, longest: 2_000 }

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
  #running: Promise<Running> | undefined

  /** @throws {ConfigurationError} an option is wrong */
  constructor(options: WebhookDispatcherOptions) {
    checkKinds('new WebhookDispatcher()', options, { kinds: KINDS })
    for (const [name, most] of Object.entries(MOST)) {
      if (Number(options[name as keyof typeof MOST]) > most) {
        throw new ConfigurationError(`new WebhookDispatcher(): ${name} is more than ${most}`)
      }
    }
    this.#options = options
  }

  /**
   * Begins: with what is committed from now on where webhooks were never sent, else where another process has ended.
   * @throws {ConfigurationError} the API has no such events, or no view set of endpoints
   */
  async start(): Promise<void> {
    this.#running ??= Running.begin(this.#options)
    const running = this.#running
    try {
      await running
    } catch (error) {
      // another one may have begun meanwhile
      if (this.#running === running) this.#running = undefined
      throw error
    }
  }

  /** Ends: waits for what is being sent, at most so many seconds, and leaves the rest to other processes, or the next start. */
  async stop({ seconds = 5 }: { readonly seconds?: number } = {}): Promise<void> {
    if (!(seconds >= 0))
      throw new ConfigurationError('WebhookDispatcher: stop({ seconds }) takes a number of at least 0')
    const running = this.#running
    this.#running = undefined
    const started = await running?.catch(() => undefined)
    await started?.end(Math.min(seconds, MOST_SECONDS))
  }

  /**
   * Sends one delivery now, for jobs of another queue (`enqueue`).
   * @returns true where it has ended; false where it is to be tried again: the receiver has refused it, or what was to be told
   * before it was not
   * @throws {ConfigurationError} the dispatcher has not started
   */
  async deliver(id: string): Promise<boolean> {
    const running = await this.#running
    if (!running) throw new ConfigurationError('WebhookDispatcher: deliver() needs a dispatcher that has started')
    return running.sender.sendOne(id)
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
  /** Something was postponed. */
  readonly #mending = new Alarm()
  /** Another process reads. */
  readonly #leaving = new Alarm()
  readonly #loops: Promise<void>[] = []
  readonly #errors = new RepeatedErrors((error) => this.#report(error))
  #unhear: (() => void) | undefined
  #isEnding = false

  /** @throws {ConfigurationError} */
  static async begin(options: WebhookDispatcherOptions): Promise<Running> {
    const told = await toldOf(options)
    await checkWebhookTables(options.knex, told.endpoints.modelClass().tableName)
    const running = new Running(options, told)
    await running.fanOut.begin()
    running.#begin()
    return running
  }

  private constructor(options: WebhookDispatcherOptions, { endpoints, resources }: Told) {
    const { knex, findOwner, enqueue, concurrency = 50, perEndpoint = 5, timeoutSeconds = 15, resolve } = options
    const table = endpoints.modelClass().tableName
    this.#options = options
    this.#signal = new ChangeSignal(knex)
    const report = (error: unknown) => this.#report(error)
    this.fanOut = new FanOut({
      knex,
      endpoints: table,
      telling: { knex, resources, events: endpoints.events, findOwner, questions: new Questions(), report },
      enqueue,
      postponed: () => this.#mending.ring(),
    })
    this.sender = new Sender({
      knex,
      endpoints: table,
      concurrency,
      perEndpoint,
      posting: { ...endpoints.receivers, timeoutSeconds, ...(resolve && { resolve }) },
      ended: () => this.#sending.ring(),
      onError: (error) => this.#errors.tell('send', error),
    })
  }

  #begin(): void {
    const { knex } = this.#options
    this.#unhear = hearOfChanges(knex, () => this.#signal.tell())
    this.#loops.push(this.#readOn(), this.#mendOn(), this.#sendOn())
  }

  async end(seconds: number): Promise<void> {
    const end = performance.now() + seconds * 1_000
    this.#isEnding = true
    this.#unhear?.()
    this.#signal.wake()
    this.#sending.ring()
    this.#mending.ring()
    this.#leaving.ring()
    // code of the application may hang in them
    await within(seconds * 1_000, Promise.all(this.#loops)).catch(() => {})
    const left = Math.max(0, end - performance.now()) / 1_000
    const sent = this.sender.end(left).catch((error: unknown) => this.#report(error))
    await Promise.all([sent, this.#signal.close()])
  }

  async #readOn(): Promise<void> {
    let lost = 0
    while (!this.#isEnding) {
      const reading = await this.#errors.tried('read', () => this.fanOut.readOnce())
      if (reading?.isNew) {
        this.#signal.found()
        this.#sending.ring()
      }
      lost = reading?.isLost ? lost + 1 : 0
      if (lost > 0) await this.#leaving.wait(Math.random() * Math.min(LEAVE.longest, LEAVE.first * 2 ** lost))
      else if (reading === undefined) await this.#signal.sleep(AFTER_ERROR)
      else if (reading.isEnd && !this.#isEnding) await this.#signal.wait()
    }
  }

  /** Sends, or hands over what a queue of jobs does not have any more. */
  async #sendOn(): Promise<void> {
    const { enqueue } = this.#options
    let pause = POLL.first
    while (!this.#isEnding) {
      const send = () => (enqueue ? this.fanOut.handOverReplayed() : this.sender.sendDue())
      const hasSent = await this.#errors.tried('send', send)
      pause = hasSent ? POLL.first : Math.min(pause * 2, POLL.longest)
      if (!hasSent) await this.#sending.wait(hasSent === undefined ? AFTER_ERROR : pause)
    }
  }

  /** Settles what was postponed, lets those go on whom killed processes have left waiting, and deletes what is old. */
  async #mendOn(): Promise<void> {
    const { knex, retentionDays = 30 } = this.#options
    let mendAt = 0
    let sweepAt = performance.now() + SWEEP.first
    while (!this.#isEnding) {
      const found = await this.#errors.tried('settle', () => this.fanOut.settleOnce())
      if (found !== undefined && performance.now() >= mendAt) {
        mendAt = performance.now() + MEND.usual
        await this.#errors.tried('promote', () => promoteAll(knex))
      }
      if (performance.now() >= sweepAt) {
        sweepAt = performance.now() + SWEEP.usual
        await this.#errors.tried('sweep', () => sweepDeliveries(knex, retentionDays))
      }
      if (found && found.settled > 0) this.#sending.ring()
      else if (!this.#isEnding) await this.#mending.wait(found?.isEnd ? MEND.usual : MEND.postponed)
    }
  }

  #report(error: unknown): void {
    const { onError = warn } = this.#options
    // what keeps errors in the same database fails with it
    void (async () => onError(error))().catch(warn)
  }
}

function warn(error: unknown): void {
  process.emitWarning(`A webhook dispatcher has failed, and goes on: "${errorLine(error)}"`, {
    code: 'KOA_VIEWSETS_WEBHOOKS',
  })
}

/** Endpoints, and the resources whose events they get. */
interface Told {
  readonly endpoints: typeof WebhookEndpointViewSet
  readonly resources: ReadonlyMap<string, readonly ToldResource[]>
}

/** @throws {ConfigurationError} nobody can be told, or there are no such events */
async function toldOf({ api, endpoints: given, knex }: WebhookDispatcherOptions): Promise<Told> {
  await api.prepare()
  const endpoints = given ?? api.endpoints.map(({ view }) => view).find(isEndpoints)
  if (!endpoints) {
    throw new ConfigurationError(
      'WebhookDispatcher: the API has no view set of endpoints; register one, or give it as endpoints',
    )
  }
  await checkAtStart(endpoints, knex)
  // malformed ranges are not for the first attempt to find
  void new AddressRanges(endpoints.receivers.allowedAddresses ?? [])
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
    const view = resource.operation.view as typeof GenericAPIView
    await checkAtStart(view, knex)
    const { tableName } = view.modelClass()
    resources.set(tableName, [...(resources.get(tableName) ?? []), resource])
  }
  return { endpoints, resources }
}

type CheckedView = Pick<typeof GenericAPIView, 'modelClass'> & { readonly name: string; readonly prototype: object }

/** What chooses a database for each owner is asked once it is known who that is. */
async function checkAtStart(view: CheckedView, knex: Knex): Promise<void> {
  if (!isBuiltIn(view.prototype, 'getKnex')) return
  await checkOwnersDatabase(view.name, view.modelClass().knex() as Knex | undefined, knex)
}

function isEndpoints(view: unknown): view is typeof WebhookEndpointViewSet {
  const { prototype } = view as typeof WebhookEndpointViewSet
  return prototype instanceof WebhookEndpointViewSet || view === WebhookEndpointViewSet
}
