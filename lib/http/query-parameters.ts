/** The query of a request: texts by name, whatever the application has made of Koa's. */
import { parse } from 'node:querystring'
import type { Context } from './context.js'

/** Query parameters of a request, as Koa reads them; of repeated ones the last counts. */
export type QueryParameters = Readonly<Record<string, string | readonly string[] | undefined>>

/**
 * The parameters of a request. Where the application has given Koa another reader of queries (koa-qs), `?a[b]=1` may be an
 * object: then the text is read as Koa itself would, in which `a[b]` is a name like any other.
 */
export function queryOf(ctx: Context): QueryParameters {
  const { query } = ctx as { query: Readonly<Record<string, unknown>> }
  for (const name in query) if (!isPlain(query[name])) return parse(ctx.querystring)
  return query as QueryParameters
}

function isPlain(value: unknown): boolean {
  return typeof value === 'string' || (Array.isArray(value) && value.every((item) => typeof item === 'string'))
}
