/** Which relations are loaded with objects, for what their serializer shows of them. */

import type { SerializerField } from '../fields/field.js'
import { RelatedField } from '../fields/related-field.js'
import { describeModel } from '../models/describe-model.js'
import { isKeptKey } from '../models/kept-key.js'
import type { ModelDescription, RelationDescription } from '../models/model-description.js'
import { COUNT, countKey, listKey, RELATED_LIST } from '../queryset/related-lists.js'
import type { BoundField, RelatedKey, RelationGraph, SerializerClass } from './contract.js'
import { NestedSerializer } from './nested-serializer.js'

/** What the output shows, and what nested writes change. */
export function graphOf(
  fields: readonly BoundField[],
  relationsOf: (serializer: SerializerClass) => RelationGraph,
): RelationGraph {
  const graph: RelationGraph = {}
  for (const bound of fields) {
    const { field, relation, source, counted } = bound
    if (counted) graph[countKey(counted.name)] = { [COUNT]: counted.name }
    if (!relation) continue
    const key = loadedAs(bound) as string
    const inner = innerGraph(bound, relation, relationsOf)
    if (inner) graph[key] = merge(graph[key] ?? {}, inner)
    else if (source.length === 1 && field instanceof RelatedField && needsObject(field, relation)) graph[key] ??= {}
  }
  return graph
}

/** The related objects of a field: an object, a list, null, or undefined where they were not loaded. */
export function relatedAt(object: object, { relation, name }: Pick<BoundField, 'relation' | 'name'>): unknown {
  return (object as Readonly<Record<string, unknown>>)[relation?.name ?? name]
}

/** The name under which the relation of a field is loaded; undefined where it has none. */
export function loadedAs({ relation, list }: BoundField): string | undefined {
  return list ? listKey(list) : relation?.name
}

function innerGraph(
  { field, source, list }: BoundField,
  relation: RelationDescription,
  relationsOf: (serializer: SerializerClass) => RelationGraph,
): RelationGraph | undefined {
  if (field instanceof NestedSerializer) {
    return { ...relationsOf(field.serializerClass), ...(list && { [RELATED_LIST]: list }) }
  }
  return source.length > 1 ? pathGraph(relation, source.slice(1)) : undefined
}

/** A foreign key of one column is in the object itself; anything else needs the related object. */
export function needsObject(field: RelatedField, relation: RelationDescription): boolean {
  const isOneColumn = relation.kind === 'belongs-to-one' && relation.ownerProperties.length === 1
  if (!isOneColumn || field.compositeOf(relation.model)) return true
  return field.shownProperty(relation.model) !== relation.relatedProperties[0]
}

/** True for a relation that some objects have and others do not: by its kind, its own query, or a key that may be null or lead nowhere. */
export function mayLeadNowhere(
  field: SerializerField,
  relation: RelationDescription,
  owner: ModelDescription | undefined,
): boolean {
  const { kind, narrowed, ownerProperties: properties, relatedProperties: related } = relation
  if (narrowed || kind !== 'belongs-to-one') return true
  if (properties.some((property) => owner?.columns.get(property)?.holdsNull === true)) return true
  // what shows the key alone shows it wherever it leads
  if (field instanceof RelatedField && !needsObject(field, relation)) return false
  return owner?.prepared === true && !isKeptKey(owner, { properties, target: describeModel(relation.model), related })
}

/** How a related field names the objects of a relation. @throws {ConfigurationError} from the field */
export function relatedKey(field: RelatedField, relation: RelationDescription): RelatedKey {
  const property = needsObject(field, relation) ? field.shownProperty(relation.model) : undefined
  const composite = field.compositeOf(relation.model)
  return { property, composite, field: field.hasOwnOutput ? field : field.keyFieldOf(relation.model) }
}

/** The relations along the rest of a dotted path; its last step may be a plain attribute. */
function pathGraph(from: RelationDescription, path: readonly string[]): RelationGraph {
  const [step = '', ...rest] = path
  const next = describeModel(from.model).relations.get(step)
  return next ? { [next.name]: pathGraph(next, rest) } : {}
}

/** Adds the relations of one graph to another. */
export function merge(a: RelationGraph, b: RelationGraph): RelationGraph {
  for (const [name, graph] of Object.entries(b)) a[name] = merge(a[name] ?? {}, graph)
  if (b[RELATED_LIST]) a[RELATED_LIST] ??= b[RELATED_LIST]
  if (b[COUNT] !== undefined) a[COUNT] = b[COUNT]
  return a
}
