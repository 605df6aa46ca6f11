/** Writes objects with all that is nested in them: each level of each table by one statement. */
import type { Model } from 'objection'
import type { AnySerializer, WriteEntry } from './contract.js'
import { splitWrites } from './split-writes.js'
import { under } from './under.js'
import { type WriteItem, writeOwnRows } from './write-own-rows.js'
import { writeAfter, writeBefore } from './write-relations.js'

/** Sorts the data of objects by where it is written. @throws {ConfigurationError} */
export async function toItems(serializer: AnySerializer, entries: readonly WriteEntry[]): Promise<WriteItem[]> {
  const items: WriteItem[] = []
  for (const { data, instance, path } of entries) {
    const writes = await under(path, () => splitWrites(serializer, data))
    items.push({ data, instance: instance as Model | undefined, path, writes, row: undefined })
  }
  return items
}

/**
 * Writes the items, and returns their rows in the order given. The number of statements depends on the levels of the
 * serializer and not on the number of objects; those that serializers or models of the application's write in their own way
 * are written one by one.
 */
export async function writeTree(serializer: AnySerializer, items: readonly WriteItem[]): Promise<Model[]> {
  await writeBefore(serializer, items)
  await writeOwnRows(serializer, items)
  await writeAfter(serializer, items)
  return items.map(({ row }) => row as Model)
}
