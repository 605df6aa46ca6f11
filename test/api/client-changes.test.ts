/** The changes that the typed client hears of, from a real server; and how it goes on when a stream ends or is refused. */
import type Koa from 'koa'
import { APIRouter, IsAuthenticated, ModelViewSet, type SerializerClass } from 'koa-viewsets'
import { type ChangeEvent, ClientError, type ClientOptions, createClient } from 'koa-viewsets/client'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  ChangeStreamMixin,
  type ChangeStreamOptions,
  ChangesMixin,
  ensureChangesTable,
} from '../../lib/changes/index.js'
import { type Client, serving } from '../support/client.js'
import { openEvents } from '../support/event-source.js'
import { Book, BookSerializer, database, useLibrary } from '../support/library.js'

useLibrary({})

const asUser: Koa.Middleware = (ctx, next) => {
  if (ctx.get('Authorization')) ctx.state['user'] = { id: 1 }
  return next()
}

class BookViewSet extends ChangeStreamMixin(ChangesMixin(ModelViewSet<Book>)) {
  static override model = Book
  static override serializerClass: SerializerClass = BookSerializer
  static override permissionClasses = [IsAuthenticated]
}
class ShortBooks extends BookViewSet {
  static override changeStream: ChangeStreamOptions = { seconds: 1 }
}

const createApi = () => new APIRouter().register('books', BookViewSet).register('short', ShortBooks, 'short')
type Api = ReturnType<typeof createApi>

const headers = { authorization: 'Bearer a' }

describe('changes of a server', () => {
  let api: Api
  let server: Client
  beforeAll(async () => {
    await ensureChangesTable(database.knex)
    api = createApi()
    await api.prepare()
    server = await serving(asUser, api.routes())
  })
  afterAll(() => server.close())

  const clientOf = (options: ClientOptions = { headers }) =>
    createClient<Api>(`http://127.0.0.1:${server.port}`, options)
  const post = async (title: string) => (await server.send('POST', '/books', { title }, headers)).json.id as number

  it('are told one by one, until the loop is left', async () => {
    const heard: ChangeEvent[] = []
    const added: number[] = []
    for await (const change of clientOf().books.changes()) {
      heard.push(change)
      if (change.event === 'open') added.push(await post('a'), await post('b'))
      if (change.id === added[1]) break
    }
    const change = { event: 'change', resource: 'book', position: expect.any(String) }
    expect(heard).toEqual([{ event: 'open', resumed: false }, ...added.map((id) => ({ ...change, id }))])
  })

  it('go on over the end of each stream, and behind a position of before', async () => {
    const heard: ChangeEvent[] = []
    let position: string | undefined
    for await (const change of clientOf().short.changes()) {
      heard.push(change)
      if (change.event === 'open') await post('a')
      if (change.event === 'change' && heard.length > 2) {
        position = change.position
        break
      }
    }
    expect(heard.map(({ event }) => event)).toEqual(['open', 'change', 'open', 'change'])
    expect(heard[2]).toEqual({ event: 'open', resumed: true })
    const missed = [await post('b'), await post('c')]
    const later: unknown[] = []
    for await (const { event, id } of clientOf().books.changes({ position })) {
      if (event === 'change') later.push(id)
      if (later.length === 2) break
    }
    expect(later).toEqual(missed)
  })

  it('say where too much was missed', async () => {
    const events: string[] = []
    for await (const { event } of clientOf().books.changes({ position: 'of another server' })) {
      events.push(event)
      if (event === 'reset') break
    }
    expect(events).toEqual(['open', 'reset'])
  })

  it('end with their signal, while nothing comes', async () => {
    const stop = new AbortController()
    const events: string[] = []
    for await (const { event } of clientOf().books.changes({ signal: stop.signal })) {
      events.push(event)
      setTimeout(() => stop.abort(), 10)
    }
    expect(events).toEqual(['open'])
    for await (const { event } of clientOf().books.changes({ signal: stop.signal })) events.push(event)
    expect(events).toEqual(['open'])
  })

  it('end on the server with the loop', async () => {
    for (let index = 0; index < 10; index++) {
      for await (const { event } of clientOf().books.changes()) if (event === 'open') break
    }
    // a caller has ten at the most
    await vi.waitFor(async () => {
      expect((await openEvents(server.port, '/books/changes', headers)).status).toBe(200)
    })
  })

  it('are refused as an error', async () => {
    const all = clientOf({}).books.changes()
    await expect(all.next()).rejects.toThrow(ClientError)
    expect(await all.next()).toEqual({ done: true, value: undefined })
  })
})

