/** What pages about clients take for granted: `api` is a client of a library and a shop. */
import {
  APIRouter,
  DateField,
  FieldFilter,
  FloatField,
  listAction,
  modelViewSet,
  OrderingFilter,
  objectAction,
  PageNumberPagination,
  SearchFilter,
} from 'koa-viewsets'
import { ChangeStreamMixin, ChangesMixin } from 'koa-viewsets/changes'
import { createClient } from 'koa-viewsets/client'
import { count } from 'koa-viewsets/views'
import { AuthorSerializer, Book, BookSerializer, Order, OrderSerializer } from './library.js'

const filters = {
  queryMethod: true,
  paginationClass: PageNumberPagination,
  filterBackends: [new FieldFilter({ groupParam: 'filter' }), SearchFilter, OrderingFilter],
} as const

export class BookViewSet extends modelViewSet(Book, {
  ...filters,
  serializerClass: BookSerializer,
  filtersetFields: ['id', 'price', 'title', 'author__name'],
  searchFields: ['title'],
  orderingFields: ['price'],
  expandable: { author: AuthorSerializer },
  actions: {
    near: listAction({ methods: ['QUERY'], input: { lon: new FloatField() } }, async () => []),
    publish: objectAction({ methods: ['POST'], input: { published_on: new DateField() } }, async (book) => book),
  },
}) {}

class OrderViewSet extends modelViewSet(Order, {
  ...filters,
  serializerClass: OrderSerializer,
  filtersetFields: ['status', 'country_id'],
  aggregates: { orders: count() },
  groupBy: ['country_id'],
  mixins: [ChangesMixin, ChangeStreamMixin],
  facets: ['status'],
}) {}

const router = new APIRouter({ prefix: '/api' }).register('books', BookViewSet).register('orders', OrderViewSet)

export const api = createClient<typeof router>('https://example.org/api')
export declare const token: string
export declare const manyIds: number[]
export declare const order: Parameters<typeof api.orders.create>[0]
