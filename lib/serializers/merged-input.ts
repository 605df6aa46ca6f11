/** What a JSON merge patch of an object is as a plain PATCH: objects merged with what is stored, where a field holds such. */

import { RelatedField } from '../fields/related-field.js'
import { isRecord } from '../kernel/records.js'
import {
  finished,
  isJsonObject,
  type JsonObject,
  setMember,
  workingCopy,
  workingCopyOf,
} from '../patches/json-values.js'
import { merged } from '../patches/merge-patch.js'
import type { AnySerializer, BoundField } from './contract.js'
import { freshRow } from './fresh-row.js'
import { NestedSerializer } from './nested-serializer.js'
import { relatedAt } from './relation-graph.js'
import { representValue } from './represent.js'

/** An object that is about to change. */
export interface Merging {
  readonly serializer: AnySerializer
  /** With the related objects that were loaded; undefined for one that is created. */
  readonly object: object | undefined
  /** Its row is held, and its columns are those of the row. */
  readonly isHeld: boolean
}

export interface MemberMerging extends Merging {
  /** The object's row, as far as fields are merged with its columns. */
  readonly stored: object | undefined
}

/**
 * The input that the patch stands for. What is no object is left to the validation of a plain PATCH.
 * @param patch the document as it was parsed; it stays as it is
 */
export async function mergedInput(patch: unknown, merging: Merging): Promise<unknown> {
  const copy = workingCopy(patch)
  return finished(isJsonObject(copy) ? await mergeMembers(copy, merging) : copy)
}

async function mergeMembers(patch: JsonObject, merging: Merging): Promise<JsonObject> {
  const { serializer, object, isHeld } = merging
  // what is merged must be what is changed: until it is held the row may be another's to write
  const isRead = object !== undefined && !isHeld && mergesColumn(serializer, patch)
  const stored = isRead ? await freshRow(object, serializer) : object
  const input: JsonObject = {}
  for (const name of Object.keys(patch)) {
    const value = patch[name]
    // of an object that is not there yet null removes nothing
    if (value === null && object === undefined) continue
    const bound = serializer.plan.byName.get(name)
    const isMerged = bound?.writable === true && isJsonObject(value)
    setMember(input, name, isMerged ? await mergeMember(value, bound, { ...merging, stored }) : value)
  }
  return input
}

async function mergeMember(value: JsonObject, bound: BoundField, merging: MemberMerging): Promise<unknown> {
  const { field } = bound
  if (field instanceof RelatedField) return value
  if (!(field instanceof NestedSerializer)) return merged(storedValue(bound, merging), value)
  if (field.many) return value
  const { serializer, object } = merging
  const child = serializer.child(bound, field.serializerClass)
  return mergeMembers(value, { serializer: child, object: relatedObject(object, bound), isHeld: false })
}

/** A working copy of what is stored there, in no mask; undefined for a write-only field, so that a patch replaces it whole. */
export function storedValue(bound: BoundField, { serializer, stored }: MemberMerging): unknown {
  if (stored === undefined || !bound.readable) return undefined
  return workingCopyOf(representValue(serializer, bound, stored, serializer.context))
}

/** The object that a relation to one leads to; undefined where it leads nowhere. */
export function relatedObject(owner: object | undefined, bound: BoundField): object | undefined {
  const related = owner && relatedAt(owner, bound)
  return isRecord(related) ? related : undefined
}

/** True where the patch of a nested object is merged with what is stored in one of its own fields. */
function mergesColumn({ plan }: AnySerializer, patch: JsonObject): boolean {
  return plan.writable.some(
    ({ name, field, readable }) =>
      readable && !(field instanceof NestedSerializer) && Object.hasOwn(patch, name) && isJsonObject(patch[name]),
  )
}
