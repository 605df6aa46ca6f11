/** The SQL of conditions of rules. */

import type { FieldPath, PathStart } from '../filters/field-path.js'
import { nullCondition } from '../filters/filterset.js'
import { RELATED } from '../filters/group-of-json.js'
import { SEPARATOR } from '../filters/json-key.js'
import { type Lookup, Operand } from '../filters/lookups.js'
import { lookupsOf } from '../filters/lookups-of.js'
import { resolvePaths, stepThrough } from '../filters/resolve-paths.js'
import { joinOf } from '../filters/step.js'
import { ConfigurationError, ValidationError } from '../kernel/errors.js'
import { didYouMean } from '../kernel/near-miss.js'
import { oncePer } from '../kernel/once-per.js'
import { quote } from '../kernel/quote.js'
import { describeModel } from '../models/describe-model.js'
import { type ModelDescription, nullTest, tellsApart } from '../models/model-description.js'
import { type ModelClass, modelName } from '../models/objection.js'
import { bareName, escaped } from '../models/table-reference.js'
import { joinSql, type SqlPart } from '../queryset/sql-part.js'
import type { RowCondition } from '../queryset/visible-rows.js'
import { CallerSetting, NotSaid } from './caller-setting.js'
import { type Condition, RawCondition, readable } from './conditions.js'

/**
 * A condition, as SQL that is true of exactly those rows of which it certainly holds, or certainly does not. Of what is
 * unknown neither is true: that is how an `undefined` value matches nothing, whatever stands around it.
 */
export type Certain = (start: PathStart, holds: boolean) => SqlPart

/** What a condition is about. */
export interface ConditionScope {
  /** Whose rule it is, for messages. */
  readonly where: string
  readonly model: ModelDescription
  /** The rows of a model that the caller may read, by its rule; undefined for all of them. */
  readonly readable: (model: ModelClass) => RowCondition | undefined
  /** Rows are looked at by themselves, as in a policy: the table has not got them yet. */
  readonly isRowAlone?: boolean
  /** Nobody asks yet: what holds of no row, whoever does, is a mistake. */
  readonly isTried?: boolean
}

/** @throws {ConfigurationError} it names no column or relation, or asks what cannot be asked of a column */
export function compileCondition(condition: Condition, scope: ConditionScope): Certain {
  if (typeof condition === 'boolean') return (_start, holds) => (condition === holds ? TRUE : FALSE)
  if (condition === readable) return certain(ruleOf(scope))
  if (condition instanceof RawCondition) return compileRaw(condition, scope)
  if (typeof condition !== 'object' || condition === null || Array.isArray(condition)) {
    throw wrong(scope, `has ${quote(String(condition))} in the place of a condition; give an object, true or false`)
  }
  const parts = Object.entries(condition).map(([name, value]) => compilePart(name, value, scope))
  return join(parts, true)
}

const TRUE: SqlPart = { sql: 'true', bindings: [] }
const FALSE: SqlPart = { sql: 'false', bindings: [] }
const UNKNOWN: Certain = () => FALSE

function compilePart(name: string, value: unknown, scope: ConditionScope): Certain {
  const [, kind, relation] = RELATED.exec(name) ?? []
  if (relation !== undefined) return compileRelated(relation, kind === 'any', value as Condition, scope)
  if (name === 'not') {
    const inner = compileCondition(value as Condition, scope)
    return (start, holds) => inner(start, !holds)
  }
  if ((name === 'and' || name === 'or') && Array.isArray(value)) {
    const parts = value.map((part: Condition) => compileCondition(part, scope))
    return join(parts, name === 'and')
  }
  return compileComparison(name, value, scope)
}

/** All of the parts, or one of them. */
function join(parts: readonly Certain[], all: boolean): Certain {
  const [first] = parts
  if (first && parts.length === 1) return first
  return (start, holds) => {
    if (parts.length === 0) return all === holds ? TRUE : FALSE
    const made = parts.map((part) => part(start, holds))
    const { sql, bindings } = joinSql(made, all === holds ? ' and ' : ' or ')
    return { sql: `(${sql})`, bindings }
  }
}

