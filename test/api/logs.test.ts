/** What is told to operators of a request: never a secret, never a line that a client has written (promises E4, I17). */
import { inspect } from 'node:util'
import type Koa from 'koa'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  APIKey,
  APIKeyAuthentication,
  createApiKeysTable,
  flushKeyUsage,
  generateApiKey,
  revokeApiKey,
} from '../../lib/api-keys/index.js'
import {
  APIRouter,
  type Authentications,
  BaseAuthentication,
  configure,
  FileUploadField,
  hashToken,
  IsAuthenticated,
  ModelSerializer,
  ModelViewSet,
  SessionAuthentication,
  TokenAuthentication,
} from '../../lib/index.js'
import { type MeteringEngine, MeteringMixin, setMeteringEngine, type UsageEvent } from '../../lib/metering/index.js'
import { DatabaseThrottle, DatabaseUserThrottle, RedisThrottle, RedisUserThrottle } from '../../lib/throttling/index.js'
import { cacheBust, errors } from '../../plugins/index.js'
import { type Client, serving } from '../support/client.js'
import type { TestDatabase } from '../support/database.js'
import { Book, BookSerializer, createLibrary, removeBooks } from '../support/library.js'
import { MULTIPART, multipart } from '../support/multipart.js'
import { connectTo } from '../support/server.js'

let database: TestDatabase
const clients: Client[] = []
/** All that a process has told: output, warnings, and error events with whatever hangs on them. */
let told: string[] = []

const hear = (warning: Error) => told.push(inspect(warning, { depth: null, showHidden: true }))

beforeAll(async () => {
  configure({ secretKey: 'kanarie of the secret key', cacheBustToken: 'kanarie-of-the-bust' })
  database = await createLibrary()
  APIKey.knex(database.knex)
  await createApiKeysTable()
  await DatabaseThrottle.ensureTable(database.knex)
  DatabaseThrottle.setBackend(database.knex)
})
beforeEach(async () => {
  told = []
  await removeBooks(database)
  await database.knex.raw('truncate koa_viewsets_throttles')
  process.on('warning', hear)
  for (const stream of [process.stdout, process.stderr]) {
    vi.spyOn(stream, 'write').mockImplementation((text) => told.push(String(text)) > 0)
  }
  for (const name of ['log', 'info', 'warn', 'error', 'debug', 'trace', 'dir'] as const) {
    vi.spyOn(console, name).mockImplementation(
      (...values: unknown[]) => void told.push(inspect(values, { depth: null })),
    )
  }
})
afterEach(async () => {
  process.removeListener('warning', hear)
  vi.restoreAllMocks()
  setMeteringEngine(null)
  for (const client of clients.splice(0)) await client.close()
})
afterAll(async () => {
  configure({})
  DatabaseThrottle.close()
  await database.drop()
})

async function serve(...middleware: Koa.Middleware[]): Promise<Client> {
  const client = await serving(...middleware)
  client.app.on('error', (error: unknown) => told.push(inspect(error, { depth: null, showHidden: true })))
  clients.push(client)
  return client
}

/** Warnings come in a turn of their own. */
const everything = async () => {
  await new Promise((resolve) => setImmediate(resolve))
  return told.join('\n')
}

