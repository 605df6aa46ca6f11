/** The atlas's API: serializers, view sets, and where they are mounted. */
import {
  APIRouter,
  CSVRenderer,
  CursorPagination,
  configure,
  FieldFilter,
  FullTextSearchFilter,
  JSONRenderer,
  modelSerializer,
  modelViewSet,
  NDJSONRenderer,
  NestedRouter,
  NestedViewSetMixin,
  OrderingFilter,
  PageNumberPagination,
  readOnlyModelViewSet,
  SearchFilter,
  SearchRankOrderingFilter,
  ServerCursorPagination,
  StreamMixin,
} from 'koa-viewsets'
import { DatabaseScopedThrottle } from 'koa-viewsets/throttling'
import { EntryViewSet, ListViewSet, PhotoViewSet } from './lists.js'
import { City, Country } from './models.js'

// A fixed value, because this is a demo on one machine: an application takes SERVICE_SECRET_KEY from its environment.
configure({ secretKey: process.env['SERVICE_SECRET_KEY'] ?? 'the atlas keeps no secrets' })

class CountrySerializer extends modelSerializer(Country, { fields: '__all__' }) {}

class CitySerializer extends modelSerializer(City, {
  fields: '__all__',
  readOnlyFields: ['created_at', 'updated_at'],
}) {}

class CountryViewSet extends modelViewSet(Country, {
  description: 'The countries of the world.',
  serializerClass: CountrySerializer,
  paginationClass: PageNumberPagination,
  filterBackends: [FieldFilter, SearchFilter, OrderingFilter],
  filtersetFields: ['cca2', 'cca3', 'region', 'subregion', 'landlocked', 'un_member', 'area'],
  searchFields: ['name', 'official_name', 'capital'],
  orderingFields: ['name', 'area', 'region'],
  ordering: ['name'],
}) {}

/** What can be asked of cities. */
const cityFilters = {
  filtersetFields: ['country_id', 'country__name', 'country__region', 'population', 'feature_code', 'name'],
  searchFields: ['name', 'country__name'],
} as const

class CityViewSet extends modelViewSet(City, {
  ...cityFilters,
  description: 'Cities of a thousand inhabitants and more; all of them as CSV or NDJSON.',
  serializerClass: CitySerializer,
  rendererClasses: [JSONRenderer, CSVRenderer, NDJSONRenderer],
  paginationClass: PageNumberPagination,
  filterBackends: [FieldFilter, SearchFilter, OrderingFilter],
  orderingFields: ['population', 'name', 'created_at'],
  mixins: [StreamMixin],
}) {}

/** The same cities; PostgreSQL writes the JSON. */
class NativeCityViewSet extends CityViewSet {
  static override description = 'Cities, as JSON that PostgreSQL writes.'
  static override useNativeJson = true
}

/** Cities for readers that never change them. */
class CityReader extends readOnlyModelViewSet(City, {
  ...cityFilters,
  serializerClass: CitySerializer,
  filterBackends: [FieldFilter, SearchFilter],
}) {}

class CityFeed extends CityReader {
  static override description = 'The largest cities first, page after page, however many there are.'
  static override paginationClass = new CursorPagination({ ordering: '-population' })
}

class CityExport extends CityReader {
  static override description = 'All cities as they were when the first page was asked for.'
  static override paginationClass = new ServerCursorPagination({ pageSize: 1_000, maxPerUser: 4 })
}

/** The cities of a country, below it. */
class CountryCities extends NestedViewSetMixin(CityReader) {
  static override description = 'The cities of a country.'
  static override paginationClass = PageNumberPagination
  static override parentLookupField = 'country_id'
}

class CitySearch extends CityReader {
  static override description = 'Full-text search in the names of cities and countries, the best match first.'
  static override paginationClass = PageNumberPagination
  static override filterBackends = [FullTextSearchFilter, SearchRankOrderingFilter]
  static override searchConfig = 'simple'
  static override throttleClasses = [new DatabaseScopedThrottle({ scope: 'city-search', rate: '120/minute' })]
}

/** The routers of `/api/v1`: that of all view sets, and those below the objects of others. */
function createRouters() {
  const api = new APIRouter({ prefix: '/api/v1' })
    .register('countries', CountryViewSet)
    .register('cities', CityViewSet)
    .register('cities-native', NativeCityViewSet, 'city-native')
    .register('city-feed', CityFeed, 'city-feed')
    .register('city-export', CityExport, 'city-export')
    .register('city-search', CitySearch, 'city-search')
    .register('lists', ListViewSet)
    .register('photos', PhotoViewSet)
  const cities = new NestedRouter(api, 'countries', { lookup: 'country_id' })
  const entries = new NestedRouter(api, 'lists', { lookup: 'list_id' })
  return [
    api,
    cities.register('cities', CountryCities, 'country-city'),
    entries.register('entries', EntryViewSet),
  ] as const
}

/** What a typed client of the atlas is made of. */
export type Api = ReturnType<typeof createRouters>[number]

/** The routes under `/api/v1`. `DatabaseThrottle.setBackend()` comes before. */
export function createApi(): APIRouter {
  const [api] = createRouters()
  return api
}
