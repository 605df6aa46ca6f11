/** The spans that examples/opentelemetry makes: parents, names and errors, and no value in any of them. */
import { context, SpanStatusCode, trace } from '@opentelemetry/api'
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node'
import { AnonRateThrottle, APIRouter, IsAuthenticated, ModelViewSet, TokenAuthentication } from 'koa-viewsets'
import { errors } from 'koa-viewsets/plugins'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { makeSpans, StoredContexts } from '../../examples/opentelemetry/spans.js'
import { type Client, serving } from '../support/client.js'
import { Book, BookSerializer, useLibrary } from '../support/library.js'

useLibrary()

const SECRET = 's3cr3t-planted'
const headers = { Authorization: `Token ${SECRET}`, 'X-Other': SECRET }

class Books extends ModelViewSet<Book> {
  static override model = Book
  static override serializerClass = BookSerializer
  static override authenticationClasses = [
    new TokenAuthentication({ getUserForToken: (text) => (text === SECRET ? { id: 1, name: SECRET } : null) }),
  ]
  static override permissionClasses = [IsAuthenticated]
  static override throttleClasses = [new AnonRateThrottle({ rate: '100000/second' })]

  override async performDestroy(): Promise<void> {
    throw new TypeError(`a fault that says ${SECRET}`)
  }
}

const exporter = new InMemorySpanExporter()
const contexts = new StoredContexts()
const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
let client: Client
let stop: () => void

beforeAll(async () => {
  provider.register({ contextManager: contexts })
  stop = makeSpans(contexts)
  const api = new APIRouter({ prefix: '/api' }).register('books', Books)
  await api.prepare()
  const tracer = trace.getTracer('app')
  client = await serving(
    // as the HTTP instrumentation has it
    (_ctx, next) => tracer.startActiveSpan('server', (span) => next().finally(() => span.end())),
    errors(),
    api.routes(),
  )
})
afterAll(async () => {
  stop()
  await client.close()
  await provider.shutdown()
  context.disable()
  trace.disable()
})
beforeEach(() => exporter.reset())

/** The spans once all of them have ended. */
async function spans(servers = 1): Promise<ReadableSpan[]> {
  const named = (name: string) => exporter.getFinishedSpans().filter((span) => span.name === name).length
  await expect.poll(() => [named('server'), named('answer')]).toEqual([servers, servers])
  return exporter.getFinishedSpans()
}

/** Each span below its parent's, as `server > book-list > action list > SELECT`. */
function pathsOf(all: readonly ReadableSpan[]): string[] {
  const byId = new Map(all.map((span) => [span.spanContext().spanId, span]))
  const path = (span: ReadableSpan): string => {
    const parent = span.parentSpanContext && byId.get(span.parentSpanContext.spanId)
    return parent ? `${path(parent)} > ${span.name}` : span.name
  }
  return all.map(path).sort()
}

it('nest as the steps do, below the span of the server', async () => {
  expect((await client.get('/api/books', headers)).status).toBe(200)
  const all = await spans()
  expect(pathsOf(all)).toEqual([
    'server',
    'server > answer',
    'server > book-list',
    'server > book-list > action list',
    'server > book-list > action list > SELECT',
    'server > book-list > authentication',
    'server > book-list > permissions',
    'server > book-list > render',
    'server > book-list > throttles',
  ])
  expect(new Set(all.map((span) => span.spanContext().traceId)).size).toBe(1)
  const attributesOf = (name: string) => all.find((span) => span.name === name)?.attributes
  expect(attributesOf('book-list')).toEqual({
    ...{ 'http.request.method': 'GET', 'http.route': '/api/books', 'http.response.status_code': 200 },
    'code.function.name': 'Books.list',
  })
  expect(attributesOf('SELECT')).toMatchObject({
    ...{ 'db.system.name': 'postgresql', 'db.operation.name': 'SELECT' },
    'db.query.text': expect.stringMatching(/^select "books"/),
  })
  expect(attributesOf('permissions')).toEqual({ 'koa_viewsets.policies': ['IsAuthenticated'] })
})

it('have their own parents, however many requests come at once', async () => {
  for (let n = 0; n < 3; n++) await Book.query().insert({ title: `Book ${n}` })
  exporter.reset()
  await Promise.all(
    Array.from({ length: 40 }, (_, n) =>
      n % 2 === 0
        ? client.get('/api/books/1', headers)
        : client.send('PATCH', '/api/books/2', { title: `${n}` }, headers),
    ),
  )
  const all = await spans(40)
  const traces = new Map<string, ReadableSpan[]>()
  for (const span of all) {
    const { traceId } = span.spanContext()
    traces.set(traceId, [...(traces.get(traceId) ?? []), span])
  }
  expect(traces.size).toBe(40)
  const shapes = [...traces.values()].map((own) => pathsOf(own).join('\n'))
  expect(new Set(shapes).size).toBe(2)
  for (const shape of shapes) expect(shape).toContain('server > book-')
})

it('[I27] hold no value of a request or a row, and of errors their kinds alone', async () => {
  const made = await client.send('POST', '/api/books', { title: SECRET, isbn: SECRET }, headers)
  expect(made.status).toBe(201)
  expect((await client.send('POST', '/api/books', { title: SECRET, isbn: SECRET }, headers)).status).toBe(400)
  expect((await client.get(`/api/books?title=${SECRET}`, headers)).status).toBe(200)
  expect((await client.get(`/api/books/${made.json.id}`, { Authorization: 'Token wrong' })).status).toBe(401)
  expect((await client.send('DELETE', `/api/books/${made.json.id}`, undefined, headers)).status).toBe(500)
  const all = await spans(5)
  const told = all.map(({ name, attributes, events, status, links }) => ({ name, attributes, events, status, links }))
  expect(JSON.stringify(told)).not.toContain(SECRET)
  const failed = told.filter(({ status }) => status.code === SpanStatusCode.ERROR)
  expect(failed.map(({ name, attributes }) => [name, attributes['error.type']])).toEqual([
    ['INSERT', '23505'],
    ['book-destroy', 'TypeError'],
  ])
  const refused = told.filter(
    ({ name, attributes }) => name === 'authentication' && attributes['error.type'] !== undefined,
  )
  expect(refused.map(({ attributes, status }) => [attributes['error.type'], status.code])).toEqual([
    ['AuthenticationFailed', SpanStatusCode.UNSET],
  ])
})
