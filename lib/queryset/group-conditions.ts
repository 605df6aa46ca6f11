/** Keeps the conditions of an application apart from those that are added to them. */
import type { Knex } from 'knex'
import type { AnyQueryBuilder } from '../models/objection.js'

/**
 * The same query, to which conditions may be added: those it has are put in parentheses where they need it. `a or b` and
 * then `id = 5` would be read as `a or (b and id = 5)`, and let out what the application hides, wherever the OR stands: in
 * a method, in a piece of SQL, or in what a hook adds while the query is built.
 */
export function groupConditions<Query extends AnyQueryBuilder>(query: Query): Query {
  moveContextHook(query, 'onBuild', (args) => args[0])
  moveContextHook(query, 'runBefore', (args) => args[1])
  void query.onBuildKnex(group)
  return query
}

/** What is known of the conditions of a query, once it was built. */
export interface Conditions {
  /** They compare columns of the row itself with values, and read nothing else. */
  readOwnRow: boolean
}

/** Looks at the conditions that the query has so far, each time it is built. */
export function watchConditions(query: AnyQueryBuilder): Conditions {
  const conditions: Conditions = { readOwnRow: false }
  const watch = (knexQuery: Knex.QueryBuilder) => {
    conditions.readOwnRow = readsOwnRow(knexQuery)
  }
  ours.add(watch)
  void query.onBuildKnex(watch)
  return conditions
}

/** What Objection keeps of a hook, as far as we look at it. */
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
interface Conditioned {
  _statements: Condition[]
  readonly client: { queryBuilder(): Knex.QueryBuilder }
}

/** Conditions that stand by themselves. */
const grouped = new WeakSet<Condition>()
/** Hooks that change nothing an application would notice. */
const ours = new WeakSet<object>([group])

/** Runs while the query is built, in its place among what adds to it: after all conditions that stand before it. */
function group(knexQuery: Knex.QueryBuilder): void {
  const query = knexQuery as unknown as Conditioned
  const conditions = query._statements.filter((statement) => statement.grouping === 'where' && !grouped.has(statement))
  const [first] = conditions
  if (!first) return
  const isFirst = query._statements.find(({ grouping }) => grouping === 'where') === first
  if (conditions.every((one) => isWhole(one) && (one.bool === 'and' || (isFirst && one === first)))) {
    for (const condition of conditions) grouped.add(condition)
    return
  }
  const own = new Set(conditions)
  query._statements = query._statements.filter((statement) => !own.has(statement))
  void knexQuery.where((inner) => {
    ;(inner as unknown as Conditioned)._statements.push(...conditions)
  })
  grouped.add(query._statements.at(-1) as Condition)
}

/** Conditions whose SQL no neighbour can be drawn into. */
const WHOLE = new Set(['whereBasic', 'whereIn', 'whereNull', 'whereBetween', 'whereExists', 'whereWrapped'])

function isWhole({ type, column, operator, value }: Condition): boolean {
  return WHOLE.has(type) && ![column, operator, value].flat().some(isRaw)
}

function isRaw(value: unknown): boolean {
  return (value as { isRawInstance?: boolean } | null | undefined)?.isRawInstance === true
}

/** Conditions that compare a column with values. */
const COMPARING = new Set(['whereBasic', 'whereIn', 'whereNull', 'whereBetween'])

function readsOwnRow(knexQuery: Knex.QueryBuilder): boolean {
  const { _statements, client } = knexQuery as unknown as Conditioned
  return _statements.every((condition) => {
    const { grouping, type, value } = condition
    if (grouping !== 'where') return true
    if (type === 'whereRaw') return callsNothing(value)
    if (type === 'whereWrapped' && typeof value === 'function') {
      const inner = client.queryBuilder()
      value.call(inner, inner)
      return readsOwnRow(inner)
    }
    return COMPARING.has(type) && isWhole(condition) && [value].flat().every(isPlainValue)
  })
}

/** SQL without a parenthesis holds no query and calls no function that could read one. */
function callsNothing(value: unknown): boolean {
  const { sql, bindings } = value as { sql?: unknown; bindings?: unknown }
  return typeof sql === 'string' && !sql.includes('(') && [bindings].flat().every(isPlainValue)
}

/** A value that is bound: no query and no function that makes one. */
function isPlainValue(value: unknown): boolean {
  if (typeof value === 'function') return false
  return typeof value !== 'object' || value === null || !('toSQL' in value)
}

type Hook = (this: AnyQueryBuilder, ...args: unknown[]) => unknown

/** Hooks in the context of a query that only act on others: those that load its relations. */
const forOthers = new WeakSet<object>()

/**
 * Objection runs the hooks of a query's context before its others, and puts what they add behind all that is there. As
 * hooks of the query itself they stand where they were declared: before the conditions that are added from here on.
 */
function moveContextHook(
  query: AnyQueryBuilder,
  name: 'onBuild' | 'runBefore',
  builderOf: (args: readonly unknown[]) => unknown,
): void {
  const declared = (query.context() as Record<string, unknown>)[name] as Hook | Hook[] | undefined
  if (declared === undefined || forOthers.has(declared)) return
  const hooks = [declared].flat(Number.POSITIVE_INFINITY) as Hook[]
  for (const hook of hooks) void (query as unknown as Record<string, (hook: Hook) => unknown>)[name]?.(hook)
  const others = function (this: AnyQueryBuilder, ...args: unknown[]): unknown {
    const builder = builderOf(args) as AnyQueryBuilder
    if (builder.has(isGroup as never)) return args[0]
    return name === 'onBuild' ? callAll(hooks, builder) : callInTurn(hooks, builder, args)
  }
  forOthers.add(others)
  void query.context({ [name]: others })
}

function isGroup({ func }: Operation): boolean {
  return func === group
}

function callAll(hooks: readonly Hook[], builder: AnyQueryBuilder): void {
  for (const hook of hooks) hook.call(builder, builder)
}

async function callInTurn(
  hooks: readonly Hook[],
  builder: AnyQueryBuilder,
  [first, ...rest]: readonly unknown[],
): Promise<unknown> {
  let result = first
  for (const hook of hooks) result = await hook.call(builder, result, ...rest)
  return result
}
