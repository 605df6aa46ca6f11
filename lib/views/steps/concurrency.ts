/** Optimistic concurrency: versions of rows, and the conditions a write may come with (RFC 9110 section 13; RFC 6585 section 3). */

import type { Knex } from 'knex'
import {
  contentDigest,
  matchesRow,
  namesRowVersion,
  ROW_VERSION,
  rowDigest,
  weakTag,
} from '../../caching/cache-response.js'
import { compositeKey } from '../../fields/composite-key.js'
import { matchesWeakly } from '../../http/entity-tags.js'
import { ApiError } from '../../kernel/errors.js'
import { getSecretKey } from '../../kernel/settings.js'
import { mac } from '../../kernel/signing.js'
import { describeModel } from '../../models/describe-model.js'
import { exactValues } from '../../models/exact-types.js'
import { type Column, keyColumns } from '../../models/model-description.js'
import { nativeSql } from '../../postgres/pg-types.js'
import { type RawRow, runStatement, statementOf } from '../../postgres/run-statement.js'
import { positionColumn } from '../../queryset/keyset.js'
import { toldOf } from '../../queryset/row-answers.js'
import type { OrderTerm } from '../../queryset/total-order.js'
import type { ObjectLookup } from '../../rows/find-rows.js'
import { foundObject, type GenericView, knexOf } from '../generic-view.js'
import { encloseObject } from '../request/enclose.js'
import { rendererOf } from '../request/respond.js'
import { representFound } from './represent.js'

/** Separates the parts of an external id. */
const SEPARATOR = /[._~]/
/** As many as a version has. */
const SEALED_BYTES = 8

/** Notes the version of the row that the answer is about. */
export function noteVersion(view: GenericView, texts: readonly (string | null)[]): void {
  ROW_VERSION.set(view.ctx, versionOf(view, texts))
}

/** The version of a row, from the strings of its `versionTerms`; undefined without `concurrency`. */
function versionOf(view: GenericView, texts: readonly (string | null)[]): string | undefined {
  const {
    plan: { viewClass, resource },
    ctx,
  } = view
  if (viewClass.concurrency === null) return undefined
  const model = viewClass.modelClass()
  const { length } = resource.versionKey
  const key = texts.slice(0, length).map(String)
  const parts = (length > 1 && compositeKey(model)?.parts) || [resource]
  for (const [index, { ids }] of parts.entries()) {
    if (!ids?.conceal) continue
    // who knows all else of the row could find a hidden key by trying; the number in an id is known anyway
    const [number = ''] = ids.encode(key[index] as string, { user: ctx.state['user'], ctx }).split(SEPARATOR, 1)
    key[index] = number
  }
  const version = rowDigest(model.tableName, key, texts.slice(length))
  return view.asked.hidesVersion ? mac(getSecretKey(), 'version/v1', [version], SEALED_BYTES).toString('hex') : version
}

/**
 * Reads the version of the row that the path names, before the object itself is read: what is shown is then never older
 * than the tag it is shown under.
 */
export async function readVersionOf(view: GenericView, { key, values }: ObjectLookup): Promise<void> {
  if (view.plan.viewClass.concurrency === null || !key.unique) return
  ROW_VERSION.set(view.ctx, await readVersion(view, key.columns, values))
}

/** The object, its version known. */
export async function getVersionedObject(view: GenericView): Promise<object> {
  const object = await foundObject(view)
  if (view.plan.viewClass.concurrency === null || ROW_VERSION.get(view.ctx) !== undefined) return object
  // a getObject() of the application's has read it: once more, so that it is not older than its version
  await readNewVersion(view, object)
  return foundObject(view)
}

/** Refuses a request for another version than the one there is (RFC 9110 section 13.1.1). @throws ApiError 412 */
export function checkIfMatch(view: GenericView): void {
  const match = view.ctx.headers['if-match']
  if (match !== undefined && !matchesRow(match, ROW_VERSION.get(view.ctx)))
    throw new ApiError(412, 'Precondition failed')
}

/**
 * Refuses a write whose conditions do not hold for the object as it is.
 * @throws ApiError 412 a condition fails, 428 `If-Match` is required and missing
 */
export async function checkConditions(view: GenericView, object: object): Promise<void> {
  const { 'if-match': match, 'if-none-match': noneMatch } = view.ctx.headers
  checkIfMatch(view)
  if (match === undefined && view.plan.viewClass.requireIfMatch) throw new ApiError(428, 'Precondition required')
  if (noneMatch !== undefined && (await isNamed(view, noneMatch, object)))
    throw new ApiError(412, 'Precondition failed')
}

/** Reads the version of an object that was written, unless the UPDATE has told it; no other transaction can have changed it since. */
export async function readNewVersion(view: GenericView, object: unknown): Promise<void> {
  if (view.plan.viewClass.concurrency === null || typeof object !== 'object' || object === null) return
  const { texts } = toldOf(object) ?? {}
  if (texts?.length) {
    noteVersion(view, texts)
    return
  }
  const description = describeModel(view.plan.viewClass.modelClass())
  const key = keyColumns(description)
  const values = exactValues(object, key)
  if (key.length < description.primaryKey.length || values.includes(undefined)) return
  ROW_VERSION.set(view.ctx, await readVersion(view, key, values))
}

async function readVersion(
  view: GenericView,
  key: readonly Column[],
  values: readonly unknown[],
): Promise<string | undefined> {
  const [row] = await runRows(view, versionRow(view, key, values))
  return row && versionOf(view, row)
}

/** A query of the version of a row, by its key. */
export function versionRow(view: GenericView, key: readonly Column[], values: readonly unknown[]): Knex.QueryBuilder {
  const rows = tableQuery(view, view.plan.resource.versionTerms, key[0] as Column)
  for (const [index, { column }] of key.entries()) void rows.where(column, values[index] as string)
  return rows
}

/** A query of the view's table by itself, whatever the model and the view add to theirs. */
export function tableQuery(view: GenericView, terms: readonly OrderTerm[], column: Column): Knex.QueryBuilder {
  const model = view.plan.viewClass.modelClass()
  const { columns } = describeModel(model)
  const knex = knexOf(view)
  const rows = knex(model.tableName)
  for (const { property } of terms) {
    const term = columns.get(property) as Column
    const { sql, bindings } = positionColumn(term, term.column)
    void rows.select(knex.raw(sql, bindings as never))
  }
  return terms.length === 0 ? rows.select(column.column) : rows
}

/** The rows of such a query, as strings. */
export function runRows(view: GenericView, rows: Knex.QueryBuilder): Promise<RawRow[]> {
  const { text, values } = nativeSql(rows)
  return runStatement(knexOf(view), statementOf(text), values)
}

/** Whether `If-None-Match` names the object as it is: by its version, or by the content that the request would be shown. */
async function isNamed(view: GenericView, field: string, object: object): Promise<boolean> {
  if (namesRowVersion(field, ROW_VERSION.get(view.ctx))) return true
  const shown = encloseObject(view, await representFound(view, object))
  return matchesWeakly(field, weakTag(contentDigest(rendererOf(view).render(shown, {}))))
}
