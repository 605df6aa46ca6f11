/** The statuses of errors that an operation may answer with (wire format, sections 4 and 13). */

import { isSafeMethod } from '../http/context.js'
import { describeModel } from '../models/describe-model.js'
import { mayKeep } from '../models/model-traits.js'
import type { ModelClass } from '../models/objection.js'
import { exposesTriggers } from '../postgres/failed-statement.js'
import { sendsEvents } from '../renderers/event-stream-renderer.js'
import type { SerializerClass } from '../serializers/contract.js'
import { isRelatedCount } from '../serializers/count-field.js'
import { NestedSerializer } from '../serializers/nested-serializer.js'
import { serializerPlan } from '../serializers/plan.js'
import { expandedBy } from '../serializers/select-fields.js'
import { actionClass } from '../views/action-options.js'
import { actionNamed, changesMany, changesObject, namesNoObject, showsFigures } from '../views/actions.js'
import type { Operation } from '../views/endpoint.js'
import { GenericAPIView } from '../views/generic-api-view.js'
import { hasModel } from '../views/generic-view-class.js'
import { streamedFormats } from '../views/mixins/stream-mixin.js'
import { policiesOf } from '../views/policies.js'
import { reachedViewSets } from '../views/related-view-set.js'
import { deletedParameters } from '../views/request/ask-deleted.js'
import { resourceOf } from '../views/resource.js'
import { selectionParameters } from '../views/steps/selection.js'
import { pageDescription } from './aggregate-schema.js'
import { permissionsOfParents } from './security.js'
import type { DescribedOperation } from './subject.js'
import type { Parameter } from './types.js'

/** The statuses of errors that the operation may answer with. */
export function statusesOf(
  subject: DescribedOperation,
  hasBody: boolean,
  parameters: readonly Parameter[],
): ReadonlySet<number> {
  const { endpoint, operation, view, serializer } = subject
  const { policies } = view
  const { authentication, permissions, throttles, versioning, strictAccept } = policies
  const statuses = new Set([503])
  if (hasBody || isQueryChecked(subject, parameters)) statuses.add(400)
  if (parameters.some(({ name }) => name === 'Prefer')) statuses.add(400)
  // what a trigger refuses by `RAISE EXCEPTION`
  if (!isSafeMethod(operation.method) && exposesTriggers(view)) statuses.add(400)
  if (authentication.length + permissions.length > 0) statuses.add(401).add(403)
  if (endpoint.detail || endpoint.parents.length > 0) statuses.add(404)
  // the path with a suffix that only its other methods write
  const written = policies.renderers.map(({ format }) => format)
  if ([...endpoint.formats].some((format) => !written.includes(format))) statuses.add(404)
  if (hasBody) statuses.add(413).add(415)
  if (operation.method === 'DELETE' || mayConflict(subject)) statuses.add(409)
  // a test that fails, and what leads nowhere
  if (operation.method === 'PATCH' && policies.parsers.some(({ patch }) => patch === 'operations')) statuses.add(409)
  // an object that the database keeps, or that is gone by now
  const isOfMany = changesMany(operation.action)
  if (isOfMany) statuses.add(404)
  if (isConditional(subject) || isOfMany) statuses.add(412)
  // what the role of the caller may not do
  if (view.plan.database) statuses.add(401).add(403)
  // a schema that is none
  if (view.plan.database?.settings.some((one) => typeof one === 'function' || 'search_path' in one)) statuses.add(404)
  // the key is malformed, nobody's, being used, or of another request
  if (policies.idempotency && !isSafeMethod(operation.method)) statuses.add(400).add(401).add(409).add(422)
  if (permissionsOfParents(view.plan).length > 0) statuses.add(401).add(403)
  if (throttles.length > 0 || sendsEvents(policies.renderers)) statuses.add(429)
  if (strictAccept) statuses.add(406)
  for (const scheme of authentication) for (const status of scheme.statuses ?? []) statuses.add(status)
  for (const status of versioning?.statuses() ?? []) statuses.add(status)
  if (!(view instanceof GenericAPIView)) return statuses
  const { viewClass } = view
  if (hasModel(viewClass) && refuses(viewClass, operation.action)) statuses.add(403)
  if (mayRefuseRows(view, operation.action) || refusesRelated(subject)) statuses.add(403)
  if (sendsEvents(policies.renderers) && view.plan.limitsFields) statuses.add(404)
  if (needsUser(viewClass, serializer)) statuses.add(401)
  if (isConditional(subject) && viewClass.requireIfMatch) statuses.add(428)
  if (operation.action === 'retrieve' && viewClass.concurrency !== null) statuses.add(412)
  for (const status of pageDescription(subject)?.statuses ?? []) statuses.add(status)
  if (operation.action === 'list' && streamedFormats(viewClass).length > 0) statuses.add(429)
  // those who may see deleted objects
  if (hasModel(viewClass) && deletedParameters(viewClass, operation.action).length > 0) statuses.add(401).add(403)
  // those who may see related objects
  if (operation.action === 'list' || countsRelated(view, serializer)) {
    const asked = [...reachedViewSets(viewClass)].map((related) => policiesOf(actionClass(related, 'list')))
    if (asked.some((related) => related.permissions.length > 0)) statuses.add(401).add(403)
  }
  return statuses
}

