import knex from 'knex'
import { knexSnakeCaseMappers } from 'objection'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { writeKey } from '../../../lib/api-keys/api-key.js'
import {
  APIKey,
  APIKeyAuthentication,
  createApiKeysTable,
  flushKeyUsage,
  generateApiKey,
  revokeApiKey,
} from '../../../lib/api-keys/index.js'
import {
  APIRouter,
  HasScope,
  hashToken,
  IsAuthenticated,
  ModelSerializer,
  ReadOnlyModelViewSet,
} from '../../../lib/index.js'
import { type Client, serving } from '../../support/client.js'
import { countQueries, createDatabase, type TestDatabase } from '../../support/database.js'
import { exchange } from '../../support/server.js'
import { type Guards, surfaces } from '../../support/surfaces.js'

let database: TestDatabase
let client: Client | undefined

beforeAll(async () => {
  database = await createDatabase()
  APIKey.knex(database.knex)
  await createApiKeysTable()
})

beforeEach(() => database.knex.raw('delete from koa_viewsets_api_keys'))

afterEach(async () => {
  await client?.close()
  client = undefined
  await flushKeyUsage()
})

afterAll(async () => {
  await database.drop()
})

describe('a key', () => {
  const bytes = Uint8Array.from({ length: 32 }, (_, index) => index)

  it('is the prefix and 32 bytes, and is stored as its hash', () => {
    const key = writeKey('api', bytes)
    expect(key).toBe('api_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8')
    expect(hashToken(key)).toBe('ec3e8abea566166322d5c5f7c4998511c369ecbb61381d3916feb0fcbb65df4a')
    expect(key.slice(0, 12)).toBe('api_AAECAwQF')
  })

  it('is told from others of its prefix, however long that is', async () => {
    for (const [prefix, shown] of [
      ['k', 12],
      ['shopping', 13],
      ['livewarehouse123', 21],
    ] as const) {
      const { key, keyPrefix } = await generateApiKey({ userId: 7, prefix })
      expect(keyPrefix).toBe(key.slice(0, shown))
    }
  })

  it('[E4] is shown once; its row has the hash and no more than its first characters', async () => {
    const issued = await generateApiKey({ userId: 7, name: 'Import', scopes: ['read:books'], prefix: 'shop1' })
    expect(issued).toEqual({
      key: expect.stringMatching(/^shop1_[A-Za-z0-9_-]{43}$/),
      id: expect.stringMatching(/^[0-9]+$/),
      keyPrefix: issued.key.slice(0, 12),
    })
    const [row] = await database.knex('koa_viewsets_api_keys')
    expect(row).toEqual({
      id: issued.id,
      key_hash: hashToken(issued.key),
      key_prefix: issued.keyPrefix,
      name: 'Import',
      user_id: '7',
      scopes: ['read:books'],
      is_active: true,
      expires_at: null,
      last_used_at: null,
      created_at: expect.any(Date),
    })
    expect(JSON.stringify(row)).not.toContain(issued.key)
    expect((await generateApiKey({ userId: 7 })).key).not.toBe((await generateApiKey({ userId: 7 })).key)
  })

  it('can be issued within a transaction', async () => {
    await database.knex.transaction(async (trx) => {
      await generateApiKey({ userId: 7 }, trx)
      await trx.rollback()
    })
    expect(await APIKey.query().resultSize()).toBe(0)
  })

  it.each([
    ['a prefix with capitals', { prefix: 'API' }, /prefix/],
    ['a prefix that begins with a digit', { prefix: '1a' }, /prefix/],
    ['a prefix of 17 characters', { prefix: 'a'.repeat(17) }, /prefix/],
    ['an empty prefix', { prefix: '' }, /prefix/],
    ['a prefix with an underscore', { prefix: 'a_b' }, /prefix/],
    ['nobody', { userId: '' }, /userId/],
    ['an id that is missing', { userId: undefined as never }, /userId/],
    ['an id that is null', { userId: null as never }, /userId/],
    ['an id that is no number', { userId: Number.NaN }, /userId/],
    ['a user in place of the id', { userId: { id: 7 } as never }, /userId/],
    ['a scope with a space', { scopes: ['read books'] }, /scope/],
    ['an empty scope', { scopes: [''] }, /scope/],
    ['a date that is none', { expiresAt: new Date('soon') }, /expiresAt/],
  ])('is not issued for %s', async (_name, options, message) => {
    await expect(generateApiKey({ userId: 7, ...options })).rejects.toThrow(message)
    expect(await APIKey.query().resultSize()).toBe(0)
  })
})

