/** The field that a model's column gets when the serializer declares none. */
import { ValidationError } from '../kernel/errors.js'
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
import { isExactDouble } from './exact-float.js'
import { type FieldOptions, type RelatedQueryset, SerializerField } from './field.js'
import { FloatField } from './float-field.js'
import { EmailField, IPAddressField, URLField, UUIDField } from './formatted-text-fields.js'
import { BigIntegerField, IntegerField } from './integer-fields.js'
import { JSONField } from './json-field.js'
import { GeometryField, RangeField, type RangeFieldOptions } from './range-field.js'
import { counted, StringField } from './string-field.js'

/** The places of the seconds of a time type that says nothing of its own. */
const MICROSECONDS = 6
const FRACTION = /\.(\d+)/
const NOT_ZERO = /[1-9]/

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
  return column.sqlType === undefined ? new SerializerField(options) : other(column, options)
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

/** The options, with a check of ours before those that they name. */
function checking<Options extends FieldOptions>(options: Options, check: (value: string) => void): Options {
  return { ...options, validators: [check, ...(options.validators ?? [])] }
}

/** With a scale below zero PostgreSQL would round other values (promise B5). */
function multiples({ scale = 0 }: Column, options: FieldOptions): FieldOptions {
  if (scale >= 0) return options
  const zeros = '0'.repeat(-scale)
  return checking(options, (value) => {
    if (value === '0' || value.endsWith(zeros)) return
    throw new ValidationError(`Ensure that this value is a multiple of 1${zeros}.`)
  })
}

/** The seconds of a time type with fewer places than microseconds have: PostgreSQL would round them. */
function places({ precision }: Column, options: FieldOptions): FieldOptions {
  if (precision === undefined || precision >= MICROSECONDS) return options
  return checking(options, (value) => {
    const fraction = FRACTION.exec(value)?.[1] ?? ''
    if (!NOT_ZERO.test(fraction.slice(precision))) return
    throw new ValidationError(`Ensure that there are no more than ${counted(precision, 'decimal place')}.`)
  })
}

const PARTS = ['year', 'month', 'day', 'hour', 'minute', 'second'] as const
const DURATION = /^P(?:(-?\d+)Y)?(?:(-?\d+)M)?(?:(-?\d+)D)?(?:T(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?[\d.]+)S)?)?$/

/** True for an interval that has something smaller than the part. */
function smallerParts(text: string, part: (typeof PARTS)[number]): boolean {
  const found = DURATION.exec(text)?.slice(1) ?? []
  return found.slice(PARTS.indexOf(part) + 1).some((digits) => digits !== undefined && Number(digits) !== 0)
}

/** An interval of certain parts only, such as `interval day to hour`: PostgreSQL would drop the others. */
function parts({ leastPart }: Column, options: FieldOptions): FieldOptions {
  if (leastPart === undefined) return options
  return checking(options, (value) => {
    if (smallerParts(value, leastPart))
      throw new ValidationError(`Ensure that there is nothing smaller than one ${leastPart}.`)
  })
}

/** The type `name` is cut by bytes. */
const name: Make = (column, options) => {
  const { maxLength = Number.POSITIVE_INFINITY } = column
  const checked = checking(options, (value) => {
    if (Buffer.byteLength(value) > maxLength) {
      throw new ValidationError(`Ensure this field has no more than ${counted(maxLength, 'byte')}.`)
    }
  })
  return text(column, checked)
}

/** A text that PostgreSQL would read as another value than the one it says. */
function unless(isExact: (value: string) => boolean, message: string, make: Make = text): Make {
  const check = (value: string) => {
    if (!isExact(value)) throw new ValidationError(message)
  }
  return (column, options) => make(column, checking(options, check))
}

/** One byte, of which those beyond ASCII are no characters. */
const oneByte = unless((value) => /^[\u0001-\u007f]?$/.test(value), 'Ensure this field has no more than 1 byte.')
/** PostgreSQL counts below zero from the greatest on, and takes other bases. */
const wholeText = unless((value) => /^\s*(?:0|[1-9]\d*)\s*$/.test(value), 'A valid integer is required.')
/** Amounts have two places at most. */
const money = unless((value) => !/\.\d{3}/.test(value), 'Ensure that there are no more than 2 decimal places.')
/** Entities stand for texts of any length, which PostgreSQL writes out: by nobody who could stop it. */
const xml = unless((value) => {
  const type = value.indexOf('<!DOCTYPE')
  return type === -1 || !value.includes('<!ENTITY', type)
}, 'Entities are not allowed.')
const COORDINATE = /(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?/gi
const shape = (make: Make) =>
  unless(
    (value) =>
      (value.match(COORDINATE) ?? []).every((number) =>
        isExactDouble(number.replace(/^\./, '0.').replace(/\.(?!\d)/, '')),
      ),
    'Ensure that its numbers have no more digits than are stored.',
    make,
  )
/** A number that stands by itself in a text, as `numeric` takes it: each is tried from its first digit on. */
const POWER = /(?<![\w.])(?:[\d_]+(?:\.[\d_]*)?|\.[\d_]+)e([+-]?[\d_]+)/gi
/** What a JSON value may have, too. */
const MOST_ZEROS = 1_000
/** Numbers within a text of another type, as of a `jsonpath` or a composite type, are written with all digits by PostgreSQL. */
const other = unless((value) => {
  let zeros = 0
  for (const [, exponent = ''] of value.matchAll(POWER)) zeros += Math.abs(Number(exponent.replaceAll('_', '')))
  return zeros <= MOST_ZEROS
}, `Ensure that the exponents of its numbers add up to no more than ${MOST_ZEROS}.`)
const geometry: Make = shape((_, options) => new GeometryField(options))
const figure: Make = shape(text)

function range(ends: RangeFieldOptions['ends'], multiple: boolean): Make {
  return (_, options) => new RangeField({ ...options, ends, multiple })
}

const FIELDS: Readonly<Record<string, Make>> = {
  int2: (column, options) => new IntegerField({ bits: 16, ...bounds(column), ...options }),
  int4: (column, options) => new IntegerField({ ...bounds(column), ...options }),
  int8: (column, options) => new BigIntegerField({ ...bounds(column), ...options }),
  float4: (column, options) => new FloatField({ single: true, ...bounds(column), ...options }),
  float8: (column, options) => new FloatField({ ...bounds(column), ...options }),
  numeric: (column, options) =>
    new DecimalField({ ...digits(column), ...bounds(column), ...multiples(column, options) }),
  bool: (_, options) => new BooleanField(options),
  text,
  varchar: text,
  bpchar: text,
  citext: text,
  name,
  uuid: (_, options) => new UUIDField(options),
  date: (_, options) => new DateField(options),
  time: (column, options) => new TimeField(places(column, options)),
  timetz: (column, options) => new OffsetTimeField(places(column, options)),
  timestamptz: (column, options) => new DateTimeField(places(column, options)),
  timestamp: (column, options) => new DateTimeField(places(column, options)),
  interval: (column, options) => new DurationField(places(column, parts(column, options))),
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
  char: oneByte,
  oid: wholeText,
  xid: wholeText,
  xid8: wholeText,
  cid: wholeText,
  money,
  xml,
  point: geometry,
  circle: geometry,
  ...Object.fromEntries(['line', 'lseg', 'box', 'path', 'polygon'].map((type) => [type, figure])),
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
