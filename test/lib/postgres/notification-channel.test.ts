import { Socket } from 'node:net'
import knexLibrary, { type Knex } from 'knex'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { NotificationChannel, notify } from '../../../lib/postgres/notification-channel.js'
import { createDatabase, type TestDatabase } from '../../support/database.js'
import { type ServerProxy, startDatabaseProxy } from '../../support/proxy.js'

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database.drop())

describe('a channel whose network has gone silent', () => {
  const heard: string[] = []
  const sockets: Socket[] = []
  let proxy: ServerProxy
  let knex: Knex
  let channel: NotificationChannel
  beforeEach(async () => {
    heard.length = 0
    sockets.length = 0
    const { proxy: made, through } = await startDatabaseProxy(database.direct)
    proxy = made
    const stream = () => {
      const socket = new Socket()
      sockets.push(socket)
      return socket
    }
    knex = knexLibrary({ client: 'pg', connection: { ...through, stream } as Knex.PgConnectionConfig })
    channel = new NotificationChannel(knex, {
      name: 'test',
      channel: 'test_channel',
      notified: () => heard.push('notified'),
      lost: () => heard.push('lost'),
    })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    await channel.listen()
    proxy.silence()
  })
  afterEach(async () => {
    vi.useRealTimers()
    await channel.close()
    await knex.destroy()
    await proxy.remove()
  })

  it('is opened anew, and says so', async () => {
    await vi.advanceTimersByTimeAsync(30_000)
    expect(heard).toEqual([])
    await vi.advanceTimersByTimeAsync(5_000)
    await vi.waitFor(() => expect(heard).toEqual(['lost']))
    await proxy.restore()
    await vi.waitFor(async () => {
      await vi.advanceTimersByTimeAsync(1_000)
      expect(heard).toEqual(['lost', 'notified'])
    })
    await notify(database.knex, 'test_channel')
    await vi.waitFor(() => expect(heard).toEqual(['lost', 'notified', 'notified']))
    expect(sockets.filter(({ destroyed }) => !destroyed)).toHaveLength(1)
  })

  it('keeps no socket once it is closed', async () => {
    const closed = channel.close()
    await vi.advanceTimersByTimeAsync(5_000)
    await closed
    expect(sockets.map(({ destroyed }) => destroyed)).toEqual([true])
  })
})
