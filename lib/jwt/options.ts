/** Options of `JWTAuthentication`, checked before any request. */
import type { Context } from '../http/context.js'
import { ConfigurationError } from '../kernel/errors.js'
import type { Kind } from '../kernel/kinds.js'
import { oncePer } from '../kernel/once-per.js'
import { checkKinds } from '../kernel/option-kinds.js'
import { quote } from '../kernel/quote.js'
import { isAlgorithm, isSymmetric, type JWTAlgorithm, NAMES } from './algorithms.js'
import { type JWTKey, type KeySource, staticKeys } from './key-list.js'
import { RemoteKeySet } from './remote-key-set.js'
import { type ClaimRules, type HeaderRules, type JWTClaims, typeName } from './verify-token.js'

/** How the keys of an issuer are kept. */
export interface KeySetOptions {
  /** From this age on keys are not used before they were asked for again. @default 600 */
  readonly maxAgeSeconds?: number
  /** How long they are used beyond that while the issuer does not answer. @default 3600 */
  readonly staleSeconds?: number
  /** How often at most the issuer is asked because of a `kid` that is unknown, and again after a failure. @default 10 */
  readonly cooldownSeconds?: number
  /** How long one answer may take. @default 5 */
  readonly timeoutSeconds?: number
  /** How long one answer may be, decompressed. @default 262144 */
  readonly maxBytes?: number
}

interface RemoteKeys {
  /** Where the issuer publishes its keys: `https`, or `http` on this host. Asked when the first token comes, not before. */
  readonly jwksUri: string
  readonly keySet?: KeySetOptions
  /** Take a `jwksUri` with `http` on another host: who is between can give you keys of his own. @default false */
  readonly allowHttp?: boolean
  readonly key?: never
}

interface OwnKeys {
  /** The keys, in place of `jwksUri`. Each serves one algorithm: the first that it fits, or that its `alg` names. */
  readonly key: JWTKey | readonly JWTKey[]
  readonly jwksUri?: never
  readonly keySet?: never
  readonly allowHttp?: never
}

interface CommonOptions {
  /** What `iss` must be, or one of. */
  readonly issuer: string | readonly string[]
  /** What `aud` must be or contain: the name of this API, or one of several. */
  readonly audience: string | readonly string[]
  /** How tokens may be signed: with keys of either kind, public or secret, not of both. */
  readonly algorithms: readonly JWTAlgorithm[]
  /** By how many seconds the clocks of issuer and API may differ, at most 300. @default 30 */
  readonly clockTolerance?: number
  /** What `typ` must be, such as `at+jwt` (RFC 9068). @default `JWT`, `at+jwt` or none */
  readonly typ?: string | readonly string[]
  /** The longest `Authorization` header that is read, in characters. @default 8192 */
  readonly maxTokenLength?: number
  /** Takes tokens without `sub`, such as those of machines at some issuers: `getUser` tells their users. @default false */
  readonly allowNoSubject?: boolean
  /** The user of a token, also asynchronously; null or undefined where there is none (any more). @default { id: claims.sub } */
  readonly getUser?: (claims: JWTClaims, ctx: Context) => unknown
  /** The issuer's OpenID Connect discovery document, for the OpenAPI document; it is not read. */
  readonly openIdConnectUrl?: string
  /** The clock, in Unix milliseconds. @default Date.now */
  readonly now?: () => number
}

/** Options of `JWTAuthentication`. */
export type JWTAuthenticationOptions = CommonOptions & (RemoteKeys | OwnKeys)

/** Options that were checked. */
export interface JWTRules extends HeaderRules, ClaimRules {
  readonly keys: KeySource
  readonly maxTokenLength: number
}

const KEY_SET_KINDS = {
  maxAgeSeconds: 'size',
  staleSeconds: 'count',
  cooldownSeconds: 'size',
  timeoutSeconds: 'number',
  maxBytes: 'size',
} as const satisfies Record<keyof KeySetOptions, Kind>

const MOST_TOLERANCE = 300

