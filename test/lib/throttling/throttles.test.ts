import type Koa from 'koa'
import { BurstyRateLimiter, RateLimiterMemory, RateLimiterRes, RateLimiterUnion } from 'rate-limiter-flexible'
import { describe, expect, it } from 'vitest'
import type { Context } from '../../../lib/http/context.js'
import { ConfigurationError, Throttled } from '../../../lib/kernel/errors.js'
import { checkThrottles } from '../../../lib/throttling/check-throttles.js'
import { DatabaseAnonThrottle, DatabaseThrottle } from '../../../lib/throttling/database-throttles.js'
import { AnonRateThrottle, ScopedRateThrottle, UserRateThrottle } from '../../../lib/throttling/rate-throttles.js'
import { RedisAnonThrottle, RedisThrottle } from '../../../lib/throttling/redis-throttles.js'
import { settleThrottles } from '../../../lib/throttling/settle-throttles.js'
import { type CacheKey, SimpleRateThrottle } from '../../../lib/throttling/simple-rate-throttle.js'
import type { ThrottleStore } from '../../../lib/throttling/store.js'
import { BaseThrottle, type ThrottledView } from '../../../lib/throttling/throttle.js'

const VIEW: ThrottledView = { action: 'list' }

interface Answer {
  ctx: Context
  headers: Record<string, string>
}

/** A request, as much of it as throttles look at. */
function request(user?: unknown, ip = '203.0.113.7'): Answer {
  const headers: Record<string, string> = {}
  const ctx = {
    ip,
    state: { user },
    app: { proxy: false } as Koa,
    headers: {},
    set(name: string, value: string) {
      headers[name] = value
    },
  }
  return { ctx: ctx as unknown as Context, headers }
}

/** Notes the keys that it is asked to count. */
function recorder(used = 1, wait = 60_000) {
  const keys: string[] = []
  const store: ThrottleStore = {
    limiter: () => ({
      consume(key) {
        keys.push(key)
        return { used, wait }
      },
    }),
  }
  return { keys, store }
}

/** The key of one request, by a throttle whose store is replaced. */
async function keyFor(throttle: SimpleRateThrottle, user?: unknown, view = VIEW, ip?: string): Promise<string[]> {
  const { keys, store } = recorder()
  throttle.store = store
  await checkThrottles(request(user, ip).ctx, view, [throttle])
  return keys
}

