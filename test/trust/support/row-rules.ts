/** Rules of rows by chance, said twice: as conditions of ours, and as conditions of @casl/ability. */
import { buildMongoQueryMatcher, createMongoAbility } from '@casl/ability'
import {
  $and,
  $nor,
  $or,
  and as andIn,
  elemMatch as elementsIn,
  FieldCondition,
  $elemMatch as mongoElements,
  nor as norIn,
  or as orIn,
} from '@ucast/mongo2js'
import type { Condition, ModelRule } from '../../../lib/rules/index.js'
import { any, readable, sql } from '../../../lib/rules/index.js'
import type { Random } from './random.js'

type Type = 'int' | 'text' | 'bool'
export type TableName = 'teams' | 'authors' | 'genres' | 'books' | 'book_genres' | 'reviews' | 'copies' | 'loans'
export type Action = 'read' | 'create' | 'update' | 'delete'
export type Row = Record<string, unknown>

interface Table {
  readonly columns: Readonly<Record<string, Type>>
  readonly relations: Readonly<Record<string, TableName>>
}

export const TABLES: Readonly<Record<TableName, Table>> = {
  teams: { columns: { id: 'int', region: 'text', tenant: 'int' }, relations: { authors: 'authors' } },
  authors: {
    columns: { id: 'int', team_id: 'int', name: 'text', hidden: 'bool', income: 'int' },
    relations: { team: 'teams', books: 'books' },
  },
  genres: { columns: { id: 'int', name: 'text', tenant: 'int' }, relations: { books: 'books' } },
  books: {
    columns: {
      id: 'int',
      tenant: 'int',
      title: 'text',
      price: 'int',
      published: 'bool',
      author_id: 'int',
      cost: 'int',
    },
    relations: {
      author: 'authors',
      reviews: 'reviews',
      genres: 'genres',
      praise: 'reviews',
      links: 'book_genres',
      copies: 'copies',
    },
  },
  book_genres: {
    columns: { book_id: 'int', genre_id: 'int', weight: 'int' },
    relations: { book: 'books', genre: 'genres' },
  },
  reviews: { columns: { id: 'int', book_id: 'int', stars: 'int', kind: 'text' }, relations: { book: 'books' } },
  copies: { columns: { book_id: 'int', number: 'int', state: 'text' }, relations: { book: 'books', loans: 'loans' } },
  loans: { columns: { id: 'int', book_id: 'int', number: 'int', reader: 'text' }, relations: { copy: 'copies' } },
}
/** Relations over a join table. */
export const OVER_LINKS = ['genres.books', 'books.genres']
export const NAMES = Object.keys(TABLES) as TableName[]

/** What a user may have, and `undefined` for each that is missing. */
export interface User {
  readonly id?: number | undefined
  readonly tenant?: number | null | undefined
  readonly name?: string | undefined
  readonly isStaff?: boolean | undefined
  readonly teams?: readonly number[] | undefined
  readonly team?: { readonly id?: number } | undefined
}
export interface Caller {
  readonly user: User | undefined
  readonly region: string | undefined
}
/** What a rule's function gets. */
export type Asking = Parameters<Exclude<NonNullable<ModelRule['options']['read']>, Condition>>[0]

/** A value of a rule: fixed, or the caller's. */
type Value = { readonly fixed: unknown } | { readonly of: keyof typeof VALUES }

const VALUES = {
  id: ({ user }: Asking) => user?.id,
  tenant: ({ user }: Asking) => user?.tenant,
  name: ({ user }: Asking) => user?.name,
  isStaff: ({ user }: Asking) => user?.isStaff,
  teams: ({ user }: Asking) => user?.teams,
  team: ({ user }: Asking) => user?.team?.id,
  region: ({ ctx }: Asking) => ctx.state['region'],
} as const
const BY_TYPE = { int: ['id', 'tenant', 'team'], text: ['name', 'region'], bool: ['isStaff'] } as const

