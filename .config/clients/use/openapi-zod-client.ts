/** openapi-zod-client, over zodios, which checks requests and answers by schemas of zod. */
import { createApiClient } from '../generated/openapi-zod-client/shop.js'
import type { Trip } from './trip.js'

export function trip(baseUrl: string): Trip {
  const client = createApiClient(baseUrl)
  return {
    async list() {
      // the types of zodios are too deep for the parameters of a list
      const { author_list: list } = client as unknown as Record<string, (asked: object) => Promise<unknown>>
      const page = (await list?.({ queries: { ordering: ['name'] } })) as { results: { name: string }[] }
      return page.results.map(({ name }) => name)
    },
    retrieve: async (id) => (await client.book_retrieve({ params: { id } })).title,
    create: async (name) => (await client.author_create({ name })).name,
    upload: async (title, file) => (await client.scan_create({ title, file })).file,
    refuse: async () =>
      client.author_create({ name: 'Ada' }).then(
        () => 0,
        ({ response }: { response?: { status: number } }) => response?.status ?? 0,
      ),
    bulk: async (names) => (await client.author_bulk_create(names.map((name) => ({ name })))).length,
  }
}