describe('keys', () => {
  class BurstThrottle extends UserRateThrottle {
    override rate = '10/second'
  }
  class ReportThrottle extends ScopedRateThrottle {
    override rate = '10/minute'
    override scope = 'report'
  }
  class Named extends AnonRateThrottle {
    static override budget = 'mine'
  }

  it.each<[string, SimpleRateThrottle, unknown, string[]]>([
    ['an anonymous caller', new AnonRateThrottle(), null, ['throttle:4:anon,8:100/3600,2:ip,11:203.0.113.7,']],
    ['nobody who is logged in', new AnonRateThrottle(), { id: 42 }, []],
    ['a user', new UserRateThrottle(), { id: 42 }, ['throttle:4:user,9:1000/3600,4:user,2:42,']],
    ['a user without an id', new UserRateThrottle(), {}, ['throttle:4:user,9:1000/3600,2:ip,11:203.0.113.7,']],
    ['an anonymous caller', new UserRateThrottle(), null, ['throttle:4:user,9:1000/3600,2:ip,11:203.0.113.7,']],
    [
      'a user in a scope',
      new ScopedRateThrottle({ scope: 'a:b' }),
      { id: 'c' },
      ['throttle:5:scope,3:a:b,8:100/3600,4:user,1:c,'],
    ],
    [
      'a user in the scope of another length',
      new ScopedRateThrottle({ scope: 'a' }),
      { id: 'b:c' },
      ['throttle:5:scope,1:a,8:100/3600,4:user,3:b:c,'],
    ],
    ['no scope', new ScopedRateThrottle(), { id: 1 }, ['throttle:5:scope,7:default,8:100/3600,4:user,1:1,']],
    ['a class of its own', new BurstThrottle(), { id: 42 }, ['throttle:13:BurstThrottle,4:10/1,4:user,2:42,']],
    [
      'a class of its own with a scope',
      new ReportThrottle(),
      { id: 42 },
      ['throttle:14:ReportThrottle,6:report,5:10/60,4:user,2:42,'],
    ],
    ['a class with a name of its own', new Named(), null, ['throttle:4:mine,8:100/3600,2:ip,11:203.0.113.7,']],
  ])('[H11] are of %s', async (_, throttle, user, keys) => {
    expect(await keyFor(throttle, user)).toEqual(keys)
  })

  it.each<[string, unknown]>([
    ['nobody', undefined],
    ['null', null],
    ['an "anonymous user" object', { id: 5, isAnonymous: true }],
    ['one who is not authenticated', { isAuthenticated: false }],
  ])('[H14] are by address for %s', async (_, user) => {
    expect(await keyFor(new AnonRateThrottle(), user)).toEqual(['throttle:4:anon,8:100/3600,2:ip,11:203.0.113.7,'])
  })

  it.each<[string, unknown]>([
    ['null for an id', { id: null }],
    ['another claim', { sub: '17' }],
    ['a name only', 'alice'],
  ])('[E23] are not of a known user with %s, whom others count by address', async (_, user) => {
    expect(await keyFor(new AnonRateThrottle(), user)).toEqual([])
    expect(await keyFor(new UserRateThrottle(), user)).toEqual(['throttle:4:user,9:1000/3600,2:ip,11:203.0.113.7,'])
    expect(await keyFor(new ScopedRateThrottle(), user)).toEqual([
      'throttle:5:scope,7:default,8:100/3600,2:ip,11:203.0.113.7,',
    ])
  })

  it('[H14] are of user 0, who is one', async () => {
    expect(await keyFor(new AnonRateThrottle(), { id: 0 })).toEqual([])
    expect(await keyFor(new UserRateThrottle(), { id: 0 })).toEqual(['throttle:4:user,9:1000/3600,4:user,1:0,'])
  })

  it.each([
    ['127.0.0.1', '127.0.0.1'],
    ['::ffff:127.0.0.1', '127.0.0.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2:ffff::', '2001:db8:1:2::/64'],
  ])('[H3] of the address %s are those of %s', async (ip, address) => {
    expect(await keyFor(new AnonRateThrottle(), null, VIEW, ip)).toEqual([
      `throttle:4:anon,8:100/3600,2:ip,${address.length}:${address},`,
    ])
  })

  it('[H12] are split by the scope of the view, unless the throttle has one', async () => {
    const keys = async (throttle: ScopedRateThrottle) => keyFor(throttle, { id: 1 }, { ...VIEW, throttleScope: 'v' })
    expect(await keys(new ScopedRateThrottle())).toEqual(['throttle:5:scope,1:v,8:100/3600,4:user,1:1,'])
    expect(await keys(new ScopedRateThrottle({ scope: 'o' }))).toEqual(['throttle:5:scope,1:o,8:100/3600,4:user,1:1,'])
    expect(await keys(new ReportThrottle())).toEqual(['throttle:14:ReportThrottle,6:report,5:10/60,4:user,1:1,'])
    expect(await keys(new ReportThrottle({ scope: 'o' }))).toEqual([
      'throttle:14:ReportThrottle,1:o,5:10/60,4:user,1:1,',
    ])
  })

  it('are by the option for the rate, else by the attribute of the class', async () => {
    expect(await keyFor(new BurstThrottle({ rate: '5/m' }), { id: 1 })).toEqual([
      'throttle:13:BurstThrottle,4:5/60,4:user,1:1,',
    ])
  })

  it.each<[string, CacheKey | Promise<CacheKey>, string[]]>([
    ['a text', 'acme', ['throttle:6:Tenant,4:2/60,3:key,4:acme,']],
    ['a promise of a text', Promise.resolve('acme'), ['throttle:6:Tenant,4:2/60,3:key,4:acme,']],
    ['an empty text', '', ['throttle:6:Tenant,4:2/60,3:key,0:,']],
    ['a number', 7, ['throttle:6:Tenant,4:2/60,3:key,1:7,']],
    ['the key of another throttle', { kind: 'user', id: '7' }, ['throttle:6:Tenant,4:2/60,4:user,1:7,']],
    ['null', null, []],
    ['undefined', undefined, []],
    ['a promise of null', Promise.resolve(null), []],
  ])("are the application's own: %s", async (_, key, keys) => {
    class Tenant extends SimpleRateThrottle {
      override rate = '2/m'
      getCacheKey() {
        return key
      }
    }
    expect(await keyFor(new Tenant(), { id: 1 })).toEqual(keys)
  })

  it("are not what an application's mistake returns", async () => {
    class Wrong extends SimpleRateThrottle {
      override rate = '2/m'
      getCacheKey() {
        return true as unknown as string
      }
    }
    await expect(keyFor(new Wrong())).rejects.toThrow('Wrong.getCacheKey() returned neither a text nor null')
  })
})