describe('a stream that', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
  afterEach(() => void vi.useRealTimers())

  type Answer = () => Response | Promise<Response>
  /** A client that gets these answers, one after the other, and what it has sent as `Last-Event-ID`. */
  function answered(...answers: readonly Answer[]) {
    const sent: (string | null)[] = []
    const client = createClient<Api>('http://x', {
      fetch: async (_url, init) => {
        sent.push(new Headers(init.headers).get('last-event-id'))
        const answer = answers[sent.length - 1]
        return answer ? answer() : new Promise<never>(() => {})
      },
    })
    return { changes: client.books.changes(), sent }
  }
  const stream = (...texts: readonly string[]) => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const text of texts) controller.enqueue(new TextEncoder().encode(text))
        controller.close()
      },
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream; charset=utf-8' } })
  }
  const refused = (status: number, more: Record<string, string> = {}) =>
    Response.json({ detail: 'no' }, { status, headers: more })
  const told = (id: number) => `id: p${id}\ndata: {"resource":"book","id":${id},"position":"p${id}"}\n\n`
  const OPEN = { done: false, value: { event: 'open', resumed: false } }
  const AGAIN = { done: false, value: { event: 'open', resumed: true } }
  const ofChange = (id: number) => ({
    done: false,
    value: { event: 'change', resource: 'book', id, position: `p${id}` },
  })

  it('ends is opened again behind its last whole event', async () => {
    const { changes, sent } = answered(
      () => stream(told(1), 'id: p2\n\n', told(3).slice(0, -1)),
      () => stream(told(4)),
    )
    expect([await changes.next(), await changes.next()]).toEqual([OPEN, ofChange(1)])
    const next = changes.next()
    await vi.advanceTimersByTimeAsync(1_500)
    expect([await next, await changes.next()]).toEqual([AGAIN, ofChange(4)])
    expect(sent).toEqual([null, 'p2'])
  })

  it('is lost goes on as one that has ended', async () => {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new TextEncoder().encode(told(1))),
      pull: () => Promise.reject(new Error('reset')),
    })
    const { changes, sent } = answered(
      () => new Response(body, { headers: { 'content-type': 'text/event-stream' } }),
      () => stream(),
    )
    expect([await changes.next(), await changes.next()]).toEqual([OPEN, ofChange(1)])
    const next = changes.next()
    await vi.advanceTimersByTimeAsync(1_500)
    expect(await next).toEqual(AGAIN)
    expect(sent).toEqual([null, 'p1'])
  })

  it('says nothing for three beats of a server is one that is lost', async () => {
    let isCancelled = false
    const body = new ReadableStream<Uint8Array>({
      cancel: () => {
        isCancelled = true
      },
    })
    const { changes } = answered(
      () => new Response(body, { headers: { 'content-type': 'text/event-stream' } }),
      () => stream(),
    )
    expect(await changes.next()).toEqual(OPEN)
    const next = changes.next()
    await vi.advanceTimersByTimeAsync(44_000)
    expect(isCancelled).toBe(false)
    await vi.advanceTimersByTimeAsync(3_000)
    expect(isCancelled).toBe(true)
    expect(await next).toEqual(OPEN)
  })

  it('cannot be had is asked for ever less often', async () => {
    const failed = Array.from({ length: 12 }, (_, index): Answer[] => [
      () => (index % 2 ? refused(500) : Promise.reject(new TypeError('unreachable'))),
    ]).flat()
    const { changes, sent } = answered(...failed)
    void changes.next()
    const counts: number[] = []
    for (let minute = 0; minute < 5; minute++) {
      await vi.advanceTimersByTimeAsync(60_000)
      counts.push(sent.length)
    }
    // 1, 2, 4, 8, 16, then 30 seconds, each half as long or half as long again
    expect(counts[0]).toBeGreaterThanOrEqual(4)
    expect(counts[0]).toBeLessThanOrEqual(7)
    expect((counts[4] as number) - (counts[1] as number)).toBeGreaterThanOrEqual(3)
    expect((counts[4] as number) - (counts[1] as number)).toBeLessThanOrEqual(12)
  })

  it.each([429, 503])('is refused by %i waits as long as it is told', async (status) => {
    const { changes, sent } = answered(
      () => refused(status, { 'retry-after': '20' }),
      () => stream(),
    )
    const next = changes.next()
    await vi.advanceTimersByTimeAsync(20_000)
    expect(sent).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1_500)
    expect(await next).toEqual(OPEN)
  })

  it('names a time waits as long', async () => {
    const { changes, sent } = answered(
      () => stream('retry: 10000\n\n'),
      () => stream(),
    )
    expect(await changes.next()).toEqual(OPEN)
    const next = changes.next()
    await vi.advanceTimersByTimeAsync(4_900)
    expect(sent).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(10_200)
    expect(await next).toEqual(OPEN)
  })

  it('names a time of 0 is asked for ever less often, too', async () => {
    const { changes, sent } = answered(
      () => stream('retry: 0\n\n'),
      ...Array.from({ length: 99 }, () => () => refused(500)),
    )
    expect(await changes.next()).toEqual(OPEN)
    void changes.next()
    await vi.advanceTimersByTimeAsync(10_000)
    expect(sent.length).toBeGreaterThan(3)
    expect(sent.length).toBeLessThan(12)
  })

  it.each([
    ['401', () => refused(401), 'unauthenticated'],
    ['403', () => refused(403), 'forbidden'],
    ['404', () => refused(404), 'missing'],
    ['406', () => refused(406), 'refused'],
    ['a page', () => new Response('<html></html>', { headers: { 'content-type': 'text/html' } }), 'unreadable'],
    ['JSON', () => Response.json({ count: 0 }), 'unreadable'],
    ['nothing', () => new Response(null, { status: 204 }), 'unreadable'],
    ['something else in its events', () => stream('data: x\n\n'), 'unreadable'],
  ])('answers %s ends with an error', async (_answer, answer, kind) => {
    const { changes, sent } = answered(answer)
    await expect(changes.next().then(() => changes.next())).rejects.toMatchObject({ failure: { kind } })
    expect(sent).toHaveLength(1)
  })

  it('waits ends with its signal', async () => {
    const stop = new AbortController()
    const client = createClient<Api>('http://x', { fetch: () => Promise.reject(new Error('unreachable')) })
    const next = client.books.changes({ signal: stop.signal }).next()
    await vi.advanceTimersByTimeAsync(100)
    stop.abort()
    expect(await next).toEqual({ done: true, value: undefined })
    expect(vi.getTimerCount()).toBe(0)
  })
})
