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
  type Middleware,
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

const Book = table<{ id: number; title: string; price: string | null; author_id: number | null }>('books')

class BookViewSet extends modelViewSet(Book, {
  serializerClass: modelSerializer(Book, { fields: '__all__' }),
  filterBackends: [FieldFilter, SearchFilter, OrderingFilter],
  filtersetFields: ['id', 'title', 'price', 'author_id'],
  searchFields: ['title'],
  orderingFields: ['id', 'title', 'price'],
  paginationClass: new LimitOffsetPagination({ countHeader: 'X-Total-Count' }),
}) {
  override update() {
    return super.update({ partial: true })
  }
}

/** What `ra-data-django-rest-framework` reads: pages as Django REST framework has them. */
class PagedBookViewSet extends BookViewSet {
  static override paginationClass = PageNumberPagination
}

/** A value, or a list of values, as `FieldFilter` reads it. */
const filterOf = (name: string, value: unknown): [string, string] =>
  Array.isArray(value) ? [`${name}__in`, value.join(',')] : [name === 'q' ? 'search' : name, String(value)]

/** `sort=["title","ASC"]&range=[0,9]&filter={"author_id":1}` of ra-data-simple-rest. */
const readSimpleRest: Middleware = (ctx, next) => {
  const { sort, range, filter, ...others } = ctx.query
  if (sort === undefined && filter === undefined) return next()
  const read = (text: unknown, usual: string): unknown => {
    try {
      return JSON.parse(typeof text === 'string' ? text : usual)
    } catch {
      return JSON.parse(usual)
    }
  }
  const [field, order] = read(sort, '["id","ASC"]') as string[]
  const [first, last] = read(range, '[0,99]') as [number, number]
  const filters = Object.entries(read(filter, '{}') as object).map(([name, value]) => filterOf(name, value))
  ctx.query = {
    ...others,
    ...Object.fromEntries(filters),
    ordering: `${order === 'DESC' ? '-' : ''}${field}`,
    limit: String(last - first + 1),
    offset: String(first),
  }
  return next()
}

const REFINE = new Map([['like', 'icontains']])

/** `_start=0&_end=10&_sort=title&_order=desc&price_gte=5&id=1&id=2` of `@refinedev/simple-rest`. */
const readRefine: Middleware = (ctx, next) => {
  const { _start, _end, _sort, _order, ...others } = ctx.query
  const orders = String(_order ?? '').split(',')
  const sorted = String(_sort ?? '')
    .split(',')
    .map((name, index) => (orders[index] === 'desc' ? `-${name}` : name))
  const filters = Object.entries(others).map(([name, value]) => {
    const [, field = name, operator] = /^(.*)_(ne|gte|lte|like)$/.exec(name) ?? []
    return filterOf(operator === undefined ? name : `${field}__${REFINE.get(operator) ?? operator}`, value)
  })
  ctx.query = {
    ...Object.fromEntries(filters),
    ...(_sort !== undefined && { ordering: sorted.join(',') }),
    ...(_end !== undefined && { limit: String(Number(_end) - Number(_start)), offset: String(_start) }),
  }
  return next()
}

/** `/books/` as `/books`. */
const dropSlash: Middleware = (ctx, next) => {
  ctx.path = ctx.path.replace(/(?<=.)\/$/, '')
  return next()
}

configure({
  errorShape: {
    body: ({ detail, errors: fields = {} }) => ({
      message: detail,
      errors: Object.fromEntries(
        Object.entries(fields).map(([name, texts]) => [name, Array.isArray(texts) ? texts.join(' ') : texts]),
      ),
    }),
    schema: { type: 'object', properties: { message: { type: 'string' }, errors: { type: 'object' } } },
  },
})

const simple = new APIRouter({ prefix: '/react-admin' }).register('books', BookViewSet)
const refine = new APIRouter({ prefix: '/refine' }).register('books', BookViewSet)
const paged = new APIRouter({ prefix: '/django' }).register('books', PagedBookViewSet)
for (const api of [simple, refine, paged]) await api.prepare()

/** A middleware for one of the three. */
const under =
  (prefix: string, middleware: Middleware): Middleware =>
  (ctx, next) =>
    ctx.path.startsWith(prefix) ? middleware(ctx, next) : next()

new Koa()
  .use(errors())
  .use(dropSlash)
  .use(under('/react-admin/', readSimpleRest))
  .use(under('/refine/', readRefine))
  .use(simple.routes())
  .use(refine.routes())
  .use(paged.routes())
  .listen(Number(PORT), '127.0.0.1')
