/** Attempts to deliver a webhook, at receivers that answer, hang, lie, and lead elsewhere. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http'
import { createServer as createTLSServer } from 'node:https'
import { type AddressInfo, createServer as createTCPServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { ConfigurationError } from '../../../lib/kernel/errors.js'
import { type PostOptions, postWebhook, type WebhookRequest } from '../../../lib/webhooks/post-webhook.js'
import { createSecret, signWebhook } from '../../../lib/webhooks/sign-webhook.js'
import { selfSigned } from '../../support/certificate.js'
import { serveNames } from '../../support/name-server.js'
import { startProgram } from '../../support/program.js'

const NOT_PUBLIC = { status: undefined, problem: 'the host has an address that is not public' }
const LATE = { status: undefined, problem: 'there was no answer within 0.2 s' }
const STOPPED = { status: undefined, problem: 'the attempt was stopped' }
const CLOSED = { status: undefined, problem: 'the connection failed' }
const LOST = { status: undefined, problem: 'the connection failed (ECONNRESET)' }

/** A port of 127.0.0.1, and the connections that were made to it. */
interface Receiver {
  readonly port: number
  readonly sockets: readonly Socket[]
  /** Until all connections that were made have been closed by whoever made them, or by the receiver. */
  closed(): Promise<void>
}

async function listen(server: Server, host = '127.0.0.1'): Promise<Receiver> {
  const sockets: Socket[] = []
  const closed: Promise<unknown>[] = []
  server.on('connection', (socket: Socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    closed.push(new Promise((resolve) => socket.on('close', resolve)))
  })
  server.listen(0, host)
  await once(server, 'listening')
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  })
  return { port: (server.address() as AddressInfo).port, sockets, closed: async () => void (await Promise.all(closed)) }
}

const serve = (answer: RequestListener) => listen(createServer(answer))
/** What sends these bytes once it has been asked something, and then does something, or nothing. */
const serveBytes = (bytes: string, then: (socket: Socket) => void = () => {}) =>
  listen(
    createTCPServer((socket) => {
      socket.once('data', () => socket.write(bytes, () => then(socket)))
    }),
  )

const message = (url: string, body = '{}'): WebhookRequest => ({ url, body, headers: {} })
/** To 127.0.0.1 by http, as it is allowed for a network of one's own. */
const within: PostOptions = { allowHttp: true, allowedAddresses: ['127.0.0.1'] }
const post = ({ port }: Receiver, options: PostOptions = {}) =>
  postWebhook(message(`http://127.0.0.1:${port}/hook`), { ...within, ...options })

