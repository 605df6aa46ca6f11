/** Recorded fields of an object: those of a serializer, but for what is masked, what lasts for no time, and what stands in rows of its own. */

import type { SerializerField } from '../fields/field.js'
import { fieldForColumn } from '../fields/field-for-column.js'
import { FileUploadField } from '../fields/file-upload-field.js'
import { PrimaryKeyRelatedField } from '../fields/key-related-fields.js'
import { notAKey } from '../fields/object-key.js'
import { StringField } from '../fields/string-field.js'
import { externalIds } from '../ids/external-ids.js'
import { ConfigurationError } from '../kernel/errors.js'
import { didYouMean } from '../kernel/near-miss.js'
import { describeModel } from '../models/describe-model.js'
import type { ModelDescription, RelationDescription } from '../models/model-description.js'
import { type ModelClass, modelName } from '../models/objection.js'
import { areOfOneTable } from '../models/one-table.js'
import type { RuleSet } from '../rules/rule-set.js'
import {
  type BoundField,
  type FieldsDescription,
  RECORDED,
  SEEN,
  type SerializerClass,
} from '../serializers/contract.js'
import { NestedSerializer } from '../serializers/nested-serializer.js'
import { serializerPlan } from '../serializers/plan.js'
import { schemaNameOf } from '../serializers/schema-name.js'
import { type Serializer, writesByPlan } from '../serializers/serializer.js'

/** Selection of recorded fields. */
export interface RecordedChoice {
  /** The model whose objects are recorded. @default that of the serializer */
  readonly of?: ModelClass
  /** Their names. @default all that show the object's own row, and the keys of what it points to */
  readonly only?: readonly string[] | undefined
  /** Rules whose masks are never recorded. */
  readonly rules: RuleSet | undefined
}

/**
 * A serializer class of what is recorded of objects. Related objects stand in it by their keys: what changes in them is a
 * change of theirs.
 * @throws {ConfigurationError} it does not write field by field, or a name is no field that it shows
 */
export function recordedClass(serializer: SerializerClass, { of, only, rules }: RecordedChoice): SerializerClass {
  const base = unseen(serializer)
  if (!writesByPlan(base.prototype)) {
    throw new ConfigurationError(
      `changes: ${base.name} changes its output as a whole (toRepresentation, data), of which nobody knows what it hides; name another one: static changes = { serializer }`,
    )
  }
  const { readable, model } = serializerPlan(base)
  if (of && model && !areOfOneTable(model.model, of)) {
    throw new ConfigurationError(
      `changes: ${base.name} shows objects of ${modelName(model.model)}; name a serializer of ${modelName(of)}`,
    )
  }
  for (const name of only ?? []) {
    if (readable.some((bound) => bound.name === name)) continue
    const names = readable.map((bound) => bound.name)
    throw new ConfigurationError(`changes: ${base.name} shows no field "${name}"${didYouMean(name, names)}`)
  }
  const fields = readable.flatMap((bound): [string, SerializerField][] => {
    if (isMasked(bound, model, rules) || isFleeting(bound)) return []
    if (only && !only.includes(bound.name)) return []
    const field = lastingField(bound) ?? (only ? namedField(bound, rules) : recordedField(bound))
    return field ? [[bound.name, field]] : []
  })
  return makeClass(base, new Map(fields))
}

/** A relation whose objects a serializer nests, and what shows them. */
export interface NestedRows {
  readonly relation: RelationDescription
  readonly shownBy: SerializerClass
}

/** Rows that may go with one that is deleted, as far as a serializer nests them. */
export function nestedRows(serializer: SerializerClass): readonly NestedRows[] {
  const { fields } = serializerPlan(unseen(serializer))
  return fields.flatMap(({ field, relation, source }) => {
    const isOwn = relation !== undefined && relation.kind !== 'belongs-to-one' && source.length === 1
    return isOwn && field instanceof NestedSerializer ? [{ relation, shownBy: field.serializerClass }] : []
  })
}

/** The class as it was declared: whatever the caller of a request may see of it. */
export function unseen(serializer: SerializerClass): SerializerClass {
  let own = serializer
  while (SEEN in own) own = Object.getPrototypeOf(own) as SerializerClass
  return own
}

/** True for a field whose values, or whose column's or relation's, rules show to some only by a mask. */
export function isMasked(
  { column, relation, name }: BoundField,
  model: ModelDescription | undefined,
  rules: RuleSet | undefined,
): boolean {
  return [column?.property, relation?.name, name].some(
    (one) => model && one !== undefined && rules?.masks(model.model, one),
  )
}

/** True for keys that are others for another user, or at another time. */
function isFleeting({ ids, relation }: BoundField): boolean {
  const { perUser = false, expire = false } = ids ?? (relation && externalIds(relation.model)) ?? {}
  return perUser || expire
}

/** What stays of a field that shows something else each time: the key of a file whose URL may be signed. */
function lastingField({ field, name, source }: BoundField): SerializerField | undefined {
  if (!(field instanceof FileUploadField) || source.length > 1) return undefined
  return new StringField({
    readOnly: true,
    allowNull: true,
    ...(source[0] !== name && { source: source[0] as string }),
  })
}

/** A field that was named; what it nests has no more than what is recorded of objects, but with all that is computed. */
function namedField({ field }: BoundField, rules: RuleSet | undefined): SerializerField {
  if (!(field instanceof NestedSerializer)) return field
  const { serializerClass, options } = field as NestedSerializer
  const only = serializerPlan(unseen(serializerClass)).readable.map(({ name }) => name)
  return new NestedSerializer(recordedClass(serializerClass, { only, rules }), options)
}

/** Undefined for what is computed, counted, or made of rows of its own. */
function recordedField({
  field,
  name,
  column,
  relation,
  counted,
  method,
  source,
}: BoundField): SerializerField | undefined {
  if (counted || method !== undefined || source.length > 1) return undefined
  if (!(field instanceof NestedSerializer)) return column || relation ? field : undefined
  // which objects it points to, or is linked to, is the row's own
  const isOwn = relation?.kind === 'belongs-to-one' || relation?.through !== undefined
  if (!relation || !isOwn) return undefined
  const { columns, primaryKey } = describeModel(relation.model)
  const key = columns.get(primaryKey[0] as string)
  if (key && notAKey(key) !== undefined) return valueOfKey(relation)
  return new PrimaryKeyRelatedField({ readOnly: true, many: !relation.single, source: source[0] ?? name })
}

/** What a foreign key holds whose values name no object, as lists and JSON; a row of its own has it of other links. */
function valueOfKey({ model, single, through, ownerProperties, relatedProperties }: RelationDescription) {
  const [source] = ownerProperties
  const column = describeModel(model).columns.get(relatedProperties[0] as string)
  if (!column || !single || through || source === undefined) return undefined
  return fieldForColumn({ ...column, schema: {} }, { readOnly: true, source })
}

function makeClass(serializer: SerializerClass, fields: ReadonlyMap<string, SerializerField>): SerializerClass {
  const made = class extends (serializer as typeof Serializer) {
    static readonly [RECORDED] = true as const
    static override describeFields(): FieldsDescription {
      return { fields: new Map(fields), model: super.describeFields().model }
    }
  }
  Object.defineProperty(made, 'name', { value: serializer.name })
  // a document may describe both
  made.schemaName = `${schemaNameOf(serializer)}Record`
  return made
}