describe('createApiKeysTable()', () => {
  it('makes the table of the wire format, once, whoever asks at the same time', async () => {
    const other = await createDatabase()
    await Promise.all(Array.from({ length: 5 }, () => createApiKeysTable(other.knex)))
    await createApiKeysTable(other.knex)
    const { rows } = await other.knex.raw(
      `select column_name || ' ' || data_type || ' ' || is_nullable || ' ' || coalesce(column_default, identity_generation, '-') as c
       from information_schema.columns where table_name = 'koa_viewsets_api_keys' order by ordinal_position`,
    )
    expect(rows.map(({ c }: { c: string }) => c)).toEqual([
      'id bigint NO ALWAYS',
      'key_hash text NO -',
      'key_prefix text NO -',
      "name text NO ''::text",
      'user_id text NO -',
      "scopes ARRAY NO '{}'::text[]",
      'is_active boolean NO true',
      'expires_at timestamp with time zone YES -',
      'last_used_at timestamp with time zone YES -',
      'created_at timestamp with time zone NO now()',
    ])
    await expect(
      other.knex('koa_viewsets_api_keys').insert({ key_hash: 'api_plain', key_prefix: 'x', user_id: '1' }),
    ).rejects.toThrow(/check constraint/)
    await other.drop()
  })

  it('runs in a migration, that is in a transaction', async () => {
    const other = await createDatabase()
    await other.knex.transaction((trx) => createApiKeysTable(trx))
    expect(await other.knex.schema.hasTable('koa_viewsets_api_keys')).toBe(true)
    await other.drop()
  })
})

