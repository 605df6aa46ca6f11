import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ConfigurationError } from '../../../lib/kernel/errors.js'
import {
  buildPath,
  decodeSegment,
  type Hint,
  parsePattern,
  pathHints,
  patternOf,
} from '../../../lib/kernel/path-pattern.js'

const hints = Object.keys(pathHints) as Hint[]

describe('parsePattern', () => {
  it('reads fixed texts and parameters, with str as the default hint', () => {
    expect(parsePattern('/books/{id:int}/reviews/{slug}')).toEqual([
      { kind: 'literal', text: 'books' },
      { kind: 'param', name: 'id', hint: 'int' },
      { kind: 'literal', text: 'reviews' },
      { kind: 'param', name: 'slug', hint: 'str' },
    ])
  })

  it.each(hints)('knows the hint %s', (hint) => {
    expect(parsePattern(`{name:${hint}}`)).toEqual([{ kind: 'param', name: 'name', hint }])
  })

  it.each(['', '/'])('reads %j as no segments', (pattern) => {
    expect(parsePattern(pattern)).toEqual([])
  })

  it.each(['books/v2.1', '/books/v2.1', 'books/v2.1/', '/books/v2.1/'])(
    'takes outer slashes or leaves them: %s',
    (pattern) => {
      expect(parsePattern(pattern)).toEqual([
        { kind: 'literal', text: 'books' },
        { kind: 'literal', text: 'v2.1' },
      ])
    },
  )

  it.each([
    ['/books//reviews', 'an empty segment'],
    ['/a/{id}/b/{id:int}', 'the parameter "id" occurs twice'],
    ['/a/{id:integer}', 'unknown hint "integer" of "id"; use one of int, str, uuid, slug, path'],
    ['/a/{id:constructor}', 'unknown hint "constructor"'],
    ['/a/{id:}', 'unknown hint ""'],
    ['/files/{name:path}/raw', 'takes the rest of the path'],
    ['/a/{}', '"{}" is neither'],
    ['/a/{1st}', '"{1st}" is neither'],
    ['/a/{id', '"{id" is neither'],
    ['/a/v{id}', '"v{id}" is neither'],
    ['/a/{id}.csv', '"{id}.csv" is neither'],
    ['/a/:id', '":id" is neither'],
    ['/a/*', '"*" is neither'],
    ['/a/b%20c', '"b%20c" is neither'],
    ['/a?b', '"a?b" is neither'],
    ['/a/../b', '".." is neither'],
    ['/a b', '"a b" is neither'],
  ])('refuses %s', (pattern, problem) => {
    expect(() => parsePattern(pattern)).toThrow(ConfigurationError)
    expect(() => parsePattern(pattern)).toThrow(`Path pattern "${pattern}": `)
    expect(() => parsePattern(pattern)).toThrow(problem)
  })
})

describe('patternOf', () => {
  const uuid = 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'
  const table: Record<Hint, { fits: string[]; not: string[] }> = {
    int: {
      fits: ['0', '7', '007', '9223372036854775807', '9'.repeat(19)],
      not: ['', ' 1', '1 ', '1\n', '+1', '-1', '0x1', '1e0', '1.0', '１', '٣', '9'.repeat(20), '1\0'],
    },
    str: { fits: ['a', 'ü b', '..', '7', '{id}', '💡'], not: ['', 'a/b', '/', 'a\0b', '\0'] },
    uuid: {
      fits: [uuid, uuid.toUpperCase()],
      not: ['', uuid.replaceAll('-', ''), `{${uuid}}`, `${uuid}0`, uuid.replace('a', 'g'), `${uuid}\n`],
    },
    slug: { fits: ['a', 'A-b_9', '-'], not: ['', 'a b', 'ü', 'a.b', 'a/b', 'a\n', 'a\0'] },
    version: { fits: ['v1', '1', 'v2.1', '10.0.3'], not: ['', 'v', 'V1', 'v1.', 'v.1', '1-2', 'health', 'v1\n', 'v١'] },
    path: { fits: ['a', 'a/b/c.txt', '/', 'ü b/'], not: ['', 'a\0', 'a/\0/b'] },
  }

  describe.each(hints)('%s', (hint) => {
    it.each(table[hint].fits)('takes %j', (text) => {
      expect(patternOf({ hint }).test(text)).toBe(true)
    })
    it.each(table[hint].not)('[B2 B7] refuses %j', (text) => {
      expect(patternOf({ hint }).test(text)).toBe(false)
    })
  })
})

