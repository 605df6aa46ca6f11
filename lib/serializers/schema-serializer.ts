/** The input of an action by a schema of another library, in the place of a serializer class. */
import { ArrayField } from '../fields/array-field.js'
import { BooleanField } from '../fields/boolean-field.js'
import { type FieldOptions, type FieldSchema, SerializerField } from '../fields/field.js'
import { FloatField } from '../fields/float-field.js'
import { JSONField } from '../fields/json-field.js'
import { formValues } from '../fields/json-text.js'
import { described } from '../kernel/declarations.js'
import { ValidationError } from '../kernel/errors.js'
import { oncePer } from '../kernel/once-per.js'
import { askSchema, jsonSchemaOf, type StandardSchema, toGivenErrors } from '../kernel/standard-schema.js'
import type { DeclaredFields, SerializerClass } from './contract.js'
import { tooManyObjects } from './count-nested.js'
import { markInline } from './schema-name.js'
import { Serializer, type Validity } from './serializer.js'

/**
 * Takes what a schema takes: the whole body, of any shape, and nothing of it is looked at before but how many objects it
 * holds. What the schema makes of it is the validated data. Numbers are those of JavaScript.
 *
 * The strings of a form become what the JSON Schema says of their names: numbers, booleans, lists, JSON. A schema that has no
 * JSON Schema gets them as they are, and a list where a name is repeated.
 */
export class SchemaSerializer extends Serializer {
  static readonly schema: StandardSchema | null = null

  /** @internal What the schema says of the input's members, for OPTIONS and forms. */
  static override get declaredFields(): DeclaredFields {
    return this.schema ? fieldsOf(this.schema) : {}
  }

  /** @internal */
  override async checkInput(): Promise<Validity> {
    const schema = (this.constructor as typeof SchemaSerializer).schema as StandardSchema
    const input = this.textual ? fromForm(describedBy(schema), this.inputData) : this.inputData
    const tooMany = tooManyObjects(this, input)
    if (tooMany) return { valid: false, value: undefined, errors: tooMany }
    const result = await askSchema(schema, input)
    if (!result.issues) return { valid: true, value: result.value, errors: {} }
    return { valid: false, value: undefined, errors: new ValidationError(toGivenErrors(result.issues)).errors }
  }
}

described(SchemaSerializer, { schema: 'any' }, 'serializer')

/** The serializer class that stands for a schema; one for each. */
export const serializerOfSchema: (schema: StandardSchema) => SerializerClass = oncePer((schema) => {
  const made = class extends SchemaSerializer {
    static override readonly schema = schema
  }
  Object.defineProperty(made, 'name', { value: `${schema['~standard'].vendor} schema` })
  return markInline(made)
})

/** The schema that a serializer class stands for; undefined for one of fields. */
export function schemaOf(serializer: SerializerClass): StandardSchema | undefined {
  return (serializer as Partial<typeof SchemaSerializer>).schema ?? undefined
}

/** A member of a schema's input, as OPTIONS describes it. */
class SchemaMember extends SerializerField {
  /** A file is what JSON Schema has no type for. */
  override get takesFiles(): boolean {
    const { type, format } = this.options.schema ?? {}
    return type === undefined || format === 'binary'
  }
}

const fieldsOf = oncePer((schema: StandardSchema): DeclaredFields => {
  const { required } = describedBy(schema)
  const asked = new Set(Array.isArray(required) ? (required as unknown[]) : [])
  return Object.fromEntries(
    Object.entries(propertiesOf(describedBy(schema))).map(([name, property]) => {
      const { title, description } = property
      const options: FieldOptions = {
        required: asked.has(name),
        schema: property,
        ...(typeof title === 'string' && { label: title }),
        ...(typeof description === 'string' && { helpText: description }),
      }
      return [name, new SchemaMember(options)]
    }),
  )
})

const describedBy = oncePer((schema: StandardSchema): FieldSchema => jsonSchemaOf(schema) ?? {})

function propertiesOf(schema: FieldSchema): Readonly<Record<string, FieldSchema>> {
  return (schema['properties'] ?? {}) as Readonly<Record<string, FieldSchema>>
}

/** What reads a form's strings, by the type that JSON Schema names. */
const READERS: Readonly<Record<string, (allowNull: boolean, schema: FieldSchema) => SerializerField>> = {
  integer: (allowNull) => new FloatField({ allowNull }),
  number: (allowNull) => new FloatField({ allowNull }),
  boolean: (allowNull) => new BooleanField({ allowNull }),
  object: (allowNull, schema) => new ObjectReader({ allowNull, schema }),
  array: (allowNull, { items = {} }) => new ArrayField({ allowNull, child: readerOf(items) }),
}

/** Reads JSON, or what names with brackets stand for. */
class ObjectReader extends JSONField<FieldOptions> {
  override fromTexts(values: readonly unknown[]): unknown {
    const given = super.fromTexts(values)
    return values.includes(given) ? fromForm(this.options.schema ?? {}, given) : given
  }
}

const readersOf = oncePer(
  (schema: FieldSchema): ReadonlyMap<string, SerializerField> =>
    new Map(Object.entries(propertiesOf(schema)).map(([name, property]) => [name, readerOf(property)])),
)

function readerOf(schema: FieldSchema): SerializerField {
  const types = [schema.type].flat()
  const [type] = types.filter((one) => one !== 'null')
  const read = type === undefined ? undefined : READERS[type]
  return read ? read(types.includes('null'), schema) : new SerializerField()
}

function fromForm(schema: FieldSchema, form: unknown): unknown {
  if (typeof form !== 'object' || form === null || Array.isArray(form)) return form
  const readers = readersOf(schema)
  return Object.fromEntries(
    Object.entries(form).map(([name, given]: [string, unknown]) => {
      const reader = readers.get(name)
      return [name, reader ? read(reader, given) : given]
    }),
  )
}

/** A string that stands for no value of its type is left to the schema to refuse. */
function read(reader: SerializerField, given: unknown): unknown {
  const values = formValues(given)
  const last = values.at(-1)
  if (last === '' && reader.allowNull && !reader.takesEmptyText) return null
  try {
    return reader.fromTexts(values)
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error
    return last
  }
}
