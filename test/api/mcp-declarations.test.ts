/** Which tools there can be, and where clients get tokens for them. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import Router from '@koa/router'
import Koa from 'koa'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import {
  AllowAny,
  APIRouter,
  ConfigurationError,
  FileUploadField,
  FormParser,
  HasScope,
  IsAuthenticated,
  listAction,
  MultiPartParser,
  modelSerializer,
  modelViewSet,
  objectAction,
  StringField,
  TokenAuthentication,
} from '../../lib/index.js'
import { type MCPOptions, mcp } from '../../lib/mcp/index.js'
import { FileSystemStorage } from '../../lib/storage/index.js'
import { permissions } from '../../plugins/index.js'
import { messageOf } from '../support/agent.js'
import { Author, AuthorSerializer, Book, BookSerializer, Tag, TagSerializer, useLibrary } from '../support/library.js'
import { serve, type TestServer } from '../support/server.js'

useLibrary()

class Scoped extends TokenAuthentication {
  override readonly keyword: string = 'Bearer'
  override getUserForToken(token: string) {
    return token === 'ada' ? { id: 1 } : null
  }
}

const root = mkdtempSync(`${tmpdir()}/covers-`)
class CoverSerializer extends modelSerializer(Book, {
  fields: ['id', 'title'],
  declaredFields: { isbn: new FileUploadField({ storage: new FileSystemStorage({ root, baseUrl: '/covers' }) }) },
}) {}

class Covers extends modelViewSet(Book, {
  serializerClass: CoverSerializer,
  parserClasses: [MultiPartParser],
  actions: { stamp: objectAction({ methods: ['POST'] }, () => Promise.resolve()) },
}) {}
class Forms extends modelViewSet(Book, { serializerClass: BookSerializer, parserClasses: [FormParser] }) {}
class Authors extends modelViewSet(Author, { serializerClass: AuthorSerializer }) {}

function routerOf(): APIRouter {
  const api = new APIRouter()
  api.register('covers', Covers, 'cover')
  api.register('forms', Forms, 'form')
  api.register('authors', Authors)
  return api
}

async function namesOf(options: MCPOptions): Promise<readonly string[]> {
  const api = routerOf()
  const app = new Koa().use(mcp(api, options)).use(api.routes())
  const server = await serve(app)
  onTestFinished(() => server.close())
  return (await server.send(messageOf())).json.result.tools.map(({ name }: { name: string }) => name)
}

describe('tools', () => {
  it('are what reads of a resource, one action of it, or all that take JSON', async () => {
    expect(await namesOf({ tools: ['authors', 'authors:list', 'forms:destroy'] })).toEqual([
      'author_list',
      'author_retrieve',
      'form_destroy',
    ])
    expect(await namesOf({ tools: ['covers:*'] })).toEqual([
      'cover_list',
      'cover_retrieve',
      'cover_destroy',
      'cover_stamp',
    ])
  })

  it.each<[Partial<MCPOptions>, string]>([
    [{}, 'mcp(): tools is empty; name what agents may call'],
    [{ tools: [] }, 'mcp(): tools is empty'],
    [{ tools: 'authors' as never }, 'mcp(): tools'],
    [{ tools: ['authors'], path: 'mcp' }, 'mcp(): path is "mcp"; write it as "/mcp"'],
    [{ tools: ['authors'], path: '/mcp/' }, 'mcp(): path is "/mcp/"'],
    [{ tools: ['authors'], shape: 'all' as never }, 'mcp(): there is no shape "all"; take action or resource'],
    [{ tools: ['authors'], allowedOrigins: ['https://a.example/'] }, '"https://a.example/" is no origin'],
    [{ tools: ['authors'], allowedOrigins: ['*'] }, '"*" is no origin'],
    [{ tools: ['authors'], maxResultBytes: 0 }, 'mcp(): maxResultBytes'],
    [{ tools: ['authors'], maxResultByte: 1 } as never, 'did you mean "maxResultBytes"?'],
    [{ tools: ['authors'], protectedResource: {} as never }, 'mcp(): protectedResource: resource holds undefined'],
    [
      { tools: ['authors'], protectedResource: { resource: 'https://a.example/mcp', authorizationServers: [] } },
      'authorizationServers is empty',
    ],
    [
      {
        tools: ['authors'],
        protectedResource: { resource: 'https://a.example/mcp#x', authorizationServers: ['https://b.example'] },
      },
      'resource has a query or fragment',
    ],
    [
      { tools: ['authors'], protectedResource: { resource: 'https://a.example', authorizationServers: ['b'] } },
      'authorizationServers holds "b", which is no URL',
    ],
  ])('are refused at once where an option is wrong: %j', (options, message) => {
    expect(() => mcp(routerOf(), options as MCPOptions)).toThrow(message)
  })

  it.each([
    ['author', 'mcp(): "author" names no resource; did you mean "authors"?'],
    ['pages', 'mcp(): "pages" names no resource; there are covers, forms, authors'],
    ['authors:retreive', 'mcp(): "authors:retreive" names no action; did you mean "retrieve"?'],
    ['authors:', 'mcp(): "authors:" names no action; there are list, create, retrieve'],
    ['covers:create', 'mcp(): "covers:create" takes no JSON, as tools do'],
    ['forms:update', 'mcp(): "forms:update" takes no JSON, as tools do'],
  ])('are refused by prepare() where there are none: %s', async (tool, message) => {
    const api = routerOf()
    mcp(api, { tools: [tool] })
    await expect(api.prepare()).rejects.toThrow(message)
    const prepared = routerOf()
    await prepared.prepare()
    expect(() => mcp(prepared, { tools: [tool] })).toThrow(message)
  })

  it.each<[string, (router: Router) => void]>([
    ['with guards of its own', (router) => void router.use(permissions(IsAuthenticated))],
    ['with a prefix', (router) => void router.prefix('/:tenant')],
    ['in another with guards', (router) => void new Router().use(permissions(IsAuthenticated)).use(router.routes())],
  ])('are refused where the API is mounted on a router %s, which calls would go past', async (_, arrange) => {
    const message = 'mcp(): the API is mounted by mount() on a router'
    const mounted = () => {
      const router = new Router()
      const api = routerOf().mount(router)
      arrange(router)
      return api
    }
    const before = mounted()
    mcp(before, { tools: ['authors'] })
    await expect(before.prepare()).rejects.toThrow(message)
    const prepared = mounted()
    await prepared.prepare()
    expect(() => mcp(prepared, { tools: ['authors'] })).toThrow(message)
    const late = routerOf()
    mcp(late, { tools: ['authors'] })
    await late.prepare()
    expect(() => late.mount(new Router())).toThrow(message)
  })

  it('of whole resources are refused where two would be one, or an argument would choose the action', async () => {
    class Sorted extends modelViewSet(Author, {
      serializerClass: AuthorSerializer,
      actions: {
        sorted: listAction({ methods: ['GET'], queryParameters: { action: new StringField() } }, async () => []),
      },
    }) {}
    class Listed extends Authors {
      static override withoutActions = ['retrieve', 'update', 'partialUpdate', 'destroy'] as const
    }
    class Found extends Authors {
      static override withoutActions = ['list', 'create'] as const
    }
    const refusal = async (api: APIRouter, tools: readonly string[]) => {
      expect(() => mcp(api, { tools })).not.toThrow()
      mcp(api, { tools, shape: 'resource' })
      await expect(api.prepare()).rejects.toThrow(ConfigurationError)
      return api.prepare().catch((error: Error) => error.message)
    }
    const two = new APIRouter().register('authors', Listed, 'the-author').register('found', Found, 'the_author')
    expect(await refusal(two, ['authors:list', 'found:retrieve'])).toMatch(
      'two resources would be the tool "the_author"',
    )
    const one = new APIRouter().register('sorted', Sorted)
    expect(await refusal(one, ['sorted'])).toMatch('"author_sorted" takes an argument "action"')
  })

  it('have names that all clients take', async () => {
    const api = new APIRouter()
    api.register('authors', Authors, 'a'.repeat(60))
    mcp(api, { tools: ['authors'] })
    await expect(api.prepare()).rejects.toThrow('has a name that not all clients take')
  })
})

describe('a protected resource', () => {
  let server: TestServer
  beforeAll(async () => {
    class Books extends modelViewSet(Book, {
      serializerClass: BookSerializer,
      authenticationClasses: [Scoped],
      permissionClasses: [IsAuthenticated],
    }) {}
    class Writers extends modelViewSet(Author, {
      serializerClass: AuthorSerializer,
      authenticationClasses: [Scoped],
      permissionClasses: [new HasScope('write:authors')],
    }) {}
    class Open extends modelViewSet(Tag, { serializerClass: TagSerializer, permissionClasses: [AllowAny] }) {}
    const api = new APIRouter()
    api.register('books', Books)
    api.register('authors', Writers)
    api.register('tags', Open)
    const protectedResource = {
      resource: 'https://api.example.org/mcp',
      authorizationServers: ['https://id.example.org'],
      scopesSupported: ['read:books'],
      resourceName: 'Books',
    }
    server = await serve(
      new Koa().use(mcp(api, { tools: ['books', 'authors', 'tags'], protectedResource })).use(api.routes()),
    )
    return () => server.close()
  })

  const METADATA = 'resource_metadata="https://api.example.org/.well-known/oauth-protected-resource/mcp"'

  it.each(['/.well-known/oauth-protected-resource/mcp', '/.well-known/oauth-protected-resource'])(
    'says where tokens come from, at %s',
    async (path) => {
      const { status, headers, json } = await server.send({ path })
      expect([status, headers['content-type'], headers['access-control-allow-origin']]).toEqual([
        200,
        'application/json; charset=utf-8',
        '*',
      ])
      expect(json).toEqual({
        resource: 'https://api.example.org/mcp',
        authorization_servers: ['https://id.example.org'],
        bearer_methods_supported: ['header'],
        scopes_supported: ['read:books'],
        resource_name: 'Books',
      })
      expect(await server.send({ path, method: 'POST' })).toMatchObject({
        status: 405,
        headers: { allow: 'GET, HEAD, OPTIONS' },
        text: '{"detail":"Method POST not allowed","status":405}',
      })
    },
  )

  it.each<[string, Record<string, unknown>]>([
    ['tools/list', {}],
    ['server/discover', {}],
    ['tools/call', { name: 'book_list' }],
    ['tools/call', { name: 'tag_list' }],
    ['tools/call', { name: 'no_tool' }],
  ])('asks who nobody knows for a token: %s', async (method, params) => {
    const { status, headers, json } = await server.send(messageOf({ method, params }))
    expect([status, headers['www-authenticate']]).toEqual([401, `Bearer ${METADATA}, realm="api"`])
    expect(json).toMatchObject({ jsonrpc: '2.0', id: 7, error: { code: 401 } })
  })

  it('asks for another token where one is wrong', async () => {
    const { status, headers } = await server.send(messageOf({ headers: { Authorization: 'Bearer eve' } }))
    expect([status, headers['www-authenticate']]).toEqual([401, expect.stringContaining(METADATA)])
  })

  it('knows who has one', async () => {
    const headers = { Authorization: 'Bearer ada' }
    const { json } = await server.send(messageOf({ headers }))
    expect(json.result.tools.map(({ name }: { name: string }) => name)).toEqual([
      'book_list',
      'book_retrieve',
      'tag_list',
      'tag_retrieve',
    ])
    const called = await server.send(messageOf({ method: 'tools/call', params: { name: 'author_list' }, headers }))
    expect([called.status, called.json.result]).toMatchObject([200, { isError: true }])
  })
})
