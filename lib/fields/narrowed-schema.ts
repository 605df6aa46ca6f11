/** What schemas among a field's `validators` say of its value, added to what the field says itself. */
import { isStandardSchema, jsonSchemaOf } from '../kernel/standard-schema.js'
import type { FieldSchema, Validator } from './field.js'

type Numbers = (one: number, other: number) => number

/** Keywords of which the tighter one holds. */
const TIGHTER: Readonly<Record<string, Numbers>> = {
  minLength: Math.max,
  minItems: Math.max,
  minimum: Math.max,
  exclusiveMinimum: Math.max,
  maxLength: Math.min,
  maxItems: Math.min,
  maximum: Math.min,
  exclusiveMaximum: Math.min,
}

/** Keywords that are about the schema, or about its place in a document. */
const NOT_OURS = new Set(['$id', '$defs', 'default', 'type'])

/**
 * A field's own schema, with the limits of the first schema among its validators. It is left as it is where they are about
 * values of different types: what a validator sees is the checked value, which need not be of the type that is sent.
 */
export function narrowedSchema(own: FieldSchema, validators: readonly Validator[] = []): FieldSchema {
  const schema = validators.find(isStandardSchema)
  const described: FieldSchema = (schema && jsonSchemaOf(schema)) ?? {}
  if (!isOfSameType(own, described) || '$defs' in described) return own
  const added = Object.entries(described).filter(([keyword]) => !NOT_OURS.has(keyword))
  return { ...own, ...Object.fromEntries(added.map(([keyword, value]) => [keyword, tighter(keyword, own, value)])) }
}

function tighter(keyword: string, own: FieldSchema, value: unknown): unknown {
  const known = own[keyword]
  const choose = TIGHTER[keyword]
  if (choose && typeof known === 'number' && typeof value === 'number') return choose(known, value)
  return known ?? value
}

function isOfSameType({ type: own }: FieldSchema, { type: other }: FieldSchema): boolean {
  if (typeof own !== 'string' || typeof other !== 'string') return false
  return own === other || (own === 'integer' && other === 'number')
}
