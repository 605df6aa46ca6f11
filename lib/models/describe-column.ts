/** Descriptions of columns, from the catalogue and the `jsonSchema` of their model. */

import { type PropertySchema, typesOf } from '../kernel/json-schema.js'
import type { CatalogueColumn } from './catalogue.js'
import { type ColumnCheck, readCheck } from './check-constraint.js'
import type { Column } from './model-description.js'

interface ColumnSources extends Pick<Column, 'property' | 'column' | 'schema' | 'required' | 'primary' | 'unique'> {
  stored: CatalogueColumn | undefined
  composite: boolean
}

/** What is known of a column, of all that tells of it. */
export function describeColumn(from: ColumnSources): Column {
  const { stored, schema } = from
  const types = typesOf(schema)
  const allowsNull = types.length === 0 || types.includes('null')
  const hasDefault = stored?.hasDefault === true || schema.default !== undefined
  const nullable = stored ? !stored.notNull && allowsNull : types.includes('null')
  // a key the database fills in; without the catalogue, a single key that the schema does not ask for
  const auto = stored
    ? stored.generated || (from.primary && !from.composite && stored.makesValues)
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
    holdsNull: stored?.holdsNull ?? nullable,
    required,
    hasDefault,
    auto,
    isComputed: stored?.isComputed ?? false,
    primary: from.primary,
    unique: from.unique || (from.primary && !from.composite),
    maxLength: smaller(stored?.maxLength, schema.maxLength),
    precision: stored?.precision,
    scale: stored?.scale,
    leastPart: stored?.leastPart,
    labels: stored?.labels,
    element: stored?.element,
    dimensions: stored?.dimensions ?? 1,
    isDomain: stored?.isDomain ?? false,
    domains: stored?.domains ?? [],
    isOrdered: stored?.isOrdered ?? true,
    isEquated: stored?.isEquated ?? true,
    isDeterministic: stored?.isDeterministic ?? true,
    isCounted: stored?.isCounted ?? false,
    isCostly: stored?.isCostly ?? false,
    checked: stored ? [...checkedIn(stored), ...openBounds(schema)] : [],
    schema,
  }
}

/** Bounds of a model's schema that are none of its values, as CHECKs have them. */
function openBounds({ exclusiveMinimum, exclusiveMaximum }: PropertySchema): readonly ColumnCheck[] {
  const boundOf = (value: number) => ({ value: String(value), exclusive: true })
  return [
    ...(typeof exclusiveMinimum === 'number' ? [{ least: boundOf(exclusiveMinimum) }] : []),
    ...(typeof exclusiveMaximum === 'number' ? [{ greatest: boundOf(exclusiveMaximum) }] : []),
  ]
}

/** What CHECKs ask of the column; where other texts are equal to the choices that one names, these are not all that there are. */
function checkedIn({ checks, nativeName, collation }: CatalogueColumn): readonly ColumnCheck[] {
  const checked = checks.flatMap((check) => readCheck(check, nativeName))
  return collation === undefined ? checked : checked.filter(({ choices }) => choices === undefined)
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
