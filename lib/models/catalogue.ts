/** Reads PostgreSQL's catalogue of tables: columns, types, defaults, keys. */
import { groupBy } from '../kernel/maps.js'
import { runBounded } from '../postgres/guarded.js'
import type { Queryable } from '../postgres/pg-types.js'
import { runRaw } from '../postgres/type-parsers.js'
import { CATALOGUE, type CatalogueRows, type ColumnRow } from './catalogue-sql.js'
import { toReference, writtenName } from './table-reference.js'

/** A part of an interval that smaller ones may be missing of, as in `interval day to hour`. */
export type IntervalPart = 'year' | 'month' | 'day' | 'hour' | 'minute'

/** One column as the database declares it. Domains are resolved to their base type. */
export interface CatalogueColumn {
  /** The column's name as the model's mappers expect it. */
  readonly column: string
  /** The column's name in the database. */
  readonly nativeName: string
  /** The name that knex makes of the model's; another one where its mappers do not find back. */
  readonly writtenName: string
  /** `typname` of the base type (`int4`, `varchar`), `enum`, or `array`. */
  readonly type: string
  /** The type as SQL writes it, without length or precision, to cast a parameter with. */
  readonly sqlType: string
  /** The type's number, by which pg chooses a parser. */
  readonly oid: number
  /** NULL is refused. */
  readonly notNull: boolean
  /** There may be NULL in rows, although none can be written: in those that are older, or by an outer join of a view. */
  readonly holdsNull: boolean
  readonly hasDefault: boolean
  /** Its default is no constant: it may be another value for each row, as a key needs. */
  readonly makesValues: boolean
  /** The collation by which texts may be equal that are not the same, as SQL writes it. */
  readonly collation: string | undefined
  /** Part of a key that foreign keys point to. */
  readonly referenced: boolean
  /** One of these foreign keys has ON UPDATE CASCADE, SET NULL or SET DEFAULT. */
  readonly cascades: boolean
  /** Filled by the database and not to be written: an identity, a serial or a generated column. */
  readonly generated: boolean
  /** GENERATED ALWAYS AS an expression, of other columns of its row. */
  readonly isComputed: boolean
  readonly maxLength: number | undefined
  /** All digits of a numeric; digits after the point of a time's or an interval's seconds. */
  readonly precision: number | undefined
  readonly scale: number | undefined
  /** The smallest part that an interval keeps; undefined where it keeps all. */
  readonly leastPart: IntervalPart | undefined
  /** The labels of an enum, or of an array's enum. */
  readonly labels: readonly string[] | undefined
  /** `typname` of an array's elements. */
  readonly element: string | undefined
  /** How many levels of lists an array was declared with, at least 1; PostgreSQL holds other ones, too. */
  readonly dimensions: number
  /** The column's own type is a domain over that one. */
  readonly isDomain: boolean
  /** The domains that its values consist of, those of items and parts included, as `public.email`. */
  readonly domains: readonly string[]
  /** PostgreSQL can order values of the type. */
  readonly isOrdered: boolean
  /** PostgreSQL can tell whether two values of the type are equal. */
  readonly isEquated: boolean
  /** The column's collation calls only such strings equal that have the same characters. */
  readonly isDeterministic: boolean
  /** One sequence fills it in, in the table and in those that inherit from it. */
  readonly isCounted: boolean
  /** A value, or a part of it, is of a type whose texts PostgreSQL reads slowly: `xml`, `tsquery`. */
  readonly isCostly: boolean
  /** CHECK constraints of this column alone, and of its domain, as PostgreSQL prints them. */
  readonly checks: readonly string[]
}

/** A constraint or unique index, by the name PostgreSQL reports in an error. */
export interface CatalogueConstraint {
  readonly name: string
  readonly kind: 'primary' | 'unique' | 'foreign' | 'check' | 'exclusion' | 'index'
  readonly columns: readonly string[]
  /** The table and columns that a foreign key points to. */
  readonly target: CatalogueTarget | undefined
  /** False for one that is NOT ENFORCED: it says what is meant, and refuses nothing. */
  readonly enforced: boolean
  /** False for one that rows which are older may break (NOT VALID). */
  readonly validated: boolean
  /** One of a partition, not of the whole table. */
  readonly isOfPartition: boolean
  /** ON CONFLICT may name its columns: it is about equal values of all rows, and checked at once. */
  readonly arbiter: boolean
  /** The rows that a partial unique index is of, as SQL. */
  readonly condition: string | null
}

/** What a foreign key points to. */
export interface CatalogueTarget {
  /** The table's number. */
  readonly table: number
  /** The table as SQL names it within the search path. */
  readonly reference: string
  readonly columns: readonly string[]
  /** The columns' names in the database. */
  readonly nativeNames: readonly string[]
  /** Its rows are hidden by row-level security. */
  readonly secured: boolean
  /** The last column is a span of time, which rows of that table cover together (PERIOD). */
  readonly period: boolean
}

