/** The metadata that a view has unless it says otherwise (wire format, section 12). */

import type { FieldOptions, FieldSchema } from '../fields/field.js'
import type { Bounds } from '../fields/options.js'
import { HiddenField } from '../fields/own-value-fields.js'
import type { Context } from '../http/context.js'
import type { BoundField, SerializerPlan } from '../serializers/contract.js'
import { takenSchema } from '../serializers/input-schema.js'
import { ownSchema } from '../serializers/output-schema.js'
import { BaseMetadata, type DescribedView } from './metadata.js'

/** A field as OPTIONS describes it; what is not declared is left out. */
interface FieldMetadata {
  readonly type: string
  readonly required: boolean
  readonly read_only: boolean
  readonly label?: string
  readonly help_text?: string
  readonly min_length?: number
  readonly max_length?: number
  readonly min_value?: number | string
  readonly max_value?: number | string
  readonly choices?: readonly unknown[]
}

/**
 * `{name, description, allowed_methods}`, `actions.fields` where the path takes an object, and `parameters` with the names
 * that those of aggregates and facets take. Of a related field it shows
 * the type of the key and no choices; hidden fields are left out.
 */
export class SimpleMetadata extends BaseMetadata {
  override determineMetadata(
    _ctx: Context,
    { name, description, allowed, input, partial, names }: DescribedView,
  ): unknown {
    return {
      name,
      description,
      allowed_methods: allowed.map((method) => method.toLowerCase()),
      ...(input && { actions: { fields: describeFields(input, partial) } }),
      ...(names && { parameters: names }),
    }
  }
}

function describeFields({ fields }: SerializerPlan, partial = false): Record<string, FieldMetadata> {
  const shown = fields.filter(
    ({ field, readable, writable }) => (readable || writable) && !(field instanceof HiddenField),
  )
  return Object.fromEntries(shown.map((bound) => [bound.name, describeField(bound, partial)]))
}

function describeField(bound: BoundField, partial: boolean): FieldMetadata {
  const { field, required, rivals, writable } = bound
  const { label, helpText, minValue, maxValue, schema: own } = field.options as FieldOptions & Bounds
  const schema: FieldSchema = writable ? takenSchema(bound) : { ...ownSchema(bound), ...own }
  const [number = schema] = (schema['anyOf'] ?? []) as readonly FieldSchema[]
  const described = {
    label,
    help_text: helpText,
    min_length: schema.minLength ?? schema['minItems'],
    max_length: schema.maxLength ?? schema['maxItems'],
    min_value: number.minimum ?? minValue,
    max_value: number.maximum ?? maxValue,
    choices: schema.enum ?? schema.items?.enum,
  }
  const declared = Object.entries(described).filter(([, value]) => value !== undefined)
  const isAsked = required && rivals.length === 0 && !partial
  return { type: typeOf(schema), required: isAsked, read_only: !writable, ...Object.fromEntries(declared) }
}

const TYPES: readonly string[] = ['integer', 'number', 'boolean', 'array', 'object']

/** Of a value of several types the first counts: an int8 is an integer. */
function typeOf({ type, anyOf = [] }: FieldSchema): string {
  const [first] = [type ?? (anyOf as readonly FieldSchema[])[0]?.type].flat()
  return first !== undefined && TYPES.includes(first) ? first : 'string'
}
