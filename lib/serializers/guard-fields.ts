/** Refuses values of fields that rules do not let a caller set; what the caller was shown is taken as unchanged. */

import type { SerializerContext } from '../fields/field.js'
import { PermissionDenied, ValidationError } from '../kernel/errors.js'
import { describeModel } from '../models/describe-model.js'
import type { ModelDescription } from '../models/model-description.js'
import { modelOf } from '../models/objection.js'
import { isEqual, workingCopy, workingCopyOf } from '../patches/json-values.js'
import { alongRelation, type Extent, type VisibleFields } from '../queryset/visible-fields.js'
import type { AnySerializer, BoundField } from './contract.js'
import { findOwnReadable, whichHold } from './limited-fields.js'
import { NestedSerializer } from './nested-serializer.js'
import { isReadableAt } from './readable-at.js'
import { isLeftOut, representField } from './represent.js'
import { isAsShown, leaveOut } from './unchanged.js'
import { loadLinks } from './validate-related.js'
import { convert, type Forced, type Item, isForced, isGiven, LIMITED } from './validated-item.js'

/** The guard of the items; undefined where rules restrict no field of theirs. */
export function fieldGuardOf(serializer: AnySerializer, forced: Forced | undefined): Guard | undefined {
  const { guarded, model } = serializer.plan
  const visible = forced && visibleFieldsIn(serializer)
  if (guarded.length === 0 && !visible) return undefined
  const decided = visible && model ? [...model.columns.keys()].filter((property) => forced.has(property)) : []
  const kept = decided.flatMap((property) =>
    alongRelation(model as ModelDescription, property).flatMap(({ property: name, model: owner }) => {
      const write = visible?.of(owner, name)?.write ?? 'all'
      return write === 'all' ? [] : [{ name, write }]
    }),
  )
  const fields = forced ? guarded.filter((bound) => !isForced(forced, bound)) : guarded
  return fields.length + kept.length > 0 ? { fields, kept } : undefined
}

/** The fields that rules keep the caller from setting, in all rows or in some. */
interface Guard {
  readonly fields: readonly BoundField[]
  /** Properties that the surrounding object, or the path, decides of new objects. */
  readonly kept: readonly { readonly name: string; readonly write: Extent }[]
}

/** @throws PermissionDenied naming the fields that the caller may not set */
export async function guardFields(
  serializer: AnySerializer,
  items: readonly Item[],
  { fields: guarded, kept }: Guard,
): Promise<void> {
  const { model } = serializer.plan
  const created = items.filter(({ current }) => current === undefined)
  const stored = items.flatMap(({ current }) => current ?? [])
  await findOwnReadable(serializer.plan, stored, serializer)
  const refused = new Set<string>()
  const asked = new Map<Item, BoundField[]>()
  for (const bound of guarded) {
    await loadLinks(serializer, bound, items)
    for (const item of items) {
      if (!changes(serializer, bound, item)) continue
      if (bound.access?.isKept || leadsUnseen(bound, item, serializer.context)) refused.add(bound.name)
      else if (bound.access?.write === 'some') asked.set(item, [...(asked.get(item) ?? []), bound])
    }
  }
  const changed = [...asked].flatMap(([item, fields]) => (item.current ? [{ object: item.current, fields }] : []))
  const properties = propertiesOf(changed.flatMap(({ fields }) => fields))
  const objects = changed.map(({ object }) => object)
  const held =
    model && objects.length > 0
      ? await whichHold(model.model, { objects, properties, use: 'write', context: serializer.context })
      : []
  for (const [index, { fields }] of changed.entries()) {
    for (const bound of fields) if (!holds(bound, held[index])) refused.add(bound.name)
  }
  const isNew = created.length > 0
  for (const { name, write } of kept) if (isNew && write === 'none') refused.add(name)
  if (refused.size > 0) throw refusal(refused)
  const decided = kept.map(({ name }) => name)
  for (const item of created) {
    const limited = [...propertiesOf(asked.get(item) ?? []), ...decided]
    if (limited.length > 0) item.limited = limited
  }
}

