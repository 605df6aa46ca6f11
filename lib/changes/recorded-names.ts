/** Names in recorded changes: of what view sets of one table they are, whose histories, streams and webhooks are of the same changes. */

import type { SerializerField } from '../fields/field.js'
import { FileUploadField } from '../fields/file-upload-field.js'
import { RelatedField } from '../fields/related-field.js'
import { externalIds } from '../ids/external-ids.js'
import { getOrInsert } from '../kernel/maps.js'
import { oncePer } from '../kernel/once-per.js'
import { hasOptions, kindsOf } from '../kernel/option-kinds.js'
import { quote } from '../kernel/quote.js'
import { warnOnce } from '../kernel/warn-once.js'
import { catalogueOf, describeModel, sourceOf } from '../models/describe-model.js'
import type { RelationDescription } from '../models/model-description.js'
import type { ModelClass } from '../models/objection.js'
import type { BoundField, SerializerClass } from '../serializers/contract.js'
import { NestedSerializer } from '../serializers/nested-serializer.js'
import { serializerPlan } from '../serializers/plan.js'

/** View set that records objects by a name, and what it records. */
interface Named {
  readonly view: string
  readonly what: string
}

/** By the database that catalogues were read of: the first that was recorded by each name, by the table's number and the name. */
const first = oncePer((_source: object) => new Map<string, Named>())
/** What no field is called. */
const KEY = ''
const TABLE = ' '

/** Warns where another view set of the table records something else by the same name, or names objects otherwise. */
export function noteNames(view: string, model: ModelClass, shown: SerializerClass): void {
  const known = first(sourceOf(model))
  const table = catalogueOf(model)?.table ?? model.tableName
  const note = (name: string, what: string, problem: (other: Named) => string) => {
    const other = getOrInsert(known, `${table} ${name}`, () => ({ view, what }))
    if (other.what !== what) warnOnce('KOA_VIEWSETS_CHANGES', `${view}: ${problem(other)}`)
  }
  note(
    TABLE,
    model.tableName,
    (other) =>
      `its changes are of "${model.tableName}", and those of ${other.view} of "${other.what}", which is the same table, so that neither are in the histories, streams and webhooks of the other; give both models the same tableName`,
  )
  const key = externalIds(model) ? 'external ids' : 'primary keys'
  note(
    KEY,
    key,
    (other) =>
      `its changes name objects by ${key}, and those of ${other.view} by ${other.what}, so that neither are in the histories, streams and webhooks of the other; give both models the same ids`,
  )
  for (const bound of serializerPlan(shown).readable) {
    const what = meaningOf(bound)
    note(
      bound.name,
      what,
      (other) =>
        `its changes have ${what} as ${quote(bound.name)}, and those of ${other.view} ${other.what}, in the same histories and webhooks; rename one of the fields, or leave it out of static changes`,
    )
  }
}

/** Field of a serializer class. */
export interface ShownField {
  readonly bound: BoundField
  readonly by: SerializerClass
}

/** False where what one serializer records by a name is not what another one shows by it: from whom one hides, the other may. */
export function showsTheSame(one: ShownField, other: ShownField): boolean {
  const { field } = other.bound
  // these stand in what is recorded by their keys
  if (field instanceof NestedSerializer || field instanceof FileUploadField)
    return pathOf(one.bound) === pathOf(other.bound)
  return (
    meaningOf(one.bound) === meaningOf(other.bound) &&
    methodOf(one) === methodOf(other) &&
    hasSameOptions(one.bound.field, field)
  )
}

/** The same for fields that show the same. */
function meaningOf({ method, field, ...bound }: BoundField): string {
  if (method !== undefined) return 'what a method makes'
  const own = ownOutput(field)
  return `${pathOf(bound)}${namedBy(bound.relation, field)}${own ? ` as ${own.name} shows it` : ''}`
}

/** The property by which a field names related objects, where that is not their key. */
function namedBy(relation: RelationDescription | undefined, field: SerializerField): string {
  if (!relation || !(field instanceof RelatedField)) return ''
  const { kind, model, relatedProperties } = relation
  const [key] = kind === 'belongs-to-one' ? relatedProperties : describeModel(model).primaryKey
  const shown = field.shownProperty(model)
  return shown === key ? '' : `.${shown}`
}

function pathOf({ column, relation, source }: Pick<BoundField, 'column' | 'relation' | 'source'>): string {
  return source.length > 1 ? source.join('.') : (column?.column ?? relation?.name ?? source.join('.'))
}

function methodOf({ bound: { method }, by }: ShownField): unknown {
  return method === undefined ? undefined : (by.prototype as unknown as Readonly<Record<string, unknown>>)[method]
}

/** The application's class that makes what a field shows; undefined where one of ours does. */
function ownOutput(field: SerializerField): { readonly name: string } | undefined {
  let made: object = Object.getPrototypeOf(field)
  while (!Object.hasOwn(made, 'toRepresentation')) made = Object.getPrototypeOf(made)
  return hasOptions(made.constructor) ? undefined : made.constructor
}

/** False where fields of an application's own class were made with other options of its own. */
function hasSameOptions(one: SerializerField, other: SerializerField): boolean {
  if (one === other || !ownOutput(other)) return true
  const [own, others] = [one, other].map(({ options }) => options as Readonly<Record<string, unknown>>)
  const ours = kindsOf(other.constructor)
  const names = Object.keys({ ...own, ...others }).filter((name) => !Object.hasOwn(ours, name))
  return names.every((name) => Object.is(own?.[name], others?.[name]))
}