describe.each(Object.entries(surfaces))('X-API-Key on %s', (_name, serve) => {
  const HOUR = 3_600_000
  let time = Date.UTC(2026, 0, 2)
  const now = () => time
  const open: Guards = { authentication: [new APIKeyAuthentication({ now })] }
  const closed: Guards = { ...open, permissions: [IsAuthenticated] }

  async function get(guards: Guards, key?: string) {
    client ??= await serve(guards)
    const response = await client.get('/things', key === undefined ? {} : { 'X-API-Key': key })
    expect(client.reported).toEqual([])
    return response
  }

  it('[E4] finds the caller; auth has the scopes and no secret', async () => {
    const { key, id } = await generateApiKey({ userId: 7, name: 'Import', scopes: ['read:books', 'a"b'] })
    const { status, json, text } = await get(closed, key)
    expect({ status, json }).toEqual({
      status: 200,
      json: {
        user: { id: '7' },
        auth: {
          scheme: 'ApiKey',
          id,
          name: 'Import',
          user_id: '7',
          scopes: ['read:books', 'a"b'],
          expires_at: null,
        },
        version: null,
      },
    })
    for (const secret of [key, hashToken(key), key.slice(0, 12)]) expect(text).not.toContain(secret)
  })

  it.each([
    ['an unknown key', writeKey('api', Buffer.alloc(32))],
    ['an empty header', ''],
    ['no prefix', 'A'.repeat(43)],
    ['a short key', 'api_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh'],
    ['a long key', 'api_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8A'],
    ['a prefix in capitals', 'API_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8'],
    ['another alphabet', 'api_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdH+/'],
    ['10 kB', 'a'.repeat(10_000)],
    ['a byte beyond ASCII', 'api_\xff'],
    ['SQL', "' or 1=1 --"],
    ['a token', 'Token alice'],
  ])('[E2] %s is 401, on an open view too', async (_name, key) => {
    for (const guards of [open, closed]) {
      expect(await get(guards, key)).toMatchObject({
        status: 401,
        text: '{"detail":"Invalid API key","status":401}',
        headers: { 'www-authenticate': 'ApiKey realm="api"' },
      })
      await client?.close()
      client = undefined
    }
  })

  it('a malformed key asks the database nothing, a well-formed one once', async () => {
    const { key } = await generateApiKey({ userId: 7 })
    await get(open, key)
    expect(await countQueries(database.knex, () => get(open, 'api_short'))).toEqual([])
    expect(await countQueries(database.knex, () => get(open, key))).toHaveLength(1)
    expect(await countQueries(database.knex, () => get(open))).toEqual([])
  })

  it('[E2] two headers are no key', async () => {
    const { key } = await generateApiKey({ userId: 7 })
    client = await serve(open)
    const request = `GET /things HTTP/1.1\r\nHost: a\r\nX-API-Key: ${key}\r\nX-API-Key: ${key}\r\nConnection: close\r\n\r\n`
    expect(await exchange(client.port, request)).toMatch(/^HTTP\/1\.1 401 /)
  })

  it('[E4] the key is read from the header only', async () => {
    const { key } = await generateApiKey({ userId: 7 })
    client = await serve(closed)
    for (const path of [`/things?api_key=${key}`, `/things?X-API-Key=${key}`]) {
      expect((await client.get(path, { Cookie: `X-API-Key=${key}`, Authorization: `ApiKey ${key}` })).status).toBe(401)
    }
  })

  it('a revoked key is one of nobody, at once, and can be let in again', async () => {
    const { key, id } = await generateApiKey({ userId: 7 })
    expect((await get(closed, key)).status).toBe(200)
    expect([await revokeApiKey(id), await revokeApiKey(id), await revokeApiKey(99), await revokeApiKey('x')]).toEqual([
      true,
      false,
      false,
      false,
    ])
    expect((await get(closed, key)).json.detail).toBe('Invalid API key')
    await APIKey.query().findById(id).patch({ is_active: true })
    expect((await get(closed, key)).status).toBe(200)
  })

  it('a key ends when it expires, by the clock', async () => {
    const { key } = await generateApiKey({ userId: 7, expiresAt: new Date(time + HOUR) })
    const before = await get(closed, key)
    expect(before.json.auth.expires_at).toBe('2026-01-02T01:00:00.000Z')
    time += HOUR - 1
    expect((await get(closed, key)).status).toBe(200)
    time += 1
    expect((await get(closed, key)).json.detail).toBe('Invalid API key')
    time = Date.UTC(2026, 0, 2)
    for (const [text, status] of [
      ['infinity', 200],
      ['-infinity', 401],
    ] as const) {
      await database.knex.raw('update koa_viewsets_api_keys set expires_at = ?', [text])
      expect((await get(closed, key)).status).toBe(status)
    }
  })

  it('the user of a key is what getUserForKey says, and 401 when it says nobody', async () => {
    const { key } = await generateApiKey({ userId: 7, name: 'Import' })
    class Own extends APIKeyAuthentication {
      override async getUserForKey({ name }: { name: string }) {
        return { id: 1, name }
      }
    }
    const user = { id: 1, name: 'Import' }
    for (const [scheme, expected] of [
      [Own, user],
      [new APIKeyAuthentication({ getUserForKey: async ({ name }) => ({ id: 1, name }) }), user],
      [new APIKeyAuthentication({ getUserForKey: () => null }), undefined],
      [new APIKeyAuthentication({ getUserForKey: () => ({ isAuthenticated: false }) }), undefined],
    ] as const) {
      expect((await get({ authentication: [scheme] }, key)).json.user).toEqual(expected)
      await client?.close()
      client = undefined
    }
  })

  it('HasScope lets pass who has all scopes', async () => {
    const { key } = await generateApiKey({ userId: 7, scopes: ['read:books', 'write:books'] })
    const few = await generateApiKey({ userId: 7, scopes: ['read:books'] })
    const none = await generateApiKey({ userId: 7 })
    const guards = { ...open, permissions: [new HasScope('read:books', 'write:books')] }
    expect((await get(guards, key)).status).toBe(200)
    expect((await get(guards, few.key)).status).toBe(403)
    expect((await get(guards, none.key)).status).toBe(403)
    expect((await get(guards)).status).toBe(401)
  })

  it('the last use is written at most once a minute, after the request', async () => {
    const { key } = await generateApiKey({ userId: 7 })
    const other = await generateApiKey({ userId: 8 })
    const used = async () => (await APIKey.query().orderBy('id')).map(({ last_used_at }) => last_used_at?.getTime())
    const writes = async () =>
      (await countQueries(database.knex, () => flushKeyUsage())).filter((sql) => sql.includes('update')).length
    const start = time
    expect(await countQueries(database.knex, () => get(open, key))).toHaveLength(1)
    await get(open, key)
    await get(open, other.key)
    expect(await used()).toEqual([undefined, undefined])
    expect(await writes()).toBe(1)
    expect(await used()).toEqual([start, start])
    time += 59_999
    await get(open, key)
    expect(await writes()).toBe(0)
    time += 1
    await get(open, key)
    expect(await writes()).toBe(1)
    expect(await used()).toEqual([start + 60_000, start])
    time = start
  })

  it('a use that cannot be written is forgotten, with one warning', async () => {
    const { key } = await generateApiKey({ userId: 7 })
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    await database.knex.raw('alter table koa_viewsets_api_keys rename column last_used_at to gone')
    await database.knex.raw(
      'alter table koa_viewsets_api_keys add column last_used_at timestamptz generated always as (gone) stored',
    )
    try {
      expect((await get(open, key)).status).toBe(200)
      await flushKeyUsage()
      expect((await get(open, key)).status).toBe(200)
      await flushKeyUsage()
      expect(warn).toHaveBeenCalledTimes(1)
      expect(JSON.stringify(warn.mock.calls)).not.toContain(key)
    } finally {
      await database.knex.raw('alter table koa_viewsets_api_keys drop column last_used_at')
      await database.knex.raw('alter table koa_viewsets_api_keys rename column gone to last_used_at')
      warn.mockRestore()
    }
  })

  it('[I18] the look-up itself writes nothing', async () => {
    const { key } = await generateApiKey({ userId: 7 })
    const reading = knex({
      client: 'pg',
      connection: { ...database.direct, options: '-c default_transaction_read_only=on' } as never,
    })
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    expect((await get({ authentication: [new APIKeyAuthentication({ knex: reading })] }, key)).status).toBe(200)
    await flushKeyUsage()
    expect(warn).toHaveBeenCalledTimes(1)
    warn.mockRestore()
    await reading.destroy()
  })

  it('is 503 when the database is away', async () => {
    const { key } = await generateApiKey({ userId: 7 })
    const away = knex({ client: 'pg', connection: { host: '127.0.0.1', port: 1 }, acquireConnectionTimeout: 1000 })
    client = await serve({ authentication: [new APIKeyAuthentication({ knex: away })] })
    expect((await client.get('/things', { 'X-API-Key': key })).status).toBe(503)
    await away.destroy()
  })
})

