/** What a request's target says: its path with its format suffix, its query, and the namespace that its route is mounted under. */

import { parse } from 'node:querystring'
import { type Context, RequestSlot } from './context.js'

const FORMAT = new RequestSlot<string>('the format that the path asks for')
const NAMESPACE = new RequestSlot<string>('the namespace of the route')

/** The path of a request; undefined for a target that is no URL, such as `http://[`: Koa throws where one reads the path of that. */
export function pathOf(ctx: Context): string | undefined {
  try {
    const path: string | null = ctx.path
    return path ?? undefined
  } catch {
    return undefined
  }
}

/** True for the error that Koa throws since the request's target is no URL, and for no other `ERR_INVALID_URL`. */
export function isTargetError(ctx: Context, error: unknown): boolean {
  if (!(error instanceof TypeError) || (error as { code?: unknown }).code !== 'ERR_INVALID_URL') return false
  try {
    void ctx.path
    return false
  } catch {
    return true
  }
}

/** A path without its suffix, if it ends in one of these formats: `/books.json` is `/books` asked for as JSON. */
export function splitSuffix(path: string, formats: ReadonlySet<string>): { path: string; format: string } | undefined {
  const dot = path.lastIndexOf('.')
  if (dot <= path.lastIndexOf('/') + 1) return undefined
  const format = path.slice(dot + 1)
  return formats.has(format) ? { path: path.slice(0, dot), format } : undefined
}

/**
 * The path of an object whose key ends in a format by chance: `/files/a.json` is the file `a`, so `a.json` is
 * `/files/a.json.json`. Any other path is returned as it is.
 */
export function guardSuffix(path: string, formats: ReadonlySet<string>): string {
  const [first] = formats
  return first !== undefined && splitSuffix(path, formats) ? `${path}.${first}` : path
}

/** Remembers the format that the path asked for. */
export function setFormat(ctx: Context, format: string | undefined): void {
  FORMAT.set(ctx, format)
}

/** The format that the path asked for, as a router of ours has found it. */
export function formatOf(ctx: Context): string | undefined {
  return FORMAT.get(ctx)
}

/** The format that the path asks for, whoever has routed it: the one found, or else that of these which the path ends in. */
export function requestedFormat(ctx: Context, formats: ReadonlySet<string>): string | undefined {
  return formatOf(ctx) ?? splitSuffix(pathOf(ctx) ?? '', formats)?.format
}

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

/** Remembers the namespace of the route that a request has taken, as its cursors know it (wire format, section 2.1). */
export function setNamespace(ctx: Context, namespace: string): void {
  NAMESPACE.set(ctx, namespace)
}

/** A name with the request's namespace before it, if there is one: `v1:book`. */
export function qualifiedName(ctx: Context, name: string): string {
  const namespace = NAMESPACE.get(ctx)
  return namespace === undefined ? name : `${namespace}:${name}`
}
