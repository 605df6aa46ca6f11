import { expect, it } from 'vitest'
import { aloneOn } from '../../../lib/postgres/alone-on.js'
import type { PgConnection } from '../../../lib/postgres/pg-types.js'

/** A connection that notes what is sent by it, and answers at once. */
function connectionOf(sent: unknown[]) {
  const query = (asked: { name: unknown; submit?: unknown }, done?: () => void) => {
    sent.push(asked.name)
    if (asked.submit) return asked
    return done ? done() : Promise.resolve(`answer to ${String(asked.name)}`)
  }
  return { query } as unknown as PgConnection
}

it('sends what others ask meanwhile afterwards, in its order, however they are answered', async () => {
  const sent: unknown[] = []
  const connection = connectionOf(sent)
  const before = connection.query
  const own = async (name: string) => {
    await connection.query({ name: `${name} begins` })
    await Promise.resolve()
    await connection.query({ name: `${name} ends` })
    return name
  }
  const works = [aloneOn(connection, () => own('one')), aloneOn(connection, () => own('other'))]
  await Promise.resolve()
  const cursor = { name: 'cursor', submit() {} }
  expect(connection.query(cursor)).toBe(cursor)
  const called = new Promise<void>((resolve) => void connection.query({ name: 'called back' }, () => resolve()))
  const answer = connection.query({ name: 'promised' })
  expect(sent).toEqual(['one begins'])
  expect(await Promise.all(works)).toEqual(['one', 'other'])
  await called
  expect(await answer).toBe('answer to promised')
  const [begins, ends, ...others] = sent.filter((name) => !String(name).startsWith('other'))
  expect([begins, ends]).toEqual(['one begins', 'one ends'])
  expect(others).toEqual(['cursor', 'called back', 'promised'])
  expect(sent.indexOf('other ends')).toBe(sent.indexOf('other begins') + 1)
  expect(connection.query).toBe(before)
})

it('goes on where the work of another fails', async () => {
  const sent: unknown[] = []
  const connection = connectionOf(sent)
  const failing = aloneOn(connection, () => Promise.reject(new Error('failed')))
  const next = aloneOn(connection, async () => connection.query({ name: 'next' }))
  await expect(failing).rejects.toThrow('failed')
  expect(await next).toBe('answer to next')
})

it('leaves in place what has come before the query of the connection meanwhile, as traces do', async () => {
  const sent: unknown[] = []
  const seen: unknown[] = []
  const connection = connectionOf(sent)
  await aloneOn(connection, async () => {
    const { query } = connection as unknown as { query: (asked: { name: unknown }) => unknown }
    Object.assign(connection, { query: (asked: { name: unknown }) => [seen.push(asked.name), query(asked)][1] })
  })
  await connection.query({ name: 'later' })
  expect([seen, sent]).toEqual([['later'], ['later']])
})
