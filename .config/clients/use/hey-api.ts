/** @hey-api/openapi-ts, with its client of fetch. */
import { client } from '../generated/hey-api/shop/client.gen.js'
import {
  authorBulkCreate,
  authorCreate,
  authorList,
  bookRetrieve,
  scanCreate,
} from '../generated/hey-api/shop/index.js'
import type { Trip } from './trip.js'

export function trip(baseUrl: string): Trip {
  client.setConfig({ baseUrl })
  return {
    async list() {
      const { data } = await authorList({ query: { ordering: ['name'] }, throwOnError: true })
      return data.results.map(({ name }) => name)
    },
    retrieve: async (id) => (await bookRetrieve({ path: { id }, throwOnError: true })).data.title,
    create: async (name) => (await authorCreate({ body: { name }, throwOnError: true })).data.name,
    upload: async (title, file) => (await scanCreate({ body: { title, file }, throwOnError: true })).data.file,
    refuse: async () => (await authorCreate({ body: { name: 'Ada' } })).error?.status ?? 0,
    bulk: async (names) =>
      (await authorBulkCreate({ body: names.map((name) => ({ name })), throwOnError: true })).data.length,
  }
}
