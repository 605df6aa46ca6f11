/** Writes and removes the rows of join tables. */

import type { Model } from 'objection'
import { PermissionDenied } from '../kernel/errors.js'
import { groupBy } from '../kernel/maps.js'
import { describeModel } from '../models/describe-model.js'
import { exactAt } from '../models/exact-types.js'
import type { Column, JoinTable, RelationDescription } from '../models/model-description.js'
import { traitsOf } from '../models/model-traits.js'
import { type AnyQueryBuilder, columnName, type ModelClass, modelOf } from '../models/objection.js'
import type { Queryable } from '../postgres/pg-types.js'
import { groupConditions } from '../queryset/group-conditions.js'
import { keyRows } from '../queryset/key-rows.js'
import { ownRows } from '../queryset/own-row.js'
import { type RowWrite, visibleRowsIn } from '../queryset/visible-rows.js'
import { whereRows } from '../queryset/where-keys.js'
import { allAtOnce } from './all-at-once.js'
import { allowsNamed } from './check-written.js'
import type { AnySerializer } from './contract.js'
import { type Path, prefixErrors } from './prefix-errors.js'
import { parts, serializerKnex } from './write-rows.js'

type Row = Model & Record<string, unknown>

/** The columns of a link, as far as parts of lists are counted by them: two keys of three columns (promise R3). */
const MOST_COLUMNS = 6

/** A row, and the key of another that it is to be related to. */
export interface KeyLink {
  readonly owner: Model
  /** The values of the related properties. */
  readonly key: readonly unknown[]
  /** Where it stands in the input. */
  readonly path: Path
}

/** Relates rows to others, by one statement. */
export async function relate(
  serializer: AnySerializer,
  relation: RelationDescription,
  links: readonly KeyLink[],
): Promise<void> {
  const knex = serializerKnex(serializer)
  const { through } = relation
  if (through?.isPlain) {
    const write = (part: readonly KeyLink[], trx: Queryable) => insertLinks(through, relation, part, trx)
    if (links.length > 0) await allAtOnce({ items: links, knex, write, view: serializer.context.view })
  } else {
    for (const [owner, own] of groupBy(links, (link) => link.owner)) {
      await prefixErrors(own[0]?.path ?? [], async () => {
        for (const part of parts(own, MOST_COLUMNS)) {
          const keys = part.map(({ key }) => (key.length === 1 ? key[0] : key))
          await relatedQuery(relation, knex, owner).relate(keys)
        }
      })
    }
  }
  await checkLinks(serializer, relation, links, 'create')
}

async function insertLinks(
  through: JoinTable,
  relation: RelationDescription,
  links: readonly KeyLink[],
  knex: Queryable,
): Promise<void> {
  const { model, ownerProperties, relatedProperties } = through
  const rows = linkRows(through, relation, links)
  if (rows) {
    const { properties, names, listed, table, bindings } = rows
    const given = names.filter((_, index) => !isComputed(model, properties[index] as string))
    // two keys of several columns may share some, which are the owner's then
    const once = [...new Set(given)]
    const taken = once.map((name) => listed[names.indexOf(name)])
    const key = conflictKey(through)
    const unless = key ? ` on conflict (${marksOf(key)}) do nothing` : ''
    const sql = `insert into ?? (${marksOf(once)}) select ${marksOf(once)} from ${table}${unless}`
    await knex.raw(sql, [model.tableName, ...once, ...taken, ...bindings, ...(key ?? [])] as never)
    return
  }
  const objects = links.map(({ owner, key }) => {
    const own = ownerProperties.map((property, index) => {
      const from = relation.ownerProperties[index] as string
      return [property, exactAt(owner, from)] as const
    })
    const other = relatedProperties.map((property, index) => [property, key[index]] as const)
    const given = [...other, ...own].filter(([property]) => !isComputed(model, property))
    return model.fromJson(Object.fromEntries(given))
  })
  const key = traitsOf(model).quietInserts ? conflictKey(through) : undefined
  for (const part of parts(objects, MOST_COLUMNS)) {
    const insert = model.query(knex).insert(part)
    await (key ? insert.onConflict([...key]).ignore() : insert)
  }
}

