/** Format suffixes of paths: `/books.json` is `/books` asked for as JSON. */
import type { Context } from './context.js'
import { pathOf } from './request-path.js'
import { RequestSlot } from './request-slot.js'

const FORMAT = new RequestSlot<string>('the format that the path asks for')

/** A path without its suffix, if it ends in one of these formats. */
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
