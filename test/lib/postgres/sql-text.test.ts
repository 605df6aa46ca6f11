/** What a SQL text says by its first word. */
import { expect, it } from 'vitest'
import { firstWord } from '../../../lib/postgres/sql-text.js'

it.each([
  ['select 1', 'SELECT'],
  [' ((\n select 1) union select 2)', 'SELECT'],
  ['-- a\n-- update\ninsert into t default values', 'INSERT'],
  ['/* a */ -- b\n/**/ ( with a as (select 1) select 2)', 'WITH'],
  ['/* a /* b */ delete */ update t set n = 1', 'UPDATE'],
  ['/* never closed', ''],
  ['-- alone', ''],
  ['', ''],
  ['; select', ''],
])('the first word of %j is %j', (text, word) => {
  expect(firstWord(text)).toBe(word)
})
