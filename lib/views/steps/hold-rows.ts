/**
 * Holds the rows that a request is about to write: those that its caller sees, and still sees when nobody else can change
 * them any more.
 *
 * PostgreSQL looks once more at a row that it has waited for, and at that row only: what a condition reads elsewhere, in a
 * subquery or a join, is as it was before the wait (PostgreSQL's manual, 13.2.1). So where the conditions read more than
 * the row itself, they are asked again once it is held; and where the row is not found, it is asked for once more.
 */

import type { Knex } from 'knex'
import type { Model } from 'objection'
import type { KeyValues, ObjectKey } from '../../fields/object-key.js'
import { PathStart } from '../../filters/field-path.js'
import { isDescribing } from '../../http/context.js'
import { describeModel } from '../../models/describe-model.js'
import type { Column } from '../../models/model-description.js'
import type { AnyQueryBuilder } from '../../models/objection.js'
import type { Queryable } from '../../postgres/pg-types.js'
import { type RawRow, readsRawRows } from '../../postgres/run-statement.js'
import { conditionKey, type KeyedCondition, readsOwnRow } from '../../queryset/condition-key.js'
import { hasContextHooks } from '../../queryset/context-hooks.js'
import { isShaped } from '../../queryset/count-rows.js'
import { hasOwn, watchConditions } from '../../queryset/group-conditions.js'
import { noteHeld } from '../../queryset/held-rows.js'
import { type HeldKey, holdOne, severalRows } from '../../queryset/one-row.js'
import { ownCondition } from '../../queryset/own-condition.js'
import { readExactly } from '../../queryset/read-exactly.js'
import { askedOf, askOnChange, type ToTell } from '../../queryset/row-answers.js'
import { type OrderTerm, orderByKey } from '../../queryset/total-order.js'
import { columnReferences, isOneOf } from '../../queryset/where-keys.js'
import { allowsRows } from '../../serializers/check-written.js'
import { type GenericView, knexOf } from '../generic-view.js'
import { confirmParentsAgain } from '../request/parents.js'
import { runRows, tableQuery, versionRow } from './concurrency.js'
import { visibleQuery } from './visible-query.js'

/** The rows to hold: by one key, or by several. */
export interface WantedRows {
  readonly key: Pick<ObjectKey, 'columns' | 'unique'>
  readonly keys: readonly KeyValues[]
  /** Columns to read of a row that is held, as strings. @default none */
  readonly terms?: readonly OrderTerm[]
}

export interface HeldRows {
  /** As the view's queryset reads them. */
  readonly objects: readonly Model[]
  /** How many rows are held, whether they are still to be seen or not. */
  readonly count: number
  /** The strings of the terms, of the first row. */
  readonly texts: RawRow | undefined
  /** Rows may be missing that changed while they were waited for: what leads to other rows was looked up as it was before. */
  readonly mayMiss?: boolean
}

export const NONE: HeldRows = { objects: [], count: 0, texts: undefined }
const MISSED: HeldRows = { ...NONE, mayMiss: true }

/**
 * Holds rows until the request's transaction ends, in the order of their keys: two requests cannot wait for each other. A
 * row that stays can still be referred to.
 */
export async function holdRows(view: GenericView, wanted: WantedRows): Promise<HeldRows> {
  const held = await holdFound(view, wanted)
  return held.mayMiss && !isDescribing(view.ctx) ? holdFound(view, wanted) : held
}

