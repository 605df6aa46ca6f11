/** Models whose tables are described by hand: what is decided of them needs no database. */

import type { Model } from 'objection'
import type { CatalogueColumn, CatalogueTable } from '../../lib/models/catalogue.js'
import { describeBy } from '../../lib/models/describe-model.js'

/** Types by their numbers in PostgreSQL, and as SQL writes them. */
const TYPES = {
  bool: [16, 'boolean'],
  bytea: [17, 'bytea'],
  int4: [23, 'integer'],
  int8: [20, 'bigint'],
  jsonb: [3802, 'jsonb'],
  numeric: [1700, 'numeric'],
  text: [25, 'text'],
  timestamptz: [1184, 'timestamp with time zone'],
} as const

/** The type of a column; with `?` one that may be null, with `=` one that has a default. */
export type DescribedType = keyof typeof TYPES | `${keyof typeof TYPES}${'?' | '='}`

const EVERY = { insert: true, update: true, delete: true }
const NONE = { insert: false, update: false, delete: false }
let tables = 0

/**
 * Describes a model's table. Its key is the first column, which the database counts.
 * @param table what else the catalogue says of it
 */
export function describeTable(
  model: typeof Model,
  columns: Readonly<Record<string, DescribedType>>,
  table: Partial<CatalogueTable> = {},
): void {
  tables++
  const [key = 'id'] = Object.keys(columns)
  describeBy(model, {
    table: tables,
    secured: false,
    isView: false,
    takes: EVERY,
    hasHeirs: false,
    isPartitioned: false,
    lockable: true,
    filtersInserts: false,
    isIndirect: false,
    triggers: { before: NONE, after: NONE, deferred: [] },
    nativeName: model.tableName,
    partitions: [],
    columns: Object.entries(columns).map(([name, type]) => columnOf(name, type, name === key)),
    constraints: [
      {
        name: `${model.tableName}_pkey`,
        kind: 'primary',
        columns: [key],
        target: undefined,
        enforced: true,
        condition: null,
        validated: true,
        isOfPartition: false,
        arbiter: true,
      },
    ],
    ...table,
  })
}

function columnOf(column: string, described: DescribedType, isKey: boolean): CatalogueColumn {
  const type = described.replace(/[?=]$/, '') as keyof typeof TYPES
  const [oid, sqlType] = TYPES[type]
  return {
    column,
    nativeName: column,
    writtenName: column,
    type,
    sqlType,
    oid,
    notNull: !described.endsWith('?'),
    holdsNull: described.endsWith('?'),
    hasDefault: isKey || described.endsWith('='),
    makesValues: isKey,
    collation: undefined,
    referenced: isKey,
    cascades: false,
    generated: isKey,
    maxLength: undefined,
    precision: undefined,
    scale: undefined,
    leastPart: undefined,
    labels: undefined,
    element: undefined,
    dimensions: 1,
    isDomain: false,
    domains: [],
    isOrdered: true,
    isEquated: true,
    isDeterministic: true,
    isCounted: isKey,
    isCostly: false,
    isComputed: false,
    checks: [],
  }
}
