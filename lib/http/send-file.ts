/** Sends a stored file as a download: whole, a range of it (RFC 9110 section 14), or 304. */
import { Readable } from 'node:stream'
import { ApiError } from '../kernel/errors.js'
import type { Context } from './context.js'
import { isKnown } from './entity-tags.js'

/** A file that is kept somewhere. */
export interface StoredFile {
  /** The length in bytes. */
  readonly size: number
  /** When it was stored. */
  readonly modified: Date
  /** The bytes from `start` to `end`, both included; all of them where nothing is said. */
  stream(range?: { readonly start: number; readonly end: number }): Readable
}

/** What headers say of a file. */
export interface FileHeaders {
  /** A strong tag: another content has another. */
  readonly tag: string
  readonly mediaType: string
  /** `Content-Disposition`. */
  readonly disposition: string
}

/**
 * Sets headers and body. What strangers have sent may hold script: it is a download, in a sandbox. Caches of the caller keep it,
 * and ask each time whether they still may.
 * @throws ApiError 416 the range lies behind the end
 */
export function sendFile(ctx: Context, file: StoredFile, { tag, mediaType, disposition }: FileHeaders): void {
  ctx.status = 200
  // koa-compress would send other bytes under the same tag, which no range goes on
  Object.assign(ctx, { compress: false })
  ctx.set({
    'Accept-Ranges': 'bytes',
    'Cache-Control': 'private, no-cache',
    'Content-Disposition': disposition,
    'Content-Security-Policy': "default-src 'none'; sandbox",
    'Content-Type': mediaType,
    ETag: tag,
    'Last-Modified': file.modified.toUTCString(),
  })
  if (isKnown(ctx, tag, file.modified)) {
    ctx.status = 304
    return
  }
  const { size } = file
  const range = ctx.method === 'GET' && rangeHolds(ctx, tag, file) ? rangeOf(ctx.get('Range'), size) : undefined
  if (range === 'unsatisfiable') {
    throw new ApiError(416, 'Range not satisfiable', { headers: { 'Content-Range': `bytes */${size}` } })
  }
  if (range) {
    ctx.status = 206
    ctx.set('Content-Range', `bytes ${range.start}-${range.end}/${size}`)
  }
  ctx.body = ctx.method === 'HEAD' ? Readable.from([]) : file.stream(range)
  ctx.length = range ? range.end - range.start + 1 : size
}

/** A range of another version would be put together with what is no longer there. */
function rangeHolds(ctx: Context, tag: string, { modified }: StoredFile): boolean {
  const version = ctx.get('If-Range')
  return version === '' || version === tag || version === modified.toUTCString()
}

const RANGE = /^bytes=(\d*)-(\d*)$/i

/** The one range that is asked for; undefined for none, several, or what is no range: the whole file answers those. */
function rangeOf(field: string, size: number): { start: number; end: number } | 'unsatisfiable' | undefined {
  const [, first = '', last = ''] = RANGE.exec(field.trim()) ?? []
  if (first === '' && last === '') return undefined
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first)
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1)
  if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined
  return start < size ? { start, end } : 'unsatisfiable'
}
