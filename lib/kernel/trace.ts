/** Traces of requests: their steps, published to channels and measured. */

import { AsyncLocalStorage } from 'node:async_hooks'
import { CHANNELS, type StepChannels, type TracedRequest, type TraceEvent } from './trace-channels.js'

/** What steps a request is measured by. */
export type Phase = 'authentication' | 'permissions' | 'throttles' | 'body' | 'action' | 'render'

/** Where the names of a request come from: Koa's context. */
export interface NamedRequest {
  readonly method: string
  readonly _matchedRoute?: unknown
  readonly _matchedRouteName?: unknown
}

/** Where a context remembers its trace. */
export const TRACE: unique symbol = Symbol('the trace of the request')

/** The context of a request that may be traced. */
export interface Traced {
  [TRACE]?: Trace | undefined
}

class RequestNames implements TracedRequest {
  readonly #ctx: NamedRequest
  view: string | undefined = undefined
  action: string | undefined = undefined

  constructor(ctx: NamedRequest) {
    this.#ctx = ctx
  }

  get method(): string {
    return this.#ctx.method
  }

  get route(): string | undefined {
    return textOf(this.#ctx._matchedRoute)
  }

  get name(): string | undefined {
    return textOf(this.#ctx._matchedRouteName)
  }
}

/** A pattern of an application's router may be a regular expression. */
function textOf(given: unknown): string | undefined {
  return typeof given === 'string' ? given : given instanceof RegExp ? String(given) : undefined
}

/** How long a request's steps took, and its statements. Of those that run at the same time, each millisecond counts once. */
export class Timings {
  readonly phases = new Map<Phase, number>()
  statements = 0
  #running = 0
  #since = 0
  #database = 0

  add(phase: Phase, milliseconds: number): void {
    this.phases.set(phase, (this.phases.get(phase) ?? 0) + milliseconds)
  }

  beginStatement(): void {
    this.statements++
    if (this.#running++ === 0) this.#since = performance.now()
  }

  endStatement(): void {
    if (--this.#running === 0) this.#database += performance.now() - this.#since
  }

  /** Milliseconds in the database until now. */
  get database(): number {
    return this.#database + (this.#running > 0 ? performance.now() - this.#since : 0)
  }
}

/** One request, while it is traced. */
export class Trace {
  readonly names: RequestNames
  /** Undefined where nobody measures. */
  timings: Timings | undefined = undefined
  /** What the request was answered with, where that is an error. */
  failure: unknown = undefined

  constructor(ctx: NamedRequest) {
    this.names = new RequestNames(ctx)
  }

  /** Measures from now on. */
  measure(): Timings {
    this.timings ??= new Timings()
    return this.timings
  }
}

const storage = new AsyncLocalStorage<Trace>()

/** The trace of the request that this code runs for. */
export function currentTrace(): Trace | undefined {
  return storage.getStore()
}

/** Does the work as that of a request. */
export function runAs<Result>(trace: Trace, work: () => Result): Result {
  return storage.run(trace, work)
}

/** A step of a request. */
export interface TraceStep<Result> {
  readonly phase: Phase
  /** The policies that it asks, in order. */
  readonly policies?: readonly object[] | undefined
  readonly work: () => Result | Promise<Result>
}

/**
 * Does one step of a request. Its channel hears of it as `tracePromise()` would have it, but never gets the result: that is data.
 */
export function traceStep<Result>(trace: Trace, { phase, policies, work }: TraceStep<Result>): Promise<Result> {
  const { timings } = trace
  const channel: Publishing<TraceEvent> & { readonly hasSubscribers: boolean } = CHANNELS[phase]
  const done = timings && timerOf(timings, phase)
  if (!channel.hasSubscribers) return follow(work, done)
  const event = { request: trace.names, ...(policies && { policies: policies.map(nameOf) }) }
  return publishAround(channel, event, { work, done })
}

function nameOf(policy: object): string {
  return policy.constructor.name
}

function timerOf(timings: Timings, phase: Phase): () => void {
  const begin = performance.now()
  return () => timings.add(phase, performance.now() - begin)
}

/** Synchronous `traceStep()`; publishes the same events. */
export function traceSync<Result>(trace: Trace, phase: Phase, work: () => Result): Result {
  const { timings } = trace
  const done = timings && timerOf(timings, phase)
  const channel: StepChannels = CHANNELS[phase]
  const event: TraceEvent = { request: trace.names }
  try {
    return channel.start.runStores(event, () => {
      try {
        return work()
      } catch (error) {
        event.error = error
        channel.error.publish(event)
        throw error
      } finally {
        channel.end.publish(event)
        channel.asyncStart.publish(event)
        channel.asyncEnd.publish(event)
      }
    })
  } finally {
    done?.()
  }
}

/** Channels as they are published to. */
export interface Publishing<Event> {
  readonly start: { runStores(event: Event, work: () => unknown): unknown }
  readonly end: { publish(event: Event): void }
  readonly asyncStart: { publish(event: Event): void }
  readonly asyncEnd: { publish(event: Event): void }
  readonly error: { publish(event: Event): void }
}

interface Around<Result> {
  readonly work: () => Result | Promise<Result>
  /** Is called at the end, whichever it is, before anybody hears of it. */
  readonly done?: (() => void) | undefined
}

/** Does the work between the events of a channel. */
export function publishAround<Event extends TraceEvent, Result>(
  channel: Publishing<Event>,
  event: Event,
  { work, done }: Around<Result>,
): Promise<Result> {
  const end = (error?: unknown) => {
    done?.()
    if (error !== undefined) {
      event.error = error
      channel.error.publish(event)
    }
    channel.asyncStart.publish(event)
    channel.asyncEnd.publish(event)
  }
  return channel.start.runStores(event, () => {
    const running = follow(work, end)
    channel.end.publish(event)
    return running
  }) as Promise<Result>
}

/** Runs the work, then calls `end`. By promises: each `await` costs more while async hooks listen. */
function follow<Result>(
  work: () => Result | Promise<Result>,
  end: ((error?: unknown) => void) | undefined,
): Promise<Result> {
  const running = new Promise<Result>((resolve) => {
    resolve(work())
  })
  if (!end) return running
  return running.then(
    (result) => {
      end()
      return result
    },
    (error: unknown) => {
      end(error ?? new Error(`${String(error)} was thrown`))
      throw error
    },
  )
}
