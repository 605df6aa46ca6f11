/**
 * The key set of an issuer, kept as long as it may be used. It is not jose's `createRemoteJWKSet()`, which drops all keys as
 * soon as they are old and the issuer is away, reads answers of any size, takes any unknown name for a reason to ask again
 * while keys are renewed, and gives up a token whose `kid` two keys have.
 */

import { importJWK, type JWK } from 'jose'
import { ServiceUnavailable } from '../kernel/errors.js'
import { oneLine } from '../kernel/quote.js'
import { isError } from '../kernel/realms.js'
import type { JWTAlgorithm } from './algorithms.js'
import type { KeyList, KeySource, VerificationKey } from './key-list.js'
import { algorithmOf, UnusableKey } from './usable-key.js'

export interface RemoteKeySetOptions extends FetchLimits {
  readonly jwksUri: string
  readonly algorithms: readonly JWTAlgorithm[]
  readonly maxAgeSeconds: number
  readonly staleSeconds: number
  readonly cooldownSeconds: number
  /** In Unix milliseconds. */
  readonly now: () => number
}

/** How long is waited after a failure while no key is held, in seconds. */
const PAUSE_WITHOUT_KEYS = 1

export class RemoteKeySet implements KeySource {
  readonly #options: RemoteKeySetOptions
  #list: KeyList = { keys: [], serial: 0 }
  #begun = 0
  #running: Promise<void> | undefined
  /** When the keys were asked for that are held. */
  #loadedAt: number | undefined
  /** When the last request has ended. */
  #endedAt: number | undefined
  /** When a request was last begun for a name that nobody knew. */
  #askedAt: number | undefined
  /** Why the first of the keys that were read last cannot be used. */
  #unusable: string | undefined
  /** What the last request has ended with. */
  #failure: Error | undefined

  constructor(options: RemoteKeySetOptions) {
    this.#options = options
  }

  get begun(): number {
    return this.#begun
  }

  /**
   * The keys, renewed in the background from half of their age on. Old ones are waited for, unless the last request has failed:
   * then those that are held are used meanwhile.
   * @throws {ServiceUnavailable} none are held that may be used
   */
  async current(): Promise<KeyList> {
    const { maxAgeSeconds } = this.#options
    const age = this.#since(this.#loadedAt)
    if ((age >= maxAgeSeconds / 2 || !this.#isUsable()) && this.#waited() >= this.#pause()) this.#renew()
    if (!this.#isUsable() || (age >= maxAgeSeconds && !this.#failure)) await this.#running
    if (this.#isUsable()) return this.#list
    const wait = Math.ceil(this.#pause() - this.#waited())
    const reason = this.#unusable === undefined ? '' : `: ${this.#unusable}`
    throw new ServiceUnavailable(Math.max(1, wait), {
      cause: this.#failure ?? this.#failed(`it has no usable key${reason}`),
    })
  }

  async newerThan(list: KeyList, since: number): Promise<KeyList | undefined> {
    if (list.serial > since) return undefined
    if (list === this.#list) {
      if (!this.#running) {
        if (this.#since(this.#askedAt) < this.#options.cooldownSeconds) return undefined
        this.#askedAt = this.#options.now()
        this.#renew()
      }
      await this.#running
    }
    return list === this.#list ? undefined : this.#list
  }

  async close(): Promise<void> {
    await this.#running
  }

  /** Asks the issuer, one request at a time; it never rejects. */
  #renew(): void {
    this.#running ??= this.#load().finally(() => {
      this.#running = undefined
      this.#endedAt = this.#options.now()
    })
  }

  async #load(): Promise<void> {
    const { jwksUri, algorithms, now } = this.#options
    const serial = ++this.#begun
    const at = now()
    try {
      const entries = await fetchKeySet(jwksUri, this.#options)
      const read = await Promise.all(entries.map((entry) => readEntry(entry, algorithms)))
      this.#list = { keys: read.flatMap((key) => (key instanceof UnusableKey ? [] : [key])), serial }
      // quotes would be escaped in the line that tells it
      this.#unusable = read.find((key) => key instanceof UnusableKey)?.message.replaceAll('"', "'")
      this.#loadedAt = at
      this.#failure = undefined
    } catch (error) {
      const isFirst = !this.#failure
      this.#failure = this.#failed(reasonOf(error), error)
      if (isFirst && this.#isUsable()) this.#warn(this.#failure)
    }
  }

  #isUsable(): boolean {
    const { maxAgeSeconds, staleSeconds } = this.#options
    return this.#list.keys.length > 0 && this.#since(this.#loadedAt) < maxAgeSeconds + staleSeconds
  }

  /** How many seconds lie between two requests that no token has asked for. */
  #pause(): number {
    if (!this.#isUsable()) return Math.min(PAUSE_WITHOUT_KEYS, this.#options.cooldownSeconds)
    return this.#failure ? this.#options.cooldownSeconds : 0
  }

  #waited(): number {
    return this.#since(this.#endedAt)
  }

  /** Seconds since a time; for ever where it never was, or the clock was set back behind it. */
  #since(at: number | undefined): number {
    const seconds = at === undefined ? -1 : (this.#options.now() - at) / 1000
    return seconds < 0 ? Number.POSITIVE_INFINITY : seconds
  }

  #failed(reason: string, cause?: unknown): Error {
    return new Error(`The key set ${this.#options.jwksUri} cannot be used: ${oneLine(reason)}`, { cause })
  }

  #warn({ message }: Error): void {
    process.emitWarning(`${message}. The keys that are held are used until they are too old.`, {
      code: 'KOA_VIEWSETS_KEY_SET',
    })
  }
}

