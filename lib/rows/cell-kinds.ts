/** Kinds of cells that are written from PostgreSQL's text, by the class of the field and the type of the column. */

import { ArrayField } from '../fields/array-field.js'
import { BinaryField } from '../fields/binary-field.js'
import { BooleanField } from '../fields/boolean-field.js'
import { ChoiceField, MultipleChoiceField } from '../fields/choice-fields.js'
import { DateField, DateTimeField, DurationField, OffsetTimeField, TimeField } from '../fields/date-time-fields.js'
import { DecimalField } from '../fields/decimal-field.js'
import type { SerializerField } from '../fields/field.js'
import { FloatField } from '../fields/float-field.js'
import { EmailField, IPAddressField, URLField, UUIDField } from '../fields/formatted-text-fields.js'
import { BigIntegerField, IntegerField } from '../fields/integer-fields.js'
import { JSONField } from '../fields/json-field.js'
import { PrimaryKeyRelatedField, SlugRelatedField } from '../fields/key-related-fields.js'
import { ReadOnlyField } from '../fields/own-value-fields.js'
import { GeometryField, RangeField } from '../fields/range-field.js'
import type { RelatedField } from '../fields/related-field.js'
import { StringField } from '../fields/string-field.js'
import type { ExternalIds } from '../ids/external-ids.js'
import type { Column } from '../models/model-description.js'
import type { CellKind } from './row-shape.js'

/** Stored ids are written as they are, and raw ones are the digits themselves. */
export function idKind(ids: ExternalIds, column: Column): CellKind {
  if (!ids.stored) return ids.hidesKeys ? 'id' : 'quoted'
  return column.type === 'uuid' ? 'quoted' : 'text'
}

const TEXTS = ['text', 'varchar', 'bpchar', 'citext', 'name']

/** Field classes by the column types whose text they only have to quote, or not even that. */
const KINDS: ReadonlyMap<unknown, Readonly<Record<string, CellKind>>> = new Map<
  unknown,
  Readonly<Record<string, CellKind>>
>([
  [StringField, all(TEXTS, 'text')],
  [EmailField, all(TEXTS, 'text')],
  [URLField, all(TEXTS, 'text')],
  [IPAddressField, { ...all(TEXTS, 'text'), inet: 'text' }],
  [IntegerField, { int2: 'number', int4: 'number' }],
  [BigIntegerField, { int2: 'number', int4: 'number', int8: 'bigint' }],
  [FloatField, { float4: 'float', float8: 'float' }],
  [BooleanField, { bool: 'boolean' }],
  [DecimalField, { numeric: 'quoted' }],
  [UUIDField, { uuid: 'quoted' }],
  [DateField, { date: 'quoted' }],
  [TimeField, { time: 'time' }],
  [JSONField, { json: 'json', jsonb: 'json' }],
])

/** Field classes that write what they are given, whatever it is, and in which no code of the application's has a part. */
const OURS: ReadonlySet<unknown> = new Set<unknown>([
  ...KINDS.keys(),
  ArrayField,
  BinaryField,
  ChoiceField,
  DateTimeField,
  DurationField,
  GeometryField,
  MultipleChoiceField,
  OffsetTimeField,
  RangeField,
  ReadOnlyField,
])

/** True for a field whose values are written by our code alone: it does not fail. */
export function isBuiltInField(field: SerializerField): boolean {
  return OURS.has(field.constructor) && (!(field instanceof ArrayField) || isBuiltInField(field.options.child))
}

/** Choices that are stored as what they are: strings as strings, numbers as numbers. */
const CHOICE_KINDS: Readonly<Record<string, Readonly<Record<string, CellKind>>>> = {
  string: all([...TEXTS, 'enum'], 'text'),
  number: { int2: 'number', int4: 'number' },
}

/** Keys of related objects are written after the type of the key. */
const KEY_KINDS: Readonly<Record<string, CellKind>> = {
  ...all(TEXTS, 'text'),
  int2: 'number',
  int4: 'number',
  int8: 'bigint',
  uuid: 'quoted',
}

export function cellKind(field: SerializerField, column: Column): CellKind {
  const made: unknown = field.constructor
  if (made === DateTimeField) {
    const { formatStr } = field.options as { formatStr?: string }
    const isIso = formatStr === undefined || formatStr === 'iso'
    return isIso && (column.type === 'timestamptz' || column.type === 'timestamp') ? 'datetime' : 'value'
  }
  if (made === PrimaryKeyRelatedField || made === SlugRelatedField) {
    // of objects that only a request can tell, it is not known whether they have external ids
    const related = field as RelatedField
    const model = related.relatedModel()
    if (related.options.queryset !== undefined && !model) return 'value'
    const kind = KEY_KINDS[column.type] ?? 'value'
    // the key that the column refers to may be of another type
    return model && !related.idsOf(model) && cellKind(related.keyFieldOf(model), column) !== kind ? 'value' : kind
  }
  if (made === ChoiceField) return CHOICE_KINDS[String(field.schema().type)]?.[column.type] ?? 'value'
  return KINDS.get(made)?.[column.type] ?? 'value'
}

function all(types: readonly string[], kind: CellKind): Record<string, CellKind> {
  return Object.fromEntries(types.map((type) => [type, kind]))
}
