/** What a group of conditions asks of a list: each of them read as the parameter of its name is, and the SQL of them all. */
import { IntegerField } from '../fields/integer-fields.js'
import { ValidationError } from '../kernel/errors.js'
import { UnknownNames } from '../kernel/unknown-names.js'
import { joinSql, type SqlPart } from '../queryset/sql-part.js'
import type { PathStart } from './field-path.js'
import type { FilterCaller, FilterSettings } from './filter.js'
import { declaredField, filtersetOf, UnknownLookups } from './filterset.js'
import { SEPARATOR } from './json-key.js'
import {
  type AnyQuestion,
  type CountQuestion,
  type Group,
  type GroupLimits,
  type Leaf,
  messageAt,
  parseGroup,
} from './parse-group.js'
import { type AskedRelation, askedRelationsOf } from './relations/asked-relation.js'
import { countOf, existsRelated, ofRelated } from './relations/related-condition.js'
import { anyOf, type CostedCondition, subQueriesOf, type Within } from './sub-queries.js'

/** The most characters that a group looks for within texts: where one is not found, the next is looked for. */
const MOST_SOUGHT = 1_000

/** A group whose conditions were read. */
export interface ReadGroup extends CostedCondition {
  /** Costs the database as much as a search. */
  readonly expensive: boolean
}

/** @throws ValidationError naming the places of all that is wrong */
export function readGroup(
  text: string,
  settings: FilterSettings,
  { limits, caller }: { limits: GroupLimits; caller: FilterCaller },
): ReadGroup {
  const reader = new GroupReader(text, caller)
  const { where, subQueries } = reader.read(parseGroup(text, limits), settings)
  if (reader.errors.length > 0) throw new ValidationError(reader.errors)
  return { expensive: reader.expensive, subQueries, where }
}

/** Reads the conditions of one group, and notes all that is wrong. */
class GroupReader {
  readonly errors: string[] = []
  expensive = false
  /** Characters that were looked for within texts. */
  #sought = 0
  readonly #fields = new UnknownNames('field')
  readonly #relations = new UnknownNames('relation')
  readonly #lookups = new UnknownLookups()
  readonly #text: string
  readonly #caller: FilterCaller

  constructor(text: string, caller: FilterCaller) {
    this.#text = text
    this.#caller = caller
  }

  /** The SQL of a group, of no use where there are errors. */
  read(group: Group, settings: FilterSettings): CostedCondition {
    if (group.kind === 'leaf') return this.#leaf(group, settings)
    if (group.kind === 'any' || group.kind === 'count') return this.#relation(group, settings)
    return join(
      group.kind,
      group.parts.map((part) => this.read(part, settings)),
    )
  }

