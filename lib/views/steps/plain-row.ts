/** The values of a row, where a model's instances hold just what they are made of: none is made. */

import { isExpression, PlainColumn } from '../../models/build-model.js'
import { oncePerCatalogue } from '../../models/describe-model.js'
import type { Column, ModelDescription } from '../../models/model-description.js'
import type { AnySerializer, SerializerPlan } from '../../serializers/contract.js'
import { propertyOf } from '../../serializers/split-writes.js'

/**
 * What validated data puts into a row, by column name, for a model whose input is plain (`traitsOf(model).plainInput`);
 * undefined where a value is SQL of the application's.
 */
export function plainRow(
  serializer: AnySerializer,
  data: Readonly<Record<string, unknown>>,
): ReadonlyMap<string, unknown> | undefined {
  const columns = plainColumns(serializer.plan)
  const values = new Map<string, unknown>()
  for (const name of Object.keys(data)) {
    const value = data[name]
    if (value === undefined) continue
    if (typeof value === 'object' && isExpression(value)) return undefined
    const column = columns.get(name) ?? plainColumn(serializer, name, columns)
    values.set(column.name, column.isPlain && typeof value !== 'object' ? value : column.sent(value))
  }
  return values
}

/** Where values of validated data go, by name. */
const plainColumns = oncePerCatalogue((_plan: SerializerPlan): Map<string, PlainColumn> => new Map())

function plainColumn(serializer: AnySerializer, name: string, known: Map<string, PlainColumn>): PlainColumn {
  const { model, columns } = serializer.plan.model as ModelDescription
  const column = new PlainColumn(model, columns.get(propertyOf(serializer, name)) as Column)
  known.set(name, column)
  return column
}
