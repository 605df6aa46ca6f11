/** Messages of the Model Context Protocol, as bytes on the wire: docs/reference/mcp.md. */
import Koa from 'koa'
import { beforeAll, describe, expect, it } from 'vitest'
import { APIRouter, readOnlyModelViewSet } from '../../lib/index.js'
import { type MCPOptions, mcp } from '../../lib/mcp/index.js'
import { ENVELOPE, messageOf, type RawMessage } from '../support/agent.js'
import { koaBody } from '../support/installed.js'
import { Book, BookSerializer, useLibrary } from '../support/library.js'
import { serve, type TestResponse, type TestServer } from '../support/server.js'

useLibrary()

let server: TestServer

function appOf(options: Partial<MCPOptions> = {}): Koa {
  const api = new APIRouter({ prefix: '/api' })
  api.register('books', class Books extends readOnlyModelViewSet(Book, { serializerClass: BookSerializer }) {})
  const app = new Koa().use(mcp(api, { tools: ['books'], ...options })).use(api.routes())
  app.silent = true
  return app
}

beforeAll(async () => {
  server = await serve(appOf())
  return () => server.close()
})

const send = (raw: RawMessage = {}) => server.send(messageOf(raw))
const sendBody = (body: unknown, headers: Record<string, string> = {}) => {
  const message = messageOf({ headers })
  return server.send({ ...message, body: typeof body === 'string' ? body : JSON.stringify(body) })
}
const codeOf = ({ status, json }: TestResponse) => [status, json.error?.code, json.error?.message]

describe('a message of 2026-07-28', () => {
  it('is answered by one message of JSON with its id', async () => {
    const { status, headers, json } = await send({ method: 'server/discover' })
    expect([status, headers['content-type'], headers['cache-control']]).toEqual([
      200,
      'application/json; charset=utf-8',
      'no-store',
    ])
    expect(json).toEqual({
      jsonrpc: '2.0',
      id: 7,
      result: {
        resultType: 'complete',
        supportedVersions: ['2026-07-28', '2025-11-25', '2025-06-18'],
        capabilities: { tools: {} },
        ttlMs: 60_000,
        cacheScope: 'public',
        _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'API', version: '1.0.0' } },
      },
    })
  })

  it('may have a text as its id', async () => {
    const body = { jsonrpc: '2.0', id: 'a"b', method: 'server/discover', params: { _meta: ENVELOPE } }
    expect((await sendBody(body, { 'Mcp-Method': 'server/discover' })).json).toMatchObject({ id: 'a"b', result: {} })
  })

  it('says how long the list of tools may be kept, and by whom', async () => {
    expect((await send()).json.result).toMatchObject({ ttlMs: 60_000, cacheScope: 'private' })
  })

  it.each<[string, RawMessage, number, number]>([
    ['no _meta', { params: { _meta: undefined } }, 400, -32_602],
    ['a _meta without a version', { params: { _meta: {} } }, 400, -32_602],
    [
      'a _meta without capabilities',
      { params: { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } } },
      400,
      -32_602,
    ],
    ['no header of the version', { headers: { 'MCP-Protocol-Version': '' } }, 400, -32_020],
    ['another version in the header', { headers: { 'MCP-Protocol-Version': '2025-11-25' } }, 400, -32_020],
    ['no header of the method', { headers: { 'Mcp-Method': '' } }, 400, -32_020],
    ['another method in the header', { headers: { 'Mcp-Method': 'tools/call' } }, 400, -32_020],
    [
      'another name in the header',
      { method: 'tools/call', params: { name: 'book_list' }, headers: { 'Mcp-Name': 'book' } },
      400,
      -32_020,
    ],
    [
      'an encoded name that is another',
      { method: 'tools/call', params: { name: 'book_list' }, headers: { 'Mcp-Name': '=?base64?Ym9vaw==?=' } },
      400,
      -32_020,
    ],
    ['a method that there is not', { method: 'tools/forget' }, 404, -32_601],
    ['the handshake of older revisions', { method: 'initialize' }, 404, -32_601],
    ['a ping', { method: 'ping' }, 404, -32_601],
    ['a cursor', { params: { cursor: 'x' } }, 400, -32_602],
    ['a tool that there is not', { method: 'tools/call', params: { name: 'book_destroy' } }, 200, -32_602],
    ['a tool of the prototype', { method: 'tools/call', params: { name: 'constructor' } }, 200, -32_602],
    ['arguments that are a list', { method: 'tools/call', params: { name: 'book_list', arguments: [] } }, 200, -32_602],
  ])('is refused with %s', async (_what, raw, status, code) => {
    const response = await send(raw)
    expect(codeOf(response).slice(0, 2)).toEqual([status, code])
    expect(response.json).toMatchObject({ jsonrpc: '2.0', id: 7, error: { message: expect.any(String) } })
  })

  it('is told which versions there are where it speaks another', async () => {
    const meta = { ...ENVELOPE, 'io.modelcontextprotocol/protocolVersion': '2099-01-01' }
    const { status, json } = await send({ params: { _meta: meta }, headers: { 'MCP-Protocol-Version': '2099-01-01' } })
    expect([status, json.error]).toEqual([
      400,
      {
        code: -32_022,
        message: 'Unsupported protocol version',
        data: { supported: ['2026-07-28', '2025-11-25', '2025-06-18'], requested: '2099-01-01' },
      },
    ])
  })

  it('may have its name encoded in the header', async () => {
    const name = '=?base64?Ym9va19saXN0?='
    const { json } = await send({ method: 'tools/call', params: { name: 'book_list' }, headers: { 'Mcp-Name': name } })
    expect(json.result).toMatchObject({ structuredContent: [], isError: false })
  })
})

