/** What one transaction changes: each object as it was before, and as it is at the end. */

import type { Model } from 'objection'
import { compositeKey } from '../fields/composite-key.js'
import type { SerializerContext } from '../fields/field.js'
import { type ObjectKey, objectKey } from '../fields/object-key.js'
import { externalIds } from '../ids/external-ids.js'
import { writeJson } from '../kernel/json-numerals.js'
import { describeModel } from '../models/describe-model.js'
import { exactKey } from '../models/exact-key.js'
import { exactAt } from '../models/exact-types.js'
import type { Column } from '../models/model-description.js'
import { isModelClass, type ModelClass, modelOf } from '../models/objection.js'
import type { Queryable } from '../postgres/pg-types.js'
import { spelling } from '../queryset/key-rows.js'
import { loadRelations } from '../queryset/load-relations.js'
import { ownRows } from '../queryset/own-row.js'
import { readExactly } from '../queryset/read-exactly.js'
import { whereRows } from '../queryset/where-keys.js'
import type { SerializerClass } from '../serializers/contract.js'
import { serializerPlan } from '../serializers/plan.js'
import type { Serializer } from '../serializers/serializer.js'
import type { RequestLog } from '../views/request/log-writes.js'
import { type Change, type ChangeOrigin, insertChanges } from './changes-table.js'
import { readImages } from './read-images.js'
import type { NestedRows } from './recorded-fields.js'

/** How objects of a model are recorded. */
export interface Recorded {
  readonly shown: SerializerClass
  /** The column that marks its rows as deleted; undefined where deleted rows are gone. */
  readonly mark: Column | undefined
  /** What may go with a row that is deleted. */
  readonly nested: readonly NestedRows[]
}

export interface ChangeLogOptions {
  readonly origin: ChangeOrigin
  /** What fields write by: the request and its caller. */
  readonly context: SerializerContext
  /** The request deletes: foreign keys of the database may delete what is nested, too. */
  readonly deletes: boolean
  /** How objects of a model are recorded. @param shownBy the serializer that writes them */
  readonly recorded: (model: ModelClass, shownBy: SerializerClass | undefined) => Recorded | undefined
}

/** An object at one time. */
interface Image {
  readonly row: Model
  readonly text: string
  readonly isDeleted: boolean
}

