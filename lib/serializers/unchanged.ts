/** Tells whether a value is what the caller was shown: then it is unchanged, nothing is written for it, and nobody refuses it. */

import { isDeepStrictEqual } from 'node:util'
import { fieldForColumn } from '../fields/field-for-column.js'
import { uploadField } from '../fields/file-upload-field.js'
import { Numeral } from '../kernel/json-numerals.js'
import { oncePer } from '../kernel/once-per.js'
import { ownCopy } from '../kernel/own-copy.js'
import { exactAt } from '../models/exact-types.js'
import type { Column } from '../models/model-description.js'
import { isEqual, workingCopy, workingCopyOf } from '../patches/json-values.js'
import type { AnySerializer, BoundField } from './contract.js'
import { NestedSerializer } from './nested-serializer.js'
import { isReadableAt } from './readable-at.js'
import { relatedAt } from './relation-graph.js'
import { isLeftOut, representField, withoutHidden } from './represent.js'
import { keyOfShown } from './shown-by.js'

/** Marks validated data with the values that are not to be written, by field name. Spreading the data keeps it. */
export const UNCHANGED = Symbol('the values that are as they were shown')

/** Values that are as they were shown, by field name; undefined for one that is not among the validated data. */
export type Unchanged = Map<string, { readonly value: unknown } | undefined>

/** A stored object, and what an update makes of it. */
export interface Updated {
  /** Undefined for a new object. */
  readonly current: object | undefined
  value: Record<string, unknown>
  unchanged: Unchanged | undefined
  /** All that is shown of it, where a `toRepresentation()` of the application's says so. */
  shown: object | undefined
}

type Row = Readonly<Record<string, unknown>>

/** A field that is write-only, or a column or a relation that was not read. */
const NOT_SHOWN = Symbol('not shown')

/** True where an update sends for a field what the caller was shown of the object. */
export function isAsShown(serializer: AnySerializer, bound: BoundField, item: Updated, given: unknown): boolean {
  if (item.current === undefined || !bound.readable) return false
  if (bound.access && isLeftOut(bound, item.current, serializer.context)) return false
  const shown = shownAt(serializer, bound, item)
  if (shown === given) return true
  if (shown === NOT_SHOWN) return false
  const { field } = bound
  // what a mask hides is not to be guessed
  const isReadable = isReadableAt(bound, item.current, serializer.context)
  if (given !== null && isReadable && uploadField(field)?.areUrls(given, storedAt(item, bound)) === true) return true
  if (typeof shown === 'string' || shown instanceof Numeral) return isEqual(shown, given)
  // what is shown may write itself by a `toJSON()`, as a Date does, and be a number that JSON has not
  return isEqual(workingCopyOf(shown), workingCopy(given))
}

function shownAt(serializer: AnySerializer, bound: BoundField, item: Updated): unknown {
  const current = item.current as Row
  if (!serializer.showsByPlan) {
    item.shown ??= wholeOf(serializer, current)
    if (!Object.hasOwn(item.shown, bound.name)) return NOT_SHOWN
    const shown = (item.shown as Row)[bound.name]
    return bound.shownKey === undefined ? shown : keyOfShown(bound.field, bound.shownKey, shown)
  }
  const { field, relation, key } = bound
  if (field instanceof NestedSerializer) {
    // the members of an object are compared one by one
    return relatedAt(current, bound) === null ? null : NOT_SHOWN
  }
  // an object that the caller is not shown
  if (relation && bound.shownKey !== undefined && current[relation.name] === null) return null
  const isRead = relation && key?.property !== undefined ? current[relation.name] : storedAt(item, bound)
  return isRead === undefined ? NOT_SHOWN : representField(serializer, bound, current, serializer.context)
}

/** Where it cannot be shown, nothing was. */
function wholeOf(serializer: AnySerializer, current: object): object {
  try {
    const shown = withoutHidden(serializer, serializer.toRepresentation(current), current)
    return typeof shown === 'object' && shown !== null ? shown : {}
  } catch {
    return {}
  }
}