/** Refuses new rows of which the caller may not have set a field. @throws PermissionDenied */
export async function checkLimited(
  { plan, context }: AnySerializer,
  written: readonly { readonly data: object; readonly row: object }[],
): Promise<void> {
  const limited = written.flatMap(({ data, row }) => {
    const { [LIMITED]: properties } = data as { [LIMITED]?: readonly string[] }
    return properties ? [{ row, properties }] : []
  })
  const model = plan.model?.model
  if (limited.length === 0 || !model) return
  const properties = [...new Set(limited.flatMap((one) => one.properties))]
  const objects = limited.map(({ row }) => row)
  const held = await whichHold(model, { objects, properties, use: 'write', context })
  const refused = limited.flatMap((one, index) => one.properties.filter((property) => !held[index]?.has(property)))
  if (refused.length > 0) throw refusal(new Set(refused))
}

/** Refuses to take objects from the one that they are related to, where rules do not let the caller. @throws PermissionDenied */
export async function checkDetached(
  { context }: AnySerializer,
  objects: readonly object[],
  properties: readonly string[],
): Promise<void> {
  const visible = visibleFieldsIn({ context })
  const [first] = objects
  if (!visible || !first) return
  const description = describeModel(modelOf(first))
  const names = properties.flatMap((one) => alongRelation(description, one).map(({ property }) => property))
  const access = names.map((name) => ({ name, write: visible.of(description.model, name)?.write ?? 'all' }))
  const limited = access.filter(({ write }) => write === 'some').map(({ name }) => name)
  const held = await whichHold(description.model, { objects, properties: limited, use: 'write', context })
  const refused = access.filter(
    ({ name, write }) => write === 'none' || (write === 'some' && !held.every((one) => one.has(name))),
  )
  if (refused.length > 0) throw refusal(new Set(refused.map(({ name }) => name)))
}

function visibleFieldsIn({ context }: Pick<AnySerializer, 'context'>): VisibleFields | undefined {
  return (context.view as { readonly visibleFields?: VisibleFields } | undefined)?.visibleFields
}

function refusal(names: ReadonlySet<string>): PermissionDenied {
  return new PermissionDenied(`You may not set: ${[...names].join(', ')}`)
}

function propertiesOf(fields: readonly BoundField[]): readonly string[] {
  return [...new Set(fields.flatMap(({ access }) => access?.properties ?? []))]
}

/** True for related objects that the caller would change without being shown which they are. */
function leadsUnseen(bound: BoundField, { current }: Item, context: SerializerContext): boolean {
  return bound.field instanceof NestedSerializer && current !== undefined && !isReadableAt(bound, current, context)
}

function holds({ access }: BoundField, held: ReadonlySet<string> | undefined): boolean {
  return access?.properties.every((property) => held?.has(property)) === true
}

/** True where the input sets a field to what its caller was not shown. What was shown is not set. */
function changes(serializer: AnySerializer, bound: BoundField, item: Item): boolean {
  const { name, field, access } = bound
  if (!isGiven(item, name)) {
    // the application's value for a new object
    if (access?.isKept && item.current === undefined && !item.partial && 'default' in field.options) {
      item.value[name] = field.defaultFor(serializer.context)
    }
    return false
  }
  if (!isSame(serializer, bound, item)) return true
  if (access?.isKept) leaveOut(item, name)
  return false
}

function isSame(serializer: AnySerializer, bound: BoundField, item: Item): boolean {
  const given = givenAs(bound, item)
  if (isAsShown(serializer, bound, item, given)) return true
  if (!(bound.field instanceof NestedSerializer) || !item.current || !bound.readable) return false
  if (isLeftOut(bound, item.current, serializer.context)) return false
  try {
    const shown = representField(serializer, bound, item.current, serializer.context)
    return isEqual(workingCopyOf(shown), workingCopy(given))
  } catch {
    return false
  }
}

/** What a client has sent; a text of a form that is no value of the field is none that was shown. */
function givenAs(bound: BoundField, item: Item): unknown {
  if (!(item.textual || item.isInexact || bound.shownKey !== undefined)) return item.input[bound.name]
  try {
    return convert(bound, item)
  } catch (error) {
    if (error instanceof ValidationError) return undefined
    throw error
  }
}
