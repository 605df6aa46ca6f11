/** P2: SQL and keys of Objection's in every place that takes a text; none becomes part of a statement. */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findProgram } from '../../examples/support/programs.js'
import { findFreePort } from '../support/program.js'
import { as, createClient, type Hit, json, type Shot, type TrialClient } from './support/client.js'
import { NASTY, safe } from './support/hostile.js'
import { run } from './support/installed.js'
import { findInAnswer, findInStatements, findLeftovers } from './support/oracles.js'
import { isLong, report, size } from './support/size.js'
import { startTrialDatabase, startTrialServer, type TrialDatabase, type TrialServer } from './support/trial.js'

const CANARY = `canary${Date.now().toString(36)}x`

let database: TrialDatabase
let server: TrialServer
let client: TrialClient

beforeAll(async () => {
  database = await startTrialDatabase()
  server = await startTrialServer(database.url)
  client = createClient(server.port)
})
afterAll(async () => {
  client?.close()
  await server?.remove()
  await database?.stop()
})

/** Ways out of a literal, a name, a list, a pattern; `%` is the canary. */
const BREAKS = [
  "'",
  '"',
  "')",
  '")',
  "'))",
  '`',
  '\\',
  "\\'",
  '$$',
  '$1',
  '?',
  '??',
  ':x',
  ':x:',
  ']',
  '}',
  ',',
  ';',
  '--',
  '/*',
  '%%',
  '\n',
  '\t',
]
const TAILS = [
  ' OR 1=1 --',
  '; UPDATE canary SET text = 1 --',
  ' UNION SELECT text FROM canary --',
  ' AS %',
  '; SELECT pg_sleep(5) --',
  '||(SELECT 1)||',
  '::int',
  ' --%',
]
const ALL_PAYLOADS = [
  ...BREAKS.flatMap((start) => TAILS.map((tail) => `${CANARY}${start}${tail.replace('%', CANARY)}`)),
  ...NASTY.slice(0, 16).map((one) => CANARY + one),
]
/** The short run has each way out once or twice, and each tail several times. */
const PAYLOADS = ALL_PAYLOADS.filter((_, index) => isLong || index % 5 === 0)

/** As a group holds it. */
const quoted = (payload: string) => safe(`"${payload.replace(/[\\"]/g, '\\$&')}"`)

const patch = (body: unknown, type = 'application/json-patch+json') =>
  json('PATCH', '/api/patched/1', body, { ...as('alice'), 'Content-Type': type })

