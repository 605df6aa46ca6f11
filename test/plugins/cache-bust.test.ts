import { connect, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import knexFactory, { type Knex } from 'knex'
import Koa from 'koa'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { CacheBustChannel, getAppVersion, registerVersionComponent } from '../../lib/assets/index.js'
import { mountStaticFiles, StaticFiles } from '../../lib/assets/static-files.js'
import { clearVersionComponents } from '../../lib/assets/version-components.js'
import { configure } from '../../lib/index.js'
import { ConfigurationError } from '../../lib/kernel/errors.js'
import { type CacheBustOptions, cacheBust, errors } from '../../plugins/index.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { createFolder, writeFiles } from '../support/files.js'
import { findPgBouncer, startPgBouncer, warnWithoutPgBouncer } from '../support/pgbouncer.js'
import { exchange, serve, type TestServer } from '../support/server.js'

const S = '0123456789abcdef0123456789abcdef'
const TOKEN = '1bf62ccb28b642476a39cf0843d383b0'

const hasPgBouncer = findPgBouncer() !== undefined
if (!hasPgBouncer) warnWithoutPgBouncer()
const quiet = { warn() {}, error() {}, debug() {}, deprecate() {} }

let server: TestServer | undefined
let folder: string

async function serving(options: CacheBustOptions = {}) {
  const app = new Koa()
  app.silent = true
  server = await serve(app.use(errors()).use(cacheBust(options)))
  const { send } = server
  return (authorization?: string, method = 'POST', path = '/cache/bust') =>
    send({ method, path, headers: authorization === undefined ? {} : { Authorization: authorization } })
}

beforeEach(() => {
  for (const name of ['SERVICE_SECRET_KEY', 'CACHE_BUST_TOKEN', 'APP_VERSION']) vi.stubEnv(name, undefined)
  configure({ secretKey: S })
  folder = createFolder({ hello: 'hello', world: 'world' })
  mountStaticFiles(new StaticFiles({ root: folder }))
  registerVersionComponent('templates', [join(folder, 'hello'), join(folder, 'world')])
})
afterEach(async () => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
  configure({})
  clearVersionComponents()
  await server?.close()
  server = undefined
})

/** What a deployment does: a new manifest beside the old one. */
function deploy(): void {
  writeFiles(folder, { 'staticfiles.json': '{"version":"1.1","paths":{},"hash":"07dad15b2f7f"}' })
}

