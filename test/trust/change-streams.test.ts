/** Streams of changes under load: who hears, of what, how soon; and over the death of a process. */
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import knexLibrary, { type Knex } from 'knex'
import { type APIRouter, ModelViewSet } from 'koa-viewsets'
import { createClient } from 'koa-viewsets/client'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Postgres, startPostgres } from '../../examples/support/postgres.js'
import { ChangeStreamMixin, ChangesMixin, ensureChangesTable, recordChange } from '../../lib/changes/index.js'
import { LIBRARY } from '../support/library.js'
import { findPgBouncer, startPgBouncer, warnWithoutPgBouncer } from '../support/pgbouncer.js'
import { toUrl } from '../support/program.js'
import { type App, type Bundle, bundle, startApps } from './support/killed-apps.js'
import { Random } from './support/random.js'
import { isLong, report, seed, size } from './support/size.js'

/** How many callers there are, each of another tenant: who sees a fiftieth of the books hears of as many changes. */
const CALLERS = 50
/** Books that are changed one by one, and those that are changed in bulk. */
const BOOKS = { single: 400, bulk: 1_600 }

let program: Bundle
beforeAll(async () => {
  program = await bundle('streams-server', ['changes', 'rules'])
})
afterAll(() => program.remove())

let postgres: Postgres
let knex: Knex
beforeEach(async () => {
  postgres = await startPostgres()
  knex = knexLibrary({ client: 'pg', connection: { ...postgres.connection }, pool: { min: 0, max: 4 } })
  await knex.raw(`${LIBRARY}
    alter table books add tenant text, add deleted_at timestamptz; delete from authors;
    insert into authors (id, name) select n, 'T' || n from generate_series(1, ${CALLERS}) n;
    insert into books (title, n, author_id, tenant)
      select 'a', n % 100, 1 + n % ${CALLERS}, 'T' || 1 + n * 7 % ${CALLERS} from generate_series(1, ${BOOKS.single + BOOKS.bulk}) n;
    analyze`)
  await ensureChangesTable(knex)
})
afterEach(async () => {
  await knex.destroy()
  await postgres.stop()
})

interface Book {
  readonly n: number | null
  readonly author_id: number | null
  readonly tenant: string | null
}

interface Caller {
  readonly id: number
  readonly tenant: string
}

/** Who sees a book, as `support/streams-server.ts` has it in SQL. */
const SEEN: Readonly<Record<string, (book: Book, caller: Caller) => boolean>> = {
  '/books': () => true,
  '/own': ({ author_id, tenant }, caller) => author_id === caller.id || tenant === caller.tenant,
  '/written': ({ n, author_id }, caller) => (n ?? 0) > 50 && author_id === caller.id,
  '/related': ({ author_id }, caller) => `T${author_id}` === caller.tenant,
  '/kept': ({ tenant }, caller) => tenant === caller.tenant,
  '/by-columns/books': ({ author_id, tenant }, caller) => tenant === caller.tenant && author_id !== caller.id,
  '/by-related/books': ({ author_id }, caller) => `T${author_id}` === caller.tenant,
  '/by-written/books': ({ n, tenant }, caller) => n !== null && n < 10 && tenant === caller.tenant,
}
const NARROW = Object.keys(SEEN).filter((path) => path !== '/books')

/** What all these paths have. */
class Told extends ChangeStreamMixin(ChangesMixin(ModelViewSet)) {}
type Api = APIRouter<{ readonly books: typeof Told }>

/** A stream of one caller, and when it told of which change. */
interface Listener {
  readonly path: string
  readonly caller: Caller
  /** By the id of the change. */
  readonly heard: Map<string, number>
  readonly troubles: string[]
}

const callerOf = (random: Random): Caller => {
  const id = 1 + random.below(CALLERS)
  return { id, tenant: `T${id}` }
}

/** Callers of some groups, as many in each, and a tenth of a hundredth that sees all. */
function listenersOf(count: number, groups: number, random: Random): readonly Listener[] {
  const some = Array.from({ length: groups }, (_, index) => ({
    path: NARROW[index % NARROW.length] as string,
    caller: callerOf(random),
  }))
  return Array.from({ length: count }, (_, index) => {
    const { path, caller } = some[index % groups] as (typeof some)[number]
    const isAll = index < Math.max(1, count / 1_000)
    return { path: isAll ? '/books' : path, caller, heard: new Map(), troubles: [] }
  })
}

const headersOf = ({ id, tenant }: Caller) => ({ 'X-User': String(id), 'X-Tenant': tenant })

function note({ heard, troubles }: Listener, change: string): void {
  if (heard.has(change)) troubles.push(`told twice of ${change}`)
  heard.set(change, performance.now())
}

