/** Tokens of issuers that others have written, asked for as clients do, while their keys change under load. */
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { HasScope } from 'koa-viewsets'
import { JWTAuthentication } from 'koa-viewsets/jwt'
import { OAuth2Server } from 'oauth2-mock-server'
import Provider from 'oidc-provider'
import { afterEach, describe, expect, it } from 'vitest'
import type { Client } from '../support/client.js'
import { issuerKey } from '../support/issuer.js'
import { surfaces } from '../support/surfaces.js'
import { size } from '../trust/support/size.js'

const AUDIENCE = 'https://api.test'
const COOLDOWN = 30
const ROTATIONS = size(2, 5)
const CALLERS = 8

/** The clock of the API: real, as the tokens are, and moved on where a cool-down has to be over. */
let ahead = 0
const now = () => Date.now() + ahead * 1000

let closing: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const close of closing.reverse()) await close()
  closing = []
  ahead = 0
})

/** An issuer under test. */
interface Issuer {
  readonly issuer: string
  readonly jwksUri: string
  /** A new token, by the client credentials grant. */
  token(): Promise<string>
  /** Signs with another key from now on. The one before stays published, older ones do not have to. */
  rotate(number: number): Promise<void>
  /** The names of the keys that are published. */
  published(): Promise<readonly string[]>
}

/** An issuer that publishes keys before it uses them. */
interface Announcing {
  announce(number: number): Promise<void>
}

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(async () => {
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function askForToken(endpoint: string, parameters: Record<string, string>): Promise<string> {
  const response = await fetch(endpoint, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'client_credentials', ...parameters }),
    headers: { Authorization: `Basic ${Buffer.from('client:secret').toString('base64')}` },
  })
  const { access_token } = (await response.json()) as { access_token: string }
  return access_token
}

async function namesOf(jwksUri: string): Promise<string[]> {
  const { keys } = (await (await fetch(jwksUri)).json()) as { keys: { kid: string }[] }
  return keys.map(({ kid }) => kid)
}

/** oidc-provider, with JWT access tokens for one API (RFC 9068). */
async function oidcProvider(): Promise<Issuer & Announcing> {
  let handle: RequestListener
  const issuer = await listen(createServer((request, response) => handle(request, response)))
  let keys = [privateKey(0)]
  let next: object | undefined
  const start = () => {
    handle = new Provider(issuer, {
      clients: [
        {
          client_id: 'client',
          client_secret: 'secret',
          grant_types: ['client_credentials'],
          redirect_uris: [],
          response_types: [],
        },
      ],
      // the first one signs
      jwks: { keys: next ? [...keys, next] : keys },
      scopes: ['read:books'],
      features: {
        devInteractions: { enabled: false },
        clientCredentials: { enabled: true },
        resourceIndicators: {
          enabled: true,
          defaultResource: () => AUDIENCE,
          useGrantedResource: () => true,
          getResourceServerInfo: () => ({
            scope: 'read:books',
            audience: AUDIENCE,
            accessTokenFormat: 'jwt',
            accessTokenTTL: 7200,
            jwt: { sign: { alg: 'RS256' } },
          }),
        },
      },
    }).callback()
  }
  start()
  const jwksUri = `${issuer}/jwks`
  return {
    issuer,
    jwksUri,
    token: () => askForToken(`${issuer}/token`, { scope: 'read:books' }),
    async announce(number) {
      next = privateKey(number)
      start()
    },
    async rotate(number) {
      keys = [next ?? privateKey(number), ...keys.slice(0, 1)]
      next = undefined
      start()
    },
    published: () => namesOf(jwksUri),
  }
}

function privateKey(number: number): object {
  const { privateKey: key } = issuerKey(`key-${number}`)
  return { ...key.export({ format: 'jwk' }), kid: `key-${number}`, alg: 'RS256', use: 'sig' }
}

