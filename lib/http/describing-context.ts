/** What stands in for a request where a view is described and nobody has asked it anything. */
import type { Context } from './context.js'

export interface DescribedRequest {
  /** In upper case. */
  readonly method: string
  /** @default '/' */
  readonly path?: string
  /** The path parameters. @default none */
  readonly params?: Readonly<Record<string, string>>
  /** The API version that is asked for. */
  readonly version?: string | undefined
}

/** A request without headers, query and body, from nobody, with as much of Koa's context as views read before they answer. */
export function describingContext({ method, path = '/', params = {}, version }: DescribedRequest): Context {
  const get = () => ''
  const req = { method, url: path, headers: {}, socket: { destroyed: false } }
  const res = { headersSent: false, statusCode: 200 }
  const request = { method, url: path, headers: {}, get }
  const own = { method, path, url: path, originalUrl: path, query: {}, querystring: '', params, headers: {}, get }
  return { ...own, state: { version }, req, res, request } as unknown as Context
}