describe('cacheBust()', () => {
  it('row 51 computes the version anew for who has the token', async () => {
    expect(cacheBust().name).toBe('bustCache')
    const bust = await serving()
    expect(getAppVersion()).toBe('99da023872c1')
    deploy()
    expect(getAppVersion()).toBe('99da023872c1')
    const answer = await bust(`Bearer ${TOKEN}`)
    expect([answer.status, answer.text]).toEqual([200, '{"status":"ok","version":"71a1794a68f2"}'])
    expect(answer.headers).toMatchObject({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
    expect(getAppVersion()).toBe('71a1794a68f2')
    expect((await bust(`bearer  ${TOKEN}`)).status).toBe(200)
  })

  it('refuses a second Authorization header, whichever has the token', async () => {
    await serving()
    for (const other of ['Bearer x', 'Basic x', `Bearer ${TOKEN}`]) {
      for (const lines of [
        [other, `Bearer ${TOKEN}`],
        [`Bearer ${TOKEN}`, other],
      ]) {
        const sent = lines.map((line) => `Authorization: ${line}\r\n`).join('')
        const request = `POST /cache/bust HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n${sent}Connection: close\r\n\r\n`
        const text = await exchange((server as TestServer).port, request, () => false)
        expect(text).toMatch(/^HTTP\/1\.1 401 /)
        expect(text).toContain('error="invalid_token"')
      }
    }
  })

  it.each([
    [undefined, 'Bearer'],
    ['', 'Bearer'],
    ['Bearer', 'Bearer'],
    ['Bearer ', 'Bearer'],
    [`Token ${TOKEN}`, 'Bearer'],
    [`Basic ${TOKEN}`, 'Bearer'],
    [TOKEN, 'Bearer'],
    ['Bearer wrong', 'Bearer error="invalid_token"'],
    [`Bearer ${TOKEN}0`, 'Bearer error="invalid_token"'],
    [`Bearer ${TOKEN.slice(1)}`, 'Bearer error="invalid_token"'],
    [`Bearer ${TOKEN.toUpperCase()}`, 'Bearer error="invalid_token"'],
    [`Bearer ${TOKEN} ${TOKEN}`, 'Bearer error="invalid_token"'],
    [`Bearer ${S}`, 'Bearer error="invalid_token"'],
    ['Bearer 5032a91e5d9a03f26abbf1ff14c7c0a1', 'Bearer error="invalid_token"'],
    ['Bearer \u00ff\u00c0', 'Bearer error="invalid_token"'],
  ])('row 51 refuses %j with the challenge %s, and computes nothing', async (authorization, challenge) => {
    const bust = await serving()
    getAppVersion()
    deploy()
    const answer = await bust(authorization)
    expect([answer.status, answer.text]).toEqual([401, '{"detail":"Invalid token","status":401}'])
    expect(answer.headers).toMatchObject({ 'www-authenticate': challenge, 'cache-control': 'no-store' })
    expect(getAppVersion()).toBe('99da023872c1')
  })

  it('row 51 refuses a token of 9,000 characters', async () => {
    const { status, headers } = await (await serving())(`Bearer ${'a'.repeat(9_000)}`)
    expect([status, headers['www-authenticate']]).toEqual([401, 'Bearer error="invalid_token"'])
  })

  it('[D12] the token is derived from the secret, of any other it is another', async () => {
    configure({ secretKey: 'another-secret-of-32-characters!' })
    const bust = await serving()
    expect((await bust('Bearer 5032a91e5d9a03f26abbf1ff14c7c0a1')).status).toBe(200)
    expect((await bust(`Bearer ${TOKEN}`)).status).toBe(401)
  })

  it('a token that is set counts instead', async () => {
    vi.stubEnv('CACHE_BUST_TOKEN', 'a token of mine!')
    const bust = await serving()
    expect((await bust('Bearer a token of mine!')).status).toBe(200)
    expect((await bust(`Bearer ${TOKEN}`)).status).toBe(401)
  })

  it('[D12] without a token and a secret there is no endpoint', async () => {
    configure({})
    const bust = await serving()
    expect((await bust(`Bearer ${TOKEN}`)).status).toBe(404)
  })

  it.each(['CACHE_BUST_TOKEN', 'SERVICE_SECRET_KEY'])('[D12] a short %s fails at the start', (name) => {
    configure({})
    for (const value of ['', '15 characters!!']) {
      vi.stubEnv(name, value)
      expect(() => cacheBust()).toThrow(ConfigurationError)
      expect(() => cacheBust()).toThrow(`${name} has ${value.length} characters`)
    }
  })

  it.each([
    'größe-geheimnis-12345',
    'żółć-tajne-1234567',
    ' a token of mine!',
    'a token of mine! ',
    'a token of mine!\n',
  ])('[I23] the token %j, which no header brings as it is, fails at the start, unshown', (token) => {
    vi.stubEnv('CACHE_BUST_TOKEN', token)
    expect(() => cacheBust()).toThrow(
      new ConfigurationError(
        'CACHE_BUST_TOKEN has characters that a header does not bring as they are: use those from ! to ~, and spaces between',
      ),
    )
    expect(() => configure({ cacheBustToken: token })).toThrow(/^configure\(\{ cacheBustToken \}\) has characters/)
  })

  it('[I23] a wrong setting of what it computes fails at the start', () => {
    vi.stubEnv('STATIC_DEV_VERSION_QUERY', 'maybe')
    expect(() => cacheBust()).toThrow(new ConfigurationError('STATIC_DEV_VERSION_QUERY is "maybe": give true or false'))
  })

  it('row 51 takes POST only', async () => {
    const bust = await serving()
    for (const method of ['GET', 'PUT', 'DELETE', 'HEAD']) {
      expect(await bust(`Bearer ${TOKEN}`, method)).toMatchObject({ status: 405, headers: { allow: 'POST, OPTIONS' } })
    }
    expect((await bust(undefined, 'OPTIONS')).headers['allow']).toBe('POST, OPTIONS')
    expect((await bust(`Bearer ${TOKEN}`, 'POST', '/cache')).status).toBe(404)
  })

  it('reads no body', async () => {
    await serving()
    const answer = await exchange(
      (server as TestServer).port,
      `POST /cache/bust HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Length: 1000000\r\n\r\n`,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 200 /)
  })
})

describe('CacheBustChannel', () => {
  let database: TestDatabase
  /** Who listens connects to PostgreSQL itself; who publishes need not. */
  let direct: Knex
  const channels: CacheBustChannel[] = []

  beforeAll(async () => {
    database = await createDatabase()
    direct = knexFactory({ client: 'pg', connection: { ...database.direct } as Knex.PgConnectionConfig })
  })
  afterEach(async () => {
    for (const channel of channels.splice(0)) await channel.close()
  })
  afterAll(async () => {
    await direct.destroy()
    await database.drop()
  })

  async function listening(knex: Knex = direct): Promise<CacheBustChannel> {
    const channel = new CacheBustChannel(knex)
    channels.push(channel)
    await channel.listen()
    return channel
  }

  const listeners = async () => {
    const { rows } = await database.knex.raw(
      "select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and query ~ '^listen'",
    )
    return rows as { pid: number }[]
  }

  it('brings a bust to another process', async () => {
    await listening()
    expect(getAppVersion()).toBe('99da023872c1')
    deploy()
    // another process knows the database alone
    const other = knexFactory({ client: 'pg', connection: { ...database.connection } as Knex.PgConnectionConfig })
    await new CacheBustChannel(other).publish()
    await other.destroy()
    await vi.waitUntil(() => getAppVersion() === '71a1794a68f2')
  })

  it('is what the endpoint publishes on', async () => {
    const heard: string[] = []
    const connection = await direct.client.acquireRawConnection()
    connection.on('notification', ({ channel, payload }: { channel: string; payload: string }) =>
      heard.push(`${channel}:${payload}`),
    )
    await connection.query('listen koa_viewsets_cache_bust')
    const bust = await serving({ channel: new CacheBustChannel(database.knex) })
    await bust('Bearer wrong')
    await bust(`Bearer ${TOKEN}`)
    await vi.waitUntil(() => heard.length > 0)
    await connection.end()
    expect(heard).toEqual(['koa_viewsets_cache_bust:'])
  })

  it('answers 503 when the others cannot be told', async () => {
    const away = knexFactory({ client: 'pg', connection: { host: '/nowhere', user: 'x', database: 'x' }, log: quiet })
    const bust = await serving({ channel: new CacheBustChannel(away) })
    expect(await bust(`Bearer ${TOKEN}`)).toMatchObject({ status: 503, headers: { 'retry-after': '1' } })
    await away.destroy()
  })

  it('[I13] keeps one connection beside the pool until it is closed', async () => {
    const channel = await listening()
    await channel.listen()
    expect(await listeners()).toHaveLength(1)
    expect(direct.client.pool.numUsed()).toBe(0)
    await channel.close()
    await channel.close()
    await vi.waitUntil(async () => (await listeners()).length === 0)
    await channel.listen()
    expect(await listeners()).toHaveLength(1)
  })

  it('connects anew when its backend is killed, and computes the version in case something was missed', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    await listening()
    getAppVersion()
    deploy()
    const [{ pid } = { pid: 0 }] = await listeners()
    await database.knex.raw('select pg_terminate_backend(?)', [pid])
    await vi.waitUntil(() => getAppVersion() === '71a1794a68f2')
    expect(await listeners()).toEqual([{ pid: expect.any(Number) }])
    expect((await listeners())[0]?.pid).not.toBe(pid)
    expect(warn).toHaveBeenCalledOnce()
    writeFiles(folder, { hello: 'changed' })
    await new CacheBustChannel(database.knex).publish()
    await vi.waitUntil(() => getAppVersion() !== '71a1794a68f2')
  })

  it('says so when there is no database', async () => {
    const away = knexFactory({ client: 'pg', connection: { host: '/nowhere', user: 'x', database: 'x' }, log: quiet })
    const channel = new CacheBustChannel(away)
    await expect(channel.listen()).rejects.toThrow('ENOENT')
    await channel.close()
    await away.destroy()
  })

  it.each(['an object', 'a function'])("logs in with knex's settings from %s, its password too", async (by) => {
    const heard: Buffer[] = []
    const settings = { host: folder, port: 1, user: 'x', database: 'x', password: 'of knex' }
    const asking = createServer((socket) => {
      // AuthenticationCleartextPassword
      socket.once('data', () => socket.write(Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3])))
      socket.on('data', (data) => {
        heard.push(data)
        if (heard.length > 1) socket.destroy()
      })
    })
    await new Promise<void>((resolve) => {
      asking.listen(join(folder, '.s.PGSQL.1'), resolve)
    })
    const through = knexFactory({
      client: 'pg',
      connection: by === 'a function' ? async () => settings : settings,
      log: quiet,
    })
    await expect(new CacheBustChannel(through).listen()).rejects.toThrow('Connection terminated')
    expect(heard[1]?.toString('latin1')).toMatch(/^p.{4}of knex\0$/s)
    await through.destroy()
    asking.close()
  })

  it('waits for no server that takes connections and says nothing', async () => {
    const silent = createServer(() => {})
    await new Promise<void>((resolve) => {
      silent.listen(join(folder, '.s.PGSQL.1'), resolve)
    })
    const settings = { host: folder, port: 1, user: 'x', database: 'x' }
    const connections = [settings, { ...settings, connectionTimeoutMillis: 0 }, () => new Promise<never>(() => {})]
    await Promise.all(
      connections.map(async (connection) => {
        const through = knexFactory({ client: 'pg', connection, log: quiet })
        const channel = new CacheBustChannel(through)
        await expect(channel.listen()).rejects.toThrow(/timeout|no answer/)
        await channel.close()
        await through.destroy()
      }),
    )
    silent.close()
  })

  it('says so when a pooler stands between, and keeps no connection', async (test) => {
    const { host, port } = database.direct
    if (!host?.startsWith('/')) return test.skip('needs the socket of the PostgreSQL that the tests start')
    const { pooler, path } = await startRelay(join(host, `.s.PGSQL.${port}`), Number(port))
    await refuses(knexThrough({ host: path }))
    pooler.close()
  })

  it.skipIf(!hasPgBouncer)('says so behind PgBouncer, through which publishing works', async () => {
    const bouncer = await startPgBouncer({ mode: 'transaction', server: database.direct })
    await listening()
    getAppVersion()
    deploy()
    const through = knexThrough(bouncer.connection)
    await new CacheBustChannel(through).publish()
    await vi.waitUntil(() => getAppVersion() === '71a1794a68f2')
    await refuses(through)
    await bouncer.stop()
  })

  function knexThrough(connection: object): Knex {
    return knexFactory({
      client: 'pg',
      connection: { ...database.direct, ...connection } as Knex.PgConnectionConfig,
    })
  }

  async function refuses(through: Knex): Promise<void> {
    const before = await listeners()
    const channel = new CacheBustChannel(through)
    await expect(channel.listen()).rejects.toThrow(ConfigurationError)
    await expect(channel.listen()).rejects.toThrow('give a knex that connects to PostgreSQL itself')
    expect(through.client.pool.numUsed()).toBe(0)
    await through.destroy()
    expect(await listeners()).toEqual(before)
  }
})

/** Passes on what both sides say, but calls itself by another process id, as poolers do. */
async function startRelay(target: string, port: number): Promise<{ pooler: Server; path: string }> {
  const path = createFolder()
  const pooler = createServer((client) => {
    const backend = connect(target)
    client.on('error', () => backend.destroy())
    backend.on('error', () => client.destroy())
    client.pipe(backend)
    backend.on('data', (data) => {
      // BackendKeyData: 'K', the length 12, process id, key
      const at = data.indexOf(Buffer.from([0x4b, 0, 0, 0, 12]))
      if (at !== -1) data.writeInt32BE(7, at + 5)
      client.write(data)
    })
    backend.on('end', () => client.end())
  })
  await new Promise<void>((resolve) => {
    pooler.listen(join(path, `.s.PGSQL.${port}`), resolve)
  })
  return { pooler, path }
}
