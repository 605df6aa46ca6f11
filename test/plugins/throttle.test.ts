import Router from '@koa/router'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Context, Middleware } from '../../lib/http/context.js'
import {
  AnonRateThrottle,
  APIView,
  BaseThrottle,
  ConfigurationError,
  ScopedRateThrottle,
  SimpleRateThrottle,
  Throttled,
  UserRateThrottle,
} from '../../lib/index.js'
import { DatabaseUserThrottle } from '../../lib/throttling/index.js'
import { errors, throttle } from '../../plugins/index.js'
import { type Client, serving } from '../support/client.js'

let client: Client | undefined

beforeEach(() => SimpleRateThrottle.memory.clear())
afterEach(() => client?.close())

const report: Middleware = (ctx) => {
  ctx.body = { path: ctx.path }
}

async function statuses(get: Client['get'], path: string, count: number, headers = {}): Promise<number[]> {
  const all: number[] = []
  for (let index = 0; index < count; index += 1) all.push((await get(path, headers)).status)
  return all
}

describe('throttle()', () => {
  it('is a named middleware', () => {
    expect(throttle(AnonRateThrottle).name).toBe('throttleRequests')
  })

  it('limits a hand-written route as it does a view, without errors() before it', async () => {
    const router = new Router()
    router.get('/report', throttle(new ScopedRateThrottle({ scope: 'report', rate: '2/minute' })), report)
    router.get('/free', report)
    client = await serving(
      async (ctx, next) => {
        ctx.set('Access-Control-Allow-Origin', '*')
        await next()
      },
      router.routes() as unknown as Middleware,
    )
    const { get } = client
    expect(await get('/report')).toMatchObject({
      status: 200,
      headers: { 'ratelimit-policy': '"report";q=2;w=60', ratelimit: '"report";r=1;t=60' },
    })
    expect(await statuses(get, '/report', 2)).toEqual([200, 429])
    expect((await get('/report')).headers).toMatchObject({ 'access-control-allow-origin': '*' })
    expect((await get('/free')).headers).not.toHaveProperty('ratelimit')
    expect(client.reported).toEqual([])
  })

  it('counts failed logins when it stands before authentication', async () => {
    const authentication: Middleware = async (ctx, next) => {
      if (ctx.get('Authorization') !== 'Token right') ctx.throw(401)
      ctx.state['user'] = { id: 1 }
      await next()
    }
    client = await serving(errors(), throttle(new AnonRateThrottle({ rate: '3/minute' })), authentication, report)
    const { get } = client
    expect(await statuses(get, '/', 2, { Authorization: 'Token wrong' })).toEqual([401, 401])
    expect(await statuses(get, '/', 2, { Authorization: 'Token right' })).toEqual([200, 429])
  })

  it('counts once with a view that has the same throttle, and tells two of one name apart', async () => {
    class View extends APIView {
      static override throttleClasses = [AnonRateThrottle, new AnonRateThrottle({ rate: '7/m' })]
      get() {
        return {}
      }
    }
    const view = View.asView()
    client = await serving(throttle(AnonRateThrottle), (ctx) => view(ctx))
    const { get } = client
    const remaining = async () => String((await get('/')).headers['ratelimit']).replaceAll(/;t=\d+/g, '')
    expect(await remaining()).toBe('"anon-100-3600";r=99, "anon-7-60";r=6')
    expect(await remaining()).toBe('"anon-100-3600";r=98, "anon-7-60";r=5')
  })

  it('names a throttle once where it counts by address first and then by user, with what leaves less', async () => {
    class View extends APIView {
      static override throttleClasses = [UserRateThrottle]
      get() {
        return {}
      }
    }
    const view = View.asView()
    const authentication: Middleware = async (ctx, next) => {
      ctx.state['user'] = { id: ctx.get('X-User') }
      await next()
    }
    client = await serving(throttle(UserRateThrottle), authentication, (ctx) => view(ctx))
    const { get } = client
    const limits = async (id: string) => {
      const { headers } = await get('/', { 'X-User': id })
      expect(headers['ratelimit-policy']).toBe('"user";q=1000;w=3600')
      return headers['ratelimit']
    }
    expect(await limits('1')).toMatch(/^"user";r=999;t=\d+$/)
    expect(await limits('2')).toMatch(/^"user";r=998;t=\d+$/)
  })

  it('asks several, and passes errors of what comes after it on', async () => {
    class Own extends BaseThrottle {
      check(ctx: Context) {
        if (ctx.query['often']) throw new Throttled(7)
      }
    }
    client = await serving(errors(), throttle(UserRateThrottle, new Own()), (ctx) => ctx.throw(418, 'Short and stout'))
    const { get } = client
    expect(await get('/?often=1')).toMatchObject({
      status: 429,
      headers: { 'retry-after': '7', 'ratelimit-policy': '"user";q=1000;w=3600' },
    })
    expect(await get('/')).toMatchObject({
      status: 418,
      json: { detail: 'Short and stout' },
      headers: { ratelimit: expect.stringMatching(/^"user";r=998;t=/) },
    })
  })

  it('[E20] gives a throttle the method as the action, GET for HEAD', async () => {
    const actions: string[] = []
    class Own extends SimpleRateThrottle {
      override rate = '5/m'
      getCacheKey(_ctx: Context, { action }: { action: string }) {
        actions.push(action)
        return null
      }
    }
    client = await serving(throttle(Own), report)
    await client.get('/')
    await client.send('HEAD', '/')
    await client.send('POST', '/', {})
    expect(actions).toEqual(['get', 'get', 'post'])
  })

  it.each([
    [
      'a wrong rate',
      () => throttle(new AnonRateThrottle({ rate: '1/week' })),
      /^throttle\(\)\[0\]: AnonRateThrottle: rate/,
    ],
    ['no backend', () => throttle(AnonRateThrottle, DatabaseUserThrottle), /call DatabaseThrottle\.setBackend\(knex\)/],
    ['one twice', () => throttle(AnonRateThrottle, AnonRateThrottle), /^throttle\(\)\[1\]: "anon" is there twice/],
    ['no throttle', () => throttle({} as AnonRateThrottle), /^throttle\(\)\[0\]: has no method check\(\)/],
  ])('[H13] refuses %s when it is called', (_, call, message) => {
    expect(call).toThrow(ConfigurationError)
    expect(call).toThrow(message)
  })
})
