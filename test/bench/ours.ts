/** The contender `ours`: view sets as an application writes them, and lists without a count. */
import knex, { type Knex } from 'knex'
import Koa from 'koa'
import {
  APIRouter,
  BasePagination,
  CursorPagination,
  configure,
  type ListSource,
  ModelSerializer,
  ModelViewSet,
  NestedSerializer,
  PageNumberPagination,
  type Pagination,
  type ViewSerializer,
} from 'koa-viewsets'
import { errors } from 'koa-viewsets/plugins'
import { Model } from 'objection'
import type { ClientConfig } from 'pg'
import { City, Country } from '../../examples/atlas/models.js'

/** The first rows, with nothing about those that follow. */
class FirstRows extends BasePagination {
  readonly #size: number

  constructor(size: number) {
    super()
    this.#size = size
  }

  async paginate(source: ListSource): Promise<object> {
    const rows = await source.read({ limit: this.#size })
    return { results: rows.results(0, rows.length) }
  }
}

/** Where the benchmark creates cities, so that those of the lists stay as they are. */
class NewCity extends Model {
  static override tableName = 'new_cities'
}

export class CitySerializer extends ModelSerializer<City> {
  static override model = City
  static override fields = '__all__'
}

class CountrySerializer extends ModelSerializer<Country> {
  static override model = Country
  static override fields = ['id', 'name', 'cca2', 'region']
}

class NestedCitySerializer extends CitySerializer {
  static override declaredFields = { country: new NestedSerializer(CountrySerializer, { readOnly: true }) }
}

class NewCitySerializer extends ModelSerializer<NewCity> {
  static override model = NewCity
  static override fields = '__all__'
  static override readOnlyFields = ['created_at', 'updated_at']
  static override extraKwargs = {
    population: { minValue: 0 },
    latitude: { minValue: -90, maxValue: 90 },
    longitude: { minValue: -180, maxValue: 180 },
  }
}

class CityViewSet extends ModelViewSet<City> {
  static override model = City
  static override serializerClass: ViewSerializer = CitySerializer
  static override paginationClass: Pagination = PageNumberPagination
}

class UncountedCityViewSet extends CityViewSet {
  static override paginationClass = new FirstRows(25)
}

class HundredCityViewSet extends CityViewSet {
  static override paginationClass = new FirstRows(100)
}

class NativeCityViewSet extends HundredCityViewSet {
  static override useNativeJson = true
}

class KeysetCityViewSet extends CityViewSet {
  static override paginationClass = CursorPagination
}

class NestedCityViewSet extends UncountedCityViewSet {
  static override serializerClass = NestedCitySerializer
}

class NewCityViewSet extends ModelViewSet<NewCity> {
  static override model = NewCity
  static override serializerClass = NewCitySerializer
}

export async function createOurs(connection: ClientConfig): Promise<Koa> {
  configure({ secretKey: 'a secret of the benchmark only' })
  await bindModels(connection)
  const api = new APIRouter({ prefix: '/api' })
  api.register('cities', CityViewSet)
  api.register('uncounted', UncountedCityViewSet, 'uncounted')
  api.register('hundred', HundredCityViewSet, 'hundred')
  api.register('native', NativeCityViewSet, 'native')
  api.register('keyset', KeysetCityViewSet, 'keyset')
  api.register('nested', NestedCityViewSet, 'nested')
  api.register('new-cities', NewCityViewSet)
  await api.prepare()
  return new Koa().use(errors()).use(api.routes())
}

/** Gives the models a pool of ten connections. */
export async function bindModels(connection: ClientConfig): Promise<Knex> {
  const db = openPool(connection)
  Model.knex(db)
  await db.raw('select 1')
  return db
}

/** A pool of ten connections. */
export function openPool(connection: ClientConfig): Knex {
  return knex({ client: 'pg', connection: { ...connection } as Knex.PgConnectionConfig, pool: { min: 0, max: 10 } })
}
