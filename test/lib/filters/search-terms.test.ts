import { describe, expect, it } from 'vitest'
import { cutText, splitTerms } from '../../../lib/filters/text-match.js'

const limits = { most: 32, length: 200 }

describe('splitTerms', () => {
  it.each([
    ['', []],
    ['   \t\n', []],
    ['one', ['one']],
    ['one two', ['one', 'two']],
    [' one\ttwo\nthree\u00a0four\u3000five ', ['one', 'two', 'three', 'four', 'five']],
    ['"one two" three', ['one two', 'three']],
    ['"one  two"', ['one  two']],
    ['"one"two', ['one', 'two']],
    ['"" one', ['one']],
    ['"  " one', ['one']],
    ['"one two', ['one two']],
    ['one "', ['one']],
    ['5" disk', ['5"', 'disk']],
    ["O'Reilly", ["O'Reilly"]],
    ["'one two'", ["'one", "two'"]],
    ['one "two', ['one', 'two']],
  ])('[C17] splits %j', (text, terms) => {
    expect(splitTerms(text, limits)).toEqual(terms)
  })

  it('[C17] cuts each term, and stops at the most', () => {
    const text = `${'a'.repeat(300)} "${'b '.repeat(200)}" c d`
    expect(splitTerms(text, { most: 3, length: 200 })).toEqual(['a'.repeat(200), 'b '.repeat(100), 'c'])
  })

  it('[C8] reads a long text in no time', () => {
    // 40 ms; by a pattern that tries again at each character it is minutes
    const start = performance.now()
    expect(splitTerms('a '.repeat(1_000_000), { most: 33, length: 200 })).toHaveLength(33)
    expect(splitTerms('"'.repeat(100_000), limits)).toEqual([])
    expect(performance.now() - start).toBeLessThan(2_000)
  })
})

describe('cutText', () => {
  it('counts characters, and halves none', () => {
    expect(cutText('\u{1f600}'.repeat(3), 2)).toBe('\u{1f600}'.repeat(2))
    expect(cutText(`a${'\u{1f600}'.repeat(3)}`, 2)).toBe('a\u{1f600}')
    expect(cutText('abc', 3)).toBe('abc')
  })
})
