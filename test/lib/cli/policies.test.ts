/** `koa-viewsets policies`: what it prints is taken by PostgreSQL, and holds there. */

import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { runCommand } from '../../../lib/cli/run-command.js'
import { createFolder } from '../../support/files.js'
import { database, useLibrary } from '../../support/library.js'
import { toUrl } from '../../support/program.js'

const library = (name: string) => JSON.stringify(fileURLToPath(new URL(`../../../lib/${name}`, import.meta.url)))
const source = (options: string) => `
  import knex from 'knex'
  import { Model } from 'objection'
  import { APIRouter, modelSerializer, modelViewSet } from ${library('index.ts')}
  import { any, none, readable, rule } from ${library('rules/index.ts')}
  class Base extends Model {}
  Base.knex(knex({ client: 'pg', connection: { connectionString: ${JSON.stringify(toUrl(database.direct))} }, pool: { min: 0 } }))
  class Book extends Base {
    static tableName = 'books'
    static relationMappings = () => ({
      reports: { relation: Base.HasManyRelation, modelClass: Report, join: { from: 'books.id', to: 'reports.book_id' } },
    })
  }
  class Report extends Base {
    static tableName = 'reports'
    static relationMappings = () => ({
      book: { relation: Base.BelongsToOneRelation, modelClass: Book, join: { from: 'reports.book_id', to: 'books.id' } },
    })
  }
  export const api = new APIRouter(${options}).register('books', modelViewSet(Book, {
    serializerClass: modelSerializer(Book, { fields: ['id', 'tenant'] }),
  }))
`
const RULES = `{ rules: [
  rule(Book, {
    read: ({ user }) => ({ tenant: user?.tenant, 'none(reports)': true }),
    update: ({ user }) => user?.isStaff ? true : { tenant: user?.tenant },
  }),
  rule(Report, { read: any('book', readable) }),
] }`

useLibrary({
  sql: `
    alter table books add tenant int;
    create table reports (id int primary key, book_id int references books);
    insert into books (title, tenant) values ('One', 1), ('Two', 2), ('Three', 1); insert into reports values (1, 3)`,
  keep: true,
})

async function run(options: string) {
  const written = { stdout: '', stderr: '' }
  const output = (name: keyof typeof written) => ({ write: (text: string) => (written[name] += text) })
  const file = join(createFolder({ 'api.ts': source(options) }), 'api.ts')
  const code = await runCommand(['policies', file], { stdout: output('stdout'), stderr: output('stderr') })
  return { code, ...written }
}

it('prints what PostgreSQL then holds', async () => {
  const { code, stdout, stderr } = await run(RULES)
  expect({ code, stderr }).toEqual({ code: 0, stderr: 'not printed: rule(Book).update decides by user.isStaff\n' })
  expect(stdout).toContain('-- NOT PRINTED, so that no row passes: rule(Book).update decides by user.isStaff\n')
  // again, as after a change of rules
  await database.knex.raw(stdout)
  await database.knex.raw(stdout)
  const role = `policies_${process.pid}`
  await database.knex
    .transaction(async (trx) => {
      await trx.raw(`create role ${role}; grant all on books, reports to ${role}; set local role ${role}`)
      const seen = async (tenant: string) => {
        await trx.raw(`select set_config('app.user_tenant', ?, true)`, [tenant])
        return [(await trx('books').orderBy('id').pluck('id')) as number[], await trx('reports').pluck('id')]
      }
      expect([await seen('1'), await seen('2'), await seen('')]).toEqual([
        [[1], []],
        [[2], []],
        [[], []],
      ])
      expect(await trx('books').update({ tenant: 1 })).toBe(0)
      await trx.rollback()
    })
    .catch((error: Error) => {
      if (!/rollback|rejected/i.test(error.message)) throw error
    })
})

it('refuses an API without rules', async () => {
  expect(await run('{}')).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('there are no rules to print'),
  })
})