describe('the look-up', () => {
  it('is one index scan among 10,000 keys', async () => {
    await database.knex.raw(
      `insert into koa_viewsets_api_keys (key_hash, key_prefix, user_id)
       select encode(sha256(n::text::bytea), 'hex'), 'api', n::text from generate_series(1, 10000) n`,
    )
    await database.knex.raw('analyze koa_viewsets_api_keys')
    const { key } = await generateApiKey({ userId: 7 })
    const queries: { sql: string; bindings: unknown[] }[] = []
    const listener = (query: (typeof queries)[0]) => queries.push(query)
    database.knex.on('query', listener)
    client = await surfaces['a view set']!({ authentication: [APIKeyAuthentication] })
    await client.get('/things', { 'X-API-Key': key })
    database.knex.removeListener('query', listener)
    expect(queries).toHaveLength(1)
    const pool = new pg.Client(database.connection)
    await pool.connect()
    const { rows } = await pool.query(`explain ${queries[0]?.sql}`, queries[0]?.bindings)
    await pool.end()
    expect(rows[0]['QUERY PLAN']).toMatch(
      /^Index Scan using koa_viewsets_api_keys_key_hash_key on koa_viewsets_api_keys/,
    )
  })

  const ODD_TYPES = [16, 20, 114, 701, 1009, 1184, 1700]
  it.each([
    ['names in another case', knexSnakeCaseMappers()],
    [
      'types of its own',
      {
        connection: {
          types: {
            getTypeParser: (oid: number, format: never) =>
              ODD_TYPES.includes(oid) ? (text: unknown) => `<${String(text)}>` : pg.types.getTypeParser(oid, format),
          },
        },
      },
    ],
  ] as [string, { connection?: object }][])('works with a knex that has %s', async (_name, config) => {
    const connection = { ...database.connection, ...config.connection } as never
    const own = knex({ client: 'pg', ...config, connection })
    const { key, id } = await generateApiKey({ userId: 7, scopes: ['a'], expiresAt: new Date('2100-01-01') }, own)
    client = await surfaces['a view set']!({ authentication: [new APIKeyAuthentication({ knex: own })] })
    expect((await client.get('/things', { 'X-API-Key': key })).json.auth).toEqual({
      scheme: 'ApiKey',
      id,
      name: '',
      user_id: '7',
      scopes: ['a'],
      expires_at: '2100-01-01T00:00:00.000Z',
    })
    await flushKeyUsage()
    expect((await APIKey.query().findById(id))?.last_used_at).toBeInstanceOf(Date)
    expect(await revokeApiKey(id, own)).toBe(true)
    await own.destroy()
  })

  it('says what to do when APIKey is bound to no database', async () => {
    APIKey.knex(undefined as never)
    client = await surfaces['a view set']!({ authentication: [APIKeyAuthentication] })
    const { status } = await client.get('/things', { 'X-API-Key': writeKey('api', Buffer.alloc(32)) })
    expect(status).toBe(500)
    expect(String(client.reported[0])).toMatch(
      /ConfigurationError: APIKey is bound to no database; call APIKey\.knex\(knex\)/,
    )
    APIKey.knex(database.knex)
  })
})