describe('a message of 2025-11-25', () => {
  const legacy = (method: string, params: object = {}, version = '2025-11-25') =>
    sendBody({ jsonrpc: '2.0', id: 1, method, params }, { 'MCP-Protocol-Version': version, 'Mcp-Method': '' })

  it.each([
    ['2025-11-25', '2025-11-25'],
    ['2025-06-18', '2025-06-18'],
    ['2024-11-05', '2025-11-25'],
  ])('begins by a handshake, %s', async (asked, agreed) => {
    const { json } = await legacy('initialize', { protocolVersion: asked, capabilities: {} }, '')
    expect(json.result).toEqual({
      protocolVersion: agreed,
      capabilities: { tools: {} },
      serverInfo: { name: 'API', version: '1.0.0' },
    })
  })

  it('needs no session, and has no words of later revisions', async () => {
    expect((await legacy('ping')).json).toEqual({ jsonrpc: '2.0', id: 1, result: {} })
    const { json, headers } = await legacy('tools/list')
    expect(Object.keys(json.result)).toEqual(['tools'])
    expect(headers).not.toHaveProperty('mcp-session-id')
    const called = await legacy('tools/call', { name: 'book_list' })
    expect(called.json.result).toEqual({ content: [{ type: 'text', text: '[]' }], isError: false })
  })

  it('describes no answers that are lists', async () => {
    const { tools } = (await legacy('tools/list')).json.result
    expect(tools.map((tool: object) => 'outputSchema' in tool)).toEqual([false, true])
  })

  it.each([
    ['server/discover', {}, 200, -32_601],
    ['initialize', { protocolVersion: 7 }, 400, -32_602],
  ])('is refused: %s', async (method, params, status, code) => {
    expect(codeOf(await legacy(method, params)).slice(0, 2)).toEqual([status, code])
  })

  it('says which revision it is of, but for the handshake', async () => {
    expect(codeOf(await legacy('tools/list', {}, ''))).toEqual([
      400,
      -32_020,
      'Header mismatch: there is no MCP-Protocol-Version',
    ])
  })
})