/**
 * The columns of a link, where a unique key of the join table is of just these: a link that there is, as another request, a
 * trigger or the object's own `create()` has made it, is the one that is asked for. Not under row level security, which asks of
 * what ON CONFLICT names whether the caller reads it.
 */
function conflictKey({ model, ownerProperties, relatedProperties }: JoinTable): readonly string[] | undefined {
  const { arbiters, secured } = describeModel(model)
  const own = new Set([...ownerProperties, ...relatedProperties])
  const isKey = arbiters.some((key) => key.length === own.size && key.every((property) => own.has(property)))
  return isKey && !secured ? [...own].map((property) => columnName(model, property)) : undefined
}

/** Links as a table of SQL; undefined where rows of the join table are objects of a class, or their types are not known. */
function linkRows(through: JoinTable, relation: RelationDescription, links: readonly KeyLink[]) {
  if (!through.isBare) return undefined
  const owner = modelOf((links[0] as KeyLink).owner)
  const { ownerProperties, relatedProperties } = relation
  const columns = [...columnsOf(owner, ownerProperties), ...columnsOf(relation.model, relatedProperties)]
  if (columns.some((column) => column?.sqlType === undefined)) return undefined
  const names = linkNames(through)
  const values = linkValues(relation, links)
  const listed = names.map((_, index) => `c${index}`)
  const { sql: table, bindings } = keyRows({ columns, values, table: 'v', names: listed })
  const properties = [...through.ownerProperties, ...through.relatedProperties]
  return { properties, names, listed, table, bindings }
}

/** True for a column of a join table that the database fills in by itself, and nobody else may. */
function isComputed(model: ModelClass, property: string): boolean {
  return describeModel(model).columns.get(property)?.isComputed === true
}

/** The columns of a join table that lead to the two rows of a link. */
function linkNames({ model, ownerProperties, relatedProperties }: JoinTable): readonly string[] {
  return [...ownerProperties, ...relatedProperties].map((name) => columnName(model, name))
}

/** What these columns hold of each link. */
function linkValues({ ownerProperties }: RelationDescription, links: readonly KeyLink[]): readonly unknown[][] {
  return links.map(({ owner, key }) => [...ownerProperties.map((name) => exactAt(owner, name)), ...key])
}

function marksOf(names: readonly unknown[]): string {
  return names.map(() => '??').join(', ')
}

function columnsOf(model: ModelClass, properties: readonly string[]): readonly (Column | undefined)[] {
  const { columns } = describeModel(model)
  return properties.map((name) => columns.get(name))
}

/** Removes links, where rules and policies let the caller. @throws PermissionDenied */
export async function unlink(
  serializer: AnySerializer,
  relation: RelationDescription,
  links: readonly KeyLink[],
): Promise<void> {
  if (links.length === 0) return
  const knex = serializerKnex(serializer)
  await checkLinks(serializer, relation, links, 'delete')
  await unrelate(relation, links, knex)
  await checkUnrelated(relation, links, knex)
}

/** Refuses links whose rows in the join table the caller may not make or delete. @throws PermissionDenied */
async function checkLinks(
  serializer: AnySerializer,
  relation: RelationDescription,
  links: readonly KeyLink[],
  write: RowWrite,
): Promise<void> {
  const { through } = relation
  if (!through || !visibleRowsIn(serializer.context)?.allowed(through.model, write)) return
  const { model } = through
  const columns = [...through.ownerProperties, ...through.relatedProperties].map((property) => {
    const column = columnName(model, property)
    return describeModel(model).columns.get(property) ?? ({ property, column } as Column)
  })
  const rows = { model, columns, keys: linkValues(relation, links) }
  if (!(await allowsNamed(serializer.context, rows, write, serializerKnex(serializer)))) throw new PermissionDenied()
}

/** A policy may keep links from being deleted. @throws PermissionDenied the caller still sees one of them */
async function checkUnrelated(
  relation: RelationDescription,
  links: readonly KeyLink[],
  knex: Queryable,
): Promise<void> {
  const { model } = relation.through ?? {}
  if (!model || !describeModel(model).secured) return
  const rowsOf = (part: readonly KeyLink[]) => {
    if (!relation.narrowed) return whereLinks(ownRows(model, knex), relation, part)
    return knowsItsRows(relation)
      ? whereShown(ownRows(model, knex), relation, part, knex)
      : shownBy(relation, part, knex)
  }
  for (const part of relation.narrowed ? partsOfOwners(links) : parts(links, MOST_COLUMNS))
    if ((await rowsOf(part).resultSize()) > 0) throw new PermissionDenied()
}

