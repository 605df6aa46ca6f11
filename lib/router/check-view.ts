/** Checks of a view set before any request, and what must be known of it (promise I23). */

import { externalIds } from '../ids/external-ids.js'
import { checkDeclarations, nameAnonymous, refuseOtherCopy } from '../kernel/declarations.js'
import { ConfigurationError } from '../kernel/errors.js'
import { closeMetering } from '../metering/meter-request.js'
import { checkMetering, isMetered, meteringOf } from '../metering/metering-engine.js'
import type { Queryable } from '../postgres/pg-types.js'
import { actionClass, actionsOf } from '../views/action-options.js'
import { ACTIONS, answers, changesMany } from '../views/actions.js'
import { APIView } from '../views/api-view.js'
import { isBuiltIn } from '../views/built-in.js'
import { checkCallers } from '../views/checks/check-callers.js'
import { checkModelDatabase } from '../views/checks/check-databases.js'
import { checkGeneric, checkLookup, prepareGeneric } from '../views/checks/check-generic.js'
import { checkWrites } from '../views/checks/check-writes.js'
import { checkActions, prepareActions } from '../views/checks/prepare-serializers.js'
import { type GenericAPIView, isGeneric } from '../views/generic-api-view.js'
import { closeStreams } from '../views/mixins/stream-mixin.js'
import { policiesOf } from '../views/policies.js'
import { reachedViewSets } from '../views/related-view-set.js'
import { type NestedViewClass, parentKeyOf } from '../views/request/parent-key.js'
import { resourceOf } from '../views/resource.js'
import { routesOf } from './routes.js'

/** Checks what needs no database. @throws {ConfigurationError} naming class, attribute and fix */
export function checkView(prefix: string, view: unknown, nested: boolean): asserts view is typeof APIView {
  if (typeof view !== 'function' || !(view.prototype instanceof APIView)) {
    refuseOtherCopy(view)
    throw new ConfigurationError(
      `APIRouter: register("${prefix}", …) takes a view set class; extend ViewSet or ModelViewSet`,
    )
  }
  const viewClass = view as typeof APIView
  nameAnonymous(viewClass)
  checkDeclarations(viewClass)
  checkActions(viewClass)
  if (!isGeneric(viewClass)) return
  checkGeneric(viewClass, { needsSerializer: true })
  externalIds(viewClass.modelClass())
  if (nested) checkNested(viewClass)
}

/** A nested view set without a foreign key must narrow its list itself. */
function checkNested(view: typeof GenericAPIView): void {
  const { parentLookupField } = view as NestedViewClass
  if (parentLookupField !== undefined && parentLookupField !== '') return
  if (parentLookupField === undefined && !isBuiltIn(view.prototype, 'getQueryset')) return
  throw new ConfigurationError(
    `${view.name}: is nested, and nothing tells whose its objects are; extend NestedViewSetMixin(…) and set static parentLookupField to the foreign key, or override getQueryset()`,
  )
}

/**
 * One caller is asked about all objects on a path, by what their view sets and those that these name say of rows.
 * @throws {ConfigurationError} their schemes know other users
 */
export function checkPathCallers(view: typeof APIView, parents: readonly (typeof APIView)[]): void {
  for (const parent of parents) {
    const where = `${view.name}: is nested in ${parent.name}`
    checkCallers(where, view, actionClass(parent, 'retrieve'))
    for (const related of isGeneric(parent) ? reachedViewSets(parent) : [])
      checkCallers(`${where}, which asks ${related.name}`, view, actionClass(related, 'list'))
  }
}

/** Checks what the catalogue says of a nested view set: its foreign key. @throws {ConfigurationError} */
export async function prepareNested(view: typeof APIView, parent: typeof APIView): Promise<void> {
  const nested = view as typeof view & NestedViewClass
  const above = parent as typeof GenericAPIView
  const looksUp = isGeneric(parent) && isBuiltIn(parent.prototype, 'getObject')
  const problem = looksUp && (above.model || above.queryset) ? resourceOf(above).lookup.problem : undefined
  if (problem !== undefined)
    throw new ConfigurationError(`${view.name}: cannot be nested in ${parent.name}: ${problem}`)
  if (nested.parentLookupField === undefined) return
  checkParentKey(nested as typeof GenericAPIView & NestedViewClass, above)
  await checkModelDatabase(nested as typeof GenericAPIView, above.modelClass())
}

/** Objects that are created below another belong to it, unless the database alone says whose they are. @throws {ConfigurationError} */
function checkParentKey(view: typeof GenericAPIView & NestedViewClass, parent: typeof GenericAPIView): void {
  const { columns } = parentKeyOf(view, parent.modelClass())
  const creates = ACTIONS.find(
    ({ name, writes, hooks }) =>
      writes === 'insert' && answers(view, name) && hooks.every((hook) => isBuiltIn(view.prototype, hook)),
  )
  if (!creates || !columns.every(({ isComputed }) => isComputed)) return
  throw new ConfigurationError(
    `${view.name}: parentLookupField "${view.parentLookupField}" is computed by the database, which may lead what ${creates.name} makes ` +
      `to any of ${parent.modelClass().tableName}; name it in withoutActions, or override ${creates.hooks.at(-1)}()`,
  )
}

/** Checks what the catalogue says: the serializer's fields, the lookup and the ordering. @throws {ConfigurationError} */
export async function prepareView(view: typeof APIView, knex: Queryable | undefined): Promise<void> {
  if (isMetered(view)) checkMetering(view)
  prepareActions(view)
  if (!isGeneric(view)) return
  await prepareGeneric(view, knex)
  const inBodies = ACTIONS.some(({ name }) => changesMany(name) && answers(view, name))
  for (const { action, statics } of actionsOf(view).values()) {
    if (statics['lookupField'] !== undefined) checkLookup(actionClass(view, action), { inPaths: true, inBodies: false })
  }
  checkLookup(view, { inPaths: routesOf(view).some(({ detail }) => detail), inBodies })
  checkWrites(
    view,
    // a class of one action's statics answers no other
    routesOf(view).flatMap(({ actions }) =>
      Object.values(actions).filter((action) => actionClass(view, action) === view),
    ),
  )
}

/**
 * Gives back what view sets hold between requests. What fails leaves nothing else open.
 * @throws the first error, once all is closed
 */
export async function closeViews(views: readonly (typeof APIView)[]): Promise<void> {
  await all(views.map((view) => () => closeView(view)))
}

async function closeView(view: typeof APIView): Promise<void> {
  try {
    await all([
      ...policiesOf(view).authentication.map((scheme) => () => scheme.close?.()),
      () => isGeneric(view) && resourceOf(view).paginator?.close(),
      () => closeStreams(view),
    ])
  } finally {
    const metering = isMetered(view) ? meteringOf(view) : undefined
    if (metering) await closeMetering(metering.engine)
  }
}

/** Runs all at once, and waits for all, also where one fails. @throws the first error */
async function all(works: readonly (() => unknown)[]): Promise<void> {
  const ended = await Promise.allSettled(works.map(async (work) => work()))
  const failed = ended.find(({ status }) => status === 'rejected')
  if (failed) throw (failed as PromiseRejectedResult).reason
}
