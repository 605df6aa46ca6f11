/** Change log of a transaction: each object as it was before, and as it is at the end. */

import type { Model } from 'objection'
import { compositeKey } from '../fields/composite-key.js'
import type { SerializerContext } from '../fields/field.js'
import { type KeyValues, type ObjectKey, objectKey } from '../fields/object-key.js'
import { writeJson } from '../kernel/json-numerals.js'
import { getOrInsert, groupBy } from '../kernel/maps.js'
import { describeModel } from '../models/describe-model.js'
import { exactKey } from '../models/exact-key.js'
import { exactAt } from '../models/exact-types.js'
import { type AnyQueryBuilder, isModelClass, type ModelClass, modelOf } from '../models/objection.js'
import { toReference, writtenName } from '../models/table-reference.js'
import type { Queryable } from '../postgres/pg-types.js'
import { runsAsRole } from '../postgres/scoped-knex.js'
import { readRows } from '../postgres/type-parsers.js'
import { isHeld } from '../queryset/held-rows.js'
import { spelling } from '../queryset/key-rows.js'
import { loadRelations } from '../queryset/load-relations.js'
import { ownRows } from '../queryset/own-row.js'
import { readExactly } from '../queryset/read-exactly.js'
import { relatedRows } from '../queryset/related-rows.js'
import { orderByKey } from '../queryset/total-order.js'
import { leaveOutDeleted } from '../queryset/visible-rows.js'
import { whereRows } from '../queryset/where-keys.js'
import type { SerializerClass } from '../serializers/contract.js'
import { lockRows } from '../serializers/lock-rows.js'
import { serializerPlan } from '../serializers/plan.js'
import type { Serializer } from '../serializers/serializer.js'
import type { RequestLog } from '../views/request/log-writes.js'
import { type ChangeOrigin, insertChanges, type WrittenChange } from './insert-changes.js'
import { type ImageSerializer, readImages, readStates } from './read-images.js'
import type { NestedRows } from './recorded-fields.js'

/** How objects of a model are recorded. */
export interface Recorded extends Omit<ImageSerializer, 'model'> {
  /** What may go with a row that is deleted. */
  readonly nested: readonly NestedRows[]
}

export interface ChangeLogOptions {
  readonly origin: ChangeOrigin
  /** Serializer context: the request and its caller. */
  readonly context: SerializerContext
  /** The request deletes: foreign keys of the database may delete what is nested, too. */
  readonly deletes: boolean
  /** Recording of a model's objects. @param shownBy the serializer that writes them */
  readonly recorded: (model: ModelClass, shownBy: SerializerClass | undefined) => Recorded | undefined
}

/** An object at one time. */
interface Image {
  readonly row: Model
  /** The spelling of its primary key. */
  readonly key: string
  /** Key as clients see it. */
  readonly name: string
  readonly text: string
  readonly isDeleted: boolean
  /** JSON of the columns that decide who sees it. */
  readonly held: readonly (string | null)[]
}

/** Objects of one model that the transaction writes, and one serializer shows. */
interface WrittenModel extends Recorded {
  readonly model: ModelClass
  /** By the spelling of their primary keys; null for those that were not there. */
  readonly before: Map<string, Image | null>
  /** Objects that have these keys, to find their rows by. */
  readonly rows: Map<string, Model>
}

export class ChangeLog implements RequestLog {
  readonly #trx: Queryable
  readonly #options: ChangeLogOptions
  readonly #written = new Map<Recorded, WrittenModel>()
  /** Objects that are known, by their tables and keys: each is shown by the first serializer that writes it. */
  readonly #known = new Set<string>()

  constructor(trx: Queryable, options: ChangeLogOptions) {
    this.#trx = trx
    this.#options = options
  }