/** @throws {ConfigurationError} something is missing or cannot be; the message shows no key */
export function resolveOptions(where: string, options: JWTAuthenticationOptions): JWTRules {
  const { clockTolerance = 30, maxTokenLength = 8192, now = Date.now, typ } = options
  const algorithms = checkAlgorithms(where, options.algorithms)
  if (clockTolerance > MOST_TOLERANCE) {
    throw new ConfigurationError(
      `${where}: clockTolerance is ${clockTolerance}; give seconds, at most ${MOST_TOLERANCE}, and set the clocks`,
    )
  }
  if (options.openIdConnectUrl !== undefined) checkUrl(where, 'openIdConnectUrl', options.openIdConnectUrl, true)
  return {
    algorithms,
    issuers: namesOf(where, 'issuer', options.issuer),
    audiences: namesOf(where, 'audience', options.audience),
    types: typ === undefined ? undefined : namesOf(where, 'typ', typ).map(typeName),
    clockTolerance,
    maxTokenLength,
    now,
    keys: keysOf(where, options, { algorithms, now }),
  }
}

function checkAlgorithms(where: string, given: readonly string[] | undefined): readonly JWTAlgorithm[] {
  if (given === undefined || given.length === 0) {
    throw new ConfigurationError(`${where}: algorithms are missing; give those that your issuer signs with, ['RS256']`)
  }
  const unknown = given.find((name) => !isAlgorithm(name))
  if (unknown !== undefined) {
    throw new ConfigurationError(`${where}: algorithms has ${quote(unknown)}; take some of ${NAMES.join(', ')}`)
  }
  const algorithms = given as readonly JWTAlgorithm[]
  if (new Set(algorithms.map(isSymmetric)).size > 1) {
    throw new ConfigurationError(
      `${where}: algorithms ${algorithms.join(', ')} take secrets and public keys; give those of one kind, and to the other kind a class of its own`,
    )
  }
  return [...new Set(algorithms)]
}

function namesOf(where: string, option: string, given: string | readonly string[] | undefined): readonly string[] {
  const names = typeof given === 'string' ? [given] : (given ?? [])
  if (names.length === 0) throw new ConfigurationError(`${where}: ${option} is missing; give what tokens must say`)
  return names
}

interface KeyRules {
  readonly algorithms: readonly JWTAlgorithm[]
  readonly now: () => number
}

function keysOf(where: string, options: JWTAuthenticationOptions, { algorithms, now }: KeyRules): KeySource {
  const { key, jwksUri, keySet = {}, allowHttp = false } = options
  if ((key === undefined) === (jwksUri === undefined)) {
    throw new ConfigurationError(`${where}: give jwksUri, or key, and not both`)
  }
  if (key !== undefined) return staticKeys(where, Array.isArray(key) ? key : [key as JWTKey], algorithms)
  const uri = checkUrl(where, 'jwksUri', jwksUri, allowHttp)
  if (algorithms.some(isSymmetric)) {
    throw new ConfigurationError(
      `${where}: jwksUri publishes keys, and ${algorithms.join(', ')} takes a secret; give it as key`,
    )
  }
  checkKinds(`${where}: keySet`, keySet, { kinds: KEY_SET_KINDS })
  const {
    maxAgeSeconds = 600,
    staleSeconds = 3600,
    cooldownSeconds = 10,
    timeoutSeconds = 5,
    maxBytes = 262_144,
  } = keySet
  if (!(timeoutSeconds > 0 && timeoutSeconds <= 60)) {
    throw new ConfigurationError(`${where}: timeoutSeconds is ${timeoutSeconds}; give more than 0, at most 60`)
  }
  const limits = { maxAgeSeconds, staleSeconds, cooldownSeconds, timeoutSeconds, maxBytes }
  const name = JSON.stringify([uri, algorithms, limits])
  const known = keySetsOf(now).get(name)
  if (known) return known
  const made = new RemoteKeySet({ jwksUri: uri, algorithms, now, ...limits })
  keySetsOf(now).set(name, made)
  return made
}

/** The key sets of a process: a class that stands in twenty lists asks its issuer once. They are as many as configurations. */
const keySetsOf = oncePer((_now: () => number) => new Map<string, RemoteKeySet>())

const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/

/** @throws {ConfigurationError} it is no address, or one that anybody on the way can change */
function checkUrl(where: string, option: string, given: string, allowHttp: boolean): string {
  const url = URL.canParse(given) ? new URL(given) : undefined
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new ConfigurationError(`${where}: ${option} is ${quote(given)}; give the whole address, "https://…"`)
  }
  if (url.username !== '' || url.password !== '') {
    throw new ConfigurationError(`${where}: ${option} has a user or a password, which fetch() does not send`)
  }
  if (url.protocol === 'http:' && !allowHttp && !LOOPBACK.test(url.hostname)) {
    throw new ConfigurationError(
      `${where}: ${option} is ${quote(given)}; give https, or allowHttp: true where the network between is your own`,
    )
  }
  return url.href
}
