/** Writes an object as plain data, after its serializer's plan. */

import { representationOf, type SerializerContext } from '../fields/field.js'
import { RelatedField } from '../fields/related-field.js'
import { Numeral, numeralAt } from '../kernel/json-numerals.js'
import { isThenable } from '../kernel/realms.js'
import { promiseError } from '../kernel/settled.js'
import { standardValue } from '../models/exact-types.js'
import { isModelClass, modelName } from '../models/objection.js'
import { areOfOneTable } from '../models/one-table.js'
import { countKey, isPart, listKey, loadedBeside } from '../queryset/related-lists.js'
import type { AnySerializer, BoundField } from './contract.js'
import { NestedSerializer } from './nested-serializer.js'
import { isReadableAt } from './readable-at.js'
import { relatedKey } from './relation-graph.js'

/** The object as the client sees it. Throws when a relation it shows was not loaded. */
export function represent(serializer: AnySerializer, object: object): Record<string, unknown> {
  const { context } = serializer
  const result: Record<string, unknown> = {}
  for (const bound of serializer.plan.readable) {
    if (bound.access && isLeftOut(bound, object, context)) continue
    result[bound.name] = representField(serializer, bound, object, context)
  }
  return result
}

/** True for a field that rules keep from the caller, of this object at least, and that has no mask. */
export function isLeftOut(bound: BoundField, object: object, context: SerializerContext): boolean {
  return bound.access?.mask === undefined && !isReadableAt(bound, object, context)
}

/** One field of an object as the client sees it. */
export function representField(
  serializer: AnySerializer,
  bound: BoundField,
  object: object,
  context: SerializerContext,
): unknown {
  const value = representValue(serializer, bound, object, context)
  return bound.access?.mask && !isReadableAt(bound, object, context) ? bound.access.mask(value) : value
}

/** The same without what rules say of it. */
export function representValue(
  serializer: AnySerializer,
  bound: BoundField,
  object: object,
  context: SerializerContext,
): unknown {
  const { field, writer, method, counted } = bound
  if (method !== undefined) return callMethod(serializer, method, object)
  if (counted) return loaded(serializer, bound, loadedBeside(object, countKey(counted.name)))
  if (field instanceof NestedSerializer) {
    const related = loaded(serializer, bound, readRelated(object, bound))
    // without its foreign key a relation looks as if it led nowhere
    if (related === null) checkSelected(serializer, bound, object)
    return representNested(serializer, bound, field, related)
  }
  if (field instanceof RelatedField) return representRelated(serializer, bound, field, object)
  const value =
    bound.source.length === 1 ? read(object, bound.source[0] as string) : readPath(serializer, bound, object)
  if (value === undefined) checkSelected(serializer, bound, object)
  if (value === null || value === undefined) return null
  if (isThenable(value)) throw promised(serializer, `: the source of field "${bound.name}"`, value)
  return bound.passesThrough ? value : representationOf(writer, value, context)
}

/** The related objects that a nested field shows: the relation's, or the part of them that was loaded for the field. */
function readRelated(object: object, { list, relation, name }: BoundField): unknown {
  if (list && isPart(list)) {
    const part = loadedBeside(object, listKey(list))
    if (part || isModelClass(classOf(object))) return part
  }
  return read(object, relation?.name ?? name)
}

function representNested(
  serializer: AnySerializer,
  bound: BoundField,
  field: NestedSerializer,
  value: unknown,
): unknown {
  if (value === null) return null
  const child = serializer.child(bound, field.serializerClass)
  const show = (item: object) => withoutHidden(child, child.toRepresentation(item), item)
  return Array.isArray(value) ? value.map(show) : show(value as object)
}

/** What an application's own `toRepresentation()` has made of an object, with the fields that rules keep from the caller left out or masked. */
export function withoutHidden(serializer: AnySerializer, shown: unknown, object: object): unknown {
  const { fields } = serializer.plan
  const { context } = serializer
  if (serializer.showsByPlan || typeof shown !== 'object' || shown === null) return shown
  if (isThenable(shown)) throw promised(serializer, '.toRepresentation()', shown)
  const hidden = new Map(
    fields.flatMap((bound) => (isReadableAt(bound, object, context) ? [] : [[bound.name, bound] as const])),
  )
  if (hidden.size === 0) return shown
  return Object.fromEntries(
    Object.entries(shown).flatMap(([name, value]) => {
      const bound = hidden.get(name)
      if (!bound) return [[name, value]]
      return isLeftOut(bound, object, context) ? [] : [[name, representField(serializer, bound, object, context)]]
    }),
  )
}