/** oauth2-mock-server, whose keys stay published. */
async function mockServer(): Promise<Issuer> {
  const server = new OAuth2Server()
  await server.issuer.keys.generate('RS256', { kid: 'key-0' })
  await server.start(0, '127.0.0.1')
  closing.push(() => server.stop())
  const issuer = server.issuer.url as string
  server.service.on('beforeTokenSigning', (token: { payload: Record<string, unknown> }) => {
    Object.assign(token.payload, { aud: AUDIENCE, sub: 'client' })
  })
  return {
    issuer,
    jwksUri: `${issuer}/jwks`,
    token: () => askForToken(`${issuer}/token`, { scope: 'read:books' }),
    rotate: async (number) => void (await server.issuer.keys.generate('RS256', { kid: `key-${number}` })),
    published: () => namesOf(`${issuer}/jwks`),
  }
}

async function serveApi(issuer: Issuer, options: object = {}): Promise<Client> {
  const scheme = new JWTAuthentication({
    issuer: issuer.issuer,
    audience: AUDIENCE,
    algorithms: ['RS256'],
    jwksUri: issuer.jwksUri,
    keySet: { cooldownSeconds: COOLDOWN },
    now,
    ...options,
  })
  const client = await surfaces['a view set']!({ authentication: [scheme], permissions: [new HasScope('read:books')] })
  closing.push(() => client.close())
  return client
}

const kidOf = (token: string) =>
  (JSON.parse(Buffer.from(token.split('.')[0] as string, 'base64url').toString()) as { kid: string }).kid
const bearer = (token: string) => ({ Authorization: `Bearer ${token}` })

describe.each<[string, () => Promise<Issuer>, string]>([
  ['oidc-provider', oidcProvider, 'at+jwt'],
  ['oauth2-mock-server', mockServer, ''],
])('tokens of %s', (_name, start, typ) => {
  it('are taken, with their claims and scopes', async () => {
    const issuer = await start()
    const client = await serveApi(issuer, typ === '' ? {} : { typ })
    const { status, json } = await client.get('/things', bearer(await issuer.token()))
    expect(status).toBe(200)
    expect(json.auth).toMatchObject({
      scheme: 'JWT',
      scopes: ['read:books'],
      claims: { iss: issuer.issuer, aud: AUDIENCE },
    })
    expect(json.user).toEqual({ id: json.auth.claims.sub })
  })

  it('are refused for another API', async () => {
    const issuer = await start()
    const client = await serveApi(issuer, { audience: 'https://other.test' })
    const { status, headers } = await client.get('/things', bearer(await issuer.token()))
    expect([status, headers['www-authenticate']]).toEqual([
      401,
      'Bearer realm="api", error="invalid_token", error_description="The token is for another audience"',
    ])
  })

  it('are all taken while keys change under load and are used at once, as long as they are published', async () => {
    const issuer = await start()
    const client = await serveApi(issuer)
    const load = loadOf(issuer, client)
    for (let rotation = 0; rotation <= ROTATIONS; rotation++) {
      // the cool-down since the last new name is over
      ahead += COOLDOWN
      if (rotation > 0) await issuer.rotate(rotation)
      await load.uses(`key-${rotation}`)
    }
    await load.stop()
    expectAllTaken(load, client)
  }, 60_000)
})

interface Waited {
  readonly promise: Promise<void>
  resolve(): void
}

