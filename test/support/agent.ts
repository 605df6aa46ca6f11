/** An agent's client, by the protocol's own package, of a test app. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { onTestFinished } from 'vitest'
import type { TestClient } from './server.js'

export const REVISIONS = ['2026-07-28', '2025-11-25'] as const
export type Revision = (typeof REVISIONS)[number]

export interface AgentOptions {
  readonly path?: string
  readonly revision?: Revision
  readonly headers?: Readonly<Record<string, string>>
}

/** Connects until the test ends. */
export async function connectAgent(server: TestClient, options: AgentOptions = {}): Promise<Client> {
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
