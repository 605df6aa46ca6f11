import knexLibrary from 'knex'
import type Koa from 'koa'
import session from 'koa-session'
import { afterEach, describe, expect, it } from 'vitest'
import {
  AuthenticationFailed,
  type Authentications,
  BaseAuthentication,
  type Context,
  HasScope,
  IsAuthenticated,
  SessionAuthentication,
  TokenAuthentication,
} from '../../lib/index.js'
import type { Client } from '../support/client.js'
import { exchange } from '../support/server.js'
import { type Guards, surfaces } from '../support/surfaces.js'

const users: Record<string, { id: number; name: string }> = {
  alice: { id: 1, name: 'alice' },
  bob: { id: 2, name: 'bob' },
}

class TokenAuth extends TokenAuthentication {
  override async getUserForToken(token: string) {
    return Object.hasOwn(users, token) ? users[token] : null
  }
}

/** Reads a header of its own, and has no challenge. */
class Header extends BaseAuthentication {
  override authenticate(ctx: Context) {
    const name = ctx.get('X-User')
    if (name === '') return null
    if (!users[name]) throw new AuthenticationFailed('Who is that?')
    return { user: users[name], auth: { scheme: 'Header' } }
  }
}

let client: Client | undefined

afterEach(async () => {
  await client?.close()
  client = undefined
})

