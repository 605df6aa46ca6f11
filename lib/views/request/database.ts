/** The database of a request: the pool of its queries, and the role, settings and schema that they run with. */

import type { Knex } from 'knex'
import { type DatabaseScope, knexInScope } from '../../http/database-role.js'
import { NotFound } from '../../kernel/errors.js'
import { oncePer, RecentMap } from '../../kernel/once-per.js'
import { findsSameTables } from '../../models/describe-model.js'
import { scopeOf } from '../../postgres/scoped-knex.js'
import { type ModelledView, modelsOf } from '../checks/models-of.js'
import type { View } from '../view.js'

/** How many schemas are known to have the tables of a view. */
const MOST_SCHEMAS = 10_000

const schemasOf = oncePer<ModelledView, RecentMap<Promise<boolean>>>(() => new RecentMap(MOST_SCHEMAS))

/** A knex whose statements run with what is declared for the view. @throws ApiError, ConfigurationError as `knexInScope()` */
export async function databaseOf(view: View, knex: Knex, scope: DatabaseScope): Promise<Knex> {
  const scoped = await knexInScope(view.ctx, knex, scope)
  const path = scopeOf(scoped)?.settings.searchPath
  const { viewClass } = view as { readonly viewClass?: ModelledView }
  if (path !== undefined && viewClass) await checkSchema(viewClass, scoped, path)
  return scoped
}

/**
 * Asks once for each schema.
 * @throws NotFound it has no tables of the view
 * @throws {ConfigurationError} they are others than those that `prepare()` read
 */
async function checkSchema(view: ModelledView, knex: Knex, path: string): Promise<void> {
  const schemas = schemasOf(view)
  const known = schemas.get(path)
  const asked = known ?? findsSameTables(modelsOf(view), knex, path)
  if (!known) schemas.set(path, asked)
  const isThere = await asked.catch((error: unknown) => {
    schemas.delete(path)
    throw error
  })
  if (isThere) return
  // it may be made later
  schemas.delete(path)
  throw new NotFound()
}
