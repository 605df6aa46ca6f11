/** OAuth 2.0 Protected Resource Metadata (RFC 9728): where clients get tokens for this server. */
import { ConfigurationError } from '../kernel/errors.js'
import type { Kind } from '../kernel/kinds.js'
import { checkKinds } from '../kernel/option-kinds.js'

/** What clients are told of a server that takes tokens. */
export interface ProtectedResource {
  /** The URL of the endpoint, as clients know it: `https://api.example.org/mcp`. Tokens are for it. */
  readonly resource: string
  /** The issuers of tokens, by their URLs. */
  readonly authorizationServers: readonly string[]
  /** The scopes that clients ask for. @default none are named */
  readonly scopesSupported?: readonly string[]
  /** What people are shown. @default nothing */
  readonly resourceName?: string
  /** A page for developers. @default nothing */
  readonly resourceDocumentation?: string
}

const KINDS = {
  resource: 'name',
  authorizationServers: 'names',
  scopesSupported: 'names',
  resourceName: 'name',
  resourceDocumentation: 'name',
} as const satisfies Record<keyof ProtectedResource, Kind>

const WELL_KNOWN = '/.well-known/oauth-protected-resource'

export interface SettledResource {
  /** The paths that the document is asked for by. */
  readonly paths: ReadonlySet<string>
  /** The document, as JSON. */
  readonly document: string
  /** A challenge with where the document is (section 5.1). */
  challenge(given: string): string
}

/** @throws {ConfigurationError} an option is wrong */
export function settleResource(options: ProtectedResource): SettledResource {
  checkKinds('mcp(): protectedResource', options, { kinds: KINDS })
  const { resource, authorizationServers, scopesSupported, resourceName, resourceDocumentation } = options
  const url = urlOf('resource', resource)
  if (url.hash !== '' || url.search !== '') {
    throw new ConfigurationError('mcp(): protectedResource: resource has a query or fragment; leave it out')
  }
  if (!authorizationServers || authorizationServers.length === 0) {
    throw new ConfigurationError('mcp(): protectedResource: authorizationServers is empty; name who issues tokens')
  }
  for (const issuer of authorizationServers) urlOf('authorizationServers', issuer)
  const own = url.pathname === '/' ? '' : url.pathname
  const document = {
    resource,
    authorization_servers: authorizationServers,
    bearer_methods_supported: ['header'],
    ...(scopesSupported && { scopes_supported: scopesSupported }),
    ...(resourceName !== undefined && { resource_name: resourceName }),
    ...(resourceDocumentation !== undefined && { resource_documentation: resourceDocumentation }),
  }
  const parameter = `resource_metadata="${url.origin}${WELL_KNOWN}${own}"`
  return {
    paths: new Set([WELL_KNOWN, WELL_KNOWN + own]),
    document: JSON.stringify(document),
    challenge: (given) => withParameter(given, parameter),
  }
}

/** A bearer's challenge with one more parameter; where there is none, one of its own before the others. */
function withParameter(given: string, parameter: string): string {
  const bearer = /(^|,\s*)Bearer(?=\s|,|$)/i.exec(given)
  if (!bearer) return [`Bearer ${parameter}`, given].filter((one) => one !== '').join(', ')
  const end = bearer.index + bearer[0].length
  const rest = given.slice(end)
  return `${given.slice(0, end)} ${parameter}${/^\s+[^\s,]/.test(rest) ? `,${rest}` : rest}`
}

function urlOf(name: string, text: unknown): URL {
  const url = typeof text === 'string' && URL.canParse(text) ? new URL(text) : undefined
  if (url && /^https?:$/.test(url.protocol)) return url
  throw new ConfigurationError(`mcp(): protectedResource: ${name} holds ${JSON.stringify(text)}, which is no URL`)
}
