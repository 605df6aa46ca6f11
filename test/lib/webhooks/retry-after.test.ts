/** What receivers say with `Retry-After`. */
import { describe, expect, it } from 'vitest'
import { readRetryAfter } from '../../../lib/webhooks/retry-after.js'

const NOW = Date.UTC(1994, 10, 6, 8, 49, 7)

describe('Retry-After', () => {
  it.each<[string, number]>([
    ['0', 0],
    ['120', 120],
    ['86400', 86_400],
    ['86401', 86_400],
    ['9'.repeat(400), 86_400],
    // the three formats of RFC 9110
    ['Sun, 06 Nov 1994 08:49:37 GMT', 30],
    ['Sunday, 06-Nov-94 08:49:37 GMT', 30],
    ['Sun Nov  6 08:49:37 1994', 30],
    ['Sun, 06 Nov 1994 08:49:00 GMT', 0],
    ['Mon, 06 Nov 2034 08:49:37 GMT', 86_400],
  ])('%s is %d seconds', (value, seconds) => {
    expect(readRetryAfter(value, NOW)).toBe(seconds)
  })

  it.each([
    undefined,
    '',
    '-1',
    '+5',
    '1.5',
    '1e3',
    '0x10',
    '5 seconds',
    '٥',
    'soon',
    'Infinity',
    '1994-11-06T08:49:37Z',
    '06 Nov 1994',
    'Sun, 06 Nov 1994 08:49:37',
    'Sun, 06 Nov 1994 08:49:37 +0100',
    'Sun, 99 Foo 1994 99:99:99 GMT',
  ])('%j says nothing', (value) => {
    expect(readRetryAfter(value, NOW)).toBeUndefined()
  })
})
