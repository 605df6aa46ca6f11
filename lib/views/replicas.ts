/** Replicas as views know them. */
import type { Knex } from 'knex'
import type { Context } from '../http/context.js'

/** @internal Where requests read, and what their clients remember of what they have written. */
export interface Replicas {
  /** Where it writes, and reads where no replica can be asked. */
  readonly primary: Knex
  /** How many servers there are beside the primary. */
  readonly size: number
  /** Does what only reads; again from its beginning, where a server fails meanwhile. */
  read<Value>(ctx: Context, work: (knex: Knex) => Promise<Value>): Promise<Value>
  /** Called after a write, before the answer is sent; also where it has failed and something may be committed. */
  wrote(ctx: Context, end?: { readonly knex?: Knex | undefined; readonly failure?: unknown }): Promise<void>
}
