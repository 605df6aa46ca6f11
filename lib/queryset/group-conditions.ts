/** Keeps the conditions of an application apart from those that are added to them. */

import type { Knex } from 'knex'
import { oncePer } from '../kernel/once-per.js'
import type { AnyQueryBuilder } from '../models/objection.js'
import { readsOwnRow } from './condition-key.js'
import { quietHooks } from './context-hooks.js'
import { saysOr } from './says-or.js'

/**
 * Puts the conditions of a query in parentheses where they need it, so that others may be added. `a or b` and
 * then `id = 5` would be read as `a or (b and id = 5)`, and let out what the application hides, wherever the OR stands: in
 * a method, in a piece of SQL, or in what a hook adds while the query is built.
 */
export function groupConditions<Query extends AnyQueryBuilder>(query: Query): Query {
  encloseContextHook(query, 'onBuild')
  encloseContextHook(query, 'runBefore')
  void query.onBuildKnex(group)
  return query
}

/** Adds conditions of ours, each of them whole: an OR that the application adds behind them reaches none of them. */
export function addApart(query: AnyQueryBuilder, add: () => unknown): void {
  settleAdded(query, 'apart', add, (built, before) => {
    for (const one of ungrouped(built)) {
      if (before.has(one)) continue
      grouped.add(one)
      added.add(one)
    }
    watchLater(built)
  })
}

/** Keeps the conditions that `add` adds to a query together: an OR among them reaches none that stands before them. */
export function encloseAdded(query: AnyQueryBuilder, add: () => unknown): void {
  settleAdded(query, 'enclosed', add, (built, before) => {
    const added = built._statements.filter((one) => one.grouping === 'where' && !before.has(one))
    if (added.some((one) => one.bool === 'or')) enclose(built, added)
  })
}

/** Has `settle` look at a query once it is built, beside the conditions that it had before `add` added others. */
function settleAdded(
  query: AnyQueryBuilder,
  kind: string,
  add: () => unknown,
  settle: (built: Conditioned, before: ReadonlySet<Condition>) => void,
): void {
  const settleBuilt = (built: Knex.QueryBuilder) => settle(built as Conditioned, begun(built))
  ours.set(settleBuilt, kind)
  void query.onBuildKnex(begin)
  add()
  void query.onBuildKnex(settleBuilt)
}

/**
 * Keeps the conditions by which a query is joined to the SQL around it apart from all others: an OR among those, such as in
 * a relation's own `modify`, would let in rows that belong to nobody.
 * @param references columns of the SQL around it, which the joining conditions compare with
 */
export function encloseBeside<Query extends AnyQueryBuilder>(query: Query, references: readonly string[]): Query {
  const outer = new Set(references)
  const isJoin = ({ value }: Condition) =>
    [(value as Compared | undefined)?.bindings].flat().some((name) => outer.has(name as string))
  const encloseOthers = (built: Conditioned) => {
    const others = ungrouped(built).filter((one) => !isJoin(one))
    if (others.some((one) => one.bool === 'or')) enclose(built, others)
  }
  // what hooks of the query's context add comes behind
  const encloseBuilt = (built: Knex.QueryBuilder) => beforeSql(built as Conditioned, encloseOthers)
  ours.set(encloseBuilt, undefined)
  return query.onBuildKnex(encloseBuilt)
}

/** SQL that a condition compares with. */
interface Compared {
  readonly bindings?: unknown
}

/** Conditions of a query, once it was built. */
export interface QueryConditions {
  /** They compare columns of the row itself with values, and read nothing else. */
  readOwnRow: boolean
}

/** Looks at the conditions that the query has so far, each time it is built. */
export function watchConditions(query: AnyQueryBuilder): QueryConditions {
  const conditions: QueryConditions = { readOwnRow: false }
  const watch = (knexQuery: Knex.QueryBuilder) => {
    conditions.readOwnRow = areOnOwnRow(knexQuery)
  }
  ours.set(watch, 'watch')
  void query.onBuildKnex(watch)
  return conditions
}

/** Hook of Objection, as far as it is read. */
interface Operation {
  readonly name: string
  readonly func?: unknown
}

/** True where the query has an operation of that name which is not one of ours. */
export function hasOwn(query: AnyQueryBuilder, names: RegExp): boolean {
  const isOwn = ({ name, func }: Operation) => names.test(name) && !ours.has(func as object)
  // Objection takes a function, too; it is not in its types
  return query.has(isOwn as never)
}

