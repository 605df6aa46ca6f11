/** A column that a declaration leads to, and its SQL: conditions and values behind any number of relations. */
import type { Column } from '../models/model-description.js'
import { traitsOf } from '../models/model-traits.js'
import type { AnyQueryBuilder, ModelClass } from '../models/objection.js'
import type { SqlPart } from '../queryset/keyset.js'
import { schemaOf } from '../queryset/schema-of.js'

/** A table on the way. */
interface Source {
  readonly model: ModelClass
  /** What the mapping narrows its rows by. */
  readonly narrowing: unknown
}

/** A relation on the way, with the columns that join it. */
export interface Step extends Source {
  readonly name: string
  /** There is at most one related object for each owner. */
  readonly single: boolean
  /** Pairs of columns: the owner's and the related table's, or the join table's in its place. */
  readonly join: readonly (readonly [owner: string, other: string])[]
  readonly through: Through | undefined
}

/** The join table of a relation. */
interface Through {
  readonly model: () => ModelClass
  readonly narrowing: unknown
  /** Pairs of columns: the join table's and the related table's. */
  readonly join: readonly (readonly [through: string, related: string])[]
}

/** The start of paths: the list's table, as its query names it, in the schema that the query reads. */
export class PathStart {
  readonly table: string
  readonly #query: AnyQueryBuilder
  #schema: string | null | undefined = null

  constructor(query: AnyQueryBuilder) {
    this.table = query.tableRefFor(query.modelClass())
    this.#query = query
  }

  /** Asked for on the way to other tables only: to know it the query is built. */
  get schema(): string | undefined {
    if (this.#schema === null) this.#schema = schemaOf(this.#query)
    return this.#schema
  }
}

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
  readonly #steps: readonly Step[]

  constructor(name: string, column: Column, steps: readonly Step[], key?: string) {
    this.name = name
    this.target = key ?? '??'
    this.isKey = key !== undefined
    this.column = column
    this.single = steps.every((step) => step.single)
    this.properties = [...steps.map((step) => step.name), column.property]
    this.#steps = steps
    this.narrowed = steps.some((step) => !isWhole(step) || (step.through && !isWhole(joinSource(step.through))))
  }

  get related(): boolean {
    return this.#steps.length > 0
  }

  /** A condition on the column. On a related one it is EXISTS, so that no row of the list is multiplied. */
  where(start: PathStart, condition: (reference: string) => SqlPart): SqlPart {
    return this.#from(start, EXISTS, (related) => condition(`${related}.${this.column.column}`))
  }

  /** The value of the column, as an expression; on a path that is `single`. */
  value(start: PathStart, expression: (reference: string) => SqlPart): SqlPart {
    return this.#from(start, SELECT, (related) => expression(`${related}.${this.column.column}`))
  }

  #from(start: PathStart, form: Form, inner: (table: string) => SqlPart): SqlPart {
    const from = (owner: string, index: number): SqlPart => {
      const step = this.#steps[index]
      if (!step) return inner(owner)
      // with a space, so that it cannot be a table of the application's
      const related = `related ${index + 1}`
      const { schema } = start
      const source = sourceOf(step, { schema, alias: related })
      const { through } = step
      const join = through
        ? joinThrough(source, through, { owner, related, index, schema, keys: step.join })
        : { from: source, where: equal(owner, related, step.join) }
      return form(join.from, join.where, from(related, index + 1))
    }
    return from(start.table, 0)
  }
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

function joinSource({ model, narrowing }: Through): Source {
  return { model: model(), narrowing }
}

/** True when neither the mapping nor the model's own `query()` leaves out rows. */
function isWhole({ model, narrowing }: Source): boolean {
  return narrowing === undefined && traitsOf(model).plainQueries
}

/** The related table, or a query for the part of it that the mapping and the model's own `query()` narrow it to. */
function sourceOf(source: Source, { schema, alias }: { schema: string | undefined; alias: string }): SqlPart {
  const { model, narrowing } = source
  if (isWhole(source)) {
    return {
      sql: '?? as ??',
      bindings: [schema === undefined ? model.tableName : `${schema}.${model.tableName}`, alias],
    }
  }
  const query = narrowed(model.query(), narrowing)
  return { sql: '? as ??', bindings: [schema === undefined ? query : query.withSchema(schema), alias] }
}

/** Mappings take a function, the name of a modifier, a list of those, or an object of equalities. */
function narrowed(query: AnyQueryBuilder, narrowing: unknown): AnyQueryBuilder {
  if (narrowing === undefined) return query
  const isModifier = typeof narrowing === 'function' || typeof narrowing === 'string' || Array.isArray(narrowing)
  return isModifier ? query.modify(narrowing as never) : query.where(narrowing as never)
}

interface Between {
  readonly owner: string
  readonly related: string
  readonly index: number
  readonly schema: string | undefined
  readonly keys: Step['join']
}

function joinThrough(source: SqlPart, through: Through, { owner, related, index, schema, keys }: Between) {
  const alias = `through ${index + 1}`
  const table = sourceOf(joinSource(through), { schema, alias })
  const on = equal(alias, related, through.join)
  return {
    from: {
      sql: `${table.sql} join ${source.sql} on ${on.sql}`,
      bindings: [...table.bindings, ...source.bindings, ...on.bindings],
    },
    where: equal(owner, alias, keys),
  }
}

function equal(left: string, right: string, pairs: Step['join']): SqlPart {
  return {
    sql: pairs.map(() => '?? = ??').join(' and '),
    bindings: pairs.flatMap(([one, other]) => [`${left}.${one}`, `${right}.${other}`]),
  }
}
