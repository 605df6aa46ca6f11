/** Serves collected static files (wire format, section 7). */

import { describeFile, undescribe } from '../lib/assets/describe-file.js'
import { mountStaticFiles, StaticFiles, type StaticFilesOptions } from '../lib/assets/static-files.js'
import { type Context, type Middleware, pathOf } from '../lib/http/context.js'
import { getOrInsert } from '../lib/kernel/maps.js'

/** Options of `staticAssets()`. */
export type StaticAssetsOptions = StaticFilesOptions

/**
 * Serves the files that `collectstatic` has put into `root`: those with hashed names for a year, others for a minute,
 * with entity tags, and as their `.br` or `.gz` siblings where there are any. While the root has no manifest, the files
 * of `dirs` are served under their own names. Everything else is left to the app.
 *
 * `staticPath()`, `staticUrl()` and the application version go by the files mounted last.
 * @throws ConfigurationError an option is wrong, or a setting has a value that it cannot have
 * @example app.use(staticAssets({ root: 'staticfiles', prefix: '/static', dirs: ['public'] }))
 */
export function staticAssets(options: StaticAssetsOptions = {}): Middleware {
  const files = new StaticFiles(options)
  const prefix = `${files.prefix}/`
  const senders = new Map<string, Promise<Middleware>>()
  mountStaticFiles(files)
  return async function serveStaticAssets(ctx, next) {
    const name = nameOf(ctx, prefix)
    const file = name === undefined ? undefined : await files.find(name, (encoding) => takes(ctx, encoding))
    if (name === undefined || file === undefined) return next()
    if (!describeFile(ctx, name, file)) return
    const send = await getOrInsert(senders, file.folder, () => sender(file.folder))
    // koa-static goes by the path alone
    const { url } = ctx
    ctx.path = `/${encodeURIComponent(file.name)}`
    try {
      await send(ctx, async () => {
        // the file has gone since it was found
        undescribe(ctx)
        ctx.url = url
        await next()
      })
    } finally {
      ctx.url = url
    }
  }
}

/** Loaded for the first file: in production others serve them most often. */
async function sender(folder: string): Promise<Middleware> {
  const { default: serve } = await import('koa-static')
  return serve(folder, { brotli: false, gzip: false, format: false, index: false })
}

/** The file's name in the request's path; undefined where the request is none for a file. */
function nameOf(ctx: Context, prefix: string): string | undefined {
  const path = ctx.method === 'GET' || ctx.method === 'HEAD' ? pathOf(ctx) : undefined
  if (!path?.startsWith(prefix)) return undefined
  try {
    return decodeURIComponent(path.slice(prefix.length))
  } catch {
    return undefined
  }
}

function takes(ctx: Context, encoding: string): boolean {
  return ctx.acceptsEncodings(encoding, 'identity') === encoding
}
