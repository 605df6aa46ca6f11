/** Creates an object by one statement, where nothing of the application stands between the input and the row. */
import { externalIds } from '../ids/external-ids.js'
import { buildModel, databaseValues } from '../models/build-model.js'
import { insertsRows } from '../serializers/insert-plan.js'
import { splitWrites } from '../serializers/write-relations.js'
import type { GenericView } from './generic-view.js'
import { rowReader } from './read-rows.js'
import type { RowReader } from './row-reader.js'
import { lookupColumn } from './settle-generic.js'
import { isStandard } from './standard.js'

/** The object that was created: its key by property, and its written form. */
export interface InsertedRow {
  readonly object: object
  readonly text: unknown
}

/** What the view's create inserts by, when it is one statement. */
export function insertReader(view: GenericView): RowReader | undefined {
  const { serializerClass, concurrency } = view.viewClass
  if (concurrency !== null) return undefined
  const isPlain = isStandard(view, 'create', 'performCreate', 'getInputSerializer', 'getSerializerClass')
  return serializerClass && isPlain && insertsRows(serializerClass) ? rowReader(view, 'create') : undefined
}

/** Validates the body and inserts it; undefined where instances are needed. @throws ValidationError */
export async function insertRow(view: GenericView): Promise<InsertedRow | undefined> {
  const rows = insertReader(view)
  if (!rows) return undefined
  const serializer = view.getInputSerializer()
  await serializer.isValid({ raiseException: true, trustKeys: true })
  const { columns } = splitWrites(serializer, serializer.validatedData)
  if (Object.values(columns).some(isExpression)) {
    await serializer.save()
    return { object: serializer.obj as object, text: serializer.data }
  }
  const instance = buildModel(rows.model, columns)
  externalIds(rows.model)?.fill(instance as unknown as Record<string, unknown>)
  const values = databaseValues(rows.model, instance)
  const column = lookupColumn(view.viewClass)
  const { key, text } = await rows.insert(column, values)
  return { object: { [column.property]: key }, text }
}

/** SQL of the application's, such as `raw('now()')`. */
function isExpression(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { toSQL, toKnexQuery, toKnexRaw } = value as Record<string, unknown>
  return [toSQL, toKnexQuery, toKnexRaw].some((method) => typeof method === 'function')
}