describe('a webhook', () => {
  it('is a signed POST of JSON', async () => {
    const secret = createSecret()
    const body = JSON.stringify({ type: 'book.created', data: { title: 'Ünïcode 🎉' } })
    const received = { method: '', path: '', headers: {} as IncomingHttpHeaders, body: '' }
    const receiver = await serve((request, response) => {
      const { method = '', url: path = '', headers } = request
      Object.assign(received, { method, path, headers })
      request.setEncoding('utf8').on('data', (chunk) => (received.body += String(chunk)))
      request.on('end', () => response.writeHead(204).end())
    })
    const headers = signWebhook({ id: 'msg_1', timestamp: Math.floor(Date.now() / 1000), body, secrets: [secret] })
    const url = `http://127.0.0.1:${receiver.port}/hooks/a%20b?c=d#e`
    expect(await postWebhook({ url, body, headers }, within)).toEqual({ status: 204 })
    expect(received).toMatchObject({ method: 'POST', path: '/hooks/a%20b?c=d', body })
    expect(received.headers).toEqual({
      ...headers,
      'content-type': 'application/json',
      'user-agent': 'koa-viewsets-webhooks',
      'content-length': String(Buffer.byteLength(body)),
      host: `127.0.0.1:${receiver.port}`,
      connection: 'close',
    })
    expect(new Webhook(secret).verify(received.body, received.headers as Record<string, string>)).toEqual(
      JSON.parse(body),
    )
    await receiver.closed()
  })

  it.each([200, 202, 301, 304, 400, 404, 410, 429, 500, 503])('has the status %d of its answer', async (status) => {
    const receiver = await serve((_, response) => response.writeHead(status).end())
    expect(await post(receiver)).toEqual({ status })
    await receiver.closed()
  })

  it.each([
    ['120', { status: 503, retryAfterSeconds: 120 }],
    ['Sun, 06 Nov 1994 08:49:37 GMT', { status: 503, retryAfterSeconds: 0 }],
    ['soon', { status: 503 }],
  ])('has the Retry-After of its answer: %s', async (value, expected) => {
    const receiver = await serve((_, response) => response.writeHead(503, { 'retry-after': value }).end())
    expect(await post(receiver)).toEqual(expected)
  })

  it('is not sent to where a redirect leads', async () => {
    const other = await serve((_, response) => response.end())
    for (const location of ['http://169.254.169.254/latest/meta-data/', `http://127.0.0.1:${other.port}/`]) {
      const receiver = await serve((_, response) => response.writeHead(307, { location }).end())
      expect(await post(receiver)).toEqual({ status: 307 })
    }
    expect(other.sockets).toHaveLength(0)
  })

  it('has the answer of a receiver that does not read it', async () => {
    const receiver = await serveBytes('HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n', (socket) => socket.pause())
    const url = `http://127.0.0.1:${receiver.port}/`
    expect(await postWebhook(message(url, 'x'.repeat(20_000_000)), within)).toEqual({ status: 413 })
    for (const socket of receiver.sockets) socket.resume()
    await receiver.closed()
    // what had not been sent by then is not sent for as long as it would have been read
    expect(receiver.sockets.map((socket) => socket.bytesRead < 20_000_000)).toEqual([true])
  })

  it('has a final status behind interim ones', async () => {
    const receiver = await serveBytes(
      'HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n',
    )
    expect(await post(receiver)).toEqual({ status: 201 })
  })

  it('does not come to be with headers that are none: a mistake of the application', async () => {
    const wrong = { ...message('http://127.0.0.1:1/'), headers: { 'webhook-id': 'a\r\nb' } }
    await expect(postWebhook(wrong, within)).rejects.toThrow(TypeError)
    await expect(postWebhook(message('https://x.test'), { allowedAddresses: ['x'] })).rejects.toThrow(
      ConfigurationError,
    )
  })
})

describe('a receiver that hangs', () => {
  it.each([
    ['at the start', 'http', () => {}],
    ['before TLS', 'https', () => {}],
    ['before the head', 'http', (socket: Socket) => void socket.resume()],
    ['in the head', 'http', (socket: Socket) => void socket.write('HTTP/1.1 200 OK\r\nx-head: ')],
    ['among interim answers', 'http', (socket: Socket) => void socket.write('HTTP/1.1 103 Early Hints\r\n\r\n')],
  ])('%s is given up in time, and let go of', async (_, protocol, begin: (socket: Socket) => void) => {
    const receiver = await listen(createTCPServer((socket) => begin(socket.resume())))
    const url = `${protocol}://127.0.0.1:${receiver.port}/`
    expect(await postWebhook(message(url), { ...within, timeoutSeconds: 0.2 })).toEqual(LATE)
    await receiver.closed()
  })

  it('with a head that has no end is given up, and let go of', async () => {
    const receiver = await serveBytes('HTTP/1.1 200 OK\r\n', (socket) => {
      const timer = setInterval(() => socket.write(`x-head: ${'x'.repeat(1000)}\r\n`), 1)
      socket.on('close', () => clearInterval(timer))
    })
    const problem = 'the connection failed (HPE_HEADER_OVERFLOW)'
    expect(await post(receiver)).toEqual({ status: undefined, problem })
    await receiver.closed()
  })

  it('in the body has answered when its time is over, and is let go of', async () => {
    const receiver = await serveBytes('HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n', (socket) => {
      const timer = setInterval(() => socket.write('x'), 10)
      socket.on('close', () => clearInterval(timer))
    })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const afterHead = () => setImmediate(() => vi.advanceTimersByTime(15_000))
    subscribe('http.client.response.finish', afterHead)
    onTestFinished(() => void unsubscribe('http.client.response.finish', afterHead))
    expect(await post(receiver)).toEqual({ status: 200 })
    expect(vi.getTimerCount()).toBe(0)
    await receiver.closed()
  })

  it('with a body that has no end has answered, and is let go of', async () => {
    let sent = 0
    const receiver = await serve((_, response) => {
      response.writeHead(500)
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(1024))) sent++
      }
      response.on('drain', more)
      more()
    })
    expect(await post(receiver)).toEqual({ status: 500 })
    await receiver.closed()
    // what buffers of the sockets hold, not what could be sent in 15 s
    expect(sent).toBeLessThan(20_000)
  })

  it('behind its answer, with the connection open, is let go of', async () => {
    const receiver = await serveBytes('HTTP/1.1 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\n{}')
    expect(await post(receiver)).toEqual({ status: 200 })
    await receiver.closed()
  })
})

