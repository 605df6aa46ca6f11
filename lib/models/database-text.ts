/** Keeps PostgreSQL's own text beside a `Date`, which cannot hold microseconds (promise B15). */

const TEXT = Symbol('text from the database')
const TIME = Symbol('time when it was read')

/** A Date that remembers the text it was read from. To the application it is a Date like any other. */
interface ReadDate extends Date {
  [TEXT]?: string
  [TIME]?: number
}

/** Remembers the text a value was read from, if the value is a Date; anything else is returned as it is. */
export function keepText(value: unknown, text: string): unknown {
  if (value instanceof Date) {
    const date: ReadDate = value
    date[TEXT] = text
    date[TIME] = value.getTime()
  }
  return value
}

/** The text PostgreSQL sent for this Date; undefined when it came from elsewhere or was changed since. */
export function databaseText(value: Date): string | undefined {
  const date: ReadDate = value
  return Object.is(date[TIME], value.getTime()) ? date[TEXT] : undefined
}
