import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { judgePattern } from '../../../lib/filters/regex-guard.js'
import { createDatabase, type TestDatabase } from '../../support/database.js'
import { size } from '../../trust/support/size.js'

const SAFE = [
  'abc',
  'a.c',
  '^abc$',
  'a*b+c?',
  'a+?b*?c??',
  '(foo|bar)+',
  '(?:foo|bar)*baz',
  '[a-z]+[0-9]{2,4}',
  '[b-b]',
  '[^abc]',
  '[]a]',
  '[^]a]',
  '[a-]',
  '[-a]',
  '[[:alpha:]]+',
  '[\\w.]+@[\\w.]+',
  '\\d{3}-\\d{4}',
  '\\mword\\M',
  '\\(x\\)',
  'a{1,50}',
  'a{3,}',
  '(abc){50}',
  'a{,3}',
  'a{x',
  '{',
  '}',
  ']',
  'a||b',
  '()',
  '(|a)',
  '(a?b)*',
  '(a+)?',
  '[\\d\\s]',
  '[[a]',
  'é+',
  '\u{1f600}?',
]
const BLOCKED = [
  'a++',
  'c++',
  'a**',
  'a+*',
  'a?+',
  'a{2}{3}',
  'a{2}*',
  'a+??',
  '(a+)+',
  '(a*)*',
  '((a{1,30}){1,30}){1,30}',
  '(a{2}){2}',
  '(a{2})*',
  '((ab+)c)+',
  'a{51}',
  'a{1,51}',
  'a{1,}{2}',
  '(a?b?c?d?e?f?g?h?i?j?k?l?m?n?o?p?q?r?s?t?u?v?w?x?y?z?){50}x',
  '((((((((((a?){2}){2}){2}){2}){2}){2}){2}){2}){2}){2}',
  '(\\m|\\M|\\y|\\Y|a){50}z',
  '(a|){50}',
  '(.)\\1',
  '(a)(b)(c)\\1\\2\\3',
  '(?=a)b',
  '(?!a)b',
  '(?<=a)b',
  '(?<!a)b',
  '(?i)a',
  '(?#comment)a',
  '***=a',
  '***:a',
  '***a',
  '\\x41',
  '\\u0041',
  '\\bword',
  '[[.a.]]',
  '[[=a=]]',
  '[\\W]',
]
/** Matched by as many states as there are subsets of their counted parts, or by long ones. */
const EXPENSIVE = [
  'a.{50}b',
  'q.{50}z',
  'a.{10}b9',
  '(a|e).{20}z{4}',
  '[aeiou ].{50}q{9}',
  '.{1,50}a.{1,50}b.{1,50}c',
  '\\w{1,50} \\w{1,50} \\w{1,50} x',
  '(abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz){50}',
  '.{50}'.repeat(20),
]
/** Of the kind that people search for. */
const USUAL = [
  '(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec) [0-9]{4}',
  'foo.{1,50}bar',
  '^[a-z0-9._%+-]+@[a-z0-9.-]+\\.(com|org|net)$',
  '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}',
  '\\d{4}-\\d{2}-\\d{2}',
  'https?://[^ ]+',
  '(red|green|blue|yellow|black|white|orange|purple) (car|bike|boat|plane)',
  '[[:alpha:]]{3,20}ing',
  '.*foo.*bar.*',
  '^.{50}z',
  'y'.repeat(100),
  'ab'.repeat(50),
  'жар-птица'.repeat(11),
]
const INVALID = [
  '(',
  'a)',
  '(a',
  '[',
  '[]',
  '[a',
  '[z-a]',
  '[a-c-e]',
  '*a',
  '+',
  '?a',
  '(*a)',
  'a|*',
  '^*',
  '$+',
  '\\y*',
  '\\',
  '\\q',
  'a{2,1}',
  'a{1',
  'a{1x}',
  '{1}',
  '[a-\\d]',
]

