/** The field that a model's column gets when the serializer declares none. */
import type { PropertySchema } from '../kernel/json-schema.js'
import type { Kind } from '../kernel/kinds.js'
import { kindsOf } from '../kernel/option-kinds.js'
import type { Column } from '../models/model-description.js'
import { ArrayField } from './array-field.js'
import { BinaryField } from './binary-field.js'
import { BooleanField } from './boolean-field.js'
import { ChoiceField } from './choice-fields.js'
import { DateField, DateTimeField, DurationField, OffsetTimeField, TimeField } from './date-time-fields.js'
import { DecimalField, type DecimalFieldOptions } from './decimal-field.js'
import { type FieldOptions, type RelatedQueryset, SerializerField } from './field.js'
import { FloatField } from './float-field.js'
import { EmailField, IPAddressField, URLField, UUIDField } from './formatted-text-fields.js'
import { BigIntegerField, IntegerField } from './integer-fields.js'
import { JSONField } from './json-field.js'
import { GeometryField, RangeField, type RangeFieldOptions } from './range-field.js'
import { StringField } from './string-field.js'

/** Options of a generated field, as `extraKwargs` takes them: those that fit the field's class are used. */
export interface GeneratedOptions extends FieldOptions {
  /** Strings and lists: fewest characters or items. */
  readonly minLength?: number
  /** Strings and lists: most characters or items. */
  readonly maxLength?: number
  /** Strings: whether an empty one is accepted. */
  readonly allowBlank?: boolean
  /** Numbers: the smallest value. */
  readonly minValue?: number
  /** Numbers: the largest value. */
  readonly maxValue?: number
  /** Decimals: most digits in all. */
  readonly maxDigits?: number
  /** Decimals: most digits after the point. */
  readonly decimalPlaces?: number
  /** Date-times: the output format. */
  readonly formatStr?: string
  /** The accepted values. */
  readonly choices?: readonly (string | number)[]
  /** Foreign keys: the objects that may be chosen. */
  readonly queryset?: RelatedQueryset
}

/** What these options are; the compiler sees to it that none is missing. */
export const GENERATED_OPTIONS = {
  ...(kindsOf(SerializerField) as Readonly<Record<keyof FieldOptions, Kind>>),
  minLength: 'count',
  maxLength: 'count',
  allowBlank: 'boolean',
  minValue: 'number or text',
  maxValue: 'number or text',
  maxDigits: 'size',
  decimalPlaces: 'count',
  formatStr: 'name',
  choices: 'list',
  queryset: 'function',
} as const satisfies Record<keyof GeneratedOptions, Kind>

type Make = (column: Column, options: FieldOptions) => SerializerField

/** Makes the field of a column; `options` are laid over what the column says. */
export function fieldForColumn(column: Column, options: GeneratedOptions): SerializerField {
  const choices = options.choices ?? listed(column.schema) ?? (column.type === 'enum' ? column.labels : undefined)
  if (choices !== undefined && column.type !== 'array') {
    const values = (choices as readonly (string | number | null)[]).filter((choice) => choice !== null)
    return new ChoiceField({ ...(options as FieldOptions), choices: values as string[] })
  }
  const make = FIELDS[column.type]
  if (make) return make(column, options)
  // any other type of PostgreSQL is read and shown as its text; a type that is not known yet is not judged
  return column.sqlType === undefined ? new SerializerField(options) : text(column, options)
}

/** The texts and numbers that a model's schema lists, and null; undefined where it lists other values: those the model checks. */
function listed({ enum: values }: PropertySchema): readonly unknown[] | undefined {
  const isChoice = (value: unknown) => value === null || typeof value === 'string' || typeof value === 'number'
  return values?.every(isChoice) ? values : undefined
}

const text: Make = (column, options) => {
  const { schema } = column
  const lengths = {
    ...(schema.minLength === undefined ? {} : { minLength: schema.minLength }),
    ...(column.maxLength === undefined ? {} : { maxLength: column.maxLength }),
    ...options,
  }
  if (schema.format === 'email') return new EmailField(lengths)
  if (schema.format === 'uri' || schema.format === 'url') return new URLField(lengths)
  return new StringField(lengths)
}

