/** An API of books with a bit of everything that a client has types for. Its models declare what `BOOKS_SCHEMA` has. */
import {
  APIRouter,
  BaseFilter,
  bulkModelViewSet,
  CursorPagination,
  DateField,
  FieldFilter,
  FileUploadField,
  type Generated,
  genericViewSet,
  IntegerField,
  LimitOffsetPagination,
  ListMixin,
  listAction,
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
  ServerCursorPagination,
  StringField,
} from 'koa-viewsets'
import { FileSystemStorage } from 'koa-viewsets/storage'
import { Model } from 'objection'

export const BOOKS_SCHEMA = `
  create table authors (id serial primary key, name text not null, born_on date, score real not null default 0);
  create table books (
    id bigserial primary key, title text not null unique, price numeric(8, 2) not null default 1, rating int,
    in_stock boolean not null default true, published_on date, created_at timestamptz not null default now(),
    key uuid not null default gen_random_uuid(), tags text[] not null default '{}', cover bytea, extra jsonb,
    kind text not null default 'novel' check (kind in ('novel', 'poem')), author_id int not null references authors
  );
  create table shelves (slug text primary key, label text not null);
  create table papers (id serial primary key, file text not null, author_id int references authors);`

class Author extends Model {
  static override tableName = 'authors'
  declare id: number
  declare name: string
  declare born_on: string | null
  declare score: Generated<number | string>
}
class Book extends Model {
  static override tableName = 'books'
  static override relationMappings = () => ({
    author: {
      relation: Model.BelongsToOneRelation,
      modelClass: Author,
      join: { from: 'books.author_id', to: 'authors.id' },
    },
  })
  declare id: number | string
  declare title: string
  declare price: Generated<string>
  declare rating: number | null
  declare in_stock: Generated<boolean>
  declare published_on: string | null
  declare created_at: Generated<Date>
  declare key: Generated<string>
  declare tags: Generated<(string | null)[]>
  declare cover: Buffer | null
  declare extra: unknown
  declare kind: Generated<'novel' | 'poem'>
  declare author_id: number
  declare author?: Author
}
class Shelf extends Model {
  static override tableName = 'shelves'
  static override idColumn = 'slug'
  declare slug: string
  declare label: string
}
class Paper extends Model {
  static override tableName = 'papers'
  declare id: number
  declare file: string
  declare author_id: number | null
}

class AuthorSerializer extends modelSerializer(Author, { fields: ['id', 'name', 'born_on'] }) {}
class BookSerializer extends modelSerializer(Book, {
  fields: [
    'id',
    'title',
    'price',
    'rating',
    'in_stock',
    'published_on',
    'created_at',
    'key',
    'tags',
    'extra',
    'kind',
    'author_id',
  ],
  readOnlyFields: ['created_at'],
  extraKwargs: { kind: { choices: ['novel', 'poem'] }, key: { writeOnly: true } },
  declaredFields: { label: new SerializerMethodField<string>({ schema: { type: 'string' } }) },
}) {
  getLabel(book: Book): string {
    return book.title
  }
}
class NestedBookSerializer extends modelSerializer(Book, {
  fields: ['id', 'title', 'author'],
  schemaName: 'NestedBook',
  declaredFields: { author: new NestedSerializer(AuthorSerializer) },
}) {}

/** A backend of an application's own. */
class Near extends BaseFilter {
  declare readonly asks?: { near?: number }

  override parameters(): ReturnType<BaseFilter['parameters']> {
    return [{ name: 'near', description: 'Books near a number.', schema: { type: 'integer' } }]
  }
}

const backends = {
  filterBackends: [FieldFilter, SearchFilter, OrderingFilter, Near],
  filtersetFields: ['price', 'rating', 'created_at', 'key', 'author__name', 'author__born_on'],
  searchFields: ['title'],
  orderingFields: ['price', 'title'],
} as const

class BookViewSet extends bulkModelViewSet(Book, {
  ...backends,
  serializerClass: BookSerializer,
  paginationClass: new PageNumberPagination({ pageSize: 4, pageQueryParam: 'p', pageSizeQueryParam: 'size' }),
  expandable: { author: AuthorSerializer },
  queryParameters: [
    { name: 'lang', description: 'A language.', schema: { type: 'string' } },
    { name: 'year', description: 'A year.', schema: { type: 'integer' } },
  ],
  actions: {
    publish: objectAction(
      {
        methods: ['POST'],
        input: { on: new DateField(), copies: new IntegerField({ required: false }) },
        output: BookSerializer,
      },
      () => null,
    ),
    nextPage: objectAction({ methods: ['GET'], urlPath: 'pages/{page:int}', output: AuthorSerializer }, () => null),
    imported: listAction(
      { methods: ['PUT', 'POST'], urlPath: 'import/all', input: { name: new StringField() }, output: [BookSerializer] },
      () => [],
    ),
  },
}) {}
class Uncounted extends BookViewSet {
  static override paginationClass = new LimitOffsetPagination({ count: 'none' })
  static override filterBackends = [OrderingFilter]
}
class Feed extends BookViewSet {
  static override paginationClass = new CursorPagination({ cursorQueryParam: 'from' })
  static override serializerClass = NestedBookSerializer
}
class Snapshot extends readOnlyModelViewSet(Book, {
  serializerClass: BookSerializer,
  paginationClass: new ServerCursorPagination({ maxPerUser: 2 }),
}) {}
class AuthorViewSet extends modelViewSet(Author, { serializerClass: AuthorSerializer }) {}
class WrittenViewSet extends nestedViewSet(Book, {
  serializerClass: NestedBookSerializer,
  parentLookupField: 'author_id',
  ordering: ['id'],
}) {}
class ShelfViewSet extends bulkModelViewSet(Shelf, {
  serializerClass: modelSerializer(Shelf, { fields: ['slug', 'label'] }),
  lookupField: 'slug',
}) {}
class PaperViewSet extends modelViewSet(Paper, {
  serializerClass: modelSerializer(Paper, {
    fields: ['id', 'file', 'author_id'],
    declaredFields: { file: new FileUploadField({ storage: new FileSystemStorage({ root: '/tmp', baseUrl: '/' }) }) },
  }),
}) {}
class Names extends genericViewSet(Author, { serializerClass: AuthorSerializer, mixins: [ListMixin] }) {}

/** The routers of the API. */
export function createBooks() {
  const api = new APIRouter({ prefix: '/api' })
    .register('books', BookViewSet)
    .register('uncounted', Uncounted, 'uncounted')
    .register('feed', Feed, 'feed')
    .register('snapshot', Snapshot, 'snapshot')
    .register('authors', AuthorViewSet)
    .register('shelves', ShelfViewSet)
    .register('papers', PaperViewSet)
    .register('names', Names, 'name')
  const authors = new NestedRouter(api, 'authors', { lookup: 'author_id' }).register('books', WrittenViewSet, 'written')
  return [api, authors] as const
}

export type Books = ReturnType<typeof createBooks>[number]

class Wrong extends Model {
  static override tableName = 'authors'
  declare id: string
  declare name: string | null
  declare born_on: string | null
}
class WrongAuthors extends modelViewSet(Wrong, {
  serializerClass: modelSerializer(Wrong, { fields: ['id', 'name', 'born_on'] }),
  filterBackends: [FieldFilter],
  filtersetFields: ['id'],
}) {}

/** An API whose model declares what the table does not have. */
export function createWrong() {
  return new APIRouter({ prefix: '/api' }).register('wrong', WrongAuthors, 'wrong')
}

export type WrongApi = ReturnType<typeof createWrong>
