/** What the compiler tells users of the client, checked by it: each mistake below must be one. */
import { createAtlasClient } from './client.js'
import type { components, operations } from './schema.js'

type City = components['schemas']['CityOutput']
type NewCity = components['schemas']['CityInput']

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const isTrue = <_Statement extends true>() => undefined

isTrue<Equal<City['id'], number>>()
isTrue<Equal<City['name'], string>>()
isTrue<Equal<City['admin_code'], string | null>>()
isTrue<Equal<City['latitude'], string>>()
isTrue<Equal<NewCity['population'], number | undefined>>()
isTrue<Equal<'id' extends keyof NewCity ? true : false, false>>()
isTrue<Equal<operations['city_retrieve']['parameters']['path'], { id: number }>>()

/** Never called: only its types count. */
export async function mistakes(): Promise<void> {
  const atlas = createAtlasClient('http://127.0.0.1:3000')
  const { data, error } = await atlas.GET('/api/v1/cities/{id}', { params: { path: { id: 1 } } })
  const name: string | undefined = data?.name
  const detail: string | undefined = error?.detail
  // @ts-expect-error: there is no such field
  void data?.nme
  // @ts-expect-error: there is no such path
  await atlas.GET('/api/v1/towns')
  // @ts-expect-error: the path takes no such method
  await atlas.POST('/api/v1/cities/{id}', { params: { path: { id: 1 } } })
  // @ts-expect-error: the id is missing
  await atlas.GET('/api/v1/cities/{id}')
  // @ts-expect-error: the id is a number
  await atlas.GET('/api/v1/cities/{id}', { params: { path: { id: 'x' } } })
  // @ts-expect-error: nobody can order by that
  await atlas.GET('/api/v1/cities', { params: { query: { ordering: ['id'] } } })
  // @ts-expect-error: there is no such lookup
  await atlas.GET('/api/v1/cities', { params: { query: { population__above: 1 } } })
  // @ts-expect-error: a name is missing
  await atlas.POST('/api/v1/cities', { body: { geoname_id: 1, country_id: 1, latitude: '1', longitude: '2' } })
  // @ts-expect-error: a population is a number
  await atlas.PATCH('/api/v1/cities/{id}', { params: { path: { id: 1 } }, body: { population: 'many' } })
  console.log(name, detail)
}
