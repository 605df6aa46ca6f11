/** The database of a request: the pool of its queries, and the role, settings and schema that they run with. */

import type { Knex } from 'knex'
import { type DatabaseScope, knexInScope } from '../../http/database-role.js'
import { NotFound } from '../../kernel/errors.js'
import { oncePer, RecentMap } from '../../kernel/once-per.js'
import { configOf, findsSameTables, isReadFrom, oncePerCatalogue } from '../../models/describe-model.js'
import type { Queryable } from '../../postgres/pg-types.js'
import { scopeOf } from '../../postgres/scoped-knex.js'
import { type ModelledView, modelsOf } from '../checks/models-of.js'
import type { GenericView } from '../generic-view.js'
import type { View } from '../view.js'

/** How many schemas are known to have the tables of a view. */
const MOST_SCHEMAS = 10_000

const tablesOf = oncePerCatalogue<ModelledView, (config: object) => KnownTables>(() =>
  oncePer(() => ({ own: undefined, schemas: new RecentMap(MOST_SCHEMAS) })),
)

/** Where a database is known to have the tables of a view, or is being asked. */
interface KnownTables {
  /** In its own schema. */
  own: Promise<boolean> | true | undefined
  /** In schemas that requests choose. */
  readonly schemas: RecentMap<Promise<boolean>>
}

/** A knex whose statements run with what is declared for the view. @throws ApiError, ConfigurationError as `knexInScope()` */
export async function databaseOf(view: View, knex: Knex, scope: DatabaseScope): Promise<Knex> {
  const scoped = await knexInScope(view.ctx, knex, scope)
  const path = scopeOf(scoped)?.settings.searchPath
  const { viewClass } = view as { readonly viewClass?: ModelledView }
  if (path !== undefined && viewClass) await checkSchema(viewClass, scoped, path)
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
  const known = tablesOf(viewClass)(configOf(knex))
  return known.own === true ? undefined : askDatabase(viewClass, knex, known)
}

async function askDatabase(view: ModelledView, knex: Queryable, known: KnownTables): Promise<void> {
  known.own ??= findsSameTables(modelsOf(view), knex, undefined)
  const isThere = await Promise.resolve(known.own).catch((error: unknown) => {
    // it may be put right
    known.own = undefined
    throw error
  })
  known.own = isThere || undefined
  if (!isThere) throw new NotFound()
}

/**
 * Asks once for each schema of a database.
 * @throws NotFound it has no tables of the view
 * @throws {ConfigurationError} they are others than those that `prepare()` read
 */
async function checkSchema(view: ModelledView, knex: Knex, path: string): Promise<void> {
  const { schemas } = tablesOf(view)(configOf(knex))
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