describe('what is no message', () => {
  it.each<[string, unknown, number, number]>([
    ['no JSON', '{"jsonrpc":', 400, -32_700],
    ['a prototype', '{"jsonrpc":"2.0","id":1,"method":"ping","__proto__":{}}', 400, -32_700],
    ['nothing', '', 400, -32_600],
    ['a list', [], 400, -32_600],
    ['a list of messages', [{ jsonrpc: '2.0', id: 1, method: 'ping' }], 400, -32_600],
    ['a number', 7, 400, -32_600],
    ['another version of JSON-RPC', { jsonrpc: '1.0', id: 7, method: 'ping' }, 400, -32_600],
    ['no method', { jsonrpc: '2.0', id: 7 }, 400, -32_600],
    ['a method that is a number', { jsonrpc: '2.0', id: 7, method: 7 }, 400, -32_600],
    ['an id that is an object', { jsonrpc: '2.0', id: {}, method: 'ping' }, 400, -32_600],
    ['an id that is null', { jsonrpc: '2.0', id: null, method: 'ping' }, 400, -32_600],
    ['an id that is a fraction', { jsonrpc: '2.0', id: 1.5, method: 'ping' }, 400, -32_600],
    ['parameters that are a list', { jsonrpc: '2.0', id: 7, method: 'ping', params: [] }, 400, -32_602],
  ])('%s', async (_what, body, status, code) => {
    expect(codeOf(await sendBody(body)).slice(0, 2)).toEqual([status, code])
  })

  it('is answered with the id that it has, or with none', async () => {
    expect((await sendBody({ jsonrpc: '1.0', id: 7, method: 'ping' })).json.id).toBe(7)
    expect((await sendBody([])).json).not.toHaveProperty('id')
  })

  it('is too long', async () => {
    const response = await sendBody({ jsonrpc: '2.0', id: 1, method: 'x'.repeat(1_048_576) })
    expect(codeOf(response)).toEqual([413, -32_600, 'Request body too large'])
  })

  it('is of another media type', async () => {
    const response = await sendBody('<message/>', { 'Content-Type': 'text/xml' })
    expect(codeOf(response)).toEqual([415, -32_600, 'Unsupported media type'])
  })

  it.each(['GET', 'PUT', 'DELETE', 'OPTIONS'])('comes by %s', async (method) => {
    const { status, headers, json } = await server.send({ method, path: '/mcp' })
    expect([status, headers.allow, json.error.code]).toEqual([405, 'POST', -32_600])
  })
})

describe('what asks for nothing', () => {
  it.each([
    ['a notification', { jsonrpc: '2.0', method: 'notifications/initialized' }],
    ['a response', { jsonrpc: '2.0', id: 1, result: {} }],
    ['an error', { jsonrpc: '2.0', id: 1, error: { code: 1, message: '' } }],
  ])('is taken: %s', async (_what, body) => {
    const { status, text } = await sendBody(body)
    expect([status, text]).toEqual([202, ''])
  })
})

describe('a page of another origin', () => {
  it.each([
    'https://evil.example',
    'null',
    'http://localhost.evil.example',
    'http://127.0.0.1@evil.example',
    'http://[::1].evil',
  ])('is refused: %s', async (origin) => {
    expect(codeOf(await send({ headers: { Origin: origin } }))).toEqual([403, -32_600, 'Origin not allowed'])
  })

  it.each(['http://localhost:3000', 'http://127.0.0.1:6274', 'https://[::1]:8080'])(
    'is of this machine: %s',
    async (origin) => {
      expect((await send({ headers: { Origin: origin } })).status).toBe(200)
    },
  )

  it('is one that the options name', async () => {
    const own = await serve(appOf({ allowedOrigins: ['https://app.example.org'] }))
    const status = async (Origin: string) => (await own.send(messageOf({ headers: { Origin } }))).status
    expect(await Promise.all(['https://app.example.org', 'https://app.example.org:444'].map(status))).toEqual([
      200, 403,
    ])
    await own.close()
  })
})

describe('the endpoint', () => {
  it('has a path of its own, and leaves others to the application', async () => {
    const app = appOf({ path: '/agents/v1' })
    app.use((ctx) => {
      ctx.body = 'theirs'
    })
    const own = await serve(app)
    expect((await own.send({ ...messageOf(), path: '/agents/v1' })).status).toBe(200)
    expect((await own.send({ ...messageOf(), path: '/agents/v1/x' })).text).toBe('theirs')
    expect((await own.send(messageOf())).text).toBe('theirs')
    await own.close()
  })

  it('takes a body that another parser has read', async () => {
    const app = new Koa().use(koaBody())
    for (const one of appOf().middleware) app.use(one)
    const own = await serve(app)
    const { json } = await own.send(messageOf({ method: 'tools/call', params: { name: 'book_list' } }))
    expect(json.result.structuredContent).toEqual([])
    await own.close()
  })
})
