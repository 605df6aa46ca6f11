import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { budgetOf, counterKey } from '../../../lib/throttling/simple-rate-throttle.js'

const HOUR = 3600

describe('keyOf', () => {
  it.each([
    [['anon'], 100, HOUR, 'ip', '203.0.113.7', 'throttle:4:anon,8:100/3600,2:ip,11:203.0.113.7,'],
    [['user'], 1000, HOUR, 'user', '42', 'throttle:4:user,9:1000/3600,4:user,2:42,'],
    [['scope', 'a:b'], 100, HOUR, 'user', 'c', 'throttle:5:scope,3:a:b,8:100/3600,4:user,1:c,'],
    [['BurstThrottle'], 10, 1, 'user', '42', 'throttle:13:BurstThrottle,4:10/1,4:user,2:42,'],
    [['scope', 'a'], 100, HOUR, 'user', 'b:c', 'throttle:5:scope,1:a,8:100/3600,4:user,3:b:c,'],
    [
      ['user'],
      1000,
      HOUR,
      'user',
      'x'.repeat(300),
      'throttle:sha256:8f04b54cb7d655ec0e922958be22e2cbdde804b4d55102200ca38c37283f0a1a',
    ],
  ])('[H11] is that of the wire format: %j, %i in %i seconds, %s %s', (name, limit, seconds, kind, caller, key) => {
    expect(counterKey(budgetOf(name, { limit, seconds }), kind, caller)).toBe(key)
  })

  it('is hashed above 200 bytes, not above 200 characters', () => {
    const budget = budgetOf(['user'], { limit: 1, seconds: 1 })
    const rest = Buffer.byteLength(`${budget}4:user,3:,`)
    const longest = 'x'.repeat(200 - rest - 2)
    expect(counterKey(budget, 'user', longest).length).toBeGreaterThan(200)
    expect(counterKey(budget, 'user', `${longest}xx`)).toMatch(/^throttle:sha256:[0-9a-f]{64}$/)
    expect(counterKey(budget, 'user', 'é'.repeat(100))).toMatch(/^throttle:sha256:/)
    expect(counterKey(budget, 'user', 'é'.repeat(50))).toContain('100:éé')
  })

  it('is hashed when the caller has a NUL, which a database cannot hold', () => {
    const budget = budgetOf(['user'], { limit: 1, seconds: 1 })
    expect(counterKey(budget, 'key', 'a\0b')).toMatch(/^throttle:sha256:[0-9a-f]{64}$/)
    expect(counterKey(budget, 'key', 'a\0b')).not.toBe(counterKey(budget, 'key', 'a\0c'))
  })

  it('[H11] is the same for no two callers', () => {
    const part = fc.string({ maxLength: 4, unit: fc.constantFrom('a', ':', ',', '1', '\0', 'é') })
    const callers = fc.tuple(fc.array(part, { minLength: 1, maxLength: 2 }), fc.constantFrom('ip', 'user', 'key'), part)
    fc.assert(
      fc.property(callers, callers, (one, other) => {
        const [left, right] = [one, other].map(([name, kind, caller]) =>
          counterKey(budgetOf(name, { limit: 1, seconds: 1 }), kind, caller),
        )
        expect(left === right).toBe(JSON.stringify(one) === JSON.stringify(other))
      }),
    )
  })
})
