/** Serves actions of an API as tools for agents, by the Model Context Protocol: docs/reference/mcp.md. */
import { acceptsMethod } from '../assets/own-route.js'
import { answerError, runStep } from '../http/answer-error.js'
import { type Context, type Middleware, pathOf } from '../http/context.js'
import type { MCPOptions } from './options.js'
import { settleMCPOptions } from './options.js'
import { ToolServer } from './server.js'
import type { ToolAPI } from './tools-of.js'

/**
 * Answers `POST /mcp` with tools that are actions of the API, by the revisions 2026-07-28 and 2025-11-25 of the protocol. A
 * call is a request to the API within the process: who may do what, what is valid, what is counted, and what is shown cannot
 * differ. What the application puts around the API, such as guards by path, a call does not pass. Mount it beside `api.routes()`, behind what the application does for all requests (sessions, helmet), and on a
 * route of its own behind whatever else: `router.post('/agents', mcp(api, { path: null, tools: ['books'] }))`.
 * @param api the router
 * @param options what is a tool, and how; nothing is but what `tools` names
 * @throws {ConfigurationError} an option is wrong; a tool names nothing, or what takes no JSON; the API is mounted by `mount()`: then `prepare()` throws it,
 *   or `mcp()` itself where the router is prepared
 * @example app.use(mcp(api, { tools: ['books', 'authors:list', 'orders:*'] }))
 */
export function mcp(api: ToolAPI, options: MCPOptions): Middleware {
  const settled = settleMCPOptions(options)
  const server = new ToolServer(api, settled)
  const { path: own, resource } = settled
  return async function serveTools(ctx, next) {
    const path = pathOf(ctx)
    if (path !== undefined && resource?.paths.has(path) === true) {
      await runStep(ctx, () => answerDocument(ctx, resource.document))
      return
    }
    if (own !== null && path !== own) return next()
    try {
      await server.serve(ctx)
    } catch (error) {
      answerError(ctx, error)
    }
  }
}

/** Seconds that clients keep the document. */
const KEPT = 300

/** Clients in browsers read it from whatever page they are. */
function answerDocument(ctx: Context, document: string): void {
  if (!acceptsMethod(ctx, ['GET', 'HEAD'])) return
  ctx.set({
    'Access-Control-Allow-Origin': '*',
    'Cache-Control': `max-age=${KEPT}`,
    'X-Content-Type-Options': 'nosniff',
  })
  ctx.type = 'application/json'
  ctx.body = document
}
