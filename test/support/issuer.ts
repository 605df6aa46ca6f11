/** An issuer of tokens under the control of a test: keys, a key set that is served, a clock, and tokens of any content. */
import { createHmac, generateKeyPairSync, type JsonWebKey, type KeyObject, sign as signBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A point in time, in Unix seconds. */
export const NOW = 1_900_000_000

export const AUDIENCE = 'https://api.test'
export const ISSUER = 'https://id.test'

/** A key pair with its public half as it is published. */
export interface IssuerKey {
  readonly kid: string
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
  readonly jwk: JsonWebKey & { kid: string; [member: string]: unknown }
}

type Kind = 'rsa' | 'rsa1024' | 'ec' | 'ed25519'

/** A new key pair, by default of RSA with 2048 bits. */
export function issuerKey(kid: string, kind: Kind = 'rsa', members: object = {}): IssuerKey {
  const { privateKey, publicKey } = pairOf(kind)
  return { kid, privateKey, publicKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid, ...members } }
}

function pairOf(kind: Kind): { privateKey: KeyObject; publicKey: KeyObject } {
  if (kind === 'ec') return generateKeyPairSync('ec', { namedCurve: 'P-256' })
  if (kind === 'ed25519') return generateKeyPairSync('ed25519')
  return generateKeyPairSync('rsa', { modulusLength: kind === 'rsa' ? 2048 : 1024 })
}

/** What a token of the issuer usually says. */
export const usualClaims = {
  iss: ISSUER,
  aud: AUDIENCE,
  sub: 'alice',
  iat: NOW - 10,
  exp: NOW + 600,
  scope: 'read:books write:books',
}

const encode = (part: string | Buffer) => Buffer.from(part).toString('base64url')
const jsonOf = (part: object | string) => (typeof part === 'string' ? part : JSON.stringify(part))

/** A token of this content, a text being taken as it is, signed by a private key or a secret, as `alg` says. */
export function tokenOf(
  key: KeyObject | string,
  { header = {}, claims = {} }: { header?: object | string; claims?: object | string } = {},
): string {
  const alg = typeof key === 'string' ? 'HS256' : algorithmOf(key)
  const first = typeof header === 'string' ? header : jsonOf({ alg, typ: 'JWT', ...header })
  const second = typeof claims === 'string' ? claims : jsonOf({ ...usualClaims, ...claims })
  const input = `${encode(first)}.${encode(second)}`
  return `${input}.${signatureOf(key, input)}`
}

/** The token of a published key, with its name in the header. */
export function tokenBy(key: IssuerKey, parts: { header?: object; claims?: object | string } = {}): string {
  return tokenOf(key.privateKey, { ...parts, header: { kid: key.kid, ...parts.header } })
}

function algorithmOf({ asymmetricKeyType }: KeyObject): string {
  if (asymmetricKeyType === 'ec') return 'ES256'
  return asymmetricKeyType === 'ed25519' ? 'EdDSA' : 'RS256'
}

function signatureOf(key: KeyObject | string, input: string): string {
  if (typeof key === 'string') return createHmac('sha256', key).update(input).digest('base64url')
  const digest = key.asymmetricKeyType === 'ed25519' ? null : 'sha256'
  return signBytes(digest, Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')
}

export interface KeyServer {
  readonly url: string
  /** How often keys were asked for. */
  asked: number
  /** What is published; each may be any JSON. */
  keys: readonly unknown[]
  /** Answers in place of the keys. */
  answer: RequestListener | undefined
  /** Resolves when so many were asked in all. */
  askedTimes(count: number): Promise<void>
  close(): Promise<void>
}

/** Serves a key set on 127.0.0.1. */
export async function serveKeys(...keys: readonly unknown[]): Promise<KeyServer> {
  const waiting = new Set<() => void>()
  const server = createServer((request, response) => {
    issuer.asked++
    for (const look of waiting) look()
    if (issuer.answer) return issuer.answer(request, response)
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify({ keys: issuer.keys }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const issuer: KeyServer = {
    url: `http://127.0.0.1:${port}/keys`,
    asked: 0,
    keys,
    answer: undefined,
    askedTimes: (count) =>
      new Promise((resolve) => {
        const look = () => {
          if (issuer.asked < count) return
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        look()
      }),
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
  return issuer
}

/** A clock that stands still until it is moved, in Unix milliseconds. */
export function testClock(seconds = NOW) {
  let time = seconds * 1000
  return {
    now: () => time,
    /** Moves it by so many seconds. */
    pass: (by: number) => {
      time += by * 1000
    },
  }
}
