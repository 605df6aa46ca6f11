import { expect, it } from 'vitest'
import { mutantsOf } from './mutants.js'

it.each<[string, string[]]>([
  ['a === b', ['a !== b']],
  [
    'if (a < 1 && b) c = 1',
    [
      'if (!(a < 1 && b)) c = 1',
      'if (a <= 1 && b) c = 1',
      'if (a < 2 && b) c = 1',
      'if (a < 1 || b) c = 1',
      'if (a < 1 && b) c = 2',
    ],
  ],
  ['function f() { if (a) return }', ['function f() { if (!(a)) return }', 'function f() { if (false) return }']],
  ['b = a ? c(d) : e', ['b = a ? e : c(d)']],
  ['b = await a', ['b = a']],
  ['await close()', ['close()', ';']],
  ['b = !a', ['b = a']],
  ['b = true', ['b = false']],
  ['b = query.where(c).forUpdate()', ['b = query.where(c)']],
  ['void close()', [';']],
  ['class A extends B { constructor() { super() } }', []],
  ["import { a } from 'b'", []],
  ["type A = 1 | true; let b: Promise<2>; f<3>('text')", ['type A = 1 | true; let b: Promise<2>; ;']],
  ['b = (a as 1) - c!', ['b = (a as 1) + c!']],
])('%s can become %j', (source, expected) => {
  const sources = mutantsOf('a.ts', source).map((mutant) => mutant.source)
  expect(sources.toSorted()).toEqual(expected.toSorted())
})

it('tells the line', () => {
  expect(mutantsOf('a.ts', 'const a = 1\n  b = a + c\n')[1]).toMatchObject({
    change: '+ to -',
    line: 2,
    before: 'b = a + c',
    after: 'b = a - c',
  })
})