function withResolvers(): Waited {
  let resolve = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

/** What callers have seen. */
interface Load {
  /** Resolves when callers have used a token of this key, whatever was answered. */
  uses(kid: string): Promise<void>
  /** Resolves after so many more answers. */
  more(count: number): Promise<void>
  stop(): Promise<void>
  readonly answers: ReadonlyMap<number, number>
  /** Refused tokens whose key is published. */
  readonly wrong: readonly unknown[]
}

/** Callers who ask for a token, use it four times, and so on; with `forge` they send one of an unknown name each time, too. */
function loadOf(issuer: Issuer, client: Client, { forge = false } = {}): Load {
  const answers = new Map<number, number>()
  const wrong: unknown[] = []
  const used = new Map<string, Waited>()
  let waiting: { count: number; resolve: () => void }[] = []
  let running = true

  function useOf(kid: string): Waited {
    const use = used.get(kid) ?? withResolvers()
    used.set(kid, use)
    return use
  }

  async function call(token: string): Promise<void> {
    const { status, headers } = await client.get('/things', bearer(token))
    answers.set(status, (answers.get(status) ?? 0) + 1)
    const kid = kidOf(token)
    useOf(kid).resolve()
    for (const one of waiting) if (--one.count <= 0) one.resolve()
    waiting = waiting.filter(({ count }) => count > 0)
    if (status !== 200 && (await issuer.published()).includes(kid)) {
      wrong.push([kid, status, headers['www-authenticate']])
    }
  }

  const callers = Array.from({ length: CALLERS }, async () => {
    while (running) {
      const token = await issuer.token()
      for (let use = 0; use < 4; use++) await call(token)
      if (forge) expect((await client.get('/things', bearer(forgedOf(token)))).status).toBe(401)
    }
  })
  return {
    answers,
    wrong,
    uses: (kid) => useOf(kid).promise,
    more: (count) => new Promise((resolve) => waiting.push({ count, resolve })),
    async stop() {
      running = false
      await Promise.all(callers)
    },
  }
}

function expectAllTaken({ answers, wrong }: Load, client: Client): void {
  expect(wrong).toEqual([])
  expect([...answers.keys()].filter((status) => status >= 500)).toEqual([])
  expect(client.reported).toEqual([])
}

const forgedOf = (token: string) =>
  token.replace(/^[^.]+/, () =>
    Buffer.from(JSON.stringify({ alg: 'RS256', kid: `forged-${Math.random()}` })).toString('base64url'),
  )

describe('keys that are published before they are used', () => {
  it('are all known, though forged tokens take each cool-down for themselves', async () => {
    const issuer = await oidcProvider()
    const client = await serveApi(issuer)
    const load = loadOf(issuer, client, { forge: true })
    for (let rotation = 1; rotation <= ROTATIONS; rotation++) {
      await issuer.announce(rotation)
      // half of the age of keys: the next request renews them
      ahead += 300
      await load.more(CALLERS)
      await issuer.rotate(rotation)
      await load.uses(`key-${rotation}`)
    }
    await load.stop()
    expectAllTaken(load, client)
  }, 60_000)
})

const publishedBy = async ({ jwksUri }: Issuer) => (await fetch(jwksUri)).text()

describe('an issuer that is away', () => {
  it('is 503 with Retry-After while no key was ever had, and is asked for nothing at the start', async () => {
    const issuer = await oidcProvider()
    const token = await issuer.token()
    let asked = 0
    let away = true
    const gate = await listen(
      createServer((_request, response) => {
        asked++
        if (away) response.writeHead(502).end()
        else void publishedBy(issuer).then((text) => response.end(text))
      }),
    )
    const client = await serveApi({ ...issuer, jwksUri: `${gate}/jwks` })
    expect(asked).toBe(0)
    const answer = await client.get('/things', bearer(token))
    expect(answer).toMatchObject({
      status: 503,
      text: '{"detail":"Service temporarily unavailable","status":503}',
      headers: { 'retry-after': '1' },
    })
    expect(client.reported).toMatchObject([
      { status: 503, cause: { message: expect.stringMatching(/it answered 502$/) } },
    ])
    // what is wrong in itself needs no key
    expect((await client.get('/things', bearer('a.b.c'))).status).toBe(401)
    expect((await client.get('/things')).status).toBe(401)
    expect(asked).toBe(1)
    away = false
    ahead += 1
    expect((await client.get('/things', bearer(token))).status).toBe(200)
    away = true
    ahead += 700
    expect((await client.get('/things', bearer(token))).status).toBe(200)
    expect((await client.get('/things', bearer(forgedOf(token)))).status).toBe(401)
  })
})
