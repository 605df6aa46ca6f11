/** What clients prefer (RFC 7240): answers without what was written, and requests of which nothing is ignored. */
import { ensureIdempotencyTable } from 'koa-viewsets/idempotency'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  type Authentications,
  action,
  BaseAuthentication,
  BulkModelViewSet,
  type Concurrency,
  type Context,
  IsAuthenticated,
  ModelSerializer,
  NestedSerializer,
  PageNumberPagination,
  type Permissions,
} from '../../lib/index.js'
import { validateResponse } from '../../lib/testing/index.js'
import { AuthorSerializer, Book, BookSerializer, database, useLibrary } from '../support/library.js'
import { operationOf } from '../support/operation-of.js'
import { routerOf, serveViews } from '../support/views.js'

useLibrary()

class Books extends BulkModelViewSet<Book> {
  static override model = Book
  static override serializerClass = BookSerializer
  static override paginationClass = PageNumberPagination

  @action({ methods: ['POST'], detail: false })
  async recount() {
    return { counted: 3 }
  }

  @action({ methods: ['POST'], detail: false, inputSerializer: BookSerializer })
  async rename() {
    return {}
  }
}

const MINIMAL = { Prefer: 'return=minimal' }
const STRICT = { Prefer: 'handling=strict' }
const titles = () => database.knex('books').orderBy('id').pluck('title') as Promise<string[]>

describe('return=minimal', () => {
  it('answers a create with 201, Location and nothing else', async () => {
    const { send, get } = await serveViews({ books: Books })
    const made = await send('POST', '/books', { title: 'a' }, MINIMAL)
    expect(made).toMatchObject({ status: 201, text: '' })
    expect(made.headers).toMatchObject({ 'preference-applied': 'return=minimal', vary: 'Prefer' })
    expect(made.headers).not.toHaveProperty('content-type')
    expect((await get(String(made.headers['location']))).json.title).toBe('a')
  })

  it('answers a delete that would show the object with 204', async () => {
    class Shown extends Books {
      static override statuses = { destroy: 200 } as const
    }
    const { send } = await serveViews({ books: Shown })
    for (const title of ['a', 'b']) await send('POST', '/books', { title })
    expect(await send('DELETE', '/books/1')).toMatchObject({ status: 200, json: { title: 'a' } })
    const gone = await send('DELETE', '/books/2', undefined, MINIMAL)
    expect(gone).toMatchObject({ status: 204, text: '', headers: { 'preference-applied': 'return=minimal' } })
    expect(await titles()).toEqual([])
  })

  it('answers changes with 204', async () => {
    const { send } = await serveViews({ books: Books })
    const { json } = await send('POST', '/books', { title: 'a' })
    for (const [method, body] of [
      ['PATCH', { title: 'b' }],
      ['PUT', { title: 'c' }],
    ] as const) {
      expect(await send(method, `/books/${json.id}`, body, MINIMAL)).toMatchObject({ status: 204, text: '' })
      expect(await titles()).toEqual([body.title])
    }
    const gone = await send('DELETE', `/books/${json.id}`, undefined, MINIMAL)
    expect(gone.status).toBe(204)
    expect(gone.headers).not.toHaveProperty('preference-applied')
  })

  it('answers writes of lists in the same way', async () => {
    const { send } = await serveViews({ books: Books })
    expect(await send('POST', '/books/bulk', [{ title: 'a' }, { title: 'b' }], MINIMAL)).toMatchObject({
      status: 201,
      text: '',
    })
    const ids: number[] = await database.knex('books').orderBy('id').pluck('id')
    const changes = ids.map((id) => ({ id, n: 5 }))
    expect(await send('PATCH', '/books/bulk', changes, MINIMAL)).toMatchObject({ status: 204, text: '' })
    expect(await send('DELETE', '/books/bulk', ids, MINIMAL)).toMatchObject({ status: 204, text: '' })
    expect(await titles()).toEqual([])
  })

  it('has the tag of the object that it does not show', async () => {
    class Counted extends ModelSerializer<Book> {
      static override schemaName = 'CountedBook'
      static override model = Book
      static override fields = ['id', 'title', 'n']
      static override readOnlyFields = ['n']
    }
    class Versioned extends Books {
      static override serializerClass = Counted as never
      static override concurrency: Concurrency = 'n'
    }
    await database.knex.raw(`
      create function count_up() returns trigger language plpgsql as $$ begin new.n = old.n + 1; return new; end $$;
      create trigger count_up before update on books for each row execute function count_up();`)
    onTestFinished(() => database.knex.raw('drop trigger count_up on books; drop function count_up()') as never)
    const { send, get } = await serveViews({ books: Versioned })
    const made = await send('POST', '/books', { title: 'a' }, MINIMAL)
    const path = String(made.headers['location'])
    for (const title of ['b', 'c']) {
      const hidden = await send('PATCH', path, { title }, MINIMAL)
      expect(hidden).toMatchObject({ status: 204, text: '' })
      expect(hidden.headers['etag']).toBe((await get(path)).headers['etag'])
      const next = await send('PATCH', path, { title: 'd' }, { 'If-Match': String(hidden.headers['etag']) })
      expect(next.status).toBe(200)
    }
  })

  it('changes no error, no read and no action of the application', async () => {
    const { send, get } = await serveViews({ books: Books })
    const refused = await send('POST', '/books', {}, MINIMAL)
    expect(refused).toMatchObject({ status: 400, json: { errors: { title: ['This field is required.'] } } })
    expect(refused.headers).not.toHaveProperty('preference-applied')
    const list = await get('/books', MINIMAL)
    expect(list).toMatchObject({ status: 200, json: { count: 0 } })
    expect(list.headers).not.toHaveProperty('vary')
    expect((await send('POST', '/books/recount', {}, MINIMAL)).json).toEqual({ counted: 3 })
  })

  it('is the opposite of return=representation, which is acknowledged', async () => {
    const { send } = await serveViews({ books: Books })
    const made = await send('POST', '/books', { title: 'a' }, { Prefer: 'return=representation' })
    expect(made).toMatchObject({ status: 201, json: { title: 'a' } })
    expect(made.headers['preference-applied']).toBe('return=representation')
  })
})

