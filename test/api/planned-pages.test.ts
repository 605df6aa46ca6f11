/** How PostgreSQL plans the prepared statements of pages, of a table of which nearly all rows have one value. */
import Koa from 'koa'
import {
  APIRouter,
  FieldFilter,
  LimitOffsetPagination,
  ModelSerializer,
  ModelViewSet,
  PageNumberPagination,
  type Pagination,
} from 'koa-viewsets'
import { Model } from 'objection'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createDatabase, poolMode, type TestDatabase } from '../support/database.js'
import { serve, type TestServer } from '../support/server.js'

class Job extends Model {
  static override tableName = 'jobs'
}
class JobSerializer extends ModelSerializer<Job> {
  static override model = Job
  static override fields = ['id', 'state']
}
class JobViewSet extends ModelViewSet<Job> {
  static override model = Job
  static override serializerClass = JobSerializer
  static override paginationClass: Pagination = new LimitOffsetPagination({ defaultLimit: 5, count: 'none' })
  static override filterBackends = [FieldFilter]
  static override filtersetFields = ['state', 'owner_id']
}
class CountedJobViewSet extends JobViewSet {
  static override paginationClass = new PageNumberPagination({ pageSize: 5 })
}
let database: TestDatabase
let jobs: TestServer

beforeAll(async () => {
  database = await createDatabase()
  Model.knex(database.knex)
  await database.knex.raw(
    `create table jobs (id serial primary key, state text not null, owner_id int not null);
     insert into jobs (state, owner_id)
       select case when n > 19990 then 'waiting' else 'done' end, n % 4000 from generate_series(1, 20000) as n;
     create index on jobs (state); create index on jobs (owner_id)`,
  )
  await database.knex.raw('vacuum analyze jobs')
  const api = new APIRouter().register('jobs', JobViewSet).register('counted', CountedJobViewSet, 'counted')
  await api.prepare()
  jobs = await serve(new Koa().use(api.routes()))
})
afterAll(async () => {
  await jobs.close()
  await database.drop()
})

/** How often PostgreSQL has planned what answers a request for its values, and how often for any, of ten times. */
async function plansOf(path: string) {
  const known = await database.knex('pg_prepared_statements').pluck('name')
  for (let time = 0; time < 10; time++) expect((await jobs.send({ path })).status).toBe(200)
  const { rows } = await database.knex.raw<{ rows: { custom: number; generic: number }[] }>(
    `select custom_plans::int as custom, generic_plans::int as generic from pg_prepared_statements
     where name <> all(?) and statement like '%"jobs"%'`,
    [known],
  )
  return rows
}

it.skipIf(poolMode() === 'transaction').each(['/jobs?state=waiting', '/counted?state=waiting'])(
  'is planned for the values that few rows have: %s',
  async (path) => {
    expect(await plansOf(path)).toEqual([{ custom: 10, generic: 0 }])
  },
)

it.skipIf(poolMode() === 'transaction')('is planned once where it has no conditions', async () => {
  expect(await plansOf('/jobs')).toEqual([{ custom: 0, generic: 10 }])
})

it.skipIf(poolMode() === 'transaction')('is planned for any value where no value has many rows', async () => {
  expect(await plansOf('/jobs?owner_id=7')).toEqual([{ custom: 5, generic: 5 }])
})