/** What may be done to the rows of a table or a view. */
export interface TakenWrites {
  readonly insert: boolean
  readonly update: boolean
  readonly delete: boolean
}

/** Triggers that somebody has written: those of foreign keys are none. */
export interface Triggers {
  /** The events that have BEFORE or INSTEAD OF triggers. */
  readonly before: TakenWrites
  /** The events that have AFTER triggers, which may change what the statement has stored and returned. */
  readonly after: TakenWrites
  /** The names of those that run at COMMIT. */
  readonly deferred: readonly string[]
}

/** What a table is, and what may be done to its rows. */
export interface TableTraits {
  /** Rows are hidden by row-level security. */
  readonly secured: boolean
  /** The table holds no rows of its own, but shows those of others. */
  readonly isView: boolean
  /** What statements may do to its rows, and return them, by rules, triggers or as PostgreSQL itself can. */
  readonly takes: TakenWrites
  /** Other tables may have inherited from it: their rows are rows of it, too, and its keys are not theirs. */
  readonly hasHeirs: boolean
  /** The table's rows lie in partitions, over which only a key with the partition's columns can be unique. */
  readonly isPartitioned: boolean
  /** The table's rows can be locked: those of a view only where each is one row of one table. */
  readonly lockable: boolean
  /** An insert may leave rows out: a trigger or a rule stands before it. */
  readonly filtersInserts: boolean
  /** Statements may do something else, or more, than they say: a view's, a foreign table's, or by rules. */
  readonly isIndirect: boolean
  /** The triggers of the table and its partitions. */
  readonly triggers: Triggers
}

export interface CatalogueTable extends TableTraits {
  /** The table's number. */
  readonly table: number
  /** The table's name in the database, without its schema. */
  readonly nativeName: string
  /** The names of its partitions, and of the tables that inherit from it, which errors use. */
  readonly partitions: readonly string[]
  readonly columns: readonly CatalogueColumn[]
  readonly constraints: readonly CatalogueConstraint[]
}

/**
 * Reads the catalogue for tables by the names that models give them (`books`, `public.books`).
 * A table that does not exist, or is not in the search path, is absent from the result.
 */
export async function readCatalogue(knex: Queryable, tables: readonly string[]): Promise<Map<string, CatalogueTable>> {
  const names = [...new Set(tables)]
  const references = names.map((name) => toReference(knex, name))
  // compiling the statement takes PostgreSQL seconds, running it hundredths
  const found = await runBounded(knex, { jit: false }, (bounded) =>
    runRaw<CatalogueAnswer>(bounded, CATALOGUE, [references, references, references]),
  )
  const { tables: tableRows, ...rows } = JSON.parse(found.rows[0].catalogue) as CatalogueRows
  const columns = groupBy(rows.columns, ({ ordinal }) => ordinal)
  const constraints = groupBy(rows.constraints, ({ ordinal }) => ordinal)
  const catalogue = new Map<string, CatalogueTable>()
  for (const table of tableRows) {
    const { ordinal } = table
    catalogue.set(names[ordinal - 1] as string, {
      nativeName: table.relation,
      partitions: table.parts,
      table: Number(table.table),
      secured: table.secured,
      isView: table.view,
      takes: takesOf(table.writes & ~table.silent),
      hasHeirs: table.heirs,
      isPartitioned: table.partitioned,
      lockable: table.lockable,
      filtersInserts: table.filters,
      isIndirect: table.indirect,
      triggers: {
        before: takesOf(table.before),
        after: takesOf(table.after),
        deferred: table.deferred,
      },
      columns: (columns.get(ordinal) ?? []).map((row) => toColumn(knex, row)),
      constraints: (constraints.get(ordinal) ?? []).map((row) => ({
        name: row.name,
        kind: KINDS[row.kind] ?? 'index',
        columns: row.columns.map((column) => modelColumn(knex, column)),
        target: row.target
          ? {
              table: Number(row.target),
              reference: row.reference,
              columns: row.keys.map((column) => modelColumn(knex, column)),
              nativeNames: row.keys,
              secured: row.secured === true,
              period: row.period,
            }
          : undefined,
        enforced: row.enforced,
        // rows of a period need not be those of one row
        validated: row.validated && !row.period,
        isOfPartition: row.part,
        arbiter: row.arbiter,
        condition: row.condition,
      })),
    })
  }
  return catalogue
}

/** One lower-case word, so that an application's own `postProcessResponse` leaves it alone. */
interface CatalogueAnswer {
  readonly rows: readonly [{ readonly catalogue: string }]
}

