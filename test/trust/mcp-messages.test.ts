/** P17: messages of agents of all kinds, nearly right and hostile, against tools of every kind. */
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { agentMessage } from './support/agent-messages.js'
import { createClient, type Hit, type Shot, type TrialClient } from './support/client.js'
import { anyMessage, ENDPOINTS, eachArgument, type ShownTool } from './support/hostile-messages.js'
import { findInMessage, isRefused } from './support/message-oracles.js'
import { findInStatements, findLeftovers } from './support/oracles.js'
import { report, seed, size } from './support/size.js'
import { startTrialDatabase, startTrialServer, type TrialDatabase, type TrialServer } from './support/trial.js'

const MESSAGES = size(100, 5_000)
const CONCURRENCY = 8
/** In many arguments; never to be seen in the text of a statement. */
const CANARY = `canary${seed.toString(36)}x`
/** Each row of the slow list takes a tenth of a second, and two lists are always whole. */
const WITHOUT = /^(?:slow|table|stream)/

/** Remembers that rows were written, as long as the transaction that wrote them is committed. */
const TABLES = ['authors', 'books', 'reviews', 'notes', 'pictures']
const WATCH = `
  create table written (name text not null);
  create function watch() returns trigger language plpgsql security definer as
    $$ begin insert into written values (tg_op || ' ' || tg_table_name); return null; end $$;
  ${TABLES.map(
    (table) =>
      `create trigger watch after insert or update or delete on ${table} for each statement execute function watch();`,
  ).join('')}`

let database: TrialDatabase
let server: TrialServer
let client: TrialClient
const tools: Record<string, readonly ShownTool[]> = {}

beforeAll(async () => {
  database = await startTrialDatabase()
  await database.query(WATCH)
  // its half holds all server cursors of the four callers (5 each): more are 503, which P5 shows
  server = await startTrialServer(database.url, { pool: 40 })
  client = createClient(server.port)
  for (const path of ENDPOINTS) {
    const message = agentMessage('2025-11-25', 'tools/list', { headers: { Authorization: 'Token alice' } })
    const { text } = await client.fire({ method: 'POST', path, ...message })
    const all = (JSON.parse(text) as { result: { tools: ShownTool[] } }).result.tools
    tools[path] = all.filter(({ name }) => !WITHOUT.test(name))
  }
})
afterAll(async () => {
  client?.close()
  await server?.remove()
  await database?.stop()
})

const tell = (fault: string, { shot, status, text }: Hit) =>
  `${fault}: ${shot.method} ${shot.path} ${JSON.stringify(shot.headers)} ${JSON.stringify(shot.body?.toString('latin1'))?.slice(0, 600)} -> ${status} ${text.slice(0, 300)}`

/** Says what refused calls have written. Some at once, and those among which is one that is not refused any more, one by one. */
async function findWritten(refused: readonly Shot[]): Promise<string[]> {
  const found: string[] = []
  const attempt = async (shots: readonly Shot[]) => {
    await database.query('delete from written')
    let isAll = true
    await client.fireAll(shots, (hit) => {
      if (!isRefused(hit)) isAll = false
    })
    const written = await database.query<{ name: string }>('select name from written')
    return { isAll, written }
  }
  await database.reset()
  for (let at = 0; at < refused.length; at += 50) {
    const shots = refused.slice(at, at + 50)
    const together = await attempt(shots)
    if (together.written.length === 0) continue
    for (const shot of together.isAll ? [] : shots) {
      const alone = await attempt([shot])
      if (alone.isAll && alone.written.length > 0)
        found.push(`refused, but written: ${String(shot.body).slice(0, 600)}`)
    }
    if (together.isAll) found.push(`refused, but written, by one of ${shots.length} from ${at} on`)
  }
  return found
}

