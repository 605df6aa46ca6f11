/** A client that sends and reads JSON, and holds every answer to the rules that hold for all, and to its API's document. */
import Koa from 'koa'
import { expect, onTestFinished } from 'vitest'
import { expectDescribed, routersOf } from './contract.js'
import { serve, type TestRequest, type TestResponse, type TestServer } from './server.js'

export interface Client {
  readonly app: Koa
  readonly port: number
  /** What `app.on('error')` got. */
  readonly reported: unknown[]
  get(path: string, headers?: TestRequest['headers']): Promise<TestResponse>
  /** Sends a body as JSON. */
  send(method: string, path: string, body?: unknown, headers?: TestRequest['headers']): Promise<TestResponse>
  close(): Promise<void>
}

/**
 * Serves middleware and returns a client for it.
 * @example
 * const client = await serving(api.routes())
 * afterAll(() => client.close())
 */
export async function serving(...middleware: Koa.Middleware[]): Promise<Client> {
  const app = new Koa()
  const reported: unknown[] = []
  app.on('error', (error) => reported.push(error))
  for (const one of middleware) app.use(one)
  const routers = routersOf(middleware)
  const server: TestServer = await serve(app)
  const send: Client['send'] = async (method, path, body, headers = {}) => {
    const response = await server.send({
      method,
      path,
      headers: body === undefined ? headers : { 'Content-Type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (!isOurs(response)) return response
    if (response.status >= 400) expectRules(response, method)
    for (const router of routers) expectDescribed(router, { method, path, body }, response)
    return response
  }
  return {
    app,
    port: server.port,
    reported,
    get: (path, headers) => send('GET', path, undefined, headers),
    send,
    close: () => server.close(),
  }
}

/** Serves middleware until the test ends that calls it. */
export async function serveApp(...middleware: Koa.Middleware[]): Promise<Client> {
  const client = await serving(...middleware)
  onTestFinished(() => client.close())
  return client
}

/** Koa's own `Not Found` is the app's answer for paths that are none of the API's. */
function isOurs({ status, headers }: TestResponse): boolean {
  return !(status === 404 && headers['content-type'] === 'text/plain; charset=utf-8')
}

/** Words that only come from SQL, a library or a stack. */
export const LEAKS = [
  /\b(?:select|insert into|update|delete from|declare)\b[^\n]{0,400}\b(?:from|set|values|where|returning|cursor)\b|node_modules|\.(?:ts|js|mjs):\d+|\bknex\b|\bobjection\b|\bDBError\b|\bSQLSTATE\b|violates|failing row|relation \\?"|column \\?"|constraint \\?"|_(?:pkey|fkey|unique|check)\b/i,
  /\b(?:08|22|23|25|40|42|53|54|55|57|XX)[0-9A-Z]{3}\b|\bDETAIL:|\bat [^\n]+\(.+:\d+:\d+\)/,
]

/** Rules for every error answer: form, headers, and nothing of the inside. */
export function expectRules(response: TestResponse, method = 'GET'): void {
  const { status, headers, text, json } = response
  expect(headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  })
  expect(headers).not.toHaveProperty('etag')
  expect(headers).not.toHaveProperty('location')
  if (status === 401) expect(headers['www-authenticate']).toMatch(/\S/)
  if (status === 405) expect(headers.allow).toMatch(/OPTIONS$/)
  if (status === 429 || status === 503) expect(headers['retry-after']).toMatch(/^[1-9][0-9]*$/)
  for (const leak of LEAKS) expect(text).not.toMatch(leak)
  if (method === 'HEAD') return
  expect(Object.keys(json)).toEqual(json.errors === undefined ? ['detail', 'status'] : ['detail', 'status', 'errors'])
  expect(json).toMatchObject({ status, detail: expect.any(String) })
}
