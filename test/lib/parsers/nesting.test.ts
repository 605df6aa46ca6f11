import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isTextDeeper, isValueDeeper } from '../../../lib/parsers/nesting.js'

const nested = (levels: number, open = '[', close = ']') => open.repeat(levels) + close.repeat(levels)

describe('the nesting of a text', () => {
  it.each([
    ['as many levels as allowed', nested(64), false],
    ['one more', nested(65), true],
    ['one more, of both kinds', `${'[{"a":'.repeat(32)}[]${'}]'.repeat(32)}`, true],
    ['many side by side', `[${Array(1000).fill('{"a":[]}').join()}]`, false],
    ['brackets in strings', `["${'['.repeat(100)}"]`, false],
    ['escaped quotes', String.raw`["\"${'['.repeat(100)}","\\"]`, false],
    ['an escaped backslash before the end of a string', String.raw`["\\"${`,${'['.repeat(64)}`}`, true],
    ['a string without end', `["${'['.repeat(100)}`, false],
    ['nothing', '', false],
  ])('[B11] of %s', (_name, text, expected) => {
    expect(isTextDeeper(text, 64)).toBe(expected)
  })

  it('[B11] is that of the value it stands for', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 12 }), fc.integer({ min: 1, max: 14 }), (value, depth) => {
        expect(isTextDeeper(JSON.stringify(value), depth)).toBe(isValueDeeper(value, depth))
      }),
    )
  })
})

describe('the nesting of a value', () => {
  it.each([
    ['as many levels as allowed', JSON.parse(nested(64)), false],
    ['one more', JSON.parse(nested(65)), true],
    ['a scalar', 1, false],
    ['null', null, false],
    ['nothing', undefined, false],
  ])('[B11] of %s', (_name, value: unknown, expected) => {
    expect(isValueDeeper(value, 64)).toBe(expected)
  })

  it('[B11] exhausts no stack', () => {
    let value: unknown = []
    for (let level = 0; level < 1_000_000; level++) value = [value]
    expect(isValueDeeper(value, 64)).toBe(true)
  })
})
