/** Makes OpenTelemetry spans of what koa-viewsets tells by `node:diagnostics_channel`: names, statements, durations; no values. */
import { AsyncLocalStorage } from 'node:async_hooks'
import {
  type Attributes,
  type Context,
  context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  type SpanOptions,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  type AnswerTrace,
  type DispatchTrace,
  type PolicyTrace,
  type SqlTrace,
  type StepChannels,
  type TraceEvent,
  tracingChannels,
} from 'koa-viewsets/tracing'

/** OpenTelemetry's contexts in a storage that channels can be bound to, so that spans of the application's own nest, too. */
export class StoredContexts extends AsyncLocalStorageContextManager {
  readonly storage = new AsyncLocalStorage<Context>()

  override active(): Context {
    return this.storage.getStore() ?? ROOT_CONTEXT
  }

  override with<A extends unknown[], F extends (...args: A) => ReturnType<F>>(
    active: Context,
    work: F,
    thisArg?: ThisParameterType<F>,
    ...args: A
  ): ReturnType<F> {
    return this.storage.run(active ?? ROOT_CONTEXT, () => work.apply(thisArg, args))
  }
}

/** What every event may have. */
type Event = Partial<PolicyTrace & SqlTrace & AnswerTrace & Pick<DispatchTrace, 'status'>>

interface Spanned extends SpanOptions {
  readonly name: string
}

/** By the semantic conventions of OpenTelemetry, and where they have no name, by ours. */
const SPANS: Readonly<Record<keyof typeof tracingChannels, (event: Event) => Spanned>> = {
  dispatch: ({ request }) => ({
    name: request?.name ?? `${request?.method} ${request?.route ?? ''}`.trimEnd(),
    attributes: given({
      'http.request.method': request?.method,
      'http.route': request?.route,
      'code.function.name': `${request?.view}.${request?.action}`,
    }),
  }),
  authentication: ({ policies }) => ({
    name: 'authentication',
    attributes: given({ 'koa_viewsets.policies': policies }),
  }),
  permissions: ({ policies }) => ({ name: 'permissions', attributes: given({ 'koa_viewsets.policies': policies }) }),
  throttles: ({ policies }) => ({ name: 'throttles', attributes: given({ 'koa_viewsets.policies': policies }) }),
  body: () => ({ name: 'body' }),
  action: ({ request }) => ({ name: `action ${request?.action ?? ''}`.trimEnd() }),
  sql: ({ operation = '', text, statement }) => ({
    name: operation,
    kind: SpanKind.CLIENT,
    attributes: given({
      'db.system.name': 'postgresql',
      'db.operation.name': operation,
      'db.query.text': text,
      'koa_viewsets.statement': statement,
    }),
  }),
  render: () => ({ name: 'render' }),
  answer: () => ({ name: 'answer' }),
}

function given(attributes: Readonly<Record<string, unknown>>): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined)) as Attributes
}

/**
 * Makes spans from now on. Those of a request stand below the one that is active where its answer begins, such as that of
 * @opentelemetry/instrumentation-http.
 * @returns stops it
 * @example
 * const contexts = new StoredContexts()
 * new NodeTracerProvider({ spanProcessors }).register({ contextManager: contexts })
 * const stop = makeSpans(contexts)
 */
export function makeSpans({ storage }: StoredContexts): () => void {
  const tracer = trace.getTracer('koa-viewsets')
  const spans = new WeakMap<object, Span>()
  const stops = Object.entries(SPANS).map(([name, spanOf]) => {
    const channel = tracingChannels[name as keyof typeof SPANS] as StepChannels<Event & TraceEvent>
    channel.start.bindStore(storage, (event) => {
      const { name: spanName, ...options } = spanOf(event)
      const span = tracer.startSpan(spanName, options, context.active())
      spans.set(event, span)
      return trace.setSpan(context.active(), span)
    })
    const handlers = {
      error: (event: Event) => recordError(spans.get(event), event.error, FAILING.has(name)),
      asyncEnd(event: Event) {
        const span = spans.get(event)
        if (event.status !== undefined) span?.setAttribute('http.response.status_code', event.status)
        span?.end()
      },
    }
    channel.subscribe(handlers)
    return () => {
      channel.start.unbindStore(storage)
      channel.unsubscribe(handlers)
    }
  })
  return () => {
    for (const stop of stops) stop()
  }
}

/** What fails where it throws: of the other steps a refusal is an answer, and `dispatch` tells whether it was a fault. */
const FAILING: ReadonlySet<string> = new Set(['sql', 'dispatch'])

/** Of an error its kind alone: messages may hold what a client sent, or what a row holds. */
function recordError(span: Span | undefined, error: unknown, isFault: boolean): void {
  const { code } = (error ?? {}) as { readonly code?: unknown }
  span?.setAttribute(
    'error.type',
    typeof code === 'string' ? code : error instanceof Error ? error.constructor.name : '_OTHER',
  )
  if (isFault) span?.setStatus({ code: SpanStatusCode.ERROR })
}
