/** The types of a client survive declarations: a server that is built, and a page in another package that has only that. */
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = join(root, 'node_modules/.cache/koa-viewsets-declarations')
const packages = join(folder, 'node_modules')

/** The compilers: that of the package, and an older one where a workspace has it. */
const compilers = ['package.json', 'examples/client/package.json'].flatMap((from) => {
  try {
    const path = createRequire(join(root, from)).resolve('typescript/package.json')
    return [
      { version: JSON.parse(readFileSync(path, 'utf8')).version as string, program: join(dirname(path), 'bin/tsc') },
    ]
  } catch {
    return []
  }
})

function write(path: string, text: string): string {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  return path
}

/** What the compiler says. */
async function compile(program: string, options: object, files: readonly string[], at: string): Promise<string> {
  const compilerOptions = { target: 'es2023', module: 'nodenext', strict: true, types: [], ...options }
  const config = write(join(at, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
  const { stdout } = await run(process.execPath, [program, '-p', config]).catch((error: { stdout: string }) => error)
  return stdout
}

/** An API as an application writes it. */
const SERVER = `
import {
  action, APIRouter, BasePagination, bulkModelViewSet, configure, type Context, CreateMixin, CursorPagination, DateField, FieldFilter,
  FileUploadField, type Generated, genericViewSet, IDMixin, type Input, listAction, ListMixin, type ListSource, modelSerializer,
  modelViewSet, NestedRouter, NestedSerializer, nestedViewSet, objectAction, PageNumberPagination, type PageRequest,
  PrimaryKeyRelatedField, PublicIDMixin, readOnlyModelViewSet, SearchFilter, Serializer, SerializerMethodField, StreamMixin, table,
} from 'koa-viewsets'
import { ListCreateAPIView, modelView } from 'koa-viewsets/views'
import { Model } from 'objection'
import { z } from 'zod'

class Author extends Model {
  static override tableName = 'authors'
  declare id: number
  declare name: string
}
class Book extends Model {
  static override tableName = 'books'
  declare id: number
  declare title: string
  declare price: Generated<string>
  declare created_at: Generated<Date>
  declare author_id: number
  declare author?: Author
}
class AuthorSerializer extends modelSerializer(Author, { fields: ['id', 'name'] }) {}
/** A handler of a route, without a package of a parser that adds to Koa's types. */
export const echo = async (ctx: Context) => { ctx.body = ctx.request.body }
class BookSerializer extends modelSerializer(Book, {
  fields: ['id', 'title', 'price', 'created_at', 'author_id'],
  readOnlyFields: ['created_at'],
  declaredFields: {
    label: new SerializerMethodField<string>(),
    author: new NestedSerializer(AuthorSerializer, { readOnly: true }),
  },
}) {
  getLabel(book: Book) {
    return book.title
  }
}
class BookViewSet extends bulkModelViewSet(Book, {
  serializerClass: BookSerializer,
  paginationClass: new PageNumberPagination({ pageSize: 50 }),
  queryMethod: true,
  filterBackends: [new FieldFilter({ groupParam: 'where' }), SearchFilter],
  filtersetFields: ['price', 'created_at', 'author__name'],
  searchFields: ['title'],
  expandable: { author: AuthorSerializer },
  actions: {
    publish: objectAction({ methods: ['POST'], input: { on: new DateField() } }, (book: Book, { on }) => ({ on, at: book.created_at })),
    top: listAction({ methods: ['GET'], output: [BookSerializer] }, () => []),
    sold: listAction({ methods: ['GET'], output: z.object({ on: z.date().transform(String) }) }, () => ({ on: new Date() })),
  },
}) {
  override getQueryset() {
    return super.getQueryset().where('price', '>', 0)
  }
}
class Feed extends BookViewSet {
  static override paginationClass = new CursorPagination({ ordering: '-id' })
}
class AuthorViewSet extends readOnlyModelViewSet(Author, { serializerClass: AuthorSerializer }) {}
class WrittenViewSet extends nestedViewSet(Book, { serializerClass: BookSerializer, parentLookupField: 'author_id' }) {}
const shelf = table<{ id: number; name: string }>('shelves')
class ShelfViewSet extends modelViewSet(shelf, { serializerClass: modelSerializer(shelf, { fields: ['id', 'name'] }) }) {}

export const router = new APIRouter({ prefix: '/api' })
  .register('books', BookViewSet)
  .register('feed', Feed, 'feed')
  .register('authors', AuthorViewSet)
  .register('shelves', ShelfViewSet)
const nested = new NestedRouter(router, 'authors', { lookup: 'author_id' }).register('books', WrittenViewSet, 'written')
export type Api = typeof router | typeof nested

// what an application may export besides, whose types the compiler has to name
export class Inbox extends genericViewSet(Book, { serializerClass: BookSerializer, mixins: [ListMixin, CreateMixin, StreamMixin] }) {
  override async performCreate(serializer: BookSerializer) {
    return serializer.save({ title: serializer.validatedData.title })
  }
}
export class BookList extends modelView(ListCreateAPIView, Book, { serializerClass: BookSerializer }) {}
export const urls = router.getUrls()
export const decorator = action({ methods: ['GET'] })
export const set = (level: 'warn' | 'reload') => configure({ appVersionMismatch: level })
export class Letter extends IDMixin(Model) {
  static override tableName = 'letters'
  static override idConfig = { mode: 'signed', alphabet: 'mn7swcxDfgkGrBtv4qj6phd3b952CzF8', hmacKeys: ['a key'] } as const
}
export class Photo extends PublicIDMixin(Model) {
  static override tableName = 'photos'
  static override publicIdConfig = { strategy: 'uuid7' } as const
}
export class UploadSerializer extends Serializer {
  static override declaredFields = {
    file: new FileUploadField({ storage: null! }),
    author: new PrimaryKeyRelatedField({ queryset: () => Author.query() }),
  }
}
export const uploaded = (data: Input<typeof UploadSerializer>) => data.file
export class First extends BasePagination {
  override async paginate(source: ListSource, _request: PageRequest) {
    const rows = await source.read({ limit: 1 })
    return { results: rows.results(0, rows.length), pool: source.pool }
  }
  override describePage(item: Readonly<Record<string, unknown>>) {
    return { suffix: 'First', schema: { type: 'object', properties: { results: item } } }
  }
}
`

/** A page that knows nothing of the server but its type. */
const PAGE = `
import type { Api } from 'books-server'
import { createClient } from 'koa-viewsets/client'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const is = <_Holds extends true>(): void => undefined
interface Shown {
  id: number
  title: string
  price: string
  created_at: string
  author_id: number
  label: string
  author: { id: number; name: string }
}

export async function use(): Promise<void> {
  const api = createClient<Api>('/api')
  const found = await api.books.list({ price__gte: 10, created_at__lt: new Date(), search: 'x', page: 2, expand: 'author' })
  if (found.ok) is<Equal<(typeof found.data.results)[number], { [K in keyof Shown]: Shown[K] }>>()
  const one = await api.books.retrieve(7)
  // a date is the text that JSON has
  if (one.ok) is<Equal<typeof one.data, { [K in keyof Shown]: Shown[K] }>>()
  const made = await api.books.create({ title: 'x', author_id: 1 })
  if (!made.ok) void made.errors.title
  const published = await api.books.callOn(7, 'POST', 'publish', { on: '2026-01-02' })
  if (published.ok) is<Equal<typeof published.data, { on: string; at: string }>>()
  const top = await api.books.call('GET', 'top')
  if (top.ok) is<Equal<(typeof top.data)[number]['label'], string>>()
  const sold = await api.books.call('GET', 'sold')
  if (sold.ok) is<Equal<typeof sold.data, { on: string }>>()
  const shown = await api.books.retrieve(7, { expand: 'author', fields: ['id'] })
  if (shown.ok) is<Equal<typeof shown.data, { id: number; author: { id: number; name: string } }>>()
  for await (const book of api.feed.all()) is<Equal<typeof book.price, string>>()
  const below = await api.authors.at(1).books.list()
  if (below.ok) is<Equal<(typeof below.data)[number]['title'], string>>()
  const shelves = await api.shelves.list()
  if (shelves.ok) is<Equal<(typeof shelves.data)[number], { id: number; name: string }>>()
  const asked = await api.feed.query.list({ filter: { price__gte: 10, or: [{ price: 1 }, { not: { price: 2 } }] } })
  if (asked.ok) is<Equal<(typeof asked.data.results)[number]['price'], string>>()
  // @ts-expect-error no such filter in a body
  await api.feed.query.list({ filter: { titel: 'x' } })
  // @ts-expect-error it answers no QUERY
  void api.authors.query
  // @ts-expect-error no such view set
  void api.boks
  // @ts-expect-error no such filter
  await api.books.list({ titel: 'x' })
  // @ts-expect-error a field is missing
  await api.books.create({ title: 'x' })
  // @ts-expect-error of another type
  await api.books.create({ title: 1, author_id: 1 })
  // @ts-expect-error read only
  await api.authors.create({ name: 'x' })
  // @ts-expect-error no such action
  await api.books.callOn(7, 'POST', 'unpublish')
}
`

/** Each factory, mixin and field with options: all that the compiler writes of them has a name that a door exports. */
const EVERY = `
import { type Changes, ChangesMixin, ChangeStreamMixin, HistoryMixin } from 'koa-viewsets/changes'
import { createClient } from 'koa-viewsets/client'
import { MeteringMixin } from 'koa-viewsets/metering'
import { AggregateMixin } from 'koa-viewsets/views'
import { WebhookEndpointViewSet } from 'koa-viewsets/webhooks'
import * as kv from 'koa-viewsets'
interface Row { readonly id: number; readonly title: string }
const Book = kv.table<Row>('books')
class S extends kv.modelSerializer(Book, { fields: ['id', 'title'] }) {}
export class Fields extends kv.modelSerializer(Book, {
  fields: ['id', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o', 'p', 'q', 'r', 's', 't', 'u'],
  declaredFields: {
    a: new kv.PrimaryKeyRelatedField({ queryset: Book, many: true }),
    b: new kv.SlugRelatedField({ queryset: Book, slugField: 'title', many: true }),
    c: new kv.NestedSerializer(S, { many: true, readOnly: true }),
    d: new kv.ArrayField({ child: new kv.StringField({ maxLength: 3 }) }),
    e: new kv.IntegerField({ allowNull: true }),
    f: new kv.ChoiceField({ choices: ['a', 'b'] }),
    g: new kv.MultipleChoiceField({ choices: ['a', 'b'], allowNull: true }),
    h: new kv.JSONField({ required: false }),
    i: new kv.DateField(),
    j: new kv.DateTimeField({ readOnly: true }),
    k: new kv.DecimalField({ maxDigits: 5, decimalPlaces: 2 }),
    l: new kv.BigIntegerField(),
    m: new kv.BooleanField({ default: false }),
    n: new kv.FloatField(),
    o: new kv.UUIDField(),
    p: new kv.FileUploadField({ required: false, allowNull: true }),
    q: new kv.ImageUploadField(),
    r: new kv.SlugRelatedField({ queryset: Book, slugField: 'title', allowNull: true }),
    s: new kv.EmailField(),
    t: new kv.URLField(),
    u: new kv.PrimaryKeyRelatedField({ queryset: () => Book.query(), allowNull: true }),
  },
}) {}
export class Cached extends kv.modelViewSet(Book, { serializerClass: S, mixins: [kv.CacheableMixin] }) {}
export class Mixed extends kv.modelViewSet(Book, { serializerClass: S, mixins: [kv.CacheableMixin, kv.StreamMixin, AggregateMixin] }) {}
export class Read extends kv.readOnlyModelViewSet(Book, {
  serializerClass: S,
  filterBackends: [kv.FieldFilter, kv.SearchFilter, new kv.OrderingFilter()],
  filtersetFields: ['title'],
  paginationClass: new kv.PageNumberPagination({ pageSize: 5 }),
}) {}
export class Bulk extends kv.bulkModelViewSet(Book, { serializerClass: S, paginationClass: new kv.CursorPagination() }) {}
export class Nested extends kv.nestedViewSet(Book, { serializerClass: S, parentLookupField: 'id' }) {}
export class Generic extends kv.genericViewSet(Book, {
  serializerClass: S,
  mixins: [kv.ListMixin, kv.CreateMixin, kv.RetrieveMixin, kv.UpdateMixin, kv.DestroyMixin, kv.BulkCreateMixin, kv.BulkUpdateMixin, kv.BulkDestroyMixin],
}) {}
const Plain = kv.modelViewSet(Book, { serializerClass: S })
export class NestedMixed extends kv.NestedViewSetMixin(Plain) {}
export class CachedMixed extends kv.CacheableMixin(Plain) {}
export class Streamed extends kv.StreamMixin(Plain) {}
export class Aggregated extends AggregateMixin(Plain) {}
export class Listed extends kv.ListMixin(kv.GenericViewSet) {}
export class Created extends kv.CreateMixin(kv.GenericViewSet) {}
export class Retrieved extends kv.RetrieveMixin(kv.GenericViewSet) {}
export class Updated extends kv.UpdateMixin(kv.GenericViewSet) {}
export class Destroyed extends kv.DestroyMixin(kv.GenericViewSet) {}
export class BulkCreated extends kv.BulkCreateMixin(kv.GenericViewSet) {}
export class BulkUpdated extends kv.BulkUpdateMixin(kv.GenericViewSet) {}
export class BulkDestroyed extends kv.BulkDestroyMixin(kv.GenericViewSet) {}
export class Recorded extends ChangeStreamMixin(HistoryMixin(ChangesMixin(Plain))) {
  static override changes: Changes = { fields: ['title'] }
}
export class Metered extends MeteringMixin(Plain) {}
export class Hooks extends WebhookEndpointViewSet { static override events = ['read.*'] }
export const cached = createClient<typeof api>('https://example.org').cached
export const api = new kv.APIRouter().register('cached', Cached).register('read', Read, 'read').register('bulk', Bulk, 'bulk')
`

describe('declarations', { timeout: 180_000 }, () => {
  beforeAll(async () => {
    rmSync(folder, { recursive: true, force: true })
    const { name, type, exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    write(join(packages, 'koa-viewsets/package.json'), JSON.stringify({ name, type, exports }))
    const dist = join(packages, 'koa-viewsets/dist')
    const options = ['-p', join(root, '.config/tsconfig.build.json'), '--outDir', dist]
    await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), ...options])
    write(
      join(packages, 'books-server/package.json'),
      JSON.stringify({
        name: 'books-server',
        type: 'module',
        exports: { types: './dist/api.d.ts', default: './dist/api.js' },
      }),
    )
    write(join(folder, 'server/package.json'), JSON.stringify({ type: 'module' }))
    write(join(folder, 'server/api.ts'), SERVER)
    write(join(folder, 'server/every.ts'), EVERY)
    write(join(folder, 'page/package.json'), JSON.stringify({ type: 'module' }))
    write(join(folder, 'page/page.ts'), PAGE)
  }, 120_000)
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it.each(compilers)(
    'are written for a server, and all that a client knows is in them: TypeScript $version',
    async ({ program }) => {
      const dist = join(packages, 'books-server/dist')
      const built = await compile(
        program,
        { declaration: true, emitDeclarationOnly: true, outDir: dist, skipLibCheck: true, types: ['node'] },
        ['api.ts', 'every.ts'],
        join(folder, 'server'),
      )
      expect(built).toBe('')
      const page = { noEmit: true, skipLibCheck: true, lib: ['es2023', 'dom', 'dom.iterable'] }
      expect(await compile(program, page, ['page.ts'], join(folder, 'page'))).toBe('')
    },
  )
})
