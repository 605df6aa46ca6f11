/** The tables of docs/reference/column-types.md, made of a real table that has a column of each type. */
import { Model } from 'objection'
import { fieldForColumn } from '../../../lib/fields/field-for-column.js'
import { Operand } from '../../../lib/filters/lookups.js'
import { lookupsOf } from '../../../lib/filters/lookups-of.js'
import { describeModel, prepareModels } from '../../../lib/models/describe-model.js'
import type { Column } from '../../../lib/models/model-description.js'
import type { TestDatabase } from '../../support/database.js'

/** Types as SQL writes them; those next to each other that are alike in all that a client sees share a row. */
const TYPES: readonly string[] = [
  ...['smallint', 'integer', 'bigint', 'real', 'double precision', 'numeric', 'numeric(8,2)', 'money'],
  ...['boolean', 'text', 'varchar', 'varchar(20)', 'char(3)', 'citext', 'name', 'uuid'],
  ...['date', 'time', 'timetz', 'timestamp', 'timestamptz', 'interval', 'json', 'jsonb', 'bytea', 'inet', 'cidr'],
  ...['mood', 'positive', 'text[]', 'integer[]', 'timestamptz[]', 'mood[]', 'jsonb[]'],
  ...['int4range', 'int8range', 'numrange', 'daterange', 'tsrange', 'tstzrange'],
  ...['int4multirange', 'int8multirange', 'nummultirange', 'datemultirange', 'tsmultirange', 'tstzmultirange'],
  ...['point', 'circle', 'line', 'box', 'path', 'polygon', 'macaddr', 'bit(8)', 'varbit', 'xml', 'tsvector', 'tsquery'],
]

/** What a type is called in the table, where its name is that of the test. */
const CALLED: Readonly<Record<string, string>> = {
  mood: 'an enum',
  'mood[]': 'a list of an enum',
  positive: 'a domain over `integer`',
}

/** How lookups are called together. */
export const GROUPS: Readonly<Record<string, readonly string[]>> = {
  equality: ['exact', 'ne', 'in', 'nin'],
  order: ['gt', 'gte', 'lt', 'lte', 'range'],
  text: ['iexact', 'contains', 'icontains', 'startswith', 'istartswith', 'endswith', 'iendswith'],
  containment: ['contains', 'overlap', 'contained_by'],
  'parts of dates': ['year', 'month', 'day'],
}

/** A row for each kind of type. */
export async function columnTypes(database: TestDatabase): Promise<string> {
  const columns = TYPES.map((type, at) => `c${at} ${type}`).join(', ')
  await database.knex.raw(`
    create extension if not exists citext;
    create type mood as enum ('calm', 'wild');
    create domain positive as integer check (value > 0);
    create table kinds (id int primary key, ${columns})`)
  class Kinds extends Model {
    static override tableName = 'kinds'
  }
  Kinds.knex(database.knex)
  await prepareModels([Kinds])
  const described = describeModel(Kinds).columns
  const rows: { readonly types: string[]; readonly cells: string }[] = []
  for (const [at, type] of TYPES.entries()) {
    const cells = cellsOf(described.get(`c${at}`) as Column)
    const last = rows.at(-1)
    if (last?.cells === cells) last.types.push(CALLED[type] ?? `\`${type}\``)
    else rows.push({ types: [CALLED[type] ?? `\`${type}\``], cells })
  }
  const lines = rows.map(({ types, cells }) => `| ${types.join(', ')} | ${cells} |`)
  return ['| PostgreSQL | field | in JSON | lookups |', '|---|---|---|---|', ...lines].join('\n')
}

function cellsOf(column: Column): string {
  const field = fieldForColumn(column, {})
  const names = lookupsOf(new Operand(column)).map(([name]) => name)
  return [`\`${field.constructor.name}\``, shown(field.schema()), lookupsIn(names)].join(' | ')
}

function shown(schema: object): string {
  const { type, format, anyOf = [] } = schema as { type?: string; format?: string; anyOf?: readonly object[] }
  const name = type ?? (anyOf.map(shown).join(' or ') || 'any value')
  return format === undefined ? name : `${name}, \`${format}\``
}

function lookupsIn(names: readonly string[]): string {
  const found = new Set(names)
  const groups = Object.entries(GROUPS).filter(([, all]) => all.every((name) => found.has(name)))
  const told = new Set(groups.flatMap(([, all]) => all))
  const rest = names.filter((name) => !told.has(name)).map((name) => `\`${name}\``)
  return [...groups.map(([group]) => group), ...rest].join(', ') || 'none but `isnull`'
}
