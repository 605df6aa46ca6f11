/** Runs an action that reads where its rows may be read: on a replica, where the router has some. */
import type { Knex } from 'knex'
import { knexInScope } from '../../http/database-role.js'
import type { Replicas } from '../replicas.js'
import type { View } from '../view.js'

interface ReplicaRequest {
  /** The database that the view has chosen. */
  readonly asked: Knex
  readonly steps: { call(view: View): unknown }
}

/** What the action returns. A view whose database is another than the replicas' is left where it is, and so are server cursors. */
export function onReplica(view: View, replicas: Replicas, { asked, steps }: ReplicaRequest): unknown {
  const { database, resource } = view.plan
  if (asked !== replicas.primary || resource?.keepsConnections === true) return steps.call(view)
  return replicas.read(view.ctx, async (knex) => {
    // that the tables are there was asked of the primary, of which this is a copy
    const own = database ? await knexInScope(view.ctx, knex, database) : knex
    begin(view, own)
    return steps.call(view)
  })
}

/** What an attempt before this one has left. */
function begin(view: View, knex: Knex): void {
  view.knex = knex
  if (view.plan.database) view.trx = knex as Knex.Transaction
  view.parentKey = undefined
  view.afterAction?.splice(0)
  view.ctx.status = 200
}
