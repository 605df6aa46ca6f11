/** Holds every answer of a test run to the document of the router that gave it (promise P12). */
import type { Middleware } from 'koa'
import { expect } from 'vitest'
import { APIRouter, ConfigurationError } from '../../lib/index.js'
import { validateResponse } from '../../lib/testing/validate-response.js'
import type { TestResponse } from './server.js'

const routers = new WeakMap<Middleware, APIRouter>()
const documents = new WeakMap<APIRouter, object | null>()
/** Documents by their text: tests make many routers of the same views. */
const known = new Map<string, object>()
const { routes } = APIRouter.prototype

// which router a middleware belongs to is nobody's business but ours
APIRouter.prototype.routes = function (this: APIRouter) {
  const middleware = routes.call(this)
  routers.set(middleware, this)
  return middleware
}

/** The same middleware, not held to a document: its application answers what no document could know. */
export function undescribed(middleware: Middleware): Middleware {
  routers.delete(middleware)
  return middleware
}

/** The routers among middleware. */
export function routersOf(middleware: readonly Middleware[]): readonly APIRouter[] {
  return middleware.flatMap((one) => routers.get(one) ?? [])
}

/** Fails where an answer is not as the router's document says. A 500 is a fault of the application, which no document describes. */
export function expectDescribed(router: APIRouter, method: string, path: string, response: TestResponse): void {
  const { status, headers, text, json } = response
  // text is the app's: it answers what the router leaves
  if (status === 500 || !path.startsWith('/') || headers['content-type']?.startsWith('text/plain')) return
  const document = documentOf(router)
  if (!document) return
  const problems = validateResponse(document, { method, path, status, headers, body: json ?? text })
  // a path that the router leaves to the app
  if (problems.length === 1 && problems[0]?.endsWith('the document has no such path')) return
  expect(problems).toEqual([])
}

/** Undefined for an API that cannot be described, as its own tests say. */
function documentOf(router: APIRouter): object | null {
  let document = documents.get(router)
  if (document === undefined) {
    try {
      const made = router.getSchema()
      const text = JSON.stringify(made)
      document = known.get(text) ?? made
      known.set(text, document)
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error
      document = null
    }
    documents.set(router, document)
  }
  return document
}
