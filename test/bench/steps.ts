/** What single steps of a request cost in this process, in nanoseconds of CPU time: the library's own functions. */
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import Koa from 'koa'
import {
  AnonRateThrottle,
  APIRouter,
  type Context,
  CSVRenderer,
  configure,
  type IDConfig,
  IDMixin,
  JSONRenderer,
} from 'koa-viewsets'
import { prepareModels } from 'koa-viewsets/tools'
import { Model } from 'objection'
import pg, { type ClientConfig, type CustomTypesConfig } from 'pg'
import { startPostgres } from '../../examples/support/postgres.js'
import { cachePolicy } from '../../lib/caching/cache-policy.js'
import { cacheResponse } from '../../lib/caching/cache-response.js'
import { addCondition, readConditions } from '../../lib/filters/filter.js'
import type { AnyQueryBuilder } from '../../lib/models/objection.js'
import { type CursorScope, CursorTokens } from '../../lib/pagination/cursor-token.js'
import type { RawRow } from '../../lib/postgres/row-stream.js'
import { readExactly } from '../../lib/queryset/read-exactly.js'
import { selectRenderer } from '../../lib/renderers/renderer.js'
import { RouteTable } from '../../lib/router/route-table.js'
import { rowPlan } from '../../lib/rows/row-plan.js'
import type { CellScope } from '../../lib/rows/row-shape.js'
import { rowWriter } from '../../lib/rows/row-writer.js'
import { checkThrottles } from '../../lib/throttling/check-throttles.js'
import { resourceOf } from '../../lib/views/resource.js'
import { Author, Book, BookSerializer, BookViewSet } from './books.js'
import { bindModels } from './ours.js'
import { createShelves } from './shelves.js'
import { type Figure, figureOf } from './statistics.js'

/** One step, and what it costs each time in nanoseconds. */
export interface StepFigure extends Figure {
  readonly name: string
}

export interface StepOptions {
  /** Of each step, in turns with those of all others. */
  readonly repetitions: number
  /** How long one repetition takes. */
  readonly milliseconds: number
}

interface Step {
  readonly name: string
  /** So many operations are one call of the work. @default 1 */
  readonly operations?: number
  work(): unknown
}

const ROWS = 100
const WARM_UP_MILLISECONDS = 200
const SECRET = 'a secret of the benchmark only'

/** Measures each step in turns, so that what else runs on the machine disturbs all alike. */
export async function measureSteps({ repetitions, milliseconds }: StepOptions): Promise<readonly StepFigure[]> {
  configure({ secretKey: SECRET })
  const postgres = await startPostgres()
  try {
    await createShelves(postgres.connection, { book: 1_000 })
    const db = await bindModels(postgres.connection)
    await prepareModels([Author, Book])
    const steps = [
      ...(await serializing(postgres.connection)),
      validating(),
      ...filtering(),
      routing(10),
      routing(1_000),
      throttling(),
      ...signing(),
      tagging(),
      negotiating(),
    ]
    const figures = await measure(steps, { repetitions, milliseconds })
    await db.destroy()
    return figures
  } finally {
    await postgres.stop()
  }
}

// Measuring

async function measure(
  steps: readonly Step[],
  { repetitions, milliseconds }: StepOptions,
): Promise<readonly StepFigure[]> {
  const counts: number[] = []
  for (const step of steps) counts.push(await countFor(step, milliseconds))
  const times = steps.map((): number[] => [])
  for (let repetition = 0; repetition < repetitions; repetition++) {
    for (const [index, step] of steps.entries()) times[index]?.push(await nanoseconds(step, counts[index] as number))
  }
  return steps.map(({ name }, index) => ({ name, ...figureOf(times[index] as number[]) }))
}

/** How often a step is run in that time, once it is warm: its first calls compile much that the later ones use. */
async function countFor(step: Step, milliseconds: number): Promise<number> {
  const end = performance.now() + WARM_UP_MILLISECONDS
  while (performance.now() < end) await nanoseconds(step, 10)
  for (let count = 1; ; count *= 2) {
    const used = ((await nanoseconds(step, count)) * count * (step.operations ?? 1)) / 1e6
    if (used >= milliseconds) return count
  }
}

/** CPU time of one operation, that of collecting its garbage included. */
async function nanoseconds({ work, operations = 1 }: Step, count: number): Promise<number> {
  const start = process.cpuUsage()
  for (let index = 0; index < count; index++) {
    const result = work()
    if (result instanceof Promise) await result
  }
  const { user, system } = process.cpuUsage(start)
  return ((user + system) * 1_000) / (count * operations)
}

// The steps

/** The two ways to JSON text: from rows as PostgreSQL sends them, and from model instances where a serializer needs them. */
async function serializing(connection: ClientConfig): Promise<readonly Step[]> {
  const plan = rowPlan(BookSerializer)
  if (!plan) throw new Error('The books are not written from rows.')
  const columns = plan.columns.map(({ column }) => column.column)
  const rows = await readRawRows(connection, `SELECT ${columns.join(', ')} FROM book ORDER BY id LIMIT ${ROWS}`)
  const write = rowWriter(plan, 0)
  const scope: CellScope = { context: {}, parse: (_oid, text) => text }
  const query = Book.query().orderBy('id').limit(ROWS)
  readExactly(query as unknown as AnyQueryBuilder)
  const books = await query
  const fromRows = () => `[${rows.map((row) => write(row, scope)).join(',')}]`
  const fromInstances = () => JSON.stringify(new BookSerializer({ obj: books, many: true }).data)
  if (fromRows() !== fromInstances()) throw new Error('Rows and instances are written differently.')
  return [
    { name: 'serialise a row of text to JSON', operations: ROWS, work: fromRows },
    // a text that is put together piece by piece is made whole only when it is used
    { name: 'the same to UTF-8', operations: ROWS, work: () => Buffer.from(fromRows()) },
    { name: 'serialise a model instance to JSON', operations: ROWS, work: fromInstances },
  ]
}