export type Node =
  | { readonly is: 'all' | 'none' | 'readable' }
  | { readonly is: 'compare'; readonly path: readonly string[]; readonly lookup: string; readonly value: Value }
  | { readonly is: 'contains'; readonly column: string; readonly value: string }
  | { readonly is: 'raw'; readonly column: string; readonly value: Value }
  | { readonly is: 'and' | 'or'; readonly parts: readonly Node[] }
  | { readonly is: 'not'; readonly part: Node }
  | { readonly is: 'related'; readonly any: boolean; readonly relation: string; readonly part: Node }
  /** What only JavaScript decides. */
  | { readonly is: 'branch'; readonly by: keyof User; readonly yes: Node; readonly no: Node }

export type Rules = Readonly<Record<TableName, Readonly<Partial<Record<Action, Node>>>>>

const FIXED = { int: [1, 2, 3, 4], text: ['a', 'b', 'c'], bool: [true, false] } as const

/** @param before readable rows are those of tables that come before this one, so that no rule leads to itself */
export function randomNode(random: Random, table: TableName, before: number, depth = 0): Node {
  const inner = (of: TableName = table) => randomNode(random, of, before, depth + 1)
  const { relations } = TABLES[table]
  const kinds =
    depth > 2 ? ['compare'] : ['compare', 'compare', 'compare', 'and', 'or', 'not', 'related', 'related', 'readable']
  const kind = random.pick([...kinds, ...(random.chance(0.1) ? ['all', 'none', 'contains', 'raw'] : [])])
  if (kind === 'and' || kind === 'or') return { is: kind, parts: [inner(), inner()] }
  if (kind === 'not') return { is: 'not', part: inner() }
  if (kind === 'all' || kind === 'none') return { is: kind }
  if (kind === 'related') {
    const relation = random.pick(Object.keys(relations))
    return { is: 'related', any: random.chance(0.6), relation, part: inner(relations[relation]) }
  }
  if (kind === 'readable') {
    const ok = Object.keys(relations).filter((name) => NAMES.indexOf(relations[name] as TableName) < before)
    if (ok.length > 0) {
      const relation = random.pick(ok)
      const part: Node = random.chance(0.2)
        ? { is: random.pick(['and', 'or']), parts: [{ is: 'readable' }, inner(relations[relation])] }
        : { is: 'readable' }
      return { is: 'related', any: random.chance(0.8), relation, part }
    }
  }
  if (kind === 'contains' || kind === 'raw') {
    const text = Object.entries(TABLES[table].columns).find(([, type]) => type === 'text')?.[0]
    if (text !== undefined && kind === 'contains')
      return { is: 'contains', column: text, value: random.pick(FIXED.text) }
    return { is: 'raw', column: 'id' in TABLES[table].columns ? 'id' : 'book_id', value: randomValue(random, 'int') }
  }
  return randomComparison(random, table)
}

function randomComparison(random: Random, table: TableName): Node {
  const path: string[] = []
  let at = table
  while (path.length < 2 && random.chance(0.15)) {
    const relation = random.pick(Object.keys(TABLES[at].relations))
    path.push(relation)
    at = TABLES[at].relations[relation] as TableName
  }
  const [column, type] = random.pick(Object.entries(TABLES[at].columns))
  const lookups = ['exact', 'exact', 'ne', 'in', 'nin', 'isnull', ...(type === 'bool' ? [] : ['gt', 'lte', 'range'])]
  const lookup = random.pick(lookups)
  const value = lookup === 'isnull' ? { fixed: random.chance(0.5) } : randomValue(random, type, lookup)
  return { is: 'compare', path: [...path, column], lookup, value }
}

