/** Which errors are about names that were there. */
import { expect, it } from 'vitest'
import type { NativeError } from '../../../lib/postgres/native-error.js'
import { isColumnGone, isColumnNew, isTableGone, rememberNames } from '../../../lib/postgres/prepared-names.js'

rememberNames('papers', ['id', 'title', 'Odd name'])
rememberNames('papers', ['added_on'])

const failed = (message: string, fields: object = {}) => Object.assign(new Error(message), fields) as NativeError

it.each([
  ['column papers.title does not exist', true],
  ['column "title" does not exist', true],
  ['column "title" of relation "papers" does not exist', true],
  ['column p0.title does not exist', true],
  ['column papers.Odd name does not exist', true],
  ['Spalte papers.title existiert nicht', true],
  ['Spalte »added_on« existiert nicht', true],
  ['столбец "title" не существует', true],
  ["la colonne «\u00a0title\u00a0» n'existe pas", true],
  ['列papers.titleは存在しません', true],
  ['select "title" from papers - column papers.titel does not exist', false],
  ['column "titel" does not exist', false],
  ['column papers.title_2 does not exist', false],
  ['column papers.subtitle does not exist', false],
  ['title', false],
])('%s: gone %j', (message, isGone) => {
  const { length } = Buffer.from(message.replace(/^select .* - /, ''))
  // as PostgreSQL counts: severity, code, message, each with a letter and a zero
  const counted = { code: '42703', length: length + 2 + 7 + 7 + 5 }
  expect(isColumnGone(failed(message, counted))).toBe(isGone)
})

it.each([
  ['relation "papers" does not exist', 'parserOpenTable', true],
  ['relation "public.papers" does not exist', 'parserOpenTable', true],
  ["la relation «\u00a0papers\u00a0» n'existe pas", 'parserOpenTable', true],
  ['リレーション"papers"は存在しません', 'parserOpenTable', true],
  ['relation "papers_2" does not exist', 'parserOpenTable', false],
  ['missing FROM-clause entry for table "papers"', 'errorMissingRTE', false],
])('%s by %s: gone %j', (message, routine, isGone) => {
  expect(isTableGone(failed(message, { code: '42P01', routine }))).toBe(isGone)
})

it.each([
  [{ table: 'papers', column: 'price' }, true],
  [{ table: 'papers', column: 'title' }, false],
  [{ table: 'others', column: 'price' }, false],
  [{}, false],
])('a column of %j is new: %j', (fields, isNew) => {
  expect(isColumnNew(failed('null value', fields))).toBe(isNew)
})
