/** Makes the related rows of objects those whose keys were sent. */

import type { Model } from 'objection'
import { PrimaryKeyRelatedField } from '../fields/key-related-fields.js'
import { oncePer } from '../kernel/once-per.js'
import { describeModel } from '../models/describe-model.js'
import { exactAt } from '../models/exact-types.js'
import type { Column } from '../models/model-description.js'
import { type ModelClass, modelOf } from '../models/objection.js'
import { isHeld } from '../queryset/held-rows.js'
import { type CanonicalKey, namesOfValues } from '../queryset/same-keys.js'
import { seenRelated, visibleRowsIn } from '../queryset/visible-rows.js'
import type { AnySerializer } from './contract.js'
import { lockRows, type RelatedKeys, relatedKeys } from './lock-rows.js'
import type { Path } from './prefix-errors.js'
import { namesOfRows } from './row-keys.js'
import type { KeySet } from './split-writes.js'
import { leadingOf } from './validate-related.js'
import { type KeyLink, relate, unlink } from './write-links.js'
import { serializerKnex } from './write-rows.js'

/** A set of keys, and the row that it is of. */
export interface OwnedSet {
  readonly owner: Model
  readonly set: KeySet
  readonly path: Path
  /** The row as it was before, when others may have written its links, too. */
  readonly instance: Model | undefined
  /** Nothing else that was written with the set can have written links. */
  readonly isAlone: boolean
}

/**
 * Makes the related rows of each owner those of its keys. Those stay that the caller does not see, and those that the field
 * does not let the caller choose. It takes as many statements as for one owner, and where a `modify` narrows the relation, a
 * statement more for each owner that loses some.
 */
export async function replaceSets(serializer: AnySerializer, given: readonly OwnedSet[]): Promise<void> {
  const [first] = given
  if (!first) return
  const { field, relation } = first.set
  const knex = serializerKnex(serializer)
  const model = modelOf(first.owner)
  const rows = await namesOfRows(
    model,
    given.map(({ owner }) => owner),
    knex,
  )
  // of two sets for one row the last counts
  const sets = [...new Map(given.map((one, index) => [rows[index], one])).values()]
  const unheld = sets.filter(({ instance }) => instance && !isHeld(instance, knex)).map(({ owner }) => owner)
  await lockRows(unheld, knex)
  const unseen = new Set<Model>()
  const reading = { relation, knex, unseen, visible: visibleRowsIn(serializer.context) }
  const related = await presentRows(sets, model, reading)
  const [property = ''] = relation.relatedProperties
  const column = describeModel(relation.model).columns.get(property)
  const present = related.map((rows) =>
    rows.map((row) => ({ value: exactAt(row, property), isSeen: !unseen.has(row) })),
  )
  const values = [...present.flat().map(({ value }) => value), ...sets.flatMap(({ set }) => set.keys)]
  const names = await namesOfValues(column, values, knex)
  const nameOf = new Map(values.map((value, index) => [value, names[index] as CanonicalKey]))
  const changes = sets.map((one, index) => changesOf(one, present[index] ?? [], nameOf))
  const unwanted = changes.flatMap(({ unwanted }) => unwanted)
  const removed: KeyLink[] = []
  if (unwanted.length > 0) {
    const keys = [...new Map(unwanted.map(({ key: [key] }) => [nameOf.get(key), key])).values()]
    const seen = column ? await chosenKeys(serializer, { field, relation, keys, column }) : undefined
    const shown = seen && new Set(seen.map((key) => nameOf.get(key)))
    removed.push(...(shown ? unwanted.filter(({ key: [key] }) => shown.has(nameOf.get(key))) : unwanted))
  }
  const added = changes.flatMap((change) => change.added)
  await unlink(serializer, relation, removed)
  await relate(serializer, relation, added)
}

/**
 * What the owner of each set is related to: read where nobody has, since the owner is held. Where the caller does not see all
 * of it, others are read, too: what is sent may be there, and hidden by what is written with it.
 */
async function presentRows(
  sets: readonly OwnedSet[],
  owner: ModelClass,
  reading: RelatedKeys,
): Promise<readonly (readonly Model[])[]> {
  const { relation, knex, visible } = reading
  const hasUnseen = seenRelated(visible, { owner, relation }) !== undefined
  const known = sets.map(({ instance, isAlone }) => {
    if (!isAlone || hasUnseen) return undefined
    const list = instance ? (instance as Model & Record<string, unknown>)[relation.name] : []
    if (!instance || (Array.isArray(list) && isHeld(list, knex))) return list as Model[]
    return undefined
  })
  const owners = sets.filter((_, index) => !known[index]).map(({ owner }) => owner)
  const read = await relatedKeys(owners, reading)
  let next = 0
  return known.map((list) => list ?? read[next++] ?? [])
}

/** The key of a row that an owner is related to. */
interface Present {
  readonly value: unknown
  /** By the caller. */
  readonly isSeen: boolean
}

/** The links to add, and those that are not asked for any more, by the names that keys have in common. */
function changesOf(given: OwnedSet, present: readonly Present[], nameOf: ReadonlyMap<unknown, CanonicalKey>) {
  const { owner, set, path } = given
  const toLinks = (values: Iterable<unknown>): KeyLink[] => [...values].map((value) => ({ owner, key: [value], path }))
  const before = new Set(present.map(({ value }) => nameOf.get(value)))
  const wanted = new Map(set.keys.map((value) => [nameOf.get(value), value]))
  return {
    added: toLinks([...wanted].flatMap(([name, value]) => (before.has(name) ? [] : [value]))),
    unwanted: toLinks(
      present.flatMap(({ value, isSeen }) => (isSeen && !wanted.has(nameOf.get(value)) ? [value] : [])),
    ),
  }
}

/** Those of the related keys that the caller may choose, which no deleted object's are; undefined where these are all. */
async function chosenKeys(
  serializer: AnySerializer,
  { field, relation, keys, column }: Omit<KeySet, 'name'> & { column: Column },
): Promise<readonly unknown[] | undefined> {
  // what clients do not write, the application chooses among all
  const choosing = field.options.queryset === undefined ? keysTo(relation.model) : field
  if (choosing.options.queryset === relation.model && relation.deletedBy === undefined) return undefined
  return choosing.seen(keys, serializer.context, { column, leading: leadingOf(serializer, { relation }) })
}

const keysTo = oncePer((model: ModelClass) => new PrimaryKeyRelatedField({ queryset: model }))
