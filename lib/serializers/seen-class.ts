/** Serializer classes as callers see them: without the fields that rules keep from them, with masks, and with what they may not set. */

import type { SerializerField } from '../fields/field.js'
import { oncePer } from '../kernel/once-per.js'
import { describeModel, oncePerCatalogue } from '../models/describe-model.js'
import type { ModelDescription } from '../models/model-description.js'
import {
  accessOfAll,
  alongRelation,
  type Extent,
  type Property,
  type VisibleFields,
} from '../queryset/visible-fields.js'
import { type BoundField, type FieldsDescription, SEEN, type SeenFields, type SerializerClass } from './contract.js'
import { neededRelations } from './needed-relations.js'
import { NestedSerializer } from './nested-serializer.js'
import { serializerPlan } from './plan.js'
import { isInline, markInline } from './schema-name.js'
import type { Serializer } from './serializer.js'

/** The class as a caller sees it: itself where rules keep nothing of it, and of what it nests, from the caller. */
export function seenClass(serializer: SerializerClass, fields: VisibleFields | undefined): SerializerClass {
  return fields && !(SEEN in serializer) ? seenClasses(fields)(serializer) : serializer
}

const seenClasses = oncePer((fields: VisibleFields) =>
  oncePerCatalogue((serializer: SerializerClass): SerializerClass => {
    const { fields: taken, readable, model } = serializerPlan(serializer)
    const isTouched = [...taken, ...readable].some(
      (bound) => restricted(bound, model, fields) !== bound || seenField(bound.field, fields) !== bound.field,
    )
    return isTouched ? makeClass(serializer, fields) : serializer
  }),
)

/** The field, with what the caller sees of the objects in it. */
function seenField(field: SerializerField, fields: VisibleFields): SerializerField {
  if (!(field instanceof NestedSerializer)) return field
  const { serializerClass, options } = field as NestedSerializer
  const inner = seenClass(serializerClass, fields)
  return inner === serializerClass ? field : new NestedSerializer(inner, options)
}

function makeClass(serializer: SerializerClass, fields: VisibleFields): SerializerClass {
  const base = serializer as typeof Serializer
  const made = class extends base {
    static readonly [SEEN]: SeenFields = {
      field: (field) => seenField(field, fields),
      bound: (bound, model) => restricted(bound, model, fields),
    }

    static override describeFields(): FieldsDescription {
      const { byName, model } = serializerPlan(serializer)
      const isShown = (name: string) => {
        const bound = byName.get(name)
        return bound !== undefined && restricted(bound, model, fields).readable
      }
      return { ...super.describeFields(), relations: neededRelations(serializer, isShown) }
    }
  }
  Object.defineProperty(made, 'name', { value: serializer.name })
  if (Object.hasOwn(serializer, 'schemaName')) made.schemaName = serializer.schemaName
  return isInline(serializer) ? markInline(made) : made
}

/** The field as the caller sees it: itself where no rule says otherwise. */
function restricted(bound: BoundField, model: ModelDescription | undefined, fields: VisibleFields): BoundField {
  if (!model || bound.input === 'nothing') return bound
  const found = propertiesOf(bound, model).flatMap((one) => {
    const access = fields.of(one.model, one.property)
    return access ? [{ ...one, ...access }] : []
  })
  const all = accessOfAll(found)
  if (!all) return bound
  const own = found.every(({ isOwn }) => isOwn)
  // what a row decides on is asked of the object's own
  const [read, write] = [all.read, all.write].map((one) => (one === 'some' && !own ? 'none' : one)) as [Extent, Extent]
  const isValue = bound.input === 'value' && bound.method === undefined
  const mask = isValue && read !== 'all' ? all.mask : undefined
  const writable = bound.writable && write !== 'none'
  return {
    ...bound,
    readable: bound.readable && (read !== 'none' || mask !== undefined),
    writable,
    required: bound.required && writable,
    passesThrough: bound.passesThrough && read === 'all',
    access: {
      read,
      write,
      mask,
      properties: found.map(({ property }) => property),
      isKept: bound.writable && !writable,
    },
  }
}

/** A column or a relation of the object, or of one that is related to it, which may be of the same model. */
type FieldProperty = Property & { readonly isOwn: boolean }

/** The columns and relations of which a field shows something, or which it sets. */
function propertiesOf(bound: BoundField, owner: ModelDescription): readonly FieldProperty[] {
  const { name, method, counted, source, relation, key } = bound
  const isOwn = (one: Property) => ({ ...one, isOwn: true })
  if (method !== undefined) return [isOwn({ model: owner.model, property: name })]
  if (counted) return alongRelation(owner, counted.name).map(isOwn)
  const found: FieldProperty[] = []
  let at: ModelDescription | undefined = owner
  for (const [index, step] of source.entries()) {
    if (!at) break
    const next = index === 0 && relation ? relation.name : step
    const along = [
      ...(index === 0 && next !== step ? [{ model: at.model, property: step }] : []),
      ...alongRelation(at, next),
    ]
    found.push(...along.map((one) => ({ ...one, isOwn: index === 0 })))
    const related = at.relations.get(next)
    at = related && describeModel(related.model)
  }
  if (relation && key?.property !== undefined)
    found.push({ model: relation.model, property: key.property, isOwn: false })
  if (relation && key?.composite) {
    for (const { property } of key.composite.columns) found.push({ model: relation.model, property, isOwn: false })
  }
  return found
}
