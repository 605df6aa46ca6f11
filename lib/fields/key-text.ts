/** Tells whether two values are one key, whatever their spelling (promise B17). */
import type { Column } from '../models/model-description.js'
import { writeDateOf, writeDateTime, writeDateTimeOf } from './date-time-text.js'
import { readDecimal, writeDecimal } from './decimal-text.js'

const TRAILING_ZEROS = /0+$/

/** The text that all spellings of a key have in common: what a client gives, and what the column holds. */
export function keyText({ type }: Column, value: unknown): string {
  switch (type) {
    case 'citext':
      return String(value).toLowerCase()
    case 'bpchar':
      return String(value).trimEnd()
    case 'date':
      return value instanceof Date ? writeDateOf(value) : String(value)
    case 'timestamp':
    case 'timestamptz':
      return value instanceof Date ? writeDateTimeOf(value) : writeDateTime(String(value))
    case 'numeric':
      return decimalText(value)
    default:
      return String(value)
  }
}

/** `12.5` for `12.50`, too. */
function decimalText(value: unknown): string {
  const decimal = typeof value === 'string' || typeof value === 'number' ? readDecimal(value) : undefined
  return decimal === undefined
    ? String(value)
    : writeDecimal({ ...decimal, fraction: decimal.fraction.replace(TRAILING_ZEROS, '') })
}
