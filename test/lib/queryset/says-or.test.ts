/** Tells conditions that may stand beside others as they are from those that need parentheses. */
import { expect, it } from 'vitest'
import { saysOr } from '../../../lib/queryset/says-or.js'

it.each([
  ['a = 1 or b = 2', true],
  ['a = 1 OR b = 2', true],
  ['(a = 1) or (b = 2)', true],
  [`a <> '(' or b <> ')'`, true],
  [`"(" = 1 or ")" = 1`, true],
  ['a = 1 /* ( */ or b = 2 /* ) */', true],
  ['a = 1 -- (\n or b = 2 -- )', true],
  ['a = $$($$ or b = $$)$$', true],
  [`a = E'\\'(' or b = E'\\')'`, true],
  ['a = 1 and (b = 2 or (c = 3 or d = 4))', false],
  [`a = '(1 or 2)'`, false],
  [`a = 'it''s this or that'`, false],
  ['"or" = 1', false],
  ['a = 1 and color = 2', false],
  [`a -- '\n = 1`, false],
])('%s says OR outside of parentheses, or may: %s', (sql, says) => {
  expect(saysOr(sql)).toBe(says)
})