/** Listens by a connection of its own, reading no more of events than which change they tell of. */
async function listen(listener: Listener, port: number): Promise<() => void> {
  const { path, caller, troubles } = listener
  const request = http.get({
    host: '127.0.0.1',
    port,
    path: `${path}/changes`,
    agent: false,
    headers: headersOf(caller),
  })
  const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
    request.once('response', resolve).once('error', reject)
  })
  if (response.statusCode !== 200) throw new Error(`${path}: ${response.statusCode}`)
  let isClosed = false
  let rest = ''
  response.setEncoding('utf8').on('data', (text: string) => {
    const all = rest + text
    const end = all.lastIndexOf('\n\n') + 2
    rest = end < 2 ? all : all.slice(end)
    if (end >= 2)
      for (const [, change] of all.slice(0, end).matchAll(/;(\d+)\ndata: /g)) note(listener, change as string)
  })
  response.on('close', () => {
    if (!isClosed) troubles.push('has ended')
  })
  response.on('error', () => {})
  return () => {
    isClosed = true
    request.destroy()
  }
}

/** What writers know. */
interface Written {
  /** When requests were answered, by their ids. */
  readonly answered: Map<string, number>
  failed: number
}

interface Load {
  /** Where a request goes. */
  readonly port: () => number
  /** Changes per second. */
  readonly rate: number
  readonly seconds: number
  readonly random: Random
}

/** Fewer than the pool of the app has connections: who waits for one behind others is told later. */
const AT_ONCE = 8
const BULK = 8

/** Changes books: a fifth of the changes one by one, the others eight at a time. */
async function load({ port, rate, seconds, random }: Load, written: Written): Promise<void> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: AT_ONCE })
  const { single, bulk } = BOOKS
  const created: number[] = []
  const body = () => ({
    title: random.pick(['a', 'b', 'c']),
    ...(random.chance(0.5) ? { tenant: `T${1 + random.below(CALLERS)}` } : {}),
    ...(random.chance(0.5) ? { author_id: 1 + random.below(CALLERS) } : {}),
    n: random.below(100),
  })
  const next = (): [method: string, path: string, body?: unknown] => {
    // as many requests of one as make a fifth of all
    if (random.below(BULK / 2 + 2) < 4) {
      const kind = random.below(10)
      if (kind === 0) return ['POST', '/books', body()]
      if (kind === 1 && created.length > 0) return ['DELETE', `/books/${created.pop()}`]
      return ['PATCH', `/books/${1 + random.below(single)}`, body()]
    }
    const first = 1 + single + random.below(bulk - BULK)
    return ['PATCH', '/books/bulk', Array.from({ length: BULK }, (_, index) => ({ id: first + index, ...body() }))]
  }
  const send = async (): Promise<number> => {
    const [method, path, data] = next()
    const id = randomUUID()
    const text = data === undefined ? undefined : JSON.stringify(data)
    const headers = { 'X-Request-Id': id, ...(text === undefined ? {} : { 'Content-Type': 'application/json' }) }
    const answer = await new Promise<{ status: number; text: string }>((resolve, reject) => {
      const request = http.request({ host: '127.0.0.1', port: port(), method, path, agent, headers }, (response) => {
        let read = ''
        response.setEncoding('utf8').on('data', (part: string) => (read += part))
        response.once('end', () => resolve({ status: response.statusCode ?? 0, text: read }))
        response.once('error', reject)
      })
      request.once('error', reject)
      request.end(text)
    }).catch(() => undefined)
    if (!answer || answer.status >= 400) written.failed++
    else written.answered.set(id, performance.now())
    if (answer?.status === 201) created.push((JSON.parse(answer.text) as { id: number }).id)
    if (!answer) await sleep(20)
    return Array.isArray(data) ? BULK : 1
  }
  const begin = performance.now()
  let sent = 0
  const work = async () => {
    while (performance.now() - begin < seconds * 1_000) {
      if (sent >= (rate * (performance.now() - begin)) / 1_000) {
        await sleep(2)
        continue
      }
      // counted before it is sent, for the others
      sent += BULK
      const changed = await send()
      sent += changed - BULK
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  agent.destroy()
}

interface Change extends Readonly<Record<'id' | 'key' | 'action', string>> {
  readonly request: string | null
  readonly before: Book | null
  readonly after: Book | null
}

async function recorded(): Promise<readonly Change[]> {
  const { rows } = await knex.raw(
    `select id::text, key, action, request_id::text as request, before, after from koa_viewsets_changes as c order by c.id`,
  )
  return rows
}

const mark = (key: number, trx: Knex.Transaction) => recordChange(trx, { model: 'books', key, action: 'mark' })

/** All that is committed was told: a mark that is read after another one was. */
async function settle(all: readonly Listener[]): Promise<void> {
  for (let index = 0; index < 2; index++) {
    await knex.transaction((trx) => mark(0, trx))
    const last = (await recorded()).at(-1)?.id as string
    const late = performance.now() + 60_000
    while (!all.every(({ heard }) => heard.has(last))) {
      if (performance.now() > late) throw new Error('a mark was not told')
      await sleep(20)
    }
  }
}

/** Each has heard of the changes of what it saw before or after them, once, and of nothing else. */
function expectHeard(listeners: readonly Listener[], changes: readonly Change[]): number {
  const known = new Map<string, ReadonlySet<string>>()
  let bells = 0
  for (const { path, caller, heard, troubles } of listeners) {
    const name = `${path} ${caller.id}`
    const isSeen = (book: Book | null) => book !== null && (SEEN[path] as (typeof SEEN)[string])(book, caller)
    const seen = ({ before, after }: Change) => path === '/books' || isSeen(before) || isSeen(after)
    const expected = known.get(name) ?? new Set(changes.filter(seen).map(({ id }) => id))
    known.set(name, expected)
    const missing = [...expected].filter((id) => !heard.has(id))
    const hidden = [...heard.keys()].filter((id) => !expected.has(id))
    expect({ name, troubles, missing, hidden }).toEqual({ name, troubles: [], missing: [], hidden: [] })
    bells += heard.size
  }
  return bells
}

/** Milliseconds from the answers of requests to what was told of their changes. */
function delaysOf(listeners: readonly Listener[], changes: readonly Change[], { answered }: Written): Float64Array {
  const at = new Map(
    changes.flatMap(({ id, request }) =>
      request && answered.has(request) ? [[id, answered.get(request) as number]] : [],
    ),
  )
  return Float64Array.from(
    listeners.flatMap(({ heard }) =>
      [...heard].flatMap(([id, time]) => (at.has(id) ? [time - (at.get(id) as number)] : [])),
    ),
  ).sort()
}

const percentile = (sorted: Float64Array, share: number) => Math.round(sorted[Math.floor(sorted.length * share)] ?? 0)

/** What a process holds in memory, in MB. */
const memoryOf = ({ pid }: App) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024
/** Seconds of computing. */
const computedBy = (pid: number | undefined) => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ')
  return (Number(fields[13]) + Number(fields[14])) / 100
}

