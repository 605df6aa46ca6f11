/** Whether a view's answers can be read as rows, without making instances of them. */

import { isSafeMethod } from '../../http/context.js'
import { ConfigurationError } from '../../kernel/errors.js'
import { describeModel } from '../../models/describe-model.js'
import type { AnyQueryBuilder } from '../../models/objection.js'
import type { Queryable } from '../../postgres/pg-types.js'
import { readsRawRows } from '../../postgres/run-statement.js'
import { schemaOf } from '../../queryset/schema-of.js'
import { RowAccess, statementCache } from '../../rows/row-access.js'
import type { SerializerClass } from '../../serializers/contract.js'
import { refuseShape } from '../checks/check-queryset.js'
import type { GenericView } from '../generic-view.js'
import { rendererOf, writesJson } from '../request/respond.js'
import type { RowAnswer } from '../resource.js'
import { answerClass } from './selection.js'

/** Gets the reason why rows are not read, as a sentence for `explain()`; without it none is made. */
export type Tell = (because: string) => undefined

export interface RowAccessRequest {
  /** The serializer class of the answer. */
  readonly shown?: SerializerClass
  readonly tell?: Tell | undefined
}

/** The view's rows, where nothing of the application needs instances of them; else undefined. */
export function rowAccess(view: GenericView, answer: RowAnswer, options: RowAccessRequest = {}): RowAccess | undefined {
  const { tell } = options
  const { resource } = view
  const obstacle = resource.rowObstacle(answer)
  if (obstacle !== null) return tell?.(obstacle)
  // whatever the form, and whoever asks for it
  const isStream = answer === 'stream'
  // code of the application's may look at what it gets
  if (!isStream && view.action !== answer) return tell?.(`${view.action}() is the application's own`)
  const serializer = options.shown ?? answerClass(view)
  const { viewClass } = view
  const model = viewClass.modelClass()
  const answers = resource.answers(serializer)
  // a serializer may be shared by views of several tables
  if (answers.model !== model) {
    return tell?.(`${serializer.name} is of another model than ${viewClass.name}`)
  }
  const { plan, because } = answers.rows
  if (!plan) return tell?.(because)
  const knex = view.trx ?? view.knex
  if (!knex || !readsRawRows(knex)) return tell?.("its queries do not run on pg's own client by knex")
  if (!(isStream || writesJson(view))) return tell?.(`${rendererOf(view).constructor.name} takes values, not JSON`)
  return new RowAccess({
    model: describeModel(model),
    plan,
    knex,
    statements: statementCache(knex, plan),
    client: view.ctx.req.socket,
    native: viewClass.useNativeJson,
    context: () => view.getSerializerContext(),
  })
}

/**
 * A queryset must be one that pages and lookups can narrow, in the database that the request works on; it is bound to the
 * request's transaction, if it is in none.
 * @throws {ConfigurationError} it has a limit, is a union, joins what it loads, or reads elsewhere than it writes
 */
export function checkQueryset(view: GenericView, query: AnyQueryBuilder): void {
  const { name } = view.viewClass
  const own = view.trx ?? view.knex
  if (own && configOf(query.knex()) !== configOf(own)) {
    throw new ConfigurationError(
      `${name}: its queryset is of another database than the request; override getKnex(), which reads, writes and transactions follow`,
    )
  }
  refuseShape(name, query)
  if (!isSafeMethod(view.ctx.method) && schemaOf(query) !== undefined) {
    throw new ConfigurationError(
      `${name}: its queryset reads another schema than its writes go to; name the schema in the model's tableName, or override getKnex()`,
    )
  }
  // an application's own may have forgotten the request's transaction
  if (own && query.knex() !== own && !(query.knex() as Queryable).isTransaction) void query.transacting(own as never)
}

/** What a pool and its transactions have in common. */
function configOf(knex: unknown): unknown {
  return (knex as { client?: { config?: unknown } } | undefined)?.client?.config
}
