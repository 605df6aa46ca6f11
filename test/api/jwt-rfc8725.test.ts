/** Tokens that must be refused: one case for each point of RFC 8725, whose section the title names, and more of their kind. */
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { APIRouter, ViewSet } from 'koa-viewsets'
import { JWTAuthentication } from 'koa-viewsets/jwt'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Client, serving } from '../support/client.js'
import {
  AUDIENCE,
  ISSUER,
  issuerKey,
  type KeyServer,
  NOW,
  serveKeys,
  testClock,
  tokenBy,
  tokenOf,
  usualClaims,
} from '../support/issuer.js'

const rsa = issuerKey('rsa-1')
const other = issuerKey('rsa-2')
const ec = issuerKey('ec-1', 'ec')
const pem = rsa.publicKey.export({ type: 'spki', format: 'pem' }) as string
const secret = 'a secret that nobody knows, 40 letters..'

const { now } = testClock()
const common = { issuer: ISSUER, audience: AUDIENCE, now }
const byKey = (options: object = {}) =>
  new JWTAuthentication({
    ...common,
    algorithms: ['RS256', 'ES256'],
    key: [rsa.jwk, ec.jwk],
    ...options,
  })

const open = byKey()
const hmac = byKey({ algorithms: ['HS256'], key: secret })

let issuer: KeyServer
const clients = new Map<JWTAuthentication, Client>()

beforeAll(async () => {
  issuer = await serveKeys(rsa.jwk, ec.jwk)
})

