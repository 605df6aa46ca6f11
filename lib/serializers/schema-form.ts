/** Strings of a form as the values that a JSON Schema says of their names, by what it refers to and by alternatives, too. */
import { ArrayField } from '../fields/array-field.js'
import { BooleanField } from '../fields/boolean-field.js'
import { type FieldOptions, type FieldSchema, SerializerField } from '../fields/field.js'
import { FloatField } from '../fields/float-field.js'
import { JSONField } from '../fields/json-field.js'
import { formValues } from '../fields/json-text.js'
import { ValidationError } from '../kernel/errors.js'
import { readReferenceStep } from '../kernel/json-pointer.js'
import { isPlain, isRecord } from '../kernel/records.js'

/** Reads the strings of a form, or of an object in it. */
export class SchemaForm {
  readonly #parts: readonly FieldSchema[]
  readonly #whole: FieldSchema

  /** @param whole what references in the schema lead into */
  constructor(schema: FieldSchema, whole = schema) {
    this.#parts = partsOf(schema, whole)
    this.#whole = whole
  }

  /** The object that a form stands for; what the schema says nothing of stays as it is. */
  read(form: unknown): unknown {
    if (!isRecord(form) || !isPlain(form)) return form
    // of alternatives, those that the form is one of
    const fitting = this.#parts.filter((part) => fits(part, form))
    return Object.fromEntries(
      Object.entries(form).map(([name, given]) => {
        const named = [schemasOf(name, fitting), schemasOf(name, this.#parts)].find(({ length }) => length > 0)
        const schemas = named ?? this.#parts.flatMap(({ additionalProperties }) => schemasIn(additionalProperties))
        if (schemas.length === 0) return [name, given]
        return [name, new FormText({ anyOf: schemas }, this.#whole).fromTexts(formValues(given))]
      }),
    )
  }
}

/** False where a member of the form is none of the texts that the schema names for it, such as `kind` of another alternative. */
function fits(part: FieldSchema, form: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(form).every(([name, given]) => {
    const texts = schemasOf(name, [part]).flatMap(choicesOf).map(String)
    return texts.length === 0 || typeof given !== 'string' || texts.includes(given)
  })
}

function schemasOf(name: string, parts: readonly FieldSchema[]): readonly FieldSchema[] {
  return parts.flatMap(({ properties }) =>
    isRecord(properties) && Object.hasOwn(properties, name) ? schemasIn(properties[name]) : [],
  )
}

type Read = (parts: readonly FieldSchema[], whole: FieldSchema) => SerializerField

/** What reads a form's strings, by the type that JSON Schema names. */
const READERS: Readonly<Record<string, Read>> = {
  integer: () => new FloatField(),
  number: () => new FloatField(),
  boolean: () => new BooleanField(),
  string: () => new SerializerField(),
  object: (parts, whole) => new FormObject(parts, whole),
  array: (parts, whole) => new ArrayField({ child: new FormText({ anyOf: parts.flatMap(itemsOf) }, whole) }),
}

/** A value that stands in a form, in the first of its types that it can be. */
class FormText extends SerializerField {
  readonly #schema: FieldSchema
  readonly #whole: FieldSchema
  #found: ReturnType<typeof readersOf> | undefined

  constructor(schema: FieldSchema, whole: FieldSchema) {
    super()
    this.#schema = schema
    this.#whole = whole
  }

  override get takesLists(): boolean {
    return this.#readers().readers.has('array')
  }

  override fromTexts(values: readonly unknown[]): unknown {
    const { readers, emptyIsNull } = this.#readers()
    const last = values.at(-1)
    if (last === '' && emptyIsNull) return null
    const shape = values.length > 1 || Array.isArray(last) ? 'array' : isRecord(last) ? 'object' : ''
    const first = readers.get(shape)
    for (const reader of first ? [first] : readers.values()) {
      try {
        return reader.fromTexts(values)
      } catch (error) {
        if (!(error instanceof ValidationError)) throw error
      }
    }
    // a string that stands for no value of its types is left to the schema to refuse
    return last
  }

  /** Made when they are first asked for: a list may hold lists like itself. */
  #readers() {
    this.#found ??= readersOf(partsOf(this.#schema, this.#whole), this.#whole)
    return this.#found
  }
}

/** Reads JSON, or what names with brackets stand for. */
class FormObject extends JSONField<FieldOptions> {
  readonly #form: SchemaForm

  constructor(parts: readonly FieldSchema[], whole: FieldSchema) {
    super()
    this.#form = new SchemaForm({ anyOf: parts }, whole)
  }

  override fromTexts(values: readonly unknown[]): unknown {
    const given = super.fromTexts(values)
    return values.includes(given) ? this.#form.read(given) : given
  }
}

function readersOf(parts: readonly FieldSchema[], whole: FieldSchema) {
  const readers = new Map<string, SerializerField>()
  const types = new Set(parts.flatMap(typesOf))
  for (const type of types) {
    const read = READERS[type]
    if (read) readers.set(type, read(parts, whole))
  }
  const takesEmpty = parts.some((part) => typesOf(part).includes('string') && choicesOf(part).length === 0)
  return { readers, emptyIsNull: types.has('null') && !types.has('array') && !takesEmpty }
}

function typesOf(schema: FieldSchema): readonly string[] {
  if (schema.type !== undefined) return [schema.type].flat()
  return choicesOf(schema).map((value) => (value === null ? 'null' : typeof value))
}

/** The values that a schema names. */
function choicesOf({ enum: choices = [], ...schema }: FieldSchema): readonly unknown[] {
  return [...choices, ...('const' in schema ? [schema['const']] : [])]
}

function itemsOf({ items, prefixItems }: FieldSchema): readonly FieldSchema[] {
  return [...schemasIn(items), ...schemasIn(prefixItems)]
}

/** A schema with all that it says by others: what it refers to, its alternatives, and what holds besides. */
function partsOf(schema: FieldSchema, whole: FieldSchema, seen = new Set<FieldSchema>()): FieldSchema[] {
  if (seen.has(schema)) return []
  seen.add(schema)
  const { $ref, anyOf, oneOf, allOf } = schema
  const others = [referred(whole, $ref), anyOf, oneOf, allOf].flatMap(schemasIn)
  return [schema, ...others.flatMap((one) => partsOf(one, whole, seen))]
}

/** `#/$defs/Book` */
function referred(whole: FieldSchema, ref: unknown): unknown {
  if (typeof ref !== 'string' || !ref.startsWith('#')) return undefined
  const steps = ref.split('/').slice(1)
  return steps.reduce<unknown>((found, step) => isRecord(found) && found[readReferenceStep(step)], whole)
}

/** Schemas among what stands in their place, which may be true or false. */
function schemasIn(value: unknown): readonly FieldSchema[] {
  return [value].flat().filter(isRecord)
}
