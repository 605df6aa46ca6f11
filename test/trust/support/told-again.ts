/** What an answer says, said in other ways: page by page, as a table, and once more by the key of its request. */
import type { Client } from '../../support/client.js'
import type { TestResponse } from '../../support/server.js'
import type { Resource } from './application.js'
import type { Estate } from './estate.js'
import { equals, keeps, listedObjects, type Question } from './expected.js'
import { acceptOf, headersOf } from './questions.js'
import type { Wire } from './wire.js'

type Headers = Readonly<Record<string, string>>
interface Page {
  readonly next: string | null
  readonly previous: string | null
  readonly results: readonly Readonly<Record<string, unknown>>[]
}

/** Where the walk ends that goes on and on. */
const MOST_PAGES = 50

/** All pages of cursors as one, from the first on; and back, where they are the same. */
export async function wholeList(client: Client, { first, wire, headers }: Walk): Promise<Page> {
  const pages = [first]
  for (let page = first; page.next !== null && pages.length < MOST_PAGES; pages.push(page)) {
    page = await pageAt(client, page.next, { wire, headers })
  }
  let back = pages.at(-1) as Page
  for (const page of pages.slice(0, -1).toReversed()) {
    back = await pageAt(client, back.previous ?? 'no page before', { wire, headers })
    const [is, was] = [JSON.stringify(back.results), JSON.stringify(page.results)]
    if (is !== was) throw new Error(`the page before is ${is}, and was ${was}`)
  }
  return { next: null, previous: first.previous, results: pages.flatMap(({ results }) => results) }
}

interface Walk {
  readonly first: Page
  readonly wire: Wire
  readonly headers: Headers
}

async function pageAt(client: Client, url: string, { wire, headers }: Omit<Walk, 'first'>): Promise<Page> {
  const { status, json, text } = await client.get(url.replace(/^https?:\/\/[^/]+/, ''), headers)
  if (status !== 200) throw new Error(`${url} is ${status} ${text}`)
  return wire.read(status, json) as Page
}

/** Asks for the same list as a table. @throws Error it has other objects, or says other things of them */
async function expectSameTable(client: Client, wire: Wire, { headers, json, question }: Figured): Promise<void> {
  const { status, text } = await client.get(wire.path, { ...headers, ...acceptOf(question, 'text/csv') })
  if (status !== 200) throw new Error(`as a table it is ${status} ${text}`)
  const [names = [], ...rows] = cellsOf(text)
  const objects = wire.objectsOf(json)
  const told = rows.map((row) => names.map((name, index) => `${name}=${row[index]}`).sort())
  const meant = objects.map((object) =>
    Object.entries(object)
      .flatMap(([name, value]) => cells(name, value))
      .sort(),
  )
  // where there is no object, only the columns are told
  const isSame = told.length === meant.length && told.every((row, index) => holdsAll(row, meant[index] ?? []))
  if (!isSame) throw new Error(`as a table it is ${JSON.stringify(told)}, as JSON ${JSON.stringify(meant)}`)
}

interface Listed {
  readonly headers: Headers
  readonly json: unknown
}

const holdsAll = (row: readonly string[], meant: readonly string[]) =>
  meant.every((cell) => row.includes(cell)) && row.every((cell) => meant.includes(cell) || cell.endsWith('='))

/** What of a value stands in cells; null, and what a related object that is none would have, is empty. */
function cells(name: string, value: unknown): string[] {
  if (value === null) return []
  if (typeof value === 'string') return [`${name}=${value}`]
  if (Array.isArray(value) || typeof value !== 'object') return [`${name}=${JSON.stringify(value)}`]
  return Object.entries(value).flatMap(([inner, one]) => cells(`${name}.${inner}`, one))
}

function cellsOf(text: string): string[][] {
  return text
    .split('\r\n')
    .filter((line) => line !== '')
    .map((line) =>
      [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^",]*))/g)].map(([, quoted, plain = '']) =>
        quoted === undefined ? plain : quoted.replaceAll('""', '"'),
      ),
    )
}

/** Sends the request once more by its key. @throws Error it is answered in another way */
export async function expectSameAgain(client: Client, wire: Wire, asked: Again): Promise<void> {
  const { question, first } = asked
  const again = await client.send(question.method, wire.path, wire.body, { ...headersOf(question), ...asked.headers })
  const isReplayed = again.headers['idempotency-replayed'] === 'true'
  if (first.status < 400 !== isReplayed) throw new Error(`sent again it is ${isReplayed ? '' : 'not '}replayed`)
  for (const name of ['status', 'text'] as const) {
    if (again[name] !== first[name]) throw new Error(`sent again it is ${again.status} ${again.text}`)
  }
  for (const name of ['location', 'etag', 'content-type']) {
    if (again.headers[name] !== first.headers[name]) throw new Error(`sent again it has another ${name}`)
  }
}

interface Again {
  readonly question: Question
  readonly headers: Headers
  readonly first: TestResponse
}

interface Figured extends Listed {
  readonly question: Question
  readonly estate: Estate
}

/** Asks for the same list in all other ways that its view set has. @throws Error one of them says something else */
export async function expectSameList(client: Client, wire: Wire, listed: Figured): Promise<void> {
  const { statics } = listed.question.route.chain.at(-1) as Resource
  await expectSameTable(client, wire, listed)
  if (statics?.answersQuery) await expectSameByQuery(client, wire, listed)
  if (statics?.streams) await expectSameStream(client, wire, listed)
  if (statics?.hasFigures) await expectSameFigures(client, wire, listed)
}

