/** How changes are found in their table. */
import { expect, it } from 'vitest'
import { ensureChangesTable } from '../../../lib/changes/index.js'
import { laterStates } from '../../../lib/changes/select-changes.js'
import { createDatabase } from '../../support/database.js'
import { pagesReadBy } from '../../support/pages-read.js'

it('finds the next change of an object by its index where one object has nearly all of them', async () => {
  const database = await createDatabase()
  const { knex } = database
  await ensureChangesTable(knex)
  await knex.raw(
    `insert into koa_viewsets_changes (model, key, action, was)
     select 'books', case when n in (5, 6000, 12000) then '2' else '1' end, 'update', json_build_object('n', n)
     from generate_series(1, 20000) as n`,
  )
  await knex.raw('vacuum analyze koa_viewsets_changes')
  const [five, ten] = await knex('koa_viewsets_changes').where('key', '2').orderBy('id').limit(2)
  const ask = (key: string, isListed: boolean) =>
    laterStates(
      knex,
      [
        { ...five, key },
        { ...ten, key },
        { ...five, key: isListed ? '{0}' : '0' },
      ],
      isListed,
    )
  expect(await ask('2', false)).toEqual(['{"n" : 6000}', '{"n" : 12000}', null])
  expect(await ask('{0,2}', true)).toEqual(['{"n" : 6000}', '{"n" : 12000}', null])
  expect(await pagesReadBy(knex, () => ask('2', false))).toBeLessThan(100)
  expect(await pagesReadBy(knex, () => ask('{0,2}', true))).toBeLessThan(100)
  await database.drop()
})
