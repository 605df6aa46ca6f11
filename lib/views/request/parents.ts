/**
 * The objects on the path of a nested view set: each must exist, belong to the one before it, and be visible to the caller
 * (promise E11).
 */

import { referenceTo } from '../../fields/object-key.js'
import { PathStart, type Where } from '../../filters/field-path.js'
import { every } from '../../filters/filter.js'
import { isSafeMethod, withMethod } from '../../http/context.js'
import { ConfigurationError, NotFound } from '../../kernel/errors.js'
import { oncePer } from '../../kernel/once-per.js'
import { exactAt } from '../../models/exact-types.js'
import { type Column, keyColumns } from '../../models/model-description.js'
import type { AnyQueryBuilder } from '../../models/objection.js'
import { checkPermissions } from '../../permissions/check-permissions.js'
import { readExactly } from '../../queryset/read-exactly.js'
import type { SqlPart } from '../../queryset/sql-part.js'
import { orderByKey } from '../../queryset/total-order.js'
import { mayAsk } from '../../queryset/visible-fields.js'
import { columnReferences } from '../../queryset/where-keys.js'
import type { ObjectLookup } from '../../rows/find-rows.js'
import type { ForcedValues } from '../../serializers/contract.js'
import { actionNamed, isDetail } from '../actions.js'
import { foundObject, type GenericView } from '../generic-view.js'
import { keyOnPath, lookedUp, lookupOf } from '../steps/read-object.js'
import type { View } from '../view.js'
import { type ParentKey, parentKeyOf } from './parent-key.js'

/**
 * Asks the permissions of all view sets that this one is nested in, the outermost first, as if each object on the path were
 * read: by its action `retrieve`, with GET. What they say of the objects is asked when these are found.
 * @throws PermissionDenied, AuthenticationFailed one refuses
 */
export async function checkParentPermissions(view: View): Promise<void> {
  const parent = openParent(view)
  if (parent.plan.parents.length > 0) await checkParentPermissions(parent)
  await checkPermissions(parent.ctx, parent, parent.plan.policies.permissions)
}

/**
 * Checks the objects on the path, and remembers the parent's key for writes. Where the action's own query says as much,
 * nothing is asked here.
 * @throws NotFound one of them is missing, is not the one before's, or is not visible to the caller
 * @throws PermissionDenied, AuthenticationFailed a parent's object permission refuses
 */
export async function checkParents(view: View): Promise<void> {
  if (view.plan.parent?.isPlain && findsByItself(view as GenericView)) return
  await enter(view, openParent(view), view.ctx.method)
}

/** Checks the objects on the path of a list that turned out empty, unless that was done before. @throws NotFound */
export async function confirmParents(view: GenericView): Promise<void> {
  if (view.parentKey === undefined) await enter(view, openParent(view), view.ctx.method)
}

/**
 * Checks the objects on the path once more, when a row below them has been waited for: they may have gone to somebody else.
 * Where the action's own query says as much, nothing is asked.
 * @throws NotFound, PermissionDenied, AuthenticationFailed as `checkParents()` does
 */
export async function confirmParentsAgain(view: GenericView): Promise<void> {
  const { parentKey } = view
  if (view.plan.parents.length === 0 || parentKey === undefined) return
  await enter(view, openParent(view), view.ctx.method)
  if (!view.parentKey?.every((value, index) => value === parentKey[index])) throw new NotFound()
}

/** True when an empty answer of the action means that the path may lead nowhere, and the action looks after it. */
function findsByItself(view: GenericView): boolean {
  const { action, viewClass, resource } = view.plan
  if (viewClass?.parentLookupField === undefined) return false
  const { overrides, keepsConnections } = resource
  if (overrides.hasPartOf(action)) return false
  if (action === 'list') return !(overrides.has('getList') || keepsConnections || 'streamFormats' in viewClass)
  // its own query finds nothing where the path leads nowhere
  return isDetail(action) && !overrides.writtenLookup
}

