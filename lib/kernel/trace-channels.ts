/** The channels of `node:diagnostics_channel` that tell of requests (docs/reference/tracing.md). */

import type { AsyncLocalStorage } from 'node:async_hooks'
import { tracingChannel } from 'node:diagnostics_channel'

/** Which request an event is about: the same object in all of its events. It holds no value of the request. */
export interface TracedRequest {
  /** The HTTP method, in upper case. */
  readonly method: string
  /** The path's pattern, as the OpenAPI document has it: `/books/{id}`. Undefined until the route is found. */
  readonly route: string | undefined
  /** The name of the route: `book-retrieve`. */
  readonly name: string | undefined
  /** The class of the view; undefined on a hand-written route. */
  readonly view: string | undefined
  /** The method of the view that answers. */
  readonly action: string | undefined
}

/** What all events have. */
export interface TraceEvent {
  /** Undefined for a statement that is of no request that is traced. */
  readonly request: TracedRequest | undefined
  /** What was thrown, once it was. Its message and its properties may hold values: do not export them. */
  error?: unknown
}

/** A view answers a request. */
export interface DispatchTrace extends TraceEvent {
  /** The status of the answer, once it is known. */
  status?: number
}

/** A group of policies is asked. */
export interface PolicyTrace extends TraceEvent {
  /** The names of their classes, in the order in which they are asked. */
  readonly policies: readonly string[]
}

/** A statement is sent to PostgreSQL. */
export interface SqlTrace extends TraceEvent {
  /** As it is sent: `$1` in place of each value. */
  readonly text: string
  /** Its first word, in upper case: `SELECT`, `INSERT`, `BEGIN`. */
  readonly operation: string
  /** What it is prepared under; undefined where it is not. */
  readonly statement: string | undefined
}

/** An answer is sent. */
export interface AnswerTrace extends TraceEvent {
  /** The status that is sent. */
  readonly status: number
  /** The client was gone before the end; known at the end. */
  aborted?: boolean
}

/** What hears of an event, and of the name of the channel that has published it. */
export type TraceListener<Event> = (event: Event, name: string | symbol) => void

/**
 * One of the channels of a step, a `Channel` of `node:diagnostics_channel`. The types that Node has for them take their
 * parameters in another order from one version to the next.
 */
export interface EventChannel<Event> {
  /** What it is called: `tracing:koa-viewsets:sql:start`. */
  readonly name: string | symbol
  /** Whether anybody listens. */
  readonly hasSubscribers: boolean
  /** Calls a function with each event, until it is given to `unsubscribe()`. */
  subscribe(listener: TraceListener<Event>): void
  /** Calls a function no more. @returns false for one that did not listen */
  unsubscribe(listener: TraceListener<Event>): boolean
  /** Gives a storage what the function makes of an event, while the step runs; of `start` only. */
  bindStore<Store>(storage: AsyncLocalStorage<Store>, enter: (event: Event) => Store): void
  /** Gives a storage nothing more. @returns false for one that was not bound */
  unbindStore<Store>(storage: AsyncLocalStorage<Store>): boolean
  /** Tells all that listen. */
  publish(event: Event): void
  /** Tells all that listen, and does the work with the storages that were bound. */
  runStores<Result>(event: Event, work: () => Result): Result
}

/** The channels of a step, a `TracingChannel` of `node:diagnostics_channel`. */
export interface StepChannels<Event extends TraceEvent = TraceEvent> {
  /** Whether anybody listens to one of them. */
  readonly hasSubscribers: boolean
  /** The step begins. */
  readonly start: EventChannel<Event>
  /** What it does at once is done. */
  readonly end: EventChannel<Event>
  /** What it waited for is there. */
  readonly asyncStart: EventChannel<Event>
  /** It is over. */
  readonly asyncEnd: EventChannel<Event>
  /** It has thrown; the event has `error`. */
  readonly error: EventChannel<Event>
  /** Listens to some of them at once, by their names. */
  subscribe(listeners: StepListeners<Event>): void
  /** Stops listening. @returns false where one of them did not listen */
  unsubscribe(listeners: StepListeners<Event>): boolean
}

/** What listens to the channels of a step, by their names. */
export type StepListeners<Event> = {
  readonly [Name in 'start' | 'end' | 'asyncStart' | 'asyncEnd' | 'error']?: TraceListener<Event>
}

function channel<Event extends TraceEvent>(name: string): StepChannels<Event> {
  return tracingChannel(`koa-viewsets:${name}`) as unknown as StepChannels<Event>
}

/** Channels by the subject of their events. */
export const CHANNELS = {
  /** `koa-viewsets:dispatch`: a view answers a request, from its first policy to its answer. */
  dispatch: channel<DispatchTrace>('dispatch'),
  /** `koa-viewsets:authentication`: the schemes are tried. */
  authentication: channel<PolicyTrace>('authentication'),
  /** `koa-viewsets:permissions`: the permissions are asked. */
  permissions: channel<PolicyTrace>('permissions'),
  /** `koa-viewsets:throttles`: the throttles are asked. */
  throttles: channel<PolicyTrace>('throttles'),
  /** `koa-viewsets:body`: a body is read and parsed. */
  body: channel('body'),
  /** `koa-viewsets:action`: the method of the view runs, in its transaction if it has one. */
  action: channel('action'),
  /** `koa-viewsets:sql`: a statement is sent, until its rows are there. */
  sql: channel<SqlTrace>('sql'),
  /** `koa-viewsets:render`: the answer is written as text. */
  render: channel('render'),
  /** `koa-viewsets:answer`: the answer goes to the client. */
  answer: channel<AnswerTrace>('answer'),
} as const

/** All of them, to be asked whether anybody listens. */
export const ALL_CHANNELS: readonly StepChannels[] = Object.values(CHANNELS)

/** The names of those that somebody in this process listens to. */
export function heardChannels(): readonly string[] {
  return Object.entries(CHANNELS).flatMap(([name, { hasSubscribers }]) => (hasSubscribers ? [name] : []))
}
