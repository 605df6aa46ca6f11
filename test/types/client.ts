/** What TypeScript knows of an API's client, and what it refuses. Checked by `tsc`, never run. */
import {
  APIRouter,
  bulkModelViewSet,
  CursorPagination,
  DateField,
  FieldFilter,
  type Generated,
  listAction,
  ModelSerializer,
  ModelViewSet,
  modelSerializer,
  modelViewSet,
  NestedRouter,
  NestedSerializer,
  nestedViewSet,
  OrderingFilter,
  objectAction,
  PageNumberPagination,
  readOnlyModelViewSet,
  SearchFilter,
  SerializerMethodField,
  StringField,
} from 'koa-viewsets'
import { ChangeStreamMixin, ChangesMixin } from 'koa-viewsets/changes'
import { createClient } from 'koa-viewsets/client'
import { Model } from 'objection'

type Equal<Left, Right> = (<T>() => T extends Left ? 1 : 2) extends <T>() => T extends Right ? 1 : 2 ? true : false
const is = <_Holds extends true>(): void => undefined

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
  declare pages: number | null
  declare author_id: number
  declare tags: string[]
  declare extra: unknown
  declare created_at: Date
  declare author?: Author
}
class AuthorSerializer extends modelSerializer(Author, { fields: ['id', 'name'] }) {}
class BookSerializer extends modelSerializer(Book, {
  fields: ['id', 'title', 'price', 'pages', 'author_id'],
  declaredFields: {
    label: new SerializerMethodField<string>(),
    author: new NestedSerializer(AuthorSerializer, { readOnly: true }),
  },
}) {
  getLabel(book: Book): string {
    return book.title
  }
}
class BookViewSet extends modelViewSet(Book, {
  serializerClass: BookSerializer,
  paginationClass: PageNumberPagination,
  filterBackends: [FieldFilter, SearchFilter, OrderingFilter],
  filtersetFields: ['price', 'pages', 'author__name', 'tags', 'extra__colour', 'created_at'],
  orderingFields: ['price'],
  searchFields: ['title'],
  actions: {
    publish: objectAction({ methods: ['POST'], input: { on: new DateField() } }, (book, { on }) => ({
      title: book.title,
      on,
      at: new Date(),
    })),
    topSellers: listAction({ methods: ['GET'] }, () => ['a']),
    imported: listAction(
      { methods: ['POST'], urlPath: 'import/all', input: { name: new StringField() } },
      () => undefined,
    ),
  },
}) {}
class Grouped extends modelViewSet(Book, {
  serializerClass: BookSerializer,
  filterBackends: [new FieldFilter({ groupParam: 'filter', maxFilters: 9 })],
  filtersetFields: ['price'],
}) {}
class Ungrouped extends modelViewSet(Book, {
  serializerClass: BookSerializer,
  filterBackends: [new FieldFilter({ maxFilters: 9 })],
  filtersetFields: ['price'],
}) {}
class Feed extends BookViewSet {
  static override paginationClass = CursorPagination
}
class AuthorViewSet extends readOnlyModelViewSet(Author, { serializerClass: AuthorSerializer }) {}
class WrittenViewSet extends nestedViewSet(Book, { serializerClass: BookSerializer, parentLookupField: 'author_id' }) {}
class EntryViewSet extends bulkModelViewSet(Author, { serializerClass: AuthorSerializer }) {}
class OldSerializer extends ModelSerializer<Author> {
  static override model = Author
  static override fields = ['id', 'name']
  static override declaredFields = { nick: new StringField() }
}
class OldViewSet extends ModelViewSet<Author> {
  static override model = Author
  static override serializerClass = OldSerializer
}

const router = new APIRouter({ prefix: '/api' })
  .register('books', BookViewSet)
  .register('feed', Feed, 'feed')
  .register('authors', AuthorViewSet)
  .register('entries', EntryViewSet)
  .register('old', OldViewSet)
  .register('grouped', Grouped, 'grouped')
  .register('ungrouped', Ungrouped, 'ungrouped')
const nested = new NestedRouter(router, 'authors', { lookup: 'author_id' }).register('books', WrittenViewSet)
const deeper = new NestedRouter(nested, 'books', { lookup: 'book_id' }).register('copies', WrittenViewSet)
type Api = typeof router | typeof nested | typeof deeper

