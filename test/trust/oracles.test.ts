/** Each oracle of the suite sees the fault that it is for. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Hit } from './support/client.js'
import { findInAnswer, findInStatements, findLeftovers, findUndescribed } from './support/oracles.js'
import { startTrialDatabase, startTrialServer, type TrialDatabase, type TrialServer } from './support/trial.js'

let database: TrialDatabase
let server: TrialServer

beforeAll(async () => {
  database = await startTrialDatabase()
  server = await startTrialServer(database.url)
})
afterAll(async () => {
  await server?.remove()
  await database?.stop()
})

describe('what is left behind', () => {
  const faults: [string, RegExp][] = [
    ['prototype', /Object\.prototype has polluted/],
    ['connection', /[12] connections are used/],
    ['transaction', /idle in transaction/],
    ['descriptor', /descriptors are open/],
    ['file', /left behind/],
    ['warning', /DeprecationWarning/],
  ]

  it('each planted fault is seen, and an app that has ended', { timeout: 60_000 }, async () => {
    const before = await server.state()
    const look = async () => (await findLeftovers(server, database, before, 0)).join('\n')
    expect(await look()).toBe('')
    for (const [fault, expected] of faults) {
      expect(await look()).not.toMatch(expected)
      await server.plant(fault)
      expect(await look()).toMatch(expected)
    }
    await server.remove()
    expect(await look()).toMatch(/the app ended/)
  })
})

describe('the canary', () => {
  it('is seen in the text of a statement, and not among its values or in what PostgreSQL says of them', async () => {
    await database.query('select $1::text', ['canary-a'])
    await expect(database.query('select $1::text::int', ['canary-a'])).rejects.toThrow(/invalid input/)
    expect(await findInStatements(database.log(), 'canary-a')).toEqual([])
    await database.query(`select 'canary-b'`)
    await expect(database.query(`select\n'canary-b'::int`)).rejects.toThrow(/invalid input/)
    expect(await findInStatements(database.log(), 'canary-b')).toHaveLength(3)
  })
})

describe('an answer', () => {
  const good: Hit = {
    shot: { method: 'GET', path: '/' },
    status: 404,
    headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' },
    text: '{"detail":"Not found","status":404}',
    milliseconds: 1,
  }

  it.each<[string, Partial<Hit>]>([
    ['5xx', { status: 500, text: '{"detail":"Internal server error","status":500}' }],
    ['no answer', { failure: 'ECONNRESET' }],
    ['SQL', { text: '{"detail":"select id from books where n = 1","status":404}' }],
    ['a constraint', { text: '{"detail":"books_isbn_unique","status":404}' }],
    ['a stack', { text: '{"detail":"at run (file.ts:1:2)","status":404}' }],
    ['a code of PostgreSQL', { text: '{"detail":"22P02","status":404}' }],
    ['text', { headers: { 'content-type': 'text/plain' } }],
    ['another form', { text: '{"message":"Not found"}' }],
    ['one that may be stored', { headers: { 'content-type': 'application/json; charset=utf-8' } }],
    ['a slow one', { milliseconds: 20_000 }],
  ])('is seen to be %s', (_, bad) => {
    expect(findInAnswer(good)).toEqual([])
    expect(findInAnswer({ ...good, ...bad })).not.toEqual([])
  })
})

describe('what the client itself has sent', () => {
  const update = "\\'; UPDATE canary SET text='x'; --"
  const answered = (errors: object, path = `/api/asked?${encodeURIComponent(update)}=1&n=UPDATE`): Hit => ({
    shot: { method: 'GET', path },
    status: 400,
    headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' },
    text: JSON.stringify({ detail: 'Validation failed', status: 400, errors }),
    milliseconds: 1,
  })

  it.each([
    [{ [update]: ['Unknown parameter. Use title, n.'] }],
    [{ n: ['"UPDATE" is not a valid choice.'], set: ['Values from a list.'] }],
    [{ [update]: ['Unknown filter.'], values: ['Give two values.'] }],
    [{ filter: [`Character 3: "${update}" is not one of these values.`, `Character 9: "${update}"`] }],
  ])('is no leak: %j', (errors) => {
    expect(findInAnswer(answered(errors))).toEqual([])
  })

  it.each([
    [{ [update]: ['update "books" set "title" = 1'] }],
    [{ [update]: ['Unknown filter.'], other: [`${update} in update books set secret = 1`] }],
    [{ [update]: ['relation "books" is not there'] }],
    [{ 'select id from books': ['No.'] }],
  ])('hides none: %j', (errors) => {
    expect(findInAnswer(answered(errors))).toHaveLength(1)
  })

  it('is one where it was sent by somebody else', () => {
    expect(findInAnswer(answered({ [update]: ['No.'] }, '/api/asked?n=1'))).toEqual(['tells UPDATE canary SET'])
  })
})

describe('the document', () => {
  const headers = { 'content-type': 'application/json; charset=utf-8' }
  const answer = (path: string, status: number, body: unknown): Hit => ({
    shot: { method: 'GET', path },
    status,
    headers,
    text: JSON.stringify(body),
    milliseconds: 1,
  })
  const author = { id: 1, name: 'x', bio: '' }

  it('is seen not to hold for a status, a body, or a value that it does not describe', async () => {
    const other = await startTrialServer(database.url)
    const document = await other.document()
    await other.remove()
    expect(findUndescribed(document, answer('/api/authors/1', 200, author))).toEqual([])
    expect(findUndescribed(document, answer('/nowhere', 200, author))).toEqual([])
    expect(findUndescribed(document, answer('/api/authors/1', 418, author))).toHaveLength(1)
    expect(findUndescribed(document, answer('/api/authors/1', 200, { id: 1 }))).not.toEqual([])
    expect(findUndescribed(document, answer('/api/authors/1', 200, { ...author, name: 1 }))).not.toEqual([])
  })
})
