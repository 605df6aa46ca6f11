/** When webhooks are tried again, and what statuses mean. */
import { describe, expect, it } from 'vitest'
import { outcomeOf, retryDelay } from '../../../lib/webhooks/retry-schedule.js'

const delays = (random?: () => number) =>
  Array.from({ length: 11 }, (_, attempts) => retryDelay(attempts, random && { random }))

describe('the schedule', () => {
  it('is that of Standard Webhooks, and ends', () => {
    const expected = [0, 5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400, undefined]
    expect(delays(() => 0.5)).toEqual(expected)
    // 75:35:05, as the specification adds them up
    expect(expected.reduce<number>((sum, delay) => sum + (delay ?? 0), 0)).toBe(75 * 3600 + 35 * 60 + 5)
  })

  it('is up to a fifth shorter or longer by chance', () => {
    expect(delays(() => 0)).toEqual([0, 4, 240, 1_440, 5_760, 14_400, 28_800, 40_320, 57_600, 69_120, undefined])
    expect(delays(() => 1)).toEqual([0, 6, 360, 2_160, 8_640, 21_600, 43_200, 60_480, 86_400, 103_680, undefined])
    const drawn = new Set(Array.from({ length: 20 }, () => retryDelay(1)))
    expect(drawn.size).toBeGreaterThan(1)
  })

  it.each<[number, number, number | undefined]>([
    [1, 600, 600],
    [2, 600, 600],
    [3, 600, 1_800],
    [3, 0, 1_800],
    [10, 600, undefined],
  ])('before attempt %d + 1, with a Retry-After of %d s, waits %s s', (attempts, retryAfterSeconds, expected) => {
    expect(retryDelay(attempts, { retryAfterSeconds, random: () => 0.5 })).toBe(expected)
  })
})

describe('a status', () => {
  it.each([200, 201, 202, 204, 299])('%d means delivered', (status) => {
    expect(outcomeOf(status)).toBe('delivered')
  })

  it('410 means that the receiver is gone', () => {
    expect(outcomeOf(410)).toBe('gone')
  })

  it.each([undefined, 101, 199, 300, 301, 307, 400, 401, 404, 409, 429, 500, 502, 503, 504, 999])(
    '%s means failed',
    (status) => {
      expect(outcomeOf(status)).toBe('failed')
    },
  )
})
