/** Errors and promises of other realms and libraries are what they are: Jest runs an application in a realm of its own. */
import { runInNewContext } from 'node:vm'
import knexLibrary from 'knex'
import { Model, raw } from 'objection'
import { expect, it } from 'vitest'
import { ignoreRejection, isError, isPromise, isThenable } from '../../../lib/kernel/realms.js'
import { isPlain } from '../../../lib/kernel/records.js'
import { toApiError } from '../../../lib/postgres/database-errors.js'

const foreign = (code: string): object => runInNewContext(code)
const knex = knexLibrary({ client: 'pg' })

it('knows errors', () => {
  for (const code of ['new Error("x")', 'new (class Own extends TypeError {})("x")']) {
    expect(foreign(code)).not.toBeInstanceOf(Error)
    expect(isError(foreign(code))).toBe(true)
  }
  expect(isError(new DOMException('aborted', 'AbortError'))).toBe(true)
  for (const none of [undefined, null, 'x', { message: 'x' }, foreign('({ message: "x" })')])
    expect(isError(none)).toBe(false)
})

it('answers 503 where the connection was refused, by an error of Node itself', () => {
  const refused = foreign(
    'Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED", syscall: "connect" })',
  )
  expect(toApiError(refused)).toMatchObject({ status: 503, cause: refused })
})

it('knows promises, and leaves queries, which are parts of statements', async () => {
  for (const promise of [
    Promise.resolve(1),
    foreign('Promise.resolve(1)'),
    foreign('({ then: (resolve) => resolve(1) })'),
  ]) {
    expect(isPromise(promise)).toBe(true)
    expect(await (promise as Promise<number>)).toBe(1)
  }
  const queries = [knex('books').select(), knex.raw('now()'), class extends Model {}.query(knex)]
  for (const query of queries) expect([isPromise(query), isThenable(query)]).toEqual([false, true])
  for (const value of [undefined, null, 1, {}, [], new Date(), raw('now()'), () => 1, JSON.parse('{"then":1}')]) {
    expect(isThenable(value)).toBe(false)
  }
})

it('lets nobody hear of a rejection that is ignored', async () => {
  const rejections: unknown[] = []
  const note = (reason: unknown) => rejections.push(reason)
  process.on('unhandledRejection', note)
  ignoreRejection(Promise.reject(new Error('unheard')))
  ignoreRejection(1)
  await new Promise((resolve) => setTimeout(resolve, 1))
  process.off('unhandledRejection', note)
  expect(rejections).toEqual([])
})

it('knows objects of data', () => {
  for (const data of [{}, Object.create(null), foreign('({ a: 1 })'), structuredClone({ a: 1 })])
    expect(isPlain(data)).toBe(true)
  for (const other of [[], new Date(), new (class Own {})(), foreign('new Map()')]) expect(isPlain(other)).toBe(false)
})
