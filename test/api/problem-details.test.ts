/** Errors as `application/problem+json` (RFC 9457). */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import {
  ApiError,
  action,
  BulkModelViewSet,
  type Context,
  configure,
  FieldFilter,
  ModelSerializer,
  NestedSerializer,
  ValidationError,
} from '../../lib/index.js'
import { validateResponse } from '../../lib/testing/validate-response.js'
import { serveApp } from '../support/client.js'
import { AuthorSerializer, Book, useLibrary } from '../support/library.js'
import { routerOf } from '../support/views.js'

useLibrary()
beforeEach(() => configure({ problemDetails: true }))
afterEach(() => configure({}))

const PROBLEM = 'application/problem+json'
const PLAIN = 'application/json; charset=utf-8'
const URN = /^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

class BookSerializer extends ModelSerializer<Book> {
  static override schemaName = 'ProblemBook'
  static override model = Book
  static override fields = ['id', 'title', 'n']
  static override declaredFields = { author: new NestedSerializer(AuthorSerializer, { required: false }) }
}

class Books extends BulkModelViewSet<Book> {
  static override model = Book
  static override serializerClass = BookSerializer as never
  static override filterBackends = [FieldFilter]
  static override filtersetFields = ['n']
  static override strictParams = true

  @action({ methods: ['POST'], detail: false })
  async break() {
    throw new Error('secret')
  }

  @action({ methods: ['POST'], detail: false })
  async odd() {
    throw new ValidationError({ 'a/b~c d': ['No.'], non_field_errors: ['Nor.'] }, { code: 'odd' })
  }

  @action({ methods: ['POST'], detail: false, inputSerializer: z.object({ counts: z.record(z.string(), z.int()) }) })
  async count() {}

  @action({ methods: ['POST'], detail: false, queryParameters: z.object({ n: z.coerce.number() }) })
  async counted() {
    throw new ValidationError({ title: ['No.'] })
  }

  @action({ methods: ['POST'], detail: false })
  async crowded() {
    throw new ApiError(409, 'Taken', { members: { status: 1, type: 'x', available: [2] } })
  }

  @action({ methods: ['POST'], detail: false })
  async own() {
    throw new ApiError(409, 'Sold', { code: 'sold', members: { code: 'mine' } })
  }
}

async function served(...before: Parameters<typeof serveApp>) {
  const api = routerOf({ books: Books })
  await api.prepare()
  const { app, port } = await serveApp(...before, api.routes())
  const heard: { instance: unknown }[] = []
  app.removeAllListeners('error')
  app.on('error', (_, ctx: Context) => heard.push({ instance: ctx.state['instance'] }))
  const send = async (method: string, path: string, { body, ...headers }: Record<string, unknown> = {}) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: { Accept: PROBLEM, 'Content-Type': 'application/json', ...(headers as Record<string, string>) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    const found = { status: answer.status, headers: Object.fromEntries(answer.headers), text }
    const json = text === '' ? undefined : JSON.parse(text)
    // the document describes either form, and no 500
    if (answer.status !== 500)
      expect(validateResponse(api.getSchema() as never, { method, path, ...found, body: json })).toEqual([])
    return { ...found, json, type: answer.headers.get('content-type') }
  }
  return { api, send, heard }
}

