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

const { DATABASE_URL = 'postgres:///', PORT = '3000' } = process.env
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
class SimpleBookViewSet extends modelViewSet(Book, {
  ...bookStatics,
  ...{ queryDialect: 'simple-rest', paginationClass: bareLists, partialPut: true },
}) {}

/** What `@refinedev/simple-rest` asks. */
class RefineBookViewSet extends modelViewSet(Book, {
  ...bookStatics,
  ...{ queryDialect: 'json-server', paginationClass: bareLists },
}) {}

/** What `ra-data-django-rest-framework` asks: pages as Django REST framework has them. */
class PagedBookViewSet extends modelViewSet(Book, { ...bookStatics, paginationClass: PageNumberPagination }) {}

const simple = new APIRouter({ prefix: '/react-admin' }).register('books', SimpleBookViewSet)
const refine = new APIRouter({ prefix: '/refine' }).register('books', RefineBookViewSet)
const paged = new APIRouter({ prefix: '/django' }).register('books', PagedBookViewSet)
for (const api of [simple, refine, paged]) await api.prepare()

new Koa()
  .use(errors())
  .use((ctx, next) => {
    // ra-data-django-rest-framework ends paths with a slash
    ctx.path = ctx.path.replace(/(?<=.)\/$/, '')
    return next()
  })
  .use(simple.routes())
  .use(refine.routes())
  .use(paged.routes())
  .listen(Number(PORT), '127.0.0.1')