/** The value of a field in the object's own row. */
function storedAt({ current }: Updated, bound: Stored): unknown {
  return (current as Row)[storedProperty(bound)]
}

function storedProperty({ column, source }: Stored): string {
  return column?.property ?? source[0] ?? ''
}

type Stored = Pick<BoundField, 'column' | 'source'>

/** Keeps a value in the validated data, for hooks, that is not to be written. */
export function keepUnchanged(item: Updated, name: string, value: unknown): void {
  item.value[name] = value
  item.unchanged ??= new Map()
  // a hook may change a list or an object in its place
  item.unchanged.set(name, { value: ownCopy(value) })
}

/** Leaves a value out of the validated data that the field's own checks would refuse: hooks have no value of its type. */
export function leaveOut(item: Updated, name: string): void {
  item.unchanged ??= new Map()
  item.unchanged.set(name, undefined)
}

/** Validated data with values that the application gives: these are written whatever was shown. */
export function withValues(data: Row, values: Row): Record<string, unknown> {
  const names = Object.keys(values)
  const { [UNCHANGED]: unchanged } = data as { [UNCHANGED]?: Unchanged }
  if (!unchanged || names.length === 0) return { ...data, ...values }
  return { ...data, ...values, [UNCHANGED]: new Map([...unchanged].filter(([name]) => !names.includes(name))) }
}

/** True where validated data has for a field what is to stay as it is. */
export function isKept(data: object, name: string): boolean {
  const kept = (data as { [UNCHANGED]?: Unchanged })[UNCHANGED]?.get(name)
  return kept !== undefined && isDeepStrictEqual((data as Row)[name], kept.value)
}

/** How a column itself is shown, of which the database and a field may have other values: a `Date` and a text, two texts of a range. */
const plainField = oncePer((column: Column) => fieldForColumn({ ...column, schema: {} }, {}))

/** True for what was shown in the place of the stored value. */
export function isMask(value: unknown, stored: unknown, column: Column): boolean {
  if (value === stored) return false
  if (value === null || stored === null || stored === undefined) return true
  if (typeof value !== typeof stored && !(stored instanceof Date)) return !isSpelledAs(value, stored)
  if (typeof stored !== 'object' && typeof stored !== 'string') return true
  if (isEqual(workingCopyOf(value), workingCopyOf(stored))) return false
  const [shown, own] = [value, stored].map((one) => plainField(column).toRepresentation(one, {}))
  return !isEqual(workingCopyOf(shown), workingCopyOf(own))
}

/** True for a value of another type than the stored one that may be the same: `true` and 1, a text of a number, parsed JSON. */
function isSpelledAs(value: unknown, stored: unknown): boolean {
  if (typeof value === 'object' || typeof stored === 'object') return true
  const [one, other] = [value, stored] as [string | bigint, string | bigint]
  return String(one) === String(other) || Number(one) === Number(other)
}

/** A related object: what a client is shown of it, and what the row or the join table has for it. */
export interface ShownLink {
  readonly shown: unknown
  readonly stored: unknown
}

/** What a related field shows of an object; undefined where that was not read. */
export function shownLinks(bound: BoundField, item: Updated): readonly ShownLink[] | undefined {
  const { relation, key } = bound
  const current = item.current as Row
  const stored = exactAt(item.current as Row, storedProperty(bound))
  if (!relation || key?.property === undefined) return stored === undefined ? undefined : [{ shown: stored, stored }]
  const { property } = key
  const [related = ''] = relation.relatedProperties
  const objects = current[relation.name]
  if (objects === undefined) return undefined
  // a relation that is narrowed may show nothing of what the row refers to
  if (objects === null) return [{ shown: null, stored }]
  return ([objects].flat() as Row[]).map((one) => ({
    shown: exactAt(one, property) ?? null,
    stored: exactAt(one, related),
  }))
}
