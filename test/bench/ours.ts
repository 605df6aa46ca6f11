/** The contender `ours`: view sets as an application writes them, and a list without a count. */
import knex, { type Knex } from 'knex'
import Koa from 'koa'
import {
  APIRouter,
  BasePagination,
  type ListSource,
  ModelSerializer,
  ModelViewSet,
  PageNumberPagination,
  type Pagination,
} from 'koa-viewsets'
import { errors } from 'koa-viewsets/plugins'
import { Model } from 'objection'
import type { ClientConfig } from 'pg'
import { City } from '../../examples/atlas/models.js'

class FirstRows extends BasePagination {
  async paginate(source: ListSource): Promise<object> {
    const rows = await source.read({ limit: 25 })
    return { results: rows.results(0, rows.length) }
  }
}

export class CitySerializer extends ModelSerializer<City> {
  static override model = City
  static override fields = '__all__'
}

class CityViewSet extends ModelViewSet<City> {
  static override model = City
  static override serializerClass = CitySerializer
  static override paginationClass: Pagination = PageNumberPagination
}

class UncountedCityViewSet extends CityViewSet {
  static override paginationClass: Pagination = FirstRows
}

export async function createOurs(connection: ClientConfig): Promise<Koa> {
  await bindModels(connection)
  const api = new APIRouter({ prefix: '/api' })
  api.register('cities', CityViewSet)
  api.register('uncounted', UncountedCityViewSet, 'uncounted')
  await api.prepare()
  return new Koa().use(errors()).use(api.routes())
}

/** Gives the models a pool of ten connections. */
export async function bindModels(connection: ClientConfig): Promise<Knex> {
  const db = knex({ client: 'pg', connection: { ...connection } as Knex.PgConnectionConfig, pool: { min: 0, max: 10 } })
  Model.knex(db)
  await db.raw('select 1')
  return db
}
