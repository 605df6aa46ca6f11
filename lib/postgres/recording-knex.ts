/** A copy of a knex that sends nothing: it notes the statements it is given and answers each with no rows. */

import { EventEmitter } from 'node:events'
import type { Knex } from 'knex'
import { nextTurn } from '../kernel/turns.js'
import { firstWord } from './sql-text.js'

export interface Recording {
  readonly knex: Knex
  /** The statements in PostgreSQL's notation, in the order in which they would have been sent. */
  readonly statements: readonly string[]
}

/** Client of knex, as far as it is replaced. */
interface Client {
  config: object
  pool: undefined
  acquireConnection(): Promise<unknown>
  releaseConnection(connection: unknown): Promise<void>
  removeAllListeners(): void
}

type Done = (error: null, answer: object) => void

/** A query object that speaks the protocol itself, as pg takes them. */
interface Submittable {
  readonly text: string
  handleReadyForQuery(): void
}

/** Statements that begin or end a transaction. */
const FRAME = /^(?:begin|commit|rollback|savepoint|release|set transaction)\b/i

/** Records what is sent through a copy of the knex. Its listeners hear nothing of it. */
export function recordStatements(knex: Knex): Recording {
  const statements: string[] = []
  const copy = knex.withUserParams(knex.userParams ?? {})
  const client = copy.client as Client
  client.removeAllListeners()
  // by its identity it is known which database a query is of
  client.config = (knex.client as Client).config
  client.pool = undefined
  const connection = new RecordingConnection(statements)
  const acquire = async () => connection
  const release = async () => {}
  client.acquireConnection = acquire
  client.releaseConnection = release
  return { knex: copy, statements }
}

/** In place of pg's client. */
class RecordingConnection extends EventEmitter {
  readonly __knexUid = 'explain'
  readonly #statements: string[]

  constructor(statements: string[]) {
    super()
    this.#statements = statements
  }

  query(query: string | Submittable | { readonly text: string }, done?: Done): void {
    // as a string the session is asked for its settings
    if (typeof query !== 'string' && !FRAME.test(query.text)) this.#statements.push(query.text)
    void this.#answer(query, done)
  }

  /** Later, as a database would. */
  async #answer(query: string | object, done: Done | undefined): Promise<void> {
    await nextTurn()
    if (typeof query === 'object' && 'handleReadyForQuery' in query) (query as Submittable).handleReadyForQuery()
    else done?.(null, { rows: [], fields: [], rowCount: 0, command: commandOf(query) })
  }
}

/** Command tag of a finished statement. */
function commandOf(query: string | object): string {
  const text = typeof query === 'string' ? query : (query as { text: string }).text
  const word = firstWord(text)
  return word === 'WITH' ? 'SELECT' : word
}