function randomValue(random: Random, type: Type, lookup = 'exact'): Value {
  const fixed = () => random.pick<number | string | boolean>(FIXED[type])
  if (lookup === 'range') return { fixed: [fixed(), fixed()].sort((one, other) => (`${one}` < `${other}` ? -1 : 1)) }
  if (lookup === 'in' || lookup === 'nin') {
    if (type === 'int' && random.chance(0.6)) return { of: 'teams' }
    return { fixed: [fixed(), fixed()] }
  }
  if (random.chance(0.4)) return { fixed: random.chance(0.08) ? (random.chance(0.5) ? null : undefined) : fixed() }
  return { of: random.pick<keyof typeof VALUES>(BY_TYPE[type]) }
}

/** The condition, as a rule has it. @param named a column as the model calls it */
export function conditionOf(node: Node, asking: Asking, named: (column: string) => string): Condition {
  const value = (one: Value): unknown => ('of' in one ? VALUES[one.of](asking) : one.fixed)
  switch (node.is) {
    case 'all':
      return true
    case 'none':
      return false
    case 'readable':
      return readable
    case 'compare': {
      const name = [...node.path.slice(0, -1), named(node.path.at(-1) as string)].join('__')
      return { [node.lookup === 'exact' ? name : `${name}__${node.lookup}`]: value(node.value) }
    }
    case 'contains':
      return { [`${named(node.column)}__contains`]: node.value }
    case 'raw':
      return node.column === 'id' ? sql`id <> ${value(node.value)}::int` : sql`book_id <> ${value(node.value)}::int`
    case 'and':
    case 'or':
      return { [node.is]: node.parts.map((part) => conditionOf(part, asking, named)) }
    case 'not':
      return { not: conditionOf(node.part, asking, named) }
    case 'related': {
      const part = conditionOf(node.part, asking, named)
      return node.any ? any(node.relation, part) : { [`none(${node.relation})`]: part }
    }
    case 'branch':
      return conditionOf(asking.user?.[node.by] ? node.yes : node.no, asking, named)
  }
}

/** The tables that a condition looks at beside its own. */
export function tablesOf(node: Node, table: TableName, rules: Rules): readonly TableName[] {
  switch (node.is) {
    case 'compare': {
      let at = table
      return node.path.slice(0, -1).flatMap((relation) => {
        const passed = passedBy(at, relation)
        at = passed[0] as TableName
        return passed
      })
    }
    case 'and':
    case 'or':
      return node.parts.flatMap((part) => tablesOf(part, table, rules))
    case 'not':
      return tablesOf(node.part, table, rules)
    case 'related': {
      const to = TABLES[table].relations[node.relation] as TableName
      return [...passedBy(table, node.relation), ...tablesOf(node.part, to, rules)]
    }
    case 'branch':
      return [node.yes, node.no].flatMap((part) => tablesOf(part, table, rules))
    case 'readable':
      return rules[table].read ? tablesOf(rules[table].read, table, rules) : []
    default:
      return []
  }
}

/** What a relation leads to, and by which join table. */
function passedBy(table: TableName, relation: string): readonly TableName[] {
  const to = TABLES[table].relations[relation] as TableName
  return OVER_LINKS.includes(`${table}.${relation}`) ? [to, 'book_genres'] : [to]
}

/** What the third road cannot say. */
export class Unsaid extends Error {}

type Query = Record<string, unknown>
const ALWAYS: Query = {}
const NEVER: Query = { id: { $in: [] } }
const NOT = (query: Query): Query => ({ $nor: [query] })
/** Of the elements of a list a whole condition may be asked. */
const $elemMatch: typeof mongoElements = {
  ...mongoElements,
  parse: (_, value, { field, parse }) =>
    new FieldCondition('elemMatch', field, (parse as (query: unknown) => unknown)(value)),
}
const matcher = buildMongoQueryMatcher(
  { $and, $or, $nor, $elemMatch },
  { and: andIn, or: orIn, nor: norIn, elemMatch: elementsIn },
)