/** A condition as knex keeps it until the SQL is written; it is not in its types. */
interface Condition {
  readonly grouping: string
  readonly type: string
  readonly bool: 'and' | 'or'
  readonly column?: unknown
  readonly operator?: unknown
  readonly value?: unknown
}
type Conditioned = Knex.QueryBuilder & {
  _statements: Condition[]
  _method: string
  readonly client: { queryBuilder(): Knex.QueryBuilder }
}

/** Conditions that stand by themselves. */
const grouped = new WeakSet<Condition>()
/** Conditions of ours. */
const added = new WeakSet<Condition>()
/** A query that is being built. */
interface Building {
  /** The conditions that it was declared with. */
  declared?: readonly Condition[]
  /** Those that the application has added behind ours, and the parentheses in which they stand. */
  later?: { readonly conditions: readonly Condition[]; readonly group: Condition }
  /** Hooks that run before its SQL is written. */
  runs?: Set<BeforeSql>
  /** Kind of the statement, as knex names it. */
  method?: string
  /** Those that it had before others are added to them, which are kept together; the last come first to an end. */
  before?: ReadonlySet<Condition>[]
}

const building = oncePer((_query: object): Building => ({}))
/**
 * Hooks that change nothing an application would notice, or run its own within parentheses; by a word for what they do to the
 * conditions that stand before them, where that says all.
 */
const ours = new WeakMap<object, string | undefined>([
  [group, 'group'],
  [begin, 'before'],
])

/** What a hook does to the conditions that stand before it; undefined for one of an application, and where more must be known. */
export function hookKind(hook: object): string | undefined {
  return ours.get(hook)
}

/** Runs while the query is built, in its place among what adds to it: after all conditions that stand before it. */
function group(knexQuery: Knex.QueryBuilder): void {
  const query = knexQuery as Conditioned
  const own = building(query)
  watchLater(query)
  const conditions = ungrouped(query)
  const [first] = conditions
  if (!first) return
  own.declared ??= conditions
  const isFirst = query._statements.find(({ grouping }) => grouping === 'where') === first
  if (conditions.every((one) => isWhole(one) && (one.bool === 'and' || (isFirst && one === first)))) {
    for (const condition of conditions) grouped.add(condition)
    return
  }
  const enclosed = enclose(query, conditions)
  if (own.declared === conditions) own.declared = [enclosed]
}

const ungrouped = ({ _statements }: Conditioned) =>
  _statements.filter((statement) => statement.grouping === 'where' && !grouped.has(statement))

/** Looks once more when the SQL is written: at what is added behind, and nobody puts in parentheses any more. */
function watchLater(query: Conditioned): void {
  beforeSql(query, encloseLater)
}

function encloseLater(query: Conditioned): void {
  const added = ungrouped(query)
  if (!added.some(holdsOr)) return
  const own = building(query)
  const { later } = own
  const conditions = later ? [...later.conditions, ...added] : added
  if (later) query._statements = query._statements.filter((one) => one !== later.group)
  own.later = { conditions, group: enclose(query, conditions) }
}

function holdsOr({ bool, column, operator, value }: Condition): boolean {
  return bool === 'or' || [column, operator, value].flat().some((part) => isRaw(part) && saysOr(String(part.sql)))
}

/**
 * Runs each time before knex writes the SQL of a query: as a statement, as a part of another one, or of a copy. knex has no
 * hook for that, but asks first of all what kind of a statement it is.
 */
function beforeSql(query: Conditioned, run: BeforeSql): void {
  const own = building(query)
  if (own.runs) {
    own.runs.add(run)
    return
  }
  own.runs = new Set([run])
  own.method = query._method
  Object.defineProperties(query, WATCHED)
}

type BeforeSql = (query: Conditioned) => void

const WATCHED: PropertyDescriptorMap & ThisType<Conditioned> = {
  _method: {
    configurable: true,
    enumerable: true,
    get() {
      const { runs = [], method } = building(this)
      for (const run of runs) run(this)
      return method
    },
    set(method: string) {
      building(this).method = method
    },
  },
  clone: {
    configurable: true,
    writable: true,
    value: function clone(this: Conditioned) {
      const { runs = [], later } = building(this)
      const copy = (Object.getPrototypeOf(this) as Conditioned).clone.call(this) as Conditioned
      for (const run of runs) beforeSql(copy, run)
      if (later) building(copy).later = later
      return copy
    },
  },
}

/** Puts conditions in parentheses, in which they stand as they stood outside. */
function enclose(query: Conditioned, conditions: readonly Condition[]): Condition {
  const own = new Set(conditions)
  query._statements = query._statements.filter((statement) => !own.has(statement))
  void query.where((inner) => void (inner as Conditioned)._statements.push(...conditions))
  const group = query._statements.at(-1) as Condition
  grouped.add(group)
  return group
}

