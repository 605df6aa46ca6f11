import { describe, expect, it } from 'vitest'
import { ConfigurationError } from '../../../lib/kernel/errors.js'
import { parseRate } from '../../../lib/throttling/store.js'

describe('parseRate', () => {
  it.each([
    ['1/second', 1, 1],
    ['10/s', 10, 1],
    ['5/minute', 5, 60],
    ['4/m', 4, 60],
    ['100/hour', 100, 3600],
    ['1000/h', 1000, 3600],
    ['7/day', 7, 86_400],
    ['999999999/d', 999_999_999, 86_400],
  ])('[H13] reads %s', (text, limit, seconds) => {
    expect(parseRate(text, 'Burst')).toEqual({ limit, seconds })
  })

  it.each([
    '5/sec',
    '1/week',
    'x',
    '',
    '5',
    '/hour',
    '5/',
    '0/hour',
    '-1/hour',
    '1.5/hour',
    '05/hour',
    '1000000000/hour',
    '5/Hour',
    '5/hours',
    '5 /hour',
    ' 5/hour',
    '5/hour\n',
    '5/2hour',
    '5/hour/day',
    '5/constructor',
    undefined,
    null,
    5,
    ['5/hour'],
  ])('[H13] refuses %j and says what a rate is', (text) => {
    expect(() => parseRate(text, 'Burst')).toThrow(ConfigurationError)
    expect(() => parseRate(text, 'Burst')).toThrow(/^Burst: rate .{1,70} is not N\/period; .*'100\/hour'$/)
  })
})
