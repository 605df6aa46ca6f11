/** A client that fires many requests at once and keeps what came back of each. */
import { once } from 'node:events'
import http from 'node:http'

export interface Shot {
  readonly method: string
  /** Sent as it is, byte for byte. */
  readonly path: string
  readonly headers?: http.OutgoingHttpHeaders
  readonly body?: string | Buffer | undefined
}

export interface Hit {
  readonly shot: Shot
  /** 0 when there was no answer. */
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly text: string
  readonly milliseconds: number
  /** Why there was no answer. */
  readonly failure?: string
}

export interface TrialClient {
  fire(shot: Shot): Promise<Hit>
  /** Fires all, some at a time, and hands on each hit. */
  fireAll(shots: Iterable<Shot>, onHit: (hit: Hit) => unknown, concurrency?: number): Promise<void>
  close(): void
}

export function createClient(port: number, { timeout = 60_000 } = {}): TrialClient {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 100 })
  const client: TrialClient = {
    fire: (shot) => fire(port, agent, shot, timeout),
    async fireAll(shots, onHit, concurrency = 16) {
      const iterator = shots[Symbol.iterator]()
      const work = async () => {
        for (let next = iterator.next(); !next.done; next = iterator.next()) await onHit(await client.fire(next.value))
      }
      await Promise.all(Array.from({ length: concurrency }, work))
    },
    close: () => agent.destroy(),
  }
  return client
}

/** JSON to a path. */
export function json(method: string, path: string, body?: unknown, headers: http.OutgoingHttpHeaders = {}): Shot {
  if (body === undefined) return { method, path, headers }
  return { method, path, headers: { 'Content-Type': 'application/json', ...headers }, body: JSON.stringify(body) }
}

export const as = (name: string): http.OutgoingHttpHeaders => ({ Authorization: `Token ${name}` })

async function fire(port: number, agent: http.Agent, shot: Shot, timeout: number, isRetry = false): Promise<Hit> {
  const begin = performance.now()
  const { method, path, headers = {}, body } = shot
  const done = (status: number, answered: http.IncomingHttpHeaders, text: string, failure?: string): Hit => ({
    shot,
    status,
    headers: answered,
    text,
    milliseconds: performance.now() - begin,
    ...(failure === undefined ? {} : { failure }),
  })
  let request: http.ClientRequest | undefined
  try {
    const length = body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) }
    request = http.request({
      port,
      host: '127.0.0.1',
      agent,
      method,
      path,
      headers: { ...length, ...headers },
      timeout,
    })
    request.on('timeout', () => request?.destroy(new Error('timeout')))
    const answered = once(request, 'response') as Promise<[http.IncomingMessage]>
    request.end(body)
    const [response] = await answered
    // the connection may be closed under a body that is still on its way
    request.on('error', () => {})
    const chunks: Buffer[] = []
    for await (const chunk of response) chunks.push(chunk as Buffer)
    return done(response.statusCode ?? 0, response.headers, Buffer.concat(chunks).toString())
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    // the server has closed the kept connection as we took it: every client sends such a request again
    if (request?.reusedSocket && (code === 'ECONNRESET' || code === 'EPIPE') && !isRetry) {
      return fire(port, agent, shot, timeout, true)
    }
    return done(0, {}, '', `${code ?? ''} ${message}`)
  }
}
