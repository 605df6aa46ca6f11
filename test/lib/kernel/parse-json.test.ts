import { expect, it } from 'vitest'
import { lengthOfExponents } from '../../../lib/kernel/parse-json.js'

it.each([
  ['[1e999,-1.5E-999,1e+9]', 2_007],
  ['["1e999","text of 1e999","a\\\\\\"1e999",12]', 999],
  ['[1e99999]', 1_000],
  ['{"a":[1,2.5,"e5"]}', 0],
])('counts what exponents of %s stand for', (text, length) => {
  expect(lengthOfExponents(text)).toBe(length)
})