/** Where a text of a client's goes. */
const PLACES: Record<string, (payload: string) => Shot> = {
  'a path': (payload) => json('GET', `/api/books/${safe(payload)}`),
  'a nested path': (payload) => json('GET', `/api/authors/${safe(payload)}/books`),
  'an external id': (payload) => json('GET', `/api/pub/${safe(payload)}`, undefined, as('alice')),
  'an action': (payload) => json('POST', `/api/books/1/${safe(payload)}`, {}, as('alice')),
  'a text filter': (payload) => json('GET', `/api/books?title=${safe(payload)}`),
  'a filter of a relation': (payload) => json('GET', `/api/books?author__name__contains=${safe(payload)}`),
  'a list filter': (payload) => json('GET', `/api/books?title__in=${safe(payload)},x`),
  'a pattern filter': (payload) => json('GET', `/api/books?isbn__istartswith=${safe(payload)}`),
  'a value of a group': (payload) => json('GET', `/api/asked?filter=or(title=${quoted(payload)},n=1)`),
  'a name of a group': (payload) => json('GET', `/api/asked?filter=or(title__${safe(payload)}=1,n=1)`),
  'a group': (payload) => json('GET', `/api/asked?filter=${safe(payload)}`),
  'a value about related objects': (payload) =>
    json('GET', `/api/asked?filter=any(reviews,text__icontains=${quoted(payload)})`),
  'a relation of a group': (payload) => json('GET', `/api/asked?filter=none(${safe(payload)},stars=1)`),
  'a key of JSON': (payload) => json('GET', `/api/asked?meta__k=${safe(payload)}`),
  'a year': (payload) => json('GET', `/api/asked?created__year=${safe(payload)}`),
  'a list that overlaps': (payload) => json('GET', `/api/asked?tags__overlap=${safe(payload)}`),
  'an order over a relation': (payload) => json('GET', `/api/asked?ordering=author__name${safe(payload)}`),
  'a value of a QUERY': (payload) =>
    json('QUERY', '/api/asked', { filter: { or: [{ title: payload }, { meta__k: payload }] }, search: payload }),
  'a name of a QUERY': (payload) => json('QUERY', '/api/asked', { filter: { or: [{ [payload]: 1 }] } }),
  'a relation of a QUERY': (payload) => json('QUERY', '/api/asked', { filter: { [`any(${payload})`]: { stars: 1 } } }),
  'an order of a QUERY': (payload) => json('QUERY', '/api/asked', { order: [payload] }),
  'a member of a QUERY': (payload) => json('QUERY', '/api/asked', { [payload]: payload }),
  'what is computed': (payload) =>
    json('GET', `/api/asked/aggregate?group_by=n&aggregate=${safe(payload)},total&ordering=-total,${safe(payload)}`),
  'what is grouped by': (payload) => json('GET', `/api/asked/aggregate?group_by=${safe(payload)}`),
  'a filter of what is computed': (payload) =>
    json('GET', `/api/asked/aggregate?title__contains=${safe(payload)}&filter=or(title=${quoted(payload)},n=1)`),
  'a facet': (payload) => json('GET', `/api/asked/facets?facet=${safe(payload)}&title=${safe(payload)}`),
  'a QUERY of groups': (payload) =>
    json('QUERY', '/api/asked/aggregate', { group_by: ['n', payload], order: payload, filter: { title: payload } }),
  'a value of a JSON patch': (payload) =>
    patch([
      { op: 'test', path: '/title', value: payload },
      { op: 'add', path: '/meta', value: { [payload]: payload } },
    ]),
  'a place of a JSON patch': (payload) =>
    patch([
      { op: 'replace', path: `/meta/${payload}`, value: 1 },
      { op: payload, path: payload, from: payload },
    ]),
  'a merge patch': (payload) =>
    patch({ title: payload, meta: { [payload]: payload }, [payload]: null }, 'application/merge-patch+json'),
  'a number filter': (payload) => json('GET', `/api/books?n__gt=${safe(payload)}`),
  'a date filter': (payload) => json('GET', `/api/books?created__lt=${safe(payload)}`),
  'a lookup': (payload) => json('GET', `/api/books?title__${safe(payload)}=1`),
  'a parameter name': (payload) => json('GET', `/api/books?${safe(payload)}=1`),
  'a native list': (payload) => json('GET', `/api/native?title=${safe(payload)}&isbn__endswith=${safe(payload)}`),
  'a search': (payload) => json('GET', `/api/books?search=${safe(payload)}`),
  'a pattern search': (payload) => json('GET', `/api/rx?search=${safe(payload)}`),
  'a full-text search': (payload) => json('GET', `/api/ft?search=${safe(payload)}`),
  'a raw full-text search': (payload) => json('GET', `/api/ftraw?search=${safe(payload)}`),
  'an ordering': (payload) => json('GET', `/api/books?ordering=${safe(payload)},-n`),
  'a cursor': (payload) => json('GET', `/api/events?cursor=${safe(payload)}`),
  'a server cursor': (payload) => json('GET', `/api/exports?server_cursor=${safe(payload)}`),
  'a page': (payload) => json('GET', `/api/books?page=${safe(payload)}&page_size=${safe(payload)}`),
  'a header': (payload) =>
    json('GET', '/api/books', undefined, {
      Authorization: `Token ${safe(payload)}`,
      Cookie: `session=${safe(payload)}`,
    }),
  'a value': (payload) =>
    json('POST', '/api/books', { title: payload, isbn: payload.slice(0, 60), uid: payload }, as('alice')),
  'a jsonb value and key': (payload) => json('PATCH', '/api/books/1', { meta: { [payload]: payload } }, as('alice')),
  'a form': (payload) => ({
    method: 'PATCH',
    path: '/api/books/2',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...as('alice') },
    body: `title=${safe(payload)}&${safe(payload)}=1`,
  }),
}

/** What well-meaning people send to the same places. */
const HARMLESS = [
  ...['word', '1', '2026-01-01', '00000000-0000-4000-8000-000000000000', '', 'a,b', 'a,b,c', '"a phrase"', '/', 'x?'],
  ...[
    'a b',
    'a b c',
    'a b c d',
    'a b c d e',
    'a b c d e f',
    'a b c d e f g',
    'a b c d e f g h',
    'a b c d e f g h i',
    '"a phrase" b c',
    'a -b',
    'n,title',
    'é',
  ],
]

