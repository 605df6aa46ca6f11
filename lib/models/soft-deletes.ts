/**
 * The models whose rows are marked as deleted and stay: what relations leave out of lists, whoever shows them. For other
 * conditions on all reads there are rules; this is no pattern for them.
 */

import { ConfigurationError } from '../kernel/errors.js'
import { type ModelClass, modelName } from './objection.js'

/** The property that marks a row as deleted, by model. */
const marked = new WeakMap<object, string>()

/** The property that marks rows of a model as deleted; undefined where deleted rows are gone. */
export function deletionOf(model: ModelClass): string | undefined {
  // a class that is bound to another connection is one below
  for (let one: object | null = model; one; one = Object.getPrototypeOf(one) as object | null) {
    const property = marked.get(one)
    if (property !== undefined) return property
  }
  return undefined
}

/**
 * Says that rows of a model are marked as deleted.
 * @param where the class and attribute that say so, for the message
 * @returns true where nobody had said so before
 * @throws {ConfigurationError} another class names another column
 */
export function markDeletion(where: string, model: ModelClass, property: string): boolean {
  const known = deletionOf(model)
  if (known === property) return false
  if (known !== undefined) {
    throw new ConfigurationError(
      `${where} is "${property}", and another view set of ${modelName(model)} says "${known}"; name one column`,
    )
  }
  marked.set(model, property)
  return true
}
