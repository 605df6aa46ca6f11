/** The typed client and the OpenAPI document say the same: of each operation, request and answer, in both directions. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type APIRouter, configure } from 'koa-viewsets'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAtlas } from '../../examples/atlas/atlas.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { compareTypes, hasGenerator } from '../support/document-types.js'
import { readProjectFile } from '../support/program.js'
import { BOOKS_SCHEMA, createBooks, createWrong } from '../support/typed-books.js'

const folder = fileURLToPath(new URL('../../node_modules/.cache/koa-viewsets-types', import.meta.url))
const missing = hasGenerator() ? '' : ' (skipped: the workspace examples/client is not installed)'

/** The operations that a document has, but for its root. */
function operationsOf(api: APIRouter): string[] {
  const operations = Object.values(api.getSchema().paths).flatMap(Object.values) as { operationId: string }[]
  return operations.map(({ operationId }) => operationId).filter((name) => name !== 'api_root')
}

describe.skipIf(!hasGenerator())(`the types of clients and of documents${missing}`, { timeout: 180_000 }, () => {
  let database: TestDatabase

  beforeAll(async () => {
    configure({ secretKey: 'x'.repeat(32) })
    database = await createDatabase({ schema: BOOKS_SCHEMA })
  })
  afterAll(async () => {
    await database?.drop()
    if (!process.env['KEEP']) await rm(folder, { recursive: true, force: true })
  })

  it('are mutually assignable for every operation of the atlas', async () => {
    const own = await createDatabase({ schema: readProjectFile('examples/atlas/schema.sql') })
    const { api } = await createAtlas(own.knex)
    const compared = { api, module: 'examples/atlas/api.ts', type: 'Api', folder: join(folder, 'atlas') }
    const { wrong, all } = await compareTypes(compared)
    await api.close()
    await own.drop()
    expect(wrong).toEqual([])
    expect(all).toEqual(expect.arrayContaining(operationsOf(api).map((name) => `${name}_answer`)))
  })

  it('are mutually assignable for every operation of an API of books that has a bit of everything', async () => {
    const [api] = createBooks()
    await api.prepare({ knex: database.knex })
    const compared = { api, module: 'test/support/typed-books.ts', type: 'Books', folder: join(folder, 'books') }
    const { wrong, all } = await compareTypes(compared)
    expect(wrong).toEqual([])
    expect(all).toEqual(expect.arrayContaining(operationsOf(api).map((name) => `${name}_answer`)))
  })

  it('differ where a model declares what its table does not have', async () => {
    const api = createWrong()
    await api.prepare({ knex: database.knex })
    const compared = { api, module: 'test/support/typed-books.ts', type: 'WrongApi', folder: join(folder, 'wrong') }
    const { wrong, all } = await compareTypes(compared)
    // the name of a city is required, and its id is a number
    expect(all.filter((name) => !wrong.includes(name))).toEqual(
      expect.arrayContaining(['wrong_destroy_answer', 'wrong_retrieve_query', 'wrong_create_errors']),
    )
    expect(wrong).toEqual(
      expect.arrayContaining(['wrong_create_body', 'wrong_list_answer', 'wrong_list_query', 'wrong_update_key_id']),
    )
  })
})
