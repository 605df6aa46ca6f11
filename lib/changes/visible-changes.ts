/** Of which changes of objects a caller may hear: of those that his list shows, or showed before them. */

import type { KeyValues, ObjectKey } from '../fields/object-key.js'
import { ConfigurationError } from '../kernel/errors.js'
import { writeJson } from '../kernel/json-numerals.js'
import { describeModel } from '../models/describe-model.js'
import type { Column } from '../models/model-description.js'
import type { AnyQueryBuilder, ModelClass } from '../models/objection.js'
import { bareName, writtenName } from '../models/table-reference.js'
import { nativeSql, type Queryable } from '../postgres/pg-types.js'
import { scopeOf } from '../postgres/scoped-knex.js'
import { runRaw } from '../postgres/type-parsers.js'
import { keyRows, PLACE } from '../queryset/key-rows.js'
import { readsWholeRows } from '../queryset/reads-whole-rows.js'
import { schemaOf } from '../queryset/schema-of.js'
import { whereAnyKey } from '../queryset/where-keys.js'
import type { GenericView } from '../views/generic-view.js'
import { visibleQuery } from '../views/steps/visible-query.js'
import { clientKey } from './change-log.js'
import type { RecordedChange } from './changes-table.js'
import { type RecordingViewClass, recordingOf } from './recording.js'

/** A change of one object, as far as one must know it to tell who saw the object. */
export type HeardChange = Pick<RecordedChange, 'id' | 'key'> & { readonly was: string | null }

/** What the list of a view's caller shows, to be asked of changes. */
export class VisibleChanges {
  readonly #view: GenericView
  readonly #model: ModelClass
  readonly #key: ObjectKey
  readonly #knex: Queryable
  /** Nothing narrows the list. */
  readonly #seesAll: boolean
  /** It makes nothing of rows, and says of each by itself whether it shows it: states of several may stand beside each other. */
  readonly #asksEach: boolean
  /** The same for callers with the same conditions. */
  readonly group: string