afterAll(async () => {
  await issuer.close()
  for (const client of clients.values()) await client.close()
})

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` })
const challengeOf = (description: string) =>
  `Bearer realm="api", error="invalid_token", error_description="${description}"`
const refused = (description: string) => ({
  status: 401,
  text: '{"detail":"Invalid token","status":401}',
  headers: { 'www-authenticate': challengeOf(description) },
})

/** A view set that anybody may use, and that says who asks. */
async function serveThings(scheme: JWTAuthentication): Promise<Client> {
  class Things extends ViewSet {
    static override authenticationClasses = [scheme]
    list() {
      const { user = null, auth = null } = this.ctx.state
      return { user, auth }
    }
  }
  return serving(new APIRouter().register('things', Things, 'thing').routes())
}

/** Sends a token to a view set that anybody may use; nothing is ever an error of the server. */
async function get(scheme: JWTAuthentication, token: string) {
  const client = clients.get(scheme) ?? (await serveThings(scheme))
  clients.set(scheme, client)
  const answer = await client.get('/things', bearer(token))
  expect(client.reported).toEqual([])
  return answer
}

async function wrong(token: string, description: string, scheme = open): Promise<void> {
  expect(await get(scheme, token)).toMatchObject(refused(description))
}

const unsigned = 'The signature is not of a known key'
const notAccepted = 'The algorithm of the token is not accepted'

describe('RFC 8725', () => {
  it.each(['none', 'None', 'NONE', 'nOnE', '', null, undefined, 7, ['RS256'], {}, 'constructor', 'rs256'])(
    'sections 2.1 and 3.1: the algorithm %j is none that is accepted',
    async (alg) => {
      const [, payload] = tokenBy(rsa).split('.')
      const header = Buffer.from(JSON.stringify({ alg, typ: 'JWT', kid: rsa.kid })).toString('base64url')
      await wrong(`${header}.${payload}.AAAA`, notAccepted)
      await wrong(`${header}.${payload}.`, 'The token is no signed JWT')
    },
  )

  it('sections 2.1 and 3.1: a public key is no secret of HS256', async () => {
    for (const material of [
      pem,
      pem.trim(),
      rsa.publicKey.export({ type: 'spki', format: 'der' }).toString('latin1'),
    ]) {
      const forged = tokenOf(material, { header: { kid: rsa.kid } })
      await wrong(forged, notAccepted)
      const jwksUri = { ...common, algorithms: ['RS256'], jwksUri: issuer.url } as const
      await wrong(forged, notAccepted, new JWTAuthentication(jwksUri))
    }
  })

  it('section 3.1: a key serves one algorithm only', async () => {
    // the same signature under another name
    const signed = tokenBy(rsa, { header: { alg: 'PS256' } })
    await wrong(signed, notAccepted)
    const both = byKey({ algorithms: ['RS256', 'PS256'], key: [rsa.jwk, { ...other.jwk, alg: 'PS256' }] })
    await wrong(signed, unsigned, both)
  })

  it('section 3.2: a signature of zeros is none (CVE-2022-21449)', async () => {
    const [header, payload] = tokenBy(ec).split('.')
    await wrong(`${header}.${payload}.${Buffer.alloc(64).toString('base64url')}`, unsigned)
    for (const length of [1, 63, 65, 72, 500]) {
      await wrong(`${header}.${payload}.${Buffer.alloc(length).toString('base64url')}`, unsigned)
    }
  })

  it('section 3.3: claims and header are covered by the signature, and another key has not signed', async () => {
    const [header = '', payload = '', signature = ''] = tokenBy(rsa).split('.')
    const admin = Buffer.from(JSON.stringify({ ...usualClaims, sub: 'root' })).toString('base64url')
    const named = Buffer.from(JSON.stringify({ alg: 'RS256', kid: rsa.kid })).toString('base64url')
    await wrong(`${header}.${admin}.${signature}`, unsigned)
    await wrong(`${named}.${payload}.${signature}`, unsigned)
    await wrong(`${header}.${payload}.${signature.slice(0, -4)}`, unsigned)
    await wrong(tokenOf(other.privateKey, { header: { kid: rsa.kid } }), unsigned)
    await wrong(tokenOf(`${secret}!`), unsigned, hmac)
  })

  it.each([
    ['an encrypted token', 'a.b.c.d.e'],
    ['two parts', 'YQ.YQ'],
    ['a token whose first part is empty', '.YQ.YQ'],
    ['padding', 'YQ.YQ.YQ=='],
    ['the other alphabet', 'a/b.a+b.abc'],
    ['one word', 'opaque'],
  ])('sections 2.4 and 3.2: %s is no signed token', async (_what, token) => {
    await wrong(token, 'The token is no signed JWT')
  })

  it('section 2.4: a token within a token is refused', async () => {
    await wrong(tokenBy(rsa, { header: { cty: 'JWT' } }), 'Tokens within tokens are not accepted')
    await wrong(tokenBy(rsa, { claims: tokenBy(rsa) }), 'The claims of the token are malformed')
  })

  it.each([
    '[]',
    'null',
    '"RS256"',
    'x',
    '',
    '{"alg":"RS256"',
    '{"alg":"none","alg":"RS256"}',
    '{"alg":"RS256","kid":"a","kid":"rsa-1"}',
    '{"alg":"RS256","__proto__":{"kid":"rsa-1"}}',
    '{"alg":"RS256","kid":7}',
    '{"alg":"RS256","kid":null}',
    '{"alg":"RS256","kid":{"toString":1}}',
    '\ufeff{"alg":"RS256"}',
    '{"alg":"RS256"}{}',
  ])('section 2.4: the header %j is malformed', async (header) => {
    const [, payload = '', signature = ''] = tokenBy(rsa).split('.')
    const first = Buffer.from(header).toString('base64url')
    await wrong(
      `${first}.${payload}.${signature}`,
      header === '' ? 'The token is no signed JWT' : 'The header of the token is malformed',
    )
  })

  it('section 3.7: what is no UTF-8 is malformed, in the header and in the claims', async () => {
    const bad = Buffer.from('{"alg":"HS256","x":"\xff"}', 'latin1').toString('base64url')
    const claims = Buffer.from(JSON.stringify({ ...usualClaims, x: '\xff' }), 'latin1').toString('base64url')
    const good = Buffer.from('{"alg":"HS256"}').toString('base64url')
    const sign = (input: string) => `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
    await wrong(sign(`${bad}.${claims}`), 'The header of the token is malformed', hmac)
    await wrong(sign(`${good}.${claims}`), 'The claims of the token are malformed', hmac)
  })

  it('section 3.8: another issuer is refused, and one that is nearly it', async () => {
    const issuers = ['https://evil.test', `${ISSUER}/`, ISSUER.toUpperCase(), '', [ISSUER], null, { iss: ISSUER }]
    for (const iss of [...issuers, undefined]) {
      await wrong(tokenBy(rsa, { claims: { iss } }), 'The token comes from another issuer')
    }
    const several = byKey({ issuer: ['https://old.test', ISSUER] })
    expect((await get(several, tokenBy(rsa))).status).toBe(200)
  })

  it('section 3.8: a subject that is no text is refused', async () => {
    for (const sub of [7, null, ['alice'], { id: 'alice' }]) {
      await wrong(tokenBy(rsa, { claims: { sub } }), 'The subject is no text')
    }
  })

  it('section 3.9: another audience is refused, and a token without one', async () => {
    for (const aud of [
      'https://other.test',
      `${AUDIENCE}/x`,
      '',
      [],
      [['https://api.test']],
      { 0: AUDIENCE },
      null,
      undefined,
    ]) {
      await wrong(tokenBy(rsa, { claims: { aud } }), 'The token is for another audience')
    }
    expect((await get(open, tokenBy(rsa, { claims: { aud: ['x', AUDIENCE] } }))).status).toBe(200)
    const several = byKey({ audience: ['x', 'y'] })
    expect((await get(several, tokenBy(rsa, { claims: { aud: 'y' } }))).status).toBe(200)
  })

  it.each([
    '../../../../dev/null',
    '/proc/self/environ',
    "x' union select 'key' --",
    'key; id',
    '$(id)',
    '%00',
    '__proto__',
    'constructor',
    'rsa-1\u0000',
    'RSA-1',
    '',
    'x'.repeat(4000),
  ])('section 3.10: the name of a key is compared and nothing else: %j', async (kid) => {
    await wrong(tokenOf(rsa.privateKey, { header: { kid } }), unsigned)
    await wrong(tokenOf('', { header: { kid } }), notAccepted)
  })

  it('section 3.10: keys and addresses of keys in a token are not used', async () => {
    const evil = await serveKeys(other.jwk)
    const embedded = { jwk: other.jwk, jku: evil.url, x5u: evil.url, x5c: ['MIIB'], x5t: 'x' }
    for (const kid of [other.kid, rsa.kid, undefined]) {
      await wrong(tokenOf(other.privateKey, { header: { ...embedded, kid } }), unsigned)
    }
    // and do no harm to a token that is right
    expect((await get(open, tokenBy(rsa, { header: embedded }))).status).toBe(200)
    expect(evil.asked).toBe(0)
    await evil.close()
  })

  it.each(['logout+jwt', 'secevent+jwt', 'dpop+jwt', 'application/logout+jwt', 'JOSE', '', 7, null, ['JWT']])(
    'sections 3.11 and 3.12: a token of the type %j is another one',
    async (typ) => {
      await wrong(tokenBy(rsa, { header: { typ } }), 'The token is of another type')
    },
  )

  it.each(['JWT', 'jwt', 'at+jwt', 'AT+JWT', 'application/at+jwt', undefined])(
    'section 3.11: a token of the type %j is one',
    async (typ) => {
      expect((await get(open, tokenBy(rsa, { header: { typ } }))).status).toBe(200)
    },
  )

  it('section 3.11: with a type of its own no other is taken', async () => {
    const strict = byKey({ typ: 'at+jwt' })
    expect((await get(strict, tokenBy(rsa, { header: { typ: 'application/AT+jwt' } }))).status).toBe(200)
    for (const typ of ['JWT', undefined]) {
      await wrong(tokenBy(rsa, { header: { typ } }), 'The token is of another type', strict)
    }
  })

  it.each([['exp'], ['b64'], ['urn:x'], []])('critical parameters are not understood: %j', async (...crit) => {
    await wrong(
      tokenBy(rsa, { header: { crit, b64: true, 'urn:x': 1 } }),
      'The token has critical parameters that are not understood',
    )
  })

  it.each<[string, object, string]>([
    ['has expired', { exp: NOW - 31 }, 'The token has expired'],
    ['expires never', { exp: undefined }, 'The token has no time of expiry'],
    ['is not valid yet', { nbf: NOW + 31 }, 'The token is not valid yet'],
    ['comes from the future', { iat: NOW + 31 }, 'The token comes from the future'],
    ['counts milliseconds', { exp: (NOW + 600) * 1000 }, 'A time in the token is no time'],
    ['comes from before 1970', { iat: -1 }, 'A time in the token is no time'],
    ['expires as a text', { exp: String(NOW + 600) }, 'A time in the token is no time'],
    ['expires as null', { exp: null }, 'A time in the token is no time'],
    ['is valid from a text', { nbf: '0' }, 'A time in the token is no time'],
    ['comes from a list', { iat: [NOW] }, 'A time in the token is no time'],
    ['expires as an object', { exp: { valueOf: 9e9 } }, 'A time in the token is no time'],
  ])('RFC 7519 section 4.1: a token that %s is refused', async (_what, claims, description) => {
    await wrong(tokenBy(rsa, { claims }), description)
  })

  it('RFC 7519 section 4.1: clocks may differ by the tolerance, and no more', async () => {
    for (const claims of [
      { exp: NOW - 29 },
      { nbf: NOW + 30 },
      { iat: NOW + 30 },
      { exp: NOW + 0.5, iat: NOW - 0.5 },
    ]) {
      expect((await get(open, tokenBy(rsa, { claims }))).status).toBe(200)
    }
    const exact = byKey({ clockTolerance: 0 })
    await wrong(tokenBy(rsa, { claims: { exp: NOW } }), 'The token has expired', exact)
    await wrong(tokenBy(rsa, { claims: { nbf: NOW + 1 } }), 'The token is not valid yet', exact)
    expect((await get(exact, tokenBy(rsa, { claims: { exp: NOW + 1, nbf: NOW } }))).status).toBe(200)
  })

  it.each([
    [
      'a number that is none',
      `{"iss":"${ISSUER}","aud":"${AUDIENCE}","sub":"a","exp":1e999}`,
      'A time in the token is no time',
    ],
    [
      'a name twice',
      `{"iss":"${ISSUER}","aud":"${AUDIENCE}","sub":"a","sub":"root","exp":${NOW + 9}}`,
      'The claims of the token are malformed',
    ],
    [
      'a name twice, deep inside',
      `{"iss":"${ISSUER}","aud":"${AUDIENCE}","exp":${NOW + 9},"x":{"a":1,"a":2}}`,
      'The claims of the token are malformed',
    ],
    [
      '__proto__',
      `{"iss":"${ISSUER}","aud":"${AUDIENCE}","exp":${NOW + 9},"__proto__":{"admin":true}}`,
      'The claims of the token are malformed',
    ],
    [
      '__proto__ in place of claims',
      `{"__proto__":${JSON.stringify(usualClaims)}}`,
      'The token comes from another issuer',
    ],
    ['a list', '[]', 'The claims of the token are malformed'],
    ['null', 'null', 'The claims of the token are malformed'],
    ['no JSON', 'alice', 'The claims of the token are malformed'],
  ])('RFC 7519 section 4: claims with %s are refused though they are signed', async (_what, claims, description) => {
    await wrong(tokenBy(rsa, { claims }), description)
  })

  it('RFC 7519 section 4: claims that are named as what objects have are claims', async () => {
    const claims = { constructor: 'x', toString: 'y', hasOwnProperty: 'z' }
    const { status, json } = await get(open, tokenBy(rsa, { claims }))
    expect(status).toBe(200)
    expect(json.auth.claims).toMatchObject(claims)
  })

  it('a token that is too long is not read, and the limit can be set', async () => {
    const long = tokenBy(rsa, { claims: { roles: 'x'.repeat(6000) } })
    expect(long.length).toBeGreaterThan(8192)
    await wrong(long, 'The token is too long')
    const more = byKey({ maxTokenLength: 12_000 })
    expect((await get(more, long)).status).toBe(200)
  })
})

describe('a token of 1 MB', () => {
  it('is 401 before it is looked into, where the server takes such headers at all', async () => {
    const client = await serveThings(open)
    const server = createServer(
      { maxHeaderSize: 4_000_000 },
      (incoming, outgoing) => void client.app.callback()(incoming, outgoing),
    ).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    for (const value of ['x', 'a.', '=', ' ']) {
      const headers = { Authorization: `Bearer ${value.repeat(1_000_000 / value.length)}y` }
      const sent = request({ port, host: '127.0.0.1', path: '/things', headers }).end()
      const [response] = await once(sent, 'response')
      expect([response.statusCode, response.headers['www-authenticate']]).toEqual([
        401,
        challengeOf('The token is too long'),
      ])
      response.resume()
    }
    server.close()
    server.closeAllConnections()
    await client.close()
  })
})
