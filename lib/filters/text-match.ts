/** Matching text: patterns in which nothing of a client's is special, and columns as text (promises B7, B8, C5). */
import { ValidationError } from '../kernel/errors.js'
import type { Column } from '../models/model-description.js'

const TEXT_TYPES = new Set(['text', 'varchar', 'bpchar', 'citext', 'name'])

/** Refuses what PostgreSQL cannot read as text. @throws ValidationError */
export function checkedText(text: string): string {
  if (text.includes('\0')) throw new ValidationError('Null characters are not allowed.')
  if (!text.isWellFormed()) throw new ValidationError('Invalid Unicode.')
  return text
}

/** The text as part of a LIKE pattern, in which it stands for itself. */
export function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}

/** A reference to the column, as text. */
export function textOf(column: Column): string {
  return column.sqlType !== undefined && TEXT_TYPES.has(column.type) ? '??' : '??::text'
}
