/** The headers of a static file, and whether the client has it already (wire format, section 7). */
import { extname } from 'node:path'
import type { Context } from '../http/context.js'
import { isKnown } from '../http/entity-tags.js'
import { keepCookiesPrivate } from '../http/private-cookies.js'
import type { FoundFile } from './static-files.js'

const IMMUTABLE = 'public, max-age=31536000, immutable'
const SHORT = 'public, max-age=60'

/**
 * Sets the headers that a file is sent with.
 * @param name as the client asked for it, whose ending gives the type
 * @returns false when the client has the file: the answer is 304 then
 */
export function describeFile(ctx: Context, name: string, file: FoundFile): boolean {
  const control = file.immutable ? IMMUTABLE : SHORT
  keepCookiesPrivate(ctx, control)
  ctx.set({
    'Cache-Control': control,
    ETag: file.etag,
    'Last-Modified': file.modified.toUTCString(),
    'X-Content-Type-Options': 'nosniff',
  })
  if (file.varies) ctx.vary('Accept-Encoding')
  if (isKnown(ctx, file.etag, file.modified)) {
    ctx.status = 304
    return false
  }
  ctx.type = extname(name)
  if (ctx.type === '') ctx.type = 'application/octet-stream'
  if (file.encoding !== undefined) ctx.set('Content-Encoding', file.encoding)
  return true
}

/** Removes the headers of a file that has gone since, so that others may answer. */
export function undescribe(ctx: Context): void {
  for (const name of ['Cache-Control', 'ETag', 'Last-Modified', 'Content-Type', 'Content-Encoding']) ctx.remove(name)
}
