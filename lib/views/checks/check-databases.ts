/** Related models of other databases: relations are followed where the view set's own model is. */

import { ConfigurationError } from '../../kernel/errors.js'
import { areReadTogether, boundKnex } from '../../models/describe-model.js'
import { type ModelClass, modelName } from '../../models/objection.js'
import { isOneDatabase } from '../../postgres/one-database.js'
import { type ModelledView, readModelsOf } from './models-of.js'

/** @throws {ConfigurationError} the view set reads a model that is bound to another database, whose rows it would not find */
export async function checkDatabases(
  view: ModelledView,
  read: Iterable<ModelClass> = readModelsOf(view),
): Promise<void> {
  const own = view.modelClass()
  for (const model of read) {
    // two pools of one database find the same rows
    if (areReadTogether(own, model) || (await isOneDatabase(boundKnex(own), boundKnex(model)))) continue
    throw new ConfigurationError(
      `${view.name}: ${modelName(model)} is bound to another database than ${modelName(own)}, in which its rows would be read; show the key alone, and let clients ask a view set of ${modelName(model)}`,
    )
  }
}