/** The condition that a nested view's objects are those of the parent that the path names; undefined where it is none. */
export function parentScope(view: GenericView): Where | undefined {
  const key = keyOf(view)
  if (!key) return undefined
  const { columns, related } = key
  const { visibleFields } = view
  // which objects are below another one tells the value of their foreign key
  const isTold = columns.every(
    ({ property }) => !visibleFields || mayAsk(visibleFields, view.plan.resource.model, [property]),
  )
  if (!isTold && actionNamed(view.plan.action)?.writes !== 'insert') throw new NotFound()
  const known = view.parentKey ?? parentKeyOnPath(view)
  if (known) return (start) => keyIs(start, columns, known)
  const parent = openParent(view)
  const lookup = lookupOf(parent)
  const isDirect = namesOf(lookup.key.columns) === namesOf(related)
  const found = foundRow(parent, lookup, isDirect ? undefined : related)
  if (isDirect) {
    const exists = { sql: `exists ${found.sql}`, bindings: found.bindings }
    return (start) => every([keyIs(start, columns, heldBy(key, lookup.values)), exists])
  }
  const marks = columns.map(() => '??').join(', ')
  const sql = columns.length === 1 ? `${marks} = ${found.sql}` : `(${marks}) in ${found.sql}`
  return ({ table }) => ({
    sql,
    bindings: [...columns.map(({ column }) => `${table}.${column}`), ...found.bindings],
  })
}

/** The foreign key by which the view's objects belong to the one before them on the path; undefined where there is none. */
function keyOf({ plan: { viewClass, parent } }: GenericView): ParentKey | undefined {
  if (!parent || viewClass.parentLookupField === undefined) return undefined
  return parentKeyOf(viewClass, parent.viewClass.modelClass())
}

/**
 * The parent's key by the path alone, where a constraint guarantees that there is a parent. Undefined where one is to be looked at.
 * Writes and querysets of one request ask for it, each several times, and the parent's view is opened for it.
 */
const parentKeyOnPath = oncePer((view: GenericView): readonly unknown[] | undefined => {
  const key = keyOf(view)
  const { parent: plan } = view.plan
  if (!(key?.isKept && plan?.isPlain) || namesOf(plan.resource.lookup.columns) !== namesOf(key.related))
    return undefined
  const parent = openParent(view)
  return parent.scope() ? undefined : heldBy(key, keyOnPath(parent))
})

/**
 * The foreign key that the path alone decides, with its value, for a write that looks at no parent. Undefined where one is to
 * be looked at, or was.
 */
export function forcedOnPath(view: GenericView): ForcedValues | undefined {
  const values = view.parentKey === undefined ? parentKeyOnPath(view) : undefined
  return values && forcedValues(view, values)
}

/** The key of the parent as the columns of the nested objects hold it; null for what they cannot hold. */
function heldBy({ columns, related }: ParentKey, values: readonly unknown[]): readonly unknown[] {
  return columns.map((column, index) => referenceTo(related[index], column, values[index]) ?? null)
}

function keyIs({ table }: PathStart, columns: readonly Column[], values: readonly unknown[]): SqlPart {
  return {
    sql: columns.map(() => '?? = ?').join(' and '),
    bindings: columns.flatMap(({ column }, index) => [`${table}.${column}`, values[index]]),
  }
}

/** The row that a path names, as a query in parentheses, with the columns that are asked for. */
function foundRow(parent: GenericView, lookup: ObjectLookup, asked: readonly Column[] | undefined): SqlPart {
  const { key, values } = lookup
  if (!parent.plan.isPlain) {
    const query = lookup.query()
    return {
      sql: '?',
      bindings: [asked ? first(key, query.clearSelect().select(columnReferences(query, asked))) : query],
    }
  }
  const { model } = parent.plan.resource
  const start = new PathStart(model.model.tableName)
  const scope = parent.scope()
  const conditions = every([...(scope ? [scope(start)] : []), keyIs(start, key.columns, values)])
  const names = (of: readonly Column[]) => of.map(({ column }) => `${start.table}.${column}`)
  const shown = names(asked ?? [])
  const order = asked && !key.unique ? names(keyColumns(model)) : []
  const last = order.length === 0 ? '' : ` order by ${order.map(() => '??').join(', ')} limit 1`
  return {
    sql: `(select ${shown.map(() => '??').join(', ') || '1'} from ?? where ${conditions.sql}${last})`,
    bindings: [...shown, start.table, ...conditions.bindings, ...order],
  }
}

