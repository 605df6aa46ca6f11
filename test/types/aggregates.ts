/** What TypeScript knows of aggregates and facets, and what it refuses. Checked by `tsc`, never run. */
import {
  APIRouter,
  CursorPagination,
  FieldFilter,
  IsAdminUser,
  modelSerializer,
  modelViewSet,
  OrderingFilter,
  PageNumberPagination,
  ReadOnlyModelViewSet,
  readOnlyModelViewSet,
} from 'koa-viewsets'
import { createClient } from 'koa-viewsets/client'
import { avg, count, countDistinct, max, min, sum } from 'koa-viewsets/views'
import { Model } from 'objection'

type Equal<Left, Right> = (<T>() => T extends Left ? 1 : 2) extends <T>() => T extends Right ? 1 : 2 ? true : false
const is = <_Holds extends true>(): void => undefined

class Country extends Model {
  static override tableName = 'countries'
  declare id: number
  declare name: string | null
}
class Order extends Model {
  static override tableName = 'orders'
  declare id: number
  declare amount: string
  declare items: number
  declare status: 'open' | 'paid'
  declare created_at: Date
  declare shipped_on: string | null
  declare country_id: number | null
  declare country?: Country
}
class Orders extends modelViewSet(Order, {
  serializerClass: modelSerializer(Order, { fields: ['id', 'amount', 'status'] }),
  filterBackends: [FieldFilter, OrderingFilter],
  filtersetFields: ['status', 'country_id'],
  orderingFields: ['amount'],
  paginationClass: PageNumberPagination,
  aggregates: {
    total: sum('amount'),
    items: sum('items'),
    mean: avg('amount'),
    latest: max('created_at'),
    first: min('country__name'),
    countries: countDistinct('country_id'),
    orders: count(),
  },
  groupBy: ['country_id', 'created_at__month', 'shipped_on__year', 'country__name', 'status'],
  facets: ['status', 'country__name'],
  aggregateTimeout: 1_000,
}) {}
class Feed extends readOnlyModelViewSet(Order, {
  paginationClass: CursorPagination,
  aggregates: { orders: count() },
  groupBy: ['status'],
}) {}
class Whole extends readOnlyModelViewSet(Order, { aggregates: { orders: count() }, groupBy: ['status'] }) {}
class Kept extends readOnlyModelViewSet(Order, {
  softDelete: { column: 'shipped_on', permissionClasses: [IsAdminUser] },
  aggregates: { orders: count() },
  facets: ['status'],
}) {}
class Bare extends readOnlyModelViewSet(Order, {}) {}
class Plain extends ReadOnlyModelViewSet<Order> {
  static override aggregates = { orders: count(), total: sum('amount') }
  static override facets = ['status'] as const
}

const api = new APIRouter()
  .register('orders', Orders)
  .register('feed', Feed)
  .register('whole', Whole)
  .register('kept', Kept)
  .register('bare', Bare)
  .register('plain', Plain)
const client = createClient<typeof api>('http://localhost')

async function taken() {
  const all = await client.orders.aggregate()
  if (all.ok) {
    is<
      Equal<
        typeof all.data,
        {
          total: string | null
          items: number | string | null
          mean: string | null
          latest: string | null
          first: string | null
          countries: number
          orders: number
        }
      >
    >()
  }
  const grouped = await client.orders.aggregate({
    group_by: ['country_id', 'created_at__month', 'shipped_on__year', 'status'],
    aggregate: 'total',
    ordering: ['-total', 'country_id'],
    status: 'paid',
    page: 2,
  })
  if (grouped.ok) {
    is<
      Equal<
        (typeof grouped.data.results)[number],
        {
          country_id: number | null
          created_at__month: string
          shipped_on__year: string | null
          status: 'open' | 'paid'
          total: string | null
        }
      >
    >()
    is<Equal<typeof grouped.data.count, number>>()
  }
  const named = await client.orders.aggregate({ group_by: 'country__name', aggregate: ['orders'] })
  if (named.ok) is<Equal<(typeof named.data.results)[number], { country__name: string | null; orders: number }>>()
  const sliced = await client.feed.aggregate({ group_by: 'status', limit: 3, offset: 6 })
  if (sliced.ok) is<Equal<(typeof sliced.data.results)[number], { status: 'open' | 'paid'; orders: number }>>()
  const whole = await client.whole.aggregate({ group_by: 'status' })
  if (whole.ok) is<Equal<typeof whole.data, { status: 'open' | 'paid'; orders: number }[]>>()
  const facets = await client.orders.facets({ facet: 'status', country_id__in: [1, 2] })
  if (facets.ok) {
    is<
      Equal<typeof facets.data, { status: { values: { value: 'open' | 'paid'; count: number }[]; has_more: boolean } }>
    >()
  }
  await client.kept.aggregate({ deleted: 'only' })
  await client.kept.facets({ deleted: 'true' })
  const both = await client.orders.facets()
  if (both.ok) is<Equal<keyof typeof both.data, 'status' | 'country__name'>>()
  const plain = await client.plain.aggregate({ aggregate: ['orders'] })
  if (plain.ok) is<Equal<typeof plain.data, { orders: number }>>()
}

async function refused() {
  // @ts-expect-error: nobody may see deleted objects
  await client.whole.aggregate({ deleted: 'only' })
  // @ts-expect-error: no such aggregate
  await client.orders.aggregate({ aggregate: 'totals' })
  // @ts-expect-error: no such group
  await client.orders.aggregate({ group_by: 'amount' })
  // @ts-expect-error: nothing that was asked for
  await client.orders.aggregate({ aggregate: 'total', ordering: 'mean' })
  // @ts-expect-error: the filter has another type
  await client.orders.aggregate({ country_id: true })
  // @ts-expect-error: its groups go by limit and offset
  await client.feed.aggregate({ cursor: 'x' })
  // @ts-expect-error: no such facet
  await client.orders.facets({ facet: 'amount' })
  // @ts-expect-error: declares no aggregates
  await client.bare.aggregate()
  // @ts-expect-error: declares no facets
  await client.feed.facets()
}

// @ts-expect-error: no such column
class Misspelt extends modelViewSet(Order, { aggregates: { total: sum('amuont') } }) {}
// @ts-expect-error: no such column behind the relation
class Behind extends modelViewSet(Order, { aggregates: { x: max('country__nmae') } }) {}
// @ts-expect-error: no aggregate
class NoAggregate extends modelViewSet(Order, { aggregates: { x: 'amount' } }) {}
// @ts-expect-error: no such column
class NoGroup extends modelViewSet(Order, { groupBy: ['statsu'] }) {}
// @ts-expect-error: no such period
class NoPeriod extends modelViewSet(Order, { groupBy: ['created_at__week'] }) {}
// @ts-expect-error: no such column
class NoFacet extends modelViewSet(Order, { facets: ['country__nmae'] }) {}

export const checked = [taken, refused, Misspelt, Behind, NoAggregate, NoGroup, NoPeriod, NoFacet]