/**
 * The most that a process holds in each half of the time in which something is done. Where a thousand clients connect at once,
 * V8 lets its heap grow to some times of what it finds then before it collects all again: the second half is behind that.
 */
async function mostMemory(app: App, seconds: number, work: () => Promise<void>): Promise<readonly [number, number]> {
  const most: [number, number] = [0, 0]
  const begin = performance.now()
  let isOver = false
  const watched = (async () => {
    while (!isOver) {
      const half = performance.now() - begin < seconds * 500 ? 0 : 1
      most[half] = Math.max(most[half], memoryOf(app))
      await sleep(200)
    }
  })()
  await work()
  isOver = true
  await watched
  return most
}

/** What a process holds that does the same as one with listeners, for as long: how much it is depends on when V8 collects all. */
async function memoryWithoutListeners(app: App, random: Random): Promise<number> {
  const written: Written = { answered: new Map(), failed: 0 }
  const [, most] = await mostMemory(app, LOUD, () =>
    load({ port: () => app.port, rate, seconds: LOUD, random }, written),
  )
  return most
}

/** Changes of transactions that stay open for a while: nothing is told of them before they commit, or roll back. */
async function hold(all: readonly Listener[], isOver: () => boolean): Promise<number> {
  let held = 0
  for (; !isOver(); held++) {
    const trx = await knex.transaction()
    await mark(0, trx)
    const { rows } = await trx.raw('select id::text from koa_viewsets_changes where transaction = pg_current_xact_id()')
    await sleep(300)
    const [{ id }] = rows as [{ id: string }]
    for (const { heard, troubles } of all) if (heard.has(id)) troubles.push(`told of ${id} before COMMIT`)
    await (held % 2 ? trx.rollback() : trx.commit())
  }
  return held
}

const rate = size(40, 500)
/** For how long there is load without listeners, and with them, in seconds. */
const WARM = size(1, 20)
const LOUD = size(2, 90)