/** Objects of one model that the transaction writes. */
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
  readonly #written = new Map<string, WrittenModel>()

  constructor(trx: Queryable, options: ChangeLogOptions) {
    this.#trx = trx
    this.#options = options
  }

  async keep(rows: readonly Model[], shownBy?: SerializerClass): Promise<void> {
    for (const [written, own] of this.#byModel(rows, shownBy)) {
      const unknown = own.filter((row) => !written.before.has(keyOf(row)))
      if (unknown.length === 0) continue
      for (const row of unknown) {
        written.before.set(keyOf(row), null)
        written.rows.set(keyOf(row), row)
      }
      const images = await this.#read(written, unknown)
      for (const image of images) written.before.set(keyOf(image.row), image)
      if (this.#options.deletes) await this.#keepNested(written, images)
    }
  }

  async #keepNested({ model, nested }: WrittenModel, images: readonly Image[]): Promise<void> {
    const rows = images.map(({ row }) => row as Loose)
    for (const { relation, shownBy } of nested) {
      await loadRelations(model, rows, { relations: { [relation]: {} }, knex: this.#trx })
      await this.keep(
        rows.flatMap((row) => (row[relation] ?? []) as Model | Model[]),
        shownBy,
      )
    }
  }

  add(rows: readonly Model[], shownBy?: SerializerClass): void {
    for (const [written, own] of this.#byModel(rows, shownBy)) {
      for (const row of own) {
        const key = keyOf(row)
        if (written.before.has(key)) continue
        written.before.set(key, null)
        written.rows.set(key, row)
      }
    }
  }

  async record(): Promise<void> {
    const changes: Change[] = []
    for (const written of this.#written.values()) {
      const images = await this.#read(written, [...written.rows.values()])
      const after = new Map(images.map((image) => [keyOf(image.row), image]))
      for (const [key, before] of written.before) {
        const change = this.#change(written.model, before, after.get(key) ?? null)
        if (change) changes.push(change)
      }
    }
    this.#written.clear()
    await insertChanges(this.#trx, this.#options.origin, changes)
  }

  *#byModel(
    rows: readonly Model[],
    shownBy: SerializerClass | undefined,
  ): Generator<readonly [WrittenModel, readonly Model[]]> {
    const byModel = new Map<ModelClass, Model[]>()
    for (const row of rows) {
      const model: unknown = modelOf(row)
      // code of the application may have chosen, or made, something else
      if (!isModelClass(model) || [exactKey(row)].flat().some((value) => value == null)) continue
      const own = byModel.get(model)
      if (own) own.push(row)
      else byModel.set(model, [row])
    }
    for (const [model, own] of byModel) {
      const written = this.#writtenOf(model, shownBy)
      if (written) yield [written, own]
    }
  }

  #writtenOf(model: ModelClass, shownBy: SerializerClass | undefined): WrittenModel | undefined {
    const known = this.#written.get(model.tableName)
    if (known) return known
    const recorded = this.#options.recorded(model, shownBy)
    if (!recorded) return undefined
    const written = { ...recorded, model, before: new Map(), rows: new Map() }
    this.#written.set(model.tableName, written)
    return written
  }

  /** The rows as they are now, whatever a queryset or a hook has made of their objects. */
  async #read({ model, shown, mark }: WrittenModel, rows: readonly Model[]): Promise<readonly Image[]> {
    if (rows.length === 0) return []
    const images = await readImages({ model, shown, mark }, rows, this.#trx)
    if (images) return images.map(({ place, ...image }) => ({ row: rows[place] as Model, ...image }))
    const found = (await readExactly(whereRows(ownRows(model, this.#trx), rows))) as Model[]
    const { relations } = serializerPlan(shown)
    if (Object.keys(relations).length > 0) await loadRelations(model, found, { relations, knex: this.#trx })
    const context = { ...this.#options.context, knex: this.#trx }
    const { data } = new shown({ obj: found, many: true, context }) as Serializer<Model, readonly unknown[]>
    return found.map((row, index) => ({
      row,
      text: writeJson(data[index]) as string,
      isDeleted: mark !== undefined && (row as Loose)[mark.property] != null,
    }))
  }

  /** Undefined where nothing is shown of it. */
  #change(model: ModelClass, was: Image | null, is: Image | null): Change | undefined {
    const [before, after] = [was, is].map((one) => (one && !one.isDeleted ? one.text : null))
    if (before === after) {
      // what is purged was deleted before
      return was && !is ? this.#named(model, was, { action: 'purge', before: was.text, after: null }) : undefined
    }
    const row = (is ?? was) as Image
    const action = before === null ? (was ? 'restore' : 'create') : after === null ? 'delete' : 'update'
    return this.#named(model, row, { action, before: before as string | null, after: after as string | null })
  }

  #named(model: ModelClass, { row }: Image, change: Omit<Change, 'model' | 'key'>): Change {
    return { model: model.tableName, key: keyText(row, this.#options.context), ...change }
  }
}

type Loose = Model & Record<string, unknown>

function keyOf(row: Model): string {
  const { primaryKey, columns } = describeModel(modelOf(row))
  return spelling(
    primaryKey.map((property) => exactAt(row, property)),
    primaryKey.map((property) => columns.get(property)),
  )
}

/** What clients call objects of a model; undefined where they have no key, or one that differs from user to user, or from time to time. */
export function clientKey(model: ModelClass): ObjectKey | undefined {
  const { primaryKey } = describeModel(model)
  const [only] = primaryKey
  const ids = externalIds(model)
  if (only === undefined || ids?.perUser || ids?.expire) return undefined
  const key = primaryKey.length > 1 ? compositeKey(model) : objectKey(model, only)
  return key?.problem === undefined ? key : undefined
}

/** The object's key as clients see it. */
export function keyText(row: Model, { ctx, user }: SerializerContext): string {
  const key = clientKey(modelOf(row)) as ObjectKey
  return String(
    key.toText(
      key.columns.map(({ property }) => exactAt(row, property)),
      { ctx, user },
    ),
  )
}
