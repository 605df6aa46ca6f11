/** What is wrong with a registration by itself: its prefix, its basename, and the paths that it would have. */
import { ConfigurationError } from '../kernel/errors.js'
import { singularize } from '../kernel/naming.js'
import { parsePattern, type Segment } from '../kernel/path-pattern.js'
import { quote } from '../kernel/quote.js'
import { collectionOf } from './endpoints-of.js'
import { isGeneric, lookupSegment } from './lookup-segment.js'
import type { Registration, ViewSetClass } from './registration.js'
import { writePattern } from './route-table.js'
import { routesOf } from './routes.js'

/** @throws {ConfigurationError} an argument of `register()` is none */
export function checkNames(prefix: unknown, basename: unknown): void {
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
