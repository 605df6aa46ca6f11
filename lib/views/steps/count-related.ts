/** Counts related objects for the answers that show their number (`expandable = { reviews: count('reviews') }`). */

import type { FilterRelation, FilterSettings } from '../../filters/filter.js'
import { countObjects, countSql, type ObjectsToCount } from '../../filters/relations/related-condition.js'
import type { AnyQueryBuilder } from '../../models/objection.js'
import type { Queryable } from '../../postgres/pg-types.js'
import type { RelationCount, RelationCounter } from '../../queryset/load-relations.js'
import { recipientOf } from '../../queryset/recipient.js'
import { schemaOf } from '../../queryset/schema-of.js'
import type { CountSql } from '../../rows/list-sql.js'
import { isRelatedCount } from '../../serializers/count-field.js'
import type { GenericView } from '../generic-view.js'
import { selectionOf } from './selection.js'

/** Counts what the caller would be shown: the objects of the view sets in `filterRelations`, else all of a relation. */
export function counterOf(view: GenericView, parent: AnyQueryBuilder): RelationCounter {
  return ({ model, relation, owners, path, knex }) => {
    return countObjects({ ...toCount(view, parent, { model, relation, path, knex }), owners })
  }
}

/** Like `counterOf()`, as SQL within the statement that reads the rows. */
export function countSqlOf(view: GenericView): CountSql {
  return ({ model, relation, path, owner }, parent) => {
    const knex = parent.knex() as Queryable
    return countSql(toCount(view, parent, { model, relation, path, knex }), owner)
  }
}

function toCount(
  view: GenericView,
  parent: AnyQueryBuilder,
  { model, relation, path, knex }: Omit<RelationCount, 'owners'>,
): Omit<ObjectsToCount, 'owners'> {
  const shown = relationAt(view.asked.filterSettings, [...path, relation])
  const rows = shown?.rows(view.ctx)
  return {
    model,
    relation,
    knex: knex ?? (model.knex() as Queryable),
    schema: () => schemaOf(parent),
    rows,
    visible: view.visibleRows,
    recipient: recipientOf(parent),
    areListed: shown !== undefined,
  }
}

/** The view sets that show the objects which a request has counted. */
export function countedRelations(view: GenericView): readonly FilterRelation[] {
  const { expandable } = view.plan.viewClass
  return [...(selectionOf(view)?.expand ?? [])].flatMap((name) => {
    const counted = expandable[name]
    if (!isRelatedCount(counted)) return []
    return relationAt(view.asked.filterSettings, [...name.split('.').slice(0, -1), counted.path]) ?? []
  })
}

/** What `filterRelations` declares at the end of a path of relations, each by the view set before it. */
function relationAt(settings: FilterSettings, path: readonly string[]): FilterRelation | undefined {
  const [name = '', ...rest] = path
  const relation = settings.relations?.get(name)
  return rest.length === 0 ? relation : relation && relationAt(relation.related, rest)
}
