/** View sets that filter, search and order the same six books, served to a whole test file. */
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import {
  APIRouter,
  CursorPagination,
  configure,
  FieldFilter,
  type Filters,
  FullTextSearchFilter,
  ModelSerializer,
  NestedSerializer,
  OrderingFilter,
  PageNumberPagination,
  type Pagination,
  ReadOnlyModelViewSet,
  SearchFilter,
  SearchRankOrderingFilter,
} from '../../lib/index.js'
import { Book, BookSerializer, COLUMNS, createBooks, Person, PersonSerializer } from '../lib/filters/books.js'
import { type Client, serving } from './client.js'
import type { TestDatabase } from './database.js'

export let database: TestDatabase
export let client: Client

export class Books extends ReadOnlyModelViewSet<Book> {
  static override model = Book
  static override serializerClass = BookSerializer
  static override paginationClass: Pagination = new PageNumberPagination({ pageSize: 100 })
  static override filterBackends: Filters = [FieldFilter, SearchFilter, OrderingFilter]
  static override filtersetFields = [
    ...Object.keys(COLUMNS),
    ...['isbn', 'code', 'address', 'lasted', 'bytes', 'place', 'meta', 'tags', 'author_id', 'author__id'],
    ...['author__name', 'author__country__region', 'author__boss__name', 'genres__name', 'shownGenres__name'],
    ...['mainGenres__name', 'markedGenres__name', 'author__books__title', `${'author__books__'.repeat(6)}title`],
  ]
  static override searchFields = ['title', 'author__name', '=isbn']
  static override orderingFields = ['title', 'n', 'created']
  static override ordering = ['-n']
}

export class StrictBooks extends Books {
  static override strictParams = true
  static override filtersetFields = ['n']
  static override queryParameters = [{ name: 'mine', description: 'Mine.', schema: { type: 'string' } }]
}

export class InstanceBooks extends Books {
  override getQueryset() {
    return super.getQueryset().where('books.id', '>', 0)
  }
}

export class PatternBooks extends Books {
  static override searchFields = ['$title']
}

export class PrefixBooks extends Books {
  static override searchFields = ['^title', '=code', 'n', 'author__country__name']
}

export class People extends ReadOnlyModelViewSet<Person> {
  static override model = Person
  static override serializerClass = PersonSerializer
  static override filterBackends = [FieldFilter]
  static override filtersetFields = [
    ...['books__title', 'books__n', 'books__genres__name', 'country__code', 'latest__n', 'latest__genres__name'],
    ...['boss__latest__n', 'lastReport__name', 'lastReport__lastReport__name'],
  ]
}

export class Named extends Books {
  static override filterBackends: Filters = [SearchFilter]
  static override searchFields = ['title', '$code']
  static override searchParam = 'q'
}

export class Ft extends Books {
  static override filterBackends: Filters = [FullTextSearchFilter]
  static override searchFields = ['title', 'code']
}

export class FtRaw extends Ft {
  static override searchType = 'raw'
}

export class FtPlain extends Ft {
  static override searchType = 'plain'
  static override searchParam = 'q'
}

export class FtPhrase extends Ft {
  static override searchType = 'phrase'
}

export class Ranked extends Ft {
  static override filterBackends = [FullTextSearchFilter, SearchRankOrderingFilter, OrderingFilter]
}

export class RankOnly extends Ft {
  static override filterBackends = [SearchRankOrderingFilter, FieldFilter]
}

export class FtRelated extends Ft {
  static override filterBackends = [FullTextSearchFilter, SearchRankOrderingFilter]
  static override searchFields = ['title', 'author__country__name']
}

export class NestedBookSerializer extends ModelSerializer<Book> {
  static override model = Book
  static override fields = ['id', 'title', 'author']
  static override declaredFields = { author: new NestedSerializer(PersonSerializer, { readOnly: true }) }
}

export class RankedNested extends Ranked {
  static override serializerClass = NestedBookSerializer
}

export class PatternCursor extends PatternBooks {
  static override paginationClass = new CursorPagination({ pageSize: 2 })
}

export const VIEWS = {
  books: Books,
  strict: StrictBooks,
  instances: InstanceBooks,
  patterns: PatternBooks,
  prefixes: PrefixBooks,
  people: People,
  ft: Ft,
  ftraw: FtRaw,
  ftplain: FtPlain,
  named: Named,
  ftphrase: FtPhrase,
  ranked: Ranked,
  rankonly: RankOnly,
  ftrelated: FtRelated,
  rankednested: RankedNested,
  patterncursor: PatternCursor,
}

/** The ids that a list shows, in order. */
export async function ids(path: string): Promise<number[]> {
  const { status, json } = await client.get(`/api/${path}`)
  expect([path, status, json]).toEqual([path, 200, json])
  return (json.results ?? json).map(({ id }: { id: number }) => id)
}

/** The ids that a list shows, sorted. */
export async function found(path: string): Promise<number[]> {
  return (await ids(path)).sort((one, other) => one - other)
}

export function parameters(query: Record<string, string>): string {
  return new URLSearchParams(query).toString()
}

/** Creates the books of a test file and serves all view sets under `/api`. */
export function useFilteredBooks(): void {
  beforeAll(async () => {
    configure({ secretKey: 'a secret of the tests' })
    database = await createBooks()
    await database.knex.raw(`
      insert into countries values ('de', 'Germany', 'Europe'), ('ke', 'Kenya', 'Africa');
      insert into people (name, country_code, boss_id) values ('Ada', 'de', null), ('Ben', 'ke', 1), ('Cleo', null, 2);
      insert into genres (name, hidden) values ('novel', false), ('essay', true), ('poem', false);
      insert into books (title, isbn, code, n, big, price, score, published, created, uid, flag, state, address, lasted, bytes, meta, tags, author_id) values
        ('100%', '111', 'ab', 1, 9007199254740993, 1.25, 1.5, '2024-01-31', '2024-01-31T12:00:00.000001Z', '7f1d0f1e-3f53-4c3b-9c3a-6a7a2a0f5f01', true, 'draft', '10.0.0.1', '1 day', '\\x00ff', '{"a":1}', '{x,y}', 1),
        ('a_b', '222', 'cd', 2, 2, 2.50, 2, '2024-02-01', '2024-02-01T00:00:00Z', '7f1d0f1e-3f53-4c3b-9c3a-6a7a2a0f5f02', false, 'open', '10.0.0.2', '2 hours', '\\x01', null, null, 1),
        ('a\\b', '333', null, 3, null, null, null, null, null, null, null, 'done', null, null, null, null, null, 2),
        ('axb', null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null),
        ('O''Reilly Media', '555', 'e', 5, null, null, null, null, null, null, null, null, null, null, null, null, null, 3),
        ('The lazy dog and the Quick fox', '666', 'f', 6, null, null, null, null, null, null, null, null, null, null, null, null, null, 2);
      insert into books_genres values (1, 1, true), (1, 3, false), (2, 2, true), (3, 1, false), (6, 1, true), (6, 2, true), (6, 3, true);
    `)
    const router = new APIRouter({ prefix: '/api' })
    for (const [name, view] of Object.entries(VIEWS)) router.register(name, view, name)
    await router.prepare()
    client = await serving(router.routes())
  })
  afterAll(async () => {
    await client.close()
    await database.drop()
  })
  afterEach(() => expect(client.reported).toEqual([]))
}
