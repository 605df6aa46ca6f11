/** The version on the answers of an API, whatever they are (promise G11). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  APIView,
  ApiError,
  AuthenticationFailed,
  BaseRenderer,
  type Context,
  configure,
  JSONRenderer,
  ModelViewSet,
  PermissionDenied,
  ServiceUnavailable,
  Throttled,
  ValidationError,
} from '../../lib/index.js'
import { APIRouter } from '../../lib/router/api-router.js'
import { appVersion, errors, versionRouter } from '../../plugins/index.js'
import { type Client, serving } from '../support/client.js'
import type { TestDatabase } from '../support/database.js'
import { Author, AuthorSerializer, createLibrary } from '../support/library.js'

class TextRenderer extends BaseRenderer {
  override readonly format = 'csv'
  override readonly mediaType = 'text/csv'
  override readonly contentType = 'text/csv; charset=utf-8'
  override render(): string {
    return 'id,name\r\n'
  }
}

class AuthorViewSet extends ModelViewSet<Author> {
  static override model = Author
  static override serializerClass = AuthorSerializer
  static override rendererClasses = [JSONRenderer, TextRenderer]
}

const failures: Record<string, () => never> = {
  401: () => {
    throw new AuthenticationFailed()
  },
  403: () => {
    throw new PermissionDenied()
  },
  409: () => {
    throw new ApiError(409, 'Conflict')
  },
  413: () => {
    throw new ApiError(413, 'Too large')
  },
  422: () => {
    throw new ValidationError('No.')
  },
  429: () => {
    throw new Throttled(3)
  },
  500: () => {
    throw new Error('bug')
  },
  503: () => {
    throw new ServiceUnavailable()
  },
}

class Failing extends APIView {
  get() {
    failures[this.ctx.query['with'] as string]?.()
  }
}

function notModified(ctx: Context): void {
  ctx.set('ETag', '"x"')
  ctx.status = 304
}

let database: TestDatabase
let client: Client

beforeAll(async () => {
  configure({ appVersion: 'v7' })
  database = await createLibrary()
  const api = new APIRouter({ prefix: '/api' }).register('authors', AuthorViewSet)
  await api.prepare()
  client = await serving(
    errors(),
    appVersion(),
    async (ctx, next) => (ctx.path === '/router' ? versionRouter({ versionMap: { v1: 'a' } })(ctx, next) : next()),
    api.routes(),
    async (ctx, next) => (ctx.path === '/failing' ? Failing.asView()(ctx) : next()),
    (ctx) => (ctx.path === '/known' ? notModified(ctx) : undefined),
  )
})
afterAll(async () => {
  configure({})
  await client.close()
  await database.drop()
})

describe('[G11] X-App-Version', () => {
  it.each<[number, string, string, unknown?, Record<string, string>?]>([
    [200, 'GET', '/api/authors'],
    [200, 'HEAD', '/api/authors'],
    [200, 'OPTIONS', '/api/authors'],
    [200, 'GET', '/api/authors.csv'],
    [200, 'GET', '/api'],
    [201, 'POST', '/api/authors', { name: 'Cid' }],
    [204, 'DELETE', '/api/authors/2'],
    [304, 'GET', '/known'],
    [400, 'POST', '/api/authors', {}],
    [400, 'GET', '/failing?with=422'],
    [401, 'GET', '/failing?with=401'],
    [403, 'GET', '/failing?with=403'],
    [404, 'GET', '/api/authors/99'],
    [404, 'GET', '/nowhere'],
    [405, 'PATCH', '/api/authors', {}],
    [409, 'GET', '/failing?with=409'],
    [413, 'GET', '/failing?with=413'],
    [415, 'POST', '/api/authors', {}, { 'Content-Type': 'text/plain' }],
    [429, 'GET', '/failing?with=429'],
    [500, 'GET', '/failing?with=500'],
    [503, 'GET', '/failing?with=503'],
  ])('is on %i, %s %s', async (status, method, path, body, headers) => {
    const answer = await client.send(method, path, body, headers)
    expect([answer.status, answer.headers['x-app-version']]).toEqual([status, 'v7'])
  })

  it('is on the 409 of the version router', async () => {
    const { default: http } = await import('node:http')
    const headers = await new Promise<Record<string, unknown>>((resolve) => {
      http.get({ port: client.port, path: '/router', headers: { 'X-App-Requested-Version': 'v9' } }, (response) => {
        response.resume()
        resolve({ status: response.statusCode, version: response.headers['x-app-version'] })
      })
    })
    expect(headers).toEqual({ status: 409, version: 'v7' })
  })
})
