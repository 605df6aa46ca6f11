/** The contract of a serializer field: how one value is checked on the way in and written on the way out. */

import type { Knex } from 'knex'
import type { Context } from '../http/context.js'
import { described, insteadOf } from '../kernel/declarations.js'
import { takesOptions } from '../kernel/option-kinds.js'
import { isShared, ownCopy } from '../kernel/own-copy.js'
import { isThenable } from '../kernel/realms.js'
import { promiseError, settled } from '../kernel/settled.js'
import type { StandardSchema } from '../kernel/standard-schema.js'
import type { AnyQueryBuilder, ModelClass } from '../models/objection.js'
import type { OutputColumn } from '../renderers/renderer.js'

/** What a serializer knows of its surroundings. All parts are optional: a serializer also works outside a request. */
export interface SerializerContext {
  /** The request. */
  readonly ctx?: Context
  /** The view that made the serializer. */
  readonly view?: unknown
  /** The caller. @default `ctx.state.user` */
  readonly user?: unknown
  /** The transaction or connection pool that queries run on. @default that of the view, or `ctx.state.trx`; else the model's own */
  readonly knex?: Knex | undefined
  /**
   * How many nested objects, and keys in lists, the input may hold, all of its objects together.
   * @default that of the view, or 1,000
   */
  readonly maxNestedObjects?: number
}

/** The objects a related field may choose from: a model, or a function that makes a query for each request. */
export type RelatedQueryset = ModelClass | ((context: SerializerContext) => AnyQueryBuilder)

/**
 * A check of a validated value: a function that throws a `ValidationError` or returns nothing, or a schema of zod, valibot or
 * arktype, whose output takes the value's place.
 */
export type Validator = ((value: never, context: SerializerContext) => void | Promise<void>) | StandardSchema

/** A default that depends on the request, such as `CurrentUserDefault`. */
export interface ContextDefault {
  /** Returns the default for this request. */
  resolve(context: SerializerContext): unknown
}

/** Options that every field takes. */
export interface FieldOptions {
  /** Shown, never accepted. @default false */
  readonly readOnly?: boolean
  /** Accepted, never shown. @default false */
  readonly writeOnly?: boolean
  /** Must be in the input (not on PATCH). @default true, unless there is a `default` or the field is read-only */
  readonly required?: boolean
  /** `null` is accepted. @default false */
  readonly allowNull?: boolean
  /**
   * Used when the input lacks the field (not on PATCH): a value, of which each request gets its own copy, a function of no
   * arguments, or a `ContextDefault`.
   */
  readonly default?: unknown
  /** The attribute of the object; a dotted path reaches into related objects (then the field is read-only). @default the field's name */
  readonly source?: string
  /** A name for people, in OPTIONS and OpenAPI. */
  readonly label?: string
  /** A sentence for people, in OPTIONS and OpenAPI. */
  readonly helpText?: string
  /** Checks that run on the validated value, in order; one by a schema that refuses it is the last. */
  readonly validators?: readonly Validator[]
  /** Laid over what the field itself says of its value in OPTIONS and OpenAPI. @example { type: 'string', examples: ['4:31'] } */
  readonly schema?: FieldSchema
}

/** The part of JSON Schema 2020-12 by which a field describes itself to OpenAPI and OPTIONS. */
export interface FieldSchema {
  /** The JSON type, or several. */
  readonly type?: string | readonly string[]
  /** The format of a text, such as `date-time`. */
  readonly format?: string
  /** The fewest characters. */
  readonly minLength?: number
  /** The most characters. */
  readonly maxLength?: number
  /** The least value. */
  readonly minimum?: number
  /** The greatest value. */
  readonly maximum?: number
  /** A regular expression that a text matches. */
  readonly pattern?: string
  /** The values that there are. */
  readonly enum?: readonly unknown[]
  /** What the items of a list are. */
  readonly items?: FieldSchema
  readonly [keyword: string]: unknown
}

/**
 * A field that passes values through unchanged, and the base of all others. Where neither `toRepresentation()` nor `schema()` says
 * otherwise, a column's value is shown as the column's own field would.
 * A field is immutable and shared by all requests: what belongs to a request comes in as an argument.
 *
 * A subclass overrides what differs:
 * - `toInternalValue(value)`: checks an input value that is not null; throws `ValidationError`
 * - `toRepresentation(value)`: a stored value that is not null, as a JSON value
 * - `fromNumeral(text)`: the JSON value that a number stands for of which JavaScript's lacks digits
 * - `fromText(text)`: the JSON value that a string of a form or a query string stands for
 * - `fromTexts(values)`: the same for a name that stands in a form several times, where the field takes lists
 * - `takesFiles`: true where the value may be a file of a form
 * - `schema()`: the JSON Schema of its value; `inputSchema()` where a client sends another one than it reads
 */
