import { describe, expect, it } from 'vitest'
import {
  contentDigest,
  matchesRow,
  namesRowVersion,
  rowDigest,
  strongTag,
  weakTag,
} from '../../../lib/caching/cache-response.js'
import { matchesWeakly, parseTags } from '../../../lib/http/entity-tags.js'

describe('the content ETag', () => {
  it.each([
    ['hello world', 'W/"b94d27b9934d3e08"'],
    ['{"a":1}', 'W/"015abd7f5cc57a2d"'],
    ['[]', 'W/"4f53cda18c2baa0c"'],
  ])('of %s is %s', (body, tag) => {
    expect(weakTag(contentDigest(body))).toBe(tag)
    expect(weakTag(contentDigest(Buffer.from(body)))).toBe(tag)
  })

  it('is that of the UTF-8 bytes', () => {
    expect(contentDigest('bücher')).toBe(contentDigest(Buffer.from('bücher')))
  })
})

describe('the row validator', () => {
  it('is the digest of table, key and the texts of the columns', () => {
    expect(rowDigest('books', ['42'], ['2026-03-28T15:30:00.123456'])).toBe('4c6838f21712be35')
    expect(rowDigest('books', ['42'], ['2026-03-28T15:30:00.123457'])).not.toBe('4c6838f21712be35')
  })

  it('takes no two rows for one', () => {
    const digests = [
      rowDigest('books', ['4'], ['21']),
      rowDigest('books', ['42'], ['1']),
      rowDigest('books', ['42'], ['1', '']),
      rowDigest('book', ['s42'], ['1']),
      rowDigest('books', ['4', '2'], ['1']),
    ]
    expect(new Set(digests).size).toBe(digests.length)
  })
})

describe('If-None-Match', () => {
  const tag = 'W/"b94d27b9934d3e08"'

  it.each([
    'W/"b94d27b9934d3e08"',
    '"b94d27b9934d3e08"',
    '*',
    '"x",\tW/"b94d27b9934d3e08", W/"y"',
    ', ,"b94d27b9934d3e08",',
    '"a,b", W/"b94d27b9934d3e08"',
    '"b94d27b9934d3e08" \t , "\u00ff!#~"',
  ])('names the tag by %j', (field) => {
    expect(matchesWeakly(field, tag)).toBe(true)
  })

  it.each([
    '"x,b94d27b9934d3e08"',
    'b94d27b9934d3e08',
    'w/"b94d27b9934d3e08"',
    'W/"b94d27b9934d3e08',
    'bad, W/"b94d27b9934d3e08"',
    '*, "x"',
    '',
    ',',
    'W/ "b94d27b9934d3e08"',
    '"b94d27b9934d3e08" "x"',
    '"x y", "b94d27b9934d3e08"',
    '"\u007f", "b94d27b9934d3e08"',
    '"b94d27b9934d3e08"\n',
    '"B94D27B9934D3E08"',
  ])('does not name it by %j', (field) => {
    expect(matchesWeakly(field, tag)).toBe(false)
  })

  it('names a strong tag by its whole text', () => {
    const strong = strongTag('4c6838f21712be35', 'b94d27b9934d3e08')
    expect(strong).toBe('"4c6838f21712be35-b94d27b9934d3e08"')
    expect(matchesWeakly(`W/${strong}`, strong)).toBe(true)
    expect(matchesWeakly('"4c6838f21712be35"', strong)).toBe(false)
  })

  it.each([' '.repeat(16_000), '"'.repeat(16_001), 'W/'.repeat(8000), '"x" '.repeat(4000)])(
    'is ignored when 16 kB of it fit no grammar, case %#',
    (field) => {
      expect(parseTags(`${field}x`)).toBeUndefined()
    },
  )
})

describe('If-Match', () => {
  const row = '4c6838f21712be35'

  it.each<[string, string | undefined, boolean]>([
    ['*', row, true],
    ['*', undefined, true],
    [`"${row}-0000000000000000"`, row, true],
    [`"x", "${row}-0000000000000000"`, row, true],
    [`W/"${row}-0000000000000000"`, row, false],
    [`"${row}"`, row, false],
    [`"${row}-"`, row, false],
    [`"0000000000000000-${row}"`, row, false],
    [`"${row}-0000000000000000"`, undefined, false],
    [`${row}-0000000000000000`, row, false],
    ['"other"', row, false],
    ['', row, false],
    ['*, *', row, false],
  ])('%s with the version %s: %s', (field, version, expected) => {
    expect(matchesRow(field, version)).toBe(expected)
  })

  it('names a row by a weak tag only where it asks for another one', () => {
    expect(namesRowVersion(`W/"${row}-0000000000000000"`, row)).toBe(true)
    expect(namesRowVersion('"other"', row)).toBe(false)
    expect(namesRowVersion('nonsense', row)).toBe(false)
    expect(namesRowVersion('*', undefined)).toBe(true)
  })
})
