/** The ways in which an application says what a caller may see: shapes of a queryset that all say a condition. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { Model, QueryBuilder, raw } from 'objection'
import type { Level } from './estate.js'
import { all, any, atom, type Caller, type Condition, type Sql, toSql } from './visibility.js'

/** Who asks, for queries that are made where no request is at hand. */
export const caller = new AsyncLocalStorage<Caller>()

type Query = QueryBuilder<Model, Model[]>
type ModelClass = typeof Model

/** What a queryset is made for. */
export interface Place {
  readonly level: Level
  readonly condition: Condition
}

export interface Shape {
  readonly name: string
  /** What callers see in truth: some shapes add something to the condition. */
  sees(condition: Condition): Condition
  /** What `getQueryset()` makes of the view's query. */
  narrow?(query: Query, place: Place, by: Caller): Query
  /** A column that it adds to each row: how often the row was granted. */
  readonly column?: string
  /** Rules of the API say the condition, and not the view. */
  readonly isRule?: boolean
  /** It also changes what the application's own writes are about, which is the application's to mind. */
  readonly touchesWrites?: boolean
  /** The model, in place of the plain one. */
  model?(plain: ModelClass, place: Place): ModelClass
  /** `static queryset` */
  queryset?(model: ModelClass, place: Place): () => Query
}

const itself = (condition: Condition): Condition => condition
const rawOf = ({ sql, bindings }: Sql) => raw(sql, bindings)

/** One call for each part at the top: `where(a).orWhere(b)`. */
function chain(query: Query, { level, condition }: Place, by: Caller, t: string = level): Query {
  const isAny = 'any' in condition
  const parts = isAny ? condition.any : 'all' in condition ? condition.all : [condition]
  for (const part of parts) {
    const sql = toSql(part, t, { level, caller: by })
    const grouped = rawOf({ ...sql, sql: `(${sql.sql})` })
    void (isAny ? query.orWhere(grouped as never) : query.where(grouped as never))
  }
  return query
}

const inOneText = ({ level, condition }: Place, by: Caller, t: string = level): Sql =>
  toSql(condition, t, { level, caller: by })

const current = (): Caller => caller.getStore() ?? null

/** A model whose every query, or every find, gets the condition when it is built. */
function hooked(plain: ModelClass, place: Place, findsOnly: boolean): ModelClass {
  class Hooked<M extends Model, R = M[]> extends QueryBuilder<M, R> {
    constructor(...args: never[]) {
      super(...(args as []))
      this.onBuild((query) => {
        const meant = query as unknown as Query
        if (findsOnly ? meant.isFind() : !meant.isInsert()) chain(meant, place, current())
      })
    }
  }
  return class extends plain {
    static override QueryBuilder = Hooked
  }
}

const keeperActive: Condition = all(atom('ownerActive'))

/** The table joined with what was granted of it to the caller. */
function granted(query: Query, { level, condition }: Place, by: Caller): Query {
  const told = toSql(condition, level, { level, caller: by })
  return query
    .join(`${level}_grants as held`, 'held.row_id', `${level}.id`)
    .where('held.person_id', by as number)
    .where(rawOf({ ...told, sql: `(${told.sql})` }) as never)
}

export const RULE: Shape = { name: 'a rule', sees: itself, isRule: true }