describe.each(Object.entries(surfaces))('on %s', (_name, serve) => {
  async function get(guards: Guards, headers: Record<string, string> = {}, method = 'GET') {
    client = await serve(guards)
    const response = await client.send(method, '/things', undefined, headers)
    expect(client.reported).toEqual([])
    await client.close()
    client = undefined
    return response
  }
  const open: Guards = { authentication: [TokenAuth] }
  const closed: Guards = { authentication: [TokenAuth], permissions: [IsAuthenticated] }

  describe('tokens', () => {
    it('[E4] sets user and auth, and auth does not hold the token', async () => {
      const { status, json, text } = await get(closed, { Authorization: 'Token alice' })
      expect({ status, json }).toEqual({
        status: 200,
        json: { user: users['alice'], auth: { scheme: 'Token' }, version: null },
      })
      expect(text.match(/alice/g)).toHaveLength(1)
    })

    it.each(['token alice', 'TOKEN alice', 'Token   alice', 'Token\talice', ' Token alice '])(
      '[E2] the scheme name is case-insensitive and the space free: %j',
      async (header) => {
        expect((await get(open, { Authorization: header })).json.user).toEqual(users['alice'])
      },
    )

    it.each([
      ['no token', 'Token'],
      ['only spaces', 'Token   '],
      ['two tokens', 'Token a b'],
      ['parameters', 'Token token="alice", realm="x"'],
      ['a byte beyond ASCII', 'Token \xff'],
      ['a control character', 'Token a\tb'],
      ['10 kB', `Token ${'x'.repeat(10_000)}`],
      ['10 kB of spaces before it', `Token ${' '.repeat(10_000)}alice`],
      ['an unknown token', 'Token mallory'],
      ['a name of Object', 'Token constructor'],
      ['__proto__', 'Token __proto__'],
    ])('[E2] 42 %s is 401, on an open view too', async (_name, header) => {
      for (const guards of [open, closed]) {
        expect(await get(guards, { Authorization: header })).toMatchObject({
          status: 401,
          text: '{"detail":"Invalid token","status":401}',
          headers: { 'www-authenticate': 'Token realm="api"' },
        })
      }
    })

    it.each([
      'Bearer x',
      'Basic YWxpY2U6eA==',
      'Tokens alice',
      'Token,alice',
      '"Token" alice',
      `Bearer ${'x'.repeat(10_000)}`,
      '',
    ])("[E2] another scheme's header is left alone: %j", async (header) => {
      const answer = await get(open, { Authorization: header })
      expect(answer).toMatchObject({ status: 200, json: { user: null, auth: null } })
      expect((await get(closed, { Authorization: header })).json.detail).toBe('Authentication required')
    })

    it.each([
      ['Token bob', 'Token alice'],
      ['Token bob', 'Token bob'],
      ['Basic x', 'Token alice'],
      ['', 'Token alice'],
    ])('[E2] a second Authorization header is 401, whichever has the token: %j and %j', async (...headers) => {
      client = await serve(open)
      const lines = headers.map((header) => `Authorization: ${header}\r\n`).join('')
      const request = `GET /things HTTP/1.1\r\nHost: a\r\n${lines}Connection: close\r\n\r\n`
      const text = await exchange(client.port, request, () => false)
      expect(text).toMatch(/^HTTP\/1\.1 401 /)
      expect(text).toContain('"Invalid token"')
    })

    it('another keyword, as an option or an override', async () => {
      class Own extends TokenAuth {
        override readonly keyword = 'Bearer'
      }
      for (const scheme of [
        Own,
        new TokenAuthentication({ keyword: 'Bearer', getUserForToken: (token) => users[token] }),
      ]) {
        const guards = { authentication: [scheme], permissions: [IsAuthenticated] }
        expect((await get(guards, { Authorization: 'bearer bob' })).json).toMatchObject({
          user: users['bob'],
          auth: { scheme: 'Bearer' },
        })
        expect((await get(guards)).headers['www-authenticate']).toBe('Bearer realm="api"')
      }
    })

    it.each([null, undefined, false, { isAnonymous: true }, { isAuthenticated: false }])(
      '[E23] a token of nobody is 401: %j',
      async (user) => {
        const scheme = new TokenAuthentication({ getUserForToken: () => user })
        expect((await get({ authentication: [scheme] }, { Authorization: 'Token x' })).status).toBe(401)
      },
    )

    it('a look-up that fails is 500, and 503 when the database is away', async () => {
      for (const [error, status] of [
        [new Error('select token from users'), 500],
        [Object.assign(new Error('x'), { code: 'ECONNREFUSED' }), 503],
      ] as const) {
        const scheme = new TokenAuthentication({ getUserForToken: () => Promise.reject(error) })
        client = await serve({ authentication: [scheme] })
        expect((await client.get('/things', { Authorization: 'Token x' })).status).toBe(status)
        expect(client.reported).toHaveLength(1)
        await client.close()
      }
      client = undefined
    })
  })

  describe('several schemes', () => {
    const authentication: Authentications = [SessionAuthentication, TokenAuth, new Header()]

    it('are tried in order, and the first that knows the caller counts', async () => {
      const both = { Authorization: 'Token alice', 'X-User': 'bob' }
      expect((await get({ authentication }, both)).json.user).toEqual(users['alice'])
      expect((await get({ authentication }, { 'X-User': 'bob' })).json).toMatchObject({
        user: users['bob'],
        auth: { scheme: 'Header' },
      })
      expect((await get({ authentication })).json).toEqual({ user: null, auth: null, version: null })
    })

    it('[E2] wrong credentials of one are 401 though another would have known the caller', async () => {
      const { status, json } = await get({ authentication }, { Authorization: 'Token mallory', 'X-User': 'bob' })
      expect({ status, json }).toEqual({ status: 401, json: { detail: 'Invalid token', status: 401 } })
    })

    it.each([
      ['each challenge once', [TokenAuth, TokenAuth, SessionAuthentication, Header], 'Token realm="api"'],
      [
        'in their order',
        [new TokenAuthentication({ keyword: 'Bearer', getUserForToken: () => null }), TokenAuth],
        'Bearer realm="api", Token realm="api"',
      ],
      ['a session where none has one', [Header], 'Session realm="api"'],
      ['a session for the session', [SessionAuthentication], 'Session realm="api"'],
      ['a session without schemes', [], 'Session realm="api"'],
    ] as const)('a 401 has %s', async (_name, schemes, challenge) => {
      const guards = { authentication: schemes, permissions: [IsAuthenticated] }
      expect(await get(guards)).toMatchObject({
        status: 401,
        text: '{"detail":"Authentication required","status":401}',
        headers: { 'www-authenticate': challenge },
      })
    })

    it('an error may bring a challenge of its own', async () => {
      class Own extends BaseAuthentication {
        override readonly challenge = 'Own'
        override authenticate(): never {
          throw new AuthenticationFailed('Expired', 'Own error="expired"')
        }
      }
      expect((await get({ authentication: [TokenAuth, Own] })).headers['www-authenticate']).toBe('Own error="expired"')
    })
  })

  describe('a scheme of the application', () => {
    const returning = (credentials: unknown) =>
      class Own extends BaseAuthentication {
        override authenticate(): any {
          return credentials
        }
      }

    it('may compute its challenge', async () => {
      const own = returning(null)
      Object.defineProperty(own.prototype, 'challenge', { get: () => 'Own realm="shop"' })
      const { headers } = await get({ authentication: [TokenAuth, own], permissions: [IsAuthenticated] })
      expect(headers['www-authenticate']).toBe('Token realm="api", Own realm="shop"')
    })

    it.each(['auth', 'authInfo', 'auth_info'])('says what it knows of the credentials as %s', async (name) => {
      const own = returning({ user: { id: 7 }, [name]: { scopes: ['read:books'] } })
      const { status, json } = await get({ authentication: [own], permissions: [new HasScope('read:books')] })
      expect([status, json]).toEqual([200, { user: { id: 7 }, auth: { scopes: ['read:books'] }, version: null }])
    })

    it.each<[string, unknown, string]>([
      ['another name', { user: { id: 7 }, authinfo: {} }, 'returned the property "authinfo", which nobody reads'],
      ['the user itself', { id: 7, name: 'alice' }, 'returned the property "id", which nobody reads'],
      ['a pair, as elsewhere', [{ id: 7 }, {}], 'returned a list'],
      ['no user', { auth: {} }, 'returned no user'],
      ['a list for a user', { user: [] }, 'returned a list as the user'],
      ['a promise of the user', { user: Promise.resolve(null) }, 'returned a user who was not awaited'],
      ['a query of the user', { user: knexLibrary({ client: 'pg' })('users') }, 'returned a user who was not awaited'],
      ['false', false, 'returned a boolean'],
      ['a text', 'alice', 'returned a string'],
    ])('that returns %s lets nobody in, and says what to return', async (_what, credentials, message) => {
      client = await serve({ authentication: [returning(credentials)] })
      expect((await client.get('/things')).status).toBe(500)
      expect(client.reported).toMatchObject([
        {
          name: 'ConfigurationError',
          message: `Own: authenticate() ${message}; return { user, auth }, or null where there are no credentials`,
        },
      ])
    })
  })

  describe("the app's own user", () => {
    const passport = async (ctx: Koa.Context, next: Koa.Next) => {
      ctx.state['user'] = users['bob']
      await next()
    }

    it.each([
      ['without schemes', undefined],
      ['with schemes that know nobody', [TokenAuth]],
      ['with the session scheme', [SessionAuthentication]],
    ] as const)('is taken as it is, %s', async (_name, authentication) => {
      const guards = { ...(authentication && { authentication }), permissions: [IsAuthenticated], before: [passport] }
      expect((await get(guards)).json.user).toEqual(users['bob'])
    })

    it('gives way to credentials of the request', async () => {
      const { json } = await get({ ...closed, before: [passport] }, { Authorization: 'Token alice' })
      expect(json.user).toEqual(users['alice'])
    })
  })

  describe('a session', () => {
    const login = async (ctx: Koa.Context, next: Koa.Next) => {
      Object.assign(ctx, { session: { user: users['alice'] } })
      await next()
    }
    const guards: Guards = { authentication: [SessionAuthentication, TokenAuth], before: [login] }

    it('is whom the app has logged in', async () => {
      expect((await get(guards)).json).toEqual({ user: users['alice'], auth: { scheme: 'Session' }, version: null })
    })

    it.each([
      ['nothing', {}, true],
      ['its own origin', { Host: 'api.test', Origin: 'http://api.test' }, true],
      ['its own origin with the default port', { Host: 'api.test:80', Origin: 'http://api.test' }, true],
      ['its own origin in capitals', { Host: 'API.test', Origin: 'http://api.test' }, true],
      ['its own origin by https, where a proxy ends TLS', { Host: 'api.test', Origin: 'https://api.test' }, true],
      ['Sec-Fetch-Site same-origin', { 'Sec-Fetch-Site': 'same-origin' }, true],
      ['Sec-Fetch-Site none', { 'Sec-Fetch-Site': 'none' }, true],
      ['both', { Host: 'api.test', Origin: 'http://api.test', 'Sec-Fetch-Site': 'same-origin' }, true],
      ['another origin', { Host: 'api.test', Origin: 'https://evil.test' }, false],
      ['another port', { Host: 'api.test', Origin: 'http://api.test:8080' }, false],
      ['a subdomain', { Host: 'api.test', Origin: 'http://x.api.test' }, false],
      ['a host that begins alike', { Host: 'api.test', Origin: 'http://api.test.evil.test' }, false],
      ['null', { Host: 'api.test', Origin: 'null' }, false],
      ['an empty origin', { Host: 'api.test', Origin: '' }, false],
      ['another scheme', { Host: 'api.test', Origin: 'chrome-extension://api.test' }, false],
      ['an origin with a path', { Host: 'api.test', Origin: 'http://api.test/x' }, false],
      ['a user in the origin', { Host: 'api.test', Origin: 'http://api.test@evil.test' }, false],
      ['nonsense', { Host: 'api.test', Origin: 'http://[' }, false],
      ['two origins', { Host: 'api.test', Origin: 'http://api.test, http://evil.test' }, false],
      ['a nonsense host', { Host: '[', Origin: 'http://api.test' }, false],
      ['Sec-Fetch-Site cross-site', { 'Sec-Fetch-Site': 'cross-site' }, false],
      ['Sec-Fetch-Site same-site', { 'Sec-Fetch-Site': 'same-site' }, false],
      ['Sec-Fetch-Site unknown', { 'Sec-Fetch-Site': 'Same-Origin' }, false],
      ['Sec-Fetch-Site empty', { 'Sec-Fetch-Site': '' }, false],
      [
        'its own origin, but cross-site',
        { Host: 'a.test', Origin: 'http://a.test', 'Sec-Fetch-Site': 'cross-site' },
        false,
      ],
      ['same-origin, but another', { Host: 'a.test', Origin: 'http://b.test', 'Sec-Fetch-Site': 'same-origin' }, false],
    ] as [string, Record<string, string>, boolean][])('[E17] a write with %s', async (_name, headers, passes) => {
      const answer = await get(guards, headers, 'POST')
      expect(answer.status).toBe(passes ? 200 : 403)
      if (passes) return
      expect(answer.text).toBe('{"detail":"Permission denied","status":403}')
      expect(answer.headers).not.toHaveProperty('www-authenticate')
      // reading is no danger
      expect((await get(guards, headers)).status).toBe(200)
      expect((await get(guards, headers, 'HEAD')).status).toBe(200)
      expect((await get(guards, headers, 'OPTIONS')).status).toBe(200)
    })

    it('[E17] tokens need no origin', async () => {
      const evil = { Host: 'api.test', Origin: 'https://evil.test', Authorization: 'Token bob' }
      const anonymous: Guards = { authentication: [SessionAuthentication, TokenAuth] }
      expect((await get(anonymous, evil, 'POST')).json.user).toEqual(users['bob'])
      // first the token, then the session: the session is not asked
      const turned: Guards = { authentication: [TokenAuth, SessionAuthentication], before: [login] }
      expect((await get(turned, evil, 'POST')).json.user).toEqual(users['bob'])
      expect((await get(turned, { ...evil, Authorization: '' }, 'POST')).status).toBe(403)
    })

    it('[E17] nobody is anonymous, whatever the origin', async () => {
      const anonymous: Guards = { authentication: [SessionAuthentication] }
      expect((await get(anonymous, { Origin: 'https://evil.test' }, 'POST')).json.user).toBeNull()
    })

    it('[E17] trusted origins may write, and no others', async () => {
      const scheme = new SessionAuthentication({ trustedOrigins: ['https://app.test'] })
      const trusting: Guards = { authentication: [scheme], before: [login] }
      const from = (Origin: string) => ({ Host: 'api.test', Origin, 'Sec-Fetch-Site': 'cross-site' })
      expect((await get(trusting, from('https://app.test'), 'POST')).status).toBe(200)
      for (const origin of ['http://app.test', 'https://app.test:444', 'https://app.test.evil.test']) {
        expect((await get(trusting, from(origin), 'POST')).status).toBe(403)
      }
    })

    it.each([{ username: 'alice' }, { user: null }, { user: undefined }, {}, null, undefined])(
      "[E18] the user comes only from the app's resolver: session %j is anonymous",
      async (content) => {
        const before = [
          async (ctx: Koa.Context, next: Koa.Next) => {
            Object.assign(ctx, { session: content })
            await next()
          },
        ]
        expect((await get({ authentication: [SessionAuthentication], before })).json.user).toBeNull()
      },
    )

    it('[E18] a resolver of its own, as an option or an override, also asynchronous', async () => {
      class Own extends SessionAuthentication {
        override async getUser() {
          return users['bob']
        }
      }
      for (const scheme of [Own, new SessionAuthentication({ getUser: async () => users['bob'] })]) {
        expect((await get({ authentication: [scheme], before: [login] })).json.user).toEqual(users['bob'])
      }
    })
  })

  it('koa-session works with it, and a cookie that is none is anonymous', async () => {
    let sessions: Koa.Middleware | undefined
    const before = [
      (ctx: Koa.Context, next: Koa.Next) => {
        sessions ??= session({ signed: false }, ctx.app) as Koa.Middleware
        return sessions(ctx, next)
      },
      async (ctx: Koa.Context, next: Koa.Next) => {
        if (ctx.path === '/login') {
          ;(ctx['session'] as { user?: unknown }).user = users['alice']
          ctx.status = 204
        } else await next()
      },
    ]
    client = await serve({ authentication: [SessionAuthentication], permissions: [IsAuthenticated], before })
    const [cookie = ''] = (await client.get('/login')).headers['set-cookie'] ?? []
    expect((await client.get('/things', { Cookie: cookie.split(';')[0] as string })).json.user).toEqual(users['alice'])
    for (const wrong of ['koa.sess=x', 'koa.sess=%00', 'koa.sess="', '']) {
      expect((await client.get('/things', { Cookie: wrong })).status).toBe(401)
    }
  })

  it('[E20] HEAD is checked as GET', async () => {
    expect((await get(closed, {}, 'HEAD')).status).toBe(401)
    expect((await get(closed, { Authorization: 'Token alice' }, 'HEAD')).status).toBe(200)
  })

  it('[E16] OPTIONS is answered behind it', async () => {
    expect((await get(closed, {}, 'OPTIONS')).status).toBe(401)
  })
})