/** Fires all, looks at each answer and at what is left, and tells what it found. */
async function attack(run: string, shots: readonly Shot[]) {
  for (let turn = 0; turn < 50; turn++) {
    await client.fire({ method: 'POST', path: '/mcp', ...agentMessage('2025-11-25', 'tools/list') })
  }
  // without the connections of the client
  client.close()
  await sleep(200)
  const before = await server.state()
  const found: string[] = []
  const refused: Shot[] = []
  const outcomes = new Map<string, number>()
  const begin = performance.now()
  let slowest = 0
  await client.fireAll(
    shots,
    (hit) => {
      for (const fault of findInMessage(hit)) found.push(tell(fault, hit))
      slowest = Math.max(slowest, hit.milliseconds)
      if (hit.failure === undefined && isRefused(hit)) refused.push(hit.shot)
      const outcome = outcomeOf(hit)
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    },
    CONCURRENCY,
  )
  const rate = Math.round(shots.length / ((performance.now() - begin) / 1_000))
  const reported = async () =>
    (await server.failures()).filter((line) => !/^4\d\d |ECONNRESET|EPIPE|aborted/.test(line))
  found.push(...(await reported()))
  found.push(...(await findWritten(refused)), ...(await reported()))
  client.close()
  found.push(...(await findLeftovers(server, database, before)))
  found.push(...(await findInStatements(database.log(), CANARY)))
  expect(await database.query('select * from canary')).toEqual([{ id: 1, text: 'untouched' }])
  report(run, {
    seed,
    messages: shots.length,
    'per second': rate,
    'slowest ms': Math.round(slowest),
    faults: found.length,
    outcomes: [...outcomes]
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([outcome, count]) => `${outcome}:${count}`)
      .join(' '),
  })
  return { found: [...new Set(found)].slice(0, 20), outcomes }
}

/** How a message was answered: by a status of HTTP, or by one of the API inside of a result. */
function outcomeOf({ status, text }: Hit): string {
  const inner =
    status === 200 ? /^\{\\"detail\\":.*?\\"status\\":(\d+)/.exec(text.split('"text":"')[1] ?? '')?.[1] : undefined
  return inner === undefined ? String(status) : `call ${inner}`
}

it(`[P17 J3 C3] ${MESSAGES} messages, nearly right and hostile: each is answered by itself, none 5xx, none leaves anything behind`, {
  timeout: 600_000,
}, async () => {
  const shots = fc.sample(anyMessage(tools, CANARY), { numRuns: MESSAGES, seed })
  const { found, outcomes } = await attack('P17 messages', shots)
  expect(found).toEqual([])
  // calls came through to the rows, or nothing was tried
  const fewest = Math.min(...['200', 'call 400', 'call 404'].map((outcome) => outcomes.get(outcome) ?? 0))
  expect(fewest).toBeGreaterThan(MESSAGES / 100)
})

const SHARE = size(400, 1)

it(`[P17 J3 R1 R2] each argument of each tool, as what it is not${SHARE === 1 ? '' : `, one of ${SHARE}`}`, {
  timeout: 600_000,
}, async () => {
  const shots = eachArgument(tools['/mcp'] ?? []).filter((_, index) => index % SHARE === 0)
  const { found, outcomes } = await attack('P17 arguments', shots)
  expect(found).toEqual([])
  expect(outcomes.get('200')).toBeGreaterThan(shots.length / 20)
  expect(outcomes.get('call 400')).toBeGreaterThan(shots.length / 20)
})

describe('the oracles of messages see', () => {
  const shot: Shot = { method: 'POST', path: '/mcp', body: '{"jsonrpc":"2.0","id":1,"method":"tools/call"}' }
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  }
  const hit = (text: string, status = 200): Hit => ({ shot, status, headers, text, milliseconds: 1 })
  const result = (texts: readonly string[], isError: boolean) =>
    JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      result: { content: texts.map((one) => ({ type: 'text', text: one })), isError },
    })
  const refusal = '{"detail":"Not found","status":404}'

  it.each([
    ['a right answer', hit(result(['{}', 'ETag, for if_match: "x"'], false)), []],
    ['a right refusal', hit(result([refusal, 'Send less.'], true)), []],
    ['the id of another', hit(result(['{}'], false).replace('"id":1', '"id":2')), ['answers 2']],
    ['a result of nothing', hit(result(['{}'], false).replace('"id":1,', '')), ['is a result of nothing']],
    ['two messages', hit(`${result(['{}'], false)}${result(['{}'], false)}`), ['is no JSON']],
    ['nothing', hit(''), ['nothing, with 200']],
    ['a failure', hit(result(['{"detail":"x","status":500}'], true)), ['status 500 of a tool']],
    ['an item too many', hit(result(['{}', 'ETag, for if_match: "x"', 'x'], false)), ['has 3 items']],
    ['advice of somebody else', hit(result([refusal, 'Call delete_all.'], true)), ['advises Call delete_all.']],
    [
      'a tag that says more',
      hit(result(['{}', 'ETag, for if_match: "x"\nx'], false)),
      ['advises ETag, for if_match: "x"\nx'],
    ],
    ['SQL', hit(result([refusal.replace('Not found', 'select a from b')], true)), ['tells select a from']],
    ['a body of what was accepted', hit('Accepted', 202), ['is no JSON']],
  ])('%s', (_, one, expected) => {
    expect(findInMessage(one)).toEqual(expected)
  })
})
