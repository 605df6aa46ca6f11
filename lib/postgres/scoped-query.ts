/** Statements that are sent behind the settings they run with, in one message. */

import { oncePer } from '../kernel/once-per.js'
import { type LocalSettings, refusesSettings, SettingsRefused } from './local-settings.js'
import type { PgConnection } from './pg-types.js'
import { type Protocol, runMessage, type SentBefore } from './text-query.js'

/** The settings before one statement: written before it, and answered by one row before its own. */
export class SettingsPrefix implements SentBefore {
  readonly #settings: LocalSettings
  /** Name of their prepared statement; empty for none. */
  readonly #name: string
  #connection: Protocol | undefined = undefined
  /** PostgreSQL has set them. */
  isSet = false

  constructor(settings: LocalSettings, name = '') {
    this.#settings = settings
    this.#name = name
  }

  /** What sets them, without a Sync; they are prepared first, where they are not. */
  message(connection: Protocol): Buffer {
    const { text, values } = this.#settings
    this.#connection = connection
    if (this.#name === '' || connection.parsedStatements[this.#name] !== text) {
      connection.parse({ text, name: this.#name, types: [] })
    }
    return runMessage(this.#name, values, { sync: false })
  }

  /** Their row has come. */
  settle(): void {
    this.isSet = true
    this.#notePrepared()
  }

  /**
   * What is reported of an error that has come before the statement's own answer.
   * @param name what the statement is prepared under: pg takes the settings' being parsed for the statement's
   */
  refusal(error: Error, name: string | undefined): Error {
    if (this.isSet) return error
    if (name) forget(this.#connection, name)
    if (!refusesSettings(error)) return error
    // what is refused when it runs has been prepared before
    this.#notePrepared()
    return new SettingsRefused(error)
  }

  #notePrepared(): void {
    if (this.#name === '' || !this.#connection) return
    this.#connection.parsedStatements[this.#name] = this.#settings.text
  }
}

function forget(connection: Protocol | undefined, name: string): void {
  if (!connection) return
  delete connection.parsedStatements[name]
  delete connection.submittedNamedStatements?.[name]
}

type Done = (error: Error | null, response?: unknown) => void

/** pg's class of queries, as far as it is used here: what a query of one's own speaks to the protocol by. */
interface PgQuery {
  readonly text: unknown
  readonly values: unknown
  submit(connection: Protocol): Error | null
  handleDataRow(message: object): void
  handleCommandComplete(message: object, connection: Protocol): void
  handleError(error: Error, connection: Protocol): void
}
type PgQueryClass = new (config: object, values: undefined, done: Done) => PgQuery

type ScopedQueryClass = new (settings: LocalSettings, config: object, done: Done) => object

/** pg's queries behind settings; of each copy of pg that an application uses. */
const scopedQueryOf = oncePer(
  (Query: PgQueryClass): ScopedQueryClass =>
    class extends Query {
      readonly #prefix: SettingsPrefix

      constructor(settings: LocalSettings, config: object, done: Done) {
        // a text of the simple protocol would not take settings and statement together; a name may be another text's
        super({ ...config, queryMode: 'extended', name: undefined }, undefined, done)
        this.#prefix = new SettingsPrefix(settings)
      }

      override submit(connection: Protocol): Error | null {
        // pg reports these, and nothing is written then
        if (typeof this.text !== 'string' || !Array.isArray(this.values)) return super.submit(connection)
        const { stream } = connection
        stream.cork?.()
        try {
          const message = this.#prefix.message(connection)
          if (stream.writable) stream.write(message)
          return super.submit(connection)
        } finally {
          stream.uncork?.()
        }
      }

      override handleDataRow(message: object): void {
        if (this.#prefix.isSet) super.handleDataRow(message)
      }

      override handleCommandComplete(message: object, connection: Protocol): void {
        if (this.#prefix.isSet) super.handleCommandComplete(message, connection)
        else this.#prefix.settle()
      }

      override handleError(error: Error, connection: Protocol): void {
        super.handleError(this.#prefix.refusal(error, undefined), connection)
      }
    },
)

/** Sends a query of pg's own behind settings. Those that PostgreSQL refuses are its error. */
export function queryWithSettings(connection: PgConnection, settings: LocalSettings, config: object, done: Done): void {
  const { Query } = connection.constructor as unknown as { readonly Query: PgQueryClass }
  const ScopedQuery = scopedQueryOf(Query)
  connection.query(new ScopedQuery(settings, config, done))
}
