/** What an answer says, said in other ways: page by page, as a table, and once more by the key of its request. */
import type { Client } from '../../support/client.js'
import type { TestResponse } from '../../support/server.js'
import type { Question } from './expected.js'
import { headersOf } from './questions.js'
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
export async function expectSameTable(client: Client, wire: Wire, { headers, json }: Listed): Promise<void> {
  const { status, text } = await client.get(wire.path, { ...headers, Accept: 'text/csv' })
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
