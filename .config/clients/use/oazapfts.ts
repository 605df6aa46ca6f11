/** oazapfts and its runtime. */
import {
  authorBulkCreate,
  authorCreate,
  authorList,
  bookRetrieve,
  defaults,
  scanCreate,
} from '../generated/oazapfts/shop.js'
import type { Trip } from './trip.js'

/** What is answered with a status. */
function dataOf<Data>(answer: { readonly status: number; readonly data?: unknown }, status: number): Data {
  if (answer.status !== status) throw new Error(`${answer.status} in place of ${status}`)
  return answer.data as Data
}

export function trip(baseUrl: string): Trip {
  defaults.baseUrl = baseUrl
  return {
    async list() {
      const answer = await authorList({ ordering: ['name'] })
      return answer.status === 200 ? answer.data.results.map(({ name }) => name) : []
    },
    async retrieve(id) {
      const answer = await bookRetrieve(id)
      return answer.status === 200 ? answer.data.title : ''
    },
    async create(name) {
      const answer = await authorCreate({ name })
      return answer.status === 201 ? answer.data.name : ''
    },
    upload: async (title, file) => dataOf<{ file: string }>(await scanCreate({ title, file }), 201).file,
    refuse: async () => (await authorCreate({ name: 'Ada' })).status,
    bulk: async (names) => dataOf<unknown[]>(await authorBulkCreate(names.map((name) => ({ name }))), 201).length,
  }
}