/** `minimum` and `maximum` of the model's schema, under the names of the field's options. */
function bounds({ schema }: Column) {
  return {
    ...(schema.minimum === undefined ? {} : { minValue: schema.minimum }),
    ...(schema.maximum === undefined ? {} : { maxValue: schema.maximum }),
  }
}

/** What a numeric column holds. */
function digits({ precision, scale }: Column): DecimalFieldOptions {
  if (precision === undefined || scale === undefined) return {}
  if (scale >= 0 && scale <= precision) return { maxDigits: precision, decimalPlaces: scale }
  // PostgreSQL 15 allows a scale below zero, `numeric(3,-2)` up to 99900, and one above the precision, `numeric(2,4)`
  const nines = '9'.repeat(precision)
  const greatest = scale < 0 ? `${nines}${'0'.repeat(-scale)}` : `0.${nines.padStart(scale, '0')}`
  return { decimalPlaces: Math.max(scale, 0), minValue: `-${greatest}`, maxValue: greatest }
}

function range(ends: RangeFieldOptions['ends'], multiple: boolean): Make {
  return (_, options) => new RangeField({ ...options, ends, multiple })
}

const FIELDS: Readonly<Record<string, Make>> = {
  int2: (column, options) => new IntegerField({ bits: 16, ...bounds(column), ...options }),
  int4: (column, options) => new IntegerField({ ...bounds(column), ...options }),
  int8: (column, options) => new BigIntegerField({ ...bounds(column), ...options }),
  float4: (column, options) => new FloatField({ single: true, ...bounds(column), ...options }),
  float8: (column, options) => new FloatField({ ...bounds(column), ...options }),
  numeric: (column, options) => new DecimalField({ ...digits(column), ...bounds(column), ...options }),
  bool: (_, options) => new BooleanField(options),
  text,
  varchar: text,
  bpchar: text,
  citext: text,
  name: text,
  uuid: (_, options) => new UUIDField(options),
  date: (_, options) => new DateField(options),
  time: (_, options) => new TimeField(options),
  timetz: (_, options) => new OffsetTimeField(options),
  timestamptz: (_, options) => new DateTimeField(options),
  timestamp: (_, options) => new DateTimeField(options),
  interval: (_, options) => new DurationField(options),
  int4range: range('integer', false),
  int8range: range('big-integer', false),
  numrange: range('decimal', false),
  int4multirange: range('integer', true),
  int8multirange: range('big-integer', true),
  nummultirange: range('decimal', true),
  daterange: range('date', false),
  tsrange: range('date-time', false),
  tstzrange: range('date-time', false),
  datemultirange: range('date', true),
  tsmultirange: range('date-time', true),
  tstzmultirange: range('date-time', true),
  json: (_, options) => new JSONField(options),
  jsonb: (_, options) => new JSONField(options),
  point: (_, options) => new GeometryField(options),
  circle: (_, options) => new GeometryField(options),
  bytea: (_, options) => new BinaryField(options),
  inet: (_, options) => new IPAddressField({ network: true, ...options }),
  cidr: (_, options) => new IPAddressField({ network: true, ...options }),
  array: (column, options) => {
    const child = fieldForColumn(elementOf(column), { allowNull: true })
    return new ArrayField({ nested: true, dimensions: column.dimensions, child, ...options })
  },
}

/** An array's element as if it were a column. */
export function elementOf(column: Column): Column {
  const type = column.element ?? 'unknown'
  return { ...column, type, element: undefined, schema: column.schema.items ?? {}, sqlType: column.sqlType && type }
}

/** True for a type whose values are not simply PostgreSQL's texts. */
export function hasFieldOfItsOwn({ type }: Column): boolean {
  return type === 'enum' || Object.hasOwn(FIELDS, type)
}