describe('handling=strict', () => {
  it('refuses names that no field has, in objects, in nested ones and in lists, and writes nothing', async () => {
    class Whole extends ModelSerializer<Book> {
      static override schemaName = 'WholeBook'
      static override model = Book
      static override fields = ['id', 'title']
      static override declaredFields = { author: new NestedSerializer(AuthorSerializer, { required: false }) }
    }
    class Nested extends Books {
      static override serializerClass = Whole as never
    }
    const { send } = await serveViews({ books: Nested })
    const body = { title: 'a', titel: 1, 'a b': 2, author: { name: 'x', nom: 3 } }
    const refused = await send('POST', '/books', body, STRICT)
    expect(refused.json).toEqual({
      detail: 'Validation failed',
      status: 400,
      errors: {
        titel: ['Unknown field; did you mean "title"?'],
        'a b': ['Unknown field.'],
        author: { nom: ['Unknown field.'] },
      },
    })
    const words = [
      'first-name',
      'größe',
      'author.name',
      'tags[0]',
      '@type',
      '$ref',
      '名前',
      'a/b',
      '-x',
      'c++',
      '😀',
      '%20',
      "it's",
      '#',
      ' ',
      '',
      ' first name',
      'a\tb\n',
      'a\u00a0b',
      'a\u200bb',
    ]
    const odd = await send(
      'POST',
      '/books',
      { title: 'a', ...Object.fromEntries(words.map((word) => [word, 1])) },
      STRICT,
    )
    expect(odd.json.errors).toEqual(Object.fromEntries(words.map((word) => [word, ['Unknown field.']])))
    const long = await send('POST', '/books', { title: 'a', ['long '.repeat(1000)]: 1, '\ud800': 1 }, STRICT)
    const shown = { ['long '.repeat(13).slice(0, 64)]: ['Unknown field.'], '\ufffd': ['Unknown field.'] }
    expect(long.json.errors).toEqual(shown)
    const bulk = await send('POST', '/books/bulk', [{ title: 'a' }, { title: 'b', 'x y': 1 }], STRICT)
    expect(bulk.json.errors).toEqual({ 1: { 'x y': ['Unknown field.'] } })
    expect(await titles()).toEqual([])
    expect((await send('POST', '/books', body)).status).toBe(201)
  })

  it('takes names that are read only, and the keys of lists', async () => {
    const { send } = await serveViews({ books: Books })
    const made = await send('POST', '/books', { id: 77, title: 'a' }, STRICT)
    expect(made).toMatchObject({ status: 201, json: { title: 'a' } })
    expect(made.headers['preference-applied']).toBe('handling=strict')
    const changed = await send('PATCH', '/books/bulk', [{ id: made.json.id, title: 'b' }], STRICT)
    expect(changed.status).toBe(200)
  })

  it('leaves values of another shape to validation', async () => {
    const { send } = await serveViews({ books: Books })
    for (const body of [[], 'text', 5, null]) {
      expect((await send('POST', '/books', body, STRICT)).status).toBe(400)
    }
    expect((await send('POST', '/books/bulk', { title: 'a' }, STRICT)).status).toBe(400)
    expect((await send('POST', '/books/bulk', ['a'], STRICT)).json.errors).toEqual({
      0: { non_field_errors: ['Expected an object.'] },
    })
  })

  it('refuses parameters that nothing reads, of lists, objects and writes', async () => {
    const { send, get } = await serveViews({ books: Books })
    const { json } = await send('POST', '/books', { title: 'a' })
    expect((await get('/books?page=1&fields=title', STRICT)).status).toBe(200)
    expect((await get('/books?x=1', STRICT)).json.errors.x[0]).toContain('Unknown parameter. Use page, page_size')
    expect((await get(`/books/${json.id}?fields=title`, STRICT)).json).toEqual({ title: 'a' })
    expect((await get(`/books/${json.id}?page=1`, STRICT)).status).toBe(400)
    expect((await get(`/books/${json.id}?fields=nope`, STRICT)).json.errors).toHaveProperty('fields')
    expect((await send('DELETE', `/books/${json.id}?x=1`, undefined, STRICT)).status).toBe(400)
    expect((await send('DELETE', `/books/${json.id}?x=1`)).status).toBe(204)
  })

  it('names at most twenty names', async () => {
    const { send } = await serveViews({ books: Books })
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`x${i}`, 1]))
    const { json } = await send('POST', '/books', many, STRICT)
    expect(Object.keys(json.errors)).toHaveLength(20)
  })
})