describe('[E4] a secret', () => {
  class Tokens extends TokenAuthentication {
    override async getUserForToken(token: string) {
      if (token.endsWith('throws')) throw new Error('the look-up has a bug')
      if (token.endsWith('fails'))
        return database
          .knex('nowhere')
          .where({ token_hash: hashToken(token) })
          .first()
      return token.endsWith('known') ? { id: 7 } : null
    }
  }
  class Sessions extends SessionAuthentication {
    constructor() {
      super({
        getUser({ cookies }) {
          if (cookies.get('sid')?.endsWith('throws')) throw new Error('the resolver has a bug')
          return cookies.get('sid') ? { id: 8 } : null
        },
      })
    }
  }
  const events: UsageEvent[] = []
  const states: unknown[] = []

  async function serveBooks(...schemes: Authentications): Promise<Client> {
    class Books extends MeteringMixin(ModelViewSet<Book>) {
      static override model = Book
      static override serializerClass = BookSerializer
      static override authenticationClasses = schemes
      static override permissionClasses = [IsAuthenticated]
      static override throttleClasses = [new DatabaseUserThrottle({ rate: '3/day' })]
    }
    setMeteringEngine({ record: (event) => void events.push(event) })
    const api = new APIRouter().register('books', Books)
    await api.prepare()
    return serve(
      errors(),
      async ({ state }, next) => {
        try {
          await next()
        } finally {
          states.push(state)
        }
      },
      cacheBust(),
      api.routes(),
    )
  }

  /** What is kept in the database beside the books. */
  async function stored(): Promise<string> {
    const tables = ['koa_viewsets_throttles', 'koa_viewsets_api_keys']
    const rows = await Promise.all(tables.map((name) => database.knex(name).select()))
    return inspect(rows, { depth: null })
  }

  async function expectSecret(...secrets: string[]): Promise<void> {
    const all = [await everything(), inspect([events, states], { depth: null, showHidden: true }), await stored()]
    for (const text of all) for (const secret of secrets) expect(text).not.toContain(secret)
  }

  it('that is a token is told nowhere, whether it is known, wrong, malformed, or its look-up fails', async () => {
    const { get } = await serveBooks(Tokens)
    const ask = async (credentials: string) => (await get('/books', { Authorization: credentials })).status
    expect(await ask('Token kanarie-known')).toBe(200)
    expect(await ask('Token kanarie-wrong')).toBe(401)
    expect(await ask('Token kanarie one')).toBe(401)
    expect(await ask(`Token ${'kanarie'.repeat(1_300)}`)).toBe(401)
    expect(await ask('Bearer kanarie')).toBe(401)
    expect(await ask('kanarie')).toBe(401)
    expect(await ask('Token kanarie-throws')).toBe(500)
    expect(await ask('Token kanarie-fails')).toBe(500)
    for (const expected of [200, 200, 429]) expect(await ask('Token kanarie-known')).toBe(expected)
    expect(await everything()).toContain('the look-up has a bug')
    expect(events.length).toBeGreaterThan(8)
    await expectSecret('kanarie')
  })

  it('that is an API key is told nowhere, whether it is known, wrong, ended, or its table is away', async () => {
    const issued = await generateApiKey({ userId: 17, name: 'Import' })
    const ended = await generateApiKey({ userId: 17 })
    await revokeApiKey(ended.id)
    const { get } = await serveBooks(APIKeyAuthentication)
    const ask = async (key: string) => (await get('/books', { 'X-API-Key': key })).status
    expect(await ask(issued.key)).toBe(200)
    expect(await ask(ended.key)).toBe(401)
    expect(await ask(`${issued.key.slice(0, -1)}_`)).toBe(401)
    expect(await ask('kanarie')).toBe(401)
    await database.knex.raw('alter table koa_viewsets_api_keys rename to away')
    expect(await ask(issued.key)).toBe(500)
    // the note of its use cannot be written either
    await flushKeyUsage()
    await database.knex.raw('alter table away rename to koa_viewsets_api_keys')
    expect(await everything()).toContain('When API keys were last used could not be written')
    await expectSecret(issued.key, issued.key.slice(12), ended.key.slice(12), 'kanarie')
  })

  it("that is a session's cookie is told nowhere", async () => {
    const { get, send } = await serveBooks(Sessions)
    expect((await get('/books', { Cookie: 'sid=kanarie' })).status).toBe(200)
    expect((await get('/books', { Cookie: 'sid=kanarie-throws' })).status).toBe(500)
    const foreign = { Cookie: 'sid=kanarie', Origin: 'https://evil.test' }
    expect((await send('POST', '/books', { title: 'x' }, foreign)).status).toBe(403)
    expect(await everything()).toContain('the resolver has a bug')
    await expectSecret('kanarie')
  })

  it('that is the token of cache busting, or the secret key, is told nowhere', async () => {
    const { send } = await serveBooks(Tokens)
    const ask = async (token: string) =>
      (await send('POST', '/cache/bust', undefined, { Authorization: `Bearer ${token}` })).status
    expect(await ask('kanarie-of-the-bust')).toBe(200)
    expect(await ask('kanarie-of-another')).toBe(401)
    await expectSecret('kanarie')
  })

  it.each<[string, (secret: string) => unknown]>([
    ['printed', (secret) => console.log('token', secret)],
    ['written to stderr', (secret) => process.stderr.write(secret)],
    ['in a warning', (secret) => process.emitWarning(`wrong ${secret}`)],
    [
      'in the cause of an error',
      (secret) => {
        throw new Error('no', { cause: { bindings: [secret] } })
      },
    ],
  ])('is seen where it is %s', async (_, leak) => {
    class Leaking extends BaseAuthentication {
      override authenticate({ headers }: Koa.Context) {
        leak(String(headers.authorization))
        return null
      }
    }
    const { get } = await serveBooks(Leaking)
    await get('/books', { Authorization: 'kanarie' })
    expect(await everything()).toContain('kanarie')
  })
})