async function expectSameByQuery(client: Client, wire: Wire, { headers, json }: Figured): Promise<void> {
  const [path = ''] = wire.path.split('?')
  const query = new URLSearchParams(wire.versionQuery).toString()
  const found = await client.send('QUERY', query ? `${path}?${query}` : path, wire.queryBody, headers)
  const [is, was] = [
    found.status === 200 ? JSON.stringify(wire.objectsOf(found.json)) : found.text,
    JSON.stringify(wire.objectsOf(json)),
  ]
  if (is !== was) throw new Error(`QUERY ${JSON.stringify(wire.queryBody)} is ${found.status} ${is}, and GET ${was}`)
}

async function expectSameStream(client: Client, wire: Wire, { headers, question, estate }: Figured): Promise<void> {
  const { fields, expand } = Object.fromEntries(new URLSearchParams(wire.path.split('?')[1] ?? ''))
  const path = wire.pathBeside('', { ...(fields !== undefined && { fields }), ...(expand !== undefined && { expand }) })
  const { status, text } = await client.get(path, { ...headers, ...acceptOf(question, 'application/x-ndjson') })
  if (status !== 200) throw new Error(`as a stream it is ${status} ${text}`)
  const lines = text.split('\n').filter((line) => line !== '')
  const problem = equals(listedObjects(question, estate).objects)(lines.map((line) => wire.objectOf(JSON.parse(line))))
  if (problem !== undefined) throw new Error(`as a stream it ${problem}`)
}

async function expectSameFigures(client: Client, wire: Wire, { headers, question, estate }: Figured): Promise<void> {
  const own = question.route.chain.at(-1) as Resource
  const { rows } = listedObjects(question, estate)
  const numbers = rows.flatMap(({ n }) => (n === null ? [] : [n]))
  const total = numbers.length === 0 ? null : numbers.reduce((sum, n) => sum + n, 0)
  const most = numbers.length === 0 ? null : Math.max(...numbers)
  const counts = (name: 'open' | 'archived') =>
    [true, false]
      .map((value) => ({ value, count: rows.filter((row) => row[name] === value).length }))
      .filter(({ count }) => count > 0)
  const groups = counts('open').map(({ value, count }) => ({ open: value, things: count }))
  const facet = (name: 'open' | 'archived') => ({
    values: counts(name).toSorted((one, other) => other.count - one.count || Number(one.value) - Number(other.value)),
    has_more: false,
  })
  const asked: readonly (readonly [string, unknown])[] = [
    [wire.pathBeside('/aggregate'), { things: rows.length, ...(keeps(question, own) !== 'n' && { total, most }) }],
    [wire.pathBeside('/aggregate', { group_by: 'open', aggregate: 'things' }), groups.toReversed()],
    [wire.pathBeside('/facets'), { open: facet('open'), archived: facet('archived') }],
  ]
  for (const [path, expected] of asked) {
    const { status, json, text } = await client.get(path, headers)
    const told = (json as { results?: unknown } | undefined)?.results ?? json
    const problem = status === 200 ? equals(expected)(told) : text
    if (problem !== undefined) throw new Error(`${path} ${problem}`)
  }
}

/** @throws Error a shared cache may hand to somebody else what a caller was told (RFC 9111 section 3.5) */
export function expectKeptApart({ status, headers }: TestResponse): void {
  const control = headers['cache-control'] ?? ''
  const isApart = /private|no-store/.test(control) || /authorization, cookie/i.test(headers.vary ?? '')
  if (status < 500 && !isApart) throw new Error(`caches keep it by "${control}" and Vary "${headers.vary}"`)
}

/** Asks again what was read. @throws Error it has changed, by its tag */
export async function expectUnchanged(client: Client, wire: Wire, { headers, tag }: Tagged): Promise<void> {
  const { status, text } = await client.get(wire.path, { ...headers, 'If-None-Match': tag })
  if (status !== 304 || text !== '') throw new Error(`with its own tag it is ${status}`)
}

interface Tagged {
  readonly headers: Headers
  readonly tag: string
}

/** Asks for the history of an object. @throws Error it is another one */
export async function expectHistory(client: Client, wire: Wire, { headers, expected }: Remembered): Promise<void> {
  const [path = '', query] = wire.objectPath.split('?')
  const { status, json, text } = await client.get(`${path}/history${query ? `?${query}` : ''}`, headers)
  if (status !== 200) throw new Error(`its history is ${status} ${text}`)
  const told = (json as Record<string, unknown>[]).map(({ action, caller, before, after }) => ({
    action,
    caller,
    before,
    after,
  }))
  const problem = equals(expected)(told)
  if (problem !== undefined) throw new Error(`its history ${problem}`)
}

interface Remembered {
  readonly headers: Headers
  readonly expected: unknown
}

interface Told {
  readonly user: Question['user']
  readonly path: string
  readonly method: string
}

/** The bodies that tags have stood beside, for each caller and path. */
export class Tags {
  readonly #bodies = new Map<string, string>()

  /** @throws Error the same tag stands beside another body */
  check({ status, headers, text }: TestResponse, { user, path, method }: Told): void {
    const { etag } = headers
    if (method !== 'GET' || status !== 200 || etag === undefined) return
    const key = JSON.stringify([user, path, etag])
    const before = this.#bodies.get(key)
    if (before !== undefined && before !== text) throw new Error(`by ${etag} it was ${before}, and is ${text}`)
    this.#bodies.set(key, text)
  }
}
