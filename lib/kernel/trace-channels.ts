/** The channels of `node:diagnostics_channel` that tell of requests (docs/reference/tracing.md). */

import { type TracingChannel, tracingChannel } from 'node:diagnostics_channel'

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

function channel<Event extends TraceEvent>(name: string): TracingChannel<unknown, Event> {
  return tracingChannel<unknown, Event>(`koa-viewsets:${name}`)
}

/** By what they tell of. */
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
export const ALL_CHANNELS: readonly TracingChannel<unknown, never>[] = Object.values(CHANNELS) as never

/** The names of those that somebody in this process listens to. */
export function heardChannels(): readonly string[] {
  return Object.entries(CHANNELS).flatMap(([name, { hasSubscribers }]) => (hasSubscribers ? [name] : []))
}
