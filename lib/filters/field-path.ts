/** A column that a declaration leads to, and its SQL: conditions and values behind any number of relations. */
import type { Column } from '../models/model-description.js'
import type { AnyQueryBuilder } from '../models/objection.js'
import { schemaOf } from '../queryset/schema-of.js'
import type { SqlPart } from '../queryset/sql-part.js'
import { type VisibleRows, visibleRowsOf } from '../queryset/visible-rows.js'
import { isNarrowed, joinOf, type RelationStep } from './step.js'

interface PathStartOptions {
  /** The schema that the query reads, where the connection does not say; asked on the way to other tables only. */
  readonly schema?: (() => string | undefined) | undefined
  readonly depth?: number
  readonly visible?: VisibleRows | undefined
}

const NO_SCHEMA = () => undefined

/** The start of paths: the table that a condition is about, by the name that its query has for it. */
export class PathStart {
  /** The table's name in the query: columns stand behind it and a dot. */
  readonly table: string
  /** How many conditions on related objects stand around it. */
  readonly depth: number
  /** Whose rows the way leads to; undefined for all there are. */
  readonly visible: VisibleRows | undefined
  readonly #schema: () => string | undefined

  constructor(table: string, { schema = NO_SCHEMA, depth = 0, visible }: PathStartOptions = {}) {
    this.table = table
    this.depth = depth
    this.visible = visible
    this.#schema = schema
  }

  /** The table of a query, by the name that it has there. To know its schema the query is built. */
  static of(query: AnyQueryBuilder, table = query.tableRefFor(query.modelClass())): PathStart {
    let known: { schema: string | undefined } | undefined
    const schema = () => {
      known ??= { schema: schemaOf(query) }
      return known.schema
    }
    return new PathStart(table, { schema, visible: visibleRowsOf(query) })
  }

  get schema(): string | undefined {
    return this.#schema()
  }

  /** The start of paths from the table of related objects, which is in a schema of its own, or where the connection says. */
  below(table: string, schema: string | undefined): PathStart {
    return new PathStart(table, { schema: () => schema, depth: this.depth + 1, visible: this.visible })
  }
}

/** @internal A condition on the rows of a table, by whatever name a query has for it. */
export type Where = (start: PathStart) => SqlPart

/** A column that a declaration names. */
export class FieldPath {
  /** The name as it was declared. */
  readonly name: string
  readonly column: Column
  /** There is at most one value for each object. */
  readonly single: boolean
  /** A mapping or a model on the way has a query of its own: the SQL is known only once it is built. */
  readonly narrowed: boolean
  /** The relations on the way, and the property at the end. */
  readonly properties: readonly string[]
  /** SQL for the value, with `??` for the column's name. */
  readonly target: string
  /** It is the text at a key of a column of JSON. */
  readonly isKey: boolean
  readonly #steps: readonly RelationStep[]

  constructor(name: string, column: Column, steps: readonly RelationStep[], key?: string) {
    this.name = name
    this.target = key ?? '??'
    this.isKey = key !== undefined
    this.column = column
    this.single = steps.every((step) => step.single)
    this.properties = [...steps.map((step) => step.name), column.property]
    this.#steps = steps
    this.narrowed = steps.some(isNarrowed)
  }

  get related(): boolean {
    return this.#steps.length > 0
  }

  /** How many sub-queries a condition or a value is: one for each relation on the way. */
  get subQueries(): number {
    return this.#steps.length
  }

  /** A condition on the column. On a related one it is EXISTS, so that no row of the list is multiplied. */
  where(start: PathStart, condition: (reference: string) => SqlPart): SqlPart {
    return this.whereRow(start, (table) => condition(`${table}.${this.column.column}`))
  }

  /** A condition on the row that the column is of, by what its table is called. */
  whereRow(start: PathStart, condition: (table: string) => SqlPart): SqlPart {
    return this.#from(start, EXISTS, condition)
  }

  /** The value of the column, as an expression; on a path that is `single`. */
  value(start: PathStart, expression: (reference: string) => SqlPart): SqlPart {
    return this.#from(start, SELECT, (table) => expression(`${table}.${this.column.column}`))
  }

  /**
   * SQL that joins the value of the column to a query, under names of its own: those of the tables on the way are not seen
   * from outside. On a path that is `single`, and whose steps lead to one row each; not over a join table.
   */
  join(start: PathStart, { alias, value }: { readonly alias: string; readonly value: string }): SqlPart {
    const joins = this.#steps.map((step, index) =>
      joinOf(step, {
        owner: related(index),
        related: related(index + 1),
        through: '',
        schema: () => start.schema,
        visible: start.visible,
      }),
    )
    const [first, ...others] = joins
    const keys = this.#steps[0]?.join ?? []
    const columns = keys.map(([, key], index) => [`${related(1)}.${key}`, `order key ${index + 1}`])
    const bindings = [
      ...[...columns, [`${related(joins.length)}.${this.column.column}`, value]].flat(),
      ...(first?.from.bindings ?? []),
      ...others.flatMap(({ from, where }) => [...from.bindings, ...where.bindings]),
      alias,
      ...keys.flatMap(([owner], index) => [`${start.table}.${owner}`, `${alias}.order key ${index + 1}`]),
    ]
    const selected = Array(columns.length + 1).fill('?? as ??')
    const tables = others.map(({ from, where }) => ` left join ${from.sql} on ${where.sql}`)
    return {
      sql: `left join (select ${selected.join(', ')} from ${first?.from.sql}${tables.join('')}) as ?? on ${keys.map(() => '?? = ??').join(' and ')}`,
      bindings,
    }
  }

  #from(start: PathStart, form: Form, inner: (table: string) => SqlPart): SqlPart {
    const from = (owner: string, index: number): SqlPart => {
      const step = this.#steps[index]
      if (!step) return inner(owner)
      const name = related(index + 1)
      const join = joinOf(step, {
        owner,
        related: name,
        through: `through ${index + 1}`,
        schema: () => start.schema,
        visible: start.visible,
      })
      return form(join.from, join.where, from(name, index + 1))
    }
    return from(start.table, 0)
  }
}

/** What a table on the way is called: with a space, so that it cannot be one of the application's. */
function related(step: number): string {
  return `related ${step}`
}

type Form = (from: SqlPart, join: SqlPart, inner: SqlPart) => SqlPart

const EXISTS: Form = (from, join, inner) => ({
  sql: `exists (select 1 from ${from.sql} where ${join.sql} and ${inner.sql})`,
  bindings: [...from.bindings, ...join.bindings, ...inner.bindings],
})

const SELECT: Form = (from, join, inner) => ({
  // a has-one relation may have led to several: nothing but a unique constraint would keep them out
  sql: `(select ${inner.sql} from ${from.sql} where ${join.sql} limit 1)`,
  bindings: [...inner.bindings, ...from.bindings, ...join.bindings],
})
