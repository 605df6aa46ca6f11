/** Join of a relation on the way of a path, as SQL: the tables that it leads to, and the condition that joins them. */

import { describeModel } from '../models/describe-model.js'
import type { RelationDescription } from '../models/model-description.js'
import { traitsOf } from '../models/model-traits.js'
import { type AnyQueryBuilder, type ModelClass, modelName } from '../models/objection.js'
import { bareName } from '../models/table-reference.js'
import { readsWholeRows } from '../queryset/reads-whole-rows.js'
import { relatedTo } from '../queryset/related-rows.js'
import { type ShownRowsOptions, shownRows, withAllColumns } from '../queryset/shown-rows.js'
import type { SqlPart } from '../queryset/sql-part.js'
import { orderByKey } from '../queryset/total-order.js'
import {
  leaveOutDeleted,
  leaveOutUnrelated,
  leaveOutUnseen,
  type RowCondition,
  seenTable,
  type VisibleRows,
} from '../queryset/visible-rows.js'

/** A table on the way. */
interface Source {
  readonly model: ModelClass
  /** What the mapping narrows its rows by. */
  readonly narrowing: unknown
  /** The column that marks rows as deleted, where those are left out. */
  readonly deletedBy?: string | undefined
}

/** A relation on the way, with the columns that join it. */
export interface RelationStep extends Source {
  /** The model whose relation it is. */
  readonly owner: ModelClass
  readonly name: string
  /** There is at most one related object for each owner. */
  readonly single: boolean
  /** Of several related objects the first is shown: the mapping orders them. */
  readonly isFirst: boolean
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

/** How a step is written. */
export interface JoinNames {
  /** The table that it starts at. */
  readonly owner: string
  /** What the related table is called, and the join table. */
  readonly related: string
  readonly through: string
  /** The schema of all of them; undefined where the connection knows. Not asked where nothing depends on it. */
  readonly schema: () => string | undefined
  /** The related rows there are, of whatever schema. @default those of the model's `query()` */
  readonly rows?: AnyQueryBuilder | undefined
  /** Another view set has them all, which names no schema. @default the related table is of the schema of all */
  readonly areListed?: boolean | undefined
  /** Whose rows are read; undefined for all there are. */
  readonly visible: VisibleRows | undefined
}

/** The tables that a step leads to, and the condition that a row of them belongs to one of its owner's. */
export function joinOf(step: RelationStep, names: JoinNames): { readonly from: SqlPart; readonly where: SqlPart } {
  const { owner, related, schema, areListed, visible } = names
  if (step.isFirst) return firstOf(step, names)
  const seen = visible?.related({ owner: step.owner, relation: step.name, model: step.model })
  const { rows = seen && 'query' in seen ? seen.query() : undefined } = names
  const own = { schema, rows, areListed, seen: seen && 'where' in seen ? seen : undefined }
  const source = sourceOf(step, own, related)
  const { through } = step
  if (!through) return { from: source, where: equal(owner, related, step.join) }
  const links = { schema, rows: undefined, seen: visible?.allowed(through.model(), 'read') }
  // a mapping that narrows the related rows may name columns of the join table, as in a query of Objection
  const joined = bareName(through.model().tableName)
  const readsLinks = step.narrowing !== undefined && joined !== owner
  const alias = readsLinks ? joined : names.through
  const table = sourceOf(joinSource(through), links, alias)
  const on = equal(alias, related, through.join)
  return {
    from: {
      sql: `${table.sql} join ${readsLinks ? 'lateral ' : ''}${source.sql} on ${on.sql}`,
      bindings: [...table.bindings, ...source.bindings, ...on.bindings],
    },
    where: equal(owner, alias, step.join),
  }
}

/** The one that is shown of several rows, as objects show it. The owner's keys have a name that its own table does not hide. */
function firstOf(step: RelationStep, { owner, related, through, schema, rows, visible }: JoinNames) {
  const relation = describeModel(step.owner).relations.get(step.name) as RelationDescription
  const keys = step.join.map((_, index) => `key${index}`)
  const references = keys.map((key) => `${through}.${key}`)
  const found = relatedTo(step.owner, relation, references)
  const selection = selectionOf(step.model)
  const query = selection ? withAllColumns(found, selection) : found
  leaveOutUnrelated(query, visible, { owner: step.owner, relation }, rows)
  leaveOutDeleted(query, step)
  orderByKey(query)
  const own = schema()
  const first = (own === undefined ? query : query.withSchema(own)).limit(1)
  const named = step.join.flatMap(([column], index) => [`${owner}.${column}`, keys[index] as string])
  return {
    from: {
      sql: `lateral (select ${keys.map(() => '?? as ??').join(', ')}) as ?? cross join lateral ? as ??`,
      bindings: [...named, through, first, related],
    },
    where: { sql: 'true', bindings: [] },
  }
}

interface SeenNames extends Pick<JoinNames, 'schema' | 'rows' | 'areListed'> {
  /** The related rows that the caller sees. */
  readonly seen: RowCondition | undefined
}

/** True where a mapping, or a model's own `query()`, leaves out rows: the SQL is known only once it is built. */
export function isNarrowed(step: RelationStep): boolean {
  return !isWhole(step) || (step.through !== undefined && !isWhole(joinSource(step.through)))
}

function joinSource({ model, narrowing }: Through): Source {
  return { model: model(), narrowing }
}

function isWhole({ model, narrowing, deletedBy }: Source): boolean {
  return narrowing === undefined && deletedBy === undefined && traitsOf(model).plainQueries
}

/** The related table, or a query for the part of it that the mapping and the model's own `query()` narrow it to. */
function sourceOf(source: Source, names: SeenNames, alias: string): SqlPart {
  const { model, narrowing } = source
  const { rows, areListed, seen } = names
  const schema = rows || areListed ? undefined : names.schema()
  if (!rows && isWhole(source)) {
    if (seen) {
      const { sql, bindings } = seenTable(model, seen, schema)
      return { sql: `${sql} as ??`, bindings: [...bindings, alias] }
    }
    return {
      sql: '?? as ??',
      bindings: [schema === undefined ? model.tableName : `${schema}.${model.tableName}`, alias],
    }
  }
  const query = shownBy(model, narrowed(rows ?? model.query(), narrowing))
  // what another view set shows is what it sees
  if (!rows) leaveOutUnseen(query, seen)
  leaveOutDeleted(query, source)
  return {
    sql: '? as ??',
    bindings: [schema === undefined ? query : query.withSchema(schema), alias],
  }
}

/** The rows of a query as it shows them, whichever columns it selects. */
function shownBy(model: ModelClass, query: AnyQueryBuilder): AnyQueryBuilder {
  const selection = readsWholeRows(query) ? undefined : selectionOf(model)
  return selection ? (shownRows(query, selection)?.clearSelect() ?? withAllColumns(query, selection)) : query
}

/** How a query of a model is asked what it selects; undefined without a connection, where nobody knows. */
function selectionOf(model: ModelClass): ShownRowsOptions | undefined {
  return model.knex() ? { name: modelName(model), model: describeModel(model) } : undefined
}

/** Mappings take a function, the name of a modifier, a list of those, or an object of equalities. */
function narrowed(query: AnyQueryBuilder, narrowing: unknown): AnyQueryBuilder {
  if (narrowing === undefined) return query
  const isModifier = typeof narrowing === 'function' || typeof narrowing === 'string' || Array.isArray(narrowing)
  return isModifier ? query.modify(narrowing as never) : query.where(narrowing as never)
}

function equal(left: string, right: string, pairs: RelationStep['join']): SqlPart {
  return {
    sql: pairs.map(() => '?? = ??').join(' and '),
    bindings: pairs.flatMap(([one, other]) => [`${left}.${one}`, `${right}.${other}`]),
  }
}
