/** A query for pg's client that keeps each row as the texts PostgreSQL sent: what pg itself would make of them is not made. */

import { type ByteStream, type RawRow, type RowSink, type RowStream, rowStreamOf } from './row-stream.js'
import { runMessage } from './run-message.js'

export type { RawRow } from './row-stream.js'

/** pg's protocol connection, as far as a query of one's own speaks to it (as those of pg-cursor and pg-query-stream do). */
interface Protocol {
  readonly stream: ByteStream & {
    readonly writable: boolean
    write(bytes: Uint8Array): void
    cork?(): void
    uncork?(): void
  }
  readonly parsedStatements: Readonly<Record<string, string>>
  readonly submittedNamedStatements?: Record<string, string>
  parse(statement: { text: string; name: string; types: readonly number[] }): void
}

/**
 * The values as texts; undefined where one needs pg's own conversion (dates, arrays, objects, buffers).
 */
export function asTexts(values: readonly unknown[]): (string | null)[] | undefined {
  const texts: (string | null)[] = []
  for (const value of values) {
    if (typeof value === 'string') texts.push(value)
    else if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') {
      texts.push(String(value))
    } else if (value === null || value === undefined) texts.push(null)
    else return undefined
  }
  return texts
}

type Done = (error: Error | null, result?: { rows: RawRow[] }) => void

/** PostgreSQL counts a statement's values in two bytes. */
const MOST_VALUES = 65_535
const NONE: RawRow[] = []
function ignore(): void {}

/**
 * Runs one statement by the extended protocol and calls back with its rows. It does not ask what the columns are: the
 * one who wrote the SQL knows.
 */
export class TextQuery implements RowSink {
  readonly text: string
  /** The name it is prepared under; empty for none. */
  readonly name: string
  readonly #values: readonly (string | null)[]
  #rows: RawRow[] = []
  #rowStream: RowStream | undefined = undefined
  #done: Done
  /** pg's client may put another function around it, to end the wait after `query_timeout`. */
  callback: (error: Error | null) => void

  constructor(
    { text, name = '' }: { text: string; name?: string | undefined },
    values: readonly (string | null)[],
    done: Done,
  ) {
    this.text = text
    this.name = name
    this.#values = values
    this.#done = done
    const finish = (error: Error | null) => this.#finish(error)
    this.callback = finish
  }

  /**
   * Tells of the end, and forgets rows and caller: pg puts a function around the callback which V8 allocates among what is
   * to stay (it does so with functions that are written right into a property), and with it all that it leads to.
   */
  #finish(error: Error | null): void {
    const done = this.#done
    const rows = this.#rows
    this.#done = ignore
    this.#rows = NONE
    if (error) done(error)
    else done(null, { rows })
  }

  submit(connection: Protocol): Error | null {
    const { text, name } = this
    const { stream, parsedStatements, submittedNamedStatements } = connection
    const known = name === '' ? undefined : (parsedStatements[name] ?? submittedNamedStatements?.[name])
    // pg tells of what is returned here, and goes on with the next query
    if (this.#values.length > MOST_VALUES) return new Error(`a statement takes at most ${MOST_VALUES} values`)
    const message = runMessage(name, this.#values)
    this.#rowStream = rowStreamOf(stream)
    this.#rowStream?.begin(this)
    if (known !== undefined) {
      if (stream.writable) stream.write(message)
      return null
    }
    stream.cork?.()
    try {
      connection.parse({ text, name, types: [] })
      if (submittedNamedStatements && name !== '') submittedNamedStatements[name] = text
      if (stream.writable) stream.write(message)
    } finally {
      stream.uncork?.()
    }
    return null
  }

  addRow(row: RawRow): void {
    if (this.#done !== ignore) this.#rows.push(row)
  }

  /** A row that pg's parser has read: one that came in two pieces. */
  handleDataRow({ fields }: { fields: RawRow }): void {
    this.addRow(fields)
  }

  handleReadyForQuery(): void {
    this.#rowStream?.end(this)
    this.callback(null)
  }

  handleError(error: Error): void {
    this.#rowStream?.end(this)
    this.callback(error)
  }

  handleRowDescription(): void {}

  handleCommandComplete(): void {}

  handleEmptyQuery(): void {}

  handlePortalSuspended(): void {}
}