/** The rows of which an action's rule holds, by @casl/ability. @param rows their relations are lists */
export function allowedBy(
  rules: Rules,
  { action, table, caller }: { readonly action: Action; readonly table: TableName; readonly caller: Caller },
): (row: Row) => boolean {
  const node = rules[table][action] ?? rules[table].read ?? { is: 'all' as const }
  const asking = {
    user: caller.user,
    ctx: { state: { user: caller.user, region: caller.region } },
  } as unknown as Asking
  const conditions = queryOf(node, true, { rules, table, asking })
  const ability = createMongoAbility([{ action, subject: 'row', conditions }] as never, {
    conditionsMatcher: matcher,
    detectSubjectType: () => 'row' as never,
  })
  return (row) => ability.can(action, row as never)
}

/** The columns that may be read, or set, by @casl/ability. */
export function mayUse(columns: readonly string[]): (column: string) => boolean {
  const ability = createMongoAbility([{ action: 'use', subject: 'row', fields: [...columns] }] as never)
  return (column) => ability.can('use', 'row', column)
}

interface Scope {
  readonly rules: Rules
  readonly table: TableName
  readonly asking: Asking
}

/** True of rows of which the condition certainly holds, or certainly does not. */
function queryOf(node: Node, holds: boolean, scope: Scope): Query {
  const { rules, table, asking } = scope
  switch (node.is) {
    case 'all':
      return holds ? ALWAYS : NEVER
    case 'none':
      return holds ? NEVER : ALWAYS
    case 'contains':
    case 'raw':
      throw new Unsaid(node.is)
    case 'not':
      return queryOf(node.part, !holds, scope)
    case 'and':
    case 'or': {
      const parts = node.parts.map((part) => queryOf(part, holds, scope))
      return { [(node.is === 'and') === holds ? '$and' : '$or']: parts }
    }
    case 'branch':
      return queryOf(asking.user?.[node.by] ? node.yes : node.no, holds, scope)
    case 'readable': {
      const read = queryOf(rules[table].read ?? { is: 'all' }, true, scope)
      return holds ? read : NOT(read)
    }
    case 'related': {
      const below = { ...scope, table: TABLES[table].relations[node.relation] as TableName }
      const isThere = node.any === holds
      const part = queryOf(node.part, isThere, below)
      const found = { [node.relation]: { $elemMatch: isThere ? part : NOT(part) } }
      return isThere ? found : NOT(found)
    }
    case 'compare':
      return comparisonOf(node, holds, asking)
  }
}

const MONGO: Readonly<Record<string, string>> = { gt: '$gt', lte: '$lte' }

function comparisonOf(
  { path, lookup, value }: Extract<Node, { is: 'compare' }>,
  holds: boolean,
  asking: Asking,
): Query {
  const given: unknown = 'of' in value ? VALUES[value.of](asking) : value.fixed
  if (given === undefined || (Array.isArray(given) && given.includes(undefined))) return NEVER
  const column = path.at(-1) as string
  const isEquality = ['exact', 'ne'].includes(lookup)
  if (given === null && !isEquality) return NEVER
  // of related rows `true` says that none has a value
  const isMissing = given === true && path.length === 1
  const asked: Query =
    lookup === 'isnull'
      ? { [column]: isMissing ? null : { $ne: null } }
      : isEquality
        ? { [column]: { $eq: given } }
        : lookup === 'in' || lookup === 'nin'
          ? { [column]: { $in: given } }
          : lookup === 'range'
            ? { [column]: { $ne: null, $gte: (given as unknown[])[0], $lte: (given as unknown[])[1] } }
            : { [column]: { $ne: null, [MONGO[lookup] as string]: given } }
  const found = path.slice(0, -1).reduceRight((part, relation) => ({ [relation]: { $elemMatch: part } }), asked)
  const isNegated = ['ne', 'nin'].includes(lookup) || (lookup === 'isnull' && given === true && !isMissing)
  return holds === isNegated ? NOT(found) : found
}