/** Keys that mean something to Objection or to JavaScript. */
const KEYS = [
  ...[
    "meta:[x}', '1'::jsonb, true), is_admin = true, title = jsonb_set('{}'::jsonb, '{y]",
    'meta:k',
    'meta:k.l',
    'meta:[0]',
    'meta:["k"]',
  ],
  ...[
    'books.title',
    'title as is_admin',
    'title as "x"',
    '"title"',
    'public.books.title',
    'books.*',
    '*',
    '#id',
    '#ref',
    '#dbRef',
    '$beforeInsert',
  ],
  ...[
    '$beforeUpdate',
    '$query',
    '$id',
    '$knex',
    'author',
    'author.name',
    'author:name',
    'toJSON',
    'then',
    'constructor',
    'is_admin',
    'secret',
  ],
  ...['owner_id', 'ID', ' title', "title'--"],
]

const WRITES: Record<string, (extra: object) => Shot> = {
  POST: (extra) => json('POST', '/api/books', { title: 'x', ...extra }, as('alice')),
  PUT: (extra) => json('PUT', '/api/books/3', { title: 'x', ...extra }, as('alice')),
  PATCH: (extra) => json('PATCH', '/api/books/3', { title: 'x', ...extra }, as('alice')),
  'bulk POST': (extra) => json('POST', '/api/books/bulk', [{ title: 'x', ...extra }], as('alice')),
  'bulk PATCH': (extra) => json('PATCH', '/api/books/bulk', [{ id: 3, title: 'x', ...extra }], as('alice')),
  'nested POST': (extra) => json('POST', '/api/authors/1/books', { title: 'x', ...extra }, as('alice')),
}

interface Statement {
  readonly queryid: string
  readonly query: string
}
/** What has run so far, but for what this test asks. */
const STATEMENTS = `select queryid::text, left(query, 300) as query from pg_stat_statements
  where query not ilike '%pg_stat%' and query not ilike '%from canary%'`

async function attack(shots: readonly Shot[]): Promise<string[]> {
  const found: string[] = []
  const look = (hit: Hit) => {
    for (const fault of findInAnswer(hit))
      found.push(
        `${fault}: ${hit.shot.method} ${hit.shot.path} ${String(hit.shot.body).slice(0, 300)} -> ${hit.status} ${hit.text.slice(0, 200)}`,
      )
  }
  await client.fireAll(shots, look)
  return found
}

it(`[P2 A3 C2 C3] ${PAYLOADS.length} payloads in ${Object.keys(PLACES).length} places are data`, {
  timeout: 120_000,
}, async () => {
  const before = await server.state()
  await database.query('create extension pg_stat_statements')
  await attack(Object.values(PLACES).flatMap((place) => HARMLESS.map(place)))
  const known = new Set((await database.query<Statement>(STATEMENTS)).map(({ queryid }) => queryid))
  const shots = Object.values(PLACES).flatMap((place) => PAYLOADS.map(place))
  const begin = performance.now()
  const found = await attack(shots)
  found.push(...(await server.failures()).filter((line) => !/^4\d\d /.test(line)))
  found.push(...(await findInStatements(database.log(), CANARY)))
  const unknown = (await database.query<Statement>(STATEMENTS)).filter(({ queryid }) => !known.has(queryid))
  found.push(...unknown.map(({ query }) => `a statement that only an attack sends: ${query}`))
  expect(await database.query('select * from canary')).toEqual([{ id: 1, text: 'untouched' }])
  client.close()
  found.push(...(await findLeftovers(server, database, before)))
  report('P2 injection', {
    requests: shots.length,
    seconds: ((performance.now() - begin) / 1000).toFixed(1),
    faults: found.length,
  })
  expect(found.slice(0, 10)).toEqual([])
})

it(`[P2 A1 A3] ${KEYS.length} keys of models are unknown on ${Object.keys(WRITES).length} write routes`, {
  timeout: 120_000,
}, async () => {
  await database.query(`update books set is_admin = false, secret = 'kept inside', owner_id = 1`)
  const changed = `select count(*)::int as n from books
    where is_admin or secret <> 'kept inside' or coalesce(owner_id, 0) not in (0, 1) or meta ? 'y'`
  for (const [index, key] of KEYS.entries()) {
    const values = [CANARY, true, 2]
    for (const value of isLong ? values : values.slice(index % 3, (index % 3) + 1)) {
      const extra = { [key]: value }
      const found = await attack(Object.values(WRITES).map((write) => write(extra)))
      expect({ key, found }).toEqual({ key, found: [] })
    }
    expect({ key, changed: await database.query(changed) }).toEqual({ key, changed: [{ n: 0 }] })
  }
  expect(await findInStatements(database.log(), CANARY)).toEqual([])
})

