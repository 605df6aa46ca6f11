/** The input of an action by a schema of another library, in the place of a serializer class. */
import { type FieldOptions, type FieldSchema, SerializerField } from '../fields/field.js'
import { described } from '../kernel/declarations.js'
import { ValidationError } from '../kernel/errors.js'
import { oncePer } from '../kernel/once-per.js'
import { isRecord } from '../kernel/records.js'
import { askSchema, jsonSchemaOf, type StandardSchema, toGivenErrors } from '../kernel/standard-schema.js'
import type { DeclaredFields, SerializerClass } from './contract.js'
import { tooManyObjects } from './count-nested.js'
import { SchemaForm } from './schema-form.js'
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
    const input = this.textual ? formOf(schema).read(this.inputData) : this.inputData
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
export function standardSchemaOf(serializer: SerializerClass): StandardSchema | undefined {
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
      const schema = isRecord(property) ? property : {}
      const { title, description } = schema
      const options: FieldOptions = {
        required: asked.has(name),
        schema,
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

const formOf = oncePer((schema: StandardSchema) => new SchemaForm(describedBy(schema)))
