/** What TypeScript knows of what a client asks by QUERY, and what it refuses. Checked by `tsc`, never run. */
import {
  APIRouter,
  CursorPagination,
  FieldFilter,
  type Generated,
  listAction,
  modelSerializer,
  OrderingFilter,
  PageNumberPagination,
  readOnlyModelViewSet,
  SearchFilter,
} from 'koa-viewsets'
import { createClient } from 'koa-viewsets/client'
import { count, sum } from 'koa-viewsets/views'
import { Model } from 'objection'

type Equal<Left, Right> = (<T>() => T extends Left ? 1 : 2) extends <T>() => T extends Right ? 1 : 2 ? true : false
const is = <_Holds extends true>(): void => undefined

class Review extends Model {
  static override tableName = 'reviews'
  declare id: number
  declare stars: number
  declare text: string | null
}
class Book extends Model {
  static override tableName = 'books'
  declare id: number
  declare title: string
  declare price: Generated<string>
  declare pages: number | null
  declare reviews?: Review[]
}
class Reviews extends readOnlyModelViewSet(Review, {
  serializerClass: modelSerializer(Review, { fields: ['id', 'stars'] }),
  filterBackends: [FieldFilter],
  filtersetFields: ['stars', 'text'],
  queryMethod: true,
}) {}
class Books extends readOnlyModelViewSet(Book, {
  serializerClass: modelSerializer(Book, { fields: ['id', 'title', 'price'] }),
  queryMethod: true,
  paginationClass: PageNumberPagination,
  filterBackends: [new FieldFilter({ groupParam: 'where' }), SearchFilter, OrderingFilter],
  filtersetFields: ['price', 'pages', 'title'],
  filterRelations: { reviews: () => Reviews },
  searchFields: ['title'],
  orderingFields: ['price', 'title'],
  queryParameters: [{ name: 'lang', schema: { type: 'string' }, description: 'The language.' }],
  aggregates: { total: sum('price'), books: count() },
  groupBy: ['pages'],
  facets: ['pages'],
  actions: { near: listAction({ methods: ['QUERY'] }, () => ['a']) },
}) {}
class Feed extends Books {
  static override paginationClass = CursorPagination
}
class Plain extends readOnlyModelViewSet(Book, {
  serializerClass: modelSerializer(Book, { fields: ['id', 'title'] }),
  filterBackends: [FieldFilter],
  filtersetFields: ['price'],
}) {}

const router = new APIRouter()
  .register('books', Books)
  .register('feed', Feed, 'feed')
  .register('reviews', Reviews)
  .register('plain', Plain, 'plain')

interface Shown {
  id: number
  title: string
  price: string
}

export async function use(): Promise<void> {
  const api = createClient<typeof router>('http://localhost/api')
  const books = api.books.query

  const found = await books.list({
    filter: {
      price__gte: 10,
      title__in: ['a', 'b'],
      or: [{ pages: 5 }, { not: { pages__isnull: true, and: [{ title__icontains: 'x' }] } }],
      'any(reviews)': { stars__gte: 4, or: [{ text: 'a' }, { text: 'b' }] },
      'none(reviews)': {},
      'count(reviews)__gte': 3,
    },
    order: ['-price', 'title'],
    search: 'x',
    page: 2,
    page_size: 50,
    lang: 'en',
  })
  if (found.ok) is<Equal<typeof found.data.results, Shown[]>>()
  const part = await books.list({ fields: ['id', 'title'], order: 'price', filter: 'or(price=1,pages=2)' })
  if (part.ok) is<Equal<(typeof part.data.results)[number], Pick<Shown, 'id' | 'title'>>>()
  for await (const page of books.pages({ filter: { price: '1' } })) is<Equal<typeof page.count, number>>()
  for await (const book of books.all({}, { timeout: 5 })) is<Equal<typeof book, Shown>>()
  await books.follow('/books?page=2', { filter: { price: 1 } })
  await api.feed.query.list({ cursor: 'x', filter: { price: 1 } })
  await api.reviews.query.list({ filter: { stars: 5 } })
  await api.books.call('QUERY', 'near', { lon: 1 })

  const sums = await books.aggregate({
    group_by: 'pages',
    aggregate: ['total'],
    order: '-total',
    filter: { price__gt: 1 },
  })
  if (sums.ok) is<Equal<(typeof sums.data.results)[number], { pages: number | null; total: string | null }>>()
  const counts = await books.facets({ facet: 'pages', filter: { not: { price: 1 } } })
  if (counts.ok) is<Equal<(typeof counts.data.pages.values)[number], { value: number | null; count: number }>>()

  // @ts-expect-error what it asks stands in a body
  await books.list()
  // @ts-expect-error a filter stands in `filter`
  await books.list({ price: 1 })
  // @ts-expect-error the group, too, whatever its parameter is called
  await books.list({ where: 'price=1' })
  // @ts-expect-error the order is called `order`
  await books.list({ ordering: 'price' })
  // @ts-expect-error no such filter
  await books.list({ filter: { isbn: 'x' } })
  // @ts-expect-error of another type
  await books.list({ filter: { pages: 'x' } })
  // @ts-expect-error nor at any depth
  await books.list({ filter: { or: [{ and: [{ isbn: 'x' }] }] } })
  // @ts-expect-error a group is a list
  await books.list({ filter: { or: { price: 1 } } })
  // @ts-expect-error no such relation
  await books.list({ filter: { 'any(authors)': {} } })
  // @ts-expect-error no such filter of the related view set
  await books.list({ filter: { 'any(reviews)': { price: 1 } } })
  // @ts-expect-error no such field to order by
  await books.list({ order: 'pages' })
  // @ts-expect-error no such member
  await books.list({ colour: 'red' })
  // @ts-expect-error pages of cursors have no numbers
  await api.feed.query.list({ page: 1 })
  // @ts-expect-error its filters take no groups
  await api.reviews.query.list({ filter: { or: [{ stars: 5 }] } })
  // @ts-expect-error nor their text
  await api.reviews.query.list({ filter: 'stars=5' })
  // @ts-expect-error it computes nothing
  await api.reviews.query.aggregate({})
  // @ts-expect-error no such group
  await books.aggregate({ group_by: 'title' })
  // @ts-expect-error it answers no QUERY
  await api.plain.query.list({})
  // @ts-expect-error a QUERY reads
  await books.create({ title: 'a' })
}
