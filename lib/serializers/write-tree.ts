/** Writes objects with all that is nested in them: each level of each table by one statement. */
import type { Model } from 'objection'
import { forgetAnswers } from '../queryset/row-answers.js'
import type { AnySerializer, WriteEntry } from './contract.js'
import { prefixed } from './prefix-errors.js'
import { splitWrites, type Writes } from './split-writes.js'
import { type WriteItem, writeOwnRows } from './write-own-rows.js'
import { writeAfter, writeBefore } from './write-relations.js'
import { afterWritten, beforeWritten, type WrittenItem } from './written-items.js'

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
  const changed = items.filter(isChanged)
  await beforeWritten(serializer, items, changed)
  if (hasBefore) await writeBefore(serializer, items)
  await writeOwnRows(serializer, items)
  if (hasAfter) await writeAfter(serializer, items)
  for (const { writes, row } of changed) if (writes.hasRelated) forgetAnswers([row as Model])
  await afterWritten(serializer, items as readonly WrittenItem[], changed as readonly WrittenItem[])
  return items.map(({ row }) => row as Model)
}

/** False for a stored object of which nothing changes: nobody is asked whether it may. */
function isChanged({ instance, writes }: WriteItem): boolean {
  return instance === undefined || Object.keys(writes.columns).length > 0 || writes.hasRelated
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