export class SerializerField<Value = unknown, Options extends FieldOptions = FieldOptions> {
  /** The options it was made with. */
  readonly options: Options
  /** @internal The value where the input lacks the field: lists and objects are copies, so that no request changes another's. */
  readonly defaultFor: (context: SerializerContext) => unknown

  constructor(options: Options = {} as Options) {
    this.options = options
    this.defaultFor = defaultOf(options.default)
  }

  /** Checks an input value (never null or undefined) and returns what is stored. @throws ValidationError */
  toInternalValue(value: unknown, _context: SerializerContext): Value | Promise<Value> {
    return value as Value
  }

  /** A stored value (never null or undefined) as a value for `JSON.stringify`. */
  toRepresentation(value: unknown, _context: SerializerContext): unknown {
    return value
  }

  /**
   * What a number of a JSON body stands for that is another one than JavaScript's nearest, such as `9007199254740993`,
   * before `toInternalValue`.
   * @throws ValidationError
   */
  fromNumeral(text: string): unknown {
    return Number(text)
  }

  /** What a string from a form or a query string stands for, before `toInternalValue`. @throws ValidationError */
  fromText(text: string): unknown {
    return text
  }

  /**
   * What the values of one name in a form stand for: the last counts, unless the field takes lists. Files are among them
   * as they are; names with brackets are objects and lists of such values.
   * @throws ValidationError
   */
  fromTexts(values: readonly unknown[]): unknown {
    const last = values.flat().at(-1)
    return typeof last === 'string' ? this.fromText(last) : last
  }

  /** JSON Schema of the value, without null. */
  schema(): FieldSchema {
    return {}
  }

  /** JSON Schema of what a client sends, where that is another value than the one it reads: a file, and its URL. */
  inputSchema(): FieldSchema {
    return this.schema()
  }

  /** @internal The fields of the one object that it shows, each of which is a column of a table; undefined for anything else. */
  get shownFields(): readonly OutputColumn[] | undefined {
    return undefined
  }

  /** Whether a form may bring a file for it; files that no field takes are not kept. @default true of a field that checks nothing */
  get takesFiles(): boolean {
    return this.toInternalValue === SerializerField.prototype.toInternalValue
  }

  /**
   * Whether an empty string of a form is a value of its own; where it is none, it stands for null if the field takes that.
   * @default true of a field that checks nothing
   */
  get takesEmptyText(): boolean {
    return this.toInternalValue === SerializerField.prototype.toInternalValue
  }

  /** @internal Whether a list is a value of it; where it is none, a list among items is of a further dimension, as in `int[][]`. */
  get takesLists(): boolean {
    return false
  }

  get readOnly(): boolean {
    return this.options.readOnly === true
  }

  get writeOnly(): boolean {
    return this.options.writeOnly === true
  }

  get required(): boolean {
    return this.options.required ?? !(this.readOnly || 'default' in this.options)
  }

  get allowNull(): boolean {
    return this.options.allowNull === true
  }
}

function defaultOf(given: unknown): (context: SerializerContext) => unknown {
  if (typeof given === 'function') return () => settled((given as () => unknown)(), PROMISED)
  if (isContextDefault(given)) return (context) => settled(given.resolve(context), PROMISED)
  return isShared(given) ? () => ownCopy(given) : () => given
}

const PROMISED = 'a default is a promise; give what is there at once, or set the value in performCreate()'

function isContextDefault(given: unknown): given is ContextDefault {
  return typeof (given as { resolve?: unknown } | null | undefined)?.resolve === 'function'
}

described(SerializerField)

insteadOf(SerializerField, {
  runValidation: 'override toInternalValue(value)',
  getAttribute: 'give the option source, or declare a SerializerMethodField',
  getDefault: 'give the option default',
})
takesOptions<FieldOptions>(SerializerField, {
  readOnly: 'boolean',
  writeOnly: 'boolean',
  required: 'boolean',
  allowNull: 'boolean',
  default: 'any',
  source: 'name',
  label: 'text',
  helpText: 'text',
  validators: 'validators',
  schema: 'record',
})

/** What a field shows of a value. @throws {ConfigurationError} its `toRepresentation()` is async, which would show `{}` */
export function representationOf(field: SerializerField, value: unknown, context: SerializerContext): unknown {
  return settledValue(field, 'toRepresentation', field.toRepresentation(value, context))
}

/** What a method of a field has returned, for which nobody waits. @throws {ConfigurationError} a promise or a query */
export function settledValue<Value>(field: SerializerField, method: string, value: Value): Value {
  if (!isThenable(value)) return value
  throw promiseError(value, `${field.constructor.name}: ${method}() returned a promise; return what is there at once`)
}
