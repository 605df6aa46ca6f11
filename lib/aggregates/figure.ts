/** Figures: the values of an aggregated answer, their SQL, and how they are shown. */

import { ExternalIdField } from '../fields/external-id-field.js'
import { representationOf, type SerializerContext, type SerializerField } from '../fields/field.js'
import type { FieldPath, PathStart } from '../filters/field-path.js'
import { joinedTerm } from '../filters/resolve-paths.js'
import { describeModel } from '../models/describe-model.js'
import { comparedSql } from '../models/model-description.js'
import type { AnyQueryBuilder, ModelClass } from '../models/objection.js'
import type { SqlPart } from '../queryset/sql-part.js'
import type { OrderTerm } from '../queryset/total-order.js'
import type { BoundField } from '../serializers/contract.js'

/** What is selected of all objects together, or what they are grouped by. */
export class Figure {
  readonly name: string
  /** The name of the column or path behind it, without what is made of it; undefined of `count()`. */
  readonly column: string | undefined
  /** PostgreSQL's number of the value's type, by which the application's own pg chooses a parser. */
  readonly oid: number
  readonly field: SerializerField
  /** The serializer's own field, where it is that. */
  readonly bound: BoundField | undefined
  readonly mayBeNull: boolean
  readonly #path: FieldPath | undefined
  readonly #wrap: (value: string) => string

  constructor({ name, path, oid, field, bound, mayBeNull, wrap = asItIs }: FigureOptions) {
    this.name = name
    this.column = path?.name
    this.oid = oid
    this.field = field
    this.bound = bound
    this.mayBeNull = mayBeNull
    this.#path = path
    this.#wrap = wrap
  }

  /** The same value under another name. */
  named(name: string): Figure {
    const { oid, field, bound, mayBeNull } = this
    return new Figure({ name, path: this.#path, oid, field, bound, mayBeNull, wrap: this.#wrap })
  }

  /** Ids are written that only users have. */
  get needsUser(): boolean {
    return this.field instanceof ExternalIdField && this.field.ids.perUser
  }

  /** What can be joined to a query for the value, which is looked up for each row without. */
  joined(query: AnyQueryBuilder): OrderTerm | undefined {
    return this.#path?.related ? joinedTerm(describeModel(query.modelClass() as ModelClass), this.#path) : undefined
  }

  /** The expression to select. @param joined the query, where `joined()` was joined to it */
  sql(start: PathStart, joined?: AnyQueryBuilder): SqlPart {
    if (!this.#path) return { sql: this.#wrap(''), bindings: [] }
    const sql = comparedSql(this.#path.column)
    const value =
      (joined && this.joined(joined)?.related?.value(joined)) ??
      this.#path.value(start, (reference) => ({ sql: '??', bindings: [reference] }))
    return { sql: this.#wrap(sql.replace('??', () => value.sql)), bindings: value.bindings }
  }

  /** The value as JSON shows it. */
  show(value: unknown, context: SerializerContext): unknown {
    return value === null || value === undefined ? null : representationOf(this.field, value, context)
  }
}

export interface FigureOptions {
  readonly name: string
  readonly path?: FieldPath | undefined
  readonly oid: number
  readonly field: SerializerField
  readonly bound?: BoundField | undefined
  readonly mayBeNull: boolean
  /** The SQL that is made of the column's. @default the column itself */
  readonly wrap?: (value: string) => string
}

const asItIs = (value: string) => value