describe('[I17] what a client has written', () => {
  /** Ends the line, begins another one, and speaks to the terminal. */
  const FORGED = 'x\r\n2026-01-01 FAKE\u001b[2J\u0085\u009b31m\u2028\u2029\u007f'
  const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/

  class Books extends MeteringMixin(ModelViewSet<Book>) {
    static override model = Book
    static override serializerClass = BookSerializer
  }
  const encoded = encodeURIComponent(FORGED)

  async function serveBooks(view: typeof Books = Books, engine: MeteringEngine = { record() {} }): Promise<Client> {
    setMeteringEngine(engine)
    const api = new APIRouter().register('books', view)
    await api.prepare()
    return serve(errors(), api.routes())
  }

  /** Each makes us say something of what the client has written. */
  const cases: [string, () => Promise<unknown>][] = [
    [
      'a metering engine that fails with it',
      async () => {
        const engine: MeteringEngine = { record: () => Promise.reject(new Error(`no account ${FORGED}`)) }
        return (await serveBooks(Books, engine)).get('/books')
      },
    ],
    [
      'a store of throttles that fails with it',
      async () => {
        const failing = () => Promise.reject(new Error(`ERR ${FORGED}`))
        RedisThrottle.setBackend({ sendCommand: () => {}, eval: failing })
        class Throttled extends Books {
          static override throttleClasses = [RedisUserThrottle]
        }
        return (await serveBooks(Throttled)).get('/books')
      },
    ],
    [
      'a store of throttles that fails with it as a code',
      async () => {
        const failing = () => Promise.reject(Object.assign(new Error('no'), { code: FORGED }))
        RedisThrottle.setBackend({ sendCommand: () => {}, eval: failing })
        class Throttled extends Books {
          static override throttleClasses = [RedisUserThrottle]
        }
        return (await serveBooks(Throttled)).get('/books')
      },
    ],
    [
      'a file that its storage cannot remove, by a name that is in the error',
      async () => {
        const storage = {
          save: async ({ filename }: { filename: string }) => filename,
          delete: (key: string) => Promise.reject(new Error(`cannot remove ${key} ${FORGED}`)),
          url: (key: string) => key,
        }
        class Kept extends ModelSerializer<Book> {
          static override model = Book
          static override fields = ['id', 'title', 'isbn']
          static override declaredFields = { isbn: new FileUploadField({ storage, required: false, allowNull: true }) }
        }
        class Uploads extends Books {
          static override serializerClass = Kept as never
        }
        const { port, send } = await serveBooks(Uploads)
        const body = multipart(
          { name: 'title', content: 'a' },
          { name: 'isbn', filename: 'a.txt', type: 'text/plain', content: 'x' },
        )
        expect((await connectTo(port).send({ method: 'POST', path: '/books', headers: MULTIPART, body })).status).toBe(
          201,
        )
        return send('DELETE', '/books/1')
      },
    ],
    [
      'an error that is no error',
      async () => {
        class Thrown extends Books {
          override async list(): Promise<never> {
            const thrown: unknown = { search: this.ctx.query['search'], path: decodeURIComponent(this.ctx.path) }
            throw thrown
          }
        }
        return (await serveBooks(Thrown)).get(`/books?search=${encoded}`)
      },
    ],
  ]

  it.each(cases)('is on one line, in what we say of %s', async (_, provoke) => {
    const warnings: string[] = []
    const messages: string[] = []
    vi.spyOn(process, 'emitWarning').mockImplementation((warning, options) => {
      const { detail = '', code = '' } = (options ?? {}) as { detail?: string; code?: string }
      warnings.push(...[String(warning), detail, code].filter(Boolean))
    })
    const heard = vi.spyOn(console, 'error')
    await provoke()
    for (const { reported } of clients) messages.push(...reported.map((error) => (error as Error).message))
    await expect.poll(() => [...warnings, ...messages].join()).toContain('FAKE')
    for (const text of [...warnings, ...messages]) expect(text).not.toMatch(CONTROLS)
    heard.mockRestore()
  })

  it('is not in what we say of paths and queries that are none', async () => {
    const { get } = await serveBooks()
    for (const path of [`/books/${encoded}`, `/books?page=${encoded}`, `/${encoded}`]) {
      expect((await get(path)).status).toBeLessThan(500)
    }
    expect(await everything()).not.toContain('FAKE')
  })
})
