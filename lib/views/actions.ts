/**
 * The actions that come with the package: one row says all that the package knows of each. Sets of actions are asked of this table,
 * and sets of methods of `kernel/methods.ts`; what a single class or route answers is declared where it stands, by name.
 */

import { mayBeUndefined } from '../kernel/declarations.js'
import { type ActionMethod, ALL_METHODS } from '../kernel/methods.js'
import { oncePer } from '../kernel/once-per.js'
import { resolvePolicies } from '../kernel/policy.js'

/** Which method of a view answers which HTTP method, in lower case: `{ get: 'list', post: 'create' }`. */
export type ActionMap = Readonly<Record<string, string>>

/** What an action does; an application's own actions have no row. */
export interface Action {
  /** The name of the view's method. */
  readonly name: string
  /** The HTTP method that it answers, in lower case. */
  readonly method: ActionMethod
  /** Which of the paths of a resource it answers on: its list, one object, its bulk path, or one of its own. */
  readonly path: 'list' | 'detail' | 'bulk' | 'aggregate' | 'facets' | 'restore' | 'purge'
  /** What its answer shows: objects, what is computed of all of them, or nothing. */
  readonly shows: 'object' | 'list' | 'figures' | 'nothing'
  /** What it does to rows; undefined for one that only reads. */
  readonly writes: 'insert' | 'update' | 'delete' | undefined
  /** The methods of the view that an application may write by in its own way; the one of a single object last. */
  readonly hooks: readonly string[]
  /** The static, or the option of one, without which there is no such action, however many methods answer it. */
  readonly needs?: 'aggregates' | 'facets' | 'softDelete.permissionClasses' | 'softDelete.purgePermissionClasses'
  /** The action whose method it runs, by another HTTP method. */
  readonly runs?: string
  /** The method of the view that makes its answer, besides the action itself. */
  readonly answers?: string
  /** It also answers QUERY, where the view set says so: the body says what the URL of a GET would. */
  readonly takesQuery?: true
  /** The method of the serializer that writes. */
  readonly serializerMethod: 'create' | 'update' | undefined
}

const reading = { writes: undefined, hooks: [], serializerMethod: undefined } as const
const inserting = { writes: 'insert', serializerMethod: 'create' } as const
const updating = { writes: 'update', serializerMethod: 'update' } as const
const deleting = { writes: 'delete', serializerMethod: undefined } as const

const TABLE = [
  { name: 'list', method: 'get', path: 'list', shows: 'list', ...reading, answers: 'getList', takesQuery: true },
  { name: 'create', method: 'post', path: 'list', shows: 'object', ...inserting, hooks: ['performCreate'] },
  {
    name: 'aggregate',
    method: 'get',
    path: 'aggregate',
    shows: 'figures',
    ...reading,
    needs: 'aggregates',
    takesQuery: true,
  },
  { name: 'facets', method: 'get', path: 'facets', shows: 'figures', ...reading, needs: 'facets', takesQuery: true },
  {
    name: 'bulkCreate',
    method: 'post',
    path: 'bulk',
    shows: 'list',
    ...inserting,
    hooks: ['performBulkCreate', 'performCreate'],
  },
  {
    name: 'bulkUpdate',
    method: 'patch',
    path: 'bulk',
    shows: 'list',
    ...updating,
    hooks: ['performBulkUpdate', 'performUpdate'],
  },
  {
    name: 'bulkDestroy',
    method: 'delete',
    path: 'bulk',
    shows: 'nothing',
    ...deleting,
    hooks: ['performBulkDestroy', 'performDestroy'],
  },
  { name: 'retrieve', method: 'get', path: 'detail', shows: 'object', ...reading, answers: 'getDetail' },
  { name: 'update', method: 'put', path: 'detail', shows: 'object', ...updating, hooks: ['performUpdate'] },
  {
    name: 'partialUpdate',
    method: 'patch',
    path: 'detail',
    shows: 'object',
    ...updating,
    hooks: ['performUpdate'],
    runs: 'update',
  },
  { name: 'destroy', method: 'delete', path: 'detail', shows: 'nothing', ...deleting, hooks: ['performDestroy'] },
  {
    name: 'restoreDeleted',
    method: 'post',
    path: 'restore',
    shows: 'object',
    writes: 'update',
    serializerMethod: undefined,
    hooks: ['performRestore'],
    needs: 'softDelete.permissionClasses',
  },
  {
    name: 'purgeDeleted',
    method: 'delete',
    path: 'purge',
    shows: 'nothing',
    ...deleting,
    hooks: ['performPurge'],
    needs: 'softDelete.purgePermissionClasses',
  },
] as const satisfies readonly Action[]

/** The name of an action that comes with the package. */
export type StandardAction = (typeof TABLE)[number]['name']

/** The actions of the package, in the order in which they are routed. */
export const ACTIONS: readonly Action[] = TABLE

/** The paths of one object. */
const OF_ONE: ReadonlySet<Action['path'] | undefined> = new Set(['detail', 'restore', 'purge'] as const)
/** The paths whose bodies are lists. */
const OF_MANY: ReadonlySet<Action['path'] | undefined> = new Set(['bulk'] as const)

const byName: ReadonlyMap<string, Action> = new Map(ACTIONS.map((action) => [action.name, action]))

/** The row of an action; undefined for one of the application's own. */
export function actionNamed(name: string): Action | undefined {
  return byName.get(name)
}

/** The actions of a path of a resource by HTTP method: `{ get: 'list', post: 'create' }`. */
export function actionsOn(path: Action['path']): ActionMap {
  return Object.fromEntries(ACTIONS.filter((action) => action.path === path).map(({ method, name }) => [method, name]))
}

