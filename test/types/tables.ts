/** What TypeScript knows of tables whose rows and relations are typed, and what it refuses. Checked by `tsc`, never run. */
import {
  APIRouter,
  FieldFilter,
  modelSerializer,
  modelViewSet,
  NestedSerializer,
  OrderingFilter,
  type Output,
  type TableModel,
  table,
} from 'koa-viewsets'
import { createClient } from 'koa-viewsets/client'

type Equal<Left, Right> = (<T>() => T extends Left ? 1 : 2) extends <T>() => T extends Right ? 1 : 2 ? true : false
const is = <_Holds extends true>(): void => undefined

interface AuthorRow {
  readonly id: number
  name: string
}
interface ReviewRow {
  readonly id: number
  book_id: number
  text: string
}
interface BookRow {
  readonly id: number
  title: string
  author_id: number | null
  meta: { readonly colour: string }
}

const reviews = table<ReviewRow>('reviews')
// two tables that lead to each other
const authors: TableModel<AuthorRow, { books: BookRow[] }> = table<AuthorRow, { books: BookRow[] }>('authors', {
  relations: { books: { hasMany: () => books, key: 'author_id' } },
})
const books = table<BookRow, { author: InstanceType<typeof authors>; reviews: ReviewRow[] }>('books', {
  relations: {
    author: { belongsTo: () => authors, key: 'author_id' },
    reviews: { hasMany: () => reviews, key: 'book_id' },
  },
})

class AuthorSerializer extends modelSerializer(authors, { fields: ['id', 'name'] }) {}
class ReviewSerializer extends modelSerializer(reviews, { fields: ['id', 'text'] }) {}
class BookSerializer extends modelSerializer(books, { fields: ['id', 'title', 'author_id'] }) {}
export class BookViewSet extends modelViewSet(books, {
  serializerClass: BookSerializer,
  filterBackends: [FieldFilter, OrderingFilter],
  // over the instances of a table its own relations are known, too; behind a column of JSON stand keys
  filtersetFields: ['title', 'author__name', 'author__books__title', 'reviews__text', 'meta__colour'],
  orderingFields: ['title', 'author__name'],
  expandable: { author: AuthorSerializer, reviews: ReviewSerializer },
}) {}

class NestedBookSerializer extends modelSerializer(books, {
  fields: ['id', 'author', 'reviews'],
  declaredFields: {
    author: new NestedSerializer(AuthorSerializer, { readOnly: true }),
    reviews: new NestedSerializer(ReviewSerializer, { many: true, readOnly: true }),
  },
}) {}
export type Nested = Output<typeof NestedBookSerializer>
is<Equal<Nested['author'], { id: number; name: string } | null>>()
is<Equal<Nested['reviews'], { id: number; text: string }[]>>()

const api = new APIRouter().register('books', BookViewSet)
const client = createClient<typeof api>('http://localhost')
export async function read(): Promise<void> {
  const found = await client.books.retrieve(1, { expand: 'author' })
  if (found.ok) is<Equal<typeof found.data.author, { id: number; name: string } | null>>()
}

modelViewSet(books, {
  serializerClass: BookSerializer,
  // @ts-expect-error there is no such relation
  filtersetFields: ['autor__name'],
})
modelViewSet(books, {
  serializerClass: BookSerializer,
  filterBackends: [OrderingFilter],
  // @ts-expect-error a list has no one value to order by
  orderingFields: ['reviews__text'],
})
modelViewSet(books, {
  serializerClass: BookSerializer,
  // @ts-expect-error of rows, relations are not known
  expandable: { colour: AuthorSerializer },
})
// @ts-expect-error the relation to a list is hasMany or manyToMany
table<BookRow, { reviews: ReviewRow[] }>('books', { relations: { reviews: { belongsTo: () => reviews, key: 'id' } } })
// @ts-expect-error the relation that is typed has to be declared
table<BookRow, { reviews: ReviewRow[] }>('books')
// @ts-expect-error a relation has no such name
table<BookRow, { reviews: ReviewRow[] }>('books', { relations: { review: { hasMany: () => reviews, key: 'book_id' } } })