interface Shown {
  id: number
  title: string
  price: string
  pages: number | null
  author_id: number
  label: string
  author: { id: number; name: string }
}

export async function use(): Promise<void> {
  const api = createClient<Api>('http://localhost/api')
  await api.grouped.list({ filter: 'or(price=1,not(price__gt=2))', price__lt: 3 })
  // @ts-expect-error the parameter has the name that it was given
  await api.grouped.list({ where: 'price=1' })
  // @ts-expect-error it takes none
  await api.ungrouped.list({ filter: 'price=1' })
  // @ts-expect-error nor does a filter by its class alone
  await api.books.list({ filter: 'price=1' })
  await api.ungrouped.list({ price__lt: 3 })
  await api.books.list({ price__ne: 5, pages__nin: [1, 2], tags__contains: ['a', 'b'], tags__overlap: 'a' })
  await api.books.list({ created_at__year: 2024, extra__colour: 'red', extra__colour__ne: 'red' })
  // @ts-expect-error a year is a number
  await api.books.list({ created_at__year: true })
  // @ts-expect-error an undeclared key
  await api.books.list({ extra__size: 'x' })
  const found = await api.books.list({ price__gte: 10, author__name: 'x', ordering: '-price', search: 'y', page: 2 })
  if (found.ok) {
    const [book] = found.data.results
    is<Equal<NonNullable<typeof book>, { [K in keyof Shown]: Shown[K] }>>()
    is<Equal<typeof found.data.count, number>>()
  } else {
    const detail: string = found.detail
    void detail
  }
  const made = await api.books.create({ title: 'x', pages: null, author_id: 1 })
  if (made.ok) await api.books.update(made.data.id, { title: 'y', pages: 1, author_id: 1 }, { ifMatch: made.etag })
  else {
    const messages = made.errors.title
    void messages
    // @ts-expect-error no such field
    void made.errors.titel
  }
  await api.books.partialUpdate(7, { title: 'x' })
  for await (const book of api.feed.all({ price__lt: 3 })) is<Equal<typeof book.label, string>>()
  const page = await api.feed.list()
  if (page.ok) is<Equal<typeof page.data.next, string | null>>()
  const one = await api.authors.retrieve(3, { fields: ['name'] })
  if (one.ok) is<Equal<typeof one.data, Pick<{ id: number; name: string }, 'name'>>>()
  const below = await api.authors.at(3).books.list()
  if (below.ok) is<Equal<(typeof below.data)[number]['title'], string>>()
  await api.authors.at(3).books.at(4).copies.retrieve(1)
  await api.entries.bulkCreate([{ name: 'x' }])
  const published = await api.books.callOn(7, 'POST', 'publish', { on: '2026-01-02' })
  if (published.ok) is<Equal<typeof published.data, { title: string; on: string; at: string }>>()
  const top = await api.books.call('GET', 'top_sellers')
  if (top.ok) is<Equal<typeof top.data, string[]>>()
  await api.books.call('POST', 'import/all', { name: 'x' })
  const old = await api.old.retrieve(1)
  if (old.ok) is<Equal<typeof old.data, { nick: string }>>()

  // @ts-expect-error no such view set
  void api.boks
  // @ts-expect-error no such filter
  await api.books.list({ titel: 'x' })
  // @ts-expect-error no such lookup
  await api.books.list({ price__graeter: 1 })
  // @ts-expect-error no such order
  await api.books.list({ ordering: 'title' })
  // @ts-expect-error a field is missing
  await api.books.create({ title: 'x' })
  // @ts-expect-error a field that is shown only
  await api.books.partialUpdate(7, { label: 'x' })
  // @ts-expect-error a view set that is read only
  await api.authors.create({ name: 'x' })
  // @ts-expect-error no bulk actions
  await api.books.bulkCreate([])
  // @ts-expect-error no such action
  await api.books.callOn(7, 'POST', 'unpublish')
  // @ts-expect-error an action of one object
  await api.books.call('POST', 'publish')
  // @ts-expect-error an input of another type
  await api.books.callOn(7, 'POST', 'publish', { on: 3 })
}

