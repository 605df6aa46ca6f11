/** Which models are of one table: what holds for the rows of one holds for those of the other. */
import { areOfOneDatabase, catalogueOf } from './describe-model.js'
import { isModelClass, type ModelClass, modelOf } from './objection.js'

/** True for models of one table: by its name, or by its number where they call it differently (`notes`, `public.notes`). */
export function areOfOneTable(model: ModelClass | undefined, other: ModelClass): boolean {
  return model !== undefined && (model.tableName === other.tableName || isOneTwiceNamed(model, other))
}

/** True for models that call one table by different names. */
export function isOneTwiceNamed(model: ModelClass, other: ModelClass): boolean {
  if (model.tableName === other.tableName) return false
  const table = catalogueOf(model)?.table
  return table !== undefined && table === catalogueOf(other)?.table && areOfOneDatabase(model, other)
}

/** False for what is no row of the model's table: code of the application may have made something else. */
export function isRowOf(model: ModelClass, object: object): boolean {
  const own: unknown = Object.getPrototypeOf(object) === null ? undefined : modelOf(object)
  return isModelClass(own) && areOfOneTable(own, model)
}
