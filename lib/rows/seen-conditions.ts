/**
 * Row rules in kept statements: what a caller sees of the related rows of a plan. Callers whose conditions have one text share
 * the statement, and each binds values of its own.
 */

import { isDeepStrictEqual } from 'node:util'
import type { AnyQueryBuilder, ModelClass } from '../models/objection.js'
import type { CompiledSql } from '../postgres/pg-types.js'
import { type Statement, statementOf } from '../postgres/run-statement.js'
import { type ConditionKey, conditionKey, mapValues, WHOLE_TABLE } from '../queryset/condition-key.js'
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
export type Places = readonly number[]

/** A statement for all callers whose conditions have the same texts. */
export interface KeptStatement extends Statement {
  /** Where its values come from; undefined where they are those of its own conditions, in order. */
  readonly places?: Places | undefined
}

interface Keeper {
  set(key: string, statement: KeptStatement): void
}

/** A statement that was compiled to be run, and once more with places in place of the conditions' values. */
interface Compiled {
  readonly run: CompiledSql
  readonly marked: CompiledSql
  /** The values of the conditions on the rows themselves. */
  readonly own: readonly unknown[]
}

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
      links: (through: ModelClass) => this.#mark(visible.links(through)),
      ofTable: (table, leading) => visible.ofTable(table, leading),
      written: (model, write) => visible.written(model, write),
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

  /** Keeps a statement, where it says for all callers what it says for this one. */
  keep(statements: Keeper, key: string, { run, marked, own }: Compiled): void {
    let next = 0
    const places = marked.values.map((value) => (value instanceof Place ? -1 - value.index : next++))
    const isSame =
      next === own.length &&
      marked.text === run.text &&
      isDeepStrictEqual(placedValues(places, own, this.key.values), run.values)
    if (isSame) statements.set(key, { places, ...statementOf(run.text) })
  }
}

/** Those of a caller to whom no related row is hidden. */
export const WHOLE_TABLES = new SeenConditions(WHOLE_TABLE, new Map())

/** The values of a kept statement for a caller. @param seen those of the conditions on related rows */
export function placedValues(places: Places, own: readonly unknown[], seen: readonly unknown[]): readonly unknown[] {
  return places.map((place) => (place < 0 ? seen[-1 - place] : own[place]))
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