describe('decodeSegment', () => {
  it.each([
    ['b%C3%BCcher', 'bücher'],
    ['a%2Fb', 'a/b'],
    ['a+b', 'a+b'],
    ['%00', '\0'],
    ['', ''],
  ])('reads %j as %j', (raw, text) => {
    expect(decodeSegment(raw)).toBe(text)
  })

  it.each(['%', '%z', '%zz', '%C3', '%ff', '%ED%A0%80', 'a%2'])('[B10] answers null for %s', (raw) => {
    expect(decodeSegment(raw)).toBeNull()
  })
})

describe('buildPath', () => {
  it.each([
    ['/', {}, '/'],
    ['/books/{id:int}', { id: 7 }, '/books/7'],
    ['/books/{id:int}', { id: 9223372036854775807n, other: 1 }, '/books/9223372036854775807'],
    ['/books/{id}/reviews', { id: 'a b?#%ü' }, '/books/a%20b%3F%23%25%C3%BC/reviews'],
    ['/bücher/{id}', { id: 1 }, '/b%C3%BCcher/1'],
    ['/files/{name:path}', { name: 'a/b c/d.txt' }, '/files/a/b%20c/d.txt'],
  ])('writes %s', (pattern, params, path) => {
    expect(buildPath(parsePattern(pattern), params)).toBe(path)
  })

  it.each([
    ['{id:int}', {}, 'Path parameter "id" is missing'],
    ['{id:int}', { id: null }, 'Path parameter "id" is missing'],
    ['{toString}', {}, 'Path parameter "toString" is missing'],
    ['{id}', { id: {} }, 'Path parameter "id" is neither a text nor a number'],
    ['{id:int}', { id: 'abc' }, 'Path parameter "id": "abc" does not fit {id:int}'],
    ['{id:int}', { id: -1 }, 'Path parameter "id": "-1" does not fit {id:int}'],
    ['{id:str}', { id: 'a/b' }, 'Path parameter "id": "a/b" does not fit {id:str}'],
    ['{id:str}', { id: '..' }, 'Path parameter "id": ".." does not fit {id:str}'],
    ['{id:str}', { id: '' }, 'Path parameter "id": "" does not fit {id:str}'],
    ['{id:str}', { id: '\ud800' }, 'Path parameter "id": "\\ud800" does not fit {id:str}'],
    ['{name:path}', { name: 'a/../b' }, 'Path parameter "name": "a/../b" does not fit {name:path}'],
    ['{name:path}', { name: '/evil.test' }, 'Path parameter "name": "/evil.test" does not fit {name:path}'],
  ])('refuses %s with %o', (pattern, params, message) => {
    expect(() => buildPath(parsePattern(pattern), params)).toThrow(message)
  })

  it('[B2 B10] writes only what is read back as the same value, in one segment', () => {
    const segments = parsePattern('/books/{id}')
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'ab0/\\.%?#&=+:;@ é💡\0'), minLength: 1 }), (id) => {
        fc.pre(patternOf({ hint: 'str' }).test(id) && id !== '.' && id !== '..')
        const [, books, raw = '', ...rest] = new URL(buildPath(segments, { id }), 'http://host').pathname.split('/')
        expect([books, decodeSegment(raw), rest]).toEqual(['books', id, []])
      }),
      { numRuns: 300 },
    )
  })
})
