/** The list of a resource, as the owner of an endpoint would see it. */

import type { Knex } from 'knex'
import { nameIn } from '../changes/changes-table.js'
import { makesColumns, readableOfAll, type ShownNames } from '../changes/read-history.js'
import { VisibleChanges } from '../changes/visible-changes.js'
import { contextForUser } from '../http/context.js'
import { knexInScope } from '../http/database-role.js'
import { ApiError, ConfigurationError } from '../kernel/errors.js'
import { checkPermissions } from '../permissions/check-permissions.js'
import { isOneDatabase } from '../postgres/one-database.js'
import type { Queryable } from '../postgres/pg-types.js'
import { planOf } from '../views/action-plan.js'
import type { Endpoint, Operation } from '../views/endpoint.js'
import type { GenericView } from '../views/generic-view.js'

/** A resource whose changes are told. */
export interface ToldResource {
  readonly endpoint: Endpoint
  /** Its list. */
  readonly operation: Operation
}

/** An endpoint's owner. */
interface Owner {
  readonly user: unknown
  /** The database of the changes that he is told. */
  readonly knex: Knex
}

/** View of a resource for an endpoint's owner. */
export interface OwnerView {
  readonly visible: VisibleChanges
  /** The fields that he may read of all objects. */
  readonly names: ShownNames
  /** What the table of changes calls the model whose objects he is shown: with the schema where he has his own. */
  readonly model: string
}

/**
 * Opens the list for a user; undefined where its permissions refuse him.
 * @throws {ConfigurationError} nobody can tell what it shows
 */
export async function openForOwner(
  { endpoint, operation }: ToldResource,
  { user, knex }: Owner,
): Promise<OwnerView | undefined> {
  const plan = planOf(operation.route)
  const ctx = contextForUser(user, { method: 'GET', path: endpoint.path })
  const view = plan.viewClass.open(ctx, plan) as GenericView
  try {
    await checkPermissions(ctx, view, plan.policies.permissions)
  } catch (error) {
    // what cannot be answered now is no refusal
    if (error instanceof ApiError && error.status < 500) return undefined
    throw error
  }
  const own = await view.getKnex()
  const { model } = view.plan.resource.model
  await checkOwnersDatabase(plan.viewClass.name, own ?? (model.knex() as Queryable | undefined), knex)
  view.knex = own && plan.database ? await knexInScope(ctx, own, plan.database) : own
  if (!view.plan.resource.isWholeTable && makesColumns(view)) {
    throw new ConfigurationError(
      `${plan.viewClass.name}: webhooks tell columns as they are recorded, and getQueryset() makes something else of them; mask them by rules`,
    )
  }
  const visible = new VisibleChanges(view)
  if (!visible.namesObjects) return undefined
  const name = await nameIn((view.knex ?? model.knex()) as Queryable, model.tableName)
  return { visible, names: readableOfAll(view), model: name }
}

/**
 * @param own the database that the view set of that name works on
 * @throws {ConfigurationError} it is another one than the dispatcher reads
 */
export async function checkOwnersDatabase(name: string, own: Queryable | undefined, knex: Knex): Promise<void> {
  if (!own || (await isOneDatabase(own, knex))) return
  throw new ConfigurationError(
    `WebhookDispatcher: ${name} is of another database than the dispatcher's knex, where none of its rows and changes are; start a dispatcher for each database, with endpoints of its own`,
  )
}