/** Patterns that cost exponential time somewhere, and ones that are none. */
const PATTERNS = [
  ...[
    '(a+)+$',
    '(a*)*b',
    '((a{1,30}){1,30}){1,30}',
    '(.*)*',
    '(a|a)*',
    '(a|aa)+$',
    '(.+)+x',
    '([a-z]+)*$',
    '(x+x+)+y',
    '(\\w+\\s?)*$',
  ],
  ...[
    '\\1',
    '(a)\\1',
    '(.)(.)(.)(.)(.)(.)\\6\\5\\4\\3\\2\\1',
    'a{9999}',
    'a{50}',
    'a{51}',
    '(a{2})*',
    '(a{2,}){2,}',
    '(?=a)',
    '(?!a)',
  ],
  ...[
    '(?<=a)b',
    '(?i)A',
    '***=x',
    '***:x',
    '(?x) a',
    '[[:alpha:]]+',
    '[[.a.]]',
    '[[=a=]]',
    '\\y',
    '\\m\\M',
    '\\A.*\\Z',
    '[',
  ],
  ...['(', ')', '*', '+', '?', 'a**', '{', 'x{1', '\\', '^$|.^'],
]

it(`[P2 C11] ${PATTERNS.length} patterns take ${isLong ? 'less than a second' : 'no long time'} each, while others read`, {
  timeout: 60_000,
}, async () => {
  await database.query(`insert into books (title) select repeat('a', 5000) || 'b' from generate_series(1, 20)`)
  let over = false
  const reads: number[] = []
  const reading = (async () => {
    while (!over) reads.push((await client.fire(json('GET', '/api/authors/1'))).milliseconds)
  })()
  let slowest = 0
  for (const pattern of PATTERNS) {
    const hit = await client.fire(json('GET', `/api/rx?search=${safe(pattern)}`))
    expect({ pattern, found: findInAnswer(hit) }).toEqual({ pattern, found: [] })
    expect({ pattern, isKnown: hit.status === 200 || hit.status === 400 }).toEqual({ pattern, isKnown: true })
    slowest = Math.max(slowest, hit.milliseconds)
  }
  over = true
  await reading
  reads.sort((a, b) => a - b)
  const p99 = reads[Math.floor(reads.length * 0.99)] ?? 0
  report('P2 patterns', {
    patterns: PATTERNS.length,
    'slowest ms': Math.round(slowest),
    'retrieve p99 ms': Math.round(p99),
  })
  // beside other tests a machine's own delays are no figure
  expect(slowest).toBeLessThan(isLong ? 1_000 : 20_000)
  if (isLong) expect(p99).toBeLessThan(200)
})

const sqlmap = findProgram('sqlmap')
if (isLong && sqlmap === undefined) console.warn('sqlmap is not on the PATH: its run is skipped')

/** sqlmap's options for a QUERY, in whose body it tries each value. */
const asQuery = (url: string, body: string) => [
  ...['-u', `${url}/asked`, '--method=QUERY'],
  ...['--headers=Content-Type: application/json', `--data=${body}`],
]

/** sqlmap's options for a PATCH. */
const asPatch = (url: string, type: string, body: string) => [
  ...['-u', `${url}/patched/3`, '--method=PATCH'],
  ...[`--headers=Authorization: Token alice\nContent-Type: ${type}`, `--data=${body}`],
]