/** Conditions whose SQL no neighbour can be drawn into. */
const WHOLE = new Set(['whereBasic', 'whereIn', 'whereNull', 'whereBetween', 'whereExists', 'whereWrapped'])

function isWhole({ type, column, operator, value }: Condition): boolean {
  return WHOLE.has(type) && ![column, operator, value].flat().some(isRaw)
}

function isRaw(value: unknown): value is RawCondition {
  return (value as { isRawInstance?: boolean } | null | undefined)?.isRawInstance === true
}

/** Conditions that compare a column with values. */
const COMPARING = new Set(['whereBasic', 'whereIn', 'whereNull', 'whereBetween'])

function areOnOwnRow(knexQuery: Knex.QueryBuilder): boolean {
  const { _statements, client } = knexQuery as Conditioned
  return _statements.every((condition) => {
    const { grouping, type, value } = condition
    if (grouping !== 'where') return true
    if (type === 'whereRaw') return callsNothing(value) || (added.has(condition) && selectsNothing(value))
    if (type === 'whereWrapped' && typeof value === 'function') {
      const inner = client.queryBuilder()
      value.call(inner, inner)
      return areOnOwnRow(inner)
    }
    return COMPARING.has(type) && isWhole(condition) && [value].flat().every(isPlainValue)
  })
}

interface RawCondition {
  readonly sql?: unknown
  readonly bindings?: unknown
}

/** SQL without a parenthesis holds no query and calls no function that could read one. */
function callsNothing(value: unknown): boolean {
  const { sql, bindings } = value as RawCondition
  return typeof sql === 'string' && !sql.includes('(') && [bindings].flat().every(isPlainValue)
}

/** The functions that our SQL calls read no table. */
function selectsNothing(value: unknown): boolean {
  const { sql, bindings } = value as RawCondition
  return typeof sql === 'string' && readsOwnRow({ sql }) && [bindings].flat().every(isPlainValue)
}

/** A value that is bound: no query and no function that makes one. */
function isPlainValue(value: unknown): boolean {
  if (typeof value === 'function') return false
  return typeof value !== 'object' || value === null || !('toSQL' in value)
}

type Hook = (this: AnyQueryBuilder, ...args: unknown[]) => unknown

/**
 * Objection runs the hooks of a query's context first of all, and puts what they add behind all that is there: behind what
 * was added from outside. Their conditions belong to those that the query was declared with.
 */
function encloseContextHook(query: AnyQueryBuilder, name: 'onBuild' | 'runBefore'): void {
  const own = (query.context() as Record<string, unknown>)[name] as Hook | Hook[] | undefined
  if (own === undefined || ours.has(own) || quietHooks.has(own)) return
  const hooks = [own].flat(Number.POSITIVE_INFINITY) as Hook[]
  function onBuild(builder: AnyQueryBuilder): void {
    // the hooks run for the queries of relations, too
    const isRoot = builder.has(isGroup as never)
    if (isRoot) void builder.onBuildKnex(begin)
    for (const hook of hooks) hook.call(builder, builder)
    if (isRoot) void builder.onBuildKnex(end)
  }
  async function runBefore(before: unknown, builder: AnyQueryBuilder): Promise<unknown> {
    const isRoot = builder.has(isGroup as never)
    if (isRoot) void builder.onBuildKnex(begin)
    let result = before
    for (const hook of hooks) result = await hook.call(builder, result, builder)
    if (isRoot) void builder.onBuildKnex(end)
    return result
  }
  const enclosed = name === 'onBuild' ? onBuild : runBefore
  ours.set(enclosed, undefined)
  void query.context({ [name]: enclosed })
}

function isGroup({ func }: Operation): boolean {
  return func === group
}

function begin(knexQuery: Knex.QueryBuilder): void {
  const own = building(knexQuery)
  own.before ??= []
  own.before.push(new Set((knexQuery as Conditioned)._statements))
}

/** What it had at the beginning that comes to its end. */
function begun(knexQuery: Knex.QueryBuilder): ReadonlySet<Condition> {
  return building(knexQuery).before?.pop() ?? new Set()
}

function end(knexQuery: Knex.QueryBuilder): void {
  const query = knexQuery as Conditioned
  const { declared = [] } = building(knexQuery)
  const known = begun(knexQuery)
  const added = query._statements.filter((one) => one.grouping === 'where' && !known.has(one))
  const joined = added[0]?.bool === 'or' ? declared : []
  if (added.length > 0) enclose(query, [...joined, ...added])
}
