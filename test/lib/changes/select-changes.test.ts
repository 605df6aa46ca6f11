/** How changes are found in their table. */
import { expect, it, onTestFinished, vi } from 'vitest'
import { ensureChangesTable } from '../../../lib/changes/index.js'
import { visibleIn } from '../../../lib/changes/position.js'
import { currentSnapshot, laterStates } from '../../../lib/changes/select-changes.js'
import { createDatabase } from '../../support/database.js'
import { pagesReadBy } from '../../support/pages-read.js'
import { type Server, startCluster } from '../../support/standbys.js'

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

it('takes nothing for committed on a standby that is running on its primary', async () => {
  const cluster = await startCluster([{}])
  onTestFinished(() => cluster.stop())
  const { knex } = cluster.primary
  const [standby] = cluster.standbys as [Server]
  const running = await knex.transaction()
  const { rows } = await running.raw('select pg_current_xact_id()::text as number')
  await knex.raw('create table younger ()')
  await vi.waitFor(() => standby.knex('younger'), { timeout: 10_000 })
  expect(visibleIn(await currentSnapshot(standby.knex))(rows[0].number)).toBe(false)
  await running.rollback()
})
