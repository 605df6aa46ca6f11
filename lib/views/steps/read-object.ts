/** Finds the object that a path names, and answers with it. */

import { ROW_VERSION } from '../../caching/cache-response.js'
import type { KeyValues } from '../../fields/object-key.js'
import { PathStart } from '../../filters/field-path.js'
import { ApiError, ConfigurationError, NotFound, ValidationError } from '../../kernel/errors.js'
import { didYouMean } from '../../kernel/near-miss.js'
import type { AnyQueryBuilder } from '../../models/objection.js'
import { readingError, toApiError } from '../../postgres/database-errors.js'
import { type ConditionKey, conditionKey, WHOLE_TABLE } from '../../queryset/condition-key.js'
import { copyOf, queryKey } from '../../queryset/query-key.js'
import { whereAnyKey, whereKey } from '../../queryset/where-keys.js'
import { findRows, type ObjectLookup } from '../../rows/find-rows.js'
import type { GenericView } from '../generic-view.js'
import { requireOwner } from '../request/require-user.js'
import { checkIfMatch, getVersionedObject, noteVersion } from './concurrency.js'
import { openRows } from './open-rows.js'
import { representFound } from './represent.js'
import { visibleQuery } from './visible-query.js'

/** The body of a detail answer. @throws NotFound there is no such object, or not for this caller */
export async function readDetail(view: GenericView): Promise<unknown> {
  const { resource } = view.plan
  if (resource.namesPerUser && !resource.overrides.has('getObject')) requireOwner(view)
  const rows = openRows(view, 'retrieve')
  if (!rows) return readInstance(view)
  const all = await lookedUp(findRows(rows, lookupOf(view), resource.versionTerms))
  if (all === null) return readInstance(view)
  const [found] = all
  if (found === undefined) throw new NotFound()
  if (resource.versionTerms.length > 0) {
    noteVersion(view, found.texts)
    checkIfMatch(view)
  }
  return found.text
}

async function readInstance(view: GenericView): Promise<unknown> {
  const object = await getVersionedObject(view)
  if (ROW_VERSION.get(view.ctx) !== undefined) checkIfMatch(view)
  return representFound(view, object)
}

/**
 * Looks up what the path names.
 * @throws NotFound PostgreSQL cannot read the key as a value of its column
 * @throws Error it can, so that the bad value is one that SQL of the application has made
 */
export function lookedUp<Found>(found: Promise<Found>): Promise<Found> {
  return found.catch((error: unknown) => {
    if (error instanceof ApiError) throw error
    if (toApiError(error) instanceof ValidationError) throw new NotFound(undefined, { cause: error })
    throw readingError(error)
  })
}

/** The key that the path names an object by. @throws NotFound when no row can have it */
export function keyOnPath(view: GenericView): KeyValues {
  const { ctx } = view
  const { viewClass } = view.plan
  const kwarg = viewClass.lookupUrlKwarg ?? viewClass.lookupField
  const params = (ctx['params'] ?? {}) as Record<string, string>
  const text = params[kwarg]
  if (text === undefined) {
    const fix = didYouMean(kwarg, Object.keys(params)) || '; set static lookupUrlKwarg'
    throw new ConfigurationError(`${viewClass.name}: the path has no parameter "${kwarg}"${fix}`)
  }
  const values = view.plan.resource.lookup.fromText(text, { user: ctx.state['user'], ctx })
  if (values === undefined || !view.asked.namesObjects) throw new NotFound()
  return values
}

/** What the path names: the key, its values, and a query for it. @throws NotFound when no row can have them */
export function lookupOf(view: GenericView): ObjectLookup {
  return lookupBy(view, keyOnPath(view))
}

/** How the object of the view is looked up that has these values as its key. */
export function lookupBy(view: GenericView, values: KeyValues): ObjectLookup {
  const { lookup: key } = view.plan.resource
  const source = visibleObjects(view)
  return {
    key,
    values,
    scope: source.scope,
    query: (isMarked) => whereKey(source.query(isMarked), key.columns, values),
  }
}

/** How the objects of the view are looked up that have one of these keys, by one list for each column. */
export function lookupAny(view: GenericView, keys: readonly KeyValues[]): ObjectLookup {
  const { columns, name } = view.plan.resource.lookup
  const isTyped = columns.length === 1 || columns.every(({ sqlType }) => sqlType !== undefined)
  const source = visibleObjects(view)
  return {
    key: { columns, name: `${name}[]`, unique: true },
    values: columns.map((_, index) => keys.map((values) => values[index])),
    scope: (knex) => (isTyped ? source.scope(knex) : undefined),
    query: (isMarked) => whereAnyKey(source.query(isMarked), columns, keys),
  }
}

/** All objects of the request: the conditions on them, where these are known without building a query, and a fresh query. */
function visibleObjects(view: GenericView): Pick<ObjectLookup, 'scope' | 'query'> {
  const { isWholeTable, lookup, model } = view.plan.resource
  if (isWholeTable) return { scope: () => wholeScope(view), query: () => visibleQuery(view) }
  let known: AnyQueryBuilder | undefined
  return {
    scope(knex) {
      known = visibleQuery(view)
      // of one object there is no order
      if (lookup.unique) void known.clearOrder()
      return known.has(/^orderBy/) ? undefined : queryKey(known, model.model, knex)
    },
    query: (isMarked) => (known ? copyOf(known, isMarked) : visibleQuery(view)),
  }
}

function wholeScope(view: GenericView): ConditionKey | undefined {
  const scope = view.scope()
  return scope ? conditionKey([scope(new PathStart(view.plan.resource.model.model.tableName))]) : WHOLE_TABLE
}
