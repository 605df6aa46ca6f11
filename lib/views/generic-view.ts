/** One request's generic view, as the steps of the package know it: of any model. */

import type { SerializerContext } from '../fields/field.js'
import { ConfigurationError, NotFound } from '../kernel/errors.js'
import { quote } from '../kernel/quote.js'
import { ignoreRejection, isPromise } from '../kernel/realms.js'
import { isRecord } from '../kernel/records.js'
import { type AnyQueryBuilder, isModelQuery } from '../models/objection.js'
import type { Queryable } from '../postgres/pg-types.js'
import { isSerializer } from '../serializers/check-serializer.js'
import type { SerializerClass, SerializerOptions } from '../serializers/contract.js'
import type { Serializer } from '../serializers/serializer.js'
import type { GenericAPIView } from './generic-api-view.js'

/** What the application's own types of model and serializer have a say in. */
type OfModel = 'getInputSerializer' | 'getObject' | 'getObjectToWrite' | 'getQueryset' | 'getSerializer'

export interface GenericView extends Omit<GenericAPIView, OfModel> {
  // biome-ignore lint/suspicious/noExplicitAny: a query of the view's own model
  getQueryset(): any
  // biome-ignore lint/suspicious/noExplicitAny: an object of the view's own model
  getObject(): Promise<any>
  // biome-ignore lint/suspicious/noExplicitAny: objects of the view's own model
  getSerializer(options?: SerializerOptions<any>): Serializer<any>
  // biome-ignore lint/suspicious/noExplicitAny: objects of the view's own model
  getInputSerializer(options?: SerializerOptions<any>): Serializer<any>
}

/** The knex that the view's statements go to: its transaction, or the one that its model is bound to. */
export function knexOf(view: GenericView): Queryable {
  return (view.trx ?? view.knex ?? view.plan.viewClass.modelClass().knex()) as Queryable
}

/**
 * The object that `getObject()` finds.
 * @throws NotFound an application's own finds none
 * @throws {ConfigurationError} it finds something else, such as a list
 */
export async function foundObject(view: GenericView): Promise<object> {
  const object: unknown = await view.getObject()
  if (object === undefined || object === null) throw new NotFound()
  if (!isRecord(object)) throw noResult(view.viewClass.name, 'getObject', object)
  return object
}

/** The class that `getSerializerClass()` chooses. @throws {ConfigurationError} an application's own chooses none */
export function serializerClassOf(view: GenericView): SerializerClass {
  const chosen: unknown = view.getSerializerClass()
  if (!isSerializer(chosen)) throw noResult(view.viewClass.name, 'getSerializerClass', chosen)
  return chosen
}

/** True for a view that declares a serializer class for its answers, or chooses one; others may take bodies all the same. */
export function hasSerializerClass({ plan }: GenericView): boolean {
  const declared = plan.outputSerializer ?? plan.viewClass.serializerClass
  return declared !== null || plan.resource.overrides.has('getSerializerClass')
}

/** That class; undefined where there is none. */
export function knownClassOf(view: GenericView): SerializerClass | undefined {
  return hasSerializerClass(view) ? serializerClassOf(view) : undefined
}

/** A serializer that the view makes. @throws {ConfigurationError} an application's own method makes none */
export function serializerOf(
  view: GenericView,
  method: 'getSerializer' | 'getInputSerializer',
  options?: SerializerOptions,
): Serializer {
  const made: unknown = view[method](options)
  if (typeof (made as Partial<Serializer> | undefined)?.isValid === 'function') return made as Serializer
  throw noResult(view.viewClass.name, method, made)
}

/** What serializers know of the request. @throws {ConfigurationError} an application's own method tells nothing of it */
export function serializerContextOf(view: GenericView): SerializerContext {
  const context: unknown = view.getSerializerContext()
  if (isRecord(context) && !isPromise(context)) return context
  throw noResult(view.viewClass.name, 'getSerializerContext', context)
}

/** The query that `filterQueryset()` of a view or of a filter backend makes. @throws {ConfigurationError} it is none */
export function filteredBy(name: string, query: AnyQueryBuilder): AnyQueryBuilder {
  if (isModelQuery(query)) return query
  throw noResult(name, 'filterQueryset', query)
}

const RESULTS = {
  getObject: 'one object, or nothing',
  getSerializerContext: 'an object, at once',
  getQueryset: 'a query, at once',
  filterQueryset: 'the query, at once',
  getSerializerClass: 'a serializer class, at once',
  getSerializer: 'a serializer, at once',
  getInputSerializer: 'a serializer, at once',
} as const

/** The error of a method of an application's that returns something else than its name says. */
export function noResult(name: string, method: keyof typeof RESULTS, result: unknown): ConfigurationError {
  // what an async function rejects with is nobody's
  ignoreRejection(result)
  return new ConfigurationError(`${name}: ${method}() returned ${kindOf(result)}; return ${RESULTS[method]}`)
}

function kindOf(result: unknown): string {
  if (isPromise(result)) return 'a promise'
  if (typeof result === 'function') return `the class ${result.name}`
  const { name = 'Object' } = (result as { constructor?: { name?: string } } | null | undefined)?.constructor ?? {}
  return typeof result === 'object' && result !== null && name !== 'Object' ? `an instance of ${name}` : quote(result)
}
