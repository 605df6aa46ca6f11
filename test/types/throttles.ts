/** What an application writes of throttles compiles; what it mistypes does not. */
import {
  AnonRateThrottle,
  APIView,
  BaseThrottle,
  type Context,
  ScopedRateThrottle,
  SimpleRateThrottle,
  Throttled,
  type Throttles,
  UserRateThrottle,
} from 'koa-viewsets'
import { throttle } from 'koa-viewsets/plugins'
import { DatabaseScopedThrottle, DatabaseThrottle } from 'koa-viewsets/throttling'

class Burst extends UserRateThrottle {
  override rate = '10/second'
}
class Reports extends DatabaseScopedThrottle {
  override rate = '10/minute'
  override scope = 'reports'
}
class Tenant extends DatabaseThrottle {
  override rate = '600/minute'
  async getCacheKey(ctx: Context) {
    return ctx.get('X-Tenant') || null
  }
}
class Own extends BaseThrottle {
  check(ctx: Context) {
    if (ctx.query['often']) throw new Throttled(3)
  }
}

export class View extends APIView {
  static override throttleScope = 'uploads'
  static override throttleClasses: Throttles = [Burst, Reports, Tenant, Own, new AnonRateThrottle({ rate: '5/m' })]
}
export class Other extends View {
  static override throttleScope = 'others'
  static override throttleClasses = [new ScopedRateThrottle({ scope: 'a', rate: '1/s' })]
}
throttle(Burst, new Own())

// @ts-expect-error a rate is a text
new AnonRateThrottle({ rate: 5 })
// @ts-expect-error it has no scope
new AnonRateThrottle({ scope: 'a' })
// @ts-expect-error the base has no key
new SimpleRateThrottle({ rate: '5/m' })
// @ts-expect-error the option is called rate
throttle(new UserRateThrottle({ rates: '5/m' }))
// @ts-expect-error no throttle
throttle({ rate: '5/m' })

// @ts-expect-error a scope is a text
export class Wrong extends APIView {
  static override throttleScope = 7
}