async function readRawRows(connection: ClientConfig, text: string): Promise<RawRow[]> {
  const client = new pg.Client(connection)
  await client.connect()
  const types = { getTypeParser: () => (cell: unknown) => cell } as unknown as CustomTypesConfig
  const { rows } = await client.query<string[]>({ text, rowMode: 'array', types })
  await client.end()
  return rows
}

function validating(): Step {
  const inputData = {
    title: 'A Wizard of Earthsea',
    isbn: '9780547773742',
    price: '9.99',
    published_on: '1968-11-01',
    rating: 4.5,
    in_stock: true,
    author_id: 7,
  }
  return {
    name: 'validate a book of 7 fields',
    work: () => new BookSerializer({ inputData }).isValid({ raiseException: true, trustKeys: true }),
  }
}

function filtering(): readonly Step[] {
  const view = resourceOf(BookViewSet).filterSettings
  const query = { price__gte: '5.00', price__lt: '20', author_id__in: '1,2,3', in_stock: 'true', search: 'earth sea' }
  const read = () => readConditions(query, view, {})
  const compile = () => {
    const builder = Book.query() as unknown as AnyQueryBuilder
    for (const condition of read()) addCondition(builder, condition)
    return builder.toKnexQuery().toSQL().toNative()
  }
  return [
    { name: 'read 4 filters and a search', work: read },
    { name: 'make their SQL, once for each shape', work: compile },
  ]
}

function routing(resources: number): Step {
  const api = new APIRouter({ prefix: '/api/v1' })
  for (let index = 0; index < resources; index++) api.register(`books-${index}`, BookViewSet, `book-${index}`)
  const table = new RouteTable(api.endpoints)
  const path = `/api/v1/books-${resources - 1}/4711`
  if (!table.find(path)) throw new Error(`${path} is not routed`)
  return { name: `find the route among ${resources.toLocaleString('en')} resources`, work: () => table.find(path) }
}

function throttling(): Step {
  const throttles = [new AnonRateThrottle({ rate: '999999999/hour' })]
  for (const throttle of throttles) throttle.settle('bench')
  const view = { throttleScope: undefined } as unknown as Parameters<typeof checkThrottles>[1]
  const ctx = contextWith({})
  // a request counts once, so each call needs a context of its own
  const work = () => checkThrottles(Object.create(ctx) as Context, view, throttles)
  return { name: 'throttle, counted in memory', work }
}

function signing(): readonly Step[] {
  class SignedBook extends IDMixin(Model) {
    static override tableName = 'book'
    static override idConfig: IDConfig = {
      mode: 'signed',
      alphabet: 'mn7swcxDfgkGrBtv4qj6phd3b952CzF8',
      hmacKeys: [SECRET],
    }
  }
  const scope: CursorScope = {
    secret: SECRET,
    view: 'book-list',
    ordering: '-created_at,-id',
    filters: '',
    terms: [
      { tag: 'datetime', nullable: false },
      { tag: 'int', nullable: false },
    ],
    sealed: false,
  }
  const tokens = new CursorTokens(scope)
  const write = (id: number) =>
    tokens.write({ direction: 'next', position: ['2015-01-01T00:00:00.000137', String(id)] })
  const issued = Array.from({ length: 4096 }, (_, id) => write(id) ?? undefined)
  if (issued.some((token) => !tokens.read(token))) throw new Error('A cursor is not read.')
  let key = 0
  return [
    // others each time, as in a walk through a list: those that were written or read last are remembered
    { name: 'sign a cursor', work: () => write(++key) },
    { name: 'read a cursor', work: () => tokens.read(issued[++key % issued.length]) },
    { name: 'read a cursor again', work: () => tokens.read(issued[0]) },
    { name: 'sign an external id', work: () => SignedBook.encodeId(++key) },
  ]
}

function tagging(): Step {
  const policy = cachePolicy('bench', {})
  const body = 'x'.repeat(15_000)
  const ctx = contextWith({})
  ctx.body = body
  return {
    name: 'ETag and Cache-Control of 15 kB',
    work() {
      ctx.remove('ETag')
      cacheResponse(ctx, policy)
    },
  }
}

function negotiating(): Step {
  const renderers = [new JSONRenderer(), new CSVRenderer()]
  const ctx = contextWith({ accept: 'text/html, application/json;q=0.9, */*;q=0.8' })
  return { name: 'negotiate between 2 renderers', work: () => selectRenderer(ctx, renderers) }
}

/** A context as Koa makes it for a GET request with these headers. */
function contextWith(headers: Record<string, string>): Context {
  const request = new IncomingMessage(new Socket())
  Object.assign(request, { method: 'GET', url: '/api/v1/books', headers })
  return new Koa().createContext(request, new ServerResponse(request))
}
