/** openapi-typescript and openapi-fetch. */
import createClient from 'openapi-fetch'
import type { paths } from '../generated/openapi-typescript/shop.js'
import type { Trip } from './trip.js'

export function trip(baseUrl: string): Trip {
  const client = createClient<paths>({ baseUrl })
  return {
    async list() {
      const { data } = await client.GET('/api/authors', { params: { query: { ordering: ['name'] } } })
      return data?.results.map(({ name }) => name) ?? []
    },
    retrieve: async (id) => (await client.GET('/api/books/{id}', { params: { path: { id } } })).data?.title ?? '',
    create: async (name) => (await client.POST('/api/authors', { body: { name } })).data?.name ?? '',
    async upload(title, file) {
      const { data } = await client.POST('/api/scans', {
        // a file is text to openapi-typescript
        body: { title, file: file as unknown as string },
        bodySerializer(body) {
          const form = new FormData()
          for (const [name, value] of Object.entries(body)) form.append(name, value)
          return form
        },
      })
      return data?.file ?? ''
    },
    refuse: async () => (await client.POST('/api/authors', { body: { name: 'Ada' } })).error?.status ?? 0,
    bulk: async (names) =>
      (await client.POST('/api/authors/bulk', { body: names.map((name) => ({ name })) })).data?.length ?? 0,
  }
}
