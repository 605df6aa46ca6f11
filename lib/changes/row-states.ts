/** States of rows before and after changes, as a table of SQL that can stand in the place of the rows' own. */

import type { KeyValues, ObjectKey } from '../fields/object-key.js'
import type { Queryable } from '../postgres/pg-types.js'
import { keyRows, PLACE } from '../queryset/key-rows.js'
import type { SqlPart } from '../queryset/sql-part.js'
import { tableIn } from './changes-table.js'
import { type FoundChange, nextState } from './select-changes.js'

/** A change of one object, as far as one must know it to tell who saw the object. */
export type HeardChange = Pick<FoundChange, 'id' | 'model' | 'key' | 'action' | 'was'>

/** A change, and what the columns of its object's key hold. */
export interface AskedChange<Change> {
  readonly change: Change
  readonly values: KeyValues
  /** That of the change, or an array of all that changes of the object may have. */
  readonly key: string
  /** `was` of the object's next change, as the login has read it: the role of the caller may not. */
  readonly later?: string | null
}

/** Tables and columns of row states. */
export interface StateTables {
  /** Of the key. */
  readonly columns: ObjectKey['columns']
  /** The table, with its schema. */
  readonly stored: string
  /** `was` of the next change of an object `w`. */
  readonly later: SqlPart
  /** Actions after which there is no row. */
  readonly ends: readonly string[]
  /** The only columns that are taken from what changes have kept; others are as they are now. @default all */
  readonly only: readonly string[] | undefined
}

/**
 * Each row with its `PLACE`: those before all changes, in the order of these, and then those after them. A state before a
 * change has the columns that the change has kept.
 */
export function rowStates(
  asked: readonly AskedChange<HeardChange>[],
  { columns, stored, later, ends, only }: StateTables,
): SqlPart {
  const keys = keyRows({
    columns,
    values: asked.map(({ values }) => values),
    table: 'v',
    names: columns.map((_, index) => `k${index}`),
  })
  const same = columns.map(() => 't.?? = ??').join(' and ')
  const cells = (cell: keyof HeardChange) => asked.map(({ change }) => change[cell])
  const state = only
    ? '(select json_object_agg(c.key, c.value) from json_each(side.state::json) as c where c.key = any(?::text[]))'
    : 'side.state::json'
  return {
    sql: `select r.*, w.place + side.offset as ${PLACE} from ${keys.sql}
      join unnest(?::bigint[], ?::text[], ?::text[], ?::text[], ?::boolean[]) with ordinality
        as w(id, model, key, was, gone, place) on w.place = ??
      left join ?? as t on ${same}
      left join lateral ${later.sql} as later on true
      cross join lateral (
        select 0 as offset, w.was as state where w.was is not null
        union all select ${asked.length}, coalesce(later.was, '{}')
        where not w.gone and (later.was is not null or t.?? is not null)
      ) as side
      cross join lateral json_populate_record(t.*, ${state}) as r`,
    bindings: [
      ...keys.bindings,
      cells('id'),
      cells('model'),
      asked.map(({ key }) => key),
      cells('was'),
      asked.map(({ change }) => ends.includes(change.action)),
      `v.${PLACE}`,
      stored,
      ...columns.flatMap(({ column }, index) => [column, `v.k${index}`]),
      ...later.bindings,
      columns[0]?.column,
      ...(only ? [only] : []),
    ],
  }
}

/** `was` of the next change, by the same statement: nothing changes between the two. */
export function laterState(knex: Queryable, isListed: boolean): SqlPart {
  return {
    sql: `(${nextState(tableIn(knex), isListed)})`,
    bindings: [],
  }
}

/** The same as the login has read it. */
export function givenStates(asked: readonly AskedChange<unknown>[]): SqlPart {
  return { sql: '(select (?::text[])[w.place] as was)', bindings: [asked.map(({ later = null }) => later)] }
}

/** A state of a row that a caller sees. */
export interface SeenRow<Change> {
  /** Which of the callers that were asked for sees it. */
  readonly own: number
  readonly change: Change
  readonly isAfter: boolean
}

/** The states before all changes stand before those after them. */
export function stateAt<Change>(
  asked: readonly AskedChange<Change>[],
  place: unknown,
  own: unknown = 0,
): SeenRow<Change> {
  const isAfter = Number(place) > asked.length
  return { own: Number(own), isAfter, change: changeAt(asked, Number(place) - (isAfter ? asked.length : 0)) }
}

/** The change at a place, which counts from 1. */
export function changeAt<Change>(asked: readonly AskedChange<Change>[], place: unknown): Change {
  return (asked[Number(place) - 1] as AskedChange<Change>).change
}
