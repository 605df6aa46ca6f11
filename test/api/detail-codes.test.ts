/** Codes of the `detail`s of errors, and what an application says in their place. */
import {
  ApiError,
  action,
  BadRequest,
  BulkModelViewSet,
  Conflict,
  type Context,
  configure,
  ModelSerializer,
  NotFound,
  PageNumberPagination,
  PermissionDenied,
  ValidationError,
} from 'koa-viewsets'
import { errors } from 'koa-viewsets/plugins'
import { validateResponse } from 'koa-viewsets/testing'
import { afterEach, describe, expect, it } from 'vitest'
import { serveApp } from '../support/client.js'
import { Book, useLibrary } from '../support/library.js'
import { connectTo } from '../support/server.js'
import { routerOf } from '../support/views.js'

useLibrary()
afterEach(() => configure({}))

class BookSerializer extends ModelSerializer<Book> {
  static override schemaName = 'BookOfDetails'
  static override model = Book
  static override fields = ['id', 'title']
}

/** Errors of an application's own, by the names that they are asked for by. */
const THROWN: Readonly<Record<string, () => unknown>> = {
  missing: () => new NotFound('No such shelf'),
  sold: () => new Conflict('Sold meanwhile', { code: 'sold' }),
  taken: () => new Conflict('Taken'),
  bad: () => new BadRequest('Bad'),
  forbidden: () => new PermissionDenied('Not on Sundays'),
  paid: () => new ApiError(402, 'The trial is over', { code: 'trial_over' }),
  teapot: () => new ApiError(418, 'Short and stout'),
  own: () => new ApiError(409, 'Taken', { members: { code: 'mine' } }),
  input: () => new ValidationError({ a: ['b'] }, { detail: 'Look again', code: 'wrong' }),
  foreign: () => Object.assign(new Error('Gone for lunch'), { status: 410, expose: true }),
  alike: () => new NotFound('Not found', { code: 'no_shelf' }),
  broken: () => new Error('secret'),
}

class Books extends BulkModelViewSet<Book> {
  static override model = Book
  static override serializerClass = BookSerializer
  static override paginationClass = PageNumberPagination

  @action({ methods: ['POST'], detail: false, urlPath: 'throw/{name}' })
  async throw() {
    throw THROWN[String(this.ctx['params']['name'])]?.()
  }
}

async function served() {
  const api = routerOf({ books: Books })
  await api.prepare()
  const { port, reported } = await serveApp(errors(), api.routes())
  const client = connectTo(port)
  const send = (method: string, path: string, { body = '', headers = {} } = {}) =>
    client.send({ method, path, body, headers: { 'Content-Type': 'application/json', ...headers } })
  return { send, reported }
}

describe('the code of a detail', () => {
  it('stands behind the status, and not without the setting', async () => {
    const { send } = await served()
    expect((await send('GET', '/books/99')).text).toBe('{"detail":"Not found","status":404}')
    configure({ errorCodes: true })
    expect((await send('GET', '/books/99')).text).toBe('{"detail":"Not found","status":404,"code":"not_found"}')
    expect((await send('HEAD', '/books/99')).text).toBe('')
  })

  it.each([
    ['GET', '/books/99', {}, 404, 'not_found'],
    ['GET', '/nowhere', {}, 404, 'not_found'],
    ['TRACE', '/books', {}, 405, 'method_not_allowed'],
    ['GET', '/books?page=9', {}, 404, 'not_found'],
    ['POST', '/books', { 'Content-Type': 'a/b' }, 415, 'unsupported_media_type'],
    ['POST', '/books', { 'Content-Type': 'application/json' }, 400, 'parse_error'],
    ['PUT', '/books/99', {}, 404, 'not_found'],
  ])('of %s %s with %j is known', async (method, path, headers, status, code) => {
    configure({ errorCodes: true })
    const { send } = await served()
    const answer = await send(method, path, { body: method === 'POST' ? '{' : '', headers })
    expect([answer.status, answer.json.code]).toEqual([status, code])
  })

  it.each([
    ['missing', 404, 'not_found'],
    ['sold', 409, 'sold'],
    ['taken', 409, 'conflict'],
    ['bad', 400, 'bad_request'],
    ['forbidden', 403, 'permission_denied'],
    ['paid', 402, 'trial_over'],
    ['teapot', 418, 'teapot'],
    ['own', 409, 'mine'],
    ['input', 400, 'validation_failed'],
    ['foreign', 410, 'gone'],
    ['alike', 404, 'no_shelf'],
    ['broken', 500, 'error'],
  ])('is that of its class, or what the application says: %s', async (name, status, code) => {
    configure({ errorCodes: true })
    const { send } = await served()
    const answer = await send('POST', `/books/throw/${name}`)
    expect([answer.status, answer.json.code]).toEqual([status, code])
  })

  it('is held to the document', async () => {
    configure({ errorCodes: true })
    const api = routerOf({ books: Books })
    await api.prepare()
    const { port } = await serveApp(errors(), api.routes())
    for (const path of ['/books/99', '/books?page=9', '/books?page=x']) {
      const { status, headers, json } = await connectTo(port).send({ path })
      const checked = (body: unknown) =>
        validateResponse(api.getSchema(), { method: 'GET', path, status, headers, body })
      expect(checked(json)).toEqual([])
      expect(checked({ ...json, code: undefined })).not.toEqual([])
      expect(checked({ ...json, code: 1 })).not.toEqual([])
    }
  })

  it('is a word', () => {
    for (const code of ['', 'Sold', 'a b', 'x'.repeat(65)]) {
      expect(() => new NotFound('No.', { code })).toThrow(/ApiError: the code/)
    }
  })

  it('leads to other words, but for sentences of the application', async () => {
    configure({
      messages: {
        not_found: ({ nothing }, ctx: Context) => `Nichts unter ${ctx.path}${nothing ?? ''}`,
        validation_failed: 'Bitte berichtigen.',
        parse_error: 'Unlesbar.',
        bulk_too_large: 'Höchstens {max}, nicht {size}.',
        error: 'Leider nein.',
      },
    })
    const { send } = await served()
    expect((await send('GET', '/books/99')).text).toBe('{"detail":"Nichts unter /books/99","status":404}')
    expect((await send('POST', '/books/throw/missing')).text).toContain('No such shelf')
    expect((await send('POST', '/books/throw/alike')).text).toContain('Not found')
    expect((await send('POST', '/books/throw/broken')).text).toBe('{"detail":"Leider nein.","status":500}')
    expect((await send('POST', '/books', { body: '{}' })).json).toMatchObject({
      detail: 'Bitte berichtigen.',
      errors: { title: [expect.any(String)] },
    })
    const items = Array.from({ length: 101 }, () => ({ title: 'abcdef' }))
    expect((await send('POST', '/books/bulk', { body: JSON.stringify(items) })).json.detail).toBe(
      'Höchstens 100, nicht 101.',
    )
  })

  it('is the package’s sentence where a function fails, and the error is reported', async () => {
    configure({
      messages: {
        not_found: () => {
          throw new Error('away')
        },
      },
    })
    const { send, reported } = await served()
    expect((await send('GET', '/books/99')).text).toBe('{"detail":"Not found","status":404}')
    expect(reported.map(String)).toEqual(['Error: away'])
  })
})
