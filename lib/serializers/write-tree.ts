/** Writes objects with all that is nested in them: each level of each table by one statement. */
import type { Model } from 'objection'
import { forgetAnswers } from '../queryset/row-answers.js'
import { visibleRowsIn } from '../queryset/visible-rows.js'
import { checkWrittenRows } from './check-written.js'
import type { AnySerializer, SerializerClass, WriteEntry } from './contract.js'
import { checkLimited } from './guard-fields.js'
import { prefixed } from './prefix-errors.js'
import { splitWrites, type Writes } from './split-writes.js'
import { writeLogOf } from './write-log.js'
import { type WriteItem, writeOwnRows } from './write-own-rows.js'
import { writeAfter, writeBefore } from './write-relations.js'
import { serializerKnex } from './write-rows.js'

/** Sorts the data of objects by where it is written. @throws {ConfigurationError} */
export function toItems(serializer: AnySerializer, entries: readonly WriteEntry[]): WriteItem[] {
  const items: WriteItem[] = []
  for (const { data, instance, path } of entries) {
    try {
      const writes = withOwnRow(serializer, splitWrites(serializer, data, instance), instance)
      items.push({ data, instance: instance as Model | undefined, path, writes, row: undefined })
    } catch (error) {
      throw prefixed(path, error)
    }
  }
  return items
}

/**
 * Writes the items, and returns their rows in the order given. The number of statements depends on the levels of the
 * serializer and not on the number of objects; those that serializers or models of the application's write in their own way
 * are written one by one.
 */
export async function writeTree(serializer: AnySerializer, items: readonly WriteItem[]): Promise<Model[]> {
  let hasBefore = false
  let hasAfter = false
  for (const { writes } of items) {
    if (writes.before.length > 0) hasBefore = true
    if (writes.after.length + writes.sets.length > 0) hasAfter = true
  }
  const visible = visibleRowsIn(serializer.context)
  const log = writeLogOf(serializer.context.knex)
  if (visible) await checkStored(serializer, items)
  if (log) await log.keep(storedOf(items), classOf(serializer))
  if (hasBefore) await writeBefore(serializer, items)
  await writeOwnRows(serializer, items)
  if (hasAfter) await writeAfter(serializer, items)
  if (visible) {
    const related = items.filter(({ writes }) => writes.hasRelated)
    forgetAnswers(related.map(({ row }) => row as Model))
    await checkWritten(serializer, items as readonly WrittenItem[])
    await checkLimited(
      serializer,
      items.flatMap(({ data, row }) => (row ? [{ data, row }] : [])),
    )
  }
  const rows: Model[] = []
  for (const { row } of items) rows.push(row as Model)
  // one whose key has changed is another one, too
  if (log) log.add(rows, classOf(serializer))
  return rows
}

function storedOf(items: readonly WriteItem[]): Model[] {
  return items.flatMap(({ instance }) => instance ?? [])
}

function classOf(serializer: AnySerializer): SerializerClass {
  return serializer.constructor as unknown as SerializerClass
}

/** Refuses to change rows that are not the caller's to change. @throws PermissionDenied */
function checkStored(serializer: AnySerializer, items: readonly WriteItem[]): Promise<void> {
  const changed = items.filter(({ writes }) => Object.keys(writes.columns).length > 0 || writes.hasRelated)
  return checkWrittenRows(serializer.context, storedOf(changed), 'update', serializerKnex(serializer))
}

/** An object that was written: the row that was, if any, and the row that is. */
export interface WrittenItem {
  readonly instance: object | undefined
  readonly row: object
}

/** Refuses rows that the caller may not have made, or not have made into what they are now. @throws PermissionDenied */
export async function checkWritten(serializer: AnySerializer, items: readonly WrittenItem[]): Promise<void> {
  const { context } = serializer
  const rowsOf = (isNew: boolean) =>
    items.flatMap(({ instance, row }) => ((instance === undefined) === isNew ? row : []))
  await checkWrittenRows(context, rowsOf(true), 'create', serializerKnex(serializer))
  await checkWrittenRows(context, rowsOf(false), 'update', serializerKnex(serializer))
}

/**
 * Where a view distinguishes versions of rows, an object of which only what is related changes is another version, too: its row
 * is written as it is, for the trigger or the hook that changes the version.
 */
function withOwnRow({ plan, context }: AnySerializer, writes: Writes, instance: object | undefined): Writes {
  const { concurrency } = (context.view as Versioned | null | undefined)?.constructor ?? {}
  const { model, columns } = plan.model ?? {}
  const version = columns?.get([concurrency ?? []].flat()[0] ?? '')
  if (!model || !version || !instance || !writes.hasRelated || Object.keys(writes.columns).length > 0) return writes
  // a column that the caller's role may write, and that says of no other row which it is
  const own = plan.writable.find(({ column, relation }) => column && !relation && !column.primary)?.column ?? version
  return { ...writes, columns: { [own.property]: model.raw('??', [own.column]) } }
}

/** A view, as far as it is asked here. */
interface Versioned {
  readonly constructor?: { readonly concurrency?: string | readonly string[] | null }
}