  /** @throws {ConfigurationError} the list depends on columns that are not recorded */
  constructor(view: GenericView) {
    const { plan } = view
    this.#view = view
    this.#model = plan.resource.model.model
    this.#key = clientKey(this.#model) as ObjectKey
    this.#knex = (view.knex ?? this.#model.knex()) as Queryable
    const query = this.#query()
    const { text, values } = nativeSql(query.toKnexQuery())
    const { settings } = scopeOf(this.#knex) ?? {}
    this.#seesAll = plan.resource.isWholeTable && view.scope() === undefined && !this.#hasPolicies
    this.#asksEach = readsWholeRows(query) && [...text.matchAll(named(this.#table, '(?!\\s*\\.)'))].length === 1
    this.group = writeJson([
      plan.viewClass.name,
      plan.basename,
      text,
      values,
      settings?.text,
      settings?.values,
    ]) as string
    if (!this.#seesAll) this.#checkColumns()
  }

  /** The changes that the caller may hear of. */
  async of<Change extends HeardChange>(changes: readonly Change[]): Promise<ReadonlySet<Change>> {
    if (this.#seesAll) return new Set(changes)
    const asked = this.#asked(changes)
    if (asked.length === 0) return new Set()
    const seen = new Set(await this.#seenNow(asked))
    const left = this.#hasPolicies ? [] : asked.filter(({ change }) => change.was !== null && !seen.has(change))
    if (left.length > 0) for (const change of await this.#seenBefore(left)) seen.add(change)
    return seen
  }

  /** Of which changes the caller sees the object now, and of which he saw it before; under policies nobody knows the latter. */
  async sides<Change extends HeardChange>(changes: readonly Change[]): Promise<SeenSides<Change>> {
    if (this.#seesAll) return { now: new Set(changes), before: new Set(changes) }
    const asked = this.#asked(changes)
    const was = this.#hasPolicies ? [] : asked.filter(({ change }) => change.was !== null)
    return {
      now: new Set(asked.length > 0 ? await this.#seenNow(asked) : []),
      before: new Set(was.length > 0 ? await this.#seenBefore(was) : []),
    }
  }

  /** What the columns of the object's key hold; undefined for a text that is no key any more. */
  keyOf({ key }: HeardChange): KeyValues | undefined {
    const { ctx } = this.#view
    return this.#key.fromText(key, { ctx, user: ctx.state['user'] as unknown })
  }

  /** The object's key, as answers show it. */
  shownKey(change: HeardChange): unknown {
    const { ctx } = this.#view
    const values = this.keyOf(change)
    return values ? this.#key.toText(values, { ctx, user: ctx.state['user'] as unknown }) : change.key
  }

  #asked<Change extends HeardChange>(changes: readonly Change[]): AskedChange<Change>[] {
    return changes.flatMap((change) => {
      const values = this.keyOf(change)
      return values ? [{ change, values }] : []
    })
  }

  /** Policies of the database are asked of rows that are there, and of no others. */
  get #hasPolicies(): boolean {
    return scopeOf(this.#knex) !== undefined || describeModel(this.#model).secured
  }

  get #table(): string {
    return writtenName(this.#knex, bareName(this.#model.tableName))
  }

  #query(): AnyQueryBuilder {
    return visibleQuery(this.#view)
  }

  async #seenNow<Change extends HeardChange>(asked: readonly AskedChange<Change>[]): Promise<readonly Change[]> {
    const values = asked.map((one) => one.values)
    const { columns } = this.#key
    const names = columns.map((_, index) => `k${index}`)
    const keys = keyRows({ columns, values, table: 'v', names })
    const visible = whereAnyKey(this.#query(), columns, values).toKnexQuery()
    const same = columns.map((_, index) => `s.?? = v.k${index}`).join(' and ')
    const sql = `select v.${PLACE} as place from ${keys.sql} join ? as s on ${same}`
    const bindings = [...keys.bindings, visible, ...columns.map(({ column }) => column)]
    return this.#found(asked, sql, bindings)
  }

  /** The rows as they were stand in the place of their table. */
  async #seenBefore<Change extends HeardChange>(asked: readonly AskedChange<Change>[]): Promise<readonly Change[]> {
    if (this.#asksEach) return this.#seenAmong(asked)
    const found: Change[] = []
    for (const one of asked) found.push(...(await this.#seenAmong([one])))
    return found
  }

  #seenAmong<Change extends HeardChange>(asked: readonly AskedChange<Change>[]): Promise<readonly Change[]> {
    const { columns } = this.#key
    const { tableName } = this.#model
    const keys = keyRows({
      columns,
      values: asked.map(({ values }) => values),
      table: 'v',
      names: columns.map((_, index) => `k${index}`),
    })
    const visible = this.#query()
    const schema = schemaOf(visible)
    const table = bareName(tableName)
    const stored = schema === undefined ? tableName : `${schema}.${tableName}`
    const same = columns.map((_, index) => `t.?? = v.k${index}`).join(' and ')
    const states = {
      sql: `select r.*, w.place as ${PLACE} from ${keys.sql}
        join unnest(?::text[]) with ordinality as w(was, place) on w.place = v.${PLACE}
        left join ?? as t on ${same} cross join lateral json_populate_record(t, w.was::json) as r`,
      bindings: [
        ...keys.bindings,
        asked.map(({ change }) => change.was),
        stored,
        ...columns.map(({ column }) => column),
      ],
    }
    const raw = this.#model.raw(states.sql, states.bindings)
    if (schema === undefined && !tableName.includes('.')) void visible.with(table, raw as never)
    else void visible.alias(table).from(this.#model.raw('(?) as ??', [raw, table] as never) as never)
    const place = this.#asksEach ? `s.${PLACE}` : '1'
    return this.#found(asked, `select ${place} as place from ? as s`, [visible.toKnexQuery()])
  }

  async #found<Change extends HeardChange>(
    asked: readonly AskedChange<Change>[],
    sql: string,
    bindings: readonly unknown[],
  ): Promise<readonly Change[]> {
    const { rows } = await runRaw<{ readonly rows: readonly { readonly place: unknown }[] }>(this.#knex, sql, bindings)
    return rows.map(({ place }) => (asked[Number(place) - 1] as AskedChange<Change>).change)
  }

  /** @throws {ConfigurationError} conditions name columns of which nobody knows what they held */
  #checkColumns(): void {
    if (this.#hasPolicies) return
    const { viewClass, rules } = this.#view.plan
    const recording = recordingOf(viewClass as RecordingViewClass & typeof viewClass, rules)
    const { deciding = [] } = recording.of(this.#model) ?? {}
    const query = this.#query().clearSelect()
    const { text } = nativeSql(query.toKnexQuery())
    const tables = [this.#table, bareName(query.tableRefFor(this.#model))]
    const asks = ({ column }: Column) => asksFor(text, tables, writtenName(this.#knex, column))
    const missing = [...describeModel(this.#model).columns.values()].find(
      (column) => !deciding.includes(column) && asks(column),
    )
    if (missing) {
      throw new ConfigurationError(
        `${viewClass.name}: ${missing.property} decides who sees an object, and is not recorded of it; add it: static changes = { visibleBy: ['${missing.property}'] }`,
      )
    }
  }
}

/** Changes, by when their objects are seen. */
export interface SeenSides<Change> {
  readonly now: ReadonlySet<Change>
  readonly before: ReadonlySet<Change>
}

interface AskedChange<Change> {
  readonly change: Change
  readonly values: KeyValues
}

/** True for SQL that names a column, by itself or behind a name of its table. */
function asksFor(text: string, tables: readonly string[], column: string): boolean {
  for (const { groups } of text.matchAll(named(column))) {
    const { table } = groups ?? {}
    if (table === undefined || tables.includes(table)) return true
  }
  return false
}

/** Finds a name in SQL, with quotes or without, and what stands before its dot. */
function named(name: string, behind = ''): RegExp {
  const own = name.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return new RegExp(`(?:"?(?<table>[\\w$]+)"?\\s*\\.\\s*)?(?<![\\w$"])"?${own}"?(?![\\w$"])${behind}`, 'g')
}