/** A condition that holds of a row, or does not: NULL is neither, and so does not hold. */
function certain(condition: RowCondition | undefined): Certain {
  if (!condition) return (_start, holds) => (holds ? TRUE : FALSE)
  return (start, holds) => {
    const { sql, bindings } = condition.where(start.table, () => start.schema)
    return { sql: holds ? `(${sql})` : `(${sql}) is not true`, bindings }
  }
}

function ruleOf({ model, readable: rows }: ConditionScope): RowCondition | undefined {
  return rows(model.model)
}

/** The SQL stands in a query of its own, where columns need no table before them. */
function compileRaw(raw: RawCondition, { model, isRowAlone }: ConditionScope): Certain {
  const { values } = raw
  if (values.some(isUnknown)) return UNKNOWN
  const alone = () => compileAlone(raw, model)
  const isKnown = tellsApart(model, model.primaryKey)
  const { primaryKey, columns } = model
  const isKeyed = primaryKey.length > 0 && (isKnown || primaryKey.every((name) => columns.has(name)))
  if (isRowAlone || !isKeyed) return alone()
  const key = primaryKey.map((property) => columns.get(property)?.column ?? property)
  const text = textOf(raw)
  const named = certain({
    where(table, schema) {
      const own = schema?.()
      const name = own === undefined ? model.model.tableName : `${own}.${model.model.tableName}`
      const marks = key.map(() => '??').join(', ')
      return {
        sql: `(${marks}) in (select ${marks} from ?? where ${text})`,
        bindings: [...key.map((column) => `${table}.${column}`), ...key, name, ...values],
      }
    },
  })
  if (isKnown) return named
  // its key may be that of others, or null; by the key indexes are used
  const row = alone()
  const both = join([named, row], true)
  return (start, holds) => (holds ? both : row)(start, holds)
}

function textOf({ strings }: RawCondition): string {
  return strings.map(escaped).join('?')
}

