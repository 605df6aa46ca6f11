/** kubb, with its client of fetch. */
import { authorBulkCreate } from '../generated/kubb/shop/clients/authorBulkCreate.js'
import { authorCreate } from '../generated/kubb/shop/clients/authorCreate.js'
import { authorList } from '../generated/kubb/shop/clients/authorList.js'
import { bookRetrieve } from '../generated/kubb/shop/clients/bookRetrieve.js'
import { scanCreate } from '../generated/kubb/shop/clients/scanCreate.js'
import type { Trip } from './trip.js'

export function trip(baseURL: string): Trip {
  const config = { baseURL }
  // its client of fetch does not say that a body is JSON
  const json = { ...config, headers: { 'Content-Type': 'application/json' } }
  return {
    list: async () => (await authorList({ ordering: ['name'] }, {}, config)).results.map(({ name }) => name),
    retrieve: async (id) => (await bookRetrieve(id, {}, {}, config)).title,
    create: async (name) => (await authorCreate({ name }, {}, {}, json)).name,
    upload: async (title, file) => (await scanCreate({ title, file }, {}, {}, config)).file,
    // its client of fetch tells no errors
    refuse: async () => ((await authorCreate({ name: 'Ada' }, {}, {}, json)) as unknown as { status: number }).status,
    bulk: async (names) =>
      (
        await authorBulkCreate(
          names.map((name) => ({ name })),
          {},
          {},
          json,
        )
      ).length,
  }
}
