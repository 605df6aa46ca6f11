/** Names what the database or the model refuses by the client's fields. */

import { HiddenField } from '../fields/own-value-fields.js'
import { type ConstraintSubject, exposesTriggers } from '../postgres/failed-statement.js'
import type { BoundField, SerializerPlan } from './contract.js'
import { NestedSerializer } from './nested-serializer.js'
import { GIVEN } from './validated-item.js'

/**
 * The subject of a statement on a serializer's own table.
 * @param data values by field name, validated or (with `raw`) as the client sent them; anything but an object has none
 * @param view says whether messages of triggers are shown
 */
export function constraintSubject(
  plan: SerializerPlan,
  operation: ConstraintSubject['operation'],
  data: unknown,
  { raw = false, view }: { raw?: boolean; view?: unknown } = {},
): ConstraintSubject {
  const { model } = plan
  const isOwn = (table: string) => model?.nativeName === table || model?.partitions.has(table) === true
  const columnNamed = (name: string) => plan.fields.filter((field) => field.column?.nativeName === name)
  const values = typeof data === 'object' && data !== null ? (data as Record<string, unknown>) : {}
  return {
    operation,
    isOfRows: operation === 'write' && model?.isView === false,
    exposesTriggers: exposesTriggers(view),
    columnsOf: (table, constraint) =>
      isOwn(table)
        ? model?.constraints.get(constraint)?.map((name) => model.columns.get(name)?.nativeName ?? name)
        : undefined,
    isMade: (table, constraint) => {
      const properties = (isOwn(table) && model?.constraints.get(constraint)) || []
      const columns = properties.map((name) => model?.columns.get(name))
      // what PostgreSQL computes of other columns a client can mend
      return columns.length > 0 && columns.every((column) => column?.auto === true && !column.isComputed)
    },
    fieldOf: (table, column) => (isOwn(table) ? fieldAmong(columnNamed(column), values) : undefined),
    writes: (name) => plan.writableFields.has(name),
    valueOf: (name) => {
      const field = plan.fields.find((bound) => bound.name === name && bound.writable)
      if (!field || !Object.hasOwn(values, name)) return undefined
      const given = (data as { [GIVEN]?: Record<string, unknown> })[GIVEN]?.[name]
      // a validated key is the primary key, which the client does not know (promise E14)
      if (given !== undefined || (field.ids && !raw)) return given
      const value = values[name]
      return Buffer.isBuffer(value) ? field.writer.toRepresentation(value, {}) : value
    },
    fieldOfDomain: (domain) => {
      const given = plan.writable.filter(({ name, column }) => column?.domains.includes(domain) && values[name] != null)
      return given.length === 1 ? given[0]?.name : undefined
    },
    fieldOfProperty: (property) =>
      fieldAmong(
        plan.writable.filter((field) => field.column?.property === property),
        values,
      ),
  }
}

/** Picks the field that a client writes among several on one column, first one that was sent; never one it does not know. */
function fieldAmong(fields: readonly BoundField[], values: Readonly<Record<string, unknown>>): string | undefined {
  const known = fields.filter(({ field, readable, writable }) => {
    if (field instanceof HiddenField) return false
    return field instanceof NestedSerializer ? writable : readable || writable
  })
  const plain = known.filter(({ field }) => !(field instanceof NestedSerializer))
  const written = plain.filter(({ writable }) => writable)
  const sent = written.find(({ name }) => Object.hasOwn(values, name))
  return (sent ?? written[0] ?? plain[0] ?? known[0])?.name
}