async function holdFound(view: GenericView, wanted: WantedRows): Promise<HeldRows> {
  const { model, columns, secured, isView } = view.plan.resource.model
  const { writing } = view.plan
  const knex = knexOf(view)
  const own = writing.holding.way === 'statement' ? undefined : visibleQuery(view)
  const condition = own && wanted.keys.length === 1 ? conditionOf(view, own) : undefined
  const only = oneOfAll(view, wanted, { condition, knex })
  if (only) {
    const { visibleRows } = view
    const write = writing.does
    const row = await holdOne(model, wanted.key.columns, {
      values: wanted.keys[0] as KeyValues,
      terms: (wanted.terms ?? []).map(({ property }) => columns.get(property) as Column),
      where: only.where,
      asked: visibleRows ? askedOf(view.plan.resource.model, [visibleRows.allowed(model, write)], false) : [],
      lock: removes(view) ? 'update' : 'no key update',
      knex,
    })
    if (!row) return only.readsOwnRow && !secured ? NONE : MISSED
    const isSeen = only.readsOwnRow || (await allowsRows({ view }, [row.object], 'read', knex, [write]))
    const objects = isSeen ? [row.object] : []
    noteHeld(objects, knex)
    askOnChange(row.object, toTell(view, condition))
    if (isSeen && view.plan.parents.length > 0) await confirmParentsAgain(view)
    return { objects, count: 1, texts: row.texts }
  }
  const query = own ?? visibleQuery(view)
  const conditions = watchConditions(query)
  narrow(query, columnReferences(query, wanted.key.columns), wanted)
  if (!wanted.terms?.length && isLockable(query)) {
    const objects = await readAll(lock(view, orderByKey(query.clone().clearOrder())))
    const isSettled = conditions.readOwnRow && !secured && !isView
    if (objects.length === 0) return isSettled ? NONE : MISSED
    if (areMore(objects, wanted)) throw severalRows(model)
    return {
      objects: await settle(view, wanted, isSettled ? objects : readAll(query)),
      count: objects.length,
      texts: undefined,
      mayMiss: !isSettled && objects.length < wanted.keys.length,
    }
  }
  const rows = await holdKeys(view, wanted)
  if (rows.length === 0) return NONE
  if (areMore(rows, wanted)) throw severalRows(model)
  const texts = wanted.terms?.length ? rows[0] : undefined
  return { objects: await settle(view, wanted, readAll(query)), count: rows.length, texts }
}

/** True where several rows have one key. */
function areMore({ length }: readonly unknown[], { key, keys }: WantedRows): boolean {
  return key.unique && length > keys.length
}

/** One row of the whole table, as far as rules, a soft delete, or the path narrow it. */
interface OneOfAll extends Pick<HeldKey, 'where'> {
  /** What narrows it is about columns of the row; else the rules are to be asked of it again. */
  readonly readsOwnRow: boolean
}

/** Undefined for other rows. */
function oneOfAll(view: GenericView, { keys }: WantedRows, { condition, knex }: Narrowed): OneOfAll | undefined {
  const { writing, resource } = view.plan
  if (keys.length !== 1 || !readsRawRows(knex)) return undefined
  if (condition) return { where: condition, readsOwnRow: true }
  if (writing.holding.way !== 'statement') return undefined
  const where = view.scope()?.(new PathStart(resource.model.model.tableName))
  if (!where) return { where: undefined, readsOwnRow: true }
  const own = conditionKey([where])
  const isOwn = readsOwnRow(where)
  if (!own || !(isOwn || view.plan.parents.length === 0)) return undefined
  return { where: { key: own, ...where }, readsOwnRow: isOwn }
}

interface Narrowed {
  /** That of the view's own queryset. */
  readonly condition: KeyedCondition | undefined
  readonly knex: Queryable
}

/** The condition of the view's own queryset, where a statement of ours can hold its rows by it. */
export function conditionOf(view: GenericView, query?: AnyQueryBuilder): KeyedCondition | undefined {
  return view.plan.writing.holding.way === 'condition'
    ? ownCondition(query ?? visibleQuery(view), knexOf(view))
    : undefined
}

/**
 * What the UPDATE of a held object can tell, in place of statements that ask for it then.
 * @param condition that of the view's own queryset
 */
export function toTell(view: GenericView, condition: KeyedCondition | undefined): ToTell {
  const { writing, resource, keepsQueryset, parents } = view.plan
  const { versionTerms, model, overrides } = resource
  if (writing.telling.way !== 'update' || (versionTerms.length === 0 && !condition)) return UNTOLD
  // who leaves out the path may have rows leave it
  const isKept = keepsQueryset && !(overrides.has('getQueryset') && parents.length > 0)
  const terms = versionTerms.map(({ property }) => model.columns.get(property) as Column)
  return { terms, condition: isKept ? condition : undefined }
}