describe('a receiver that speaks no HTTP', () => {
  it.each([
    ['closes at once', '', LOST],
    [
      'greets',
      'SSH-2.0-OpenSSH_9.6\r\n',
      { status: undefined, problem: 'the connection failed (HPE_INVALID_CONSTANT)' },
    ],
    ['breaks off in the head', 'HTTP/1.1 200 OK\r\nx-he', LOST],
    [
      'changes to another protocol',
      'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n',
      CLOSED,
    ],
    ['breaks off in the body', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx', { status: 200 }],
  ])('is a failure where there is no status: it %s', async (_, bytes, expected) => {
    const receiver = await serveBytes(bytes, (socket) => socket.end())
    expect(await post(receiver)).toEqual(expected)
    await receiver.closed()
  })

  it('is a failure where it listens no more', async () => {
    const server = createTCPServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    server.close()
    await once(server, 'close')
    const problem = 'the connection failed (ECONNREFUSED)'
    expect(await postWebhook(message(`http://127.0.0.1:${port}/`), within)).toEqual({ status: undefined, problem })
  })
})

describe('an attempt', () => {
  it('ends with its signal, before it and in each stage', async () => {
    const receiver = await listen(createTCPServer((socket) => void socket.resume()))
    expect(await post(receiver, { signal: AbortSignal.abort() })).toEqual(STOPPED)
    expect(receiver.sockets).toHaveLength(0)

    const connected = new AbortController()
    const answer = post(receiver, { signal: connected.signal })
    await expect.poll(() => receiver.sockets.length).toBe(1)
    connected.abort()
    expect(await answer).toEqual(STOPPED)
    await receiver.closed()

    const resolving = new AbortController()
    const resolve = () => new Promise<never>(() => resolving.abort())
    expect(await postWebhook(message('https://hooks.test/'), { resolve, signal: resolving.signal })).toEqual(STOPPED)
  })

  it('leaves nothing on the signal', async () => {
    const receiver = await serve((_, response) => response.end())
    const { signal } = new AbortController()
    const heard: string[] = []
    const { addEventListener, removeEventListener } = signal
    signal.addEventListener = (...values: Parameters<typeof addEventListener>) => {
      heard.push(`+${values[0]}`)
      addEventListener.apply(signal, values)
    }
    signal.removeEventListener = (...values: Parameters<typeof removeEventListener>) => {
      heard.push(`-${values[0]}`)
      removeEventListener.apply(signal, values)
    }
    await post(receiver, { signal })
    expect(heard).toEqual(['+abort', '-abort'])
  })
})

describe('a host', () => {
  it('is what its name server says, and that is what the connection is made to', async () => {
    const questions = await serveNames({ 'hooks.test': ['127.0.0.1'], 'inner.test': ['127.0.0.1', '127.0.0.2'] })
    const receiver = await serve((request, response) => response.end(request.headers.host))
    const answer = await postWebhook(message(`http://hooks.test:${receiver.port}/`), within)
    expect(answer).toEqual({ status: 200 })
    expect(await postWebhook(message(`http://inner.test:${receiver.port}/`), within)).toEqual(NOT_PUBLIC)
    expect(receiver.sockets).toHaveLength(1)
    expect(new Set(questions)).toEqual(new Set(['A hooks.test', 'AAAA hooks.test', 'A inner.test', 'AAAA inner.test']))
  })

  it('is asked for once in an attempt: what a name leads to afterwards is not', async () => {
    const allowed = await serve((_, response) => response.end())
    const inner = await listen(
      createServer((_, response) => response.end()).on('error', () => {}),
      '127.0.0.2',
    )
    const answers = [['127.0.0.1'], ['127.0.0.2']]
    const resolve = async () => answers.shift() ?? []
    expect(await postWebhook(message(`http://hooks.test:${allowed.port}/`), { ...within, resolve })).toEqual({
      status: 200,
    })
    expect(answers).toEqual([['127.0.0.2']])
    expect(await postWebhook(message(`http://hooks.test:${inner.port}/`), { ...within, resolve })).toEqual(NOT_PUBLIC)
    expect(inner.sockets).toHaveLength(0)
  })

  it('is tried at its other addresses where one refuses', async () => {
    const receiver = await serve((_, response) => response.end())
    const options = { allowHttp: true, allowedAddresses: ['127.0.0.0/8', '::1'] }
    const resolve = async () => ['::1', '127.0.0.3', '127.0.0.1']
    const answer = await postWebhook(message(`http://hooks.test:${receiver.port}/`), { ...options, resolve })
    expect(answer).toEqual({ status: 200 })
  })

  it.each(['127.0.0.1', '0x7f.1', '2130706433', '127.1', '[::ffff:7f00:1]', '[::1]', 'localhost', '0.0.0.0'])(
    'is not reached within, as %s',
    async (host) => {
      const receiver = await serve((_, response) => response.end())
      expect(await postWebhook(message(`http://${host}:${receiver.port}/`), { allowHttp: true })).toEqual(NOT_PUBLIC)
      expect(receiver.sockets).toHaveLength(0)
    },
  )

  it('is not found', async () => {
    await serveNames({})
    const problem = 'the host was not found (ENOTFOUND)'
    expect(await postWebhook(message('https://hooks.test/'))).toEqual({ status: undefined, problem })
    const resolve = () => Promise.reject(new Error('10.0.0.7 says no'))
    const own = await postWebhook(message('https://hooks.test/'), { resolve })
    expect(own).toEqual({ status: undefined, problem: 'the host was not found' })
  })

  it('whose name server says nothing is given up in time', async () => {
    await serveNames({ 'hooks.test': 'silence' })
    expect(await postWebhook(message('https://hooks.test/'), { timeoutSeconds: 0.2 })).toEqual(LATE)
  })

  it('whose resolver comes to no end is given up, and the resolver told', async () => {
    const told: boolean[] = []
    const resolve = (_host: string, signal: AbortSignal) =>
      new Promise<never>(() => signal.addEventListener('abort', () => told.push(signal.aborted)))
    expect(await postWebhook(message('https://hooks.test/'), { resolve, timeoutSeconds: 0.2 })).toEqual(LATE)
    expect(told).toEqual([true])
  })
})

describe('TLS', () => {
  const secure = (certificate: { cert: string; key: string }) =>
    listen(createTLSServer(certificate, (_, response) => void response.end()).on('tlsClientError', () => {}))
  const options = { allowedAddresses: ['127.0.0.1'], resolve: async () => ['127.0.0.1'] }

  it('is refused of a receiver that nobody vouches for', async () => {
    const { port } = await secure(selfSigned('hooks.test'))
    const problem = 'the connection failed (DEPTH_ZERO_SELF_SIGNED_CERT)'
    onTestFinished(() => void vi.unstubAllEnvs())
    for (const setting of ['1', '0']) {
      vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', setting)
      expect(await postWebhook(message(`https://hooks.test:${port}/`), options)).toEqual({ status: undefined, problem })
    }
  })

  it('is for the name of the URL, not for the address', async () => {
    const certificate = selfSigned('hooks.test', '*.other.test')
    const { port } = await secure(certificate)
    const file = join(tmpdir(), 'kv-webhooks-ca.pem')
    writeFileSync(file, certificate.cert)
    const hosts = ['hooks.test', 'a.other.test', 'hooks.test.', 'wrong.test', '127.0.0.1']
    const source = `
      import { postWebhook } from './lib/webhooks/post-webhook.ts'
      const options = { allowedAddresses: ['127.0.0.1'], resolve: async () => ['127.0.0.1'] }
      const answers = []
      for (const host of ${JSON.stringify(hosts)}) {
        const { status, problem } = await postWebhook({ url: 'https://' + host + ':${port}/', body: '{}', headers: {} }, options)
        answers.push(status ?? problem)
      }
      console.log(JSON.stringify(answers))`
    const args = ['--import', 'tsx', '--input-type=module', '--eval', source]
    const program = startProgram({ command: process.execPath, args, env: { NODE_EXTRA_CA_CERTS: file } })
    if (program.child.exitCode === null) await once(program.child, 'exit')
    const wrong = 'the connection failed (ERR_TLS_CERT_ALTNAME_INVALID)'
    // a newer Node may have warnings to print, too
    const printed = /^\[.*\]$/m.exec(program.output())?.[0] ?? program.output()
    expect(JSON.parse(printed)).toEqual([200, 200, 200, wrong, wrong])
  })
})
