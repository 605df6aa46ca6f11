/** A query for pg's client that is sent in one piece, and whose rows are read from the strings that PostgreSQL sends: what pg would make of them is not made. */

import {
  type ByteStream,
  type RawRow,
  type RowFormat,
  type RowSink,
  type RowStream,
  rowStreamOf,
} from './row-stream.js'

/** pg's protocol connection, as far as a query of one's own speaks to it (as those of pg-cursor and pg-query-stream do). */
export interface Protocol {
  readonly stream: ByteStream & {
    readonly writable: boolean
    write(bytes: Uint8Array): void
    cork?(): void
    uncork?(): void
  }
  readonly parsedStatements: Record<string, string>
  readonly submittedNamedStatements?: Record<string, string>
  parse(statement: { text: string; name: string; types: readonly number[] }): void
}

/**
 * The values as strings; undefined where one needs pg's own conversion (dates, arrays, objects, buffers).
 */
export function asTexts(values: readonly unknown[]): (string | null)[] | undefined {
  const texts: (string | null)[] = []
  for (let index = 0; index < values.length; index++) {
    const value = values[index]
    let text: string | null = null
    if (typeof value === 'string') text = value
    else if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') text = String(value)
    else if (value !== null && value !== undefined) return undefined
    texts.push(text)
  }
  return texts
}

/** A statement to send before another one in the same transaction, answered by one row before its rows. */
export interface SentBefore {
  /** Sees to it that it is prepared, and returns what runs it. */
  message(connection: Protocol): Uint8Array
  settle(): void
  /** Prefix of an error that comes before the statement's own answer. */
  refusal(error: Error, name: string): Error
}

type Done<Row> = (error: Error | null, result?: { rows: Row[] }) => void

/** PostgreSQL counts a statement's values in two bytes. */
const MOST_VALUES = 65_535
const NONE: never[] = []
function ignore(): void {}

/**
 * Runs one statement by the extended protocol and calls back with its rows. It does not ask what the columns are: the
 * one who wrote the SQL knows.
 */
export class TextQuery<Row> implements RowSink {
  readonly text: string
  /** The name it is prepared under; empty for none. */
  readonly name: string
  readonly #values: readonly (string | null)[]
  readonly #format: RowFormat<Row>
  /** The settings that it runs with, which are answered by the first row. */
  readonly #prefix: SentBefore | undefined
  /** Their row is still to come. */
  #isSetting: boolean
  #rows: Row[] = []
  #rowStream: RowStream | undefined = undefined
  #done: Done<Row>
  /** pg's client may put another function around it, to end the wait after `query_timeout`. */
  callback: (error: Error | null) => void

  constructor(
    { text, name = '', prefix }: { text: string; name?: string | undefined; prefix?: SentBefore | undefined },
    values: readonly (string | null)[],
    format: RowFormat<Row>,
    done: Done<Row>,
  ) {
    this.text = text
    this.name = name
    this.#values = values
    this.#format = format
    this.#prefix = prefix
    this.#isSetting = prefix !== undefined
    this.#done = done
    // forgets rows and caller: pg puts a function around it which V8 allocates among what is to stay (it does so with
    // functions that are written right into a property), and with it all that it leads to
    const finish = (error: Error | null) => {
      const tell = this.#done
      const rows = this.#rows
      this.#done = ignore
      this.#rows = NONE
      if (error) tell(error)
      else tell(null, { rows })
    }
    this.callback = finish
  }

