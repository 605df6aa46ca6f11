import type Koa from 'koa'
import { describe, expect, it } from 'vitest'
import { APIKeyAuthentication } from '../../lib/api-keys/index.js'
import {
  BaseAuthentication,
  BaseRenderer,
  BaseThrottle,
  BaseVersioning,
  ConfigurationError,
  HeaderVersioning,
  IsAuthenticated,
  IsAuthenticatedOrReadOnly,
  SessionAuthentication,
  Throttled,
  TokenAuthentication,
} from '../../lib/index.js'
import {
  authentication,
  contentNegotiation,
  errors,
  etag,
  permissions,
  throttle,
  versioning,
} from '../../plugins/index.js'
import { serveApp } from '../support/client.js'

const token = new TokenAuthentication({ getUserForToken: (text) => (text === 'alice' ? { id: 1 } : null) })

const factories: [string, () => Koa.Middleware, string][] = [
  ['authentication()', () => authentication(token), 'authenticateCaller'],
  ['permissions()', () => permissions(IsAuthenticated), 'askPermissions'],
  ['versioning()', () => versioning(new HeaderVersioning({ allowedVersions: ['1'] })), 'determineApiVersion'],
]

describe.each(factories)('%s', (_name, make, name) => {
  const refused = { Authorization: 'Token mallory', Accept: 'text/html;version=9' }

  it('is a named middleware', () => {
    expect(make().name).toBe(name)
  })

  it('answers what it refuses by itself, keeps the headers of the app, and goes no further', async () => {
    let reached = false
    const before: Koa.Middleware = (ctx, next) => {
      ctx.set('X-App-Version', '7')
      return next()
    }
    const client = await serveApp(before, make(), () => {
      reached = true
    })
    const answer = await client.get('/', refused)
    expect([401, 406]).toContain(answer.status)
    expect(answer.headers['x-app-version']).toBe('7')
    expect(reached).toBe(false)
  })

  it('leaves the errors of what comes after it alone', async () => {
    let caught: unknown
    const before: Koa.Middleware = async (ctx, next) => {
      ctx.state['user'] = { id: 1 }
      await next().catch((error) => {
        caught = error
      })
    }
    const mine = new Error('mine')
    const client = await serveApp(errors(), before, make(), () => {
      throw mine
    })
    await client.get('/')
    expect(caught).toBe(mine)
  })
})

describe('authentication()', () => {
  it('[G10] says by which headers answers vary, refusals too, once each', async () => {
    const schemes = [SessionAuthentication, token, APIKeyAuthentication, new SessionAuthentication()]
    const client = await serveApp(authentication(...schemes), permissions(IsAuthenticated), (ctx) => {
      ctx.vary('Accept')
      ctx.body = 'in'
    })
    expect((await client.get('/', { Authorization: 'Token alice' })).headers['vary']).toBe(
      'Cookie, Authorization, X-API-Key, Accept',
    )
    expect((await client.get('/')).headers['vary']).toBe('Cookie, Authorization, X-API-Key')
    expect((await client.get('/', { Authorization: 'Token x' })).headers['vary']).toBe(
      'Cookie, Authorization, X-API-Key',
    )
  })

  it('what the handler throws later has its challenges, too', async () => {
    const { AuthenticationFailed } = await import('../../lib/index.js')
    const client = await serveApp(errors(), authentication(token, APIKeyAuthentication), () => {
      throw new AuthenticationFailed()
    })
    expect((await client.get('/')).headers['www-authenticate']).toBe('Token realm="api", ApiKey realm="api"')
  })

  it('several of them add up', async () => {
    const client = await serveApp(
      authentication(APIKeyAuthentication),
      authentication(token),
      permissions(IsAuthenticated),
    )
    expect((await client.get('/')).headers['www-authenticate']).toBe('ApiKey realm="api", Token realm="api"')
  })
})

describe('what is refused', () => {
  it('is no error of the app', async () => {
    const client = await serveApp(authentication(token), permissions(IsAuthenticated))
    for (const Authorization of ['Token x', '', 'Token \xff']) await client.get('/', { Authorization })
    expect(client.reported).toEqual([])
  })
})

describe('permissions()', () => {
  const passport: Koa.Middleware = (ctx, next) => {
    if (ctx.headers.cookie !== undefined) ctx.state['user'] = { id: 1 }
    return next()
  }
  const shown: Koa.Middleware = (ctx) => {
    ctx.body = { user: ctx.state['user'] ?? null }
  }

  it('[G10] keeps what a caller gets whom the application knows from shared caches, as view sets do', async () => {
    const client = await serveApp(errors(), passport, permissions(IsAuthenticatedOrReadOnly), shown)
    const known = await client.get('/', { Cookie: 'a=1' })
    expect([known.json, known.headers['cache-control']]).toEqual([{ user: { id: 1 } }, 'no-store'])
    expect((await client.get('/')).headers).not.toHaveProperty('cache-control')
  })

  const cached = etag({ private: false, maxAge: 60 })
  it('[G10] says that what caches may keep depends on who asks', async () => {
    const client = await serveApp(passport, permissions(IsAuthenticatedOrReadOnly), cached, shown)
    const { headers } = await client.get('/', { Cookie: 'a=1' })
    expect([headers['cache-control'], headers['vary']]).toEqual(['public, max-age=60', 'Authorization, Cookie'])
  })

  class OfPassport extends BaseAuthentication {
    override authenticate(ctx: Koa.Context) {
      return ctx.headers.cookie === undefined ? null : { user: { id: 1 }, auth: null }
    }
  }
  const apart = ['public, max-age=60', 'Authorization, Cookie']
  it.each<[string, Koa.Middleware[], unknown, unknown]>([
    ['etag() alone', [passport, cached], apart, ['public, max-age=60', undefined]],
    [
      'etag() around authentication()',
      [cached, authentication(OfPassport)],
      ['no-store', 'Authorization, Cookie'],
      apart,
    ],
    ['etag() inside authentication()', [authentication(OfPassport), cached], apart, apart],
  ])('[G10] %s says so, too', async (_order, order, ofKnown, ofNobody) => {
    const client = await serveApp(...order, shown)
    const said = async (headers: Record<string, string>) => {
      const answer = await client.get('/', headers)
      return [answer.headers['cache-control'], answer.headers['vary']]
    }
    expect(await said({ Cookie: 'a=1' })).toEqual(ofKnown)
    expect(await said({})).toEqual(ofNobody)
  })

  it.each([201, 206, 302, 304])('[G10] etag() says nothing of a %i, whoever asks', async (status) => {
    const client = await serveApp(passport, cached, (ctx) => {
      ctx.status = status
      if (status < 300) ctx.body = 'made'
    })
    const { headers } = await client.get('/', { Cookie: 'a=1' })
    expect([headers['cache-control'], headers['vary']]).toEqual([undefined, undefined])
  })
})

