import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { countNodes, passedByText, passedByValue } from '../../../lib/parsers/parser.js'

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
    expect(passedByText(text, { depth: 64, nodes: 100_000 })).toBe(expected ? 'depth' : undefined)
  })

  it('[B11] is that of the value it stands for', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 12 }), fc.integer({ min: 1, max: 14 }), (value, depth) => {
        const limits = { depth, nodes: 100_000 }
        expect(passedByText(JSON.stringify(value), limits)).toBe(passedByValue(value, limits))
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
    expect(passedByValue(value, { depth: 64, nodes: 100 })).toBe(expected ? 'depth' : undefined)
  })

  it('[B11] exhausts no stack', () => {
    let value: unknown = []
    for (let level = 0; level < 1_000_000; level++) value = [value]
    expect(passedByValue(value, { depth: 64, nodes: 100 })).toBe('depth')
  })
})

describe('the nodes of a text', () => {
  it.each([
    ['a scalar', '1', 1],
    ['an empty list', '[]', 1],
    ['an empty object, spaced', ' { } ', 1],
    ['a list', '[1,"a,b",null]', 4],
    ['an object, of values and their names', '{"a":1,"b":[]}', 5],
    ['empty ones in each other', '[[],[{}],{}]', 5],
    ['separators in strings', String.raw`["\\,:[{", "\",[]"]`, 3],
  ])('count %s', (_name, text, expected) => {
    JSON.parse(text)
    expect(countNodes(text, 100)).toBe(expected)
  })

  it('are those of the value it stands for', () => {
    const limits = (nodes: number) => ({ depth: 100, nodes })
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 8 }), fc.integer({ min: 0, max: 3 }), (value, space) => {
        const text = JSON.stringify(value, undefined, space)
        const nodes = countNodes(text, 1_000_000)
        expect(passedByValue(value, limits(nodes))).toBeUndefined()
        expect(passedByText(text, limits(nodes))).toBeUndefined()
        if (nodes > 1) expect(passedByValue(value, limits(nodes - 1))).toBe('nodes')
        if (text.length > 2 * nodes) expect(passedByText(text, limits(nodes - 1))).toBe('nodes')
      }),
    )
  })

  it('are not counted beyond the limit', () => {
    expect(countNodes(`[${'1,'.repeat(500_000)}1]`, 10)).toBeLessThan(20)
    expect(passedByText(`[${'1,'.repeat(500_000)}1]`, { depth: 64, nodes: 500_000 })).toBe('nodes')
  })
})
