/** Runs an action that reads where its rows may be read: on a replica, where the router has some. */
import type { Knex } from 'knex'
import { knexInScope } from '../../http/database-role.js'
import type { View } from '../view.js'

interface Steps {
  call(view: View): unknown
}

/** What the action returns. A view whose database is another than the replicas' is left where it is, and so are server cursors. */
export function onReplica(view: View, asked: Knex, steps: Steps): unknown {
  const { replicas } = view
  const { resource } = view as { readonly resource?: { readonly keepsConnections: boolean } }
  if (!replicas || asked !== replicas.primary || resource?.keepsConnections === true) return steps.call(view)
  return replicas.read(view.ctx, async (knex) => {
    // that the tables are there was asked of the primary, of which this is a copy
    const own = view.database ? await knexInScope(view.ctx, knex, view.database) : knex
    begin(view, own)
    return steps.call(view)
  })
}

/** What an attempt before this one has left. */
function begin(view: View, knex: Knex): void {
  view.knex = knex
  if (view.database) view.trx = knex as Knex.Transaction
  view.parentKey = undefined
  view.afterAction?.splice(0)
  view.ctx.status = 200
}
