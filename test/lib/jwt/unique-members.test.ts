import { describe, expect, it } from 'vitest'
import { hasUniqueMembers } from '../../../lib/jwt/verify-token.js'

describe('the members of JSON', () => {
  it.each([
    '{}',
    '[]',
    '"a"',
    '{"a":1,"b":{"a":1},"c":[{"a":1},{"a":1}]}',
    '{"a":"a","b":"a","c":["a","a"]}',
    '{"a":{"b":{}},"b":{}}',
    String.raw`{"a":"\"b\":","b":"\\"}`,
    '{"":1," ":2}',
    '{"a":"{\\"a\\":1,\\"a\\":1}"}',
    '{"constructor":1,"toString":2,"proto":3}',
    '{"a" : 1 ,\n"b"\t:2}',
  ])('are each there once in %s', (text) => {
    JSON.parse(text)
    expect(hasUniqueMembers(text)).toBe(true)
  })

  it.each([
    '{"a":1,"a":1}',
    '{"a":1,"b":2,"a":3}',
    String.raw`{"a":1,"\u0061":2}`,
    '{"x":{"a":1,"a":2}}',
    '[[{"a":1,"a":2}]]',
    '{"a":{},"b":[],"a":{}}',
    '{"a" :1,"a":2}',
    '{"__proto__":{}}',
    String.raw`{"x":[{"__proto\u005f_":1}]}`,
    '{"":1,"":2}',
  ])('are not in %s', (text) => {
    JSON.parse(text)
    expect(hasUniqueMembers(text)).toBe(false)
  })

  it('are read in a long text without recursion', () => {
    expect(hasUniqueMembers(`${'[{"a":'.repeat(50_000)}1${'}]'.repeat(50_000)}`)).toBe(true)
    expect(hasUniqueMembers(`{"a":"${'\\"'.repeat(100_000)}"}`)).toBe(true)
  })
})
