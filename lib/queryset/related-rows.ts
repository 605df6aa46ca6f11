/**
 * Related rows of many objects, by one statement that joins them to the keys of these objects. PostgreSQL says which row
 * belongs to which object, by the place of the object's key: values that SQL calls equal may have several spellings.
 */

import type { Knex } from 'knex'
import type { Model } from 'objection'
import { getOrInsert } from '../kernel/maps.js'
import { describeModel } from '../models/describe-model.js'
import type { Column, RelationDescription } from '../models/model-description.js'
import { type AnyQueryBuilder, columnName, type ModelClass } from '../models/objection.js'
import type { Queryable } from '../postgres/pg-types.js'
import { beforeHooks } from './before-hooks.js'
import { encloseBeside } from './group-conditions.js'
import { areComparable, keyRows, PLACE, spelling, valuesOf } from './key-rows.js'
import { readExactly } from './read-exactly.js'
import type { SqlPart } from './sql-part.js'
import { isSeenRelated, leaveOutUnrelated, seenBy, type VisibleRows, visibleRowsOf } from './visible-rows.js'

/** The objects whose related rows are read. */
export interface Owners {
  readonly model: ModelClass
  readonly relation: RelationDescription
  readonly objects: readonly object[]
}

export interface RelatedReading {
  readonly knex: Queryable | undefined
  /** The query of the objects, whose schema and context hold for the related rows. */
  readonly parent?: AnyQueryBuilder | undefined
  /** Whose rows are read. @default those of whom the query of the objects is for */
  readonly visible?: VisibleRows | undefined
  /** Where it is given, rows that the caller does not see are read, too, and noted here. */
  readonly unseen?: Set<Model> | undefined
  /** Narrows and orders the query that reads the rows of all objects. */
  readonly narrow?: ((query: AnyQueryBuilder, keys: OwnerKeys) => unknown) | undefined
}

/** The keys of the objects that are there, each once. */
export interface OwnerKeys extends SqlPart {
  /** Their columns, as the query around calls them. */
  readonly references: readonly string[]
}

/** Names of no table and no column of the application's. */
const KEYS = 'koa_viewsets_keys'
const KEY = 'koa_viewsets_key'
/** As `PLACE`. */
const SEEN = 'koaviewsetsseen'

/** The related rows of each object, in the order of the objects; those of equal keys are the same instances. */
export async function relatedRows(owners: Owners, reading: RelatedReading): Promise<readonly Model[][]> {
  const { model, relation, objects } = owners
  const columns = comparedColumns(model, relation)
  const { rows, places } = distinctKeys(owners, columns)
  if (rows.length === 0) return objects.map(() => [])
  const found = await readRows(columns, rows, owners, reading)
  return places.map((place) => (place === undefined ? [] : (found[place] as Model[])))
}

/** Columns of the keys, as they are compared. */
export function comparedColumns(model: ModelClass, relation: RelationDescription): readonly (Column | undefined)[] {
  const joined = joinedColumns(relation)
  return relation.ownerProperties.map((property, index) => {
    const own = describeModel(model).columns.get(property)
    return areComparable(own, joined[index]) ? own : joined[index]
  })
}

/** The columns that keys are compared with: those of the related rows, but of a join table, which refers to the keys themselves. */
export function joinedColumns({
  model,
  relatedProperties,
  through,
}: RelationDescription): readonly (Column | undefined)[] {
  const { columns } = describeModel(model)
  return through ? [] : relatedProperties.map((property) => columns.get(property))
}

/** Keys without nulls. What is the same value is sent once; which others are equal PostgreSQL knows. */
function distinctKeys({ relation, objects }: Owners, columns: readonly (Column | undefined)[]) {
  const rows: (readonly unknown[])[] = []
  const known = new Map<string, number>()
  const places = objects.map((object) => {
    const values = valuesOf(object, relation.ownerProperties, columns)
    if (values.some((value) => value === null)) return undefined
    const text = spelling(values, columns)
    return getOrInsert(known, text, () => rows.push(values) - 1)
  })
  return { rows, places }
}

