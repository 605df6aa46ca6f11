/** Strings in json columns, which Objection takes for JSON once more (promise B17). */
import type { AnswerField, TypeParsers } from '../postgres/pg-types.js'
import { isJsonAttribute } from './build-model.js'
import { describeModel, oncePerCatalogue } from './describe-model.js'
import type { Column } from './model-description.js'
import type { ModelClass } from './objection.js'

const JSON_OIDS: Readonly<Record<string, number>> = { json: 114, jsonb: 3802 }

const OIDS = new Set(Object.values(JSON_OIDS))

/** The json columns that Objection parses by itself. */
const parsedTwice = oncePerCatalogue((model: ModelClass): readonly Column[] =>
  [...describeModel(model).columns.values()].filter(
    (column) => JSON_OIDS[column.type] !== undefined && isJsonAttribute(model, column),
  ),
)

/**
 * Writes strings in json columns as JSON again, in rows that the driver has parsed: from `"1"` Objection would make a number.
 * @param types the parsers that the rows were read with; an application's own may leave JSON as it is
 * @param fields the columns of the answer, which may have other values under a column's name
 */
export function keepJsonTexts(
  model: ModelClass,
  rows: unknown,
  types: TypeParsers,
  fields?: readonly AnswerField[],
): void {
  if (!Array.isArray(rows)) return
  const columns = parsedTwice(model).filter(({ type, nativeName }) => {
    // of several of one name the last counts
    const oid = fields ? fields.findLast(({ name }) => name === nativeName)?.dataTypeID : JSON_OIDS[type]
    return oid !== undefined && OIDS.has(oid) && types.getTypeParser(oid, 'text')('"1"') === '1'
  })
  if (columns.length === 0) return
  for (const row of rows as Record<string, unknown>[]) {
    for (const { column } of columns) {
      const value = row[column]
      if (typeof value === 'string') row[column] = JSON.stringify(value)
    }
  }
}
