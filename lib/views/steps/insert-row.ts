/** Creates an object by one statement, where nothing of the application stands between the input and the row. */

import type { Model } from 'objection'
import { externalIds } from '../../ids/external-ids.js'
import { PermissionDenied, ValidationError } from '../../kernel/errors.js'
import { buildModel, databaseValues, isExpression } from '../../models/build-model.js'
import { traitsOf } from '../../models/model-traits.js'
import type { ModelClass } from '../../models/objection.js'
import { nativeSql, type Queryable } from '../../postgres/pg-types.js'
import { runStatement, statementOf } from '../../postgres/run-statement.js'
import { whereKey } from '../../queryset/where-keys.js'
import { insertRows as insertInto, insertMany, insertOne, type RowValues } from '../../rows/inserter.js'
import type { RowAccess } from '../../rows/row-access.js'
import { placedRefusal } from '../../serializers/all-at-once.js'
import { allowsNamed } from '../../serializers/check-written.js'
import type { AnySerializer } from '../../serializers/contract.js'
import { prefixErrors } from '../../serializers/prefix-errors.js'
import { propertyOf } from '../../serializers/split-writes.js'
import { LIMITED } from '../../serializers/validated-item.js'
import { inOwnTerms } from '../../serializers/write-own-rows.js'
import { MOST_PARAMETERS } from '../../serializers/write-rows.js'
import { type GenericView, serializerOf } from '../generic-view.js'
import type { RowAnswer } from '../overrides.js'
import { holdingRows } from '../request/in-view-transaction.js'
import { noteVersion } from './concurrency.js'
import { openRows, type Tell } from './open-rows.js'
import { plainRow } from './plain-row.js'
import { representSaved } from './represent.js'
import { visibleQuery } from './visible-query.js'
import { isUnread, refusalOf, type WriteConditions, writeConditions } from './write-conditions.js'

/** The object that was created: its key by property, and its written form. */
export interface InsertedRow {
  readonly object: object
  readonly text: unknown
}

interface InsertRequest {
  readonly asked?: WriteConditions
  /** Gets the reason where there is none. */
  readonly tell?: Tell
}

/** The rows that the view's action inserts into, when it is one statement, as far as the request lets it. */
export function insertedRows(view: GenericView, { asked, tell }: InsertRequest = {}): RowAccess | undefined {
  const { inserting } = view.plan
  if (inserting.because !== null) return tell?.(inserting.because)
  // last, so that a create of the application's begins before its queryset is asked for
  const { isShaped } = asked ?? writeConditions(view, 'create')
  if (isShaped) return tell?.('its queryset makes more of its rows than the table has')
  const rows = openRows(view, view.plan.action as RowAnswer, { tell })
  if (!rows) return undefined
  const obstacle = rows.obstacleTo('insert')
  return obstacle === undefined ? rows : tell?.(obstacle)
}

/** Validates the body and inserts it; undefined where instances are needed. @throws ValidationError */
export async function insertRow(view: GenericView): Promise<InsertedRow | undefined> {
  if (view.plan.inserting.because !== null) return undefined
  const asked = writeConditions(view, 'create')
  if (asked.isShaped) return undefined
  const insert = () => insertAsked(view, asked)
  // what may be refused afterwards is taken back
  return asked.isLeft.write || asked.isLeft.queryset ? holdingRows(view, insert) : insert()
}

async function insertAsked(view: GenericView, wanted: WriteConditions): Promise<InsertedRow | undefined> {
  const access = insertedRows(view, { asked: wanted })
  if (!access) return undefined
  const serializer = serializerOf(view, 'getInputSerializer')
  // foreign keys are left to the database, unless the caller does not see all that they lead to
  await serializer.isValid({ raiseException: true, trustKeys: !view.plan.limitsRows })
  const { [LIMITED]: limited } = serializer.validatedData as { [LIMITED]?: unknown }
  // of what the row decides on, the row must be there
  const values = limited ? undefined : rowOf(serializer, access.model.model, serializer.validatedData)
  if (!values) return undefined
  const { lookup } = view.plan.resource
  const { key, text, answers } = await insertOne(access, lookup, { values, asked: wanted }).catch((error: unknown) => {
    throw refusalOf(error)
  })
  const { terms, isLeft } = wanted
  const object: Record<string, unknown> = {}
  for (const [index, { property }] of lookup.columns.entries()) object[property] = key[index]
  const isRead = !isUnread(wanted, answers)
  // also of a row that its writer may not read
  const isShown = view.plan.refusesRows ? await mayShowRow(view, key, { isLeft, isRead }) : isRead
  if (isShown && terms > 0) noteVersion(view, answers.slice(-terms))
  return { object, text: isShown ? text : undefined }
}

