/** What a write answers, read by one statement as `retrieve` does it: with relations and version, as a reader then sees it. */

import { ROW_VERSION } from '../../caching/entity-tags.js'
import type { KeyValues } from '../../fields/object-key.js'
import { exactAt } from '../../models/exact-types.js'
import { readingError } from '../../postgres/database-errors.js'
import { spelling } from '../../queryset/key-rows.js'
import { isSpelledOnce } from '../../queryset/same-keys.js'
import { type JsonText, jsonList } from '../../renderers/json-renderer.js'
import { findRows } from '../../rows/find-rows.js'
import type { RowAccess } from '../../rows/row-access.js'
import { serializerPlan } from '../../serializers/plan.js'
import { actionNamed, takesMany } from '../actions.js'
import type { GenericView } from '../generic-view.js'
import { inputClassOf } from '../input-class.js'
import type { RowAnswer, WritingAction } from '../overrides.js'
import { versionOf } from './concurrency.js'
import { lookupAny, lookupBy } from './read-object.js'
import { answerClass, isRowOf, rowAccess } from './selection.js'

/** How objects are read that were written. */
export interface SavedRows {
  readonly access: RowAccess
  /** No code of the application looks at them before: what is related to them is loaded by this alone. */
  readonly isUnseen: boolean
}

/** Undefined where RETURNING has all that is shown, or where code of the application shows it. */
export function savedRows(view: GenericView): SavedRows | undefined {
  const { resource, action, writing } = view.plan
  const { writes, runs = action } = actionNamed(action) ?? {}
  if (!(writes === 'insert' || writes === 'update') || !resource.lookup.unique) return undefined
  const isList = takesMany(action)
  if (isList && !resource.lookup.columns.every(isSpelledOnce)) return undefined
  const shown = answerClass(view)
  const isUnseen = writing.saved.way === 'unseen'
  const isReturned =
    (isList || resource.versionTerms.length === 0) &&
    resource.stored(runs as WritingAction, inputClassOf(view)).because === null &&
    !(isUnseen && Object.keys(serializerPlan(shown).relations).length > 0)
  const access = isReturned ? undefined : rowAccess(view, action as RowAnswer, { shown })
  return access && { access, isUnseen }
}

/**
 * The object, or the list of them, as it is stored; undefined for something else, and where the view does not show one of them
 * any more or its query needs instances.
 */
export async function readSavedRows(
  view: GenericView,
  access: RowAccess,
  saved: object | readonly object[],
): Promise<JsonText | undefined> {
  const { lookup, versionTerms, model } = view.plan.resource
  const objects = [saved].flat() as readonly object[]
  if (objects.length === 0 || !objects.every((object) => isRowOf(model.model, object))) return undefined
  const keys = objects.map((object) => lookup.columns.map(({ property }) => exactAt(object, property)))
  if (keys.flat().some((value) => value === null || value === undefined)) return undefined
  try {
    if (Array.isArray(saved)) return await readList(view, access, keys)
    const [found] = (await findRows(access, lookupBy(view, keys[0] as unknown[]), versionTerms)) ?? []
    if (found && versionTerms.length > 0) ROW_VERSION.set(view.ctx, versionOf(view, found.texts))
    return found?.text
  } catch (error) {
    throw readingError(error)
  }
}

/** The objects of a list in its order: rows are told by the texts of their keys. */
async function readList(
  view: GenericView,
  access: RowAccess,
  keys: readonly KeyValues[],
): Promise<JsonText | undefined> {
  const { columns } = view.plan.resource.lookup
  const terms = columns.map(({ property }) => ({ property, descending: false }))
  const rows = (await findRows(access, lookupAny(view, keys), terms)) ?? []
  const byKey = new Map(rows.map(({ text, texts }) => [spelling(texts, columns), text.text]))
  const texts = keys.map((key) => byKey.get(spelling(key, columns)))
  return texts.includes(undefined) ? undefined : jsonList(0, texts.length, (index) => texts[index] as string)
}
