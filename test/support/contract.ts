/** Holds every answer of a test run to the document of the router that gave it (promise P12). */
import type { Middleware } from 'koa'
import { expect } from 'vitest'
import { APIRouter, ConfigurationError } from '../../lib/index.js'
import { validateResponse } from '../../lib/testing/validate-response.js'
import type { TestResponse } from './server.js'

const routers = new WeakMap<Middleware, APIRouter>()
/** Documents by the views on the paths: tests make many routers of the same ones. Null for what cannot be described. */
const documents = new Map<string, object | null>()
const classes = new WeakMap<object, number>()
let classCount = 0
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
export function expectDescribed(
  router: APIRouter,
  { method, path, body: requestBody }: { method: string; path: string; body?: unknown },
  response: TestResponse,
): void {
  const { status, headers, text, json } = response
  // text is the app's: it answers what the router leaves
  if (status === 500 || !path.startsWith('/') || headers['content-type']?.startsWith('text/plain')) return
  const body = json ?? text
  const check = (document: object | null) =>
    document === null ? [] : validateResponse(document, { method, path, requestBody, status, headers, body })
  const key = keyOf(router)
  const known = documents.get(key)
  let problems = check(known === undefined ? describe(router, key) : known)
  // a path that the router leaves to the app
  if (problems.length === 1 && problems[0]?.endsWith('the document has no such path')) return
  // the same views may have other tables by now
  if (problems.length > 0) problems = check(describe(router, key))
  if (problems.length > 0) expect(problems).toEqual([])
}

function keyOf({ endpoints }: APIRouter): string {
  return endpoints.map(({ pattern, view, kind }) => `${pattern} ${kind === 'root' ? '' : numberOf(view)}`).join('|')
}

function numberOf(view: object): number {
  let number = classes.get(view)
  if (number === undefined) {
    number = classCount++
    classes.set(view, number)
  }
  return number
}

/** Null for an API that cannot be described, as its own tests say. */
function describe(router: APIRouter, key: string): object | null {
  let document: object | null
  try {
    document = router.getSchema({ openapi: '3.2' })
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error
    document = null
  }
  documents.set(key, document)
  return document
}
