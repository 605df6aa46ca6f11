/** The atlas as a Koa app. `main.ts` starts it; a test can call it without a port. */
import Koa from 'koa'
import type { APIRouter } from 'koa-viewsets'
import { appVersion, errors, staticAssets, versionEndpoint } from 'koa-viewsets/plugins'
import { homePage, nonceOf, PUBLIC_FOLDER } from './home.js'

/**
 * An app that answers with the home page and the API, and with JSON for every error and every other path.
 * @param staticRoot where `collectstatic` has put the page's files; without it they are served as they are
 */
export function createApp(api: APIRouter, { staticRoot = PUBLIC_FOLDER } = {}): Koa {
  const app = new Koa()
  app.on('error', logError)
  app.use(errors()).use(appVersion({ nonce: nonceOf }))
  app
    .use(staticAssets({ root: staticRoot }))
    .use(versionEndpoint())
    .use(homePage())
  return app.use(api.routes())
}

/** One line for each failure, with what caused it: Koa's own printer leaves the causes out. */
function logError(error: Error, ctx?: Koa.Context): void {
  // a client that broke off in the middle of its request
  if (/^(HPE_|ECONNRESET|EPIPE)/.test((error as NodeJS.ErrnoException).code ?? '')) return
  const request = ctx ? `${ctx.method} ${JSON.stringify(ctx.path)} ${ctx.status}` : 'outside a request'
  const chain: string[] = []
  let innermost = error
  for (let next: unknown = error; next instanceof Error && chain.length < 10; next = next.cause) {
    // A message may hold what a client sent: as JSON it cannot write control characters into the log.
    chain.push(`${next.name} ${JSON.stringify(next.message)}`)
    innermost = next
  }
  console.error(`${request}: ${chain.join(' caused by ')}`)
  // A 503 is the database's trouble; anything else is a fault in the code, and the stack tells where.
  if (ctx?.status !== 503) console.error(framesOf(innermost))
}

function framesOf({ stack = '' }: Error): string {
  return stack.slice(stack.search(/^\s+at /m)).trimEnd()
}