describe('settleThrottles', () => {
  class NoRate extends SimpleRateThrottle {
    getCacheKey() {
      return 'a'
    }
  }
  class Week extends UserRateThrottle {
    override rate = '1/week'
  }
  class Ünamed extends UserRateThrottle {}
  const OwnDatabase = class OwnDatabase extends DatabaseThrottle {
    override rate = '5/m'
    getCacheKey() {
      return 'a'
    }
  }

  it.each<[string, new () => BaseThrottle, RegExp]>([
    ['[H13] a rate of another form', Week, /^V\.throttleClasses\[0\]: Week: rate "1\/week" is not N\/period/],
    ['[H13] no rate', NoRate, /NoRate: rate "" is not N\/period/],
    ['[H13] no backend of the database', DatabaseAnonThrottle, /call DatabaseThrottle\.setBackend\(knex\) before/],
    [
      '[H13] no backend of the database, by an own class',
      OwnDatabase,
      /call DatabaseThrottle\.setBackend\(knex\) before/,
    ],
    ['[H13] no backend of Redis', RedisAnonThrottle, /call RedisThrottle\.setBackend\(client\) before/],
    ['a name that no header can have', Ünamed, /printable ASCII/],
    ['a class without a name', (() => class extends UserRateThrottle {})(), /printable ASCII/],
  ])('refuses %s', (_, throttle, message) => {
    expect(() => settleThrottles('V.throttleClasses', [throttle])).toThrow(ConfigurationError)
    expect(() => settleThrottles('V.throttleClasses', [throttle])).toThrow(message)
  })

  it.each<[string, unknown[]]>([
    ['the same class twice', [AnonRateThrottle, AnonRateThrottle]],
    ['the same class and rate', [UserRateThrottle, new UserRateThrottle({ rate: '1000/h' })]],
    ['the same scope and rate', [ScopedRateThrottle, new ScopedRateThrottle({ scope: 'default' })]],
  ])('refuses %s, which would count twice', (_, list) => {
    expect(() => settleThrottles('V', list as BaseThrottle[])).toThrow(/^V\[1\]: ".+" is there twice with one rate/)
  })

  it.each(['', 'ü', 'a\n', 7])('refuses the scope %j', (throttleScope) => {
    expect(() => settleThrottles('V', [ScopedRateThrottle], { throttleScope: throttleScope as string })).toThrow(
      /^V\[0\]: ScopedRateThrottle: the name of the class, .* and the scope must be printable ASCII/,
    )
  })

  it.each([undefined, null, {}, { raw: 1 }])('refuses the backend %j', (backend) => {
    expect(() => DatabaseThrottle.setBackend(backend as never)).toThrow(ConfigurationError)
    expect(() => RedisThrottle.setBackend(backend as never)).toThrow(ConfigurationError)
  })

  it('asks for another backend once the one of the database was closed', () => {
    DatabaseThrottle.setBackend({ raw() {} } as never)
    expect(settleThrottles('V', [DatabaseAnonThrottle])).toHaveLength(1)
    DatabaseThrottle.close()
    expect(() => settleThrottles('V', [DatabaseAnonThrottle])).toThrow(
      /call DatabaseThrottle\.setBackend\(knex\) before/,
    )
  })

  it('describes what each admits', () => {
    const list = [AnonRateThrottle, new ScopedRateThrottle({ rate: '10/m' })]
    const rates = settleThrottles('V', list).map((throttle) => throttle.rateFor({ throttleScope: 'uploads' }))
    expect(rates).toEqual([
      { name: 'anon', limit: 100, seconds: 3600 },
      { name: 'uploads', limit: 10, seconds: 60 },
    ])
  })
})

