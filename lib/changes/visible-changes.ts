/** Visibility of changes: a caller hears of those of objects that his list shows, or showed before them. */

import { AsyncLocalStorage } from 'node:async_hooks'
import type { Knex } from 'knex'
import type { KeyValues, ObjectKey } from '../fields/object-key.js'
import { ConfigurationError } from '../kernel/errors.js'
import { writeJson } from '../kernel/json-numerals.js'
import { oncePer } from '../kernel/once-per.js'
import { describeModel } from '../models/describe-model.js'
import type { Column } from '../models/model-description.js'
import type { AnyQueryBuilder, ModelClass } from '../models/objection.js'
import { deletionOf } from '../models/soft-deletes.js'
import { bareName, escaped, writtenName } from '../models/table-reference.js'
import { sqlStateOf } from '../postgres/database-errors.js'
import { nativeSql, type Queryable } from '../postgres/pg-types.js'
import type { StatementClient } from '../postgres/run-statement.js'
import { runsAsRole, scopeOf } from '../postgres/scoped-knex.js'
import { readRows } from '../postgres/type-parsers.js'
import { keyRows, PLACE } from '../queryset/key-rows.js'
import { readsWholeRows } from '../queryset/reads-whole-rows.js'
import { schemaOf } from '../queryset/schema-of.js'
import type { SqlPart } from '../queryset/sql-part.js'
import { whereAnyKey } from '../queryset/where-keys.js'
import type { GenericView } from '../views/generic-view.js'
import { visibleQuery } from '../views/steps/visible-query.js'
import { clientKey } from './change-log.js'
import { namesColumn, timesRead, withoutSchema } from './named-columns.js'
import { policyCondition } from './policy-condition.js'
import { type RecordingViewClass, recordingOf } from './recording.js'
import {
  type AskedChange,
  changeAt,
  givenStates,
  type HeardChange,
  laterState,
  rowStates,
  type SeenRow,
  stateAt,
} from './row-states.js'
import { endsOf, laterStates } from './select-changes.js'

/** After how many milliseconds a query is built anew. */
const WRITTEN_ANEW = 1_000

let count = 0
const numberOf = oncePer((_plan: object) => ++count)

/** Visibility of changes for the caller of a view's list. */
export class VisibleChanges {
  readonly #view: GenericView
  /** Queries are built by the request, whoever asks: a model may know its caller by an `AsyncLocalStorage`. */
  readonly #inRequest = AsyncLocalStorage.snapshot()
  readonly #model: ModelClass
  readonly #key: ObjectKey
  readonly #knex: Queryable
  /** Nothing but policies narrows the list. */
  readonly #isWhole: boolean
  /** It reads its table once. */
  readonly #readsOnce: boolean
  /** It makes nothing of rows, and says of each by itself whether it shows it: states of several may stand beside each other. */
  readonly #asksEach: boolean
  /** The query says in which schema its table is: nothing else can be read in its place. */
  readonly #namesSchema: boolean
  #policies: Promise<string | null | undefined> | undefined
  #text: { readonly raw: Knex.Raw; readonly until: number } | undefined
  /** The same for those whose lists one statement can ask for; undefined for those that have one of their own. */
  readonly together: object | undefined
  /** The same for callers of the same list, who know objects by the same keys. */
  readonly route: number
  /** The same for those of them with the same conditions. */
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
    this.#isWhole = plan.resource.isWholeTable && view.scope() === undefined
    this.#readsOnce = timesRead(text, this.#table) === 1
    this.#asksEach = this.#readsOnce && readsWholeRows(query)
    this.route = numberOf(plan)
    this.group = writeJson([this.route, text, values, settings?.text, settings?.values]) as string
    this.#namesSchema = schemaOf(query) !== undefined || this.#model.tableName.includes('.')
    const isPlain = !this.#isWhole && !this.#namesSchema && !this.#hasPolicies && scopeOf(this.#knex) === undefined
    this.together = isPlain ? this.#model : undefined
    if (!this.#isWhole) this.#checkColumns()
  }

  /**
   * The changes that each of these callers may hear of; of several, all are `together`.
   * @param recipient whoever waits for that: its statements are stopped once they are gone
   */
  static async ofAll<Change extends HeardChange>(
    all: readonly VisibleChanges[],
    changes: readonly Change[],
    recipient: StatementClient,
  ): Promise<readonly ReadonlySet<Change>[]> {
    const [first, second] = all
    if (!first) return []
    if (!second) return [await first.of(changes, recipient)]
    const found = all.map(() => new Set<Change>())
    const seen = await first.#seenBy(all, first.#askedOf(changes), { policies: null, recipient })
    for (const { own, change } of seen) found[own]?.add(change)
    return found
  }

