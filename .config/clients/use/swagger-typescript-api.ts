/** swagger-typescript-api, with its client of fetch. */
import { Api } from '../generated/swagger-typescript-api/shop.js'
import type { Trip } from './trip.js'

export function trip(baseUrl: string): Trip {
  const { api } = new Api({ baseUrl })
  return {
    list: async () => (await api.authorList({ ordering: ['name'] })).data.results.map(({ name }) => name),
    retrieve: async (id) => (await api.bookRetrieve(id)).data.title,
    create: async (name) => (await api.authorCreate({ name })).data.name,
    upload: async (title, file) => (await api.scanCreate({ title, file })).data.file,
    refuse: async () =>
      api.authorCreate({ name: 'Ada' }).then(
        () => 0,
        ({ status }: { status: number }) => status,
      ),
    bulk: async (names) => (await api.authorBulkCreate(names.map((name) => ({ name })))).data.length,
  }
}
