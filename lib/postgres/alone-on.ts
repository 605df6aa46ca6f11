/** Work on the connection of a transaction that no other statement comes between, however much is done there at once. */

import { AsyncLocalStorage } from 'node:async_hooks'
import { oncePer } from '../kernel/once-per.js'
import type { PgConnection } from './pg-types.js'
import { isSubmittable } from './watch-statements.js'

/** The connection that whoever asks has to itself. */
const HELD = new AsyncLocalStorage<PgConnection>()

/** The last work on a connection, for which the next waits. */
const turnsOf = oncePer((_connection: PgConnection): { last: Promise<unknown> } => ({ last: Promise.resolve() }))

/** Does the work when its turn has come. What others send meanwhile is sent afterwards. */
export function aloneOn<Result>(connection: PgConnection, work: () => Promise<Result>): Promise<Result> {
  const turn = turnsOf(connection)
  const result = turn.last.then(() => holding(connection, work))
  turn.last = result.catch(() => {})
  return result
}

type Query = (...given: unknown[]) => unknown

interface Connection {
  query: Query
}

async function holding<Result>(held: PgConnection, work: () => Promise<Result>): Promise<Result> {
  const connection = held as Connection
  const { query } = connection
  const waiting: (() => unknown)[] = []
  let isOver = false
  const hold: Query = (...given) => {
    const send = () => query.apply(held, given)
    if (isOver || HELD.getStore() === held) return send()
    const [asked, ...rest] = given
    const isCalledBack = isSubmittable(asked as object) || rest.some((one) => typeof one === 'function')
    if (!isCalledBack) return new Promise((resolve) => waiting.push(() => resolve(send())))
    waiting.push(send)
    return asked
  }
  connection.query = hold
  try {
    return await HELD.run(held, work)
  } finally {
    isOver = true
    // who traces statements may have come before it meanwhile
    if (connection.query === hold) connection.query = query
    for (const send of waiting) send()
  }
}
