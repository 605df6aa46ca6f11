/** Tools for agents, from the same resources: `koa-viewsets/mcp`. */
export { mcp } from './mcp.js'
export type { MCPOptions, ToolShape } from './options.js'
export type { ProtectedResource } from './protected-resource.js'
export type { ToolAPI } from './tools-of.js'
