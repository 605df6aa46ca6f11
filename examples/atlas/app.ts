/** The atlas as a Koa app. `atlas.ts` puts it together, `main.ts` starts it. */
import Koa from 'koa'
import session from 'koa-session'
import type { APIRouter } from 'koa-viewsets'
import { mcp } from 'koa-viewsets/mcp'
import type { UsageReport } from 'koa-viewsets/metering'
import { appVersion, docs, errors, staticAssets, versionEndpoint } from 'koa-viewsets/plugins'
import { homePage } from './home.js'
import { loginRoutes } from './login.js'
import { nonceOf, PUBLIC_FOLDER } from './page.js'
import { photoFiles } from './photos.js'
import { usageRoutes } from './usage.js'

export interface AppOptions {
  /** What `/api/v1/usage` reports. */
  readonly usage: UsageReport
  /** What answers before anything else. */
  readonly probes: Koa.Middleware
  /** Where `collectstatic` has put the page's files; without it they are served as they are. */
  readonly staticRoot?: string | undefined
}

const description = {
  title: 'Atlas',
  version: '1.0.0',
  description: 'The countries and cities of the world, and travel lists.',
  license: { name: 'MIT', identifier: 'MIT' },
}

/** What agents may do: read the world, and look after lists. */
const agents = {
  ...{ name: 'Atlas', version: '1.0.0' },
  instructions: 'Countries and cities of the world, and travel lists. Cities name their country by country_id.',
  tools: ['countries', 'cities:list', 'cities:retrieve', 'city-search', 'lists:*', 'lists/entries:*'],
}

/** An app that answers with the home page, the login and the API, and with JSON for every error and every other path. */
export function createApp(api: APIRouter, { usage, probes, staticRoot = PUBLIC_FOLDER }: AppOptions): Koa {
  const app = new Koa()
  // a fixed value, because this is a demo on one machine
  app.keys = ['the sessions of the atlas']
  app.on('error', logError)
  app
    .use(probes)
    .use(errors())
    .use(appVersion({ nonce: nonceOf }))
  app.use(staticAssets({ root: staticRoot })).use(versionEndpoint())
  app.use(session({ key: 'atlas', sameSite: 'lax' }, app))
  app.use(homePage()).use(photoFiles()).use(docs(api, description))
  app.use(loginRoutes().routes()).use(usageRoutes(usage).routes())
  return app.use(mcp(api, agents)).use(api.routes())
}

/** One line for each failure, with what caused it: Koa's own printer leaves the causes out. */
function logError(error: Error, ctx?: Koa.Context): void {
  // a client that broke off in the middle of its request
  if (/^(HPE_|ECONNRESET|EPIPE|ERR_STREAM_PREMATURE_CLOSE)/.test((error as NodeJS.ErrnoException).code ?? '')) return
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