const UNTOLD: ToTell = { terms: [], condition: undefined }

/** The objects that the rows are, unless the objects before them on the path are not there any more. @throws NotFound */
async function settle(
  view: GenericView,
  { key }: WantedRows,
  found: readonly Model[] | Promise<Model[]>,
): Promise<readonly Model[]> {
  const objects = await found
  // another row may have taken a name that is not unique
  if (key.unique) noteHeld(objects, knexOf(view))
  const [object, ...others] = objects
  if (object && others.length === 0) askOnChange(object, toTell(view, undefined))
  if (objects.length > 0) await confirmParentsAgain(view)
  return objects
}

/** A locking read of the table itself: PostgreSQL cannot lock what a query makes of its rows. */
async function holdKeys(view: GenericView, wanted: WantedRows): Promise<RawRow[]> {
  const { key, terms = [] } = wanted
  const rows = tableQuery(view, terms, key.columns[0] as Column)
  const names = key.columns.map(({ column }) => column)
  narrow(rows, names, wanted)
  if (!view.plan.resource.isWholeTable || view.scope()) {
    const visible = visibleQuery(view)
    const references = columnReferences(visible, key.columns)
    narrow(visible, references, wanted)
    // DISTINCT ON chooses by the order
    const unordered = visible.has('distinctOn') ? visible : visible.clearOrder()
    void rows.whereIn(
      (names.length === 1 ? names[0] : names) as string,
      unordered
        .clearSelect()
        .clear(/^eager/)
        .select(references)
        .toKnexQuery() as never,
    )
  }
  const { columns, primaryKey } = describeModel(view.plan.viewClass.modelClass())
  for (const property of primaryKey) void rows.orderBy(columns.get(property)?.column ?? property)
  return runRows(view, lock(view, rows))
}

/** Holds a row that the caller has been shown, by its primary key. @returns the strings of its version; undefined when it is gone */
export async function holdRow(
  view: GenericView,
  key: readonly Column[],
  values: readonly unknown[],
): Promise<RawRow | undefined> {
  return (await runRows(view, lock(view, versionRow(view, key, values))))[0]
}

function narrow(
  query: AnyQueryBuilder | Knex.QueryBuilder,
  references: readonly string[],
  { key, keys }: WantedRows,
): void {
  const narrowed = query as Knex.QueryBuilder
  if (keys.length > 1) {
    const { sql, bindings } = isOneOf(key.columns, references, keys)
    void narrowed.whereRaw(sql, bindings as never)
  } else
    for (const [index, reference] of references.entries()) void narrowed.where(reference, keys[0]?.[index] as string)
}

/** True for a query whose rows PostgreSQL can lock as they are. */
function isLockable(query: AnyQueryBuilder): boolean {
  return !query.hasSelects() && !isShaped(query) && !hasOwn(query, SHAPING) && !hasContextHooks(query)
}

/** What may add tables to a query, or make something else of its rows. */
const SHAPING = /join|^(from|fromRaw|table|into|onBuild|onBuildKnex|runBefore|for\w*)$/i

/** An action of the application's own is taken by its method. */
function removes({ plan, ctx }: GenericView): boolean {
  return plan.writing.removes ?? ctx.method === 'DELETE'
}

type Lockable = Pick<AnyQueryBuilder, 'forUpdate' | 'forNoKeyUpdate'>

/** A row that stays is locked as an update of it does, which leaves it free to be referred to (promise I6). */
function lock<Query extends Lockable | Knex.QueryBuilder>(view: GenericView, query: Query): Query {
  const lockable = query as Lockable
  void (removes(view) ? lockable.forUpdate() : lockable.forNoKeyUpdate())
  return query
}

async function readAll(query: AnyQueryBuilder): Promise<Model[]> {
  return (await readExactly(query)) as Model[]
}
