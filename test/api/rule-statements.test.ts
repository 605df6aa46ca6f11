/** Statements that callers with other conditions share: each is answered as if it were the only one. */

import type { Context } from 'koa-viewsets'
import { Model } from 'objection'
import { describe, expect, it } from 'vitest'
import {
  APIRouter,
  BaseAuthentication,
  CursorPagination,
  configure,
  FieldFilter,
  ModelSerializer,
  ModelViewSet,
  NestedSerializer,
  OrderingFilter,
  PageNumberPagination,
  type Pagination,
  PrimaryKeyRelatedField,
} from '../../lib/index.js'
import { any, type Condition, type Rules, rule, sql } from '../../lib/rules/index.js'
import { serveApp } from '../support/client.js'
import { Author, Book, Genre, Review, useLibrary } from '../support/library.js'
import { seededRandom } from '../support/seeded-random.js'

useLibrary({
  rows: `
    delete from authors; alter sequence authors_id_seq restart;
    insert into authors (name) select 'author ' || n from generate_series(1, 6) n;
    insert into books (title, n, author_id) select 'book ' || n, n, nullif(n % 7, 0) from generate_series(1, 40) n;
    insert into reviews (book_id, stars) select 1 + n % 40, 1 + n % 5 from generate_series(1, 200) n;
    insert into genres (name) select 'genre ' || n from generate_series(1, 5) n;
    insert into books_genres select b, g from generate_series(1, 40) b, generate_series(1, 5) g where (b + g) % 3 = 0;
  `,
})

configure({ secretKey: 'a secret of these tests' })

type Shape = (value: number) => Condition

/** Of one text for all values; several of each, so that callers differ in text and in values. */
const AUTHORS: readonly Shape[] = [
  () => true,
  (value) => ({ id__lte: value % 6 }),
  (value) => ({ id__in: [value % 6, (value + 1) % 6] }),
  (value) => any('books', { n__gt: value * 3, title__contains: `${value % 10}` }),
  (value) => ({ not: { name: `author ${value % 7}` } }),
]
const BOOKS: readonly Shape[] = [
  () => true,
  (value) => ({ n__gte: value, author_id__ne: value % 4 }),
  (value) => any('author', { id__lt: value % 7 }),
  (value) => sql`n % 3 <> ${value % 3}`,
]
const REVIEWS: readonly Shape[] = [
  () => true,
  (value) => ({ stars__gte: value % 6 }),
  (value) => ({ or: [{ stars: value % 6 }, { stars: (value + 2) % 6 }] }),
  (value) => any('book', { n__lt: value * 4 }),
]
const GENRES: readonly Shape[] = [
  () => true,
  (value) => ({ id__ne: value % 6 }),
  (value) => ({ name__gt: `genre ${value % 6}` }),
]
const LINKS: readonly Shape[] = [() => true, (value) => ({ book_id__gt: value })]

const SHAPES = { authors: AUTHORS, books: BOOKS, reviews: REVIEWS, genres: GENRES, links: LINKS }

type Caller = Readonly<Record<keyof typeof SHAPES, Condition>>

class BookGenre extends Model {
  static override tableName = 'books_genres'
  static override idColumn = ['book_id', 'genre_id']
}

const of =
  (model: keyof Caller) =>
  ({ user }: { readonly user: Partial<Caller> | undefined }) =>
    user?.[model] ?? false
const RULES: Rules = [
  rule(Author, { read: of('authors') }),
  rule(Book, { read: of('books') }),
  rule(Review, { read: of('reviews') }),
  rule(Genre, { read: of('genres') }),
  rule(BookGenre, { read: of('links') }),
]

/** An API of which nothing has been asked yet. */
function openApi(callers: readonly Caller[]): APIRouter {
  class Callers extends BaseAuthentication {
    override authenticate(ctx: Context) {
      const caller = callers[Number(ctx.get('X-Caller'))]
      return caller ? { user: caller } : null
    }
  }
  class AuthorSerializer extends ModelSerializer<Author> {
    static override model = Author
    static override fields = ['id', 'name']
  }
  class ReviewSerializer extends ModelSerializer<Review> {
    static override model = Review
    static override fields = ['id', 'stars']
  }
  class BookSerializer extends ModelSerializer<Book> {
    static override model = Book
    static override fields = ['id', 'title', 'author', 'reviews', 'genres']
    static override declaredFields = {
      author: new NestedSerializer(AuthorSerializer, { readOnly: true }),
      reviews: new NestedSerializer(ReviewSerializer, { many: true, readOnly: true }),
      genres: new PrimaryKeyRelatedField({ many: true, readOnly: true }),
    }
  }
  class ShelfSerializer extends ModelSerializer<Author> {
    static override model = Author
    static override fields = ['id', 'books']
    static override declaredFields = { books: new NestedSerializer(BookSerializer, { many: true, readOnly: true }) }
  }
  class Books extends ModelViewSet<Book> {
    static override model = Book
    static override serializerClass: typeof ModelSerializer<Book> = BookSerializer
    static override authenticationClasses = [Callers]
    static override paginationClass: Pagination = new PageNumberPagination({ pageSizeQueryParam: 'page_size' })
    static override filterBackends = [FieldFilter, OrderingFilter]
    static override filtersetFields = ['n', 'author__name']
    static override orderingFields = ['title', 'author__name']
  }
  class Native extends Books {
    static override useNativeJson = true
  }
  class Cursors extends Books {
    static override paginationClass = new CursorPagination({ ordering: '-n', pageSize: 4 })
  }
  class Shelves extends ModelViewSet<Author> {
    static override model = Author
    static override serializerClass = ShelfSerializer
    static override authenticationClasses = [Callers]
  }
  return new APIRouter({ rules: RULES })
    .register('books', Books)
    .register('native', Native, 'native')
    .register('cursors', Cursors, 'cursors')
    .register('shelves', Shelves, 'shelves')
}

const PATHS = [
  '/books?page_size=7',
  '/books?page_size=7&page=2',
  '/books?n__lt=25&ordering=title&page_size=5',
  '/books?author__name=author 2',
  '/native?page_size=6&page=2',
  '/cursors',
  '/shelves',
  ...[1, 2, 9, 23, 41].flatMap((id) => [`/books/${id}`, `/native/${id}`]),
  '/shelves/3',
].map(encodeURI)

describe('callers whose conditions differ', () => {
  it.each([1, 2, 3])('get what they would get of an API of their own (seed %i)', async (seed) => {
    const random = seededRandom(seed)
    const among = (shapes: readonly Shape[]) => shapes[random(shapes.length)] as Shape
    const callers = [1, 2].flatMap(() => {
      // four of the same texts
      const shapes = Object.entries(SHAPES).map(([name, all]) => [name, among(all)] as const)
      return Array.from(
        { length: 4 },
        () => Object.fromEntries(shapes.map(([name, shape]) => [name, shape(random(40))])) as unknown as Caller,
      )
    })
    const shared = await serveApp(openApi(callers).routes())
    const seen = new Set<string>()
    const own = await Promise.all(callers.map(() => serveApp(openApi(callers).routes())))
    for (const path of PATHS) {
      for (const [index, client] of own.entries()) {
        const headers = { 'X-Caller': String(index) }
        const [found, expected] = [await shared.get(path, headers), await client.get(path, headers)]
        expect([found.status, found.text], `${path} of ${index}`).toEqual([expected.status, expected.text])
        expect(found.status).toBeLessThan(500)
        seen.add(found.text)
      }
    }
    // or the conditions would hide nothing
    expect(seen.size).toBeGreaterThan(40)
  })
})
