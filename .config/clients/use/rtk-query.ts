/** @rtk-query/codegen-openapi, in a store of Redux Toolkit. */
import { configureStore } from '@reduxjs/toolkit'
import { address, api } from '../generated/rtk-query/base.js'
import { shopApi } from '../generated/rtk-query/shop.js'
import type { Trip } from './trip.js'

export function trip(baseUrl: string): Trip {
  address.baseUrl = baseUrl
  const { dispatch } = configureStore({
    reducer: { [api.reducerPath]: api.reducer },
    middleware: (standard) => standard({ serializableCheck: false }).concat(api.middleware),
  })
  const { authorBulkCreate, authorCreate, authorList, bookRetrieve, scanCreate } = shopApi.endpoints
  return {
    list: async () =>
      (await dispatch(authorList.initiate({ ordering: ['name'] })).unwrap()).results.map(({ name }) => name),
    retrieve: async (id) => (await dispatch(bookRetrieve.initiate({ id })).unwrap()).title,
    create: async (name) => (await dispatch(authorCreate.initiate({ authorInput: { name } })).unwrap()).name,
    async upload(title, file) {
      const form = new FormData()
      form.append('title', title)
      form.append('file', file)
      return (await dispatch(scanCreate.initiate({ scanInput: form as never })).unwrap()).file
    },
    async refuse() {
      const { error } = await dispatch(authorCreate.initiate({ authorInput: { name: 'Ada' } }))
      return Number((error as { status?: number }).status)
    },
    bulk: async (names) =>
      (await dispatch(authorBulkCreate.initiate({ body: names.map((name) => ({ name })) })).unwrap()).length,
  }
}