describe.skipIf(process.platform !== 'linux')('many listeners', () => {
  const count = size(30, 1_000)
  const groups = size(10, 50)
  it(`${count} in ${groups} groups hear of what they see, soon, and after COMMIT`, { timeout: 600_000 }, async () => {
    const random = new Random(seed)
    const { apps, stop } = await startApps(program.file, toUrl(postgres.connection), isLong ? 2 : 1)
    const [app, other] = apps as [App, App | undefined]
    const port = () => app.port
    const written: Written = { answered: new Map(), failed: 0 }
    const listeners = listenersOf(count, groups, random)
    const stops: (() => void)[] = []
    try {
      const without = other && (await memoryWithoutListeners(other, random))
      await load({ port, rate, seconds: WARM, random }, written)
      const first = (await recorded()).length
      stops.push(...(await Promise.all(listeners.map((listener) => listen(listener, app.port)))))
      const computed = computedBy(app.pid)
      const begin = performance.now()
      const all = listeners.filter(({ path }) => path === '/books')
      let isOver = false
      const holding = hold(all, () => isOver)
      const [hump, most] = await mostMemory(app, LOUD, () => load({ port, rate, seconds: LOUD, random }, written))
      isOver = true
      const held = await holding
      const seconds = (performance.now() - begin) / 1_000
      const share = (computedBy(app.pid) - computed) / seconds
      await settle(all)
      const changes = (await recorded()).slice(first)
      const bells = expectHeard(listeners, changes)
      const delays = delaysOf(listeners, changes, written)
      report('change streams, load', {
        listeners: count,
        groups,
        'changes/s': Math.round(changes.length / seconds),
        held,
        'bells/s': Math.round(bells / seconds),
        p50: percentile(delays, 0.5),
        p99: percentile(delays, 0.99),
        most: percentile(delays, 0.999_999),
        'MB without': without === undefined ? 'not measured' : Math.round(without),
        'MB with': Math.round(most),
        'MB at first': Math.round(hump),
        'CPU of the server': share.toFixed(2),
        failed: written.failed,
        seed,
      })
      if (without === undefined) return
      expect(percentile(delays, 0.99)).toBeLessThan(250)
      expect(most - without).toBeLessThan(60)
    } finally {
      for (const end of stops) end()
      await stop()
    }
  })
})

/** Listens by the typed client, which goes on where it was, at whichever process there is. */
async function follow(listener: Listener, url: () => string, signal: AbortSignal, opened: () => void): Promise<void> {
  const { path, caller, troubles } = listener
  const [name, prefix = ''] = path.slice(1).split('/').reverse()
  const client = createClient<Api>(prefix && `/${prefix}`, {
    headers: headersOf(caller),
    fetch: (target, init) => fetch(url() + target, init),
  })
  for await (const change of client[name as 'books'].changes({ signal })) {
    if (change.event === 'open') opened()
    else if (change.event === 'reset') troubles.push('was told to begin anew')
    else note(listener, change.position.split(';').at(-1) as string)
  }
}

describe('listeners whose process is killed', () => {
  const kills = size(1, 30)
  const pgbouncer = findPgBouncer()
  if (!pgbouncer) warnWithoutPgBouncer()
  const ways = ['PostgreSQL', ...(pgbouncer ? ['PgBouncer by transaction'] : [])]
  it.each(ways)(`${kills} times go on at another one, and miss nothing, by %s`, { timeout: 1_200_000 }, async (way) => {
    const random = new Random(seed)
    const bouncer =
      way === 'PostgreSQL'
        ? undefined
        : await startPgBouncer({
            mode: 'transaction',
            server: { ...postgres.connection },
            settings: { default_pool_size: 12 },
          })
    const connection = bouncer ? { ...bouncer.connection, database: postgres.connection.database } : postgres.connection
    const env = bouncer ? { PREPARED_STATEMENTS: 'false' } : {}
    const { apps, stop } = await startApps(program.file, toUrl(connection), 2, env)
    let dead: App | undefined
    const alive = () => random.pick(apps.filter((app) => app !== dead))
    const written: Written = { answered: new Map(), failed: 0 }
    const listeners = listenersOf(size(20, 200), size(10, 50), random)
    const ends = listeners.map(() => new AbortController())
    let open = 0
    const url = () => `http://127.0.0.1:${alive().port}`
    const following = listeners.map((listener, index) =>
      follow(listener, url, (ends[index] as AbortController).signal, () => open++),
    )
    try {
      while (open < listeners.length) await sleep(20)
      let isOver = false
      const killing = (async () => {
        for (let kill = 0; kill < kills; kill++) {
          await sleep(300 + random.below(500))
          dead = apps[kill % 2] as App
          await dead.kill()
          await sleep(random.below(1_500))
          await dead.start()
          dead = undefined
        }
        isOver = true
      })()
      const port = () => alive().port
      while (!isOver) await load({ port, rate: size(40, 200), seconds: 1, random }, written)
      await killing
      await settle(listeners.filter(({ path }) => path === '/books'))
      const changes = await recorded()
      // some wait before they come back
      const bells = await vi.waitFor(() => expectHeard(listeners, changes), { timeout: 60_000, interval: 500 })
      report(`change streams, kills, ${way}`, {
        kills,
        listeners: listeners.length,
        changes: changes.length,
        bells,
        seed,
      })
    } finally {
      for (const end of ends) end.abort()
      await Promise.all(following)
      await stop()
      await bouncer?.stop()
    }
  })
})
