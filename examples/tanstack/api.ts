/** The client of the atlas, and how its results become those of queries. */
import { ClientError, createClient, type Result } from 'koa-viewsets/client'
// the types of the server, and nothing else of it
import type { Api } from '../atlas/api.js'

export const api = createClient<Api>('/api/v1', { headers: { authorization: 'Token alice-demo-token' } })

/** The data of a result, for functions that tell by throwing what went wrong. @throws ClientError the request has failed */
export async function dataOf<Data>(asked: Promise<Result<Data>>): Promise<Data> {
  const result = await asked
  if (result.ok) return result.data
  throw new ClientError(result)
}

/** False for what another try would not change. */
export function isWorthAnotherTry(error: unknown): boolean {
  return (
    error instanceof ClientError && ['unavailable', 'throttled', 'timeout', 'unreachable'].includes(error.failure.kind)
  )
}