/** A route of each kind that takes a text, as sqlmap's options name it; a star is the place to try. */
const ROUTES: Record<string, (url: string) => string[]> = {
  'a filter': (url) => ['-u', `${url}/books?title=title%201&n__gt=1`],
  'an ordering and a search': (url) => ['-u', `${url}/books?ordering=n&search=title`],
  'a full-text search': (url) => ['-u', `${url}/ft?search=title`],
  'a path': (url) => ['-u', `${url}/authors/1*`],
  'a value of a group': (url) => ['-u', `${url}/asked?filter=or(title=%22*%22,n=1)`],
  'a name of a group': (url) => ['-u', `${url}/asked?filter=or(title*=x,n=1)`],
  'a value about related objects': (url) => ['-u', `${url}/asked?filter=any(reviews,text__icontains=%22*%22)`],
  'a relation and a number of a group': (url) => ['-u', `${url}/asked?filter=any(reviews*,stars=1)`],
  'a key of JSON, a year, a list': (url) => [
    '-u',
    `${url}/asked?meta__k=1&created__year=2026&tags__overlap=book&title__ne=x`,
  ],
  'the filter of a QUERY': (url) =>
    asQuery(url, '{"filter":{"title":"title 1","or":[{"meta__k":"1"},{"tags__overlap":"book"}]}}'),
  'a filter and an order of a QUERY as texts': (url) =>
    asQuery(url, '{"filter":"or(title=x,n=1)","order":"author__name"}'),
  'what is computed, and grouped by': (url) => [
    '-u',
    `${url}/asked/aggregate?group_by=n&aggregate=total&ordering=-total&title__ne=x`,
  ],
  'facets, and their filters': (url) => ['-u', `${url}/asked/facets?facet=n&search=title&filter=or(title=x,n=1)`],
  'a QUERY of groups': (url) => [
    ...['-u', `${url}/asked/aggregate`, '--method=QUERY', '--headers=Content-Type: application/json'],
    '--data={"group_by":"author__name","aggregate":"books","order":"-books","filter":{"title__ne":"x"}}',
  ],
  'a JSON patch': (url) =>
    asPatch(
      url,
      'application/json-patch+json',
      '[{"op":"replace","path":"/title","value":"x"},{"op":"add","path":"/meta","value":{"k":"y"}}]',
    ),
  'a merge patch': (url) => asPatch(url, 'application/merge-patch+json', '{"title":"x","isbn":"y","meta":{"k":"z"}}'),
  'a body': (url) => [
    '-u',
    `${url}/books/3`,
    '--method=PATCH',
    '--headers=Authorization: Token alice\nContent-Type: application/json',
    '--data={"title":"x","isbn":"y","n":1}',
  ],
}

describe.skipIf(!isLong || sqlmap === undefined)('[P2] sqlmap finds nothing to inject into', () => {
  // another level takes longer: SQLMAP_LEVEL=3 SQLMAP_SECONDS=280
  const seconds = Number(process.env['SQLMAP_SECONDS'] ?? size(0, 120))
  const how = [
    '--batch',
    `--level=${process.env['SQLMAP_LEVEL'] ?? 2}`,
    '--risk=2',
    '--dbms=postgresql',
    '--flush-session',
    '--disable-coloring',
  ]
  const FOUND = /is vulnerable|appears to be '|identified the following injection point/

  it('but it finds a planted one', { timeout: 300_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'koa-viewsets-sqlmap-'))
    const port = await findFreePort()
    const careless = createServer((request, response) => {
      const title = new URL(request.url ?? '', 'http://x').searchParams.get('title') ?? ''
      const done = (text: string) => response.end(text)
      void database.query(`select id from books where title = '${title}'`).then(
        (rows) => done(JSON.stringify(rows)),
        (error) => done(String(error)),
      )
    }).listen(port, '127.0.0.1')
    try {
      const args = [
        '-u',
        `http://127.0.0.1:${port}/?title=title%201`,
        ...how,
        '--technique=B',
        `--output-dir=${folder}`,
      ]
      const { output } = await run(sqlmap ?? '', args, 120_000)
      expect(output).toMatch(FOUND)
    } finally {
      careless.close()
      careless.closeAllConnections()
      rmSync(folder, { recursive: true, force: true })
    }
  })

  it.each(Object.entries(ROUTES))('%s', { timeout: 300_000 }, async (name, options) => {
    const app = await startTrialServer(database.url)
    const folder = mkdtempSync(join(tmpdir(), 'koa-viewsets-sqlmap-'))
    try {
      const args = [...options(`http://127.0.0.1:${app.port}/api`), ...how, `--output-dir=${folder}`, '--ignore-code=*']
      const { output, isOver } = await run(sqlmap ?? '', args, seconds * 1_000)
      report('P2 sqlmap', {
        route: name,
        'ran to its end': isOver ? 'yes' : `no, ${seconds} s`,
        tests: output.split("testing '").length - 1,
        requests: (await app.state()).requests,
      })
      expect(output).not.toMatch(FOUND)
      // it has tested: else it would find nothing in anything
      expect(output).toMatch(/testing '/)
      if (isOver) expect(output).toMatch(/all tested parameters do not appear to be injectable/)
      expect(await database.query('select * from canary')).toEqual([{ id: 1, text: 'untouched' }])
    } finally {
      await app.remove()
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
