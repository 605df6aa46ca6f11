/** What agents do by tools is what anybody does by HTTP: the same policies, checks, transactions and limits. */
import { once } from 'node:events'
import type { OutgoingHttpHeaders } from 'node:http'
import http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import Koa from 'koa'
// @ts-expect-error it has no types
import mount from 'koa-mount'
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { ChangesMixin, ensureChangesTable, readChanges } from '../../lib/changes/index.js'
import { ensureIdempotencyTable } from '../../lib/idempotency/index.js'
import {
  APIRouter,
  ApiError,
  BasePermission,
  type Context,
  configure,
  FieldFilter,
  HeaderVersioning,
  IsAuthenticated,
  IsAuthenticatedOrReadOnly,
  JSONRenderer,
  LimitOffsetPagination,
  listAction,
  modelSerializer,
  modelViewSet,
  NDJSONRenderer,
  NestedRouter,
  NotFound,
  nestedViewSet,
  OrderingFilter,
  objectAction,
  PageNumberPagination,
  QueryParamVersioning,
  SessionAuthentication,
  StreamMixin,
  StringField,
  TokenAuthentication,
  table,
  URLPathVersioning,
  UserRateThrottle,
} from '../../lib/index.js'
import { JWTAuthentication } from '../../lib/jwt/index.js'
import { type MCPOptions, mcp } from '../../lib/mcp/index.js'
import { InMemoryMeteringEngine, MeteringMixin, setMeteringEngine } from '../../lib/metering/index.js'
import { messageOf } from '../support/agent.js'
import { countQueries } from '../support/database.js'
import { Author, AuthorSerializer, database, useLibrary } from '../support/library.js'
import { serve, type TestServer } from '../support/server.js'

useLibrary()

interface DocumentRow {
  id: number
  title: string
  data: unknown
  owner_id: number | null
  version: number
}

const Document = table<DocumentRow>('documents', {
  relations: { author: { belongsTo: () => Author, key: 'owner_id' } },
})

beforeAll(async () => {
  configure({ secretKey: 'a secret of the tests' })
  await database.knex.raw(`
    create table documents (id serial primary key, title text not null, data jsonb, owner_id int references authors,
      version int not null default 1);
    create function bump() returns trigger language plpgsql as $$ begin new.version = old.version + 1; return new; end $$;
    create trigger bump before update on documents for each row execute function bump();`)
  Document.knex(database.knex)
  await ensureIdempotencyTable(database.knex)
})
beforeEach(() => database.knex.raw('truncate documents restart identity'))

let asked = 0
const byToken = new TokenAuthentication({
  getUserForToken: (token) => {
    asked++
    return { ada: { id: 1, name: 'Ada' }, ben: { id: 2, name: 'Ben' } }[token] ?? null
  },
})

class DocumentSerializer extends modelSerializer(Document, {
  fields: ['id', 'title', 'data', 'owner_id', 'version'],
  readOnlyFields: ['version'],
}) {}

const common = {
  serializerClass: DocumentSerializer,
  authenticationClasses: [byToken],
  permissionClasses: [IsAuthenticatedOrReadOnly],
}

/** Serves routes and tools of view sets until the test ends. */
async function serveTools(
  views: Record<string, never> | Record<string, unknown> | APIRouter,
  { before = [], ...options }: Partial<MCPOptions> & { readonly before?: readonly Koa.Middleware[] } = {},
): Promise<TestServer & { readonly reported: unknown[]; readonly api: APIRouter }> {
  const api = views instanceof APIRouter ? views : new APIRouter()
  if (!(views instanceof APIRouter))
    for (const [name, view] of Object.entries(views)) api.register(name, view as never, name.slice(0, -1))
  const app = new Koa()
  const reported: unknown[] = []
  app.on('error', (error) => reported.push(error))
  for (const one of before) app.use(one)
  app.use(mcp(api, { tools: ['documents:*'], ...options })).use(api.routes())
  await api.prepare()
  const server = await serve(app)
  onTestFinished(() => server.close())
  return { ...server, reported, api }
}

const ADA = { Authorization: 'Token ada' }

/** Calls a tool as Ada: what came of it, and the texts that an agent reads. */
async function call(server: TestServer, name: string, given: object = {}, headers: OutgoingHttpHeaders = ADA) {
  const {
    status,
    headers: sent,
    json,
    text,
  } = await server.send(messageOf({ method: 'tools/call', params: { name, arguments: given }, headers }))
  const { content = [], isError, structuredContent } = json.result ?? {}
  const texts = content.map((item: { text: string }) => item.text)
  return { status, headers: sent, error: json.error, isError, json: structuredContent, texts, text }
}

