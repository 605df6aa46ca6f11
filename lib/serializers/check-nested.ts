/** Whether a serializer is of the model whose objects it is given, as those of a relation. */
import { ConfigurationError } from '../kernel/errors.js'
import type { RelationDescription } from '../models/model-description.js'
import { isModelClass, type ModelClass, modelName } from '../models/objection.js'
import type { NestedSerializer } from './nested-serializer.js'

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

/** The model of a serializer whose rows are not those of another model; undefined where they are, or it has none. */
export function otherModel(serializer: object, expected: ModelClass): ModelClass | undefined {
  const { model } = serializer as { readonly model?: unknown }
  const isOther = isModelClass(model) && model.tableName !== expected.tableName && !isKin(model, expected)
  return isOther ? model : undefined
}

/** True where one of two classes extends the other. */
function isKin(one: ModelClass, other: ModelClass): boolean {
  return one.prototype instanceof other || other.prototype instanceof one
}
