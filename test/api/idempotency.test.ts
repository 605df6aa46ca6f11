/** Writes that are done once for each `Idempotency-Key`: view sets, actions, bulk, uploads, hand-written routes. */
import { mkdtempSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import Router from '@koa/router'
import type { Knex } from 'knex'
import type Koa from 'koa'
import { ensureIdempotencyTable, type IdempotencyScope, type Idempotent } from 'koa-viewsets/idempotency'
import { beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { stopSweeping } from '../../lib/idempotency/table.js'
import {
  APIRouter,
  APIView,
  type Authentications,
  action,
  BaseAuthentication,
  BasePermission,
  BulkModelViewSet,
  ConfigurationError,
  type Context,
  CSVRenderer,
  configure,
  FileUploadField,
  IsAuthenticated,
  IsAuthenticatedOrReadOnly,
  JSONParser,
  JSONRenderer,
  ModelSerializer,
  ModelViewSet,
  NestedSerializer,
  type Permissions,
  type Serializer,
  UserRateThrottle,
} from '../../lib/index.js'
import { MergePatchParser } from '../../lib/patches/index.js'
import {
  authentication,
  contentNegotiation,
  errors,
  idempotency,
  permissions,
  transaction,
} from '../../plugins/index.js'
import { type Client, serveApp } from '../support/client.js'
import { createDatabase } from '../support/database.js'
import { koaBody } from '../support/installed.js'
import { Author, Book, BookSerializer, database, LIBRARY, useLibrary } from '../support/library.js'
import { MULTIPART, multipart } from '../support/multipart.js'
import { operationOf } from '../support/operation-of.js'
import { runsAsRole } from '../support/roles.js'
import { serveViews, tableOf } from '../support/views.js'

useLibrary()
beforeAll(async () => {
  await ensureIdempotencyTable(database.knex)
})
beforeEach(() => database.knex.raw('truncate koa_viewsets_idempotency'))

/** Callers by their name in `X-User`. */
class ByName extends BaseAuthentication {
  override authenticate(ctx: Context) {
    const id = ctx.get('X-User')
    return id === '' ? null : { user: { id } }
  }
}

class Books extends BulkModelViewSet<Book> {
  static override model = Book
  static override serializerClass = BookSerializer
  static override authenticationClasses: Authentications = [ByName]
  static override permissionClasses: Permissions = [IsAuthenticatedOrReadOnly]
  static override idempotent: Idempotent = true
}

const titles = () => database.knex('books').orderBy('id').pluck('title') as Promise<string[]>
const kept = () => database.knex('koa_viewsets_idempotency').orderBy('created_at')
const as = (user: string, key?: string): Record<string, string> => ({
  'X-User': user,
  ...(key !== undefined && { 'Idempotency-Key': key }),
})
const REPLAYED = 'idempotency-replayed'

describe('[I25] a write of a view set with a key', () => {
  it('is done once, and answered as it was', async () => {
    const { send } = await serveViews({ books: Books })
    const first = await send('POST', '/books', { title: 'a' }, as('ann', 'k1'))
    const again = await send('POST', '/books', { title: 'a' }, as('ann', 'k1'))
    expect(first).toMatchObject({ status: 201, json: { title: 'a' } })
    expect(again.text).toBe(first.text)
    for (const name of [
      'location',
      'content-type',
      'content-length',
      'x-content-type-options',
      'cache-control',
      'vary',
    ]) {
      expect([name, again.headers[name]]).toEqual([name, first.headers[name]])
    }
    expect(again.status).toBe(201)
    expect(first.headers).not.toHaveProperty(REPLAYED)
    expect(again.headers[REPLAYED]).toBe('true')
    expect(await titles()).toEqual(['a'])
  })

  it('does what was to be done behind its commit once, also where a policy has asked for it', async () => {
    const done: string[] = []
    class Noted extends BasePermission {
      override hasPermission(_ctx: Context, view: APIView) {
        view.afterCommit(() => void done.push('policy'))
        return true
      }
    }
    class Told extends Books {
      static override permissionClasses: Permissions = [Noted]
      override async performCreate(serializer: Serializer) {
        this.afterCommit(() => void done.push('action'))
        return serializer.save()
      }
      override finalizeResponse() {
        super.finalizeResponse()
        this.afterCommit(() => void done.push('answer'))
      }
    }
    const { send } = await serveViews({ books: Told })
    for (const _ of [1, 2]) {
      expect((await send('POST', '/books', { title: 'a' }, as('ann', 'k1'))).status).toBe(201)
    }
    expect(done.toSorted()).toEqual(['action', 'answer', 'policy'])
  })

  it('is done each time without one', async () => {
    const { send } = await serveViews({ books: Books })
    for (const _ of [1, 2]) expect((await send('POST', '/books', { title: 'a' }, as('ann'))).status).toBe(201)
    expect(await titles()).toEqual(['a', 'a'])
    expect(await kept()).toEqual([])
  })

  it('is the same by what its body says, however that is written', async () => {
    const { send } = await serveViews({ books: Books })
    const body = { title: 'a', big: '9007199254740993', n: 1 }
    expect((await send('POST', '/books', body, as('ann', 'k'))).status).toBe(201)
    const turned = await send('POST', '/books', { n: 1, big: '9007199254740993', title: 'a' }, as('ann', 'k'))
    expect(turned).toMatchObject({ status: 201, headers: { [REPLAYED]: 'true' } })
    for (const other of [{ ...body, n: 2 }, { ...body, n: '1' }, { title: 'a' }, { ...body, x: null }]) {
      expect(await send('POST', '/books', other, as('ann', 'k'))).toMatchObject({
        status: 422,
        json: { detail: 'This Idempotency-Key was used for another request' },
      })
    }
    expect((await send('POST', '/books?expand=author', body, as('ann', 'k'))).status).toBe(422)
    expect(await titles()).toEqual(['a'])
  })

  it('is another where an action reads another file that multer has left', async () => {
    class Attaching extends Books {
      @action({ detail: false, methods: ['post'] })
      attach() {
        const { file } = this.ctx.request as unknown as { file: { buffer: Buffer } }
        return { read: String(file.buffer) }
      }
    }
    const multer: Koa.Middleware = async (ctx, next) => {
      for await (const _ of ctx.req);
      const file = { fieldname: 'file', originalname: 'a.txt', buffer: Buffer.from(ctx.get('X-File')) }
      Object.assign(ctx.request, { body: { title: 'a' }, file })
      await next()
    }
    const { port } = await serveViews({ books: Attaching }, multer)
    const attach = (content: string) => {
      const headers = { ...as('ann', 'k'), ...MULTIPART, 'X-File': content }
      return fetch(`http://127.0.0.1:${port}/books/attach`, { method: 'POST', headers, body: multipart() })
    }
    const answers = [await attach('one'), await attach('one'), await attach('two')]
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 422])
  })

  it('is the same for a key in quotes and without', async () => {
    const { send } = await serveViews({ books: Books })
    expect((await send('POST', '/books', { title: 'a' }, as('ann', 'k-1'))).status).toBe(201)
    for (const key of ['"k-1"', '"k-1";v=1', ' "k-1" ']) {
      expect((await send('POST', '/books', { title: 'a' }, as('ann', key))).headers[REPLAYED]).toBe('true')
    }
    expect(await titles()).toEqual(['a'])
  })

  it("is never answered by another caller's, nor by another route's or method's", async () => {
    const { send } = await serveViews({ books: Books, others: class Others extends Books {} })
    for (const [path, user] of [
      ['/books', 'ann'],
      ['/books', 'ben'],
      ['/others', 'ann'],
    ] as const) {
      const answer = await send('POST', path, { title: `${path} ${user}` }, as(user, 'k'))
      expect(answer).toMatchObject({ status: 201, json: { title: `${path} ${user}` } })
      expect(answer.headers).not.toHaveProperty(REPLAYED)
    }
    expect((await send('PATCH', '/books/1', { title: 'x' }, as('ann', 'k'))).headers).not.toHaveProperty(REPLAYED)
    expect((await send('PATCH', '/books/2', { title: 'x' }, as('ann', 'k'))).status).toBe(422)
  })

  it('is kept for updates and deletions, also of what is gone by then', async () => {
    await database.knex('books').insert({ title: 'a' })
    const { send } = await serveViews({ books: Books })
    const put = () => send('PUT', '/books/1', { title: 'b' }, as('ann', 'p'))
    const first = await put()
    await database.knex('books').update({ title: 'by hand' })
    expect(await put()).toMatchObject({ status: 200, text: first.text })
    const destroy = () => send('DELETE', '/books/1', undefined, as('ann', 'd'))
    expect(await destroy()).toMatchObject({ status: 204, text: '' })
    const gone = await destroy()
    expect(gone).toMatchObject({ status: 204, text: '', headers: { [REPLAYED]: 'true' } })
    expect(gone.headers).not.toHaveProperty('content-type')
    expect(await titles()).toEqual([])
  })

  it('is kept for bulk requests and nested objects', async () => {
    class AuthorSerializer extends ModelSerializer<Author> {
      static override model = Author
      static override fields = ['id', 'name', 'books']
      static override declaredFields = { books: new NestedSerializer(BookSerializer, { many: true }) }
    }
    class Authors extends ModelViewSet<Author> {
      static override model = Author
      static override serializerClass = AuthorSerializer
      static override permissionClasses: Permissions = [IsAuthenticated]
      static override authenticationClasses: Authentications = [ByName]
      static override idempotent = true
    }
    const { send } = await serveViews({ books: Books, authors: Authors })
    const bodies: [string, string, unknown][] = [
      ['POST', '/books/bulk', [{ title: 'a' }, { title: 'b' }]],
      ['PATCH', '/books/bulk', [{ id: 1, title: 'c' }]],
      ['DELETE', '/books/bulk', [2]],
      ['POST', '/authors', { name: 'Cleo', books: [{ title: 'd' }] }],
    ]
    for (const [method, path, body] of bodies) {
      const first = await send(method, path, body, as('ann', 'k'))
      expect(first.status).toBeLessThan(300)
      const again = await send(method, path, body, as('ann', 'k'))
      expect(again).toMatchObject({ status: first.status, text: first.text, headers: { [REPLAYED]: 'true' } })
    }
    expect(await titles()).toEqual(['c', 'd'])
    expect(await database.knex('authors').where('name', 'Cleo')).toHaveLength(1)
  })

  it('is kept with the ETag of the version that was written', async () => {
    class Counted extends Book {
      override $beforeUpdate() {
        this.n = Date.now() % 1_000_000_000
      }
    }
    class Titled extends ModelSerializer<Book> {
      static override model = Counted
      static override fields = ['id', 'title']
    }
    class Versioned extends Books {
      static override model = Counted
      static override serializerClass = Titled as never
      static override concurrency = 'n'
    }
    await database.knex('books').insert({ title: 'a' })
    const { send, get } = await serveViews({ books: Versioned })
    const { etag } = (await get('/books/1')).headers
    const headers = { ...as('ann', 'k'), 'If-Match': etag }
    const first = await send('PATCH', '/books/1', { title: 'b' }, headers)
    expect(first.headers.etag).toMatch(/^"/)
    await database.knex('books').update({ n: 7 })
    // the condition was one of the write that was done
    expect(await send('PATCH', '/books/1', { title: 'b' }, headers)).toMatchObject({
      status: 200,
      headers: { etag: first.headers.etag, [REPLAYED]: 'true' },
    })
  })

  it('has its work after the commit done once', async () => {
    const done: string[] = []
    class Telling extends Books {
      override async performCreate(serializer: Serializer<Book>) {
        this.afterCommit(() => done.push('told'))
        await serializer.save()
      }
    }
    const { send } = await serveViews({ books: Telling })
    for (const _ of [1, 2, 3]) expect((await send('POST', '/books', { title: 'a' }, as('ann', 'k'))).status).toBe(201)
    await vi.waitFor(() => expect(done).toEqual(['told']))
    await delay(20)
    expect(done).toEqual(['told'])
  })

  it('is not kept where it is refused, and can be sent again then', async () => {
    let fails = true
    class Failing extends Books {
      static override responses = { 409: 'Busy.' }
      override async performCreate(serializer: Serializer<Book>) {
        await serializer.save()
        if (fails) throw new Error('away')
      }
    }
    const { send } = await serveViews({ books: Failing })
    const post = (body: object) => send('POST', '/books', body, as('ann', 'k'))
    expect((await post({})).status).toBe(400)
    expect((await post({ title: 'a', author_id: 999 })).status).toBe(400)
    expect((await post({ title: 'a' })).status).toBe(500)
    expect(await kept()).toEqual([])
    fails = false
    expect((await post({ title: 'a' })).status).toBe(201)
    expect(await titles()).toEqual(['a'])
  })

  it('is answered in the form of the first time, and never with its cookies', async () => {
    class Formats extends Books {
      static override rendererClasses = [JSONRenderer, CSVRenderer]
      override finalizeResponse() {
        super.finalizeResponse()
        this.ctx.set('X-Request', this.ctx.get('X-Request'))
      }
      override async performCreate(serializer: Serializer<Book>) {
        this.ctx.cookies.set('session', 'secret')
        await serializer.save()
      }
    }
    const { send } = await serveViews({ books: Formats })
    const first = await send(
      'POST',
      '/books',
      { title: 'a' },
      { ...as('ann', 'k'), Accept: 'text/csv', 'X-Request': '1' },
    )
    expect(first.headers['set-cookie']).toHaveLength(1)
    const again = await send('POST', '/books', { title: 'a' }, { ...as('ann', 'k'), 'X-Request': '2' })
    expect(again.text).toBe(first.text)
    expect(again.headers['content-type']).toBe('text/csv; charset=utf-8')
    expect(again.headers['content-disposition']).toBe(first.headers['content-disposition'])
    expect(again.headers).not.toHaveProperty('set-cookie')
    expect(again.headers['x-request']).toBe('2')
  })

  it('is of actions that say so', async () => {
    let calls = 0
    class Acting extends Books {
      static override idempotent = false
      static override responses = { 202: 'Paid.' }
      @action({ methods: ['POST'], idempotent: 'required' })
      async pay() {
        calls++
        await this.trx?.('books').insert({ title: `paid ${calls}` })
        this.ctx.status = 202
        return { paid: calls }
      }
    }
    const { send } = await serveViews({ books: Acting })
    for (const _ of [1, 2]) {
      expect(await send('POST', '/books/pay', {}, as('ann', 'k'))).toMatchObject({ status: 202, json: { paid: 1 } })
      // whose view set does not
      expect((await send('POST', '/books', { title: 'a' }, as('ann', 'k'))).headers).not.toHaveProperty(REPLAYED)
    }
    expect((await send('POST', '/books/pay', {}, as('ann'))).status).toBe(400)
    expect(await titles()).toEqual(['paid 1', 'a', 'a'])
  })

  it('is the same for the bytes of its files, whatever the boundary', async () => {
    const Photo = tableOf('photos')
    await database.knex.raw('create table if not exists photos (id serial primary key, name text, file text)')
    Photo.knex(database.knex)
    const saved: string[] = []
    const storage = {
      save: async () => `key-${saved.push('file')}`,
      delete: async () => {},
      url: (key: string) => `/files/${key}`,
    }
    class PhotoSerializer extends ModelSerializer {
      static override model = Photo
      static override fields = ['id', 'name', 'file']
      static override declaredFields = { file: new FileUploadField({ storage }) }
    }
    class Photos extends ModelViewSet {
      static override model = Photo
      static override serializerClass = PhotoSerializer
      static override authenticationClasses: Authentications = [ByName]
      static override permissionClasses: Permissions = [IsAuthenticated]
      static override idempotent = true
    }
    const { port } = await serveViews({ photos: Photos })
    const upload = async (content: string, boundary: string) => {
      const form = [
        `--${boundary}\r\nContent-Disposition: form-data; name="name"\r\n\r\nBerlin\r\n`,
        `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="b.txt"\r\nContent-Type: text/plain\r\n\r\n${content}\r\n`,
        `--${boundary}--\r\n`,
      ].join('')
      const answer = await fetch(`http://127.0.0.1:${port}/photos`, {
        method: 'POST',
        headers: { ...as('ann', 'k'), 'Content-Type': `multipart/form-data; boundary=${boundary}` },
        body: form,
      })
      return { status: answer.status, replayed: answer.headers.get(REPLAYED), text: await answer.text() }
    }
    const first = await upload('one', 'a1')
    expect(first).toMatchObject({ status: 201, replayed: null })
    expect(await upload('one', 'b2')).toEqual({ ...first, replayed: 'true' })
    expect((await upload('two', 'a1')).status).toBe(422)
    expect(saved).toHaveLength(1)
  })
})

describe('[I25] a key', () => {
  const refusals: [string, Record<string, string>, string][] = [
    ['empty', { 'Idempotency-Key': '' }, 'Malformed Idempotency-Key'],
    ['an empty string', { 'Idempotency-Key': '""' }, 'Malformed Idempotency-Key'],
    ['with a space', { 'Idempotency-Key': 'a b' }, 'Malformed Idempotency-Key'],
    ['a list', { 'Idempotency-Key': '"a", "b"' }, 'Malformed Idempotency-Key'],
    ['without its end', { 'Idempotency-Key': '"a' }, 'Malformed Idempotency-Key'],
    ['with a wrong escape', { 'Idempotency-Key': '"a\\b"' }, 'Malformed Idempotency-Key'],
    ['of other letters', { 'Idempotency-Key': 'sch\u00f6n' }, 'Malformed Idempotency-Key'],
    ['too long', { 'Idempotency-Key': 'x'.repeat(256) }, 'Idempotency-Key has more than 255 characters'],
    [
      'too long in quotes',
      { 'Idempotency-Key': `"${'x'.repeat(256)}"` },
      'Idempotency-Key has more than 255 characters',
    ],
  ]
  it.each(refusals)('that is %s is refused with 400', async (_what, headers, detail) => {
    const { send } = await serveViews({ books: Books })
    expect(await send('POST', '/books', { title: 'a' }, { ...as('ann'), ...headers })).toMatchObject({
      status: 400,
      json: { detail },
    })
    expect(await titles()).toEqual([])
  })

  it('may have 255 characters', async () => {
    const { send } = await serveViews({ books: Books })
    expect((await send('POST', '/books', { title: 'a' }, as('ann', `"${'x'.repeat(255)}"`))).status).toBe(201)
  })

  it('that is sent twice is refused with 400, also where both are the same', async () => {
    const { send } = await serveViews({ books: Books })
    const headers = { ...as('ann'), 'Idempotency-Key': ['a', 'a'] as never }
    expect(await send('POST', '/books', { title: 'a' }, headers)).toMatchObject({
      status: 400,
      json: { detail: 'Idempotency-Key must be sent once' },
    })
  })

  it('that is required and missing is refused with 400, before the body is read', async () => {
    class Requiring extends Books {
      static override idempotent = 'required' as const
    }
    await database.knex('books').insert({ title: 'a' })
    const { send } = await serveViews({ books: Requiring })
    for (const method of ['POST', 'PATCH']) {
      const path = method === 'POST' ? '/books' : '/books/1'
      expect(await send(method, path, { title: '' }, as('ann'))).toMatchObject({
        status: 400,
        json: { detail: 'Idempotency-Key is required' },
      })
    }
    // which are the same however often they are sent
    expect((await send('PUT', '/books/1', { title: 'b' }, as('ann'))).status).toBe(200)
    expect((await send('DELETE', '/books/1', undefined, as('ann'))).status).toBe(204)
    expect((await send('GET', '/books')).status).toBe(200)
  })

  it('means nothing to requests that read, nor where nobody asks for it', async () => {
    const { send } = await serveViews({
      books: Books,
      plain: class Plain extends Books {
        static override idempotent = false
      },
    })
    expect((await send('GET', '/books', undefined, as('ann', 'a b'))).status).toBe(200)
    expect((await send('POST', '/plain', { title: 'a' }, as('ann', 'a b'))).status).toBe(201)
  })
})

describe('[I25] before a kept answer', () => {
  it('credentials and permissions are asked again', async () => {
    let lets = true
    class Fickle extends IsAuthenticated {
      override hasPermission(ctx: Context) {
        return super.hasPermission(ctx) && lets
      }
    }
    class Guarded extends Books {
      static override permissionClasses: Permissions = [Fickle]
    }
    const { send } = await serveViews({ books: Guarded })
    const post = (user: string) => send('POST', '/books', { title: 'a' }, as(user, 'k'))
    expect((await post('ann')).status).toBe(201)
    expect((await send('POST', '/books', { title: 'a' }, { 'Idempotency-Key': 'k' })).status).toBe(401)
    lets = false
    expect((await post('ann')).status).toBe(403)
    lets = true
    expect((await post('ann')).headers[REPLAYED]).toBe('true')
  })

  it('throttles count each request', async () => {
    class Throttled extends Books {
      static override throttleClasses = [new UserRateThrottle({ rate: '2/minute' })]
    }
    const { send } = await serveViews({ books: Throttled })
    const statuses: number[] = []
    for (const _ of [1, 2, 3]) statuses.push((await send('POST', '/books', { title: 'a' }, as('ann', 'k'))).status)
    expect(statuses).toEqual([201, 201, 429])
  })
})

describe('[I25] requests with one key at the same time', () => {
  it('do the work once: the others are refused at once, and get its answer later', async () => {
    let release = () => {}
    const gate = new Promise<void>((resolve) => (release = resolve))
    class Slow extends Books {
      override async performCreate(serializer: Serializer<Book>) {
        await gate
        await serializer.save()
      }
    }
    const { send } = await serveViews({ books: Slow })
    const post = () => send('POST', '/books', { title: 'a' }, as('ann', 'k'))
    const first = post()
    await delay(50)
    const refused = await post()
    expect(refused).toMatchObject({
      status: 409,
      headers: { 'retry-after': '1' },
      json: { detail: 'A request with this Idempotency-Key is being processed' },
    })
    release()
    const done = await first
    expect(done.status).toBe(201)
    expect((await post()).text).toBe(done.text)
    expect(await titles()).toEqual(['a'])
  })

  it('are 20, each tried again on 409: one row, and 20 equal answers', async () => {
    const { send } = await serveViews({ books: Books })
    const post = async () => {
      for (;;) {
        const answer = await send('POST', '/books', { title: 'a' }, as('ann', 'k'))
        if (answer.status !== 409) return answer
      }
    }
    const answers = await Promise.all(Array.from({ length: 20 }, post))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(answers.filter(({ headers }) => headers[REPLAYED] === undefined)).toHaveLength(1)
    expect(await titles()).toEqual(['a'])
  })
})

describe('[I25] what cannot be kept', () => {
  beforeEach(() => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    onTestFinished(() => warned.mockRestore())
  })

  it('is not done twice: who sends the key again is told so', async () => {
    configure({ idempotencyMaxAnswer: 100, secretKey: 'x'.repeat(16) })
    onTestFinished(() => configure({}))
    const { send } = await serveViews({ books: Books })
    const post = () => send('POST', '/books', { title: 'a'.repeat(200) }, as('ann', 'k'))
    expect((await post()).status).toBe(201)
    expect(await post()).toMatchObject({
      status: 409,
      json: { detail: 'The request was carried out, and its answer was not kept' },
    })
    expect(await titles()).toHaveLength(1)
    expect(process.emitWarning).toHaveBeenCalledWith(expect.stringMatching(/is too large/), {
      code: 'KOA_VIEWSETS_IDEMPOTENCY',
    })
  })
})