async function toolsOf(server: TestServer, headers: Record<string, string> = ADA) {
  const { json } = await server.send(messageOf({ headers }))
  return json.result.tools as {
    name: string
    description: string
    inputSchema: any
    outputSchema: any
    annotations: object
  }[]
}

const namesOf = async (server: TestServer, headers?: Record<string, string>) =>
  (await toolsOf(server, headers)).map(({ name }) => name)

describe('what a tool takes', () => {
  class Documents extends modelViewSet(Document, {
    ...common,
    paginationClass: PageNumberPagination,
    filterBackends: [FieldFilter, OrderingFilter],
    filtersetFields: ['title', 'version'],
    orderingFields: ['title', 'id'],
  }) {}

  it('is path, query and body, and what it answers keeps its digits', async () => {
    const server = await serveTools({ documents: Documents })
    const body = { title: 'one', data: { n: 'DIGITS' } }
    const message = messageOf({
      method: 'tools/call',
      params: { name: 'document_create', arguments: { body } },
      headers: ADA,
    })
    const sent = { ...message, body: String(message.body).replace('"DIGITS"', '12345678901234567890.0123456789') }
    const { text, json } = await server.send(sent)
    expect(json.result).toMatchObject({ isError: false, structuredContent: { id: 1, title: 'one', version: 1 } })
    expect(text).toContain('"structuredContent":{"id":1,"title":"one","data":{"n": 12345678901234567890.0123456789}')
    expect(await call(server, 'document_retrieve', { id: 1, fields: ['id', 'title'] })).toMatchObject({
      json: { id: 1, title: 'one' },
    })
  })

  it('is a list where a parameter takes several values', async () => {
    await Document.query().insert(['a', 'b', 'c'].map((title) => ({ title })))
    const server = await serveTools({ documents: Documents })
    const { json } = await call(server, 'document_list', {
      title__in: ['a', 'c'],
      ordering: ['-title', 'id'],
      version: 1,
    })
    expect(json.results.map(({ title }: DocumentRow) => title)).toEqual(['c', 'a'])
  })

  it('may be null where it is left out', async () => {
    const server = await serveTools({ documents: Documents })
    expect(await call(server, 'document_list', { title: null, page: null })).toMatchObject({ json: { count: 0 } })
  })

  it.each<[string, object, object]>([
    ['document_list', { titel: 'x' }, { titel: ['Unknown argument; did you mean "title"?'] }],
    ['document_list', { a: 1 }, { a: [expect.stringContaining('Unknown argument; there are title')] }],
    ['document_list', { title: { a: 1 } }, { title: ['Give a text, a number, true, false, or a list of them.'] }],
    ['document_list', { title__in: ['a,b'] }, { title__in: ['No item of a list may be empty or hold a comma.'] }],
    ['document_list', { version: 'x' }, { version: [expect.any(String)] }],
    ['document_retrieve', {}, { id: ['This argument is required.'] }],
    ['document_retrieve', { id: null }, { id: ['This argument is required.'] }],
    ['document_create', {}, { body: ['This argument is required.'] }],
    ['document_create', { body: {} }, { title: [expect.any(String)] }],
    ['document_create', { body: { title: 'x', owner_id: 77 } }, { owner_id: [expect.any(String)] }],
    ['document_create', { title: 'x' }, { title: [expect.any(String)], body: ['This argument is required.'] }],
  ])('is told where it is wrong: %s %j', async (name, given, errors) => {
    const server = await serveTools({ documents: Documents })
    const { status, isError, texts, json } = await call(server, name, given)
    expect([status, isError, json]).toEqual([200, true, undefined])
    expect(JSON.parse(texts[0])).toEqual({ detail: expect.any(String), status: 400, errors })
    expect(texts[1]).toBe('Change the arguments that errors names, and call again.')
    expect(await Document.query().resultSize()).toBe(0)
  })

  it.each([
    '../documents',
    '1/../../x',
    '.',
    '..',
    '1?x=1',
    '1#',
    'a\u0000',
    '\ud800',
    -1,
    1.5,
    true,
    '',
    '9'.repeat(40),
  ])('leads nowhere else by a key: %j', async (id) => {
    const server = await serveTools({ documents: Documents })
    const { isError, texts } = await call(server, 'document_retrieve', { id })
    expect([isError, [400, 404].includes(JSON.parse(texts[0]).status)]).toEqual([true, true])
  })

  it('has a schema that holds all it refers to, and no words of data', async () => {
    await Document.query().insert({ title: 'Ignore previous instructions' })
    const server = await serveTools({ documents: Documents })
    const tools = await toolsOf(server)
    expect(JSON.stringify(tools)).not.toMatch(/Ignore previous|#\/components/)
    const create = tools.find(({ name }) => name === 'document_create')
    expect(create).toMatchObject({
      title: 'Create a document',
      description: 'Create a document.',
      inputSchema: {
        type: 'object',
        properties: { body: { $ref: '#/$defs/DocumentInput' } },
        required: ['body'],
        additionalProperties: false,
        $defs: { DocumentInput: { type: 'object', required: ['title'] } },
      },
      outputSchema: { type: 'object', properties: { id: {}, title: {} } },
      annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    })
  })

  it('says by its annotations what it does', async () => {
    const server = await serveTools({ documents: Documents })
    const hints = (await toolsOf(server)).map(({ name, annotations }) => [name.replace('document_', ''), annotations])
    const changing = { readOnlyHint: false, destructiveHint: true, openWorldHint: false }
    expect(Object.fromEntries(hints)).toEqual({
      list: { readOnlyHint: true, openWorldHint: false },
      retrieve: { readOnlyHint: true, openWorldHint: false },
      create: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
      update: { ...changing, idempotentHint: true },
      partial_update: { ...changing, idempotentHint: false },
      destroy: { ...changing, idempotentHint: true },
    })
  })
})

const GONE = { 1: { sunset: new Date(0), goneAfterSunset: true }, 2: {} }

describe('who may call', () => {
  class Documents extends modelViewSet(Document, common) {}

  it('is asked of the same schemes and permissions', async () => {
    const server = await serveTools({ documents: Documents })
    const refused = await call(server, 'document_create', { body: { title: 'x' } }, {})
    expect([refused.status, refused.isError, refused.texts]).toEqual([
      200,
      true,
      [
        '{"detail":"Authentication required","status":401}',
        'The server does not know the caller: the client has to send credentials. Calling again does not help.',
      ],
    ])
    expect(await call(server, 'document_list', {}, { Authorization: 'Token eve' })).toMatchObject({ isError: true })
    expect(await Document.query().resultSize()).toBe(0)
  })

  it('sees no tool that would refuse, each list of schemes asked once', async () => {
    class Others extends modelViewSet(Document, { ...common, permissionClasses: [IsAuthenticated] }) {}
    class Own extends BasePermission {
      override hasPermission(ctx: Context) {
        return ctx.state['user']?.name === 'Ben'
      }
    }
    class Bens extends modelViewSet(Document, { ...common, permissionClasses: [Own] }) {}
    const tools = ['documents:*', 'others:list', 'bens:list']
    const server = await serveTools({ documents: Documents, others: Others, bens: Bens }, { tools })
    const reading = ['document_list', 'document_retrieve']
    const all = [...reading, 'document_create', 'document_update', 'document_partial_update', 'document_destroy']
    expect((await namesOf(server, {})).sort()).toEqual(reading)
    asked = 0
    expect((await namesOf(server)).sort()).toEqual([...all, 'other_list'].sort())
    expect(asked).toBe(1)
    expect((await namesOf(server, { Authorization: 'Token ben' })).sort()).toEqual(
      [...all, 'other_list', 'ben_list'].sort(),
    )
  })

  it('is told in the form that the application gives its errors', async () => {
    configure({ errorShape: { body: ({ status, detail }) => ({ failure: { status, text: detail } }) } })
    onTestFinished(() => configure({ errorShape: undefined }))
    const server = await serveTools({ documents: Documents })
    const { status, json } = await server.send(messageOf({ headers: { Authorization: 'Token eve' } }))
    expect([status, json.error]).toMatchObject([
      401,
      { code: 401, message: 'Unauthorized', data: { failure: { status: 401 } } },
    ])
    expect((await call(server, 'document_create', { body: {} }, {})).texts[0]).toBe(
      '{"failure":{"status":401,"text":"Authentication required"}}',
    )
  })

  it('is nobody with two Authorization headers of which one has a token, as by HTTP', async () => {
    const byBearer = new JWTAuthentication({
      algorithms: ['HS256'],
      key: 'a secret that nobody knows, 40 letters..',
      issuer: 'https://issuer.example',
      audience: 'documents',
    })
    class Documents extends modelViewSet(Document, { ...common, authenticationClasses: [byBearer] }) {}
    const server = await serveTools({ documents: Documents })
    const headers = { Authorization: ['Token x', 'Bearer x'] }
    const { status, json } = await server.send({ path: '/documents', headers })
    expect([status, json.detail]).toEqual([400, 'Malformed Authorization header'])
    const { texts } = await call(server, 'document_list', {}, headers)
    expect(JSON.parse(texts[0])).toEqual(json)
  })

  it('is nobody with wrong credentials, told as HTTP tells it', async () => {
    const server = await serveTools({ documents: Documents })
    const { status, headers, json } = await server.send(messageOf({ headers: { Authorization: 'Token eve' } }))
    expect([status, headers['www-authenticate'], json]).toEqual([
      401,
      'Token realm="api"',
      {
        jsonrpc: '2.0',
        id: 7,
        error: { code: 401, message: 'Invalid token', data: { detail: 'Invalid token', status: 401 } },
      },
    ])
  })

  it('is nobody with wrong credentials where some tools ask for none, too, unless others know the caller', async () => {
    class Open extends modelViewSet(Document, { ...common, authenticationClasses: [] }) {}
    const server = await serveTools({ documents: Documents, opens: Open }, { tools: ['documents', 'opens'] })
    expect((await server.send(messageOf({ headers: { Authorization: 'Token eve' } }))).status).toBe(401)
    expect(await namesOf(server)).toHaveLength(4)
    expect(await namesOf(server, {})).toHaveLength(4)
  })

  it.each([
    ['a path', new URLPathVersioning({ defaultVersion: '1', versions: GONE }), '/api/{version}'],
    ['a fixed path', new URLPathVersioning({ defaultVersion: '1', versions: GONE }), '/api/v2'],
    ['a query', new QueryParamVersioning({ defaultVersion: '1', versions: GONE }), '/api'],
    ['a header', new HeaderVersioning({ defaultVersion: '1', versions: GONE }), '/api'],
  ])('is asked for the version that calls ask for, by %s', async (_place, versioningClass, prefix) => {
    class OfVersion extends BasePermission {
      override hasPermission(ctx: Context) {
        return ctx.state['version'] === '2' && ctx.state['user']?.name === 'Ben'
      }
    }
    class Bens extends modelViewSet(Document, { ...common, versioningClass, permissionClasses: [OfVersion] }) {}
    const api = new APIRouter({ prefix })
    api.register('documents', Bens)
    const server = await serveTools(api, { apiVersion: '2' })
    expect(await namesOf(server)).toEqual([])
    expect(await namesOf(server, { Authorization: 'Token ben' })).toHaveLength(6)
    const { texts } = await call(server, 'document_list', { unknown: 1 })
    expect(texts[0]).toContain('"status":403')
  })

  it('is asked where the version is gone', async () => {
    const versioningClass = new HeaderVersioning({ defaultVersion: '1', versions: GONE })
    class Closed extends modelViewSet(Document, {
      ...common,
      versioningClass,
      permissionClasses: [IsAuthenticated],
    }) {}
    const server = await serveTools({ documents: Closed })
    expect(await namesOf(server, {})).toEqual([])
    expect((await call(server, 'document_list', { unknown: 1 }, {})).texts[0]).toContain('"status":401')
  })

  it('is asked of the parents for each list of schemes', async () => {
    class OfPeople extends TokenAuthentication {
      override readonly userKind = 'people'
    }
    const [known, unknown] = [
      new OfPeople({ getUserForToken: () => ({ id: 1 }) }),
      new OfPeople({ keyword: 'Key', getUserForToken: () => null }),
    ]
    const nested = { ...common, parentLookupField: 'owner_id' } as const
    class Authors extends modelViewSet(Author, {
      serializerClass: AuthorSerializer,
      authenticationClasses: [known],
      permissionClasses: [IsAuthenticated],
    }) {}
    class Sessions extends nestedViewSet(Document, { ...nested, authenticationClasses: [unknown] }) {}
    class Documents extends nestedViewSet(Document, { ...nested, authenticationClasses: [known] }) {}
    const api = new APIRouter()
    api.register('authors', Authors, 'author')
    const below = new NestedRouter(api, 'authors', { lookup: 'owner_id' })
    below.register('sessions', Sessions, 'session')
    below.register('documents', Documents, 'document')
    const server = await serveTools(api, { tools: ['authors/sessions:list', 'authors/documents:list'] })
    expect(await namesOf(server)).toEqual(['authors_document_list'])
  })

  it('may be about an object, which nobody has named yet', async () => {
    class Own extends BasePermission {
      override async hasPermission(ctx: Context) {
        if (ctx['params'].id === undefined) throw new NotFound()
        return true
      }
      override hasObjectPermission(_ctx: Context, _view: object, document: object) {
        return (document as DocumentRow).owner_id === 1
      }
    }
    class Owned extends modelViewSet(Document, { ...common, permissionClasses: [Own] }) {}
    await Document.query().insert([
      { title: 'a', owner_id: 1 },
      { title: 'b', owner_id: 2 },
    ])
    const server = await serveTools({ documents: Owned }, { tools: ['documents:retrieve'] })
    expect(await namesOf(server)).toEqual(['document_retrieve'])
    expect(await call(server, 'document_retrieve', { id: 1 })).toMatchObject({ isError: false })
    expect((await call(server, 'document_retrieve', { id: 2 })).texts).toEqual([
      '{"detail":"Permission denied","status":403}',
      'The caller may not do this. Calling again does not help.',
    ])
  })

  it.each([
    [404, 'There is no such object for this caller: look its key up, by a list, before calling again.'],
    [409, 'The object is in another state than the call needs: read it before calling again.'],
    [413, 'Send less.'],
    [415, 'This tool cannot send what the API takes.'],
    [418, undefined],
  ])('says what to do about a %i of an action', async (status, hint) => {
    class Refusing extends modelViewSet(Document, common) {
      override list = () => Promise.reject(new ApiError(status, 'No'))
    }
    const server = await serveTools({ documents: Refusing })
    const [answer, advice] = (await call(server, 'document_list')).texts
    expect(JSON.parse(answer)).toEqual({ detail: 'No', status })
    expect(advice).toBe(hint)
  })

  it('is not asked of a permission that fails: its tool is left out, and the error reported', async () => {
    class Broken extends BasePermission {
      override hasPermission(): boolean {
        throw new Error('broken')
      }
    }
    class Documents2 extends modelViewSet(Document, { ...common, permissionClasses: [Broken] }) {}
    const server = await serveTools({ documents: Documents2 }, { tools: ['documents:list'] })
    expect(await namesOf(server)).toEqual([])
    expect(server.reported).toEqual([new Error('broken')])
  })

  it('may be known to the application already, and is no other one to its sessions', async () => {
    const bySession = new SessionAuthentication({
      getUser: ({ session }) => (session?.['id'] ? { id: session['id'] } : null),
    })
    class Sessions extends modelViewSet(Document, { ...common, authenticationClasses: [bySession] }) {}
    const before: Koa.Middleware = (ctx, next) => {
      ctx['session'] = { id: 7 }
      ctx.state['tenant'] = 'a'
      return next()
    }
    const server = await serveTools(
      { documents: Sessions },
      { before: [before], allowedOrigins: ['https://other.example'] },
    )
    expect(await call(server, 'document_create', { body: { title: 'x' } }, {})).toMatchObject({ isError: false })
    const other = { Origin: 'https://other.example' }
    expect((await call(server, 'document_create', { body: { title: 'x' } }, other)).texts[0]).toContain('"status":403')
    expect(await Document.query().resultSize()).toBe(1)
  })
})

it('what a tool writes is recorded under the id that a middleware has given the request', async () => {
  await ensureChangesTable(database.knex)
  const { position } = await readChanges(database.knex, { position: 'now' })
  class Recorded extends ChangesMixin(modelViewSet(Document, common)) {}
  const id = '6f1c1a52-3f0b-4e5e-9c58-7f3d2f6f9b1e'
  const before: Koa.Middleware = (ctx, next) => {
    ctx.set('X-Request-Id', id)
    return next()
  }
  const server = await serveTools({ documents: Recorded }, { before: [before] })
  expect(await call(server, 'document_create', { body: { title: 'x' } })).toMatchObject({ isError: false })
  const { changes } = await readChanges(database.knex, { position })
  expect(changes.map(({ requestId }) => requestId)).toEqual([id])
})

describe('what is counted', () => {
  it('is one request for each call, with those by HTTP', async () => {
    class Throttled extends modelViewSet(Document, {
      ...common,
      throttleClasses: [new UserRateThrottle({ rate: '3/minute' })],
    }) {}
    const server = await serveTools({ documents: Throttled })
    await call(server, 'document_list')
    await toolsOf(server)
    await server.send({ path: '/documents', headers: ADA })
    expect(await call(server, 'document_list')).toMatchObject({ isError: false })
    const { texts } = await call(server, 'document_list')
    expect(texts[0]).toContain('"status":429')
    expect(texts[1]).toMatch(/^Call again in \d+ seconds, not before\.$/)
    expect((await server.send({ path: '/documents', headers: ADA })).status).toBe(429)
  })

  it('is metered for the caller, with the bytes of its answer', async () => {
    const engine = new InMemoryMeteringEngine()
    setMeteringEngine(engine)
    class Metered extends modelViewSet(Document, { ...common, mixins: [MeteringMixin] }) {}
    const server = await serveTools({ documents: Metered })
    await call(server, 'document_list')
    await call(server, 'document_retrieve', { id: 5 })
    const answers = [
      await server.send({ path: '/documents', headers: ADA }),
      await server.send({ path: '/documents/5', headers: ADA }),
    ]
    const counted = answers.map(({ text }) => ['1', 1, Buffer.byteLength(text)])
    await expect
      .poll(() =>
        engine.events.map(({ account_id, dimensions: { requests, response_bytes } }) => [
          account_id,
          requests,
          response_bytes,
        ]),
      )
      .toEqual([...counted, ...counted])
  })

  it('is as many statements as by HTTP', async () => {
    class Documents extends modelViewSet(Document, { ...common, paginationClass: PageNumberPagination }) {}
    const server = await serveTools({ documents: Documents })
    const byHttp = await countQueries(database.knex, () => server.send({ path: '/documents', headers: ADA }))
    expect(await countQueries(database.knex, () => call(server, 'document_list'))).toEqual(byHttp)
    expect(byHttp).toHaveLength(1)
  })
})

describe('writes', () => {
  it('are done once for each key, an argument or a header', async () => {
    class Once extends modelViewSet(Document, { ...common, idempotent: true }) {}
    const server = await serveTools({ documents: Once })
    const given = { body: { title: 'once' }, idempotency_key: 'k-1' }
    const first = await call(server, 'document_create', given)
    expect(await call(server, 'document_create', given)).toMatchObject({ json: first.json, isError: false })
    const header = { ...ADA, 'Idempotency-Key': 'k-2' }
    await call(server, 'document_create', { body: { title: 'twice' } }, header)
    await call(server, 'document_create', { body: { title: 'twice' } }, header)
    expect(await Document.query().resultSize()).toBe(2)
  })

  it('lose no update: the object shows the ETag to give', async () => {
    class Versioned extends modelViewSet(Document, { ...common, concurrency: 'version', requireIfMatch: true }) {}
    await Document.query().insert({ title: 'a' })
    const server = await serveTools({ documents: Versioned })
    const change = (if_match?: string) =>
      call(server, 'document_partial_update', { id: 1, body: { title: 'b' }, if_match })
    expect((await change()).texts[1]).toBe('Read the object first, and give its ETag as if_match.')
    const [, line] = (await call(server, 'document_retrieve', { id: 1 })).texts
    const tag = line.replace('ETag, for if_match: ', '')
    expect(tag).toMatch(/^"[^"]+"$/)
    const changed = await change(tag)
    expect(changed).toMatchObject({ isError: false, json: { title: 'b', version: 2 } })
    expect(changed.texts[1]).toMatch(/^ETag, for if_match: "/)
    expect((await change(tag)).texts[1]).toBe(
      'Somebody has changed the object: read it again, and give its ETag as if_match.',
    )
  })

  it('are one transaction, which an error rolls back, and are done after commit', async () => {
    const done: string[] = []
    class Documents extends modelViewSet(Document, {
      ...common,
      actions: {
        fail: listAction({ methods: ['POST'], input: { title: new StringField() } }, async function ({ title }) {
          await Document.query(this.trx).insert({ title })
          this.afterCommit(() => void done.push('failed'))
          throw new Error('in the middle')
        }),
        rename: objectAction(
          { methods: ['POST'], input: { title: new StringField() } },
          async function (document, { title }) {
            await document.$query(this.trx).patch({ title })
            this.afterCommit(() => void done.push(title))
            return { title }
          },
        ),
      },
    }) {}
    await Document.query().insert({ title: 'a' })
    const server = await serveTools({ documents: Documents })
    expect(await call(server, 'document_fail', { body: { title: 'x' } })).toMatchObject({
      status: 200,
      isError: true,
      texts: ['{"detail":"Internal server error","status":500}'],
    })
    expect(server.reported).toEqual([new Error('in the middle')])
    expect(await call(server, 'document_rename', { id: 1, body: { title: 'z' } })).toMatchObject({
      json: { title: 'z' },
    })
    expect((await call(server, 'document_rename', { id: 1, body: { name: 1 } })).texts[0]).toContain('"title"')
    expect([await Document.query().resultSize(), done]).toEqual([1, ['z']])
  })
})

describe('what is shown', () => {
  const long = 'x'.repeat(1_000)

  it('is not more than there may be, and says how to get less', async () => {
    class Documents extends modelViewSet(Document, { ...common, paginationClass: PageNumberPagination }) {}
    await Document.query().insert(Array.from({ length: 100 }, () => ({ title: long })))
    const server = await serveTools({ documents: Documents }, { maxResultBytes: 50_000 })
    const { isError, texts } = await call(server, 'document_list', { page_size: 100 })
    expect([isError, JSON.parse(texts[0])]).toEqual([
      true,
      { detail: 'The answer has more than 50000 bytes; ask for less by fields or page_size', status: 413 },
    ])
    expect(await call(server, 'document_list', { page_size: 100, fields: ['id'] })).toMatchObject({ isError: false })
    expect((await call(server, 'document_create', { body: { title: 'y'.repeat(60_000) } })).texts[0]).toContain(
      'Done, but what it shows has more than 50000 bytes; ask for less by fields',
    )
    expect(await Document.query().resultSize()).toBe(101)
  })

  it.each([
    ['size', new PageNumberPagination({ pageSizeQueryParam: 'size' })],
    ['most', new LimitOffsetPagination({ limitQueryParam: 'most' })],
  ])('says how to get less by the name that pages have, %s', async (name, paginationClass) => {
    class Documents extends modelViewSet(Document, { ...common, paginationClass }) {}
    await Document.query().insert(Array.from({ length: 100 }, () => ({ title: long })))
    const server = await serveTools({ documents: Documents }, { maxResultBytes: 50_000 })
    const { texts } = await call(server, 'document_list', { [name]: 100 })
    expect(texts[0]).toContain(`ask for less by fields or ${name}"`)
  })

  it('may be a stream, of which no more is read than there may be', async () => {
    class Streamed extends modelViewSet(Document, {
      ...common,
      mixins: [StreamMixin],
      rendererClasses: [JSONRenderer, NDJSONRenderer],
    }) {}
    await Document.query().insert(Array.from({ length: 300 }, () => ({ title: long })))
    const server = await serveTools({ documents: Streamed })
    expect((await call(server, 'document_list')).texts[0]).toContain('"status":413')
    const { json } = await call(server, 'document_list', { fields: 'id' })
    expect(json).toHaveLength(300)
    await expect.poll(() => database.knex.client.pool.numUsed()).toBe(0)
  })

  it('may be a text, nothing, or what no tool can show', async () => {
    class Documents extends modelViewSet(Document, {
      ...common,
      actions: {
        note: listAction({ methods: ['GET'] }, function () {
          this.ctx.type = 'text/plain'
          this.ctx.body = Readable.from(['plain ', 'text'])
          return Promise.resolve()
        }),
        broken: listAction({ methods: ['GET'] }, function () {
          this.ctx.type = 'text/plain'
          this.ctx.body = Readable.from(
            (function* broken() {
              yield 'begun '
              throw new Error('in the middle')
            })(),
          )
          return Promise.resolve()
        }),
        nothing: listAction({ methods: ['POST'] }, () => Promise.resolve()),
        raw: listAction({ methods: ['GET'] }, function () {
          this.ctx.respond = false
          this.ctx.res.end('past Koa')
          return Promise.resolve()
        }),
      },
    }) {}
    const server = await serveTools({ documents: Documents })
    expect(await call(server, 'document_note')).toMatchObject({
      isError: false,
      texts: ['plain text'],
      json: undefined,
    })
    expect(await call(server, 'document_broken')).toMatchObject({
      status: 200,
      isError: true,
      texts: ['{"detail":"Internal server error","status":500}'],
    })
    expect(server.reported).toEqual([new Error('in the middle')])
    expect(await call(server, 'document_nothing')).toMatchObject({ isError: false, texts: ['Done.'] })
    expect(await call(server, 'document_raw')).toMatchObject({
      isError: true,
      texts: [expect.stringContaining('500')],
    })
  })
})

describe('where tools come from', () => {
  it('may be below objects of others, whose permissions are asked, too', async () => {
    class Closed extends BasePermission {
      override hasPermission(ctx: Context) {
        return ctx.state['user']?.name === 'Ada'
      }
    }
    class Authors extends modelViewSet(Author, {
      serializerClass: AuthorSerializer,
      authenticationClasses: [byToken],
      permissionClasses: [Closed],
    }) {}
    class Theirs extends nestedViewSet(Document, { ...common, parentLookupField: 'owner_id' }) {}
    const api = new APIRouter({ prefix: '/api' })
    api.register('authors', Authors, 'author')
    new NestedRouter(api, 'authors', { lookup: 'owner_id' }).register('documents', Theirs, 'document')
    const server = await serveTools(api, { tools: ['authors/documents:*'] })
    expect(await namesOf(server, { Authorization: 'Token ben' })).toEqual([])
    expect((await namesOf(server)).length).toBe(6)
    const made = await call(server, 'authors_document_create', { owner_id: 2, body: { title: 'x' } })
    expect(made.json).toMatchObject({ owner_id: 2 })
    expect(await call(server, 'authors_document_list', { owner_id: 9 })).toMatchObject({ isError: true })
    expect(await call(server, 'authors_document_retrieve', { owner_id: 1, id: 1 })).toMatchObject({ isError: true })
  })

  it('may have versions, of which the options choose one', async () => {
    class Versioned extends modelViewSet(Document, {
      ...common,
      versioningClass: new URLPathVersioning({ defaultVersion: '1', allowedVersions: ['1', '2'] }),
      actions: {
        told: listAction({ methods: ['GET'] }, async function () {
          return { version: this.ctx.state['version'] }
        }),
      },
    }) {}
    const api = new APIRouter({ prefix: '/api/{version}' })
    api.register('documents', Versioned)
    const server = await serveTools(api, { apiVersion: '2' })
    const tool = (await toolsOf(server)).find(({ name }) => name === 'document_told')
    expect(tool?.inputSchema.properties).toEqual({})
    expect(await call(server, 'document_told')).toMatchObject({ json: { version: '2' } })
  })

  it('may be mounted below a path, which links have', async () => {
    class Documents extends modelViewSet(Document, { ...common, paginationClass: PageNumberPagination }) {}
    await Document.query().insert([{ title: 'a' }, { title: 'b' }])
    const api = new APIRouter().register('documents', Documents)
    const inner = new Koa().use(mcp(api, { tools: ['documents'] })).use(api.routes())
    const server = await serve(new Koa().use(mount('/shop', inner)))
    onTestFinished(() => server.close())
    const message = messageOf({ method: 'tools/call', params: { name: 'document_list', arguments: { page_size: 1 } } })
    const { json } = await server.send({ ...message, path: '/shop/mcp' })
    expect(json.result.structuredContent.next).toBe('/shop/documents?page_size=1&page=2')
  })

  it('may be asked by HTTP/2, of the same host', async () => {
    class Hosted extends modelViewSet(Document, {
      ...common,
      actions: {
        told: listAction({ methods: ['GET'] }, async function () {
          return { host: this.ctx.host, subdomains: this.ctx.subdomains }
        }),
      },
    }) {}
    const api = new APIRouter().register('documents', Hosted)
    const handle = new Koa()
      .use(mcp(api, { tools: ['documents:*'] }))
      .use(api.routes())
      .callback()
    const server = http2.createServer((req, res) => void handle(req, res)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const session = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    onTestFinished(() => {
      session.destroy()
      server.close()
    })
    const { method, path, headers, body } = messageOf({ method: 'tools/call', params: { name: 'document_told' } })
    const stream = session.request({
      ...headers,
      ':method': method,
      ':path': path,
      ':authority': 'acme.shop.example.org',
    })
    stream.end(body)
    expect(JSON.parse(await text(stream)).result.structuredContent).toEqual({
      host: 'acme.shop.example.org',
      subdomains: ['shop', 'acme'],
    })
  })

  it('may be one for each resource', async () => {
    class Documents extends modelViewSet(Document, {
      ...common,
      description: 'Documents of all.',
      paginationClass: PageNumberPagination,
    }) {}
    const server = await serveTools({ documents: Documents }, { shape: 'resource' })
    const [all] = await toolsOf(server)
    expect(all).toMatchObject({
      name: 'document',
      description: expect.stringMatching(/^Documents of all\.\n- list: List documents\./),
      inputSchema: {
        type: 'object',
        required: ['action'],
        properties: { id: {}, page: {}, body: { anyOf: [{}, {}] } },
      },
      annotations: { readOnlyHint: false, destructiveHint: true },
    })
    expect(all?.inputSchema.properties.action.enum).toHaveLength(6)
    const [few] = await toolsOf(server, {})
    expect(few?.inputSchema.properties.action.enum).toEqual(['list', 'retrieve'])
    expect(few).toMatchObject({ annotations: { readOnlyHint: true } })
    const made = await call(server, 'document', { action: 'create', body: { title: 'x' } })
    expect(made.json).toMatchObject({ id: 1 })
    expect(await call(server, 'document', { action: 'retrieve', id: 1 })).toMatchObject({ json: { title: 'x' } })
    for (const given of [
      {},
      { action: 'forget' },
      { action: 'constructor' },
      { action: 1 },
      { action: 'list', body: {} },
    ]) {
      expect(await call(server, 'document', given)).toMatchObject({
        isError: true,
        texts: [expect.stringContaining('400'), expect.any(String)],
      })
    }
  })

  it('is told by explain()', async () => {
    class Documents extends modelViewSet(Document, common) {}
    const { api } = await serveTools({ documents: Documents }, { tools: ['documents'] })
    const told = (await api.explain('document')).map(({ method, tools }) => [method, tools])
    expect(told).toContainEqual(['GET', ['document_list']])
    expect(told).toContainEqual(['POST', []])
  })

  it('ends with the API', async () => {
    class Documents extends modelViewSet(Document, common) {}
    const server = await serveTools({ documents: Documents })
    await server.api.close()
    expect((await call(server, 'document_list')).texts[0]).toContain('"status":503')
  })
})
