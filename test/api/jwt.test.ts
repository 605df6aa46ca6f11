/** JSON Web Tokens as credentials: who is let in, what is no header with a token, scopes, and other schemes beside them. */
import type Koa from 'koa'
import {
  and,
  HasScope,
  IsAdminUser,
  IsAuthenticated,
  not,
  or,
  SessionAuthentication,
  TokenAuthentication,
} from 'koa-viewsets'
import { JWTAuthentication, type JWTClaims } from 'koa-viewsets/jwt'
import { afterEach, describe, expect, it } from 'vitest'
import type { Client } from '../support/client.js'
import { AUDIENCE, ISSUER, issuerKey, testClock, tokenBy, tokenOf, usualClaims } from '../support/issuer.js'
import { exchange } from '../support/server.js'
import { type Guards, surfaces } from '../support/surfaces.js'

const rsa = issuerKey('rsa-1')
const other = issuerKey('rsa-2')
const ec = issuerKey('ec-1', 'ec')
const edwards = issuerKey('ed-1', 'ed25519')
const pem = rsa.publicKey.export({ type: 'spki', format: 'pem' }) as string
const secret = 'a secret that nobody knows, 40 letters..'

const { now } = testClock()
const common = { issuer: ISSUER, audience: AUDIENCE, now }

/** Keys by configuration: what is not about the issuer needs none. */
const byKey = (options: object = {}) =>
  new JWTAuthentication({
    ...common,
    algorithms: ['RS256', 'ES256', 'EdDSA'],
    key: [rsa.jwk, ec.jwk, edwards.jwk],
    ...options,
  })
const bySecret = (options: object = {}) => byKey({ algorithms: ['HS256'], key: secret, ...options })

let client: Client | undefined

afterEach(async () => {
  await client?.close()
  client = undefined
})

const challengeOf = (error: string, description: string) =>
  `Bearer realm="api", error="${error}", error_description="${description}"`
const refused = (description: string) => ({
  status: 401,
  text: '{"detail":"Invalid token","status":401}',
  headers: { 'www-authenticate': challengeOf('invalid_token', description) },
})
const unsigned = 'The signature is not of a known key'

