/** Conditions of who sees what, said as SQL, as conditions of rules, and of rows in memory by the rules of SQL, where null is neither. */
import { any as anyRelated, type Condition as RuleCondition } from 'koa-viewsets/rules'
import { type Estate, type Level, parentOf, type Row } from './estate.js'

export type Truth = boolean | null

/** Who asks: the id of a person; null for nobody. */
export type Caller = number | null

export type Condition =
  | { readonly atom: AtomName }
  | { readonly all: readonly Condition[] }
  | { readonly any: readonly Condition[] }
  | { readonly not: Condition }

/** Text for `raw()`, with the values of its question marks. */
export interface Sql {
  readonly sql: string
  readonly bindings: readonly (number | null)[]
}

interface Place {
  readonly level: Level
  readonly caller: Caller
}

interface Atom {
  /** `t` is the name that the table goes by. */
  sql(t: string, place: Place): Sql
  holds(row: Row, place: Place, estate: Estate): Truth
  /** Rows of which it certainly holds, or certainly does not. */
  rule(isTrue: boolean, caller: Caller): RuleCondition
}

/** The condition, or its opposite where the column has a value. */
const opposite = (isTrue: boolean, condition: RuleCondition, column: string): RuleCondition =>
  isTrue ? condition : { and: [{ not: condition }, { [`${column}__isnull`]: false }] }

const constant = (sql: string): Sql => ({ sql, bindings: [] })

const ATOMS = {
  owned: {
    sql: (t, { caller }) => ({ sql: `${t}.owner_id = ?`, bindings: [caller] }),
    holds: ({ owner_id }, { caller }) => (owner_id === null || caller === null ? null : owner_id === caller),
    rule: (isTrue, caller) => opposite(isTrue, { owner_id: caller ?? undefined }, 'owner_id'),
  },
  ownerless: {
    sql: (t) => constant(`${t}.owner_id is null`),
    holds: ({ owner_id }) => owner_id === null,
    rule: (isTrue) => (isTrue ? { owner_id: null } : { owner_id__isnull: false }),
  },
  open: { sql: (t) => constant(`${t}.open`), holds: ({ open }) => open, rule: (isTrue) => ({ open: isTrue }) },
  archived: {
    sql: (t) => constant(`${t}.archived`),
    holds: ({ archived }) => archived,
    rule: (isTrue) => (isTrue ? { archived: true } : { not: { archived: true } }),
  },
  small: {
    sql: (t) => constant(`${t}.n < 5`),
    holds: ({ n }) => (n === null ? null : n < 5),
    rule: (isTrue) => opposite(isTrue, { n__lt: 5 }, 'n'),
  },
  granted: {
    sql: (t, { level, caller }) => ({
      sql: `exists (select 1 from ${level}_grants g where g.row_id = ${t}.id and g.person_id = ?)`,
      bindings: [caller],
    }),
    holds: ({ id }, { level, caller }, { grants }) => grants[level].has(`${id} ${caller}`),
    rule(isTrue, caller) {
      const granted = caller === null ? false : anyRelated('grants', { person_id: caller })
      return isTrue ? granted : { not: granted }
    },
  },
  ownerActive: {
    sql: (t) => constant(`(select p.active from people p where p.id = ${t}.owner_id)`),
    holds: ({ owner_id }, _place, { people }) => (owner_id === null ? null : people.get(owner_id)?.active === true),
    rule: (isTrue) => anyRelated('owner', { active: isTrue }),
  },
  parentOpen: {
    sql: (t, { level }) => constant(`(select p.open from ${parentOf(level)} p where p.id = ${t}.parent_id)`),
    holds: ({ parent_id }, { level }, { rows }) =>
      parent_id === null ? null : (rows[parentOf(level)].get(parent_id)?.open ?? null),
    rule: (isTrue) => ({ parent__open: isTrue }),
  },
} satisfies Record<string, Atom>

export type AtomName = keyof typeof ATOMS
export const ATOM_NAMES = Object.keys(ATOMS) as AtomName[]

export const atom = (name: AtomName): Condition => ({ atom: name })
export const all = (...conditions: readonly Condition[]): Condition => ({ all: conditions })
export const any = (...conditions: readonly Condition[]): Condition => ({ any: conditions })
export const not = (condition: Condition): Condition => ({ not: condition })

/** The condition as SQL. At its top it has no parentheses: `a or b` is to meet what others add to it. */
export function toSql(condition: Condition, t: string, place: Place): Sql {
  if ('atom' in condition) return ATOMS[condition.atom].sql(t, place)
  if ('not' in condition) {
    const { sql, bindings } = toSql(condition.not, t, place)
    return { sql: `not (${sql})`, bindings }
  }
  const isAll = 'all' in condition
  const parts = (isAll ? condition.all : condition.any).map((part) => {
    const { sql, bindings } = toSql(part, t, place)
    return { sql: 'all' in part || 'any' in part ? `(${sql})` : sql, bindings }
  })
  return {
    sql: parts.map(({ sql }) => sql).join(isAll ? ' and ' : ' or '),
    bindings: parts.flatMap(({ bindings }) => bindings),
  }
}

/** The condition as rules have it: of rows of which it certainly holds. */
export function toRule(condition: Condition, caller: Caller, isTrue = true): RuleCondition {
  if ('atom' in condition) return ATOMS[condition.atom].rule(isTrue, caller)
  if ('not' in condition) return toRule(condition.not, caller, !isTrue)
  const isAll = 'all' in condition
  const parts = (isAll ? condition.all : condition.any).map((part) => toRule(part, caller, isTrue))
  return isAll === isTrue ? { and: parts } : { or: parts }
}

/** Whether it holds of a row. */
export function holds(condition: Condition, row: Row, place: Place, estate: Estate): Truth {
  if ('atom' in condition) return ATOMS[condition.atom].holds(row, place, estate)
  if ('not' in condition) {
    const truth = holds(condition.not, row, place, estate)
    return truth === null ? null : !truth
  }
  const decisive = 'any' in condition
  const parts = decisive ? condition.any : condition.all
  let result: Truth = !decisive
  for (const part of parts) {
    const truth = holds(part, row, place, estate)
    if (truth === decisive) return decisive
    if (truth === null) result = null
  }
  return result
}

/** The condition in words, for the titles of cases. */
export function describe(condition: Condition): string {
  if ('atom' in condition) return condition.atom
  if ('not' in condition) return `not (${describe(condition.not)})`
  return 'all' in condition
    ? `(${condition.all.map(describe).join(' and ')})`
    : `(${condition.any.map(describe).join(' or ')})`
}