  /** The changes that the caller may hear of. */
  async of<Change extends HeardChange>(
    changes: readonly Change[],
    recipient: StatementClient,
  ): Promise<ReadonlySet<Change>> {
    const { before, after } = await this.sides(changes, recipient)
    return new Set([...before, ...after])
  }

  /** Of which changes the caller saw the object before, and after them. */
  sides<Change extends HeardChange>(
    changes: readonly Change[],
    recipient: StatementClient,
  ): Promise<SeenSides<Change>> {
    return this.#inRequest(() => this.#sides(changes, recipient))
  }

  async #sides<Change extends HeardChange>(
    changes: readonly Change[],
    recipient: StatementClient,
  ): Promise<SeenSides<Change>> {
    const policies = this.#hasPolicies ? await this.#knownPolicies() : null
    const asked = this.#askedOf(changes)
    if (this.#isWhole && policies === null) {
      const own = new Set(asked.map(({ change }) => change))
      return { before: own, after: own }
    }
    if (asked.length === 0) return { before: new Set(), after: new Set() }
    // what reads a table twice by its schema reads it as it is
    if (policies === undefined || (this.#namesSchema && !this.#readsOnce))
      return { before: new Set(), after: new Set(await this.#seenNow(asked, recipient)) }
    const reading = { policies, recipient }
    const seen = await (this.#hasPolicies ? this.#seenByRole(asked, reading) : this.#seenAt(asked, reading))
    const on = (isAfter: boolean) => new Set(seen.filter((one) => one.isAfter === isAfter).map(({ change }) => change))
    return { before: on(false), after: on(true) }
  }

  #askedOf<Change extends HeardChange>(changes: readonly Change[]): readonly AskedChange<Change>[] {
    return changes.flatMap((change) => {
      const values = this.keyOf(change)
      if (!values) return []
      const former = this.#key.formerTexts(values)
      // as PostgreSQL writes an array
      const texts = [String(this.shownKey(change)), ...former].map((text) => JSON.stringify(text))
      const key = former.length > 0 ? `{${texts.join()}}` : change.key
      return [{ change, values, key }]
    })
  }

  /** The caller may be told which objects have changed: their keys hide nothing from him. */
  get namesObjects(): boolean {
    return this.#view.asked.mayName(this.#key)
  }

  /** What the columns of the object's key hold; undefined for a text that is no key any more. */
  keyOf({ key }: HeardChange): KeyValues | undefined {
    const { ctx } = this.#view
    return this.#key.fromText(key, { ctx, user: ctx.state['user'] as unknown })
  }

  /** The object's key, as answers show it, of a change that the caller may hear of. */
  shownKey(change: HeardChange): unknown {
    const { ctx } = this.#view
    const values = this.keyOf(change) as KeyValues
    return this.#key.toText(values, { ctx, user: ctx.state['user'] as unknown })
  }

  /** Policies of the database decide, too. */
  get #hasPolicies(): boolean {
    return runsAsRole(this.#knex) || describeModel(this.#model).secured
  }

  get #table(): string {
    return writtenName(this.#knex, bareName(this.#model.tableName))
  }

  #query(): AnyQueryBuilder {
    return visibleQuery(this.#view)
  }

  /** The query as SQL. What it says of the time may be a second old. */
  #written(): Knex.Raw {
    if (this.#text && this.#text.until > performance.now()) return this.#text.raw
    const { sql, bindings } = this.#inRequest(() => ofRow(this.#query()).toKnexQuery().toSQL())
    const raw = this.#knex.raw(sql, bindings as never)
    this.#text = { raw, until: performance.now() + WRITTEN_ANEW }
    return raw
  }

  /** Two statements read the next changes and the rows: where a row has changed in between, it is asked again. */
  async #seenByRole<Change extends HeardChange>(
    asked: readonly AskedChange<Change>[],
    reading: StateReading,
  ): Promise<readonly SeenRow<Change>[]> {
    const known = await this.#withLater(asked)
    const seen = await this.#seenAt(known, reading)
    const now = await this.#withLater(asked)
    const isSame = now.every(({ later }, index) => (later === null) === (known[index]?.later === null))
    return isSame ? seen : this.#seenByRole(asked, reading)
  }

  async #withLater<Change extends HeardChange>(
    asked: readonly AskedChange<Change>[],
  ): Promise<readonly AskedChange<Change>[]> {
    const changes = asked.map(({ change: { id, model }, key }) => ({ id, model, key }))
    const later = await laterStates(this.#knex, changes, isListed(asked))
    return asked.map((one, index) => ({ ...one, later: later[index] ?? null }))
  }

  /**
   * What columns held may be nothing that they take today (an enum's value was renamed, a type changed): then only those are read
   * that decide, and what is no use even so is asked of the row as it is.
   */
  async #seenAt<Change extends HeardChange>(
    asked: readonly AskedChange<Change>[],
    reading: StateReading,
  ): Promise<readonly SeenRow<Change>[]> {
    try {
      return await (this.#namesSchema ? this.#seenOf(asked, reading) : this.#seenBy([this], asked, reading))
    } catch (error) {
      if (!isOfValue(error)) throw error
      const narrow = { ...reading, only: this.#decidingNames(reading) }
      if (!reading.only) return this.#seenAt(asked, narrow)
      if (asked.length === 1) {
        const seen = await this.#seenNow(asked, reading.recipient)
        return seen.map((change) => ({ own: 0, change, isAfter: true }))
      }
      const half = asked.length >> 1
      return [...(await this.#seenAt(asked.slice(0, half), narrow)), ...(await this.#seenAt(asked.slice(half), narrow))]
    }
  }

  async #seenNow<Change extends HeardChange>(
    asked: readonly AskedChange<Change>[],
    recipient: StatementClient,
  ): Promise<readonly Change[]> {
    const values = asked.map((one) => one.values)
    const { columns } = this.#key
    const names = columns.map((_, index) => `k${index}`)
    const keys = keyRows({ columns, values, table: 'v', names })
    const visible = whereAnyKey(this.#query(), columns, values).toKnexQuery()
    const same = columns.map(() => 's.?? = ??').join(' and ')
    const sql = `select ?? as place from ${keys.sql} join ? as s on ${same}`
    const on = columns.flatMap(({ column }, index) => [column, `v.k${index}`])
    const bindings = [`v.${PLACE}`, ...keys.bindings, visible, ...on]
    const rows = await readRows<SeenPlace>(this.#knex, sql, bindings, recipient)
    return rows.map(({ place }) => changeAt(asked, place))
  }

  /**
   * The rows as they were before the changes, and after them, stand in the place of their table: all at once for a list that asks
   * each row by itself, else one by one. They are made once for all callers.
   */
  async #seenBy<Change extends HeardChange>(
    all: readonly VisibleChanges[],
    asked: readonly AskedChange<Change>[],
    reading: StateReading,
  ): Promise<readonly SeenRow<Change>[]> {
    if (asked.length === 0) return []
    const { tableName } = this.#model
    const states = this.#statesOf(asked, tableName, reading)
    const each = all.map((one, index) =>
      one.#asksEach
        ? `select ${index} as own, s.${PLACE} as place from (?) as s`
        : `select ${index} as own, t.${PLACE} as place from ?? as t
             cross join lateral (with ?? as (select t.*) select from (?) as s limit 1) as one`,
    )
    const rows = await readRows<SeenPlace>(
      this.#knex,
      `with ?? as materialized (${states.sql}) ${each.join(' union all ')}`,
      [
        tableName,
        ...states.bindings,
        ...all.flatMap((one) => [...(one.#asksEach ? [] : [tableName, tableName]), one.#written()]),
      ],
      reading.recipient,
    )
    return rows.map(({ own, place }) => stateAt(asked, place, own))
  }

  /** The same of one caller whose query names a schema. */
  async #seenOf<Change extends HeardChange>(
    asked: readonly AskedChange<Change>[],
    reading: StateReading,
  ): Promise<readonly SeenRow<Change>[]> {
    const query = ofRow(this.#query())
    const schema = schemaOf(query)
    const { tableName } = this.#model
    // the query may have given it another name
    const name = bareName(query.tableRefFor(this.#model))
    const stored = schema === undefined ? tableName : `${schema}.${tableName}`
    const { sql, bindings } = this.#statesOf(asked, stored, reading)
    const states = this.#asksEach
      ? this.#model.raw(`(${sql}) as ??`, [...bindings, name])
      : this.#model.raw('(select t.*) as ??', [name])
    const visible = query.alias(name).from(states as never)
    const { sql: text, bindings: values } = visible.toKnexQuery().toSQL()
    // conditions may be written already, of the table by its whole name
    const seen = withoutSchema(text, writtenName(this.#knex, stored.slice(0, stored.lastIndexOf('.'))), this.#table)
    const [from, given] = this.#asksEach
      ? [`select s.${PLACE} as place from (${seen}) as s`, values]
      : [
          `select t.${PLACE} as place from (${sql}) as t cross join lateral (select from (${seen}) as s limit 1) as one`,
          [...bindings, ...values],
        ]
    const rows = await readRows<SeenPlace>(this.#knex, from, given, reading.recipient)
    return rows.map(({ place }) => stateAt(asked, place))
  }

  /**
   * A row as it was before a change has the columns that the change has kept. After it, it is as it was before the next one;
   * where there is none yet, as it is. Those are left out that policies keep from the caller.
   * @param stored the table, with its schema
   */
  #statesOf(asked: readonly AskedChange<HeardChange>[], stored: string, { policies, only }: StateReading): SqlPart {
    const later = this.#hasPolicies ? givenStates(asked) : laterState(this.#knex, isListed(asked))
    const { columns } = this.#key
    const ends = endsOf(deletionOf(this.#model) !== undefined)
    const { sql, bindings } = rowStates(asked, { columns, stored, later, ends, only })
    if (policies === null) return { sql, bindings }
    const table = bareName(this.#model.tableName)
    return { sql: `select * from (${sql}) as ?? where ${escaped(policies)}`, bindings: [...bindings, table] }
  }

  #knownPolicies(): Promise<string | null | undefined> {
    this.#policies ??= this.#askPolicies()
    return this.#policies
  }

  /** What policies say of rows of the caller; undefined where that, or his list, asks for columns that are not recorded. */
  async #askPolicies(): Promise<string | null | undefined> {
    const condition = await policyCondition(this.#knex, this.#model.tableName)
    const isKnown = this.#unknownColumn === undefined && !this.#unknownOf(this.#namedBy(condition ?? '', [this.#table]))
    return isKnown ? condition : undefined
  }

  /** A column that decides and is not recorded; undefined where there is none. */
  get #unknownColumn(): Column | undefined {
    return this.#unknownOf(this.#namedByQuery())
  }

  #unknownOf(named: readonly Column[]): Column | undefined {
    const { viewClass, rules } = this.#view.plan
    const recording = recordingOf(viewClass as RecordingViewClass & typeof viewClass, rules)
    const { deciding = [] } = recording.of(this.#model) ?? {}
    return named.find((one) => !deciding.includes(one))
  }

  #namedByQuery(): readonly Column[] {
    const query = this.#query().clearSelect()
    const { text } = nativeSql(query.toKnexQuery())
    return this.#namedBy(text, [this.#table, bareName(query.tableRefFor(this.#model))])
  }

  #namedBy(text: string, tables: readonly string[]): readonly Column[] {
    const asks = ({ column }: Column) => namesColumn(text, tables, writtenName(this.#knex, column))
    return [...describeModel(this.#model).columns.values()].filter(asks)
  }

  /** The columns that conditions name, and the key. */
  #decidingNames({ policies }: StateReading): readonly string[] {
    const named = [...this.#namedByQuery(), ...this.#namedBy(policies ?? '', [this.#table]), ...this.#key.columns]
    return named.map(({ column }) => writtenName(this.#knex, column))
  }

  /** @throws {ConfigurationError} conditions name columns of which nobody knows what they held */
  #checkColumns(): void {
    const unknown = this.#hasPolicies ? undefined : this.#unknownColumn
    if (!unknown) return
    throw new ConfigurationError(
      `${this.#view.plan.viewClass.name}: ${unknown.property} decides who sees an object, and is not recorded of it; add it: static changes = { visibleBy: ['${unknown.property}'] }`,
    )
  }
}

/**
 * The query of a row that stands in the place of the table. It has no primary key, by which PostgreSQL knows the columns of a
 * group: so of groups it is asked whether there is one.
 */
function ofRow(query: AnyQueryBuilder): AnyQueryBuilder {
  if (!query.has(/^groupBy/)) return query
  return query
    .clearSelect()
    .clear(/^orderBy/)
    .select(query.modelClass().raw('1'))
}

/** Reader of row states. */
interface StateReading {
  /** What policies of the database say of them. */
  readonly policies: string | null
  /** The only columns that are taken from what changes have kept. @default all */
  readonly only?: readonly string[]
  /** Whoever waits for it. */
  readonly recipient: StatementClient
}

/** Changes, by when their objects are seen. */
export interface SeenSides<Change> {
  readonly before: ReadonlySet<Change>
  readonly after: ReadonlySet<Change>
}

interface SeenPlace {
  readonly place: unknown
  readonly own?: unknown
}

/** True where keys of changes are arrays of all that the object may have. */
function isListed(asked: readonly AskedChange<HeardChange>[]): boolean {
  return asked.some(({ change, key }) => key !== change.key)
}

/** True where PostgreSQL refuses a value: by its type (SQLSTATE class 22; 426 of some extensions'), or by the CHECK of a domain (23). */
function isOfValue(error: unknown): boolean {
  return /^(?:22|23|426)/.test(sqlStateOf(error) ?? '')
}
