/**
 * The app that the trust suite attacks: one resource of each kind, in a process of its own.
 *
 * PORT and DATABASE_URL say where; FOLDER takes uploads; POOL, ACQUIRE_TIMEOUT and QUERY_TIMEOUT are its pool's. With
 * READ_ONLY its connections may only read, and the stores have others; with METERED usage goes to PostgreSQL. Over the
 * channel to its parent it answers `state` with what it holds, `failures` with what went wrong, `document` with its
 * OpenAPI document, and `stop` as it answers SIGTERM.
 */
import { openSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises'
import knexLibrary, { type Knex } from 'knex'
import Koa from 'koa'
import {
  APIRouter,
  APIView,
  type Authentications,
  action,
  BasePermission,
  BulkModelViewSet,
  CacheableMixin,
  type Context,
  CSVRenderer,
  CurrentUserDefault,
  CursorPagination,
  configure,
  FieldFilter,
  type FilterRelations,
  type Filters,
  FullTextSearchFilter,
  HiddenField,
  IDMixin,
  ImageUploadField,
  type Input,
  IntegerField,
  IsAuthenticated,
  IsAuthenticatedOrReadOnly,
  JSONField,
  JSONParser,
  JSONRenderer,
  LimitOffsetPagination,
  ModelSerializer,
  ModelViewSet,
  MultiPartParser,
  NDJSONRenderer,
  NestedRouter,
  NestedSerializer,
  NestedViewSetMixin,
  ObjectPermission,
  OrderingFilter,
  or,
  PageNumberPagination,
  type Permissions,
  ReadOnlyModelViewSet,
  SearchFilter,
  SearchRankOrderingFilter,
  Serializer,
  ServerCursorPagination,
  SessionAuthentication,
  StreamMixin,
  TokenAuthentication,
} from 'koa-viewsets'
import { ensureIdempotencyTable, type Idempotent } from 'koa-viewsets/idempotency'
import { mcp } from 'koa-viewsets/mcp'
import { InMemoryMeteringEngine, MeteringMixin, PostgresMeteringEngine, setMeteringEngine } from 'koa-viewsets/metering'
import { JsonPatchParser, MergePatchParser } from 'koa-viewsets/patches'
import { appVersion, errors, versionEndpoint } from 'koa-viewsets/plugins'
import { FileSystemStorage } from 'koa-viewsets/storage'
import { DatabaseAnonThrottle, DatabaseThrottle, MemoryStore } from 'koa-viewsets/throttling'
import { count, max, sum } from 'koa-viewsets/views'
import { Model } from 'objection'
import { CALLER, LOGIN } from '../../support/roles.js'
import type { TrialState } from './trial.js'

const {
  PORT,
  DATABASE_URL,
  FOLDER = '',
  POOL,
  ACQUIRE_TIMEOUT,
  QUERY_TIMEOUT,
  CURSORS,
  READ_ONLY,
  METERED,
  LOGIN_URL,
} = process.env
const STOP_MILLISECONDS = 9_000
/** How long those who are connected are still answered. */
const DRAIN_MILLISECONDS = 5_000
const uploads = join(FOLDER, 'uploads')
const temporary = join(FOLDER, 'temporary')

configure({ secretKey: 'a secret of the trust suite', appVersion: 'trial' })

const settings: Knex.Config = {
  client: 'pg',
  connection: {
    connectionString: DATABASE_URL as string,
    statement_timeout: 10_000,
    query_timeout: Number(QUERY_TIMEOUT ?? 15_000),
    keepAlive: true,
    application_name: 'trial',
  },
  pool: { min: 0, max: Number(POOL ?? 10) },
  acquireConnectionTimeout: Number(ACQUIRE_TIMEOUT ?? 5_000),
  // knex writes a line for each connection that is refused
  log: {
    warn() {},
    error() {},
    debug() {},
    deprecate: (method, alternative) => console.error('deprecated', method, alternative),
  },
}
const reading = {
  ...settings.pool,
  afterCreate(connection: { query(sql: string, done: (error: unknown) => void): void }, done: () => void) {
    connection.query('set default_transaction_read_only = on', done)
  },
}
// a login that has no right but to become the role
const connection = LOGIN_URL ? { ...(settings.connection as object), connectionString: LOGIN_URL } : settings.connection
if (LOGIN_URL) APIView.databaseRole = CALLER
const knex = knexLibrary({ ...settings, connection, ...(READ_ONLY && { pool: reading }) } as Knex.Config)
const stores = READ_ONLY || LOGIN_URL ? knexLibrary({ ...settings, pool: { min: 0, max: 2 } }) : knex
Model.knex(knex)

const belongsTo = (modelClass: typeof Model, from: string) => ({
  relation: Model.BelongsToOneRelation,
  modelClass,
  join: { from, to: `${modelClass.tableName}.id` },
})

class Author extends Model {
  static override tableName = 'authors'
}

class Book extends Model {
  static override tableName = 'books'
  static override relationMappings = () => ({
    author: belongsTo(Author, 'books.author_id'),
    reviews: {
      relation: Model.HasManyRelation,
      modelClass: Review,
      join: { from: 'books.id', to: 'reviews.book_id' },
    },
  })
  declare id: number
  declare owner_id: number | null
}

class Review extends Model {
  static override tableName = 'reviews'
}

class Event extends Model {
  static override tableName = 'events'
}

class Picture extends Model {
  static override tableName = 'pictures'
}

class Note extends IDMixin(Model) {
  static override tableName = 'notes'
  static override idConfig = {
    mode: 'signed',
    alphabet: 'mn7swcxDfgkGrBtv4qj6phd3b952CzF8',
    hmacKeys: ['a key of the trust suite'],
    includeUser: true,
  } as const
}

const FIELDS = ['id', 'title', 'isbn', 'n', 'big', 'price', 'published', 'created', 'uid', 'meta', 'is_admin'] as const

class AuthorSerializer extends ModelSerializer<Author> {
  static override model = Author
  static override fields = '__all__'
}

class BookSerializer extends ModelSerializer<Book> {
  static override model = Book
  static override fields = [...FIELDS, 'author_id']
  static override readOnlyFields = ['is_admin', 'created']
  static override declaredFields = {
    meta: new JSONField({ required: false, allowNull: true }),
    owner_id: new HiddenField({ default: new CurrentUserDefault() }),
  }
}

/** Its author is written with it. */
class WholeBookSerializer extends ModelSerializer<Book> {
  static override model = Book
  static override fields = ['id', 'title', 'isbn', 'author']
  static override declaredFields = { author: new NestedSerializer(AuthorSerializer, { required: false }) }
}

class ReviewSerializer extends ModelSerializer<Review> {
  static override model = Review
  static override fields = ['id', 'text', 'stars']
}

class EventSerializer extends ModelSerializer<Event> {
  static override model = Event
  static override fields = '__all__'
}

class NoteSerializer extends ModelSerializer<Note> {
  static override model = Note
  static override fields = ['id', 'text']
  static override declaredFields = { owner_id: new HiddenField({ default: new CurrentUserDefault() }) }
}

class PictureSerializer extends ModelSerializer<Picture> {
  static override model = Picture
  static override fields = '__all__'
  static override declaredFields = {
    image: new ImageUploadField({
      storage: new FileSystemStorage({ root: uploads, baseUrl: '/uploads' }),
      maxSize: 10 * 1024 * 1024,
    }),
  }
}

class PublishInput extends Serializer {
  static override declaredFields = { n: new IntegerField({ minValue: 0 }) }
}

class Tokens extends TokenAuthentication {
  override async getUserForToken(token: string) {
    return new Map(['alice', 'bob', 'staff'].map((name, index) => [name, { id: index + 1, name }])).get(token)
  }
}

class Sessions extends SessionAuthentication {
  constructor() {
    super({ getUser: ({ cookies }) => (cookies.get('session') === 'alice' ? { id: 1 } : null) })
  }
}

class IsReading extends BasePermission {
  override hasPermission({ method }: Context): boolean {
    return ['GET', 'HEAD', 'OPTIONS'].includes(method)
  }
}

const FILTERS: Filters = [FieldFilter, SearchFilter, OrderingFilter]
const schemes: Authentications = [Tokens]

class Books extends MeteringMixin(CacheableMixin(BulkModelViewSet<Book>)) {
  static override idempotent: Idempotent = true
  static override model = Book
  static override serializerClass = BookSerializer
  static override authenticationClasses: Authentications = schemes
  static override permissionClasses: Permissions = [IsAuthenticatedOrReadOnly]
  static override rendererClasses = [JSONRenderer, CSVRenderer]
  static override paginationClass = PageNumberPagination
  static override filterBackends = FILTERS
  static override filtersetFields = [...FIELDS.filter((name) => name !== 'meta'), 'author_id', 'author__name']
  static override searchFields = ['title', '^isbn', 'author__name']
  static override orderingFields = ['n', 'title', 'price', 'created']

  @action({ methods: ['POST'], detail: true, inputSerializer: PublishInput })
  async publish({ n }: Input<typeof PublishInput>) {
    const book = await this.getObjectToWrite()
    await book.$query(this.trx).patch({ n })
    return { n }
  }

  @action({ methods: ['GET'] })
  async recent() {
    return this.getSerializer({ obj: await this.getQueryset().limit(5), many: true }).data
  }
}

class NativeBooks extends Books {
  static override useNativeJson = true
}

/** What groups ask of the reviews of a book. */
class AskedReviews extends ReadOnlyModelViewSet<Review> {
  static override model = Review
  static override serializerClass = ReviewSerializer
  static override filterBackends: Filters = [new FieldFilter({ groupParam: 'filter' })]
  static override filtersetFields = ['id', 'text', 'stars']
}

/** All that a list can be asked, by parameters, groups and QUERY; caches may keep what it answers. */
class AskedBooks extends CacheableMixin(ReadOnlyModelViewSet<Book>) {
  static override cachePrivate = false
  static override cacheMaxAge = 60
  static override model = Book
  static override serializerClass = BookSerializer
  static override queryMethod = true
  static override paginationClass = PageNumberPagination
  static override filterBackends: Filters = [new FieldFilter({ groupParam: 'filter' }), SearchFilter, OrderingFilter]
  static override filtersetFields = [
    ...FIELDS.filter((name) => name !== 'meta'),
    'author_id',
    'author__name',
    'tags',
    'meta__k',
  ]
  static override filterRelations: FilterRelations = { author: () => Authors, reviews: AskedReviews }
  static override searchFields = ['title', '^isbn', 'author__name']
  static override orderingFields = ['n', 'title', 'price', 'created', 'author__name']
  static override aggregates = { books: count(), total: sum('price'), last: max('title') }
  static override groupBy = ['n', 'author__name', 'created__month']
  static override facets = ['n', 'author__name']
}

/** Written by patch documents. */
class PatchedBooks extends Books {
  static override parserClasses = [JSONParser, new JsonPatchParser(), MergePatchParser]
}

/** Only owners write. */
class OwnBooks extends Books {
  static override permissionClasses: Permissions = [IsAuthenticatedOrReadOnly, or(IsReading, ObjectPermission)]
}

class WholeBooks extends ModelViewSet<Book> {
  static override model = Book
  static override serializerClass = WholeBookSerializer
  static override paginationClass = LimitOffsetPagination
}

class Authors extends ModelViewSet<Author> {
  static override model = Author
  static override serializerClass = AuthorSerializer
  static override paginationClass = PageNumberPagination
}

class AuthorBooks extends NestedViewSetMixin(BulkModelViewSet<Book>) {
  static override model = Book
  static override serializerClass = BookSerializer
  static override paginationClass = PageNumberPagination
  static override parentLookupField = 'author_id'
}

class Reviews extends NestedViewSetMixin(ModelViewSet<Review>) {
  static override model = Review
  static override serializerClass = ReviewSerializer
  static override paginationClass = PageNumberPagination
  static override parentLookupField = 'book_id'
}

class Events extends ReadOnlyModelViewSet<Event> {
  static override model = Event
  static override serializerClass = EventSerializer
  static override filterBackends: Filters = [FieldFilter]
  static override filtersetFields = ['rank', 'created']
  static override paginationClass = new CursorPagination({ ordering: '-created', pageSize: 50 })
}

/** The whole table in one answer. */
class Table extends ReadOnlyModelViewSet<Event> {
  static override model = Event
  static override serializerClass = EventSerializer
  static override rendererClasses = [JSONRenderer, CSVRenderer]
}

/** The same, written while it is read. */
class Streamed extends StreamMixin(ReadOnlyModelViewSet<Event>) {
  static override model = Event
  static override serializerClass = EventSerializer
  static override rendererClasses = [JSONRenderer, CSVRenderer, NDJSONRenderer]
}

class Exports extends ReadOnlyModelViewSet<Event> {
  static override model = Event
  static override serializerClass = EventSerializer
  static override authenticationClasses = schemes
  static override paginationClass = new ServerCursorPagination({ pageSize: 100, maxIdleSeconds: Number(CURSORS ?? 2) })
}

class FullText extends ReadOnlyModelViewSet<Book> {
  static override model = Book
  static override serializerClass = BookSerializer
  static override paginationClass = PageNumberPagination
  static override filterBackends: Filters = [FullTextSearchFilter, SearchRankOrderingFilter]
  static override searchFields = ['title']
}

class RawText extends FullText {
  static override searchType = 'raw'
}

class Expressions extends ReadOnlyModelViewSet<Book> {
  static override model = Book
  static override serializerClass = BookSerializer
  static override paginationClass = PageNumberPagination
  static override filterBackends: Filters = [SearchFilter]
  static override searchFields = ['$title']
}

class Notes extends BulkModelViewSet<Note> {
  static override idempotent: Idempotent = true
  static override model = Note
  static override serializerClass = NoteSerializer
  static override authenticationClasses = schemes
  static override permissionClasses: Permissions = [IsAuthenticated]
  static override paginationClass = CursorPagination
}

class Pictures extends ModelViewSet<Picture> {
  static override idempotent: Idempotent = true
  static override model = Picture
  static override serializerClass = PictureSerializer
  static override authenticationClasses = schemes
  static override permissionClasses: Permissions = [IsAuthenticatedOrReadOnly]
  static override parserClasses = [new MultiPartParser({ directory: temporary })]
  static override paginationClass = PageNumberPagination
}

class Limited extends ReadOnlyModelViewSet<Author> {
  static override model = Author
  static override serializerClass = AuthorSerializer
  static override throttleClasses = [new DatabaseAnonThrottle({ rate: '5/minute' })]
}

class InSession extends ModelViewSet<Author> {
  static override model = Author
  static override serializerClass = AuthorSerializer
  static override authenticationClasses = [Sessions]
}

class Private extends ModelViewSet<Book> {
  static override model = Book
  static override serializerClass = BookSerializer
  static override authenticationClasses = schemes
  static override permissionClasses: Permissions = [IsAuthenticated]
  static override paginationClass = PageNumberPagination
}

/** Each row takes a tenth of a second. */
class Slow extends ModelViewSet<Author> {
  static override model = Author
  static override serializerClass = AuthorSerializer
  static override authenticationClasses = schemes
  static override permissionClasses: Permissions = [IsAuthenticatedOrReadOnly]
  override filterQueryset(query: ReturnType<Slow['getQueryset']>) {
    return super.filterQueryset(query).whereRaw('pg_sleep(0.1) is not null') as typeof query
  }
}

const api = new APIRouter({ prefix: '/api' })
DatabaseThrottle.setBackend(stores)
const usage = new PostgresMeteringEngine({ knex: stores })
setMeteringEngine(METERED ? usage : new InMemoryMeteringEngine())
api.register('books', Books).register('native', NativeBooks, 'native').register('own', OwnBooks, 'own')
api.register('whole', WholeBooks, 'whole').register('authors', Authors).register('events', Events)
api.register('exports', Exports, 'export').register('ft', FullText, 'ft').register('ftraw', RawText, 'ftraw')
api.register('rx', Expressions, 'rx').register('pub', Notes, 'pub').register('uploads', Pictures, 'upload')
api.register('asked', AskedBooks, 'asked').register('patched', PatchedBooks, 'patched')
api.register('limited', Limited, 'limited').register('sess', InSession, 'sess').register('private', Private, 'private')
api.register('slow', Slow, 'slow').register('table', Table, 'table').register('stream', Streamed, 'stream')
const inAuthor = new NestedRouter(api, 'authors', { lookup: 'author_id' }).register('books', AuthorBooks, 'author-book')
new NestedRouter(inAuthor, 'books', { lookup: 'book_id' }).register('reviews', Reviews)

const app = new Koa()
const failures: string[] = []
app.on('error', (error: Error, ctx?: Koa.Context) => {
  const chain: string[] = []
  for (let next: unknown = error; next instanceof Error && chain.length < 5; next = next.cause) {
    chain.push(`${(next as NodeJS.ErrnoException).code ?? next.name} ${next.message}`)
  }
  failures.push(`${ctx?.status} ${JSON.stringify(ctx?.url)} ${chain.join(' < ').slice(0, 500)}`)
})
let requests = 0
let stopping = false
app.use(async (ctx, next) => {
  requests++
  await next()
  // whoever holds on to this connection finds the next process by a new one
  if (stopping) ctx.set('Connection', 'close')
})
app.use(errors()).use(appVersion()).use(versionEndpoint())
// all that there is as tools, in both shapes
const RESOURCES = [
  ...[
    'books',
    'native',
    'own',
    'whole',
    'authors',
    'events',
    'exports',
    'ft',
    'ftraw',
    'rx',
    'pub',
    'uploads',
    'asked',
  ],
  ...['limited', 'sess', 'private', 'slow', 'table', 'stream', 'authors/books', 'authors/books/reviews'],
]
const tools = RESOURCES.map((resource) => `${resource}:*`)
app
  .use(mcp(api, { tools }))
  .use(mcp(api, { tools, shape: 'resource', path: '/mcp/resources' }))
  .use(api.routes())

const delay = monitorEventLoopDelay({ resolution: 5 })
delay.enable()

interface Counts {
  numUsed(): number
  numFree(): number
  numPendingAcquires(): number
}

function heldBytes(): number {
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** What the process holds. */
function state(): TrialState {
  globalThis.gc?.()
  const { pool } = knex.client as { pool: Counts }
  return {
    requests,
    used: pool.numUsed(),
    pending: pool.numPendingAcquires(),
    temporaryFiles: readdirSync(temporary),
    descriptors: readdirSync('/proc/self/fd').length - pool.numUsed() - pool.numFree(),
    memory: process.memoryUsage.rss(),
    held: heldBytes(),
    loopDelay: delay.percentile(99) / 1e6,
    prototype: Reflect.ownKeys(Object.prototype).map(String),
  }
}

const FLOOD = 1_000_000
const flooded = new MemoryStore()

/** A planted fault for each oracle, so that the suite can show that it sees. */
const faults: Record<string, () => unknown> = {
  prototype: () =>
    Object.defineProperty(Object.prototype, 'polluted', { value: 1, configurable: true, enumerable: false }),
  connection: () => knex.client.acquireConnection(),
  transaction: async () => knex.transaction().then((trx) => trx.raw('select 1')),
  descriptor: () => [1, 2, 3, 4].map(() => openSync('/dev/null', 'r')),
  file: () => writeFileSync(join(temporary, 'left behind'), ''),
  /** None: as many callers as a flood has. */
  keys: async () => {
    const limiter = flooded.limiter('flood', { limit: 100, seconds: 3_600 })
    for (let n = 0; n < FLOOD; n++) {
      limiter.consume(`user,${n}`)
      // requests do not all come in one turn of the event loop
      if (n % 100 === 0) await immediate()
    }
  },
  warning: () => process.emitWarning('planted', 'DeprecationWarning'),
  /** None: the API ends, and the process goes on. */
  close: () => api.close(),
}

const answer = app.callback()
const server = createServer((request, response) => void answer(request, response))

async function stop(): Promise<void> {
  if (stopping) return
  stopping = true
  setTimeout(() => process.exit(1), STOP_MILLISECONDS).unref()
  const closed = new Promise((resolve) => server.close(resolve))
  const sweep = setInterval(() => server.closeIdleConnections(), 20)
  await Promise.race([closed, sleep(DRAIN_MILLISECONDS, undefined, { ref: false })])
  await api.close()
  DatabaseThrottle.close()
  await closed
  clearInterval(sweep)
  await Promise.all([knex.destroy(), stores.destroy()])
  process.disconnect?.()
}

process.on('SIGTERM', () => void stop())
process.on('message', (message: { id: number; ask: string }) => {
  if (message.ask === 'stop') return void stop()
  if (message.ask === 'state') return process.send?.({ id: message.id, answer: state() })
  if (message.ask === 'failures') return process.send?.({ id: message.id, answer: failures.splice(0) })
  if (message.ask === 'document') return process.send?.({ id: message.id, answer: api.getSchema() })
  return void Promise.resolve(faults[message.ask]?.()).then(() => process.send?.({ id: message.id, answer: null }))
})

await DatabaseThrottle.ensureTable(stores)
await ensureIdempotencyTable(stores)
if (LOGIN_URL) await stores.raw(`grant all on koa_viewsets_idempotency to ${LOGIN}`)
if (METERED) await usage.ensureTable()
await api.prepare()
server.listen(Number(PORT), '127.0.0.1', () => process.send?.({ id: 0, answer: 'ready' }))
