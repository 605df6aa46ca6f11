/** Messages of agents, byte for byte, as no client of a package lets one write them. */
import type http from 'node:http'
import type { Revision } from '../../support/agent.js'

/** What a message says besides its method. */
export interface Said {
  readonly params?: Readonly<Record<string, unknown>>
  /** @default 1 */
  readonly id?: number | string
  readonly headers?: http.OutgoingHttpHeaders
}

export interface AgentMessage {
  readonly headers: http.OutgoingHttpHeaders
  readonly body: string
}

/** Where a request of 2026-07-28 says all about itself. */
export const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'trust', version: '1' },
} as const

/** A request of a revision, with the headers that it needs. */
export function agentMessage(revision: Revision, method: string, said: Said = {}): AgentMessage {
  const { params = {}, id = 1, headers = {} } = said
  const isStateless = revision === '2026-07-28'
  const whole = isStateless ? { ...params, _meta: META } : params
  const routing = isStateless && {
    'Mcp-Method': method,
    ...(typeof params['name'] === 'string' && { 'Mcp-Name': headerText(params['name']) }),
  }
  return {
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': revision,
      ...routing,
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id, method, params: whole }),
  }
}

/** A name as a header holds it: what is no visible ASCII by its base64. */
export function headerText(name: string): string {
  const isPlain = /^[!-~]+$/.test(name) && !name.startsWith('=?')
  return isPlain ? name : `=?base64?${Buffer.from(name).toString('base64')}?=`
}