describe('judgePattern', () => {
  it.each(SAFE)('lets %j pass', (pattern) => {
    expect(judgePattern(pattern)).toBe('safe')
  })

  it.each(USUAL)('lets %j pass, as people search', (pattern) => {
    expect(judgePattern(pattern)).toBe('safe')
  })

  it.each(EXPENSIVE)('refuses %j for its cost', (pattern) => {
    expect(judgePattern(pattern)).toBe('expensive')
  })

  it.each(BLOCKED)('takes %j as text', (pattern) => {
    expect(judgePattern(pattern)).toBe('blocked')
  })

  it.each(INVALID)('refuses %j', (pattern) => {
    expect(judgePattern(pattern)).toBe('invalid')
  })
})

describe('PostgreSQL', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await createDatabase({
      schema: `create table texts as select repeat('ab cd efgh aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa ', 30) || g as text from generate_series(1, 20) g`,
    })
  })
  afterAll(() => database.drop())

  /** The SQLSTATE, or undefined when it matches without error. */
  async function stateOf(pattern: string): Promise<string | undefined> {
    try {
      await database.knex('texts').count().whereRaw('text ~* ?', [pattern])
      return undefined
    } catch (error) {
      return (error as { code?: string }).code
    }
  }

  it.each(SAFE)('compiles and runs %j', async (pattern) => {
    expect(await stateOf(pattern)).toBeUndefined()
  })

  it.each(INVALID)('refuses %j, too', async (pattern) => {
    expect(await stateOf(pattern)).toBe('2201B')
  })

  it('[C11] agrees on random patterns, and is quick at those that pass', async () => {
    const random = generator(11)
    let safe = 0
    for (let count = 0; count < size(300, 3_000); count++) {
      const pattern = randomPattern(random)
      const judgement = judgePattern(pattern)
      if (judgement === 'blocked' || judgement === 'expensive') continue
      const start = performance.now()
      expect([pattern, await stateOf(pattern)]).toEqual([pattern, judgement === 'safe' ? undefined : '2201B'])
      expect([pattern, performance.now() - start < 10_000]).toEqual([pattern, true])
      if (judgement === 'safe') safe++
    }
    expect(safe).toBeGreaterThan(size(30, 300))
  })
})

const PIECES = [
  ...[
    'a',
    'b',
    ' ',
    '.',
    '*',
    '+',
    '?',
    '{2}',
    '{1,50}',
    '{3,}',
    '{,3}',
    '{',
    '}',
    '(',
    ')',
    '(?:',
    '(?=',
    '|',
    '[',
    '[^',
    ']',
    '-',
  ],
  ...[
    '[a-z]',
    '[^b]',
    '[[:alpha:]]',
    '\\d',
    '\\w',
    '\\W',
    '\\y',
    '\\m',
    '^',
    '$',
    '\\1',
    '\\',
    '\\q',
    '[a-',
    'é',
    '\\.',
    '+?',
    '[\\d',
    '[]a]',
  ],
]
const ATOMS = [
  'a',
  'b',
  '.',
  '\\w',
  '[a-z]',
  '[^b]',
  '\\y',
  '^',
  '$',
  '',
  'a?',
  '.?',
  'a*',
  '.*',
  '\\w+',
  'a{50}',
  '.{1,50}',
  '[ -\u{10ffff}]',
]

type Random = () => number

function pick<T>(random: Random, list: readonly T[]): T {
  return list[Math.floor(random() * list.length)] as T
}

/** Half of them noise, half built from the inside. */
function randomPattern(random: Random): string {
  const length = 1 + Math.floor(random() * 10)
  const noisy = () => Array.from({ length }, () => pick(random, PIECES)).join('')
  return Array.from(random() < 0.5 ? noisy() : built(random, 0))
    .slice(0, 100)
    .join('')
}

function built(random: Random, depth: number): string {
  const choice = depth > 4 ? 0 : random()
  if (choice < 0.35) return pick(random, ATOMS)
  const inner = () => built(random, depth + 1)
  if (choice < 0.6) return inner() + inner() + inner()
  if (choice < 0.75) return `(${inner()}|${inner()})`
  return `(${inner()}${inner()})${pick(random, ['', '', '*', '+', '?', '{50}', '+?'])}`
}

/** Numbers from 0 to 1, the same for the same seed. */
function generator(seed: number): Random {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