  async keep(rows: readonly Model[], shownBy?: SerializerClass): Promise<void> {
    for (const [written, own] of this.#byModel(rows, shownBy)) {
      const unknown = this.#note(written, own)
      if (unknown.length === 0) continue
      // what is read is what this request changes: nobody else does in between
      const unheld = unknown.filter((row) => !isHeld(row, this.#trx))
      if (await this.#mayLock(unheld)) await lockRows(unheld, this.#trx)
      const images = await this.#read(written, unknown)
      for (const image of images) written.before.set(image.key, image)
      if (this.#options.deletes) await this.#keepNested(written, images)
    }
  }

  async #keepNested({ model, nested }: WrittenModel, images: readonly Image[]): Promise<void> {
    const objects = images.map(({ row }) => row)
    const knex = this.#trx
    for (const { relation, shownBy } of nested) {
      const narrow = (query: AnyQueryBuilder) => leaveOutDeleted(orderByKey(query), relation)
      // not into the objects, which the request shows as its caller sees them
      await this.keep((await relatedRows({ model, relation, objects }, { knex, narrow })).flat(), shownBy)
    }
  }

  /** A role that may see and delete rows may still have no right to lock them. */
  async #mayLock([row]: readonly Model[]): Promise<boolean> {
    if (!row || !describeModel(modelOf(row)).lockable) return false
    if (!runsAsRole(this.#trx)) return true
    const rows = await readRows<{ readonly may: boolean | null }>(
      this.#trx,
      "select has_any_column_privilege(to_regclass(?), 'update') as may",
      [toReference(this.#trx, modelOf(row).tableName)],
    )
    return rows[0]?.may === true
  }

  add(rows: readonly Model[], shownBy?: SerializerClass): void {
    for (const [written, own] of this.#byModel(rows, shownBy)) this.#note(written, own)
  }

  /** Notes objects that were not there, as far as nothing else is known of them. @returns those that were not known */
  #note({ model, before, rows }: WrittenModel, own: readonly Model[]): readonly Model[] {
    return own.filter((row) => {
      const key = keyOf(row)
      const name = `${model.tableName} ${key}`
      if (this.#known.has(name)) return false
      this.#known.add(name)
      before.set(key, null)
      rows.set(key, row)
      return true
    })
  }

  async record(): Promise<void> {
    const changes: WrittenChange[] = []
    for (const written of this.#written.values()) {
      const images = await this.#readNoted(written)
      const after = new Map(images.map((image) => [image.key, image]))
      for (const [key, before] of written.before) {
        const change = this.#change(written, before, after.get(key) ?? null)
        if (change) changes.push(change)
      }
    }
    this.#written.clear()
    this.#known.clear()
    await insertChanges(this.#trx, this.#options.origin, changes)
  }

  *#byModel(
    rows: readonly Model[],
    shownBy: SerializerClass | undefined,
  ): Generator<readonly [WrittenModel, readonly Model[]]> {
    // code of the application may have chosen, or made, something else
    const usable = rows.filter(
      (row) => isModelClass(modelOf(row)) && [exactKey(row)].flat().every((value) => value != null),
    )
    for (const [model, own] of groupBy(usable, modelOf)) {
      const written = this.#writtenOf(model, shownBy)
      if (written) yield [written, own]
    }
  }

  #writtenOf(model: ModelClass, shownBy: SerializerClass | undefined): WrittenModel | undefined {
    const recorded = this.#options.recorded(model, shownBy)
    if (!recorded) return undefined
    return getOrInsert(this.#written, recorded, () => ({ model, before: new Map(), rows: new Map(), ...recorded }))
  }

  async #readNoted(written: WrittenModel): Promise<readonly Image[]> {
    const noted = [...written.rows]
    const isSame = ([key, row]: readonly [string, Model]) => keyOf(row) === key
    const moved = noted.filter((one) => !isSame(one)).map(([key, row]) => withKey(row, key))
    const same = noted.filter(isSame).map(([, row]) => row)
    // to the database keys may be equal that are written in two ways: what it finds by the old one has the new one
    return [...(await this.#read(written, same)), ...(await this.#readRows(written, moved))]
  }

  /** The rows as they are now, whatever a queryset or a hook has made of their objects. */
  async #read(written: WrittenModel, rows: readonly Model[]): Promise<readonly Image[]> {
    const images = rows.length > 0 ? await readImages(written, rows, this.#trx) : []
    return images
      ? images.map(({ place, ...image }) => this.#image(rows[place] as Model, image))
      : this.#readRows(written, rows)
  }

  async #readRows(written: WrittenModel, rows: readonly Model[]): Promise<readonly Image[]> {
    if (rows.length === 0) return []
    const { model, shown } = written
    const found = (await readExactly(whereRows(ownRows(model, this.#trx), rows))) as Model[]
    const { relations } = serializerPlan(shown)
    if (Object.keys(relations).length > 0) await loadRelations(model, found, { relations, knex: this.#trx })
    const context = { ...this.#options.context, knex: this.#trx }
    const { data } = new shown({ obj: found, many: true, context }) as Serializer<Model, readonly unknown[]>
    const texts = found.map((_, index) => writeJson(data[index]) as string)
    const states = await readStates(written, found, this.#trx)
    return states.map(({ place, ...state }) =>
      this.#image(found[place] as Model, { text: texts[place] as string, ...state }),
    )
  }

  /** Its key and name are those of now: a write may change them in the object. */
  #image(row: Model, shown: Pick<Image, 'text' | 'isDeleted' | 'held'>): Image {
    return { row, key: keyOf(row), name: shownKeyText(row, this.#options.context), ...shown }
  }

  /** Undefined where nothing is shown of it. */
  #change(written: WrittenModel, old: Image | null, is: Image | null): WrittenChange | undefined {
    const model = written.model.tableName
    const [before, after] = [old, is].map((one) => (one && !one.isDeleted ? one.text : null)) as [Text, Text]
    const key = (old ?? is)?.name ?? ''
    const was = old && this.#rowOf(written, old)
    if (before === after) {
      // what is purged was deleted before
      return old && !is ? { model, key, action: 'purge', before: old.text, after: null, was } : undefined
    }
    const action = before === null ? (old ? 'restore' : 'create') : after === null ? 'delete' : 'update'
    return { model, key, action, before, after, was }
  }

  /** JSON of a row's deciding columns. */
  #rowOf({ deciding }: WrittenModel, { held }: Image): string {
    const parts = deciding.map(
      ({ column }, index) => `${JSON.stringify(writtenName(this.#trx, column))}:${held[index] ?? 'null'}`,
    )
    return `{${parts.join()}}`
  }
}

type Text = string | null

function keyOf(row: Model): string {
  const { primaryKey, columns } = describeModel(modelOf(row))
  return spelling(
    primaryKey.map((property) => exactAt(row, property)),
    primaryKey.map((property) => columns.get(property)),
  )
}

/** An object that has the key, which a write has changed in the one that was noted. */
function withKey(row: Model, key: string): Model {
  const values = JSON.parse(key) as readonly unknown[]
  const { primaryKey } = describeModel(modelOf(row))
  const other = Object.create(modelOf(row).prototype) as Model
  return Object.assign(other, Object.fromEntries(primaryKey.map((property, index) => [property, values[index]])))
}

/** Client key of a model's objects; undefined where they have none, or one that differs between users or expires. */
export function clientKey(model: ModelClass): ObjectKey | undefined {
  const { primaryKey } = describeModel(model)
  const [only] = primaryKey
  if (only === undefined) return undefined
  const key = primaryKey.length > 1 ? compositeKey(model) : objectKey(model, only)
  return key?.isPassing || key?.problem !== undefined ? undefined : key
}

/** The object's key as clients see it. */
function shownKeyText(row: Model, context: SerializerContext): string {
  return String(keyOfRow(row, context)[0])
}

/** And those that changes of it may have been recorded by, while keys that sign ids are replaced. */
export function keyTexts(row: Model, context: SerializerContext): readonly string[] {
  const [text, key, values] = keyOfRow(row, context)
  return [String(text), ...key.formerTexts(values)]
}

function keyOfRow(row: Model, { ctx, user }: SerializerContext): readonly [unknown, ObjectKey, KeyValues] {
  const key = clientKey(modelOf(row)) as ObjectKey
  const values = key.columns.map(({ property }) => exactAt(row, property))
  return [key.toText(values, { ctx, user }), key, values]
}
