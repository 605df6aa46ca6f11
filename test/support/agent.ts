/** An agent's client, by the protocol's own package, of a test app. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { onTestFinished } from 'vitest'
import type { TestClient, TestRequest } from './server.js'

export const REVISIONS = ['2026-07-28', '2025-11-25'] as const
export type Revision = (typeof REVISIONS)[number]

export interface AgentOptions {
  readonly path?: string
  readonly revision?: Revision
  readonly headers?: Readonly<Record<string, string>>
}

/** Connects until the test ends. */
export async function connectAgent(server: Pick<TestClient, 'port'>, options: AgentOptions = {}): Promise<Client> {
  const { path = '/mcp', revision = '2026-07-28', headers = {} } = options
  const mode = revision === '2026-07-28' ? { pin: revision } : ('legacy' as const)
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
  const url = new URL(`http://127.0.0.1:${server.port}${path}`)
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }))
  onTestFinished(() => client.close())
  return client
}

export interface ToolAnswer {
  readonly texts: readonly string[]
  readonly json: unknown
  readonly isError: boolean
}

/** Calls a tool, and says what came of it. */
export async function callTool(client: Client, name: string, given: Record<string, unknown> = {}): Promise<ToolAnswer> {
  const result = await client.callTool({ name, arguments: given })
  const content = result.content as readonly { readonly text?: string }[]
  return {
    texts: content.map(({ text = '' }) => text),
    json: result.structuredContent,
    isError: result.isError === true,
  }
}

const META = 'io.modelcontextprotocol'

/** What every request of the revision 2026-07-28 says of itself. */
export const ENVELOPE = { [`${META}/protocolVersion`]: '2026-07-28', [`${META}/clientCapabilities`]: {} }

export interface RawMessage {
  readonly method?: string
  readonly params?: Record<string, unknown>
  readonly headers?: TestRequest['headers']
}

/** A message of the revision 2026-07-28 as it should be, with other parts in place of some. */
export function messageOf({ method = 'tools/list', params = {}, headers = {} }: RawMessage = {}): TestRequest {
  const own = typeof params['name'] === 'string' ? { 'Mcp-Name': params['name'] } : {}
  return {
    method: 'POST',
    path: '/mcp',
    headers: {
      Accept: 'application/json, text/event-stream',
      'Content-Type': 'application/json',
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': method,
      ...own,
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 7, method, params: { _meta: ENVELOPE, ...params } }),
  }
}
