/**
 * Reads objects that were written once more, where the view's queryset makes more of its rows than the table has, or where
 * something may have changed them since.
 */
import type { Knex } from 'knex'
import type { Model } from 'objection'
import { PermissionDenied } from '../../kernel/errors.js'
import { describeModel } from '../../models/describe-model.js'
import { copyTexts } from '../../models/exact-types.js'
import { keyColumns, type ModelDescription } from '../../models/model-description.js'
import type { AnyQueryBuilder } from '../../models/objection.js'
import type { Queryable } from '../../postgres/pg-types.js'
import { groupConditions } from '../../queryset/group-conditions.js'
import { readExactly } from '../../queryset/read-exactly.js'
import { whereRows } from '../../queryset/where-keys.js'
import { findSame, rowsAsStored } from '../../serializers/row-keys.js'
import { checkQueryset } from '../checks/check-queryset.js'
import type { GenericView } from '../generic-view.js'

/**
 * Gives saved objects the properties that the query reads for them. Those that it does not find stay as they are, but for
 * their related objects: there its graph holds, too.
 * @param isStale the rows of these, too, may be others by now
 * @throws {ConfigurationError} the query reads elsewhere than the view writes
 * @throws PermissionDenied the view's queryset does not find one of them, and may not be left
 */
export async function readAgain(
  view: GenericView,
  query: AnyQueryBuilder,
  objects: readonly object[],
  isStale = false,
): Promise<void> {
  checkQueryset(view, query)
  const description = describeModel(view.plan.viewClass.modelClass())
  const key = keyColumns(description)
  const saved = (objects as readonly Loose[]).filter((object) => key.every(({ property }) => object[property] != null))
  if (saved.length === 0 || key.length === 0) return
  const knex = view.trx ?? view.knex
  // an application's own queryset may have forgotten it
  if (knex) void query.transacting(knex as Knex.Transaction)
  const found = (await readExactly(whereRows(groupConditions(query.clone()), saved))) as readonly Loose[]
  const database = query.knex() as Queryable
  const same = await findSame(description.model, saved, { found, knex: database })
  const replaceBy = (rows: readonly (Loose | undefined)[]) => (object: Loose, index: number) => {
    const seen = rows[index]
    if (seen) replace(object, seen, description)
    return !seen
  }
  const unseen = saved.filter(replaceBy(same))
  if (unseen.length > 0 && view.plan.keepsQueryset) throw new PermissionDenied()
  if (isStale && unseen.length > 0) {
    unseen.filter(replaceBy((await rowsAsStored(description.model, unseen, knex)) as (Loose | undefined)[]))
  }
  if (unseen.length > 0 && query.hasWithGraph()) await readExactly(query.clone().resolve(unseen))
}

type Loose = Model & Record<string, unknown>

/** Columns that the query leaves out are not shown either. */
function replace(object: Loose, seen: Model, { columns }: ModelDescription): void {
  for (const property of columns.keys()) if (!(property in seen)) delete object[property]
  copyTexts(seen, Object.assign(object, seen))
}