/** What a failed `fetch()` says lies in its cause. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as { readonly message: string; readonly cause?: unknown }
  return isError(cause) ? `${message} (${cause.message})` : message
}

/** What an answer may cost. */
interface FetchLimits {
  /** For the whole answer. */
  readonly timeoutSeconds: number
  readonly maxBytes: number
}

/** A hundred keys are more than issuers have; each is read at the price of a public key. */
const MOST_KEYS = 100

/**
 * The entries of a key set, unread. Redirects are not followed: keys come from the configured address only.
 * @throws {Error} the issuer is away or late, or answers anything but a key set; the message is for the log
 */
async function fetchKeySet(uri: string, limits: FetchLimits): Promise<readonly unknown[]> {
  const signal = AbortSignal.timeout(limits.timeoutSeconds * 1000)
  const response = await fetch(uri, {
    redirect: 'manual',
    signal,
    headers: { Accept: 'application/jwk-set+json, application/json' },
  })
  if (response.status !== 200) {
    await response.body?.cancel()
    const isRedirect = response.status >= 300 && response.status < 400
    throw new Error(`it answered ${response.status}${isRedirect ? '; redirects are not followed' : ''}`)
  }
  const entries = entriesOf(await readText(response, limits.maxBytes))
  if (entries === undefined) throw new Error('its answer is no JSON Web Key Set')
  if (entries.length > MOST_KEYS) throw new Error(`its answer has more than ${MOST_KEYS} keys`)
  return entries
}

/** @throws {Error} the answer is longer, counted after decompression */
async function readText({ body }: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  // leaving the loop ends the request
  for await (const chunk of body ?? []) {
    size += (chunk as Uint8Array).byteLength
    if (size > maxBytes) throw new Error(`its answer is longer than ${maxBytes} bytes`)
    chunks.push(chunk as Uint8Array)
  }
  // without a byte order mark, which some issuers send
  return new TextDecoder().decode(Buffer.concat(chunks))
}

function entriesOf(text: string): readonly unknown[] | undefined {
  try {
    const { keys } = JSON.parse(text) as { readonly keys?: unknown }
    return Array.isArray(keys) ? keys : undefined
  } catch {
    return undefined
  }
}

/** The members of a public key; all others, private ones above all, are left behind. */
const PUBLIC = ['kty', 'crv', 'n', 'e', 'x', 'y'] as const

/**
 * The key of an entry of a key set, or why it cannot be used. One that is malformed, of an unknown kind, private, secret, for
 * another use or too weak is passed over, so that it takes none of the others with it (RFC 7517 section 5).
 */
async function readEntry(entry: unknown, algorithms: readonly JWTAlgorithm[]): Promise<VerificationKey | UnusableKey> {
  if (typeof entry !== 'object' || entry === null) return new UnusableKey('what is published is no object')
  const jwk = entry as JWK
  // whose private part is published, is everybody's
  if (jwk.d || jwk.kty === 'oct') return new UnusableKey('it is private, or a secret')
  try {
    const algorithm = algorithmOf(jwk, algorithms)
    const members = Object.fromEntries(PUBLIC.flatMap((name) => (jwk[name] === undefined ? [] : [[name, jwk[name]]])))
    const key = await importJWK({ ...(members as JWK), alg: algorithm }, algorithm)
    if (key instanceof Uint8Array) throw new TypeError('a secret')
    return { kid: typeof jwk.kid === 'string' ? jwk.kid : undefined, algorithm, key }
  } catch (error) {
    return error instanceof UnusableKey ? error : new UnusableKey('it is no key that can be read')
  }
}