describe('a policy of the application', () => {
  class Odd extends BaseThrottle {
    readonly answer: unknown
    constructor(answer: unknown) {
      super()
      this.answer = answer
    }
    override check(): never {
      return this.answer as never
    }
  }

  it.each([false, true, 'no', {}, { allowed: false }, { allowed: false, remaining: 0, wait: Number.NaN }])(
    '[E23] lets nobody pass a throttle that answers %j',
    async (answer) => {
      const client = await serveApp(errors(), throttle(new Odd(answer)), (ctx) => {
        ctx.body = 'passed'
      })
      expect((await client.get('/')).status).toBe(500)
      expect(client.reported).toEqual([
        new ConfigurationError(
          'Odd: check() returned neither { allowed, remaining, wait } nor nothing; wait is in seconds',
        ),
      ])
    },
  )

  it('says how long to wait, whatever an error of its own says', async () => {
    const client = await serveApp(errors(), () => {
      throw new Throttled(Number.NaN)
    })
    const { json, headers } = await client.get('/')
    expect([json.detail, headers['retry-after']]).toEqual(['Request was throttled. Retry after 1 seconds', '1'])
  })

  class Late extends BaseVersioning {
    override determineVersion(): never {
      return Promise.reject(new Error('late')) as never
    }
  }
  class Unsure extends BaseVersioning {
    override detectVersion(): never {
      return Promise.reject(new Error('late')) as never
    }
  }
  class Numbered extends BaseVersioning {
    override detectVersion(): never {
      return 2 as never
    }
  }
  it.each([
    [Late, 'Late: determineVersion() returned a promise; return the version as a text, at once'],
    [Unsure, 'Unsure: detectVersion() returned a promise; return the version as a text, at once'],
    [Numbered, 'Numbered: detectVersion() returned a number; return the version as a text, at once'],
  ])('ends no process by a version that is told too late: %o', async (policy, message) => {
    const client = await serveApp(errors(), versioning(policy), (ctx) => {
      ctx.body = 'passed'
    })
    expect((await client.get('/')).status).toBe(500)
    expect(client.reported).toEqual([new ConfigurationError(message)])
  })

  class Slow extends BaseRenderer {
    readonly mediaType = 'application/pdf'
    readonly format = 'pdf'
    readonly contentType = 'application/pdf'
    override render(): never {
      return Promise.reject(new Error('late')) as never
    }
  }
  it('sends no promise of a renderer', async () => {
    const client = await serveApp(errors(), contentNegotiation({ renderers: [Slow] }), (ctx) => {
      ctx.body = { a: 1 }
    })
    expect((await client.get('/')).status).toBe(500)
    expect(client.reported).toEqual([
      new ConfigurationError('Slow: render() returned a promise; return the body, as text or bytes'),
    ])
  })

  const rendered = async (body: unknown) => {
    class Packed extends BaseRenderer {
      readonly mediaType = 'application/vnd.packed'
      readonly format = 'packed'
      readonly contentType = 'application/vnd.packed'
      override render(): string {
        return body as string
      }
    }
    const client = await serveApp(errors(), contentNegotiation({ renderers: [Packed] }), (ctx) => {
      ctx.body = { a: 1 }
    })
    const { status, text, headers } = await client.get('/')
    return { status, text, type: headers['content-type'], reported: client.reported }
  }

  it.each([undefined, null, 7, { a: 1 }, [][Symbol.iterator]()])(
    'sends nothing else of a renderer: %j',
    async (body) => {
      const returned = body === null ? 'null' : typeof body
      const message = `Packed: render() returned ${returned}; return the body, as text or bytes`
      expect(await rendered(body)).toMatchObject({ status: 500, reported: [new ConfigurationError(message)] })
    },
  )

  it('sends text and bytes of a renderer under its type, also bytes that are no Buffer', async () => {
    for (const body of ['AB', Buffer.from('AB'), new Uint8Array([0, 65, 66]).subarray(1)])
      expect(await rendered(body)).toMatchObject({ status: 200, text: 'AB', type: 'application/vnd.packed' })
  })

  it.each(['tar.gz', 'a/b', 'a b', ''])('refuses a suffix that no path can end in: %j', (format) => {
    expect(() => contentNegotiation({ renderers: [Object.assign(new Slow(), { format })] })).toThrow(
      `Slow: format is ${JSON.stringify(format)}; give letters and digits`,
    )
  })
})
