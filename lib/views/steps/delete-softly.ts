/** Marks rows as deleted, and takes the mark away (`softDelete`). */
import type { Model } from 'objection'
import { buildModel } from '../../models/build-model.js'
import { byExactKey } from '../../models/exact-key.js'
import { traitsOf } from '../../models/model-traits.js'
import { type AnyQueryBuilder, modelOf } from '../../models/objection.js'
import type { Queryable } from '../../postgres/pg-types.js'
import { ownRow, ownRows } from '../../queryset/own-row.js'
import { whereRows } from '../../queryset/where-keys.js'
import type { GenericView } from '../generic-view.js'
import type { Deletion } from '../soft-delete.js'

/**
 * Sets the mark of an object's row, unless another request has. The model's hooks for updates run.
 * @returns how many rows were marked
 */
export async function markDeleted(view: GenericView, object: Model, { column }: Deletion): Promise<number> {
  const now = modelOf(object).raw('now()')
  return setMark(view, object, column.property, now, (query) => void query.whereNull(column.column))
}

/** Takes the mark away, unless another request has. @returns how many rows were restored */
export function takeMark(view: GenericView, object: Model, { column }: Deletion): Promise<number> {
  return setMark(view, object, column.property, null, (query) => void query.whereNotNull(column.column))
}

function setMark(
  { trx, knex }: GenericView,
  object: Model,
  property: string,
  value: unknown,
  narrow: (query: AnyQueryBuilder) => void,
): Promise<number> {
  return byExactKey(object, () => {
    const patch = buildModel(modelOf(object), { [property]: value }, { patch: true })
    const query = ownRow(object, trx ?? knex).patch(patch as never) as unknown as AnyQueryBuilder
    narrow(query)
    return asRead(query, object) as unknown as Promise<number>
  })
}

/**
 * Sets the mark of objects that a list names: by one statement, or one by one where the model has hooks for each.
 * @returns whether all were marked
 */
export async function markAllDeleted(
  view: GenericView,
  objects: readonly Model[],
  deletion: Deletion,
): Promise<boolean> {
  const model = modelOf(objects[0] as Model)
  const { plainUpdates, plainChanges } = traitsOf(model)
  if (!(plainUpdates && plainChanges)) {
    for (const object of objects) if ((await markDeleted(view, object, deletion)) === 0) return false
    return true
  }
  const { property, column } = deletion.column
  const patch = buildModel(model, { [property]: model.raw('now()') }, { patch: true })
  const query = whereRows(
    ownRows(model, view.trx ?? view.knex).patch(patch as never) as unknown as AnyQueryBuilder,
    objects,
  )
  const marked: unknown = await query.whereNull(column)
  return typeof marked !== 'number' || marked >= objects.length
}

/** Deletes an object's row by the model's own `delete()`, narrowed to the version that was read. @returns what that returns */
export function deleteAsRead(object: Model, knex: Queryable | undefined): Promise<unknown> {
  return byExactKey(object, () => asRead(ownRow(object, knex).delete() as unknown as AnyQueryBuilder, object))
}

const MARKS = new WeakMap<object, string>()

/** Remembers the version of the row that an object was read from, as `xmin` tells it. */
export function rememberMark(object: object, mark: string): void {
  MARKS.set(object, mark)
}

/** That version; undefined for an object whose row is held. */
export function markOf(object: object): string | undefined {
  return MARKS.get(object)
}

/** The query of an object's row, narrowed to that version. */
function asRead<Query extends AnyQueryBuilder>(query: Query, object: object): Query {
  const mark = markOf(object)
  return mark === undefined ? query : query.whereRaw('xmin::text = ?', [mark])
}
