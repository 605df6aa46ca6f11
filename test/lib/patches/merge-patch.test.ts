/** JSON merge patches by the vectors of RFC 7396, and by numbers that JavaScript cannot hold. */
import { mergePatch } from 'koa-viewsets/patches'
import { describe, expect, it } from 'vitest'
import { writeJson } from '../../../lib/kernel/json-numerals.js'
import { parseJson } from '../../../lib/kernel/parse-json.js'

describe('a merge patch', () => {
  it.each<[original: string, patch: string, result: string]>([
    ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
    ['{"a":"b"}', '{"a":null}', '{}'],
    ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
    ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
    ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
    ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
    ['["a","b"]', '["c","d"]', '["c","d"]'],
    ['{"a":"b"}', '["c"]', '["c"]'],
    ['{"a":"foo"}', 'null', 'null'],
    ['{"a":"foo"}', '"bar"', '"bar"'],
    ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
    ['[1,2]', '{"a":"b","c":null}', '{"a":"b"}'],
    ['{}', '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
  ])('[RFC 7396, appendix A] makes of %s with %s the value %s', (original, patch, result) => {
    expect(mergePatch(JSON.parse(original), JSON.parse(patch))).toEqual(JSON.parse(result))
  })

  it('changes neither of its arguments, and shares nothing with them', () => {
    const target = { a: { b: [1] }, c: { d: 1 } }
    const patch = { c: { e: { f: 1 } }, g: [{}] }
    const result = mergePatch(target, patch) as { a: { b: number[] }; c: { e: { f: number } } }
    result.a.b.push(2)
    result.c.e.f = 2
    expect([target, patch]).toEqual([
      { a: { b: [1] }, c: { d: 1 } },
      { c: { e: { f: 1 } }, g: [{}] },
    ])
  })

  it.each([
    [
      '{"a":9007199254740993,"b":[1,9007199254740995]}',
      '{"c":1}',
      '{"a":9007199254740993,"b":[1,9007199254740995],"c":1}',
    ],
    ['{"a":{"b":1}}', '{"a":{"c":0.12345678901234567890}}', '{"a":{"b":1,"c":0.12345678901234567890}}'],
    ['{"a":9007199254740993}', '{"a":9007199254740992}', '{"a":9007199254740992}'],
    ['{"a":1}', '[9007199254740993]', '[9007199254740993]'],
  ])('keeps all digits: %s with %s', (target, patch, result) => {
    expect(writeJson(mergePatch(parseJson(target), parseJson(patch)))).toBe(result)
  })

  it('takes names of prototypes for names', () => {
    const patch: unknown = JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}')
    const result = mergePatch(JSON.parse('{"__proto__":{"old":1}}'), patch)
    expect(JSON.stringify(result)).toBe(
      '{"__proto__":{"old":1,"polluted":true},"constructor":{"prototype":{"polluted":true}}}',
    )
    expect(Object.getPrototypeOf(result)).toBe(Object.prototype)
    expect({}).not.toHaveProperty('polluted')
    expect(JSON.stringify(mergePatch({ toString: 1 }, JSON.parse('{"__proto__":null,"toString":null}')))).toBe('{}')
  })
})
