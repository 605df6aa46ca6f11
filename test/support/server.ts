/** A Koa app on a port of its own, and a client that sends exactly the bytes it is given. */
import { once } from 'node:events'
import http from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { gunzipSync } from 'node:zlib'
import type Koa from 'koa'

export interface TestClient {
  readonly port: number
  /** Sends one request and reads the whole answer. */
  send(request: TestRequest): Promise<TestResponse>
}

export interface TestServer extends TestClient {
  close(): Promise<void>
}

export interface TestRequest {
  /** @default 'GET', with a body 'POST' */
  method?: string
  /** @default '/' */
  path?: string
  headers?: http.OutgoingHttpHeaders
  /** A list is sent chunk by chunk, without Content-Length. */
  body?: string | Buffer | readonly (string | Buffer)[]
  agent?: http.Agent
}

export interface TestResponse {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly text: string
  /** The text as JSON; undefined when there is none. */
  readonly json: any
}

/**
 * Serves the app on 127.0.0.1.
 * @example
 * const server = await serve(app)
 * afterAll(() => server.close())
 */
export async function serve(app: Koa): Promise<TestServer> {
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  let closed: Promise<unknown> | undefined
  return {
    ...connectTo(port),
    async close() {
      closed ??= once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

/** A client of a server on 127.0.0.1. */
export function connectTo(port: number): TestClient {
  return { port, send: (request) => send(port, request) }
}

/** Writes the bytes to a new connection and returns what comes back until `until` is true of it, or the end. */
export async function exchange(
  port: number,
  bytes: string | Buffer,
  until = (text: string) => text.includes('\r\n\r\n'),
): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.write(bytes)
  let text = ''
  for await (const chunk of socket) {
    text += String(chunk)
    if (until(text)) break
  }
  socket.destroy()
  return text
}

async function send(port: number, { method, path, headers = {}, body, agent }: TestRequest): Promise<TestResponse> {
  const request = http.request({
    port,
    host: '127.0.0.1',
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    path: path ?? '/',
    headers:
      typeof body === 'string' || Buffer.isBuffer(body) ? { 'Content-Length': byteLength(body), ...headers } : headers,
    ...(agent && { agent }),
  })
  const answered = once(request, 'response') as Promise<[http.IncomingMessage]>
  for (const chunk of typeof body === 'string' || Buffer.isBuffer(body) ? [body] : (body ?? [])) request.write(chunk)
  request.end()
  const [response] = await answered
  // The connection may be closed under a body that is still on its way.
  request.on('error', () => {})
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  const bytes = Buffer.concat(chunks)
  const text = (
    response.headers['content-encoding'] === 'gzip' && bytes.length > 0 ? gunzipSync(bytes) : bytes
  ).toString()
  const isJson = response.headers['content-type']?.startsWith('application/json') && text !== ''
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    text,
    json: isJson ? JSON.parse(text) : undefined,
  }
}

function byteLength(body: string | Buffer): number {
  return Buffer.byteLength(body)
}