describe('authentication() before a view', () => {
  const { 'a view set': serve } = surfaces as Required<typeof surfaces>

  it("a 401 of the view names the plugin's challenges, too", async () => {
    const { authentication } = await import('../../plugins/index.js')
    client = await serve!({ permissions: [IsAuthenticated], before: [authentication(TokenAuth)] })
    expect((await client.get('/things')).headers['www-authenticate']).toBe('Token realm="api"')
    expect((await client.get('/things', { Authorization: 'Token alice' })).json.user).toEqual(users['alice'])
  })

  it('[E17] a user of a token is no user of a session', async () => {
    const { authentication } = await import('../../plugins/index.js')
    client = await serve!({ authentication: [SessionAuthentication], before: [authentication(TokenAuth)] })
    const evil = { Authorization: 'Token alice', Origin: 'https://evil.test' }
    expect(await client.send('POST', '/things', undefined, evil)).toMatchObject({
      status: 200,
      json: { user: users['alice'], auth: { scheme: 'Token' } },
    })
  })
})

describe('a scheme', () => {
  it.each([
    [
      'TokenAuthentication without tokens',
      TokenAuthentication,
      /TokenAuthentication knows no tokens; override getUserForToken\(\)/,
    ],
    [
      'a keyword of two words',
      new TokenAuthentication({ keyword: 'My Token', getUserForToken: () => null }),
      /keyword "My Token"/,
    ],
    [
      'a keyword that breaks the header',
      new TokenAuthentication({ keyword: 'T\r\nX', getUserForToken: () => null }),
      /keyword/,
    ],
    [
      'an origin with a path',
      new SessionAuthentication({ trustedOrigins: ['https://a.test/'] }),
      /trustedOrigins has "https:\/\/a\.test\/"/,
    ],
    ['an origin that is a host', new SessionAuthentication({ trustedOrigins: ['a.test'] }), /trustedOrigins/],
    ['no scheme', {}, /has no method authenticate\(\)/],
  ])('[I23] %s is refused when it is put into a list', async (_name, scheme, message) => {
    for (const serve of Object.values(surfaces)) {
      await expect(serve({ authentication: [scheme as never] })).rejects.toThrow(message)
    }
  })

  it.each([
    [new TokenAuth(), 'Authorization', 'TokenAuth', { type: 'apiKey', in: 'header', name: 'Authorization' }],
    [
      new TokenAuthentication({ keyword: 'Bearer', getUserForToken: () => null }),
      'Authorization',
      'BearerAuth',
      { type: 'http', scheme: 'bearer' },
    ],
    [
      new SessionAuthentication({ cookie: 'sid' }),
      'Cookie',
      'SessionAuth',
      { type: 'apiKey', in: 'cookie', name: 'sid' },
    ],
  ])('[G10] says what answers vary by, and what OpenAPI says of it', (scheme, vary, name, definition) => {
    if (scheme instanceof TokenAuthentication) scheme.settle('here')
    expect(scheme.vary).toBe(vary)
    expect(scheme.openapi).toMatchObject({ name, definition })
  })
})