/** What a view set leaves out is none of its methods; what it takes and what it shows may be two serializers. */
class ChosenBooks extends modelViewSet(Book, {
  serializerClass: BookSerializer,
  inputSerializerClass: modelSerializer(Book, { fields: ['title'] }),
  withoutActions: ['update'],
  actions: { clear: listAction({ methods: ['DELETE'], urlPath: '' }, () => ({ deleted: 1 })) },
}) {}
const chosen = new APIRouter().register('chosen', ChosenBooks)
export async function callChosen(): Promise<void> {
  const books = createClient<typeof chosen>('https://example.org').chosen
  // @ts-expect-error PUT is left out
  void books.update
  const changed = await books.partialUpdate(1, { title: 'a' })
  if (changed.ok) changed.data.pages satisfies number | null
  // @ts-expect-error pages are shown, and not taken
  await books.create({ title: 'a', pages: 3 })
  const cleared = await books.call('DELETE', '')
  if (cleared.ok) is<Equal<typeof cleared.data, { deleted: number }>>()
}

/** A PUT of a part takes what PATCH takes; one of the whole asks for all. */
class PartBooks extends modelViewSet(Book, { serializerClass: BookSerializer, partialPut: true }) {}
class PartBooksByStatic extends ModelViewSet<Book, BookSerializer> {
  static override serializerClass = BookSerializer
  static override partialPut = true as const
}
const parts = new APIRouter().register('parts', PartBooks).register('others', PartBooksByStatic)
export async function callParts(): Promise<void> {
  const client = createClient<typeof parts>('https://example.org')
  await client.parts.update(1, {})
  await client.others.update(1, {})
  // @ts-expect-error a new one needs its title
  await client.parts.create({})
}

/** Changes are those of view sets that tell of them: by the mixin as a class or in a factory's options; others have none. */
class Live extends ChangeStreamMixin(ChangesMixin(ModelViewSet<Author>)) {
  static override model = Author
  static override serializerClass = AuthorSerializer
}
class LiveBooks extends modelViewSet(Book, {
  serializerClass: BookSerializer,
  mixins: [ChangesMixin, ChangeStreamMixin],
}) {}
class Quiet extends ChangesMixin(ModelViewSet<Author>) {
  static override model = Author
  static override serializerClass = AuthorSerializer
}
class Named extends ModelViewSet<Author> {
  static override model = Author
  static override serializerClass = AuthorSerializer
  changes(): string {
    return 'an action of its own'
  }
}
const told = new APIRouter()
  .register('live', Live)
  .register('books', LiveBooks)
  .register('quiet', Quiet)
  .register('named', Named)
export async function listen(signal: AbortSignal): Promise<void> {
  const client = createClient<typeof told>('https://example.org')
  for await (const change of client.live.changes({ signal, headers: { 'x-a': 'b' } })) {
    change.id satisfies number | undefined
    if (change.event === 'open') change.resumed satisfies boolean
    else if (change.event === 'change') is<Equal<typeof change.id, number>>()
    // @ts-expect-error nothing of the object is told
    void change.name
  }
  for await (const { event, id } of client.books.changes({ position: '1:1:' }))
    if (event === 'change') is<Equal<typeof id, number>>()
  // @ts-expect-error filters narrow no stream
  void client.books.changes({ price__gt: 3 })
  // @ts-expect-error records changes, and tells of none
  void client.quiet.changes
  // @ts-expect-error an action of its own, which `call()` asks for
  void client.named.changes
}

/** An object without an `id` is named in lists by the members that its key is, which no type knows. */
class Seat extends Model {
  static override tableName = 'seats'
  static override idColumn = ['site', 'no']
  declare site: number
  declare no: number
  declare title: string
}
class Seats extends bulkModelViewSet(Seat, {
  serializerClass: modelSerializer(Seat, { fields: ['site', 'no', 'title'] }),
}) {}
const seated = new APIRouter().register('seats', Seats)
export async function callSeats(): Promise<void> {
  const { seats } = createClient<typeof seated>('https://example.org')
  await seats.bulkUpdate([{ site: 1, no: 2, title: 'x' }])
  await seats.bulkDestroy([{ site: 1, no: 2 }, '1,3'])
  // @ts-expect-error no such member
  await seats.bulkDestroy([{ sight: 1, no: 2 }])
}
export async function namesObjects(): Promise<void> {
  const { entries } = createClient<Api>('http://localhost/api')
  await entries.bulkUpdate([{ id: 7, name: 'x' }])
  // @ts-expect-error nothing says which object it is
  await entries.bulkUpdate([{ name: 'x' }])
}