describe('a problem', () => {
  it('says what an error is, and where each message stands in the body', async () => {
    const { send } = await served()
    const { json, status, type, headers } = await send('POST', '/books', { body: { n: 'x', author: { name: null } } })
    expect([status, type]).toEqual([400, PROBLEM])
    expect(headers).toMatchObject({ vary: 'Accept', 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
    expect(json).toEqual({
      type: 'about:blank',
      title: 'Bad Request',
      status: 400,
      detail: 'Validation failed',
      code: 'validation_failed',
      instance: expect.stringMatching(URN),
      errors: [
        { pointer: '#/title', code: 'required', detail: 'This field is required.' },
        { pointer: '#/n', code: 'invalid_integer', detail: 'A valid integer is required.' },
        { pointer: '#/author/name', code: 'null', detail: 'This field may not be null.' },
      ],
    })
  })

  it('points into lists, and to the whole', async () => {
    const { send } = await served()
    const list = await send('POST', '/books/bulk', { body: [{ title: 'a' }, {}, 5] })
    expect(list.json.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual(['#/1/title', '#/2'])
    const whole = await send('POST', '/books/bulk', { body: {} })
    expect(whole.json.errors).toEqual([{ pointer: '#', code: 'not_a_list', detail: 'Expected a list of items.' }])
    const odd = await send('POST', '/books/odd')
    expect(odd.json.errors).toEqual([
      { pointer: '#/a~1b~0c%20d', code: 'odd', detail: 'No.' },
      { pointer: '#', code: 'odd', detail: 'Nor.' },
    ])
  })

  it('points to names that no URI can hold', async () => {
    const { send } = await served()
    const { status, json } = await send('POST', '/books/count', { body: { counts: { '\ud800': 'x' } } })
    expect([status, json.errors]).toMatchObject([400, [{ pointer: '#/counts/%EF%BF%BD', code: 'invalid' }]])
  })

  it('names parameters of the query', async () => {
    const { send } = await served()
    const wrong = await send('GET', '/books?n=x')
    expect(wrong.json.errors).toEqual([
      { parameter: 'n', code: 'invalid_integer', detail: 'A valid integer is required.' },
    ])
    const unknown = await send('POST', '/books?z=1', { body: { title: 'a' }, Prefer: 'handling=strict' })
    expect(unknown.json.errors).toMatchObject([{ parameter: 'z', code: 'unknown_parameter' }])
  })

  it('names parameters of the query that an action which writes has declared', async () => {
    const { send } = await served()
    const wrong = await send('POST', '/books/counted?n=x', { body: {} })
    expect([wrong.status, wrong.json.errors]).toMatchObject([400, [{ parameter: 'n' }]])
    expect(wrong.json.errors[0]).not.toHaveProperty('pointer')
    const body = await send('POST', '/books/counted?n=1', { body: {} })
    expect(body.json.errors).toMatchObject([{ pointer: '#/title' }])
  })

  it('has no errors where an error has none, and keeps its own members', async () => {
    const { send } = await served()
    const missing = await send('GET', '/books/99')
    expect(missing.json).toMatchObject({ title: 'Not Found', status: 404, detail: 'Not found', code: 'not_found' })
    expect(missing.json).not.toHaveProperty('errors')
    const crowded = await send('POST', '/books/crowded')
    expect(crowded.json).toMatchObject({
      type: 'about:blank',
      status: 409,
      detail: 'Taken',
      code: 'conflict',
      available: [2],
    })
    const own = await send('POST', '/books/own')
    expect(own.json).toMatchObject({ status: 409, detail: 'Sold', code: 'mine' })
  })

  it('has the messages of the application, and a type where one is configured', async () => {
    configure({
      problemDetails: true,
      problemTypes: { 400: '/problems/input' },
      messages: { required: 'Bitte angeben.', validation_failed: 'Bitte berichtigen.' },
    })
    const { send } = await served()
    const { json } = await send('POST', '/books', { body: {} })
    expect(json).toMatchObject({ detail: 'Bitte berichtigen.', code: 'validation_failed' })
    expect(json).toMatchObject({ type: '/problems/input', errors: [{ code: 'required', detail: 'Bitte angeben.' }] })
  })

  it('is found by its instance: in the error event of a 500', async () => {
    const { send, heard } = await served()
    const { json, text } = await send('POST', '/books/break')
    expect(json).toMatchObject({ status: 500, detail: 'Internal server error', title: 'Internal Server Error' })
    expect(text).not.toContain('secret')
    expect(heard).toEqual([{ instance: json.instance }])
  })

  it('is named by X-Request-Id, where that is one UUID', async () => {
    const id = '8E03978E-40D5-43E8-BC93-6894A57F9324'
    const { send } = await served()
    const urn = async (value: string) => (await send('GET', '/books/99', { 'X-Request-Id': value })).json.instance
    expect(await urn(id)).toBe(`urn:uuid:${id.toLowerCase()}`)
    for (const other of ['abc', `${id}, ${id}`, `${id}x`, 'x'.repeat(4_000)]) {
      const instance = await urn(other)
      expect(instance).toMatch(URN)
      expect(instance).not.toContain(id.toLowerCase())
    }
    const tagging = await served((ctx, next) => {
      ctx.set('X-Request-Id', id)
      return next()
    })
    expect((await tagging.send('GET', '/books/99')).json.instance).toBe(`urn:uuid:${id.toLowerCase()}`)
  })
})

describe('Accept', () => {
  it.each([
    [PROBLEM, PROBLEM],
    [`${PROBLEM}; charset=utf-8`, PROBLEM],
    [`text/html, ${PROBLEM}`, PROBLEM],
    [`${PROBLEM}, application/json`, PROBLEM],
    [`application/json, ${PROBLEM}`, PLAIN],
    [`${PROBLEM};q=0.5, application/json`, PLAIN],
    [`${PROBLEM};q=0`, PLAIN],
    [`application/json;indent=2, ${PROBLEM};q=0.5`, PLAIN],
    [`${PROBLEM};profile=x, application/json;q=0.5`, PROBLEM],
    [`${PROBLEM};q=0.5, application/json;profile="a, b";q=0.1`, PROBLEM],
    [`application/json;profile="${'\\"'.repeat(2_000)}`, PLAIN],
    [`*/*, ${PROBLEM}`, PROBLEM],
    ['*/*', PLAIN],
    ['application/json', PLAIN],
    ['text/html', PLAIN],
    ['', PLAIN],
    [',;=/q', PLAIN],
    ['a/b,'.repeat(1_000), PLAIN],
  ])('of %s is answered by %s', async (accept, type) => {
    const { send } = await served()
    const answer = await send('GET', '/books/99', { Accept: accept })
    expect(answer.type).toBe(type)
    expect(answer.headers['vary']).toContain('Accept')
  })

  it('changes nothing without the setting', async () => {
    configure({})
    const { send, api } = await served()
    const answer = await send('GET', '/books/99')
    expect(answer).toMatchObject({ type: PLAIN, text: '{"detail":"Not found","status":404}' })
    expect(answer.headers).not.toHaveProperty('vary')
    expect(JSON.stringify(api.getSchema())).not.toContain(PROBLEM)
  })
})

describe('settings of problems', () => {
  it.each([
    { problemDetails: 'perhaps' },
    { problemTypes: { 200: '/a' } },
    { problemTypes: { 400: 'a b' } },
    { problemTypes: ['/a'] },
    { problemTypes: 'x' },
  ])('%j are a ConfigurationError', (settings) => {
    expect(() => configure(settings as never)).toThrow(/configure\(\{ problem/)
  })

  it('of the environment are read by prepare()', async () => {
    configure({})
    vi.stubEnv('PROBLEM_DETAILS', 'perhaps')
    const api = routerOf({ books: Books })
    await expect(api.prepare()).rejects.toThrow(/PROBLEM_DETAILS is "perhaps": give true or false/)
    vi.unstubAllEnvs()
  })
})
