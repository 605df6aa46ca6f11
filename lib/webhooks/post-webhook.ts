/** One attempt to deliver a webhook: a POST that ends in time, and goes nowhere but to addresses that were checked. */
import { type IncomingMessage, request as requestHttp } from 'node:http'
import { type RequestOptions, request as requestHttps } from 'node:https'
import { isIP, type LookupFunction, type TcpSocketConnectOpts } from 'node:net'
import { addressesOf, type ReceiverOptions, type Resolve, receiverProblem } from './receiver.js'
import { readRetryAfter } from './retry-after.js'
import { Undeliverable } from './undeliverable.js'

/** Request of a webhook. */
export interface WebhookRequest {
  readonly url: string
  /** Those of `signWebhook()`; others may replace `content-type` and `user-agent`. */
  readonly headers: Readonly<Record<string, string>>
  /** JSON, as it was signed. */
  readonly body: string
}

/** Options of `postWebhook()`. */
export interface PostOptions extends ReceiverOptions {
  /** Seconds for all of it together: name servers, connection, TLS, head and body of the answer. @default 15 */
  readonly timeoutSeconds?: number
  /** Finds the addresses of a host; what it finds is checked all the same. @default the name servers of the system */
  readonly resolve?: Resolve
  /** Ends the attempt. */
  readonly signal?: AbortSignal
}

/** Outcome of an attempt: the answer's status, or a short sentence that says why there is none. */
export type WebhookAnswer =
  | { readonly status: number; readonly retryAfterSeconds?: number }
  | { readonly status: undefined; readonly problem: string }

/** The bytes of an answer's body that are read, and thrown away; a receiver that is cut off may take its work for undone. */
const MOST_BODY_BYTES = 16 * 1024
/** Timeout of one of several addresses before the next is tried, in milliseconds: Node's own 250 are too few for far ones. */
const ATTEMPT_MILLISECONDS = 3_000

const HEADERS = { 'content-type': 'application/json', 'user-agent': 'koa-viewsets-webhooks' }

type Families = Pick<TcpSocketConnectOpts, 'autoSelectFamily' | 'autoSelectFamilyAttemptTimeout'>

const CONNECTING: RequestOptions & Families = {
  // a connection for this request alone, through no proxy
  agent: false,
  autoSelectFamily: true,
  autoSelectFamilyAttemptTimeout: ATTEMPT_MILLISECONDS,
  // whatever NODE_TLS_REJECT_UNAUTHORIZED says
  rejectUnauthorized: true,
}

/**
 * Sends a webhook once. Whatever the receiver does or its URL leads to is a value. Redirects are not followed: a 3xx is the
 * answer. The answer is known with its head, even where its body does not end in time.
 * @throws {ConfigurationError} a range of `allowedAddresses` is malformed
 */
export async function postWebhook(message: WebhookRequest, options: PostOptions = {}): Promise<WebhookAnswer> {
  const problem = receiverProblem(message.url, options)
  if (problem !== undefined) return { status: undefined, problem }
  const { timeoutSeconds = 15, signal } = options
  const ending = new AbortController()
  const stop = () => ending.abort(new Undeliverable('the attempt was stopped'))
  const late = () => ending.abort(new Undeliverable(`there was no answer within ${timeoutSeconds} s`))
  const timer = setTimeout(late, timeoutSeconds * 1000)
  signal?.addEventListener('abort', stop)
  if (signal?.aborted) stop()
  try {
    return await attempt(message, options, ending.signal)
  } catch (error) {
    if (error instanceof Undeliverable) return { status: undefined, problem: error.message }
    throw error
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', stop)
  }
}

async function attempt(message: WebhookRequest, options: PostOptions, signal: AbortSignal): Promise<WebhookAnswer> {
  const url = new URL(message.url)
  const addresses = await beforeEnd(addressesOf(url, options, signal), signal)
  return exchange(url, message, { addresses, signal })
}

/** The value, or the reason of the signal, whichever comes first: a resolver of the application may heed no signal. */
function beforeEnd<Value>(value: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const end = () => reject(signal.reason as Undeliverable)
    signal.addEventListener('abort', end, { once: true })
    if (signal.aborted) end()
    value.then(resolve, reject)
  })
}

interface Connection {
  readonly addresses: readonly string[]
  readonly signal: AbortSignal
}

/** Sends the request, and reads the answer as far as it is read. @throws {Undeliverable} there is none */
async function exchange(url: URL, message: WebhookRequest, { addresses, signal }: Connection): Promise<WebhookAnswer> {
  signal.throwIfAborted()
  const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, {
    ...CONNECTING,
    method: 'POST',
    headers: { ...HEADERS, ...message.headers },
    lookup: onlyTo(addresses),
  })
  try {
    return await new Promise((resolve, reject) => {
      let answer: WebhookAnswer | undefined
      const end = (error?: unknown) => (answer ? resolve(answer) : reject(asUndeliverable(error)))
      signal.addEventListener('abort', () => end(signal.reason), { once: true })
      request.on('error', end)
      request.on('close', end)
      request.on('response', (response) => {
        answer = answerOf(response)
        discard(response, end)
      })
      request.end(message.body)
    })
  } finally {
    request.destroy()
  }
}

/** Has the socket connect to what was checked, whatever name servers say by now. */
function onlyTo(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIP(address) }))
  // with `autoSelectFamily` all of them are asked for
  return (_host, _options, callback) => process.nextTick(callback, null, found)
}

function answerOf({ statusCode: status = 0, headers }: IncomingMessage): WebhookAnswer {
  const retryAfterSeconds = readRetryAfter(headers['retry-after'])
  return retryAfterSeconds === undefined ? { status } : { status, retryAfterSeconds }
}

/** Throws the body away, up to a limit; then, or where there is no more of it, the answer has ended. */
function discard(response: IncomingMessage, end: () => void): void {
  let left = MOST_BODY_BYTES
  response.on('data', (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) end()
  })
  response.on('error', end)
  response.on('close', end)
}

function asUndeliverable(error: unknown): Undeliverable {
  return error instanceof Undeliverable ? error : Undeliverable.by('the connection failed', error)
}