/** Whether the caller may read the row that was inserted. @throws PermissionDenied it is none that the caller may have made */
async function mayShowRow(
  view: GenericView,
  key: readonly unknown[],
  { isLeft, isRead }: Pick<WriteConditions, 'isLeft'> & { readonly isRead: boolean },
): Promise<boolean> {
  const { columns } = view.plan.resource.lookup
  const knex = (view.trx ?? view.knex) as Queryable
  const rows = { model: view.plan.resource.model.model, columns, keys: [key] }
  if (isLeft.write && !(await allowsNamed({ view }, rows, 'create', knex))) throw new PermissionDenied()
  // such a row is in no queryset of this caller's
  if (!isRead || (isLeft.read && !(await allowsNamed({ view }, rows, 'read', knex)))) return false
  if (isLeft.queryset) {
    const query = whereKey(visibleQuery(view), columns, key).clearOrder().clearSelect()
    const { text, values } = nativeSql(query.select(query.modelClass().raw('1')).limit(1).toKnexQuery())
    if ((await runStatement(knex, statementOf(text), values)).length === 0) throw new PermissionDenied()
  }
  return true
}

/** Validates the list in the body and inserts it by one statement; undefined where instances are needed. @throws ValidationError */
export async function insertBulk(view: GenericView): Promise<unknown> {
  // a refusal ends a transaction, and then nothing could be looked up
  const access = view.trx ? undefined : insertedRows(view)
  if (!access) return undefined
  const serializer = serializerOf(view, 'getInputSerializer', { many: true })
  await serializer.isValid({ raiseException: true, trustKeys: true })
  const items = serializer.validatedData as Record<string, unknown>[]
  const values: ReadonlyMap<string, unknown>[] = []
  for (const [position, item] of items.entries()) {
    const row = await prefixErrors([position], () => {
      try {
        return rowOf(serializer, access.model.model, item)
      } catch (error) {
        throw inOwnTerms(serializer, item, error)
      }
    })
    if (row) values.push(row)
  }
  const parameters = values.reduce((sum, { size }) => sum + size, 0)
  if (parameters > MOST_PARAMETERS || values.length < items.length) {
    await serializer.save()
    return representSaved(view, serializer)
  }
  try {
    return await insertMany(access, values)
  } catch (error) {
    if (!(inOwnTerms(serializer, items[0] ?? {}, error) instanceof ValidationError)) throw error
    // a key that leads nowhere is reported for all items at once
    await serializerOf(view, 'getInputSerializer', { many: true }).isValid({ raiseException: true })
    const refused = {
      items: values.map((row, position) => ({ row, data: items[position] ?? {}, path: [position] })),
      knex: access.knex,
      view,
      write: (part: readonly { row: RowValues }[], trx: Queryable) =>
        insertInto(
          access,
          part.map(({ row }) => row),
          trx,
        ),
      tell: (one: unknown, { data }: { data: Record<string, unknown> }) => inOwnTerms(serializer, data, one),
    }
    throw await placedRefusal(refused, error)
  }
}

/** What a new row holds, by column name; undefined where a value is SQL of the application's. */
function rowOf(
  serializer: AnySerializer,
  model: ModelClass,
  data: Readonly<Record<string, unknown>>,
): ReadonlyMap<string, unknown> | undefined {
  const isPlain = traitsOf(model).plainInput && !externalIds(model)
  return isPlain ? plainRow(serializer, data) : builtRow(serializer, model, data)
}

/** The values of a row by the model's own parsing and validation, and with its external id. */
function builtRow(
  serializer: AnySerializer,
  model: ModelClass,
  data: Readonly<Record<string, unknown>>,
): Map<string, unknown> | undefined {
  const columns: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(data)) {
    if (isExpression(value)) return undefined
    columns[propertyOf(serializer, name)] = value
  }
  const instance = buildModel(model, columns)
  externalIds(model)?.fill(instance as Model & Record<string, unknown>)
  return databaseValues(model, instance)
}
