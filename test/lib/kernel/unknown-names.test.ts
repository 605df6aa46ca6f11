import { expect, it } from 'vitest'
import { UnknownNames } from '../../../lib/kernel/unknown-names.js'

it('tells the near one of many names, and no list of all', () => {
  const known = Array.from({ length: 125 }, (_, index) => `column_${index}`).concat('born_on')
  expect(new UnknownNames('parameter').message('bornOn', () => known)).toBe(
    'Unknown parameter; did you mean "born_on"?',
  )
  const told = new UnknownNames('filter').message('elephant', () => known)
  expect(told).toContain('column_29, and 96 more.')
  expect(told).not.toContain('column_30')
})

it('lists names of the same column first, where not all are listed', () => {
  const names = [...Array.from({ length: 125 }, (_, n) => `column_${n}`), 'meta__isnull', 'meta__ne']
  const told = new UnknownNames('parameter').message('meta__colour_of_hair', () => names)
  expect(told).toMatch(/^Unknown parameter\. Use meta__isnull, meta__ne, column_0, .*column_27, and 97 more\.$/)
})
