/** A column, by what the catalogue and the model's `jsonSchema` say of it. */
import { type PropertySchema, typesOf } from '../kernel/json-schema.js'
import type { CatalogueColumn } from './catalogue.js'
import { readCheck } from './check-constraint.js'
import type { Column } from './model-description.js'

export interface ColumnSources {
  property: string
  column: string
  stored: CatalogueColumn | undefined
  schema: PropertySchema
  required: boolean
  primary: boolean
  composite: boolean
  unique: boolean
}

/** What a serializer needs to know of a column. */
export function describeColumn(from: ColumnSources): Column {
  const { stored, schema } = from
  const types = typesOf(schema)
  const allowsNull = types.length === 0 || types.includes('null')
  const hasDefault = stored?.hasDefault === true || schema.default !== undefined
  const nullable = stored ? !stored.notNull && allowsNull : types.includes('null')
  // a key the database fills in; without the catalogue, a single key that the schema does not ask for
  const auto = stored
    ? stored.generated || (from.primary && !from.composite && stored.hasDefault)
    : from.primary && !from.composite && !from.required
  const required = !auto && !hasDefault && (from.required || (stored ? stored.notNull : false))
  return {
    property: from.property,
    column: from.column,
    nativeName: stored?.nativeName ?? from.column,
    writtenName: stored?.writtenName ?? from.column,
    type: stored?.type ?? typeFromSchema(schema, auto),
    sqlType: stored?.sqlType,
    oid: stored?.oid,
    collation: stored?.collation,
    nullable,
    holdsNull: stored ? !stored.notNull : nullable,
    required,
    hasDefault,
    auto,
    primary: from.primary,
    unique: from.unique || (from.primary && !from.composite),
    maxLength: smaller(stored?.maxLength, schema.maxLength),
    precision: stored?.precision,
    scale: stored?.scale,
    leastPart: stored?.leastPart,
    labels: stored?.labels,
    element: stored?.element,
    isDomain: stored?.isDomain ?? false,
    isOrdered: stored?.isOrdered ?? true,
    isEquated: stored?.isEquated ?? true,
    isDeterministic: stored?.isDeterministic ?? true,
    isCounted: stored?.isCounted ?? false,
    checked: stored?.checks.flatMap((check) => readCheck(check, stored.nativeName)) ?? [],
    schema,
  }
}

const FORMATS: Readonly<Record<string, string>> = {
  'date-time': 'timestamptz',
  date: 'date',
  time: 'time',
  uuid: 'uuid',
}

/** The type a column most likely has, before the catalogue was read. */
function typeFromSchema(schema: PropertySchema, auto: boolean): string {
  const [type] = typesOf(schema).filter((name) => name !== 'null')
  switch (type) {
    case 'integer':
      return 'int4'
    case 'number':
      return 'float8'
    case 'boolean':
      return 'bool'
    case 'object':
    case 'array':
      return 'jsonb'
    case 'string':
      return FORMATS[schema.format ?? ''] ?? 'text'
    default:
      return auto ? 'int4' : 'unknown'
  }
}

function smaller(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined ? b : b === undefined ? a : Math.min(a, b)
}
