/**
 * Keeps PostgreSQL's own text beside values that cannot hold it: a `Date` has no microseconds (promise B15), and pg makes
 * floats of the items of a `numeric[]`.
 */

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

/** The value to send back to the database for one that it sent: its own text instead of a Date, which has no microseconds. */
export function exactValue(value: unknown): unknown {
  return value instanceof Date ? (databaseText(value) ?? value) : value
}

const ITEM_TEXTS = Symbol('texts of the items')

interface ReadList extends Array<unknown> {
  [ITEM_TEXTS]?: readonly unknown[]
}

/** Remembers the strings that the numbers of a list were read from, and those of lists in it. */
export function keepItemTexts(values: unknown, texts: unknown): unknown {
  if (Array.isArray(values) && Array.isArray(texts)) {
    Object.defineProperty(values, ITEM_TEXTS, { value: texts, enumerable: false })
    for (const [position, value] of values.entries()) if (Array.isArray(value)) keepItemTexts(value, texts[position])
  }
  return values
}

/** The text PostgreSQL sent for a number of this list; undefined when it came from elsewhere or was changed since. */
export function databaseItemText(list: readonly unknown[], position: number): string | undefined {
  const text = (list as ReadList)[ITEM_TEXTS]?.[position]
  return typeof text === 'string' && Object.is(Number(text), list[position]) ? text : undefined
}