/** Narrows a query of the join table to these links. */
function whereLinks<Query extends AnyQueryBuilder>(
  query: Query,
  relation: RelationDescription,
  links: readonly KeyLink[],
): Query {
  return query.whereInComposite([...linkNames(relation.through as JoinTable)], linkValues(relation, links) as never)
}

async function unrelate(relation: RelationDescription, links: readonly KeyLink[], knex: Queryable): Promise<void> {
  const { through } = relation
  if (through?.isPlain && !relation.narrowed) {
    const { model } = through
    const rows = linkRows(through, relation, links)
    if (rows) {
      const sql = `delete from ?? where (${marksOf(rows.names)}) in (select ${marksOf(rows.listed)} from ${rows.table})`
      await knex.raw(sql, [model.tableName, ...rows.names, ...rows.listed, ...rows.bindings] as never)
      return
    }
    for (const part of parts(links, MOST_COLUMNS))
      await whereLinks(model.query(knex).delete() as AnyQueryBuilder, relation, part)
    return
  }
  for (const part of partsOfOwners(links)) {
    if (!through || !knowsItsRows(relation)) await shownBy(relation, part, knex).unrelate()
    else await whereShown(through.model.query(knex).delete() as AnyQueryBuilder, relation, part, knex)
  }
}

/** Narrows a query of the join table to these links of one owner, as far as the relation shows them. */
function whereShown<Query extends AnyQueryBuilder>(
  query: Query,
  relation: RelationDescription,
  links: readonly KeyLink[],
  knex: Queryable,
): Query {
  const names = ['tableoid', 'ctid'].map((name) => `${(relation.through as JoinTable).model.tableName}.${name}`)
  // an OR of the mapping reaches no other links
  return whereLinks(query, relation, links).whereIn(names, shownBy(relation, links, knex).select(names))
}

/** Links of one owner each. */
function partsOfOwners(links: readonly KeyLink[]): readonly (readonly KeyLink[])[] {
  return [...groupBy(links, (link) => link.owner).values()].flatMap((own) => [...parts(own, MOST_COLUMNS)])
}

/** The rows that a relation shows an owner, as far as its links lead to them. */
function shownBy(relation: RelationDescription, links: readonly KeyLink[], knex: Queryable) {
  const { model, relatedProperties } = relation
  const names = relatedProperties.map((property) => `${model.tableName}.${columnName(model, property)}`)
  const query = groupConditions(relatedQuery(relation, knex, (links[0] as KeyLink).owner) as AnyQueryBuilder)
  return query.whereInComposite(names, links.map(({ key }) => key) as never)
}

/**
 * Where a relation is narrowed by columns of its join table, two rows may have other links that it does not show: Objection
 * would remove them, too. A query of the join table of its own, and a view, do not tell which rows they are of.
 */
function knowsItsRows({ narrowed, through }: RelationDescription): boolean {
  return narrowed && through !== undefined && !through.narrowed && !describeModel(through.model).isView
}

/**
 * A query of what rows are related to. PostgreSQL reads the rows' keys itself where a Date lacks their microseconds, and
 * where the columns of the two have different types: the text of a `char(4)` is that of no `varchar`.
 */
export function relatedQuery(relation: RelationDescription, knex: Queryable, rows: Model | readonly Model[]) {
  const owners = [rows].flat() as readonly Model[]
  const model = modelOf(owners[0] as Model)
  const { name, ownerProperties, through } = relation
  const [target, properties] = through
    ? [through.model, through.ownerProperties]
    : [relation.model, relation.relatedProperties]
  const others = columnsOf(target, properties)
  const isExact = !owners.some((row) =>
    ownerProperties.some((property) => exactAt(row, property) !== (row as Row)[property]),
  )
  const isOfOneType = columnsOf(model, ownerProperties).every((column, index) => {
    const [own, other] = [column?.sqlType, others[index]?.sqlType]
    return own === other || own === undefined || other === undefined
  })
  const named = isExact && isOfOneType ? rows : whereRows(ownRows(model, knex), owners)
  return model.relatedQuery(name, knex).for(named as never)
}
