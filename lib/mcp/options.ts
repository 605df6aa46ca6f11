/** The options of `mcp()`. */
import { ConfigurationError } from '../kernel/errors.js'
import type { Kind } from '../kernel/kinds.js'
import { checkKinds } from '../kernel/option-kinds.js'
import { type ProtectedResource, settleResource } from './protected-resource.js'

/** One tool for each action, or one for each resource that takes the action as an argument. */
export type ToolShape = 'action' | 'resource'

/** Options of `mcp()`. Nothing is a tool but what `tools` names. */
export interface MCPOptions {
  /**
   * What agents may call. `'books'` is what reads of a resource, `'books:create'` one action of it, by the name of the view
   * set's method, and `'books:*'` all of them; nested resources are named by their paths, `'authors/books'`.
   */
  readonly tools: readonly string[]
  /** The path of the endpoint; null for whatever request arrives, as on a route of one's own. @default '/mcp' */
  readonly path?: string | null
  /** One tool for each action, or one for each resource, which takes the action as an argument. @default 'action' */
  readonly shape?: ToolShape
  /** What the server calls itself. @default 'API' */
  readonly name?: string
  /** The version of the server, which is shown. @default '1.0.0' */
  readonly version?: string
  /** What an agent is told before it calls anything. @default nothing */
  readonly instructions?: string
  /** The version of the API that tools speak, where views have versions. @default the one of each view set */
  readonly apiVersion?: string
  /** Origins of pages that may ask, such as `https://app.example.org`, besides those of this machine. @default [] */
  readonly allowedOrigins?: readonly string[]
  /** Where clients get tokens for this server (RFC 9728); then callers must be known. @default null */
  readonly protectedResource?: ProtectedResource | null
  /** The most bytes of a message. @default 1_048_576 */
  readonly maxMessageBytes?: number
  /** The most bytes of what a tool answers. @default 262_144 */
  readonly maxResultBytes?: number
  /** How long a client may keep its list of tools, in seconds. @default 60 */
  readonly toolsMaxAge?: number
}

const KINDS = {
  tools: 'names',
  path: 'name or null',
  shape: 'name',
  name: 'name',
  version: 'name',
  instructions: 'text',
  apiVersion: 'name',
  allowedOrigins: 'names',
  protectedResource: 'any',
  maxMessageBytes: 'size',
  maxResultBytes: 'size',
  toolsMaxAge: 'count',
} as const satisfies Record<keyof MCPOptions, Kind>

const SHAPES: readonly string[] = ['action', 'resource'] satisfies readonly ToolShape[]

export type SettledOptions = ReturnType<typeof settleMCPOptions>

/** @throws {ConfigurationError} one is missing, unknown, or of another kind */
export function settleMCPOptions(options: MCPOptions) {
  checkKinds('mcp()', options, { kinds: KINDS })
  const { tools, path = '/mcp', shape = 'action', allowedOrigins = [], protectedResource = null } = options
  if (!tools || tools.length === 0) throw wrong("tools is empty; name what agents may call, such as 'books'")
  if (!SHAPES.includes(shape)) throw wrong(`there is no shape "${shape}"; take action or resource`)
  if (path !== null && !/^\/[^?#]*[^/?#]$/.test(path)) {
    throw wrong(`path is ${JSON.stringify(path)}; write it as "/mcp", without a slash at the end`)
  }
  for (const origin of allowedOrigins) {
    if (originOf(origin) !== origin) throw wrong(`"${origin}" is no origin; write it as "https://app.example.org"`)
  }
  const { name = 'API', version = '1.0.0' } = options
  return {
    tools,
    path,
    shape,
    serverInfo: { name, version },
    instructions: options.instructions,
    apiVersion: options.apiVersion,
    origins: new Set(allowedOrigins),
    resource: protectedResource === null ? undefined : settleResource(protectedResource),
    maxMessageBytes: options.maxMessageBytes ?? 1_048_576,
    maxResultBytes: options.maxResultBytes ?? 262_144,
    toolsMaxAge: options.toolsMaxAge ?? 60,
  }
}

function originOf(text: string): string | undefined {
  return URL.canParse(text) ? new URL(text).origin : undefined
}

function wrong(problem: string): ConfigurationError {
  return new ConfigurationError(`mcp(): ${problem}`)
}
