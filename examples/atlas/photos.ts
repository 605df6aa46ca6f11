/** Photos of cities: where they are kept, and how they are served safely. */
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Middleware } from 'koa-viewsets'
import { FileSystemStorage } from 'koa-viewsets/storage'
import { cacheFolder } from './database.js'

const FOLDER = join(cacheFolder(), 'koa-viewsets', 'atlas-photos')
const PATH = /^\/photos\/([0-9a-f]{32}\.(png|jpe?g|gif|webp|bmp|svg))$/

export const photoStorage = new FileSystemStorage({ root: FOLDER, baseUrl: '/photos' })

/**
 * Serves what strangers have sent: as a download, in a sandbox, never as a page. An application does so from another
 * origin than its API.
 */
export function photoFiles(): Middleware {
  return async function servePhoto(ctx, next) {
    const [, name, extension] = PATH.exec(ctx.path) ?? []
    if (name === undefined || (ctx.method !== 'GET' && ctx.method !== 'HEAD')) return next()
    const file = await open(join(FOLDER, name)).catch(() => undefined)
    if (!file) return next()
    ctx.set({
      'Content-Disposition': 'attachment',
      'Content-Security-Policy': "default-src 'none'; sandbox",
      'X-Content-Type-Options': 'nosniff',
    })
    ctx.type = extension ?? 'bin'
    ctx.length = (await file.stat()).size
    ctx.body = file.createReadStream()
  }
}
