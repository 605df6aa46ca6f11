/**
 * The log of what a transaction writes: whoever writes rows of models says so here, and whoever records changes
 * (`koa-viewsets/changes`) hears it. Without a log nothing is said.
 */

import type { Model } from 'objection'
import type { Queryable } from '../postgres/pg-types.js'
import type { SerializerClass } from './contract.js'

/** @internal What hears of the rows that a transaction writes. */
export interface WriteLog {
  /** Stored rows are about to be written. @param shownBy the serializer through which they are */
  keep(rows: readonly Model[], shownBy?: SerializerClass): Promise<void>
  /** Rows were added. */
  add(rows: readonly Model[], shownBy?: SerializerClass): void
}

const logs = new WeakMap<object, WriteLog>()

/** The log of a transaction, or of that which a savepoint stands in; undefined where nobody hears of what it writes. */
export function writeLogOf(trx: Queryable | undefined): WriteLog | undefined {
  return trx && (logs.get(trx) ?? writeLogOf((trx as Begun).parentTransaction))
}

interface Begun {
  readonly parentTransaction?: Queryable
}

/** From now on the log hears of what the transaction writes. */
export function logWrites(trx: Queryable, log: WriteLog): void {
  logs.set(trx, log)
}