export const SHAPES: readonly Shape[] = [
  { name: 'where and orWhere', sees: itself, narrow: (query, place, by) => chain(query, place, by) },
  {
    name: 'where of one raw text',
    sees: itself,
    narrow: (query, place, by) => query.where(rawOf(inOneText(place, by)) as never),
  },
  {
    name: 'whereRaw',
    sees: itself,
    narrow(query, place, by) {
      const { sql, bindings } = inOneText(place, by)
      return query.whereRaw(sql, bindings)
    },
  },
  {
    name: 'orWhereRaw',
    sees: (condition) => any(atom('open'), condition),
    narrow(query, place, by) {
      const { sql, bindings } = inOneText(place, by)
      return query.where(`${place.level}.open`, true).orWhereRaw(sql, bindings)
    },
  },
  {
    name: 'a group',
    sees: itself,
    narrow: (query, place, by) => query.where((group) => void chain(group as never, place, by)),
  },
  {
    name: 'static queryset',
    sees: itself,
    queryset: (model, place) => () => chain(model.query(), place, current()),
  },
  {
    name: 'static queryset of one raw text',
    sees: itself,
    queryset: (model, place) => () => model.query().where(rawOf(inOneText(place, current())) as never),
  },
  {
    name: 'onBuild of the query',
    sees: itself,
    narrow: (query, place, by) => query.onBuild((built) => void chain(built, place, by)),
  },
  {
    name: 'onBuild of the query with orWhere only',
    sees: (condition) => any(condition, atom('open')),
    narrow: (query, place, by) =>
      query
        .where(rawOf({ ...inOneText(place, by), sql: `(${inOneText(place, by).sql})` }) as never)
        .onBuild((built) => void built.orWhere(`${place.level}.open`, true)),
  },
  {
    name: 'onBuild of the model',
    sees: itself,
    touchesWrites: true,
    model: (plain, place) => hooked(plain, place, false),
  },
  { name: 'onBuild of finds of the model', sees: itself, model: (plain, place) => hooked(plain, place, true) },
  {
    name: 'a modifier',
    sees: itself,
    model: (plain, place) =>
      class extends plain {
        static override modifiers = { mine: (query: unknown) => void chain(query as never, place, current()) }
      },
    narrow: (query) => query.modify('mine'),
  },
  {
    name: 'keys in a subquery',
    sees: itself,
    narrow: (query, place, by) =>
      query.whereIn(
        `${place.level}.id`,
        plainQuery(place.level, 'seen')
          .select('seen.id')
          .where(rawOf(inOneText(place, by, 'seen')) as never) as never,
      ),
  },
  {
    name: 'EXISTS',
    sees: itself,
    narrow: (query, place, by) =>
      query.whereExists(
        plainQuery(place.level, 'seen')
          .whereColumn('seen.id', `${place.level}.id`)
          .where((group) => void chain(group as never, place, by, 'seen')) as never,
      ),
  },
  {
    name: 'WITH',
    sees: itself,
    narrow: (query, place, by) =>
      query
        .with(
          'mine',
          plainQuery(place.level, 'seen')
            .select('seen.id')
            .where(rawOf(inOneText(place, by, 'seen')) as never) as never,
        )
        .whereIn(`${place.level}.id`, (keys) => void keys.select('mine.id').from('mine')),
  },
  {
    name: 'an inner join',
    sees: (condition) => all(keeperActive, condition),
    narrow: (query, place, by) =>
      chainGrouped(
        query.join('people as keeper', 'keeper.id', `${place.level}.owner_id`).where('keeper.active', true),
        place,
        by,
      ).select(`${place.level}.*`),
  },
  {
    name: 'joinRelated',
    sees: (condition) => all(keeperActive, condition),
    narrow: (query, place, by) =>
      chainGrouped(query.joinRelated('owner').where('owner.active', true), place, by).select(`${place.level}.*`),
  },
  {
    name: 'a left join with or',
    sees: (condition) => any(keeperActive, condition),
    narrow(query, place, by) {
      const { sql, bindings } = inOneText(place, by)
      return query
        .leftJoin('people as keeper', 'keeper.id', `${place.level}.owner_id`)
        .whereRaw(`keeper.active or ${sql}`, bindings as number[])
        .select(`${place.level}.*`)
    },
  },
  {
    name: 'DISTINCT',
    sees: (condition) => all(atom('granted'), condition),
    narrow: (query, place, by) => granted(query, place, by).distinct(`${place.level}.*`),
  },
  {
    name: 'GROUP BY',
    sees: (condition) => all(atom('granted'), condition),
    narrow: (query, place, by) => granted(query, place, by).groupBy(`${place.level}.id`).select(`${place.level}.*`),
  },
  {
    name: 'a column of its own',
    sees: itself,
    column: 'grants',
    narrow: (query, place, by) =>
      query
        .where(rawOf(inOneText(place, by)) as never)
        .select(
          `${place.level}.*`,
          raw(`(select count(*)::int from ${place.level}_grants g where g.row_id = ${place.level}.id)`).as('grants'),
        ),
  },
  RULE,
  {
    name: 'a graph',
    sees: itself,
    narrow: (query, place, by) => chain(query.withGraphFetched('owner'), place, by),
  },
]

function chainGrouped(query: Query, place: Place, by: Caller): Query {
  const { sql, bindings } = inOneText(place, by)
  return query.where(rawOf({ sql: `(${sql})`, bindings }) as never)
}

/** A query of the table alone, under another name. */
function plainQuery(level: Level, alias: string): Query {
  class Plain extends Model {
    static override tableName = level
  }
  return Plain.query().alias(alias)
}
