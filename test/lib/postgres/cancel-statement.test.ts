import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import knexLibrary, { type Knex } from 'knex'
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { cancelStatement } from '../../../lib/postgres/cancel-statement.js'
import { createDatabase, type TestDatabase } from '../../support/database.js'

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database.drop())

describe('cancelStatement', () => {
  it('stops the statement that runs, and no later one', async () => {
    const { client } = database.knex
    const connection = await client.acquireConnection()
    const ended = connection.query('select pg_sleep(60)').catch((error: { code: string }) => error.code)
    await vi.waitFor(async () => {
      const { rows } = await database.knex.raw(
        `select 1 from pg_stat_activity where datname = current_database() and query = 'select pg_sleep(60)' and state = 'active'`,
      )
      expect(rows).toHaveLength(1)
    })
    await cancelStatement(database.knex, connection)
    expect(await ended).toBe('57014')
    for (let round = 0; round < 50; round++) {
      await cancelStatement(database.knex, connection)
      expect((await connection.query('select pg_sleep(0.001)')).rowCount).toBe(1)
    }
    client.releaseConnection(connection)
  })

  it('says so when the server is not to be reached', async () => {
    const away = knexLibrary({ client: 'pg', connection: { host: '127.0.0.1', port: 1, user: 'x', database: 'x' } })
    await expect(cancelStatement(away, { processID: 1, secretKey: 2 })).rejects.toThrow('ECONNREFUSED')
    await away.destroy()
  })

  it('leaves it to knex where the driver is another', async () => {
    const stopped: unknown[] = []
    const connection = {}
    const client = { cancelQuery: async (one: unknown) => void stopped.push(one) }
    await cancelStatement({ client } as unknown as Knex, connection)
    expect(stopped).toEqual([connection])
  })
})

/** What a server of PostgreSQL's reads and answers before a cancel request, and the request itself. */
describe('a cancel request', () => {
  // certificates are not what is tested: a cipher that needs none
  const ANONYMOUS = { ciphers: 'aNULL:@SECLEVEL=0', maxVersion: 'TLSv1.2', rejectUnauthorized: false } as const
  const SSL_REQUEST = '0000000804d2162f'
  const CANCEL_REQUEST = '0000001004d2162e0000000700000009'
  let server: Server | undefined
  afterEach(() => void server?.close())

  async function requestTo(ssl: false | object, answer: (socket: Socket) => Promise<string>): Promise<string> {
    const listening = createServer().listen(0, '127.0.0.1')
    server = listening
    const request = once(listening, 'connection').then(([socket]) => answer(socket))
    await once(listening, 'listening')
    const { port } = listening.address() as AddressInfo
    const knex = knexLibrary({
      client: 'pg',
      connection: { host: '127.0.0.1', port, user: 'x', database: 'x', ssl } as Knex.PgConnectionConfig,
    })
    await cancelStatement(knex, { processID: 7, secretKey: 9 })
    await knex.destroy()
    return request
  }

  const read = async (socket: Socket) => String((await once(socket, 'data'))[0].toString('hex'))

  async function readAndClose(socket: Socket): Promise<string> {
    const text = await read(socket)
    socket.end()
    return text
  }

  it('is the first that is sent', async () => {
    expect(await requestTo(false, readAndClose)).toBe(CANCEL_REQUEST)
  })

  it('goes to the server of its connection, where newer ones lead to another', async () => {
    const listening = createServer().listen(0, '127.0.0.1')
    server = listening
    const request = once(listening, 'connection').then(([socket]) => readAndClose(socket))
    await once(listening, 'listening')
    const { port } = listening.address() as AddressInfo
    const knex = knexLibrary({ client: 'pg', connection: { host: '127.0.0.1', port: 1, user: 'x', database: 'x' } })
    await cancelStatement(knex, { processID: 7, secretKey: 9, host: '127.0.0.1', port })
    await knex.destroy()
    expect(await request).toBe(CANCEL_REQUEST)
  })

  it('has not told a server that says nothing: it may still stop what runs then', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const silent = requestTo(false, async (socket) => {
      const request = await read(socket)
      vi.advanceTimersByTime(10_000)
      return request
    })
    await expect(silent).rejects.toThrow('no answer within 10000 ms')
  })

  it('is encrypted where the connection is', async () => {
    const seen = await requestTo(ANONYMOUS, async (socket) => {
      expect(await read(socket)).toBe(SSL_REQUEST)
      const encrypted = new TLSSocket(socket, { ...ANONYMOUS, isServer: true })
      socket.write('S')
      return readAndClose(encrypted)
    })
    expect(seen).toBe(CANCEL_REQUEST)
  })
})