  submit(connection: Protocol): Error | null {
    const { text, name } = this
    const { stream, parsedStatements, submittedNamedStatements } = connection
    const known = name === '' ? undefined : (parsedStatements[name] ?? submittedNamedStatements?.[name])
    // pg reports what is returned here, and goes on with the next query
    if (this.#values.length > MOST_VALUES) return new Error(`a statement takes at most ${MOST_VALUES} values`)
    const message = runMessage(name, this.#values)
    this.#rowStream = rowStreamOf(stream)
    this.#rowStream?.begin(this)
    const prefix = this.#prefix
    if (known !== undefined && !prefix) {
      if (stream.writable) stream.write(message)
      return null
    }
    stream.cork?.()
    try {
      const before = prefix?.message(connection)
      if (before && known !== undefined) {
        if (stream.writable) stream.write(Buffer.concat([before, message]))
        return null
      }
      if (before && stream.writable) stream.write(before)
      if (known === undefined) {
        connection.parse({ text, name, types: [] })
        if (submittedNamedStatements && name !== '') submittedNamedStatements[name] = text
      }
      if (stream.writable) stream.write(message)
    } finally {
      stream.uncork?.()
    }
    return null
  }

  addRow(bytes: Buffer, start: number, end: number): void {
    if (this.#isSetting) this.#settle()
    else if (this.#done !== ignore) this.#rows.push(this.#format.read(bytes, start, end))
  }

  addPieces(pieces: readonly Buffer[]): void {
    if (this.#isSetting) this.#settle()
    else if (this.#done !== ignore) this.#rows.push(this.#format.readPieces(pieces))
  }

  /** A row that pg's parser has read: one behind a message whose beginning was cut in two. */
  handleDataRow({ fields }: { fields: RawRow }): void {
    if (this.#isSetting) this.#settle()
    else if (this.#done !== ignore) this.#rows.push(this.#format.ofTexts(fields))
  }

  handleReadyForQuery(): void {
    this.#rowStream?.end(this)
    this.callback(null)
  }

  handleError(error: Error): void {
    this.#rowStream?.end(this)
    this.callback(this.#prefix ? this.#prefix.refusal(error, this.name) : error)
  }

  /** The row that answers the settings has come. */
  #settle(): void {
    this.#isSetting = false
    this.#prefix?.settle()
  }

  handleRowDescription(): void {}

  handleCommandComplete(): void {}

  handleEmptyQuery(): void {}

  handlePortalSuspended(): void {}
}

/** Execute of the unnamed portal, for all rows, and Sync. */
const EXECUTE_AND_SYNC = Buffer.from([0x45, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0x53, 0, 0, 0, 4])
const EXECUTE = EXECUTE_AND_SYNC.subarray(0, 10)
const SYNC = { sync: true }
const BIND = 0x42
const NULL_LENGTH = -1
/** Type, length, the unnamed portal, the end of the name, three counts and the format of all results. */
const FIXED_BYTES = 1 + 4 + 1 + 1 + 2 + 2 + 2 + 2

/**
 * The message that runs the statement of this name with these values, all of them strings, and asks for strings: Bind, Execute
 * and Sync of PostgreSQL's protocol (its documentation, section 55.7). pg sends them as three, which costs two microseconds more.
 * @param name empty for the one that was parsed last without a name
 * @param options.sync false where another statement follows in the same transaction
 */
export function runMessage(name: string, values: readonly (string | null)[], { sync } = SYNC): Buffer {
  const lengths: number[] = []
  let size = FIXED_BYTES + Buffer.byteLength(name) + 4 * values.length
  for (let index = 0; index < values.length; index++) {
    const value = values[index] as string | null
    const length = value === null ? 0 : Buffer.byteLength(value)
    lengths.push(length)
    size += length
  }
  const tail = sync ? EXECUTE_AND_SYNC : EXECUTE
  const message = Buffer.allocUnsafe(size + tail.length)
  message[0] = BIND
  message.writeInt32BE(size - 1, 1)
  message[5] = 0
  let end = 6 + message.write(name, 6)
  message[end++] = 0
  // no formats: all values are strings
  end = message.writeUInt16BE(0, end)
  end = message.writeUInt16BE(values.length, end)
  for (let index = 0; index < values.length; index++) {
    const value = values[index] as string | null
    end = message.writeInt32BE(value === null ? NULL_LENGTH : (lengths[index] as number), end)
    if (value !== null) end += message.write(value, end)
  }
  // one format for all results: text
  end = message.writeUInt16BE(1, end)
  end = message.writeUInt16BE(0, end)
  tail.copy(message, end)
  return message
}
