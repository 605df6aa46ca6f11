/** Reads a path parameter as a value of the column it is compared with, and writes it (promises B1, B2). */
import { ConfigurationError, ValidationError } from '../kernel/errors.js'
import { oncePer } from '../kernel/once-per.js'
import type { Column } from '../models/model-description.js'
import type { SerializerField } from './field.js'
import { fieldForColumn } from './field-for-column.js'

const fieldOf = oncePer((column: Column) => fieldForColumn({ ...column, schema: {} }, {}))

/** The value that a string of a path stands for; undefined when no row can have it, so that no query need be sent. */
export function parseLookup(column: Column, text: string): unknown {
  return tried(column, (field) => field.toInternalValue(field.fromText(text), {}))
}

/** The value that a JSON value stands for, such as a key of a bulk request; undefined when no row can have it. */
export function parseValue(column: Column, value: unknown): unknown {
  return value === null || value === undefined ? undefined : tried(column, (field) => field.toInternalValue(value, {}))
}

/** What a path has for a value of the column: the same that is read of it. */
export function writeLookup(column: Column, value: unknown): unknown {
  return fieldOf(column).toRepresentation(value, {})
}

/** @throws {ConfigurationError} the column's values are none that a key can be */
function tried(column: Column, read: (field: SerializerField) => unknown): unknown {
  const field = fieldOf(column)
  try {
    const value = read(field)
    if (!(value instanceof Promise)) return value
    // a rejection that nobody waits for would end the process
    void value.catch(() => undefined)
  } catch (error) {
    if (error instanceof ValidationError) return undefined
    throw error
  }
  throw new ConfigurationError(`objects cannot be named by "${column.property}", whose values are lists`)
}
