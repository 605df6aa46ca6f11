/** Narrows a query to the rows beyond a position, each range of them read from its own place in the index. */
import type { ModelDescription } from '../models/model-description.js'
import type { AnyQueryBuilder } from '../models/objection.js'
import { joinSql, type SqlPart } from './sql-part.js'
import { type OrderTerm, orderBy, rowKey } from './total-order.js'

export interface BeyondOptions {
  /** The rows beyond the position, from `rangesBeyond`. */
  readonly ranges: readonly SqlPart[]
  readonly model: ModelDescription
  readonly order: readonly OrderTerm[]
  readonly backwards?: boolean
  readonly limit: number
}

/**
 * Adds the condition. One range is a condition like any other. Of several, an OR would make PostgreSQL read the list from
 * its start, so the keys of one page are looked up first, in one range after the other until there are enough: a range may
 * hold nothing that a filter shows, and would be read to its end.
 */
export function whereBeyond(query: AnyQueryBuilder, options: BeyondOptions): void {
  const { ranges, model, order, backwards, limit } = options
  const [only] = ranges
  const key = rowKey(model, order)
  if (!only) {
    void query.whereRaw('false')
  } else if (ranges.length === 1) {
    void query.whereRaw(only.sql, only.bindings)
  } else if (!key) {
    const { sql, bindings } = anyOf(ranges)
    void query.whereRaw(sql, bindings)
  } else {
    const table = query.tableRefFor(query.modelClass())
    const references = key.map((name) => `${table}.${model.columns.get(name)?.column ?? name}`)
    const ordered = order.map(({ property }) => `${table}.${model.columns.get(property)?.column ?? property}`)
    const names = ranges.map((_, index) => `koa_viewsets_range_${index + 1}`)
    const pages = ranges.map(({ sql, bindings }, index) => {
      const before = names.slice(0, index)
      const keys = query
        .clone()
        .clear(/^(orderBy|select|column|eager|distinct$)/)
        .select(references)
        .whereRaw(sql, bindings)
      if (before.length > 0) {
        const found = before.map(() => '(select count(*) from ??)').join(' + ')
        void keys.whereRaw(`${found} < ?`, [...before, limit])
      }
      // DISTINCT can be ordered by what it selects only
      if (query.has('distinct')) void keys.groupBy([...new Set([...references, ...ordered])])
      return orderBy(keys, model, order, backwards).limit(limit)
    })
    const list = references.map(() => '??').join(', ')
    const found = pages.map(() => '?? as materialized ?').join(', ')
    const union = names.map(() => 'select * from ??').join(' union all ')
    const unnamed = references.filter((_, index) => model.columns.get(key[index] ?? '')?.holdsNull)
    // a list is looked up in an index, beside another condition, too
    const named = unnamed.length > 0 && key.length === 1 ? ['?? = any(array(', '))'] : [`(${list}) in (`, ')']
    const bindings = [...references, ...pages.flatMap((page, index) => [names[index], page]), ...names]
    const isNamed = `${named[0]}with ${found} ${union}${named[1]}`
    if (unnamed.length === 0) {
      void query.whereRaw(isNamed, bindings)
      return
    }
    // no key finds a row without one
    const rest = anyOf(ranges)
    const isUnnamed = `(${unnamed.map(() => '?? is null').join(' or ')}) and ${rest.sql}`
    void query.whereRaw(`(${isNamed} or ${isUnnamed})`, [...bindings, ...unnamed, ...rest.bindings] as never)
  }
}

function anyOf(ranges: readonly SqlPart[]): SqlPart {
  const { sql, bindings } = joinSql(ranges, ') or (')
  return { sql: `((${sql}))`, bindings }
}
