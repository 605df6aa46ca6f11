/** Related fields that take keys and show objects (`shownBy`): one declaration is a field that is written, and one that is shown. */
import { ExternalIdField } from '../fields/external-id-field.js'
import type { SerializerField } from '../fields/field.js'
import { RelatedField } from '../fields/related-field.js'
import { ConfigurationError } from '../kernel/errors.js'
import { numeralAt } from '../kernel/json-numerals.js'
import { oncePer } from '../kernel/once-per.js'
import { isRecord, presentOf } from '../kernel/records.js'
import { describeModel } from '../models/describe-model.js'
import type { RelationDescription } from '../models/model-description.js'
import type { SerializerClass, SerializerPlan } from './contract.js'
import { NestedSerializer, type NestedSerializerOptions } from './nested-serializer.js'

/** The serializer by which a related field shows objects in place of keys. */
export function shownBy(field: SerializerField): SerializerClass | undefined {
  return field instanceof RelatedField ? (field.options.shownBy as SerializerClass | undefined) : undefined
}

/** The serializer of the objects that a declared field takes or shows; undefined where it has none. */
export function serializerIn(field: SerializerField): SerializerClass | undefined {
  return field instanceof NestedSerializer ? (field as NestedSerializer).serializerClass : shownBy(field)
}

/** What shows the objects of a field; undefined where it shows keys. */
export const shownFieldOf: (field: SerializerField) => NestedSerializer | undefined = oncePer((field) => {
  const serializer = shownBy(field)
  if (!serializer || field.writeOnly) return undefined
  const { many } = field.options as RelatedField['options']
  const described = presentOf(field.options, ['source', 'label', 'helpText'])
  const options: NestedSerializerOptions = { readOnly: true, many: many === true, ...described }
  return new NestedSerializer(serializer, options)
})

/**
 * The member of shown objects that is their key.
 * @throws {ConfigurationError} they do not show it, so that what was read could not be sent back
 */
export function shownKeyOf(
  where: string,
  field: SerializerField,
  {
    relation,
    planOf,
  }: { relation: RelationDescription | undefined; planOf: (serializer: SerializerClass) => SerializerPlan },
): string | undefined {
  const serializer = shownBy(field)
  const model = relation?.model ?? (field as RelatedField).relatedModel?.()
  if (!serializer || !model || !describeModel(model).prepared) return undefined
  const related = field as RelatedField
  const property = related.shownProperty(model)
  const isKey = related.idsOf(model)
    ? (one: SerializerField) => one instanceof ExternalIdField
    : (_one: SerializerField, name?: string) => name === property
  const key = planOf(serializer).readable.find(
    ({ field: one, source, column }) => source.length === 1 && isKey(one, column?.property),
  )
  if (key) return key.name
  throw new ConfigurationError(
    `${where} is shown by ${serializer.name}, which does not show "${property}": a shown object that is sent back counts as that key; add it to the fields of ${serializer.name}`,
  )
}

/** The key of a shown object that is sent back, or a list of them; what is no such object stays as it is. */
export function keyOfShown(field: SerializerField, key: string, given: unknown): unknown {
  if (Array.isArray(given)) return given.map((one) => keyOfShown(field, key, one))
  if (!isRecord(given) || !Object.hasOwn(given, key)) return given
  const text = numeralAt(given, key)
  return text === undefined ? given[key] : field.fromNumeral(text)
}
