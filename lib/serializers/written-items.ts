/** What is asked and told of objects before and after they are written, by the package or by code of the application. */

import type { Model } from 'objection'
import { isRecord } from '../kernel/records.js'
import type { ModelClass } from '../models/objection.js'
import { isRowOf } from '../models/one-table.js'
import { forgetAnswers } from '../queryset/row-answers.js'
import { visibleRowsIn } from '../queryset/visible-rows.js'
import { checkWrittenRows } from './check-written.js'
import type { AnySerializer, SerializerClass, WriteEntry } from './contract.js'
import { checkLimited } from './guard-fields.js'
import { prefixErrors } from './prefix-errors.js'
import { writeLogOf } from './write-log.js'
import { serializerKnex } from './write-rows.js'

/** An object that was written: the row that was, if any, and the row that is. */
export interface WrittenItem extends Pick<WriteEntry, 'instance' | 'data'> {
  readonly row: Model
}

/**
 * Refuses to change rows that are not the caller's to change, and tells the log of all.
 * @param changed those of which something is written
 * @throws PermissionDenied
 */
export async function beforeWritten(
  serializer: AnySerializer,
  entries: readonly Pick<WriteEntry, 'instance'>[],
  changed = entries,
): Promise<void> {
  const { context } = serializer
  if (visibleRowsIn(context)) await checkWrittenRows(context, storedOf(changed), 'update', serializerKnex(serializer))
  await writeLogOf(context.knex)?.keep(storedOf(entries), classOf(serializer))
}

/**
 * Refuses rows that the caller may not have made, or not have made into what they are now, and tells the log of all.
 * @param changed those of which something was written
 * @throws PermissionDenied
 */
export async function afterWritten(
  serializer: AnySerializer,
  items: readonly WrittenItem[],
  changed = items,
): Promise<void> {
  const { context } = serializer
  if (visibleRowsIn(context)) {
    const knex = serializerKnex(serializer)
    const rowsOf = (isNew: boolean) =>
      changed.flatMap(({ instance, row }) => ((instance === undefined) === isNew ? row : []))
    await checkWrittenRows(context, rowsOf(true), 'create', knex)
    await checkWrittenRows(context, rowsOf(false), 'update', knex)
    await checkLimited(serializer, changed)
  }
  const rows = items.map(({ row }) => row)
  // one whose key has changed is another one, too
  writeLogOf(context.knex)?.add(rows, classOf(serializer))
}

/** Writes objects of a model one by one, as code of the serializer's class does. @throws PermissionDenied */
export async function writeOneByOne(
  serializer: AnySerializer,
  model: ModelClass,
  entries: readonly WriteEntry[],
): Promise<readonly object[]> {
  if (entries.length === 0) return []
  await beforeWritten(serializer, entries)
  const written: object[] = []
  for (const { instance, data, path } of entries) {
    const write = () => (instance ? serializer.update(instance, data) : serializer.create(data))
    written.push(await prefixErrors(path, write))
  }
  const items = entries.map((entry, index) => ({ ...entry, row: written[index] as Model }))
  const own = items.filter(({ row }) => isRecord(row) && isRowOf(model, row))
  forgetAnswers(own.map(({ row }) => row))
  await afterWritten(serializer, own)
  return written
}

function storedOf(entries: readonly Pick<WriteEntry, 'instance'>[]): Model[] {
  return entries.flatMap(({ instance }) => (instance as Model | undefined) ?? [])
}

function classOf(serializer: AnySerializer): SerializerClass {
  return serializer.constructor as unknown as SerializerClass
}
