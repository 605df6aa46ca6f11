/**
 * An API that admin front ends work on by their own providers: react-admin, refine, TanStack DB.
 *
 * DATABASE_URL=postgres://… npx tsx examples/admin-front-ends.ts
 */
import knex from 'knex'
import Koa from 'koa'
import {
  APIRouter,
  configure,
  FieldFilter,
  LimitOffsetPagination,
  modelSerializer,
  modelViewSet,
  OrderingFilter,
  PageNumberPagination,
  SearchFilter,
  table,
} from 'koa-viewsets'
import { errors } from 'koa-viewsets/plugins'
import { Model } from 'objection'

const { DATABASE_URL, PORT = '3000' } = process.env
if (!DATABASE_URL) throw new Error('DATABASE_URL is missing: postgres://user:password@localhost/database')
Model.knex(knex({ client: 'pg', connection: { connectionString: DATABASE_URL } }))
configure({ errorShape: 'react-admin' })

const Book = table<{ id: number; title: string; price: string | null; author_id: number | null }>('books')

const bookStatics = {
  serializerClass: modelSerializer(Book, { fields: '__all__' }),
  filterBackends: [FieldFilter, SearchFilter, OrderingFilter],
  filtersetFields: ['id', 'title', 'price', 'author_id'],
  searchFields: ['title'],
  orderingFields: ['id', 'title', 'price'],
} as const
const bareLists = new LimitOffsetPagination({ countHeader: 'X-Total-Count' })

/** What `ra-data-simple-rest` asks. */
const forReactAdmin = { queryDialect: 'simple-rest', paginationClass: bareLists, partialPut: true } as const

class SimpleBookViewSet extends modelViewSet(Book, { ...bookStatics, ...forReactAdmin }) {}

/** What `@refinedev/simple-rest` asks. */
const forRefine = { queryDialect: 'json-server', paginationClass: bareLists } as const

class RefineBookViewSet extends modelViewSet(Book, { ...bookStatics, ...forRefine }) {}

/** What `ra-data-django-rest-framework` asks: pages as Django REST framework has them. */
class PagedBookViewSet extends modelViewSet(Book, { ...bookStatics, paginationClass: PageNumberPagination }) {}

const simple = new APIRouter({ prefix: '/react-admin' }).register('books', SimpleBookViewSet)
const refine = new APIRouter({ prefix: '/refine' }).register('books', RefineBookViewSet)
const paged = new APIRouter({ prefix: '/django' }).register('books', PagedBookViewSet)
for (const api of [simple, refine, paged]) await api.prepare()

new Koa().use(errors()).use(simple.routes()).use(refine.routes()).use(paged.routes()).listen(Number(PORT), '127.0.0.1')
