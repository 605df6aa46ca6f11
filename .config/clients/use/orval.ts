/** orval: its client of fetch, what its schemas of zod make of answers, and its mocks for msw. */
import {
  authorBulkCreate,
  authorCreate,
  authorList,
  bookRetrieve,
  getBookRetrieveMockHandler,
  getBookRetrieveResponseMock,
  scanCreate,
} from '../generated/orval/shop-fetch.js'
import { authorListResponse, bookRetrieveResponse } from '../generated/orval/shop-zod.js'
import type { Trip } from './trip.js'

export function trip(): Trip {
  // what is made up is as the document says
  bookRetrieveResponse.parse(getBookRetrieveResponseMock())
  getBookRetrieveMockHandler()
  return {
    async list() {
      const { data, status } = await authorList({ ordering: ['name'] })
      if (status !== 200) return []
      return authorListResponse.parse(data).results.map(({ name }) => name)
    },
    async retrieve(id) {
      const { data, status } = await bookRetrieve(id)
      return status === 200 ? bookRetrieveResponse.parse(data).title : ''
    },
    async create(name) {
      const { data, status } = await authorCreate({ name })
      return status === 201 ? data.name : ''
    },
    async upload(title, file) {
      const { data, status } = await scanCreate({ title, file })
      return status === 201 ? data.file : ''
    },
    refuse: async () => (await authorCreate({ name: 'Ada' })).status,
    async bulk(names) {
      const { data, status } = await authorBulkCreate(names.map((name) => ({ name })))
      return status === 201 ? data.length : 0
    },
  }
}