describe('Prefer', () => {
  it.each([
    ['minimal in quotes', 'return="minimal"', 204],
    ['names in any case', 'RETURN=minimal', 204],
    ['others beside it, and parameters', 'respond-async, wait=10;x="a, b", return=minimal; why="no"', 204],
    ['the first of two', 'return=minimal, return=representation', 204],
    ['the second of two', 'return=representation, return=minimal', 200],
    ['a preference inside of quotes', 'x="a, return=minimal"', 200],
    ['another value', 'return=nothing', 200],
    ['no value', 'return', 200],
    ['nonsense', ',;="\\', 200],
    ['an empty text', '', 200],
    ['more than 1,024 characters', `return=minimal, x=${'y'.repeat(1_024)}`, 200],
  ])('with %s is heeded or ignored, and never an error', async (_, prefer, status) => {
    const { send } = await serveViews({ books: Books })
    const { json } = await send('POST', '/books', { title: 'a' })
    expect((await send('PATCH', `/books/${json.id}`, { title: 'b' }, { Prefer: prefer })).status).toBe(status)
  })

  it('may be sent in two lines', async () => {
    const { send } = await serveViews({ books: Books })
    const prefer = ['handling=strict', 'return=minimal']
    const refused = await send('POST', '/books', { title: 'a', x: 1 }, { Prefer: prefer })
    expect(refused.status).toBe(400)
    const made = await send('POST', '/books', { title: 'a' }, { Prefer: prefer })
    expect(made).toMatchObject({ status: 201, text: '' })
    expect(made.headers['preference-applied']).toBe('handling=strict, return=minimal')
  })

  it('of a write that was done before is that of the first time', async () => {
    await ensureIdempotencyTable(database.knex)
    await database.knex.raw('truncate koa_viewsets_idempotency')
    class Known extends BaseAuthentication {
      override authenticate(_ctx: Context) {
        return { user: { id: 1 } }
      }
    }
    class Once extends Books {
      static override idempotent = true
      static override authenticationClasses: Authentications = [Known]
      static override permissionClasses: Permissions = [IsAuthenticated]
    }
    const { send } = await serveViews({ books: Once })
    const key = { 'Idempotency-Key': 'k' }
    const first = await send('POST', '/books', { title: 'a' }, { ...key, ...MINIMAL })
    for (const prefer of ['return=minimal', 'return=representation', 'handling=strict']) {
      const again = await send('POST', '/books', { title: 'a' }, { ...key, Prefer: prefer })
      expect(again).toMatchObject({ status: 201, text: '' })
      expect(again.headers).toMatchObject({
        location: first.headers['location'],
        'idempotency-replayed': 'true',
      })
      expect(again.headers['preference-applied']).toContain('return=minimal')
    }
    expect(await titles()).toEqual(['a'])
  })

  it('stands in the document, of the actions that heed it', async () => {
    const api = routerOf({ books: Books })
    await api.prepare()
    const document = api.getSchema()
    const names = (path: string, method: string) =>
      (operationOf(document, path, method).parameters ?? []).map(({ name }) => name)
    expect(names('/books', 'post')).toContain('Prefer')
    expect(names('/books', 'get')).toContain('Prefer')
    expect(names('/books/recount', 'post')).not.toContain('Prefer')
    expect(names('/books/rename', 'post')).toContain('Prefer')
    const { get, send } = await serveViews({ books: Books })
    for (const [method, path, answer] of [
      ['get', '/books', await get('/books', STRICT)],
      ['post', '/books/rename', await send('POST', '/books/rename', { title: 'a' }, STRICT)],
    ] as const) {
      expect(answer.headers['preference-applied']).toBe('handling=strict')
      expect(operationOf(document, path, method).responses['200']).toHaveProperty('headers.Preference-Applied')
    }
    // clients that are generated have one type of answer: the header alone tells of the other one
    for (const method of ['put', 'patch']) {
      const statuses = Object.keys(operationOf(document, '/books/{id}', method).responses)
      expect(statuses.filter((status) => status.startsWith('2'))).toEqual(['200'])
    }
    const { Prefer } = document.components.parameters
    expect(Prefer?.description).toContain('`return=minimal`')
    const bare = { method: 'PATCH', path: '/books/1', status: 204, body: undefined }
    expect(validateResponse(document, { ...bare, headers: { 'Preference-Applied': 'return=minimal' } })).toEqual([])
    expect(validateResponse(document, { ...bare, headers: {} })).toEqual([expect.stringContaining('no such status')])
  })
})
