/** Keeps the files of validated data, and removes those that nothing names any more (promise F8). */
import type { Knex } from 'knex'
import type { SerializerContext } from '../fields/field.js'
import { CheckedFile, uploadField } from '../fields/file-upload-field.js'
import type { UploadStorage } from '../fields/upload-storage.js'
import { ConfigurationError } from '../kernel/errors.js'
import { getOrInsert } from '../kernel/maps.js'
import { oncePer } from '../kernel/once-per.js'
import { errorLine } from '../kernel/quote.js'
import { afterCommit } from '../postgres/after-commit.js'
import { isInDoubt } from '../postgres/database-errors.js'
import { type EndWork, isTransaction, whenEnded } from '../postgres/transaction-end.js'
import type { BoundField, SerializerPlan } from './contract.js'
import { NestedSerializer } from './nested-serializer.js'
import { serializerPlan } from './plan.js'
import { relatedAt } from './relation-graph.js'
import { maskedIn } from './split-writes.js'
import { isKept } from './unchanged.js'
import { TARGET } from './validated-item.js'

type Data = Record<string, unknown>

/** Files that come and go with one write. */
interface Changes {
  readonly context: SerializerContext
  readonly added: Kept[]
  readonly replaced: Kept[]
}

interface UploadScope {
  readonly plan: SerializerPlan
  readonly context: SerializerContext
  readonly items: readonly Data[]
  /** The objects before an update, each in the place of its item. */
  readonly current: readonly object[] | undefined
}

interface Kept {
  readonly storage: UploadStorage
  readonly key: string
}

/** True when the serializer, or one nested in it, has a field that keeps files. */
export const keepsUploads: (plan: SerializerPlan) => boolean = oncePer(({ fields }) =>
  fields.some(({ field, writable }) =>
    field instanceof NestedSerializer
      ? writable && keepsUploads(serializerPlan(field.serializerClass))
      : uploadField(field)?.storage !== undefined,
  ),
)

/**
 * Keeps the files of validated data and runs the write with their keys in place of them. When the write fails, or its
 * transaction is rolled back, the files are removed again; what they have replaced is removed once it is committed. All stay
 * where the connection was lost on the way: the row may be there, and name any of them.
 */
export async function withUploads<Result>(
  { plan, context, items, current }: UploadScope,
  write: (items: Data[]) => Promise<Result> | Result,
): Promise<Result> {
  const { knex } = context
  const changes: Changes = { context, added: [], replaced: [] }
  try {
    const stored: Data[] = []
    for (const [position, item] of items.entries()) {
      stored.push(await store(plan, item, current?.[position], changes))
    }
    const result = await write(stored)
    if (changes.added.length > 0 || changes.replaced.length > 0) {
      afterEnd(knex, { committed: () => remove(changes.replaced), rolledBack: () => remove(changes.added) })
    }
    return result
  } catch (error) {
    if (isTransaction(knex) || !isInDoubt(error)) await remove(changes.added)
    throw error
  }
}

/**
 * Removes the files of objects that are deleted, once that is committed.
 * @param plans those by which their model names files; of one property the first counts
 */
export function dropUploads(
  plans: readonly SerializerPlan[],
  objects: readonly object[],
  context: SerializerContext,
): void {
  const fields = new Map<string, BoundField>()
  for (const bound of plans.flatMap((plan) => plan.fields)) {
    if (uploadField(bound.field)) getOrInsert(fields, propertyOf(bound), () => bound)
  }
  if (fields.size === 0) return
  const masked = plans.flatMap((plan) => maskedIn(plan, context))
  const dropped = objects.flatMap((object) => [...fields.values()].flatMap((bound) => keptBy(bound, object, masked)))
  if (dropped.length === 0) return
  afterEnd(context.knex, { committed: () => remove(dropped) })
}

/** Calls back when the transaction has ended, or at once where there is none. */
function afterEnd(knex: Knex | undefined, work: EndWork): void {
  if (isTransaction(knex)) whenEnded(knex, work)
  else afterCommit(knex, work.committed)
}

async function store(plan: SerializerPlan, data: Data, current: object | undefined, changes: Changes): Promise<Data> {
  const stored: Data & { [TARGET]?: object } = { ...data }
  for (const bound of plan.writable) {
    const { name, field } = bound
    if (!Object.hasOwn(data, name) || isKept(data, name)) continue
    const value = data[name]
    if (field instanceof NestedSerializer) {
      stored[name] = await storeNested(bound, field, value, current, changes)
      continue
    }
    const upload = uploadField(field)
    if (!upload?.storage) continue
    stored[name] = await storeValue(upload.storage, value, changes)
    const named = [stored[name]].flat()
    if (!current) continue
    const before = keptBy(bound, current, maskedIn(plan, changes.context))
    changes.replaced.push(...before.filter(({ key }) => !named.includes(key)))
  }
  return stored
}

async function storeNested(
  bound: BoundField,
  field: NestedSerializer,
  value: unknown,
  current: object | undefined,
  changes: Changes,
): Promise<unknown> {
  const plan = serializerPlan(field.serializerClass)
  if (typeof value !== 'object' || value === null || !keepsUploads(plan)) return value
  const related = current && relatedAt(current, bound)
  const one = async (item: Data & { [TARGET]?: object }) =>
    store(plan, item, item[TARGET] ?? (Array.isArray(related) ? undefined : (related as object | undefined)), changes)
  if (!Array.isArray(value)) return one(value as Data)
  const items: unknown[] = []
  for (const item of value as Data[]) items.push(await one(item))
  return items
}

async function storeValue(storage: UploadStorage, value: unknown, changes: Changes): Promise<unknown> {
  if (Array.isArray(value)) {
    const keys: unknown[] = []
    for (const item of value) keys.push(await storeValue(storage, item, changes))
    return keys
  }
  if (!(value instanceof CheckedFile)) return value
  const key: unknown = await storage.save(value)
  if (typeof key !== 'string' || key === '') {
    throw new ConfigurationError('save() of a storage has returned no key; return it, as a text')
  }
  changes.added.push({ storage, key })
  return key
}

/** The files that an object names by a field, as far as its row does. */
function keptBy(bound: BoundField, object: object, masked: readonly string[]): Kept[] {
  const upload = uploadField(bound.field)
  const { storage } = upload ?? {}
  if (!upload || !storage || upload.options.keepsReplaced || bound.source.length > 1) return []
  const property = propertyOf(bound)
  const value = masked.includes(property) ? null : (object as Data)[property]
  return [value].flat().flatMap((key) => (typeof key === 'string' && key !== '' ? [{ storage, key }] : []))
}

function propertyOf({ column, source }: BoundField): string {
  return column?.property ?? source.join('.')
}

/** Storages that have refused to remove a file, since one was last removed. */
const failing = new WeakSet<UploadStorage>()

/** Removes files. What cannot be removed is left behind, with a warning for the first: the write has its own outcome. */
async function remove(files: readonly Kept[]): Promise<void> {
  for (const { storage, key } of files) {
    try {
      await storage.delete(key)
      failing.delete(storage)
    } catch (error) {
      if (failing.has(storage)) continue
      failing.add(storage)
      process.emitWarning(`a file of an upload was left behind: "${errorLine(error)}"`, {
        code: 'KOA_VIEWSETS_UPLOAD',
      })
    }
  }
}