describe.each(Object.entries(surfaces))('on %s', (_name, serve) => {
  async function get(guards: Guards, headers: Record<string, string> = {}, method = 'GET') {
    client = await serve(guards)
    const response = await client.send(method, '/things', undefined, headers)
    expect(client.reported).toEqual([])
    await client.close()
    client = undefined
    return response
  }
  const bearer = (token: string) => ({ Authorization: `Bearer ${token}` })
  const open: Guards = { authentication: [byKey()] }
  const closed: Guards = { authentication: [byKey()], permissions: [IsAuthenticated] }
  const hmac: Guards = { authentication: [bySecret()] }

  describe('a token', () => {
    it('[E4] sets the user and its claims, and is not kept', async () => {
      const token = tokenBy(rsa, { claims: { tenant: 7 } })
      const { status, json, text, headers } = await get(closed, bearer(token))
      expect({ status, json }).toEqual({
        status: 200,
        json: {
          user: { id: 'alice' },
          auth: { scheme: 'JWT', claims: { ...usualClaims, tenant: 7 }, scopes: ['read:books', 'write:books'] },
          version: null,
        },
      })
      expect(text).not.toContain(token.split('.')[2])
      expect(headers).toMatchObject({ vary: 'Authorization', 'cache-control': 'no-store' })
    })

    it.each([
      ['RS256', rsa],
      ['ES256', ec],
      ['EdDSA', edwards],
    ])('may be signed by %s', async (_algorithm, key) => {
      expect((await get(closed, bearer(tokenBy(key)))).status).toBe(200)
      expect((await get(closed, bearer(tokenOf(key.privateKey)))).status).toBe(200)
    })

    it('may name its algorithm EdDSA or Ed25519, whatever its key does', async () => {
      const algorithms = ['EdDSA', 'Ed25519']
      for (const own of [{}, { alg: 'EdDSA' }, { alg: 'Ed25519' }]) {
        const guards = { authentication: [byKey({ algorithms, key: { ...edwards.jwk, ...own } })] }
        for (const alg of algorithms) {
          expect((await get(guards, bearer(tokenBy(edwards, { header: { alg } })))).json.user).toEqual({ id: 'alice' })
        }
      }
    })

    it('may be signed by a secret', async () => {
      expect((await get(hmac, bearer(tokenOf(secret)))).json.user).toEqual({ id: 'alice' })
    })

    it.each(['bearer', 'BEARER', 'Bearer  ', 'Bearer\t'])('[E2] may stand behind "%s"', async (word) => {
      expect((await get(closed, { Authorization: `${word} ${tokenBy(rsa)}` })).status).toBe(200)
    })

    it.each(['Token x', 'Basic YWxpY2U6eA==', 'Bearers x', 'DPoP x', 'Bearer,x', '"Bearer" x', ''])(
      '[E2] is not in the header of another scheme: %j',
      async (header) => {
        expect(await get(open, { Authorization: header })).toMatchObject({ status: 200, json: { user: null } })
        expect(await get(closed, { Authorization: header })).toMatchObject({
          status: 401,
          text: '{"detail":"Authentication required","status":401}',
          headers: { 'www-authenticate': 'Bearer realm="api"' },
        })
      },
    )

    it.each<[string, string, string]>([
      ['no token', 'Bearer', "The header is no 'Bearer' and a token"],
      ['two tokens', 'Bearer a.b.c a.b.c', "The header is no 'Bearer' and a token"],
      ['two tokens with a comma', `Bearer a.b.c,Bearer a.b.c`, "The header is no 'Bearer' and a token"],
      ['a token in quotes', 'Bearer "a.b.c"', "The header is no 'Bearer' and a token"],
      ['parameters', 'Bearer token="a.b.c", realm="x"', "The header is no 'Bearer' and a token"],
      ['a byte beyond ASCII', 'Bearer a.b.\xff', "The header is no 'Bearer' and a token"],
    ])('[E2] with %s is 400 invalid_request, on an open view too', async (_what, header, description) => {
      for (const guards of [open, closed]) {
        expect(await get(guards, { Authorization: header })).toMatchObject({
          status: 400,
          text: '{"detail":"Malformed Authorization header","status":400}',
          headers: { 'www-authenticate': challengeOf('invalid_request', description) },
        })
      }
    })

    it.each([
      ['Bearer TOKEN', 'Bearer TOKEN'],
      ['Bearer TOKEN', 'Token x'],
      ['Token x', 'Bearer TOKEN'],
      ['', 'Bearer TOKEN'],
    ])('that is sent twice is 400, whichever is first: %j and %j', async (...headers) => {
      client = await serve(open)
      const lines = headers.map((header) => `authorization: ${header.replace('TOKEN', tokenBy(rsa))}\r\n`).join('')
      const request = `GET /things HTTP/1.1\r\nHost: a\r\n${lines}Connection: close\r\n\r\n`
      const text = await exchange(client.port, request, () => false)
      expect(text).toMatch(/^HTTP\/1\.1 400 /)
      expect(text).toContain(challengeOf('invalid_request', 'More than one Authorization header'))
    })

    it('is read from the header only', async () => {
      client = await serve(closed)
      const token = tokenBy(rsa)
      const answer = await client.get(`/things?access_token=${token}`, { Cookie: `access_token=${token}` })
      expect(answer.status).toBe(401)
      expect((await client.send('POST', '/things', { access_token: token })).status).toBe(401)
    })

    it('is checked for HEAD and OPTIONS, too', async () => {
      expect((await get(closed, bearer(tokenBy(rsa)), 'HEAD')).status).toBe(200)
      expect((await get(closed, bearer('a.b.c'), 'HEAD')).status).toBe(401)
      expect((await get(closed, {}, 'OPTIONS')).status).toBe(401)
    })
  })

  describe('a user', () => {
    it('is who getUser() finds, as an option or an override, also asynchronously', async () => {
      const found = async ({ sub }: { sub?: string }) => ({ id: 7, name: sub })
      class Own extends JWTAuthentication {
        constructor() {
          super({ ...common, algorithms: ['RS256'], key: pem })
        }
        override getUser(claims: { sub?: string }) {
          return found(claims)
        }
      }
      for (const scheme of [Own, byKey({ getUser: found })]) {
        const { json } = await get({ authentication: [scheme] }, bearer(tokenBy(rsa)))
        expect(json.user).toEqual({ id: 7, name: 'alice' })
      }
    })

    it.each([null, undefined, false, { isAnonymous: true }])('[E23] that is none is 401: %j', async (user) => {
      const guards = { authentication: [byKey({ getUser: () => user })] }
      expect(await get(guards, bearer(tokenBy(rsa)))).toMatchObject(refused('The token is for nobody'))
    })

    it.each([{ sub: undefined }, { sub: '' }])('[E23] without a subject is none: %j', async (claims) => {
      const token = bearer(tokenBy(rsa, { claims }))
      expect(await get(open, token)).toMatchObject(refused('The token is for nobody'))
      // nor is one made of what is missing
      const asked: unknown[] = []
      const getUser = ({ iss, sub }: { iss?: string; sub?: string }) => {
        asked.push(sub)
        return { id: `${iss}#${sub}` }
      }
      const guards = { authentication: [byKey({ getUser })] }
      expect(await get(guards, token)).toMatchObject(refused('The token is for nobody'))
      expect(asked).toEqual([])
    })

    it('without a subject is who getUser() finds, where an option takes such tokens', async () => {
      const getUser = ({ client_id: id }: Record<string, unknown>) => ({ id })
      const guards = { authentication: [byKey({ allowNoSubject: true, getUser })] }
      const token = tokenBy(rsa, { claims: { sub: undefined, client_id: 'robot' } })
      expect((await get(guards, bearer(token))).json.user).toEqual({ id: 'robot' })
      const plain = { authentication: [byKey({ allowNoSubject: true })] }
      expect(await get(plain, bearer(token))).toMatchObject(refused('The token is for nobody'))
    })

    it('that is looked up in vain is 500, and 503 where the database is away', async () => {
      for (const [error, status] of [
        [new Error('select token from users'), 500],
        [Object.assign(new Error('x'), { code: 'ECONNREFUSED' }), 503],
      ] as const) {
        client = await serve({ authentication: [byKey({ getUser: () => Promise.reject(error) })] })
        expect((await client.get('/things', bearer(tokenBy(rsa)))).status).toBe(status)
        await client.close()
      }
      client = undefined
    })
  })

  describe('scopes', () => {
    const needs = (...permissions: readonly object[]) => ({ authentication: [byKey()], permissions }) as Guards

    it.each<[unknown, unknown, string[]]>([
      ['a b', undefined, ['a', 'b']],
      [['a', 'b'], undefined, ['a', 'b']],
      [undefined, 'a  b ', ['a', 'b']],
      [undefined, ['a', 'b'], ['a', 'b']],
      ['a', ['a', 'b'], ['a', 'b']],
      [undefined, undefined, []],
      ['', [], []],
      [7, { a: true }, []],
      [null, [['a'], 7, null, ''], []],
    ])('of scope %j and scp %j', async (scope, scp, scopes) => {
      const { json } = await get(open, bearer(tokenBy(rsa, { claims: { scope, scp } })))
      expect(json.auth.scopes).toEqual(scopes)
    })

    it('of other claims are read by an override', async () => {
      class Own extends JWTAuthentication {
        override getScopes(claims: JWTClaims) {
          return (claims['roles'] as string[] | undefined) ?? []
        }
      }
      const own = new Own({ ...common, algorithms: ['RS256'], key: pem })
      const guards: Guards = { authentication: [own], permissions: [new HasScope('admin')] }
      expect((await get(guards, bearer(tokenBy(rsa, { claims: { roles: ['admin'] } })))).status).toBe(200)
      expect((await get(guards, bearer(tokenBy(rsa)))).status).toBe(403)
    })

    const insufficient = challengeOf('insufficient_scope', 'The token has not all scopes that are asked for')

    it.each<[string, object, string | undefined]>([
      ['one scope', new HasScope('admin'), `${insufficient}, scope="admin"`],
      ['two scopes', new HasScope('read:books', 'admin'), `${insufficient}, scope="read:books admin"`],
      [
        'a scope among others',
        and(IsAuthenticated, new HasScope('a'), new HasScope('b')),
        `${insufficient}, scope="a b"`,
      ],
      ['a scope that no header can name', new HasScope('a"b'), insufficient],
      ['a scope or something else', or(new HasScope('admin'), IsAdminUser), undefined],
      ['no scope', not(new HasScope('read:books')), undefined],
      ['something else', and(new HasScope('read:books'), IsAdminUser), undefined],
    ])('that %s asks for are named by a 403', async (_what, permission, challenge) => {
      const answer = await get(needs(permission), bearer(tokenBy(rsa)))
      expect(answer).toMatchObject({ status: 403, text: '{"detail":"Permission denied","status":403}' })
      expect(answer.headers['www-authenticate']).toBe(challenge)
    })

    it('are asked of nobody: without a token a 401 names no error', async () => {
      const { status, headers } = await get(needs(new HasScope('admin')))
      expect([status, headers['www-authenticate']]).toEqual([401, 'Bearer realm="api"'])
    })

    it('that are there let pass', async () => {
      expect((await get(needs(new HasScope('read:books', 'write:books')), bearer(tokenBy(rsa)))).status).toBe(200)
    })
  })

  describe('other schemes beside it', () => {
    const byToken = new TokenAuthentication({ getUserForToken: (token) => (token === 'bob' ? { id: 'bob' } : null) })
    const login = async (ctx: Koa.Context, next: Koa.Next) => {
      Object.assign(ctx, { session: { user: { id: 'carol' } } })
      await next()
    }
    const guards: Guards = { authentication: [byToken, byKey(), SessionAuthentication], permissions: [IsAuthenticated] }

    it('know their own callers', async () => {
      expect((await get(guards, { Authorization: 'Token bob' })).json.user).toEqual({ id: 'bob' })
      expect((await get(guards, bearer(tokenBy(rsa)))).json.user).toEqual({ id: 'alice' })
      expect((await get({ ...guards, before: [login] })).json.user).toEqual({ id: 'carol' })
      expect((await get({ ...guards, before: [login] }, bearer(tokenBy(rsa)))).json.user).toEqual({ id: 'alice' })
    })

    it('do not help a wrong token, and a 401 without one names all', async () => {
      const answer = await get({ ...guards, before: [login] }, bearer(tokenBy(other)))
      expect(answer).toMatchObject(refused(unsigned))
      expect((await get(guards)).headers['www-authenticate']).toBe('Token realm="api", Bearer realm="api"')
    })

    it('[E17] a token needs no origin', async () => {
      const evil = { Origin: 'https://evil.test', ...bearer(tokenBy(rsa)) }
      expect((await get({ ...guards, before: [login] }, evil, 'POST')).status).toBe(200)
    })

    it('have no scopes to name', async () => {
      const asked: Guards = { ...guards, permissions: [new HasScope('admin')] }
      const answer = await get(asked, { Authorization: 'Token bob' })
      expect([answer.status, answer.headers['www-authenticate']]).toEqual([403, undefined])
    })
  })
})