describe('the RateLimit headers', () => {
  class Fixed extends UserRateThrottle {
    static override budget = 'user'
    asked = 0
    readonly #used: number
    readonly #wait: number
    constructor(rate: string, used = 1, wait = 41_001) {
      super({ rate })
      this.#used = used
      this.#wait = wait
    }
    override store: ThrottleStore = {
      limiter: () => ({
        consume: () => {
          this.asked += 1
          return { used: this.#used, wait: this.#wait }
        },
      }),
    }
  }
  class Report extends Fixed {
    static override budget = 'report'
  }
  class Nobody extends Fixed {
    static override budget = 'nobody'
    override async getCacheKey() {
      return null
    }
  }
  class Absent extends Nobody {
    static override budget = 'user'
  }
  class Quoted extends Fixed {
    static override budget = 'a"b\\c'
  }
  class Silent extends BaseThrottle {
    check() {}
  }

  async function headersOf(...throttles: BaseThrottle[]) {
    const { ctx, headers } = request({ id: 1 })
    const refusal: unknown = await checkThrottles(ctx, VIEW, throttles).then(
      () => undefined,
      (error: unknown) => error,
    )
    return { headers, refusal }
  }

  it('say what is left, the seconds rounded up', async () => {
    expect(await headersOf(new Fixed('1000/h', 69, 2_416_001))).toEqual({
      headers: { 'RateLimit-Policy': '"user";q=1000;w=3600', RateLimit: '"user";r=931;t=2417' },
      refusal: undefined,
    })
  })

  it('name all throttles that were asked; the one that refuses says how long', async () => {
    const { headers, refusal } = await headersOf(new Fixed('1000/h', 69, 2_417_000), new Report('10/m', 11, 41_001))
    expect(headers).toEqual({
      'RateLimit-Policy': '"user";q=1000;w=3600, "report";q=10;w=60',
      RateLimit: '"user";r=931;t=2417, "report";r=0;t=42',
    })
    expect(refusal).toBeInstanceOf(Throttled)
    expect(refusal).toMatchObject({
      headers: { 'Retry-After': '42' },
      detail: 'Request was throttled. Retry after 42 seconds',
    })
  })

  it('[H10] list the policy only of those after the one that refuses, for they are not asked', async () => {
    const last = new Report('10/m')
    const { headers } = await headersOf(new Fixed('5/s', 6, 200), new Nobody('7/h'), last)
    expect(headers).toEqual({ 'RateLimit-Policy': '"user";q=5;w=1, "report";q=10;w=60', RateLimit: '"user";r=0;t=1' })
    expect(last.asked).toBe(0)
  })

  it('leave out who has no key for the caller, and who says no rate', async () => {
    expect((await headersOf(new Nobody('7/h'), new Silent(), new Fixed('5/s', 1, 1000))).headers).toEqual({
      'RateLimit-Policy': '"user";q=5;w=1',
      RateLimit: '"user";r=4;t=1',
    })
    expect((await headersOf(new Nobody('7/h'), new Silent())).headers).toEqual({})
  })

  it('tell throttles of one name apart by their numbers', async () => {
    expect(
      (await headersOf(new Fixed('5/s', 1, 1000), new Fixed('1000/h', 1, 1000), new Report('1/d'))).headers,
    ).toEqual({
      'RateLimit-Policy': '"user-5-1";q=5;w=1, "user-1000-3600";q=1000;w=3600, "report";q=1;w=86400',
      RateLimit: '"user-5-1";r=4;t=1, "user-1000-3600";r=999;t=1, "report";r=0;t=42',
    })
  })

  it('are structured strings', async () => {
    expect((await headersOf(new Quoted('5/s', 1, 1000))).headers['RateLimit-Policy']).toBe('"a\\"b\\\\c";q=5;w=1')
  })

  it('[H5] never ask to wait for nothing', async () => {
    const { headers, refusal } = await headersOf(new Fixed('5/s', 6, 0))
    expect(headers['RateLimit']).toBe('"user";r=0;t=0')
    expect(refusal).toMatchObject({ headers: { 'Retry-After': '1' } })
  })

  it('are there when a throttle of the application refuses by itself', async () => {
    class Own extends BaseThrottle {
      check() {
        throw new Throttled(7)
      }
    }
    const { headers, refusal } = await headersOf(new Fixed('5/s', 1, 1000), new Own())
    expect(headers['RateLimit']).toBe('"user";r=4;t=1')
    expect(refusal).toMatchObject({ headers: { 'Retry-After': '7' } })
  })

  it('add to those of an earlier check of the same request', async () => {
    const { ctx, headers } = request({ id: 1 })
    await checkThrottles(ctx, VIEW, [new Fixed('5/s', 1, 1000)])
    await checkThrottles(ctx, VIEW, [new Fixed('9/s', 2, 1000), new Report('3/s', 1, 1000)])
    expect(headers).toEqual({
      'RateLimit-Policy': '"user-5-1";q=5;w=1, "user-9-1";q=9;w=1, "report";q=3;w=1',
      RateLimit: '"user-5-1";r=4;t=1, "user-9-1";r=7;t=1, "report";r=2;t=1',
    })
  })

  it.each<[string, Fixed[], string]>([
    ['what leaves less first', [new Fixed('9/m', 8, 20_000), new Fixed('9/m', 2, 60_000)], 'r=1;t=20'],
    ['what leaves less last', [new Fixed('9/m', 2, 60_000), new Fixed('9/m', 8, 20_000)], 'r=1;t=20'],
    ['a refusal last', [new Fixed('9/m', 9, 60_000), new Fixed('9/m', 10, 20_000)], 'r=0;t=20'],
    ['one for nobody first', [new Absent('9/m'), new Fixed('9/m', 8, 20_000)], 'r=1;t=20'],
    ['one for nobody last', [new Fixed('9/m', 8, 20_000), new Absent('9/m')], 'r=1;t=20'],
  ])('name one throttle once where it has two counts: %s', async (_, throttles, left) => {
    const { ctx, headers } = request({ id: 1 })
    for (const throttle of throttles) await checkThrottles(ctx, VIEW, [throttle]).catch(() => {})
    expect(headers).toEqual({ 'RateLimit-Policy': '"user";q=9;w=60', RateLimit: `"user";${left}` })
  })
})

describe('a request', () => {
  class Once extends UserRateThrottle {
    override rate = '3/day'
  }

  it('[H12] counts once in a budget, however often it is checked', async () => {
    const { ctx, headers } = request({ id: 'once' })
    for (const _ of [1, 2, 3, 4]) await checkThrottles(ctx, VIEW, [new Once()])
    expect(headers).toEqual({ 'RateLimit-Policy': '"Once";q=3;w=86400', RateLimit: '"Once";r=2;t=86400' })
  })

  it('[H12] counts in the same budget on all views', async () => {
    const remaining: (string | undefined)[] = []
    for (const action of ['list', 'retrieve', 'get']) {
      const { ctx, headers } = request({ id: 'views' })
      await checkThrottles(ctx, { action }, [new Once()])
      remaining.push(headers['RateLimit']?.replace(/;t=.*/, ''))
    }
    expect(remaining).toEqual([2, 1, 0].map((left) => `"Once";r=${left}`))
  })

  it('[H10 H11] counts in each throttle before the one that refuses, each with its own count', async () => {
    class First extends AnonRateThrottle {
      override rate = '4/m'
    }
    class Second extends UserRateThrottle {
      override rate = '4/m'
    }
    const outcomes: string[] = []
    for (const _ of [1, 2, 3, 4, 5]) {
      const { ctx, headers } = request(null, '198.51.100.1')
      const passed = await checkThrottles(ctx, VIEW, [new First(), new Second()]).then(
        () => true,
        () => false,
      )
      outcomes.push(`${passed} ${headers['RateLimit']?.replaceAll(/t=\d+/g, 't')}`)
    }
    expect(outcomes).toEqual([
      'true "First";r=3;t, "Second";r=3;t',
      'true "First";r=2;t, "Second";r=2;t',
      'true "First";r=1;t, "Second";r=1;t',
      'true "First";r=0;t, "Second";r=0;t',
      'false "First";r=0;t',
    ])
  })
})

/** A union answers what each of its limiters says. */
function worstOf(result: RateLimiterRes | Record<string, RateLimiterRes>): RateLimiterRes {
  const [worst] = (result instanceof RateLimiterRes ? [result] : Object.values(result)).sort(
    (one, other) => one.remainingPoints - other.remainingPoints,
  )
  return worst as RateLimiterRes
}

describe('a store of the application', () => {
  it('counts in place of that of the class', async () => {
    const { keys, store } = recorder()
    await checkThrottles(request(null).ctx, VIEW, [new DatabaseAnonThrottle({ store })])
    await checkThrottles(request({ id: 7 }).ctx, VIEW, [new UserRateThrottle({ store })])
    expect(keys).toEqual(['throttle:4:anon,8:100/3600,2:ip,11:203.0.113.7,', 'throttle:4:user,9:1000/3600,4:user,1:7,'])
  })

  const own = (options: { keyPrefix: string; points: number }) => new RateLimiterMemory({ ...options, duration: 60 })
  it.each([
    ['one in memory', 2, () => own({ keyPrefix: 'alone', points: 2 })],
    [
      'one that lets a caller burst',
      5,
      () => new BurstyRateLimiter(own({ keyPrefix: 'own', points: 2 }), own({ keyPrefix: 'burst', points: 3 })),
    ],
    [
      'a union, of which the tightest counts',
      1,
      () => new RateLimiterUnion(own({ keyPrefix: 'loose', points: 2 }), own({ keyPrefix: 'tight', points: 1 })),
    ],
  ])('may be limiters of rate-limiter-flexible: %s', async (_, admitted, create) => {
    const limiter = create()
    const store: ThrottleStore = {
      limiter: (_budget, { limit }) => ({
        consume: (key) =>
          limiter.consume(key).then(
            (result) => ({ used: limit - worstOf(result).remainingPoints, wait: worstOf(result).msBeforeNext }),
            (result: RateLimiterRes) => ({ used: limit + 1, wait: worstOf(result).msBeforeNext }),
          ),
      }),
    }
    const throttle = new AnonRateThrottle({ rate: '2/minute', store })
    for (let time = 0; time < admitted; time++) await checkThrottles(request(null).ctx, VIEW, [throttle])
    await expect(checkThrottles(request(null).ctx, VIEW, [throttle])).rejects.toBeInstanceOf(Throttled)
  })

  it.each([undefined, 5, { used: 1 }, { used: 1, wait: undefined }, Promise.resolve({ used: 3, wait: Number.NaN })])(
    'is named where its answer is no count: %o',
    async (answer) => {
      const store: ThrottleStore = { limiter: () => ({ consume: () => answer as never }) }
      const throttle = new AnonRateThrottle({ rate: '2/minute', store })
      const checked = checkThrottles(request(null).ctx, VIEW, [throttle])
      await expect(checked).rejects.toThrow('AnonRateThrottle: consume() of its store returned no { used, wait }')
    },
  )
})