describe('[I25] answers of one caller', () => {
  it('are kept up to a bound, beyond which their keys alone are; those of others count for themselves', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    configure({ idempotencyMaxCaller: 12_000, secretKey: 'x'.repeat(16) })
    onTestFinished(() => {
      warned.mockRestore()
      configure({})
    })
    const { send } = await serveViews({ books: Books })
    const post = (caller: string, key: string, length = 5_000) =>
      send('POST', '/books', { title: 'a'.repeat(length) }, as(caller, key))
    for (const key of ['k1', 'k2', 'k3']) expect((await post('ann', key)).status).toBe(201)
    const again = [await post('ann', 'k1'), await post('ann', 'k2'), await post('ann', 'k3')]
    expect(again.map(({ status }) => status)).toEqual([201, 201, 409])
    expect(again.map(({ headers }) => headers[REPLAYED])).toEqual(['true', 'true', undefined])
    // what is small is kept, and so is what another caller is answered
    for (const [caller, key, length] of [
      ['ann', 'k4', 10],
      ['bob', 'k1', 5_000],
    ] as const) {
      await post(caller, key, length)
      expect((await post(caller, key, length)).headers[REPLAYED]).toBe('true')
    }
    expect(await titles()).toHaveLength(5)
  })
})

describe('[I25] an answer that is not there to be kept', () => {
  beforeEach(() => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    onTestFinished(() => warned.mockRestore())
  })

  class Sending extends Books {
    @action({ methods: ['POST'] })
    async stream() {
      await this.trx?.('books').insert({ title: 'streamed' })
      this.ctx.type = 'text/plain'
      this.ctx.body = Readable.from(['a', 'b'])
    }
    @action({ methods: ['POST'] })
    async returned() {
      await this.trx?.('books').insert({ title: 'returned' })
      this.ctx.type = 'text/plain'
      return Readable.from(['a', 'b'])
    }
    @action({ methods: ['POST'] })
    async self() {
      await this.trx?.('books').insert({ title: 'sent' })
      this.ctx.respond = false
      this.ctx.res.end('sent by itself')
    }
  }

  it.each([
    ['stream', 'ab', 'streamed'],
    ['returned', 'ab', 'returned'],
    ['self', 'sent by itself', 'sent'],
  ])('as it is %s: its write is done once', async (path, text, title) => {
    const { port } = await serveViews({ books: Sending })
    const post = async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/books/${path}`, { method: 'POST', headers: as('ann', 'k') })
      return [answer.status, await answer.text()]
    }
    expect(await post()).toEqual([200, text])
    const kept = async () => {
      const [status, body] = await post()
      expect([status, JSON.parse(body as string).detail]).toEqual([
        409,
        'The request was carried out, and its answer was not kept',
      ])
    }
    // the client has the answer before the transaction has ended, where the action sends it by itself
    await vi.waitFor(kept)
    expect(await titles()).toEqual([title])
  })
})

it.skipIf(runsAsRole())(
  '[I25] a table that is taken away meanwhile is a fault of the server, whoever asks',
  async () => {
    const { send, reported } = await serveViews({ books: Books })
    expect((await send('POST', '/books', { title: 'a' }, as('ann', 'k'))).status).toBe(201)
    await database.knex.raw('alter table koa_viewsets_idempotency rename to taken')
    onTestFinished(() => database.knex.raw('alter table taken rename to koa_viewsets_idempotency').then(() => {}))
    expect((await send('POST', '/books', { title: 'a' }, as('ann', 'k'))).status).toBe(500)
    expect(reported).toEqual([expect.any(ConfigurationError)])
    expect(await titles()).toEqual(['a'])
  },
)

describe('[I25] the time of an answer', () => {
  it('ends, and then the write is done anew', async () => {
    const { send } = await serveViews({ books: Books })
    const post = () => send('POST', '/books', { title: 'a' }, as('ann', 'k'))
    expect((await post()).status).toBe(201)
    const [{ expires_at, created_at }] = await kept()
    expect(Math.round((expires_at - created_at) / 1000)).toBe(86_400)
    await database.knex('koa_viewsets_idempotency').update({ expires_at: database.knex.raw(`now() - interval '1 s'`) })
    const again = await post()
    expect(again.headers).not.toHaveProperty(REPLAYED)
    expect(again.json.id).toBe(2)
    expect((await post()).json.id).toBe(2)
    expect(await kept()).toHaveLength(1)
  })

  it('is a setting', async () => {
    configure({ idempotencyTtl: 60 })
    onTestFinished(() => configure({}))
    const { send } = await serveViews({ books: Books })
    expect((await send('POST', '/books', { title: 'a' }, as('ann', 'k'))).status).toBe(201)
    const [{ expires_at, created_at }] = await kept()
    expect(Math.round((expires_at - created_at) / 1000)).toBe(60)
  })
})

describe('[I25] callers', () => {
  const anonymous = (statics: object) => {
    class Open extends ModelViewSet<Book> {
      static override model = Book
      static override serializerClass = BookSerializer
      static override idempotent = true
    }
    return Object.assign(Open, statics)
  }

  it('[I23] that nobody tells apart are an error of the programmer', () => {
    expect(() => new APIRouter().register('books', anonymous({}))).toThrow(
      new ConfigurationError(
        'Open: idempotent needs to know whose key it is, and anybody may write; add a permission such as IsAuthenticatedOrReadOnly, or tell callers apart by static idempotencyScope',
      ),
    )
    expect(() => new APIRouter().register('books', anonymous({ idempotent: 'always' }))).toThrow(ConfigurationError)
    expect(() => new APIRouter().register('books', anonymous({ idempotencyScope: 'ip' }))).toThrow(ConfigurationError)
    const scoped = { idempotencyScope: () => 'x', atomic: false }
    expect(() => new APIRouter().register('books', anonymous(scoped))).toThrow(
      new ConfigurationError('Open: idempotent keeps answers in the transaction; leave out atomic: false'),
    )
  })

  it('are told apart by idempotencyScope where they have no user', async () => {
    const scope: IdempotencyScope = (ctx) => ctx.get('X-Terminal')
    const { send } = await serveViews({ books: anonymous({ idempotencyScope: scope }) })
    const post = (terminal: string) =>
      send('POST', '/books', { title: terminal }, { 'X-Terminal': terminal, 'Idempotency-Key': 'k' })
    expect((await post('t1')).headers).not.toHaveProperty(REPLAYED)
    expect((await post('t2')).headers).not.toHaveProperty(REPLAYED)
    expect((await post('t1')).headers[REPLAYED]).toBe('true')
  })

  it.each<[string, unknown]>([
    ['an object', { tenant: 1 }],
    ['NaN', Number.NaN],
    ['a boolean', true],
  ])('are never one by what several have alike: %s', async (kind, scope) => {
    const { send, reported } = await serveViews({ books: anonymous({ idempotencyScope: () => scope as string }) })
    expect((await send('POST', '/books', { title: 'a' }, { 'Idempotency-Key': 'k' })).status).toBe(500)
    expect(reported).toMatchObject([{ message: expect.stringContaining(`idempotency keys is ${kind}, by which no`) }])
  })

  it('that are nobody are refused with 401, and the operator is warned once', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    onTestFinished(() => warned.mockRestore())
    const { send } = await serveViews({ books: anonymous({ idempotencyScope: () => null }) })
    for (const _ of [1, 2]) {
      expect((await send('POST', '/books', { title: 'a' }, { 'Idempotency-Key': 'k' })).status).toBe(401)
    }
    expect((await send('POST', '/books', { title: 'a' })).status).toBe(201)
    expect(warned).toHaveBeenCalledOnce()
  })
})

describe('[I23] the table of kept answers', () => {
  const elsewhere = async (schema = '') => {
    const other = await createDatabase({ schema: LIBRARY + schema })
    onTestFinished(() => other.drop())
    return other
  }

  it('that is missing is a ConfigurationError of prepare(), which names the call', async () => {
    const other = await elsewhere()
    const api = new APIRouter().register('books', Books)
    await expect(api.prepare({ knex: other.knex })).rejects.toThrow(
      `Books: idempotent: answers are kept in the table "koa_viewsets_idempotency", which is not there; await ensureIdempotencyTable(knex), from 'koa-viewsets/idempotency', before prepare()`,
    )
    await ensureIdempotencyTable(other.knex)
    await ensureIdempotencyTable(other.knex)
    await api.prepare({ knex: other.knex })
  })

  it.skipIf(runsAsRole())('is swept where a view writes in transactions of a middleware', async () => {
    class Inside extends Books {
      override getKnex() {
        return this.ctx.state['trx'] as Knex
      }
    }
    const other = await elsewhere()
    await ensureIdempotencyTable(other.knex)
    const api = new APIRouter().register('books', Inside)
    await api.prepare({ knex: other.knex })
    const { send } = await serveApp(transaction(other.knex), api.routes() as Koa.Middleware)
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    expect((await send('POST', '/books', { title: 'a' }, as('ann', 'k'))).status).toBe(201)
    await other.knex('koa_viewsets_idempotency').update({ expires_at: other.knex.raw("now() - interval '1 s'") })
    vi.advanceTimersByTime(60_000)
    await vi.waitFor(async () => expect(await other.knex('koa_viewsets_idempotency')).toEqual([]))
    stopSweeping()
  })

  it.skipIf(runsAsRole())('is that of the tenant whose schema a transaction of a middleware names', async () => {
    class Inside extends Books {
      override getKnex() {
        return this.ctx.state['trx'] as Knex
      }
    }
    const other = await elsewhere()
    const inSchema = (schema: string, work: (trx: Knex.Transaction) => Promise<unknown>) =>
      other.knex.transaction(async (trx) => {
        await trx.raw('set local search_path to ??', [schema])
        await work(trx)
      })
    for (const schema of ['one', 'two']) {
      await other.knex.raw('create schema ??; create table ??.books (like books including all)', [schema, schema])
      await inSchema(schema, ensureIdempotencyTable)
    }
    const api = new APIRouter().register('books', Inside)
    await api.prepare({ knex: other.knex })
    const tenant: Koa.Middleware = (ctx, next) =>
      inSchema(ctx.get('X-Tenant'), async (trx) => {
        ctx.state['trx'] = trx
        await next()
      })
    const { send } = await serveApp(tenant, api.routes() as Koa.Middleware)
    for (const schema of ['one', 'two', 'two']) {
      const headers = { ...as('ann', 'k'), 'X-Tenant': schema }
      expect((await send('POST', '/books', { title: 'a' }, headers)).status).toBe(201)
    }
    expect(await other.knex('one.books').unionAll([other.knex('two.books')])).toHaveLength(2)
    expect(await other.knex('two.koa_viewsets_idempotency')).toHaveLength(1)
    stopSweeping()
  })

  it('is checked with its settings, also those of the environment', async () => {
    vi.stubEnv('IDEMPOTENCY_TTL', 'a day')
    onTestFinished(() => void vi.unstubAllEnvs())
    await expect(new APIRouter().register('books', Books).prepare()).rejects.toThrow(
      'IDEMPOTENCY_TTL is "a day": give a whole number of at least 1',
    )
  })

  it('has its indexes, however long its name is', async () => {
    const table = 'o'.repeat(63)
    configure({ idempotencyTable: table })
    onTestFinished(() => configure({}))
    const other = await elsewhere()
    await ensureIdempotencyTable(other.knex)
    const { rows } = await other.knex.raw('select count(*)::int as n from pg_indexes where tablename = ?', [table])
    expect(rows).toEqual([{ n: 3 }])
  })

  it('is made once by processes that start together, in a schema of its own where it is named so', async () => {
    configure({ idempotencyTable: 'api.once' })
    onTestFinished(() => configure({}))
    const other = await elsewhere('create schema api')
    await Promise.all([1, 2, 3, 4].map(() => ensureIdempotencyTable(other.knex)))
    expect((await other.knex.raw('select count(*)::int as n from api.once')).rows).toEqual([{ n: 0 }])
    expect(() => configure({ idempotencyTable: 'a"b' })).toThrow(ConfigurationError)
    expect(() => configure({ idempotencyTtl: 0 })).toThrow(ConfigurationError)
  })
})

describe.skipIf(runsAsRole())('[I25] idempotency() on a hand-written route', () => {
  let calls = 0
  beforeEach(() => {
    calls = 0
  })
  const handler = async (ctx: Koa.Context) => {
    calls++
    const { title } = ctx.request.body as { title: string }
    await ctx.state['trx']('books').insert({ title })
    ctx['afterCommit'](() => {})
    if (title === 'refused') ctx.throw(409, 'No.')
    ctx.status = 201
    ctx.set('Location', '/books/1')
    ctx.body = { title, calls }
  }
  const served = (...middleware: Koa.Middleware[]): Promise<Client> => {
    const router = new Router()
    router.post('/pay', ...(middleware as never[]), handler)
    return serveApp(errors(), router.routes() as Koa.Middleware)
  }
  const guard = [authentication(ByName), permissions(IsAuthenticated)]

  it.each<[string, Koa.Middleware[]]>([
    ['a body that it reads itself', []],
    ['koa-body', [koaBody({ multipart: true })]],
    ['contentNegotiation()', [contentNegotiation()]],
  ])('does the work once, behind %s', async (_what, before) => {
    const { send } = await served(...guard, ...before, idempotency(database.knex))
    const first = await send('POST', '/pay', { title: 'a' }, as('ann', 'k'))
    expect(first).toMatchObject({ status: 201, json: { title: 'a', calls: 1 }, headers: { location: '/books/1' } })
    const again = await send('POST', '/pay', { title: 'a' }, as('ann', 'k'))
    expect(again.headers).toMatchObject({ location: '/books/1', [REPLAYED]: 'true' })
    expect(again.headers['content-type']).toBe(first.headers['content-type'])
    expect([again.status, again.text]).toEqual([201, first.text])
    expect((await send('POST', '/pay', { title: 'b' }, as('ann', 'k'))).status).toBe(422)
    expect((await send('POST', '/pay', { title: 'a' }, as('ben', 'k'))).json).toEqual({ title: 'a', calls: 2 })
    expect(await titles()).toEqual(['a', 'a'])
  })

  it('is of no body that it cannot see: the application is told who has read it', async () => {
    const raw: Koa.Middleware = async (ctx, next) => {
      for await (const _ of ctx.req);
      await next()
    }
    const { send, reported } = await served(...guard, raw, idempotency(database.knex))
    expect((await send('POST', '/pay', { title: 'a' }, as('ann', 'k'))).status).toBe(500)
    expect(reported).toEqual([new Error('Something has read the request body and left no ctx.request.body')])
    expect(calls).toBe(0)
  })

  it('is a transaction without a key, too, and keeps nothing that was refused', async () => {
    const { send } = await served(...guard, koaBody(), idempotency(database.knex))
    expect((await send('POST', '/pay', { title: 'refused' }, as('ann'))).status).toBe(409)
    expect((await send('POST', '/pay', { title: 'refused' }, as('ann', 'k'))).status).toBe(409)
    expect(await titles()).toEqual([])
    expect(await kept()).toEqual([])
  })

  it('does the work once where a middleware around it answers', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    onTestFinished(() => warned.mockRestore())
    const router = new Router()
    const around: Koa.Middleware = async (ctx, next) => {
      await next()
      if (ctx.state['paid']) ctx.body = ctx.state['paid']
    }
    router.post('/pay', ...(guard as never[]), around as never, idempotency(database.knex) as never, async (ctx) => {
      await ctx.state['trx']('books').insert({ title: 'a' })
      ctx.state['paid'] = { paid: true }
    })
    const { send } = await serveApp(errors(), router.routes() as Koa.Middleware)
    expect(await send('POST', '/pay', {}, as('ann', 'k'))).toMatchObject({ status: 200, json: { paid: true } })
    expect(await send('POST', '/pay', {}, as('ann', 'k'))).toMatchObject({
      status: 409,
      json: { detail: 'The request was carried out, and its answer was not kept' },
    })
    expect(await titles()).toEqual(['a'])
  })

  class Receipt {
    readonly title = 'a'
    total = 3
  }
  it.each<[string, unknown]>([
    ['an instance of a class', new Receipt()],
    ['a number', 3],
    ['a list', [new Receipt()]],
    ['an array of bytes', new Uint8Array([1, 2])],
  ])('keeps a body as Koa writes it: %s', async (_what, body) => {
    const router = new Router()
    router.post('/pay', ...(guard as never[]), idempotency(database.knex) as never, (ctx) => {
      calls++
      ctx.body = body
    })
    const { send } = await serveApp(errors(), router.routes() as Koa.Middleware)
    const [first, again] = [
      await send('POST', '/pay', {}, as('ann', 'k')),
      await send('POST', '/pay', {}, as('ann', 'k')),
    ]
    expect(first.status).toBe(200)
    expect(again).toMatchObject({ status: 200, text: first.text, headers: { [REPLAYED]: 'true' } })
    expect(again.headers['content-type']).toBe(first.headers['content-type'])
    expect(calls).toBe(1)
  })

  it('takes a merge patch for another request than plain data of the same text', async () => {
    const router = new Router()
    router.patch('/pay', ...(guard as never[]), idempotency(database.knex) as never, (ctx) => {
      ctx.body = { type: ctx.get('Content-Type') }
    })
    const parsers = [JSONParser, MergePatchParser]
    const { send } = await serveApp(errors(), contentNegotiation({ parsers }), router.routes() as Koa.Middleware)
    const patch = async (type: string) =>
      (await send('PATCH', '/pay', { a: null }, { ...as('ann', 'k'), 'Content-Type': type })).status
    const [json, merge] = ['application/json', 'application/merge-patch+json']
    expect([await patch(json), await patch(json), await patch(merge)]).toEqual([200, 200, 422])
  })

  it('keeps the headers that say how to read a body', async () => {
    const router = new Router()
    router.post('/pay', ...(guard as never[]), idempotency(database.knex) as never, (ctx) => {
      ctx.set({ 'Content-Encoding': 'gzip', 'Content-Location': '/receipts/1' })
      ctx.lastModified = new Date(0)
      ctx.type = 'json'
      ctx.body = gzipSync('{"paid":true}')
    })
    const { send } = await serveApp(errors(), router.routes() as Koa.Middleware)
    for (const _ of [1, 2]) {
      expect(await send('POST', '/pay', {}, as('ann', 'k'))).toMatchObject({
        json: { paid: true },
        headers: {
          'content-encoding': 'gzip',
          'content-location': '/receipts/1',
          'last-modified': 'Thu, 01 Jan 1970 00:00:00 GMT',
        },
      })
    }
  })

  it('refuses a key that is missing, malformed or of nobody, in the one envelope', async () => {
    const { send } = await served(authentication(ByName), idempotency(database.knex, { required: true }))
    expect((await send('POST', '/pay', { title: 'a' }, as('ann'))).status).toBe(400)
    expect((await send('POST', '/pay', { title: 'a' }, as('ann', 'a b'))).status).toBe(400)
    expect((await send('POST', '/pay', { title: 'a' }, { 'Idempotency-Key': 'k' })).status).toBe(401)
    expect(calls).toBe(0)
  })

  it('hashes files that koa-body has read, and no path that a client names', async () => {
    const { port } = await served(...guard, koaBody({ multipart: true }), idempotency(database.knex))
    const upload = async (content: string) => {
      const form = multipart({ name: 'title', content: 'a' }, { name: 'file', filename: 'a.txt', content })
      const answer = await fetch(`http://127.0.0.1:${port}/pay`, {
        method: 'POST',
        headers: { ...as('ann', 'f'), ...MULTIPART },
        body: new Uint8Array(form),
      })
      return answer.status
    }
    expect([await upload('one'), await upload('one'), await upload('two')]).toEqual([201, 201, 422])
    const { send } = await served(...guard, idempotency(database.knex))
    const body = { title: 'a', filepath: '/dev/zero', originalFilename: 'x', size: 1 }
    expect((await send('POST', '/pay', body, as('ann', 'z'))).status).toBe(201)
  })

  it.each<[string, (file: object) => object]>([
    ['one file', (file) => ({ file })],
    ['a list of files', (file) => ({ files: [file] })],
    ['files by name', (file) => ({ files: { file: [file] } })],
  ])('hashes what multer has left: %s, on the disk, in memory or in a store', async (_name, left) => {
    const directory = mkdtempSync(join(tmpdir(), 'multer-'))
    let count = 0
    const takenBy: Koa.Middleware = async (ctx, next) => {
      const pieces: Buffer[] = []
      for await (const piece of ctx.req) pieces.push(Buffer.from(piece))
      const content = Buffer.concat(pieces)
      const path = join(directory, String(++count))
      writeFileSync(path, content)
      const { size } = statSync(path)
      const kinds = { disk: { path, filename: count }, memory: { buffer: content }, store: { key: count } }
      const kind = kinds[ctx.get('X-Kind') as keyof typeof kinds]
      const file = { fieldname: 'file', originalname: 'a.txt', mimetype: 'text/plain', size, ...kind }
      Object.assign(ctx.request, { body: { title: 'a' }, ...left(file) })
      await next()
    }
    const { port } = await served(...guard, takenBy, idempotency(database.knex))
    const upload = async (kind: string, body: string) => {
      const headers = { ...as('ann', kind), ...MULTIPART, 'X-Kind': kind }
      return (await fetch(`http://127.0.0.1:${port}/pay`, { method: 'POST', headers, body })).status
    }
    for (const kind of ['disk', 'memory', 'store']) {
      const other = kind === 'store' ? 'three' : 'two'
      const statuses = [await upload(kind, 'one'), await upload(kind, 'one'), await upload(kind, other)]
      expect([kind, ...statuses]).toEqual([kind, 201, 201, 422])
    }
  })

  it('refuses a body that is too deep for it, whoever has read that', async () => {
    const { port } = await served(...guard, koaBody({ jsonLimit: '10mb' }), idempotency(database.knex))
    const answer = await fetch(`http://127.0.0.1:${port}/pay`, {
      method: 'POST',
      headers: { ...as('ann', 'k'), 'Content-Type': 'application/json' },
      body: `{"title":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
    })
    expect(answer.status).toBe(400)
    expect(await answer.json()).toEqual({ detail: 'Request body is nested too deeply', status: 400 })
  })

  it('[I23] refuses what is no knex, and options that are none', () => {
    expect(() => idempotency({} as never)).toThrow(new ConfigurationError('idempotency(knex): give a knex instance'))
    expect(() => idempotency(database.knex, { required: 'yes' as never })).toThrow(ConfigurationError)
    expect(() => idempotency(database.knex, { ttl: 1 } as never)).toThrow(ConfigurationError)
  })

  it.each([
    ['POST', '/books'],
    ['PATCH', '/books/1'],
  ])(
    '[I23] tells the application where %s %s is asked twice, in the transaction of the first',
    async (method, path) => {
      class Inside extends Books {
        override getKnex() {
          return this.ctx.state['trx'] as Knex
        }
      }
      await Book.query().insert({ title: 'a' })
      const api = new APIRouter().register('books', Inside)
      await api.prepare()
      const routes = api.routes() as Koa.Middleware
      const { send, reported } = await serveApp(errors(), ...guard, idempotency(database.knex), routes)
      expect((await send(method, path, { title: 'b' }, as('ann', 'k'))).status).toBe(500)
      expect(reported).toEqual([expect.any(ConfigurationError)])
      expect(await titles()).toEqual(['a'])
    },
  )

  it('[I23] tells the application where it is asked twice, in place of 409 for ever', async () => {
    const once = idempotency(database.knex)
    const client = await served(...guard, once, idempotency(database.knex))
    const answer = await client.send('POST', '/pay', { title: 'a' }, as('ann', 'k'))
    expect([answer.status, await titles()]).toEqual([500, []])
    expect(client.reported).toEqual([
      new ConfigurationError(
        'idempotent: idempotency() stands around a route that takes keys itself; leave one of them out',
      ),
    ])
    expect((await client.send('POST', '/pay', { title: 'a' }, { 'X-User': 'ann' })).status).toBe(201)
  })

  it.skipIf(runsAsRole())('is a savepoint in transaction(), and kept with it', async () => {
    const { send } = await served(...guard, transaction(database.knex), async (ctx, next) => {
      const { trx } = ctx.state
      await idempotency(trx)(ctx, next)
      // which goes on
      expect(ctx.state['trx']).toBe(trx)
      await trx.raw('select 1')
    })
    for (const _ of [1, 2]) expect((await send('POST', '/pay', { title: 'a' }, as('ann', 'k'))).status).toBe(201)
    expect(await titles()).toEqual(['a'])
  })
})

describe.skipIf(runsAsRole())('[I25] with a database role', () => {
  it('answers are kept by the login, and no role of callers sees them', async () => {
    const role = `caller_${Date.now()}`
    await database.knex.raw(
      `create role ${role}; grant select, insert on books to ${role}; grant usage on all sequences in schema public to ${role}`,
    )
    onTestFinished(async () => {
      await database.knex.raw(`drop owned by ${role}; drop role ${role}`)
    })
    let seen: unknown
    class Roled extends Books {
      static override databaseRole = role
      static override databaseSettings = { 'app.user': 'ann', search_path: 'public' }
      override async performCreate(serializer: Serializer<Book>) {
        const { rows } = await (this.trx as NonNullable<typeof this.trx>).raw(
          'select current_user, current_setting(?) as own',
          ['app.user'],
        )
        seen = rows[0]
        await serializer.save()
        const table = this.trx?.transaction((inner) => inner('koa_viewsets_idempotency').select())
        await expect(table).rejects.toThrow(/permission denied/)
      }
    }
    const { send } = await serveViews({ books: Roled })
    const first = await send('POST', '/books', { title: 'a' }, as('ann', 'k'))
    expect(first.status).toBe(201)
    expect(seen).toEqual({ current_user: role, own: 'ann' })
    expect(await send('POST', '/books', { title: 'a' }, as('ann', 'k'))).toMatchObject({
      status: 201,
      text: first.text,
      headers: { [REPLAYED]: 'true' },
    })
    expect(await titles()).toEqual(['a'])
  })

  it('a user of the same id in another tenant never gets the answer, unless the application tells them apart', async () => {
    class Tenants extends Books {
      static override databaseSettings = (ctx: Context) => ({ 'app.tenant': ctx.get('X-Tenant') })
    }
    class Scoped extends Tenants {
      static override idempotencyScope: IdempotencyScope = (ctx) => `${ctx.get('X-Tenant')} ${ctx.get('X-User')}`
    }
    const { send } = await serveViews({ books: Tenants, scoped: Scoped })
    const post = (path: string, tenant: string) =>
      send('POST', path, { title: 'a' }, { ...as('1', 'k'), 'X-Tenant': tenant })
    expect((await post('/books', 'north')).status).toBe(201)
    expect((await post('/books', 'south')).status).toBe(422)
    expect((await post('/books', 'north')).headers[REPLAYED]).toBe('true')
    expect((await post('/scoped', 'north')).headers).not.toHaveProperty(REPLAYED)
    expect((await post('/scoped', 'south')).headers).not.toHaveProperty(REPLAYED)
  })
})

describe('[P12] the document', () => {
  it('has the header, its refusals, and what says that an answer was kept', async () => {
    class Requiring extends Books {
      static override idempotent = 'required' as const
    }
    const api = new APIRouter().register('books', Requiring)
    await api.prepare()
    const document = api.getSchema()
    const { paths, components } = document
    const parameterOf = (path: string, method: string) =>
      operationOf(document, path, method).parameters?.find(({ name }) => name === 'Idempotency-Key')
    expect(parameterOf('/books', 'post')).toMatchObject({ in: 'header', required: true })
    expect(parameterOf('/books/{id}', 'patch')).toMatchObject({ required: true })
    expect(parameterOf('/books/{id}', 'put')).toMatchObject({ required: false })
    expect(parameterOf('/books/bulk', 'delete')).toMatchObject({ required: false })
    expect(parameterOf('/books', 'get')).toBeUndefined()
    const responses = paths['/books']?.['post']?.responses ?? {}
    expect(Object.keys(responses)).toEqual(expect.arrayContaining(['201', '400', '401', '409', '422']))
    expect(responses['201']).toMatchObject({ headers: { 'Idempotency-Replayed': {} } })
    expect(components?.responses).toHaveProperty('UnprocessableContent')
  })

  it('and explain() say what holds', async () => {
    const api = new APIRouter().register('books', Books)
    const [create] = await api.explain('book-create')
    expect(create?.idempotency).toBe(
      'Idempotency-Key taken, one transaction with it; callers by the id of ctx.state.user',
    )
    const [list] = await api.explain('book-list')
    expect(list?.idempotency).toBeNull()
  })
})

it('[I25] a view without a model answers once, by its getKnex()', async () => {
  class Pay extends APIView {
    static override authenticationClasses: Authentications = [ByName]
    static override permissionClasses: Permissions = [IsAuthenticated]
    static override idempotent = true
    override getKnex() {
      return database.knex
    }
    async post() {
      await this.trx?.('books').insert({ title: 'paid' })
      return { done: true }
    }
  }
  const { send } = await serveApp(Pay.asView())
  for (const _ of [1, 2]) expect((await send('POST', '/', {}, as('ann', 'k'))).json).toEqual({ done: true })
  expect(await titles()).toEqual(['paid'])
})
