/**
 * Row rules in kept statements: what a caller sees of the related rows of a plan. Callers whose conditions have one text share
 * the statement, and each binds values of its own.
 */

import { isDeepStrictEqual } from 'node:util'
import type { AnyQueryBuilder } from '../models/objection.js'
import type { CompiledSql } from '../postgres/pg-types.js'
import { type Statement, statementOf } from '../postgres/run-statement.js'
import { type ConditionKey, conditionKey, mapValues, WHOLE_TABLE } from '../queryset/condition-key.js'
import { OwnPlace } from '../queryset/query-key.js'
import {
  type Leading,
  type RowCondition,
  type SeenRows,
  seenBy,
  seenRelated,
  type VisibleRows,
  visibleRowsOf,
} from '../queryset/visible-rows.js'
import type { RowPlan } from './row-shape.js'

/** The place of a value of such a condition in the statement that is compiled to be kept. */
class Place {
  readonly index: number

  constructor(index: number) {
    this.index = index
  }
}

/** For each value that a statement binds: which of its own it is, or, as `-1 - index`, which of those of the conditions. */
type Places = readonly number[]

/** A statement for all callers whose conditions have the same texts. */
export interface KeptStatement extends Statement {
  /** Source of its values; undefined where they are those of its own conditions, in order. */
  readonly places: Places | undefined
}

interface Keeper {
  get(key: string): KeptStatement | undefined
  set(key: string, statement: KeptStatement): void
}

/** A statement, and its values. */
export interface BoundStatement {
  readonly statement: Statement
  readonly values: readonly unknown[]
}

/** What makes a statement besides, and the values of the conditions on the rows themselves. */
export interface OwnValues {
  readonly key: string
  readonly own: readonly unknown[]
  /** How many of them are those of a query of the application's. */
  readonly begun?: number | undefined
  /** Where these begin. @default [0] */
  readonly starts?: readonly number[] | undefined
}

type CompileSeen = (seen: SeenConditions | undefined) => CompiledSql

/** The conditions on the related rows of a plan, for one caller. */
export class SeenConditions {
  /** Their texts, and the values of all of them, one after the other. */
  readonly key: ConditionKey
  /** For each of them, where its values begin. */
  readonly #starts: ReadonlyMap<RowCondition, number>

  constructor(key: ConditionKey, starts: ReadonlyMap<RowCondition, number>) {
    this.key = key
    this.#starts = starts
  }

  /** All related rows are seen. */
  get isWhole(): boolean {
    return this.#starts.size === 0
  }

  /** The query, whose conditions on related rows bind places in place of values. */
  marked(query: AnyQueryBuilder): AnyQueryBuilder {
    const visible = visibleRowsOf(query)
    return visible ? seenBy(query, this.#marking(visible)) : query
  }

  #marking(visible: VisibleRows): VisibleRows {
    return {
      related: (leading: Leading) => this.#mark(visible.related(leading)),
      ofTable: (target, leading) => visible.ofTable(target, leading),
      allowed: (model, does) => this.#mark(visible.allowed(model, does)),
      ofField: (model, property, use) => visible.ofField(model, property, use),
    }
  }

  #mark<Rows extends SeenRows>(rows: Rows | undefined): Rows | RowCondition | undefined {
    if (!rows || 'query' in rows) return rows
    const start = this.#starts.get(rows)
    if (start === undefined) return rows
    return {
      where(table, schema) {
        let index = start
        return mapValues(rows.where(table, schema), () => new Place(index++))
      },
    }
  }

  /**
   * The statement of a key, and what it binds for this caller. It is compiled where none is kept, and kept where it says for all
   * callers what it says for this one.
   * @param compile with conditions, the statement to keep: its query is `marked()` by them, and that of an application has places
   */
  bind(statements: Keeper, asked: OwnValues, compile: CompileSeen): BoundStatement {
    const { key, own, begun } = asked
    const kept = statements.get(key)
    if (kept) return { statement: kept, values: placedValues(kept.places, own, this.key.values) }
    const { text, values } = compile(undefined)
    const statement = statementOf(text)
    const marked = this.isWhole && !begun ? undefined : compile(this)
    const places = marked && placesOf(marked, asked)
    const isSame = places !== null && isDeepStrictEqual(placedValues(places, own, this.key.values), values)
    if (isSame && (marked?.text ?? text) === text) statements.set(key, { places, ...statement })
    return { statement, values }
  }
}

/** Conditions of a caller who sees all related rows. */
export const WHOLE_TABLES = new SeenConditions(WHOLE_TABLE, new Map())

/** Null where a value of the application's query stands elsewhere than among its own. */
function placesOf({ values }: CompiledSql, { begun = 0, starts = [0] }: OwnValues): Places | null {
  let next = 0
  const places: number[] = []
  for (const value of values) {
    if (value instanceof OwnPlace) {
      const isThere = starts.some((start) => next === start + value.index)
      if (!isThere || value.index >= begun) return null
    }
    places.push(value instanceof Place ? -1 - value.index : next++)
  }
  return places
}

function placedValues(
  places: Places | undefined,
  own: readonly unknown[],
  seen: readonly unknown[],
): readonly unknown[] {
  return places ? places.map((place) => (place < 0 ? seen[-1 - place] : own[place])) : own
}

/** The conditions on all rows that a plan relates to its own; undefined where another query stands in the place of a table. */
export function seenConditions(plan: RowPlan, visible: VisibleRows): SeenConditions | undefined {
  const starts = new Map<RowCondition, number>()
  const values: unknown[] = []
  let text = ''
  for (const rows of relatedRows(plan, visible)) {
    if (rows && 'query' in rows) return undefined
    text += '\0'
    if (!rows) continue
    const key = conditionKey([rows.where('t')])
    if (!key) return undefined
    text += key.text
    if (starts.has(rows)) continue
    starts.set(rows, values.length)
    values.push(...key.values)
  }
  return new SeenConditions(starts.size === 0 ? WHOLE_TABLE : { text, values }, starts)
}

function* relatedRows(plan: RowPlan, visible: VisibleRows): Generator<SeenRows | undefined> {
  for (const { parent, relation } of plan.joins) {
    const owner = plan.joins.find((join) => join.table === parent)?.relation.model ?? plan.model
    yield visible.related({ owner, relation: relation.name, model: relation.model })
  }
  for (const { content } of plan.lists) {
    const { rows, links } = seenRelated(visible, content) ?? {}
    yield rows
    yield links
    if (content.kind === 'list') yield* relatedRows(content.plan, visible)
  }
}
