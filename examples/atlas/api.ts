/** The atlas's API: serializers, view sets, and where they are mounted. */
import { APIRouter, ModelSerializer, ModelViewSet, PageNumberPagination } from 'koa-viewsets'
import { City, Country } from './models.js'

class CountrySerializer extends ModelSerializer<Country> {
  static override model = Country
  static override fields = '__all__'
}

class CitySerializer extends ModelSerializer<City> {
  static override model = City
  static override fields = '__all__'
  static override readOnlyFields = ['created_at', 'updated_at']
}

class CountryViewSet extends ModelViewSet<Country> {
  static override description = 'The countries of the world.'
  static override model = Country
  static override serializerClass = CountrySerializer
  static override paginationClass = PageNumberPagination
  static override ordering = ['name']
}

class CityViewSet extends ModelViewSet<City> {
  static override description = 'Cities of a thousand inhabitants and more.'
  static override model = City
  static override serializerClass = CitySerializer
  static override paginationClass = PageNumberPagination
}

/** The routes under `/api/v1`. */
export function createApi(): APIRouter {
  const api = new APIRouter({ prefix: '/api/v1' })
  api.register('countries', CountryViewSet)
  api.register('cities', CityViewSet)
  return api
}