const KINDS: Readonly<Record<string, CatalogueConstraint['kind']>> = {
  p: 'primary',
  u: 'unique',
  f: 'foreign',
  c: 'check',
  x: 'exclusion',
  i: 'index',
}

/** What types are called that databases have made. */
const TYPES_BY_KIND: Readonly<Record<string, string>> = { e: 'enum', c: 'composite' }

/** Text types that may have a length of their own. */
const TEXTS = new Set(['varchar', 'bpchar'])
/** What fits the type `name`, which PostgreSQL gives its own tables and columns. */
const NAME_LENGTH = 63
const TIMES = new Set(['time', 'timetz', 'timestamp', 'timestamptz'])
/** An interval has its fields in the upper half of the modifier, its precision in the lower. */
const INTERVAL_PRECISION = 0xffff

/** The digits after the point that a type's seconds are rounded to; undefined where it has no limit of its own. */
function secondsPlaces(type: string, mod: number): number | undefined {
  if (mod < 0) return undefined
  if (TIMES.has(type)) return mod
  const places = mod & INTERVAL_PRECISION
  return type === 'interval' && places !== INTERVAL_PRECISION ? places : undefined
}

/** The parts of an interval by their bits (PostgreSQL: `utils/datetime.h`), the smallest first. */
const PARTS: readonly (readonly [bit: number, part: IntervalPart | undefined])[] = [
  [12, undefined],
  [11, 'minute'],
  [10, 'hour'],
  [3, 'day'],
  [1, 'month'],
  [2, 'year'],
]

function leastPart(mod: number): IntervalPart | undefined {
  return mod < 0 ? undefined : PARTS.find(([bit]) => (mod >> 16) & (1 << bit))?.[1]
}

/** A default that is one value, as `pg_get_expr()` writes it: `0`, `'-1'::integer`, `true`. */
const CONSTANT = /^\(*(?:-?[\d.]+|'(?:[^']|'')*'|true|false|NULL)\)*(?:::[^(]*(?:\([\d,]+\))?[^(]*)?$/

function toColumn(knex: Queryable, row: ColumnRow): CatalogueColumn {
  const array = row.element !== null
  const base = row.element ?? row.type
  const limited = row.mod > 4
  const column = modelColumn(knex, row.name)
  return {
    column,
    nativeName: row.name,
    writtenName: writtenName(knex, column),
    type: array ? 'array' : (TYPES_BY_KIND[row.kind] ?? row.type),
    sqlType: row.sqltype,
    oid: Number(row.oid),
    collation: row.collation ?? undefined,
    notNull: row.notnull,
    holdsNull: row.holdsnull,
    // PostgreSQL keeps DEFAULT NULL of a column whose domain has a default
    hasDefault: row.default !== null && !row.default.startsWith('NULL::'),
    makesValues: row.default !== null && !CONSTANT.test(row.default),
    referenced: row.referenced,
    cascades: row.cascades,
    generated:
      row.readonly || row.identity !== '' || row.generated !== '' || (row.default?.startsWith('nextval(') ?? false),
    isComputed: row.generated !== '',
    maxLength: base === 'name' ? NAME_LENGTH : limited && TEXTS.has(base) ? row.mod - 4 : undefined,
    precision: limited && base === 'numeric' ? ((row.mod - 4) >> 16) & 0xffff : secondsPlaces(base, row.mod),
    // eleven bits, signed (PostgreSQL 15 allows a negative scale)
    scale: limited && base === 'numeric' ? (((row.mod - 4) & 0x7ff) ^ 0x400) - 0x400 : undefined,
    leastPart: base === 'interval' ? leastPart(row.mod) : undefined,
    labels: row.labels.length > 0 ? row.labels : undefined,
    isDomain: row.domain,
    domains: row.domains,
    isOrdered: row.ordered,
    isEquated: row.equated,
    isDeterministic: row.collation === null,
    isCounted: row.counted === true,
    isCostly: row.costly,
    checks: row.checks,
    element: array ? (row.labels.length > 0 ? 'enum' : base) : undefined,
    dimensions: Math.max(row.dimensions, 1),
  }
}

/** The events of `pg_relation_is_updatable()`, each a bit. */
const [UPDATE, INSERT, DELETE] = [4, 8, 16]

function takesOf(events: number): TakenWrites {
  return { insert: (events & INSERT) !== 0, update: (events & UPDATE) !== 0, delete: (events & DELETE) !== 0 }
}

/** The name a column has for the model: `knexSnakeCaseMappers()` renames at knex's own level. */
export function modelColumn(knex: Queryable, name: string): string {
  const { postProcessResponse } = knex.client.config as { postProcessResponse?: (rows: unknown) => unknown }
  if (!postProcessResponse) return name
  const [row] = postProcessResponse([{ [name]: null }]) as [Record<string, unknown>]
  return Object.keys(row)[0] ?? name
}