/** True where a client may ask for the number of related objects. */
function countsRelated(view: GenericAPIView, serializer: SerializerClass | undefined): boolean {
  const counts = Object.values(view.viewClass.expandable).some(isRelatedCount)
  return counts && selectionParameters(view, serializer).length > 0
}

/** True where ids are written that only users have. */
function needsUser(view: typeof GenericAPIView, serializer: SerializerClass | undefined): boolean {
  return (
    showsIdsOfUsers(view, serializer) ||
    Object.values(view.expandable).some((expansion) => {
      const shown = expandedBy(expansion)
      return shown !== undefined && serializerPlan(shown).needsUser
    })
  )
}

function showsIdsOfUsers(view: typeof GenericAPIView, serializer: SerializerClass | undefined): boolean {
  const resource = resourceOf(view)
  return serializer ? resource.needsUser(serializer, serializer) : resource.namesPerUser
}

/** True where only users have the ids that the answer shows: it is refused before anything is done. */
export function refusesAnonymous({ operation, view, serializer }: DescribedOperation): boolean {
  return (
    namesNoObject(operation.action) && view instanceof GenericAPIView && showsIdsOfUsers(view.viewClass, serializer)
  )
}

/** True where a parameter of the query may be wrong. The names of `fields` and `expand` are, only where all are checked. */
function isQueryChecked({ operation, view }: DescribedOperation, parameters: readonly Parameter[]): boolean {
  if (!(view instanceof GenericAPIView)) return false
  // an action of the application's own may filter by those that it declares
  const isRead = operation.action === 'list' || showsFigures(operation.action) || isOwn(operation)
  if (!isRead && !view.viewClass.strictParams) return false
  return parameters.some((parameter) => parameter.in === 'query')
}

/**
 * An update of nested objects meets those that another request has moved; a key that is changed, or computed of what is,
 * those that refer to it; an overridden `getObject()` may choose others while one is waited for.
 */
function mayConflict({ taking, operation, view }: DescribedOperation): boolean {
  if (!taking || actionNamed(operation.action)?.writes !== 'update') return false
  if (view instanceof GenericAPIView && view.plan.resource.overrides.has('getObject')) return true
  const { model, writable } = serializerPlan(taking)
  const referenced: ReadonlySet<string | undefined> = model?.referenced ?? new Set()
  return (
    writable.some(({ field, column }) => field instanceof NestedSerializer || referenced.has(column?.property)) ||
    [...(model?.columns.values() ?? [])].some(({ property, isComputed }) => isComputed && referenced.has(property))
  )
}

/**
 * True of what `If-Match` may make conditional: what changes an object as it comes, and each action of an object that
 * writes, since `getObjectToWrite()` is what such an action reads it by. Whether it does, only its code knows.
 */
export function isConditional({ endpoint, operation, view }: DescribedOperation): boolean {
  if (!isOwn(operation)) return endpoint.kind === 'resource' && changesObject(operation.action)
  return endpoint.detail && !isSafeMethod(operation.method) && view instanceof GenericAPIView
}

/** True for an action of the application's own. */
function isOwn({ action }: Operation): boolean {
  return actionNamed(action) === undefined
}

/** True where a policy of the table, or a trigger or a rule in place of a deletion, or of its mark, may keep a row from its caller. */
function refuses(viewClass: typeof GenericAPIView, action: string | undefined): boolean {
  const model = describeModel(viewClass.modelClass())
  const { writes, path } = actionNamed(action ?? '') ?? {}
  if (model.secured || (writes !== 'delete' && path !== 'restore')) return model.secured
  return mayKeep(model, viewClass.softDelete !== null && path !== 'purge' ? 'update' : 'delete')
}

/** True where a policy of another table may keep a row from its caller that is written with the object. */
function refusesRelated({ taking, operation }: DescribedOperation): boolean {
  const { writes } = actionNamed(operation.action) ?? {}
  return taking !== undefined && (writes === 'insert' || writes === 'update') && writesSecured(taking)
}

function writesSecured(serializer: SerializerClass, around: readonly SerializerClass[] = []): boolean {
  if (around.includes(serializer)) return false
  const isSecured = (model: ModelClass | undefined) => model !== undefined && describeModel(model).secured
  return serializerPlan(serializer).writable.some(({ field, relation, input }) => {
    if (!relation || input === 'value') return false
    if (isSecured(relation.through?.model)) return true
    return (
      field instanceof NestedSerializer &&
      (isSecured(relation.model) || writesSecured(field.serializerClass, [...around, serializer]))
    )
  })
}

/** True for a write of rows that rules, or the view's own queryset, must allow. */
function mayRefuseRows({ plan, viewClass }: GenericAPIView, action: string): boolean {
  const { writes } = actionNamed(action) ?? {}
  if (writes === undefined || !hasModel(viewClass)) return false
  return writes === 'delete' ? plan.limitsRows : plan.refusesRows
}