describe('the model', () => {
  it('[E4] shows no hash, whatever a serializer asks for', async () => {
    class KeySerializer extends ModelSerializer<APIKey> {
      static override model = APIKey
      static override fields = '__all__'
    }
    class Keys extends ReadOnlyModelViewSet<APIKey> {
      static override model = APIKey
      static override serializerClass = KeySerializer
    }
    const { key } = await generateApiKey({ userId: 7, scopes: ['a'] })
    const api = new APIRouter().register('keys', Keys)
    await api.prepare()
    client = await serving(api.routes())
    const { text, json } = await client.get('/keys')
    expect(Object.keys(json[0])).toEqual([
      'id',
      'key_prefix',
      'name',
      'user_id',
      'scopes',
      'is_active',
      'expires_at',
      'last_used_at',
      'created_at',
    ])
    expect(text).not.toContain(hashToken(key))
  })
})

describe('api.close()', () => {
  it('[I12] writes the last uses', async () => {
    class Keys extends ReadOnlyModelViewSet<APIKey> {
      static override model = APIKey
      static override serializerClass = class extends ModelSerializer<APIKey> {
        static override model = APIKey
        static override fields = ['id']
      }
      static override authenticationClasses = [APIKeyAuthentication]
    }
    const { key, id } = await generateApiKey({ userId: 7 })
    const api = new APIRouter().register('keys', Keys)
    client = await serving(api.routes())
    await client.get('/keys', { 'X-API-Key': key })
    await api.close()
    expect((await APIKey.query().findById(id))?.last_used_at).toBeInstanceOf(Date)
  })
})