async function readRows(
  columns: readonly (Column | undefined)[],
  values: readonly (readonly unknown[])[],
  { model, relation }: Owners,
  { knex, parent, narrow, unseen, visible = visibleRowsOf(parent) }: RelatedReading,
): Promise<Model[][]> {
  const names = columns.map((_, index) => `${KEY}${index}`)
  const references = names.map((name) => `${KEYS}.${name}`)
  const typed = () => ofNobody(model, relation, parent)
  const keys = { references, ...keyRows({ columns, values, table: KEYS, names, typed }) }
  const query = relatedTo(model, relation, references)
  if (parent) void query.childQueryOf(parent, { fork: true })
  // what narrows it asks for them, too
  void seenBy(query, visible)
  if (knex) void query.transacting(knex as Knex.Transaction)
  void query.joinRaw(`cross join ${keys.sql}`, keys.bindings)
  const isSeen = unseen && isSeenRelated(query, visible, { owner: model, relation })
  if (!unseen) leaveOutUnrelated(query, visible, { owner: model, relation })
  narrow?.(query, keys)
  const read = placed(query, isSeen)
  const left = leftByHooks(await readExactly(query), read.rows)
  const found = values.map((): Model[] => [])
  for (const [index, row] of read.rows.entries()) {
    if (!left(row)) continue
    found[read.places[index] as number]?.push(row)
    if (read.seen[index] === false) unseen?.add(row)
  }
  return found
}

/** Tells of a row whether hooks have left it among what was found; of rows in the place of those that were read nobody knows. */
function leftByHooks(found: unknown, rows: readonly Model[]): (row: Model) => boolean {
  if (!Array.isArray(found) || found.length >= rows.length) return () => true
  const left = new Set<unknown>(found)
  const read = new Set<unknown>(rows)
  return found.every((row) => read.has(row)) ? (row) => left.has(row) : () => true
}

/** No row of the objects' table: their keys, and a place. */
function ofNobody(model: ModelClass, { ownerProperties }: RelationDescription, parent: AnyQueryBuilder | undefined) {
  const query = model.query() as AnyQueryBuilder & Related
  if (parent) void query.childQueryOf(parent, { fork: true })
  const table = query.tableRefFor(model)
  const columns = ownerProperties.map((property) => `${table}.${columnName(model, property)}`)
  return query.select([...columns, model.raw('0')]).whereRaw('false')
}

/** A query of the rows that belong to columns of the SQL around it. */
export function relatedTo(
  model: ModelClass,
  relation: Pick<RelationDescription, 'name'>,
  references: readonly string[],
): AnyQueryBuilder & Related {
  const query = model.relatedQuery(relation.name) as unknown as AnyQueryBuilder & Related
  void query.for(references.map((name) => model.ref(name)))
  return encloseBeside(query, references)
}

/** Objection's own ways to name the owners of related objects, which its types do not have. */
interface Related {
  for(owners: readonly unknown[]): this
  childQueryOf(query: AnyQueryBuilder, options: { fork: boolean }): this
}

/** The rows of a query, and the place of the key that each belongs to. */
interface Placed {
  /** As they were read, whatever hooks have made of the list. */
  rows: readonly Model[]
  places: readonly number[]
  /** For each row whether the caller sees it, where that is asked. */
  seen: readonly boolean[]
}

/** Has a query select the places, and whether rows are seen, which neither models nor their hooks see. */
function placed(query: AnyQueryBuilder, isSeen: SqlPart | undefined): Placed {
  const read: Placed = { rows: [], places: [], seen: [] }
  const reference = `${KEYS}.${PLACE}`
  void query
    .onBuild((built) => {
      // before the place, which is to be the last property: V8 then keeps the shape of the rows without it
      if (!built.hasSelects()) void built.select(`${built.tableRefFor(built.modelClass())}.*`)
    })
    .onBuildKnex((built: Knex.QueryBuilder, builder: AnyQueryBuilder) => {
      const { client, _statements } = built as Building
      const isGrouped = _statements.some(({ grouping }) => grouping === 'group')
      void built.select(reference)
      if (isGrouped) void built.groupBy(reference)
      if (isSeen) {
        const sql = `${isGrouped ? 'bool_or' : ''}(${isSeen.sql}) as ??`
        void built.select(client.raw(sql, [...isSeen.bindings, SEEN]))
      }
      void built.on('query-response', (rows: unknown) => {
        if (!Array.isArray(rows)) return
        // Objection makes instances in this very list
        beforeHooks(builder, () => {
          read.rows = [...(rows as Model[])]
        })
        read.places = (rows as Record<string, unknown>[]).map((row) => {
          const place = Number(row[PLACE])
          delete row[PLACE]
          return place - 1
        })
        if (isSeen) read.seen = (rows as Record<string, unknown>[]).map(({ [SEEN]: seen }) => seen === true)
        if (isSeen) for (const row of rows as Record<string, unknown>[]) delete row[SEEN]
      })
    })
  return read
}

/** Knex's own builder, as far as we look at it. */
type Building = Knex.QueryBuilder & {
  readonly _statements: readonly { readonly grouping: string }[]
  readonly client: { raw(sql: string, bindings: readonly unknown[]): Knex.Raw }
}
