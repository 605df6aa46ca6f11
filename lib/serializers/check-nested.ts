/** Checks that a nested serializer is of the model that its relation leads to. */

import { ConfigurationError } from '../kernel/errors.js'
import { describeModel } from '../models/describe-model.js'
import type { RelationDescription } from '../models/model-description.js'
import { isModelClass, type ModelClass, modelName } from '../models/objection.js'
import { areOfOneTable } from '../models/one-table.js'
import type { SerializerPlan } from './contract.js'
import type { NestedSerializer } from './nested-serializer.js'

/**
 * Checks that objects of a model have the columns that a serializer reads under the names by which it reads them: two classes
 * of one table may name them differently (`columnNameMappers`).
 * @throws {ConfigurationError} they have not
 */
export function checkColumnNames(where: string, { model: own, fields }: SerializerPlan, model: ModelClass): void {
  if (!own || own.model === model || !areOfOneTable(own.model, model)) return
  const named = new Map([...describeModel(model).columns.values()].map(({ column, property }) => [column, property]))
  for (const { column } of fields) {
    const property = column && named.get(column.column)
    if (!column || property === undefined || property === column.property) continue
    throw new ConfigurationError(
      `${where} reads the column "${column.column}" as ${modelName(own.model)}.${column.property}, and it is given objects of ${modelName(model)}, which have it as "${property}"; give the serializer the model ${modelName(model)}`,
    )
  }
}

/** Checks the model of a nested serializer, and whether it shows one object or many. @throws {ConfigurationError} */
export function checkNested(
  where: string,
  { serializerClass, many }: NestedSerializer,
  relation: RelationDescription,
): void {
  const other = otherModel(serializerClass, relation.model)
  if (other) {
    throw new ConfigurationError(
      `${where} nests ${serializerClass.name}, of ${modelName(other)}, and the relation leads to ${modelName(relation.model)}; nest a serializer of that model`,
    )
  }
  if (many === relation.single) {
    throw new ConfigurationError(
      many
        ? `${where} shows a list, and the relation leads to one object; leave out many: true`
        : `${where} shows one object, and the relation leads to many; set many: true`,
    )
  }
}

/**
 * Objection reads an extra of a join table over the column of its name, where a row has the column.
 * @throws {ConfigurationError} what is shown of the related objects, or their key, is such a column
 */
export function checkExtras(
  where: string,
  { name, model, through }: RelationDescription,
  shown: readonly string[],
): void {
  const { columns, primaryKey } = describeModel(model)
  const read = [...primaryKey, ...shown].find((property) => columns.has(property) && through?.extras.has(property))
  if (read === undefined) return
  throw new ConfigurationError(
    `${where}: extra "${read}" of the relation "${name}" has the name of a column of ${modelName(model)}, and would be shown in its ` +
      `place; give it another: extra: { link_${read}: '${through?.extras.get(read)}' }`,
  )
}

/** The model of a serializer whose rows are not those of another model; undefined where they are, or it has none. */
export function otherModel(serializer: object, expected: ModelClass): ModelClass | undefined {
  const { model } = serializer as { readonly model?: unknown }
  const isOther = isModelClass(model) && !areOfOneTable(model, expected)
  return isOther ? model : undefined
}