function namesOf(columns: readonly Column[]): string {
  return columns.map(({ column }) => column).join()
}

/** A name that is unique only among the objects of one parent may be found more than once where there is no parent. */
function first({ unique }: ObjectLookup['key'], query: AnyQueryBuilder): AnyQueryBuilder {
  return unique ? query : orderByKey(query).limit(1)
}

/** The foreign key that the path decides, with its value, but for what the database computes; undefined for a view that is not nested. */
export function forcedValues(
  view: GenericView,
  key: readonly unknown[] = view.parentKey ?? [],
): ForcedValues | undefined {
  const { parent } = view.plan
  const columns = keyOf(view)?.columns
  if (!parent || !columns) return undefined
  const values = columns.flatMap(({ property, isComputed }, index) =>
    isComputed ? [] : [[property, key[index]] as const],
  )
  return Object.assign(new Map<string, unknown>(values), { parent: parent.viewClass.modelClass() })
}

/** The view of the object that this one's belong to, as if its own path had been read. */
function openParent(view: View): GenericView {
  const link = view.plan.parents.at(-1)
  const plan = view.plan.parent
  if (!(link && plan)) throw new Error('Not a nested view')
  const { lookupUrlKwarg, lookupField } = link.view
  const params = view.ctx['params'] as Record<string, string>
  const ctx = withMethod(view.ctx, 'GET')
  ctx['params'] = { ...params, [lookupUrlKwarg ?? lookupField]: params[link.param] }
  const parent = plan.viewClass.open(ctx, plan) as GenericView
  parent.knex = view.knex
  parent.trx = view.trx
  return parent
}

/** Finds the parent of a view, after those before it, and remembers its key. The method is that of the request itself. */
async function enter(view: View, parent: GenericView, method: string): Promise<void> {
  const outer = parent.plan.parents.length > 0 ? openParent(parent) : undefined
  // else its own query says so, which is narrowed to the objects that belong to that one
  if (outer && !(outer.plan.isPlain && parent.plan.viewClass.parentLookupField !== undefined))
    await enter(parent, outer, method)
  const nested = view.plan.resource?.view
  const model = parent.plan.viewClass.modelClass()
  const key = nested?.parentLookupField === undefined ? undefined : parentKeyOf(nested, model)
  const related = key?.related
  const object = await find(parent, related)
  // who may only read an object writes nothing below it
  if (!isSafeMethod(method) && parent.plan.resource.needsObject) {
    // those that say nothing of objects were asked of the request, as one that reads
    const guard = { ctx: withMethod(parent.ctx, method), plan: parent.plan.objectGuard }
    await Object.assign(parent, guard).checkObjectPermissions(object)
  }
  const values = (related ?? []).map(({ property }) => {
    const value = exactAt(object, property)
    if (value === undefined) {
      throw new ConfigurationError(
        `${parent.plan.viewClass.name}: its queryset leaves out "${property}", by which objects of ${nested?.name} belong to it; select it`,
      )
    }
    // nothing belongs to an object without a key
    if (value === null) throw new NotFound()
    return value
  })
  view.parentKey = key ? heldBy(key, values) : values
}

async function find(parent: GenericView, related: readonly Column[] | undefined): Promise<object> {
  if (parent.plan.resource.overrides.has('getObject')) return foundObject(parent)
  const lookup = lookupOf(parent)
  const query = lookup.query()
  if (!query.hasSelects() && parent.plan.isPlain) {
    void query.select(columnReferences(query, related ?? lookup.key.columns))
  }
  const [object] = (await lookedUp(Promise.resolve(readExactly(first(lookup.key, query))))) as object[]
  if (!object) throw new NotFound()
  if (parent.plan.resource.needsObject) {
    await parent.loadRelated([object])
    await parent.checkObjectPermissions(object)
  }
  return object
}
