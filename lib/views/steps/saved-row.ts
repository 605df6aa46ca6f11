/** What an update answers, read by the statement of `retrieve`: with its relations and its version, as a reader then sees it. */

import { exactAt } from '../../models/exact-types.js'
import { readingError } from '../../postgres/database-errors.js'
import type { JsonText } from '../../renderers/json-renderer.js'
import { findRow } from '../../rows/find-row.js'
import type { RowAccess } from '../../rows/row-access.js'
import { serializerPlan } from '../../serializers/plan.js'
import type { GenericView } from '../generic-view.js'
import { versionOf } from './concurrency.js'
import { lookupBy } from './read-object.js'
import { answerClass, isRowOf, rowAccess } from './selection.js'
import { writesUnseen } from './unseen-writes.js'

/** How an object is read that an update has changed. */
export interface SavedRows {
  readonly access: RowAccess
  /** No code of the application sees the object before: what is related to it is loaded by this alone. */
  readonly isUnseen: boolean
}

/** Undefined where the UPDATE itself returns all that is shown, or where code of the application shows it. */
export function savedRows(view: GenericView): SavedRows | undefined {
  const { resource, action } = view
  if ((action !== 'update' && action !== 'partialUpdate') || !resource.lookup.unique) return undefined
  const shown = answerClass(view)
  const isUnseen = writesUnseen(view)
  const isReturned =
    resource.versionTerms.length === 0 &&
    resource.stored('update', shown).because === null &&
    !(isUnseen && Object.keys(serializerPlan(shown).relations).length > 0)
  const access = isReturned ? undefined : rowAccess(view, action, { shown })
  return access && { access, isUnseen }
}

/** The object as it is stored; undefined for something else, and where the view does not show it any more or its query needs instances. */
export async function readSavedRow(
  view: GenericView,
  access: RowAccess,
  object: object,
): Promise<JsonText | undefined> {
  const { lookup, versionTerms, model } = view.resource
  if (!isRowOf(model.model, object)) return undefined
  const values = lookup.columns.map(({ property }) => exactAt(object, property))
  if (values.some((value) => value === null || value === undefined)) return undefined
  const found = await findRow(access, lookupBy(view, values), versionTerms).catch((error: unknown) => {
    throw readingError(error)
  })
  if (found && versionTerms.length > 0) view.rowVersion = versionOf(view, found.texts)
  return found?.text
}