/** True for an action of the package that answers QUERY by what its body says. */
export function takesQuery(name: string): boolean {
  return byName.get(name)?.takesQuery === true
}

/** With QUERY for what GET answers, where that takes it. */
export function withQuery(actions: ActionMap): ActionMap {
  const { get } = actions
  return get !== undefined && takesQuery(get) ? { query: get, ...actions } : actions
}

/** True for an action about one object, which the path names. */
export function isDetail(name: string): boolean {
  return OF_ONE.has(byName.get(name)?.path)
}

/** True for an action that shows what is computed of all objects of a list. */
export function showsFigures(name: string): boolean {
  return byName.get(name)?.shows === 'figures'
}

mayBeUndefined(ACTIONS.map(({ name }) => name))

/** A class whose actions are routed. */
export interface ActingClass {
  readonly prototype: object
  readonly withoutActions?: readonly StandardAction[]
}

/** True for an action of the package that a class answers: it has the method, declares what that needs, and does not leave it out. */
export function answers(view: ActingClass, action: string): boolean {
  if (view.withoutActions?.includes(action as StandardAction)) return false
  const isMethod = (owner: object) => typeof (owner as Readonly<Record<string, unknown>>)[action] === 'function'
  return isMethod(view.prototype) && isMethod(sampleOf(view)) && isDeclared(view, action)
}

/** An instance as every request gets one, with the fields that the application gives it. */
export const sampleOf = oncePer((view: ActingClass): object => {
  try {
    return new (view as unknown as new () => object)()
  } catch {
    // a request is told what its constructor has against it
    return view.prototype
  }
})

/** False for an action that a class declares nothing for. */
function isDeclared(view: object, action: string): boolean {
  if (byName.get(action)?.needs === undefined) return true
  const declared = declaredFor(view, action)
  return typeof declared === 'object' && declared !== null && Object.keys(declared).length > 0
}

/** What a class declares for an action that needs it. */
function declaredFor(view: object, action: string): unknown {
  const [name = '', option] = byName.get(action)?.needs?.split('.') ?? []
  const stated = (view as Readonly<Record<string, unknown>>)[name]
  return option === undefined ? stated : (stated as Readonly<Record<string, unknown>> | null)?.[option]
}

/** The permissions that an action asks besides those of its class, which `softDelete` declares; undefined where it asks none. */
export function permissionsBeside(view: { readonly name: string }, action: string): readonly object[] | undefined {
  const { needs } = byName.get(action) ?? {}
  const declared = needs?.includes('.') ? declaredFor(view, action) : undefined
  return Array.isArray(declared) ? resolvePolicies(`${view.name}.${needs}`, declared, 'hasPermission') : undefined
}

/** True for an action that only shows what there is: a list, one object, or what is computed of them. */
export function isRead(name: string): boolean {
  const action = byName.get(name)
  return action !== undefined && action.writes === undefined
}

/** True for an action that changes or deletes the one object that the path names. */
export function changesObject(name: string): boolean {
  const action = byName.get(name)
  return OF_ONE.has(action?.path) && action?.writes !== undefined
}

/** True for an action whose body is a list. */
export function takesMany(name: string): boolean {
  return OF_MANY.has(byName.get(name)?.path)
}

/** True for an action that changes or deletes objects which its body names. */
export function changesMany(name: string): boolean {
  return takesMany(name) && !insertsRows(name)
}

/** True for an action that adds rows, and changes none. */
export function insertsRows(name: string): boolean {
  return byName.get(name)?.writes === 'insert'
}

/** True for an action whose answer is one object, which may have a version. */
export function showsObject(name: string): boolean {
  return byName.get(name)?.shows === 'object'
}

/** Statuses of a view, as far as one of them shows what others do not. */
interface ShowingStatuses {
  readonly destroy?: number
}

/** True for an action that answers with objects, or one. */
export function showsObjects(name: string, { destroy }: ShowingStatuses): boolean {
  if (name === 'destroy') return destroy === 200
  const { shows } = byName.get(name) ?? {}
  return shows === 'object' || shows === 'list'
}

/** True for an action that writes and shows what it has written: a client may prefer that it does not. */
export function showsWritten(name: string, statuses: ShowingStatuses): boolean {
  const action = byName.get(name)
  if (name === 'destroy') return showsObjects(name, statuses)
  return action?.writes !== undefined && !(action.shows === 'nothing' && OF_ONE.has(action.path))
}

/** True for an action that is about no object yet: neither the path nor the body names one. */
export function namesNoObject(name: string): boolean {
  return byName.has(name) && !isDetail(name) && !changesMany(name)
}

/** True for an action that leaves fields as they are which the body leaves out: PATCH, and a PUT whose class says so. */
export function takesPart({ action, viewClass }: { readonly action: string; readonly viewClass: object }): boolean {
  const { method } = byName.get(action) ?? {}
  return method === 'patch' || (action === 'update' && 'partialPut' in viewClass && viewClass.partialPut === true)
}

/** True for an action whose body is whole objects, not the parts of them that change. */
export function takesWholeObjects(name: string): boolean {
  const action = byName.get(name)
  return action?.writes === 'insert' || action?.method === 'put'
}

/**
 * The methods of a path in the order in which `Allow` lists them (wire format, section 6).
 * @param describes the path takes OPTIONS
 */
export function allowedMethods(actions: ActionMap, describes: boolean): readonly string[] {
  const mapped = new Set(Object.keys(actions).map((method) => method.toUpperCase()))
  if (mapped.has('GET')) mapped.add('HEAD')
  if (describes) mapped.add('OPTIONS')
  const known = ORDER.filter((method) => mapped.has(method))
  return [...known, ...[...mapped].filter((method) => !ORDER.includes(method))]
}

const ORDER = ALL_METHODS.map(({ name }) => name)