  #leaf({ name, nameAt, value, valueAt }: Leaf, settings: FilterSettings): CostedCondition {
    const filterset = filtersetOf(settings)
    const filter = filterset.filters.get(name)
    if (!filter) {
      const field = declaredField(name, filterset)
      this.#refuse(
        nameAt,
        field === undefined
          ? this.#fields.message(name, () => filterset.fields.keys(), this.errors.length === 0)
          : this.#lookups.message(name, field, filterset),
      )
      return NOTHING
    }
    const condition = this.#attempt(valueAt, () => filter.read(value, this.#caller))
    if (!condition) return NOTHING
    if (condition.expensive) {
      this.expensive = true
      const before = this.#sought
      this.#sought += value.length
      if (before <= MOST_SOUGHT && this.#sought > MOST_SOUGHT)
        this.#refuse(valueAt, `Give at most ${MOST_SOUGHT} characters to look for within texts.`)
    }
    return condition
  }

  #relation(question: AnyQuestion | CountQuestion, settings: FilterSettings): CostedCondition {
    const relations = askedRelationsOf(settings)
    const asked = relations.get(question.relation)
    if (!asked) {
      this.#refuse(
        question.relationAt,
        this.#relations.message(question.relation, () => relations.keys(), this.errors.length === 0),
      )
      return NOTHING
    }
    // a query of another table for each row
    this.expensive = true
    const { ctx } = this.#caller
    if (question.kind === 'count') return this.#count(question, asked)
    const { negated, part } = question
    const inner = part ? this.read(part, asked.relation.related) : undefined
    const around = (start: PathStart, condition: ((row: PathStart) => SqlPart) | undefined) =>
      existsRelated(asked, { start, ctx }, condition)
    const within: Within<PathStart> = {
      key: `any ${question.relation}`,
      subQueries: 1,
      asks: (row) => inner?.where(row) ?? { sql: 'true', bindings: [] },
      around,
    }
    return {
      subQueries: 1 + (inner?.subQueries ?? 0),
      within: negated ? undefined : within,
      where(start) {
        const { sql, bindings } = around(start, inner && ((row) => inner.where(row)))
        return { sql: negated ? `not ${sql}` : sql, bindings }
      },
    }
  }

  #count(question: CountQuestion, asked: AskedRelation): CostedCondition {
    const operator = this.#attempt(question.lookupAt, () => operatorOf(question.lookup))
    const value = this.#attempt(question.valueAt, () => numberOf(question.value))
    if (operator === undefined || value === undefined) return NOTHING
    const { ctx } = this.#caller
    const around = (start: PathStart, condition: (table: string) => SqlPart) =>
      ofRelated(asked, { start, ctx }, condition)
    const compared = ({ sql, bindings }: SqlPart): SqlPart => ({
      sql: `${sql} ${operator} ?`,
      bindings: [...bindings, value],
    })
    const within: Within<string> = {
      key: `count ${question.relation}`,
      subQueries: 1,
      asks: (table) => compared(countOf(asked, table)),
      around,
    }
    return { subQueries: 1, within, where: (start) => compared(around(start, (table) => countOf(asked, table))) }
  }

  #attempt<T>(at: number, read: () => T): T | undefined {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof ValidationError)) throw error
      const { messages } = error
      // values of filters have no fields of their own
      for (const message of Array.isArray(messages) ? messages : ['Invalid value.']) this.#refuse(at, message)
      return undefined
    }
  }

  #refuse(at: number, message: string): void {
    this.errors.push(messageAt(this.#text, at, message))
  }
}

const NOTHING: CostedCondition = { subQueries: 0, where: () => ({ sql: 'false', bindings: [] }) }

/**
 * What is neither true nor false counts as false, so that `not(x)` is true for all rows but those of `x`. Of a sub-query, which
 * is one of both, it is NOT, by which PostgreSQL joins; it would read all rows of the sub-query for IS NOT TRUE.
 */
function join(kind: 'and' | 'or' | 'not', parts: readonly CostedCondition[]): CostedCondition {
  if (kind === 'or') return anyOf(parts)
  const negated = parts.every(({ within }) => within)
    ? (sql: string) => `not (${sql})`
    : (sql: string) => `(${sql}) is not true`
  return {
    subQueries: subQueriesOf(parts),
    where(start) {
      const { sql, bindings } = joinSql(
        parts.map((part) => part.where(start)),
        ` ${kind} `,
      )
      return { sql: kind === 'not' ? negated(sql) : `(${sql})`, bindings }
    },
  }
}

const OPERATORS: ReadonlyMap<string, string> = new Map([
  ['eq', '='],
  ['ne', '<>'],
  ['gt', '>'],
  ['gte', '>='],
  ['lt', '<'],
  ['lte', '<='],
])

const number = new IntegerField({ minValue: 0 })

/** The operator of a lookup, `__gte` or nothing for equality. @throws ValidationError there is no such lookup */
function operatorOf(lookup: string): string {
  const isNamed = lookup.startsWith(SEPARATOR)
  const operator = lookup === '' ? '=' : isNamed ? OPERATORS.get(lookup.slice(SEPARATOR.length)) : undefined
  if (operator !== undefined) return operator
  const name = isNamed ? lookup.slice(SEPARATOR.length) : ''
  throw new ValidationError(new UnknownNames('lookup').message(name, () => OPERATORS.keys()))
}

/** A number of objects. @throws ValidationError it is none */
function numberOf(text: string): number {
  return number.toInternalValue(number.fromText(text))
}