/** The same of a row that no query can find by a key. */
function compileAlone(raw: RawCondition, { model }: ModelDescription): Certain {
  const { strings, values } = raw
  const typed = values.map((value, index) => {
    if (!(value instanceof CallerSetting)) return value
    const [, type, list] = /^\s*::\s*([\w."]+)(\[\])?/.exec(strings[index + 1] ?? '') ?? []
    if (type !== undefined) return list === undefined ? value.as('text') : value.asList(type)
    throw new NotSaid(
      `has ${value.path} in SQL without a type; write \${${value.path}}::int, or the type that it is of`,
    )
  })
  const name = bareName(model.tableName)
  const where: RowCondition['where'] = (table) => ({
    sql: `exists (select 1 from (select ??.*) as ?? where ${textOf(raw)})`,
    bindings: [table, name, ...typed],
  })
  return whereKnown(values, false, certain({ where }))
}

function compileRelated(name: string, isAny: boolean, condition: Condition, scope: ConditionScope): Certain {
  const relation = scope.model.relations.get(name)
  if (!relation) {
    const fix = didYouMean(name, scope.model.relations.keys())
    throw wrong(scope, `asks about ${quote(name)}, which is no relation of ${modelName(scope.model.model)}${fix}`)
  }
  const step = stepThrough(scope.where, scope.model, name)
  const inner = compileCondition(condition, { ...scope, model: describeModel(relation.model) })
  return (start, holds) => {
    // what is readable is compiled by itself, and stands in the tables around it
    const depth = Number(/^rule (\d+)$/.exec(start.table)?.[1] ?? 0)
    const related = start.below(`rule ${depth + 1}`, start.schema)
    const { from, where } = joinOf(step, {
      owner: start.table,
      related: related.table,
      through: `${related.table} through`,
      schema: () => start.schema,
      // a rule looks at all rows; `readable` asks the rule of the others
      visible: undefined,
    })
    const isThere = isAny === holds
    const part = inner(related, isThere)
    const sql = isThere ? part.sql : `(${part.sql}) is not true`
    return {
      sql: `${isThere ? '' : 'not '}exists (select 1 from ${from.sql} where ${where.sql} and ${sql})`,
      bindings: [...from.bindings, ...where.bindings, ...part.bindings],
    }
  }
}

function compileComparison(name: string, value: unknown, scope: ConditionScope): Certain {
  const { path, suffix, operand, lookups } = askedColumn(name, scope)
  const asked = readComparison(suffix, value, { path, operand, lookups, scope, name })
  if (asked === undefined) return UNKNOWN
  const { text, values, isNegated } = asked
  const isList = suffix === 'in' || suffix === 'nin'
  return whereKnown(value, isList, (start, holds) => {
    const part = path.where(start, (reference) => ({ sql: text, bindings: [reference, ...values] }))
    if (holds !== isNegated) return part
    // EXISTS is never NULL, and by NOT PostgreSQL joins, where it would read all rows of the other table for IS NOT TRUE
    return { ...part, sql: path.related ? `not ${part.sql}` : `(${part.sql}) is not true` }
  })
}

/** What a setting leaves unknown is as an `undefined` value: neither true nor false. */
function whereKnown(value: unknown, isList: boolean, asked: Certain): Certain {
  const settings = [value].flat().filter((one) => one instanceof CallerSetting)
  if (settings.length === 0) return asked
  const whole = isList && value instanceof CallerSetting ? [value.isWhole] : []
  const known = [...settings.map(({ isKnown }) => isKnown), ...whole].join(' and ')
  return (start, holds) => {
    const { sql, bindings } = asked(start, holds)
    return { sql: `(${known} and ${sql})`, bindings }
  }
}

/** The column that a name leads to, and the lookup behind it: `stock__gte`. */
export function comparedPath(
  name: string,
  { where, model }: Pick<ConditionScope, 'where' | 'model'>,
): { path: FieldPath; suffix: string } {
  const attempt = (path: string) => resolvePaths(where, model, [path])[0] as FieldPath
  const at = name.lastIndexOf(SEPARATOR)
  try {
    return { path: attempt(name), suffix: 'exact' }
  } catch (error) {
    if (at === -1 || !(error instanceof ConfigurationError)) throw error
    return { path: attempt(name.slice(0, at)), suffix: name.slice(at + SEPARATOR.length) }
  }
}

interface AskedColumn extends ReturnType<typeof comparedPath> {
  readonly operand: Operand
  readonly lookups: ReadonlyMap<string, Lookup>
}

/** By the names of comparisons, which are few: rules are code. */
const askedColumns = oncePer((_model: ModelDescription) => new Map<string, AskedColumn>())

function askedColumn(name: string, scope: ConditionScope): AskedColumn {
  const known = askedColumns(scope.model)
  let asked = known.get(name)
  if (!asked) {
    const compared = comparedPath(name, scope)
    const operand = new Operand(compared.path.column)
    asked = { ...compared, operand, lookups: new Map(lookupsOf(operand)) }
    known.set(name, asked)
  }
  return asked
}

interface Comparison {
  /** SQL with `??` for the column, and a mark for each value. */
  readonly text: string
  readonly values: readonly unknown[]
  readonly isNegated: boolean
}

interface Comparing extends Pick<AskedColumn, 'path' | 'operand' | 'lookups'> {
  readonly scope: ConditionScope
  readonly name: string
}

/** Undefined for what is unknown: it asks for a value that is not there, or that the column cannot hold. */
function readComparison(suffix: string, value: unknown, comparing: Comparing): Comparison | undefined {
  const { path, operand, lookups, scope, name } = comparing
  if ([value].flat().some(isUnknown)) return undefined
  if (suffix === 'isnull' && !(value instanceof CallerSetting)) {
    const { sql, isOpposite } = nullCondition(path, value !== false)
    return { text: sql, values: [], isNegated: isOpposite }
  }
  const lookup = lookups.get(suffix)
  if (!lookup) {
    const names = ['isnull', ...lookups.keys()].join(', ')
    throw wrong(scope, `asks for ${quote(name)}; the lookups of ${operand.column.property} are ${names}; else use sql`)
  }
  const misfit = misfitOf(lookup, value)
  const isNone = Array.isArray(value) && value.length === 0
  if (misfit !== undefined && !isNone && scope.isTried) throw wrong(scope, `asks for ${quote(name)} ${misfit}`)
  if (misfit !== undefined) return undefined
  const isNegated = lookup.negated === true
  if (value === null && (!lookup.equal || lookup.several)) return undefined
  if (value === null) return { text: `?? ${nullTest(operand.column)}`, values: [], isNegated }
  const values = valuesOf(lookup, value, operand)
  return values && { text: lookup.sql(operand), values, isNegated }
}

/** What is wrong with the number of values; undefined where the lookup takes as many. */
function misfitOf({ several, equal, elements }: Lookup, value: unknown): string | undefined {
  if (Array.isArray(value) && !several && !elements) return 'of a list, which no value is; use in, or nin'
  if (!several || equal || value === null || value instanceof CallerSetting) return undefined
  return Array.isArray(value) && value.length === 2 ? undefined : 'without a list of two values'
}

function valuesOf(lookup: Lookup, value: unknown, operand: Operand): readonly unknown[] | undefined {
  const { several, elements, equal, ordered } = lookup
  const list = [value].flat()
  if (list.some((one) => one instanceof CallerSetting)) return settingsOf(lookup, value, operand)
  try {
    if (lookup.isPattern) return lookup.values(String(value), operand, {})
    if (!equal && !ordered && !elements) return lookup.values(written(value), operand, {})
    for (const one of list) checkHeld(one, elements ?? operand)
    return elements || (equal && several) ? [list] : list
  } catch (error) {
    if (error instanceof ValidationError) return undefined
    throw error
  }
}

/** A value as a client would write it. @throws ValidationError none can be written so */
function written(value: unknown): string {
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value.toISOString()
  if (isPlain(value)) return String(value)
  throw new ValidationError('Not a value of the lookup.')
}

function isPlain(value: unknown): value is string | number | bigint | boolean {
  return ['string', 'number', 'bigint', 'boolean'].includes(typeof value)
}

/** A value that pg writes by its own method, as the intervals that it reads. */
interface PgValue {
  toPostgres(): unknown
}

const DATES = new Set(['date', 'time', 'timestamp', 'timestamptz'])

/** A value that the column cannot hold is in no row, and an error of PostgreSQL. @throws ValidationError it is one */
function checkHeld(value: unknown, operand: Operand): void {
  const { type } = operand.column
  // they hold every number of JavaScript, in notations that clients may not write
  if (value === null || (typeof value === 'number' && (type === 'float8' || type === 'numeric'))) return
  if (isPlain(value)) {
    operand.read(String(value))
    return
  }
  const isHeld =
    value instanceof Date
      ? DATES.has(type) && !Number.isNaN(value.getTime())
      : Buffer.isBuffer(value)
        ? type === 'bytea'
        : type === 'interval' && typeof (value as Partial<PgValue>).toPostgres === 'function'
  if (!isHeld) throw new ValidationError('Not a value of the column.')
}

/** What stands for values of the caller. */
function settingsOf(lookup: Lookup, value: unknown, { sql, column }: Operand): readonly unknown[] {
  const type = sql.endsWith('::text') ? 'text' : (column.sqlType ?? column.type)
  const isOne = value instanceof CallerSetting
  const each = (one: unknown): unknown => (one instanceof CallerSetting ? one.as(type) : one)
  if (lookup.equal && lookup.several) return [isOne ? value.asList(type) : [value].flat().map(each)]
  if ((lookup.equal || lookup.ordered) && isOne !== (lookup.several === true)) return [value].flat().map(each)
  throw new NotSaid(`compares ${column.property} with a value of the caller in a way that only a value itself can be`)
}

function isUnknown(value: unknown): boolean {
  return value === undefined || (typeof value === 'number' && Number.isNaN(value))
}

function wrong({ where }: ConditionScope, problem: string): ConfigurationError {
  return new ConfigurationError(`${where} ${problem}`)
}
