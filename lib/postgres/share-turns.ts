/** Long answers of PostgreSQL, read in several turns of the event loop. */

import { firstTime } from '../kernel/once-per.js'
import { isTurnOver } from '../kernel/turns.js'
import type { Queryable } from './pg-types.js'

/** What Node reads of a socket at most before it asks for more, up to 32 times in one turn. */
const FULL = 65_536

interface Stream {
  on(event: 'data', listener: (chunk: Uint8Array) => void): void
  pause(): void
  resume(): void
}
/** A connection of pg's own JavaScript client. */
interface Connection {
  readonly connection?: { readonly stream?: Stream }
}
/** The pool of knex, which is tarn's. */
interface Pool {
  readonly free?: readonly { readonly resource: Connection }[]
  on?(event: 'createSuccess', listener: (id: number, connection: Connection) => void): void
}

const isNewPool = firstTime()
const sharing = new WeakSet<object>()

/** True for a listener of `shareTurns()`, which takes nothing of what it hears. */
export function sharesTurns(listener: object): boolean {
  return sharing.has(listener)
}

/**
 * Lets other requests have their turns while a connection of this pool brings a long answer: pg reads all that has
 * arrived in one turn of the event loop, which with lists of dates is a tenth of a second for a megabyte.
 */
export function shareTurns(knex: Queryable): void {
  const { pool } = knex.client as { pool?: Pool }
  if (!pool?.on || !isNewPool(pool)) return
  for (const { resource } of pool.free ?? []) share(resource)
  pool.on('createSuccess', (_, connection) => share(connection))
}

function share({ connection }: Connection): void {
  const stream = connection?.stream
  if (!stream) return
  const resume = () => stream.resume()
  const listener = ({ length }: Uint8Array) => {
    if (length < FULL || !isTurnOver()) return
    stream.pause()
    setImmediate(resume)
  }
  sharing.add(listener)
  // behind the one that reads the chunk
  stream.on('data', listener)
}
