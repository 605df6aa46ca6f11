/** Mistakes in registrations: the prefix and basename of one, and paths and names that two of them share. */

import type { Knex } from 'knex'
import { ConfigurationError } from '../kernel/errors.js'
import { singularize } from '../kernel/naming.js'
import { parsePattern, type Segment } from '../kernel/path-pattern.js'
import { quote } from '../kernel/quote.js'
import { checkScopable } from '../postgres/scoped-knex.js'
import { URLPathVersioning } from '../versioning/versioning-classes.js'
import { actionsOf, classesOf } from '../views/action-options.js'
import { isBuiltIn } from '../views/built-in.js'
import type { Endpoint } from '../views/endpoint.js'
import { isGeneric } from '../views/generic-api-view.js'
import { hasModel } from '../views/generic-view-class.js'
import { policiesOf } from '../views/policies.js'
import { collectionOf, parentsOf } from './endpoints-of.js'
import { lookupSegment, type Registration, type ViewSetClass } from './registration.js'
import { writePattern } from './route-table.js'
import { routesOf } from './routes.js'

/** @throws {ConfigurationError} an argument of `register()` is none */
export function checkRegistrationNames(prefix: unknown, basename: unknown): void {
  if (typeof prefix !== 'string') throw new ConfigurationError('APIRouter: register(prefix, view): prefix is no text')
  if (basename === undefined || (typeof basename === 'string' && BASENAME.test(basename))) return
  throw new ConfigurationError(
    `APIRouter: register("${prefix}"): the basename ${quote(basename)} is no name; use letters, digits, "-", "_" and "."`,
  )
}

/** What can be a part of a route's name. */
const BASENAME = /^[\p{L}\p{N}._-]+$/u

/** The first part of route names where none is given: the model's table, singularised. @throws {ConfigurationError} there is no model */
export function defaultBasename(prefix: string, view: ViewSetClass): string {
  if (isGeneric(view)) return singularize(view.modelClass().tableName)
  throw new ConfigurationError(
    `APIRouter: ${view.name} has no model; name it: register("${prefix}", ${view.name}, basename)`,
  )
}

/**
 * The whole pattern is read, too: no name may occur twice, and nothing follows `{…:path}`.
 * @throws {ConfigurationError} the view set has no action, or a path cannot be
 */
export function checkPaths(registration: Registration, rootPrefix: readonly Segment[]): void {
  const { view } = registration
  const templates = routesOf(view)
  if (templates.length === 0) {
    throw new ConfigurationError(`${view.name}: has no action; add list(), retrieve() … or extend ModelViewSet`)
  }
  const { segments } = collectionOf(registration, { prefix: rootPrefix, prepared: false })
  const key = lookupSegment(view)
  for (const { detail, path, actions } of templates) {
    try {
      parsePattern(writePattern([...segments, ...(detail ? [key] : []), ...path]))
    } catch (error) {
      const names = `of ${Object.values(actions).join('() and ')}()`
      const part = path.length > 0 ? `the path ${names}` : detail ? `lookupUrlKwarg "${key.name}"` : ''
      throw new ConfigurationError(`${view.name}: ${part && `${part} does not fit: `}${(error as Error).message}`)
    }
  }
}

/** @throws {ConfigurationError} what names an object, or a part of an action, would be taken for the API version */
export function checkVersionParameter(registration: Registration): void {
  const { view } = registration
  if (!classesOf(view).some((one) => policiesOf(one).versioning instanceof URLPathVersioning)) return
  const own = routesOf(view).flatMap(({ detail, path }) => [...(detail ? [lookupSegment(view)] : []), ...path])
  const names = own.flatMap((segment) => (segment.kind === 'param' ? [segment.name] : []))
  const outer = parentsOf(registration).map(({ param }) => param)
  if (![...names, ...outer].includes('version')) return
  throw new ConfigurationError(
    `${view.name}: URLPathVersioning would take the path parameter "version" for the API version; only a prefix may have it, so give the lookup of the nested router, lookupUrlKwarg or urlPath another name`,
  )
}

/** @throws {ConfigurationError} two routes have the same path, the same name, or the same name in the OpenAPI document */
export function checkEndpoints(endpoints: readonly Endpoint[]): void {
  const taken = { path: new Map<string, Endpoint>(), name: new Map(), operationId: new Map() }
  for (const endpoint of endpoints) {
    const { segments, pattern, operations } = endpoint
    checkLookups(endpoint)
    // parameters of different names match the same paths
    const shape = segments.map((segment) => (segment.kind === 'literal' ? segment : { ...segment, name: '' }))
    const isAction = endpoint.kind === 'action' || taken.path.get(writePattern(shape))?.kind === 'action'
    const other = isAction ? 'prefix, or its action another urlPath' : 'prefix'
    claim(taken.path, writePattern(shape), endpoint, `have the path ${pattern}; give one of them another ${other}`)
    for (const { name, operationId } of operations.values()) {
      const fix = 'give one another basename, or its action another urlName'
      // an action of several methods has one name
      if (taken.name.get(name) !== endpoint) claim(taken.name, name, endpoint, `have the route name "${name}"; ${fix}`)
      claim(taken.operationId, operationId, endpoint, `are called "${operationId}" in the OpenAPI document; ${fix}`)
    }
  }
}

/** @throws {ConfigurationError} an action finds its object by another parameter than its path has */
function checkLookups({ view, segments, pattern, operations }: Endpoint): void {
  for (const { view: answering, action } of operations.values()) {
    if (!isGeneric(view) || !isGeneric(answering)) continue
    const name = answering.lookupUrlKwarg ?? answering.lookupField
    const isInherited = name === (view.lookupUrlKwarg ?? view.lookupField)
    if (isInherited || segments.some((segment) => segment.kind === 'param' && segment.name === name)) continue
    throw new ConfigurationError(
      `${view.name}: ${action}() finds its object by the parameter "${name}", which its path ${pattern} does not have; name it in its urlPath, or set its lookupUrlKwarg`,
    )
  }
}

/** @throws {ConfigurationError} statements that are to run as a role, or with settings, go to a knex that would leave these out */
export function checkScopes(endpoints: readonly Endpoint[]): void {
  for (const { view, route } of endpoints.flatMap(({ operations }) => [...operations.values()])) {
    if (!route.database || !isGeneric(view) || !hasModel(view) || !isBuiltIn(view.prototype, 'getKnex')) continue
    const knex = view.modelClass().knex() as Knex | undefined
    if (knex) checkScopable(knex)
  }
}

/** The class that a path is of; with the actions and what the path ends in, where `action()` has made it. */
function ownerOf({ kind, view, actions }: Endpoint): string {
  if (kind !== 'action') return view.name
  const described = Object.values(actions).map((action) => {
    const { urlPath } = actionsOf(view).get(action) ?? {}
    return `${view.name}.${action}() (urlPath "${urlPath}")`
  })
  return described.join(', ')
}

function claim(taken: Map<string, Endpoint>, key: string, endpoint: Endpoint, problem: string): void {
  const other = taken.get(key)
  if (other) throw new ConfigurationError(`${ownerOf(other)} and ${ownerOf(endpoint)} both ${problem}`)
  taken.set(key, endpoint)
}
