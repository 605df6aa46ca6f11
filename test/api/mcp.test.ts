/** Actions of view sets as tools for agents: docs/reference/mcp.md. */
import Koa from 'koa'
import { beforeAll, describe, expect, it } from 'vitest'
import {
  APIRouter,
  FieldFilter,
  IsAuthenticatedOrReadOnly,
  PageNumberPagination,
  TokenAuthentication,
} from '../../lib/index.js'
import { mcp } from '../../lib/mcp/index.js'
import { callTool, connectAgent, REVISIONS } from '../support/agent.js'
import { Book, BookSerializer, BookViewSet, useLibrary } from '../support/library.js'
import { serve, type TestServer } from '../support/server.js'

useLibrary()

const byToken = new TokenAuthentication({
  getUserForToken: (token) => (token === 'ada' ? { id: 1, name: 'Ada' } : null),
})

class Books extends BookViewSet {
  static override description = 'The books of the library.'
  static override serializerClass = BookSerializer
  static override authenticationClasses = [byToken]
  static override permissionClasses = [IsAuthenticatedOrReadOnly]
  static override paginationClass = PageNumberPagination
  static override filterBackends = [FieldFilter]
  static override filtersetFields = ['title', 'n']
}

let server: TestServer

beforeAll(async () => {
  const api = new APIRouter({ prefix: '/api' })
  api.register('books', Books)
  const app = new Koa().use(mcp(api, { tools: ['books:*'] })).use(api.routes())
  app.silent = true
  await api.prepare()
  server = await serve(app)
  return () => server.close()
})

describe.each(REVISIONS)('an agent of the revision %s', (revision) => {
  it('sees what it may call', async () => {
    const { tools } = await (await connectAgent(server, { revision })).listTools()
    expect(tools.map(({ name }) => name)).toEqual(['book_list', 'book_retrieve'])
    const known = await connectAgent(server, { revision, headers: { authorization: 'Token ada' } })
    expect((await known.listTools()).tools.map(({ name }) => name)).toMatchInlineSnapshot(`
      [
        "book_list",
        "book_create",
        "book_retrieve",
        "book_update",
        "book_partial_update",
        "book_destroy",
      ]
    `)
  })

  it('creates, reads, changes and deletes a book', async () => {
    const client = await connectAgent(server, { revision, headers: { authorization: 'Token ada' } })
    await client.listTools()
    const made = await callTool(client, 'book_create', { body: { title: 'Sea', big: '9007199254740993' } })
    expect(made).toMatchObject({ isError: false, json: { id: 1, title: 'Sea' } })
    expect(made.texts[0]).toContain('9007199254740993')
    expect(await callTool(client, 'book_list', { title: 'Sea' })).toMatchObject({ json: { count: 1 } })
    expect(await callTool(client, 'book_partial_update', { id: 1, body: { n: 3 } })).toMatchObject({ json: { n: 3 } })
    expect(await callTool(client, 'book_destroy', { id: 1 })).toEqual({
      texts: ['Done.'],
      json: undefined,
      isError: false,
    })
    expect(await Book.query().resultSize()).toBe(0)
    expect(await callTool(client, 'book_retrieve', { id: 1 })).toMatchObject({
      isError: true,
      texts: ['{"detail":"Not found","status":404}', expect.stringContaining('no such object')],
    })
  })
})
