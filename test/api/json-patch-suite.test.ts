/** The cases of json-patch-test-suite on a JSON column, over HTTP. */
import { JsonPatchParser } from 'koa-viewsets/patches'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Parsers } from '../../lib/index.js'
import { type Client, serving } from '../support/client.js'
import { PATCH_CASES } from '../support/patch-suite.js'
import { database, ItemViewSet, storedItem, storeItem, useItems } from '../support/patched-items.js'
import { routerOf } from '../support/views.js'

useItems()

class Items extends ItemViewSet {
  static override parserClasses: Parsers = [JsonPatchParser]
}

let client: Client
beforeAll(async () => {
  const api = routerOf({ items: Items })
  await api.prepare()
  client = await serving(api.routes())
})
afterAll(() => client.close())

/** A pointer into the column; what is none stays as it is. */
const within = (pointer: unknown) =>
  typeof pointer === 'string' && (pointer === '' || pointer.startsWith('/')) ? `/meta${pointer}` : pointer

it.each(PATCH_CASES)('$name', async ({ doc, patch, expected, fails }) => {
  const path = await storeItem()
  await database.knex('items').update({ meta: JSON.stringify(doc) })
  const operations = patch.map((operation) => ({
    ...operation,
    ...('path' in operation && { path: within(operation['path']) }),
    ...('from' in operation && { from: within(operation['from']) }),
  }))
  const { status } = await client.send('PATCH', path, operations, { 'Content-Type': 'application/json-patch+json' })
  const { meta } = await storedItem(path)
  if (fails) {
    expect([400, 409]).toContain(status)
    expect(meta).toEqual(doc)
    return
  }
  expect(status).toBe(200)
  if (expected !== undefined) expect(meta).toEqual(expected)
})
