/** Related models of other databases: relations are followed where the view set's own model is. */

import { ConfigurationError } from '../../kernel/errors.js'
import { areReadTogether } from '../../models/describe-model.js'
import { type ModelClass, modelName } from '../../models/objection.js'
import { isOneDatabase } from '../../postgres/one-database.js'
import type { Queryable } from '../../postgres/pg-types.js'
import type { GenericViewClass } from '../generic-view-class.js'
import { readModelsOf, relatedModels } from './models-of.js'

/** @throws {ConfigurationError} the view set reads a model that is bound to another database, whose rows it would not find */
export async function checkDatabases(view: GenericViewClass): Promise<void> {
  const own = view.modelClass()
  const read = [...readModelsOf(view)].filter(({ tableName }) => tableName !== own.tableName)
  const led = ledTo(own, new Set(read.map(({ tableName }) => tableName)))
  for (const model of read) {
    // a serializer may be of another class than the one that the relation leads to, whose rows are read
    const kin = led.filter(({ tableName }) => tableName === model.tableName)
    if (kin.some((one) => areReadTogether(own, one))) continue
    await checkDatabase(view, kin[0] ?? model)
  }
}

/** @throws {ConfigurationError} a model whose rows the view set reads is bound to another database */
export async function checkDatabase(view: GenericViewClass, model: ModelClass): Promise<void> {
  const own = view.modelClass()
  if (areReadTogether(own, model)) return
  const [knex, other] = [own, model].map((one) => one.knex() as Queryable | undefined)
  // two pools of one database find the same rows
  if (!knex || !other || (await isOneDatabase(knex, other))) return
  throw new ConfigurationError(
    `${view.name}: ${modelName(model)} is bound to another database than ${modelName(own)}, in which its rows would be read; relate a class that is bound to that one, or show the key alone, and let clients ask a view set of ${modelName(model)}`,
  )
}

/** The models of these tables that relations lead to. */
function ledTo(own: ModelClass, tables: ReadonlySet<string>): readonly ModelClass[] {
  const found = new Set([own])
  for (const model of found) {
    for (const related of relatedModels(model)) if (tables.has(related.tableName)) found.add(related)
  }
  return [...found]
}