function representRelated(serializer: AnySerializer, bound: BoundField, field: RelatedField, object: object): unknown {
  const { context } = serializer
  const { relation, column } = bound
  const key = bound.key ?? (relation && relatedKey(field, relation))
  if (relation && key?.property !== undefined) {
    const { property: shown, field: keyField, composite } = key
    const related = loaded(serializer, bound, read(object, relation.name))
    const one = (item: unknown) => {
      if (composite) {
        const values = composite.columns.map(({ property }) => read(item as object, property))
        const text = composite.toText(values, context) ?? null
        return text === null || !field.hasOwnOutput ? text : representationOf(field, text, context)
      }
      const value = read(item as object, shown)
      return value === null || value === undefined ? null : representationOf(keyField, value, context)
    }
    if (related === null) return null
    return Array.isArray(related) ? related.map(one) : one(related)
  }
  const value = read(object, column?.property ?? (bound.source[0] as string))
  if (value === undefined) checkSelected(serializer, bound, object)
  if (value === null || value === undefined) return null
  return representationOf(key?.field ?? field, value, context)
}

function callMethod(serializer: AnySerializer, method: string, object: object): unknown {
  const compute = (serializer as unknown as Record<string, (object: object) => unknown>)[method]
  const value = compute?.call(serializer, object)
  if (isThenable(value)) throw promised(serializer, `.${method}()`, value)
  return value ?? null
}

function promised(serializer: AnySerializer, what: string, value: unknown): Error {
  return promiseError(
    value,
    `${serializer.constructor.name}${what} returned a promise: output is synchronous; load what it needs in getQueryset()`,
  )
}

/** The guard against a query that leaves out columns: a column that was not read must not be shown as null. */
function checkSelected(serializer: AnySerializer, { name, column }: BoundField, object: object): void {
  const made = classOf(object)
  if (!column || !isModelClass(made) || read(object, column.property) !== undefined) return
  const { model } = serializer.plan
  const isOther = model && !areOfOneTable(made, model.model)
  throw new Error(
    `${serializer.constructor.name}: field "${name}" shows the column "${column.property}", which the object does not have; ` +
      (isOther
        ? `it is one of ${modelName(made)}: show it by a serializer of that model`
        : "select it, or after an insert of your own use returning('*')"),
  )
}

/** Follows a dotted source; null at the first step that leads nowhere. */
function readPath(serializer: AnySerializer, bound: BoundField, object: object): unknown {
  let value: unknown = object
  for (const [index, step] of bound.source.entries()) {
    if (value === null || value === undefined) return null
    const owner: object = value
    const text = numeralAt(owner, Array.isArray(owner) ? Number(step) : step)
    value = text === undefined ? read(owner, step) : new Numeral(text)
    if (value === undefined && hasRelation(owner, step))
      throw notLoaded(serializer, bound, bound.source.slice(0, index + 1).join('.'))
  }
  return value
}

/** True for a model instance with a relation of this name. */
function hasRelation(object: object, name: string): boolean {
  const made = classOf(object)
  return isModelClass(made) && Object.hasOwn(made.getRelations(), name)
}

/** The class of an object, which may have a column of the name `constructor`. */
function classOf(object: object): unknown {
  const prototype = Object.getPrototypeOf(object) as { constructor?: unknown } | null
  return prototype?.constructor
}

/** An attribute of an object, or a key of a Map; nothing that all objects have. */
function read(object: object, name: string): unknown {
  if (object instanceof Map) return object.get(name)
  const value = (object as Record<string, unknown>)[name]
  const isSuspect = typeof value === 'function' || name === '__proto__'
  if (isSuspect && !Object.hasOwn(object, name)) return readInherited(object, name, value)
  return standardValue(object, name, value)
}

/** A method is no attribute, but for those that the model names among its virtual ones. */
function readInherited(object: object, name: string, value: unknown): unknown {
  const made = classOf(object)
  const isVirtual = isModelClass(made) && made.virtualAttributes?.includes(name) === true
  return isVirtual && typeof value === 'function' ? (value as () => unknown).call(object) : undefined
}

/** The guard against one query a row: what is shown must have been loaded with the list. */
function loaded(serializer: AnySerializer, bound: BoundField, value: unknown): unknown {
  if (value !== undefined) return value
  const relation = bound.relation?.name ?? bound.name
  if (!(bound.list && isPart(bound.list))) throw notLoaded(serializer, bound, relation)
  throw new Error(
    `${serializer.constructor.name}: field "${bound.name}" shows a part of the relation "${relation}", which was not loaded; ` +
      "load it with await view.loadRelated(objects), or let the view's getObject() do it",
  )
}

/** `relation` is a path: `author.country`. */
function notLoaded(serializer: AnySerializer, bound: BoundField, relation: string): Error {
  return new Error(
    `${serializer.constructor.name}: field "${bound.name}" shows the relation "${relation}", which was not loaded; ` +
      `load it with withGraphFetched('${relation}'), or let the view's getQueryset() and getObject() do it`,
  )
}
