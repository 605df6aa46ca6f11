/** The database of a request: the pool of its queries, and the role, settings and schema that they run with. */

import type { Knex } from 'knex'
import { type DatabaseScope, knexInScope } from '../../http/database-role.js'
import { NotFound } from '../../kernel/errors.js'
import { oncePer, RecentMap } from '../../kernel/once-per.js'
import { configOf, isReadFrom, oncePerCatalogue } from '../../models/describe-model.js'
import { findsSameTables } from '../../models/same-tables.js'
import type { Queryable } from '../../postgres/pg-types.js'
import { scopeOf, tablePlaceOf } from '../../postgres/scoped-knex.js'
import { modelsOf } from '../checks/models-of.js'
import type { GenericView } from '../generic-view.js'
import type { GenericViewClass } from '../generic-view-class.js'
import type { View } from '../view.js'

/** How many schemas are known to have the tables of a view, for how many roles. */
const MOST_SCHEMAS = 10_000

/** By the schema that requests choose and the role that looks for it, whether a database is known to have the tables of a view, or is being asked. */
const tablesOf = oncePerCatalogue<GenericViewClass, (config: object) => RecentMap<Promise<boolean> | true>>(() =>
  oncePer(() => new RecentMap(MOST_SCHEMAS)),
)
/** The schema of the database itself; no name has such a character. */
const OWN = '\0'

/** A knex whose statements run with what is declared for the view. @throws ApiError, ConfigurationError as `knexInScope()` */
export async function databaseOf(view: View, knex: Knex, scope: DatabaseScope): Promise<Knex> {
  const scoped = await knexInScope(view.ctx, knex, scope)
  const path = scopeOf(scoped)?.settings.searchPath
  const { viewClass } = view as { readonly viewClass?: GenericViewClass }
  if (path !== undefined && viewClass) await askTables(viewClass, scoped, path)
  else await checkDatabase(view, knex)
  return scoped
}

/**
 * Asks once for each database that a view works on besides the one that `prepare()` read, as where each tenant has its own.
 * @returns what to wait for; undefined where nothing is to be asked
 * @throws NotFound it has no tables of the view
 * @throws {ConfigurationError} they are others than those that `prepare()` read
 */
export function checkDatabase(view: View, knex: Knex): Promise<void> | undefined {
  const { viewClass, resource } = view as Partial<GenericView>
  if (!(resource && (viewClass?.model || viewClass?.queryset)) || isReadFrom(resource.model.model, knex))
    return undefined
  const known = tablesOf(viewClass)(configOf(knex)).get(OWN)
  return known === true ? undefined : askTables(viewClass, knex, undefined)
}

/**
 * Asks once for each schema of a database; without one for its own.
 * @throws NotFound it has no tables of the view
 * @throws {ConfigurationError} they are others than those that `prepare()` read
 */
async function askTables(view: GenericViewClass, knex: Queryable, path: string | undefined): Promise<void> {
  const known = tablesOf(view)(configOf(knex))
  const place = tablePlaceOf(knex)
  // what one role may not look at is asked for others
  const schema = place ? JSON.stringify(place) : OWN
  const asked = known.get(schema) ?? findsSameTables(modelsOf(view), knex, path)
  known.set(schema, asked)
  try {
    if (!(await asked)) throw new NotFound()
    known.set(schema, true)
  } catch (error) {
    // it may be made later, or put right
    known.delete(schema)
    throw error
  }
}
