/** How a list is joined to what it is ordered by: where that doubles no row, and changes nothing that an application has written. */

import knexLibrary from 'knex'
import {
  APIRouter,
  CursorPagination,
  configure,
  FieldFilter,
  type Filters,
  ModelSerializer,
  OrderingFilter,
  PageNumberPagination,
  type Pagination,
  ReadOnlyModelViewSet,
} from 'koa-viewsets'
import { knexSnakeCaseMappers, Model } from 'objection'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type Client, serving } from '../support/client.js'
import { countQueries, createDatabase, type TestDatabase } from '../support/database.js'
import { runsAsRole } from '../support/roles.js'

const SCHEMA = `
  create table people (id int primary key, name text, size int, title text);
  create table loose (id int, name text);
  create table parents (id int primary key, name text);
  create table heirs () inherits (parents);
  create table tasks (id int primary key, title text not null, size int, person_id int, loose_id int, parent_id int);
  create schema other;
  create table other.people (id int primary key, name text);
  create table other.tasks (id int primary key, title text not null, person_id int);
  insert into people select n, 'person ' || (n * 7) % 10, n, 'title ' || n from generate_series(0, 9) n;
  insert into loose select n / 2, 'loose ' || (n * 3) % 10 from generate_series(0, 19) n;
  insert into parents select n, 'parent ' || n % 3 from generate_series(0, 9) n;
  insert into heirs select n, 'heir ' || n % 3 from generate_series(0, 9) n;
  insert into tasks select n, 'task ' || n % 5, n % 4, nullif(n % 11, 0) - 1, n % 10, n % 10 from generate_series(1, 40) n;
  insert into other.people values (1, 'b'), (2, 'a');
  insert into other.tasks values (1, 'x', 1), (2, 'y', 2), (3, 'z', null);`

class Person extends Model {
  static override tableName = 'people'
}
class Loose extends Model {
  static override tableName = 'loose'
}
class Parent extends Model {
  static override tableName = 'parents'
}
class Task extends Model {
  static override tableName = 'tasks'
  static override relationMappings = () => ({
    person: {
      relation: Model.BelongsToOneRelation,
      modelClass: Person,
      join: { from: 'tasks.person_id', to: 'people.id' },
    },
    loose: {
      relation: Model.BelongsToOneRelation,
      modelClass: Loose,
      join: { from: 'tasks.loose_id', to: 'loose.id' },
    },
    parent: {
      relation: Model.BelongsToOneRelation,
      modelClass: Parent,
      join: { from: 'tasks.parent_id', to: 'parents.id' },
    },
  })
}
class TaskSerializer extends ModelSerializer<Task> {
  static override model = Task
  static override fields = ['id', 'title']
}
class Tasks extends ReadOnlyModelViewSet<Task> {
  static override model = Task
  static override serializerClass = TaskSerializer
  static override filterBackends: Filters = [FieldFilter, OrderingFilter]
  static override filtersetFields = ['size']
  static override orderingFields = ['size', 'person__name', 'person__size', 'loose__name', 'parent__name']
  static override paginationClass: Pagination = new PageNumberPagination({ pageSize: 50 })
}

let database: TestDatabase
const clients: Client[] = []

beforeAll(async () => {
  configure({ secretKey: 'a secret of the tests' })
  database = await createDatabase({ schema: SCHEMA })
  for (const model of [Person, Loose, Parent, Task]) model.knex(database.knex)
})
afterEach(async () => {
  for (const client of clients.splice(0)) {
    expect(client.reported).toEqual([])
    await client.close()
  }
})
afterAll(() => database?.drop())

async function served(view: typeof Tasks): Promise<Client> {
  const api = new APIRouter().register('tasks', view, 'task')
  await api.prepare()
  const client = await serving(api.routes())
  clients.push(client)
  return client
}

type Queryset = ReturnType<Tasks['getQueryset']>

/** A view set with a queryset of its own. */
function narrowed(change: (query: Queryset) => Queryset): typeof Tasks {
  return class extends Tasks {
    override getQueryset() {
      return change(super.getQueryset())
    }
  }
}

async function expected(order: string, where = 'true'): Promise<number[]> {
  const { rows } = await database.knex.raw<{ rows: { id: number }[] }>(
    `select tasks.id from tasks left join people on people.id = person_id where ${where} order by ${order}`,
  )
  return rows.map(({ id }) => id)
}

async function shown(client: Client, query: string): Promise<number[]> {
  const { status, json } = await client.get(`/tasks?${query}`)
  expect([query, status, json]).toEqual([query, 200, json])
  return json.results.map(({ id }: { id: number }) => id)
}

describe('a list that is ordered by a related column', () => {
  it('is joined to it, and is counted without', async () => {
    class Short extends Tasks {
      static override paginationClass = new PageNumberPagination({ pageSize: 7 })
    }
    const client = await served(Short)
    const texts = await countQueries(database.knex, () => shown(client, 'ordering=-person__name'))
    const joined = texts.join('\n')
    expect(joined.match(/left join/g)).toHaveLength(1)
    expect(joined).toContain('order by "order person__name"."order value" desc')
    expect(joined).not.toContain('limit 1)')
    expect(joined).toMatch(/\(select count\(\*\) as "count" from "tasks"\)/)
  })

  it('is joined behind a cursor, too', async () => {
    class Walked extends Tasks {
      static override paginationClass = new CursorPagination({ pageSize: 6 })
    }
    const client = await served(Walked)
    const { json } = await client.get('/tasks?ordering=person__name,-person__size')
    const texts = await countQueries(database.knex, () => client.get(json.next))
    expect(texts.join('\n')).toContain('left join')
    expect(texts.join('\n')).not.toContain('limit 1)')
  })

  it.each<[string, (query: Queryset) => Queryset]>([
    ['names no table', (query) => query.whereRaw('id > 3 and title is not null').where('size', '<', 9)],
    [
      'orders nothing',
      (query) => query.whereExists(Person.query().whereRaw('people.id = person_id and name is not null')),
    ],
    ['joins the same table', (query) => query.leftJoinRelated('person').where('tasks.id', '>', 3)],
    [
      'joins the same table by another name',
      (query) => query.leftJoinRelated('person', { alias: 'p' }).where('tasks.id', '>', 3),
    ],
    ['has a name of its own for the table', (query) => query.alias('t').where('t.id', '>', 3)],
    ['selects some columns', (query) => query.select('tasks.id', 'tasks.title').where('tasks.id', '>', 3)],
    [
      'selects what it computes',
      (query) => query.select('tasks.*').select(Task.raw('size + 1 as next')).where('id', '>', 3),
    ],
    ['selects all', (query) => query.select('*').where('id', '>', 3)],
    // under a role lists are read in transactions that read only
    ['locks rows', (query) => (runsAsRole() ? query : query.forShare()).where('id', '>', 3)],
    [
      'groups its rows',
      (query) => query.leftJoinRelated('loose').groupBy('tasks.id').select('tasks.*').where('tasks.id', '>', 3),
    ],
    ['loads related objects', (query) => query.withGraphFetched('person').where('id', '>', 3)],
    ['reads from another query', (query) => query.from(Task.query().where('id', '>', 3).as('tasks'))],
  ])('is right where its queryset %s', async (what, change) => {
    const client = await served(narrowed(change))
    const where = what === 'orders nothing' ? 'people.name is not null' : 'tasks.id > 3'
    expect(await shown(client, 'ordering=person__name')).toEqual(await expected('people.name, tasks.id', where))
    expect(await shown(client, 'ordering=-person__size,person__name')).toEqual(
      await expected('people.size desc, people.name, tasks.id', where),
    )
    expect((await client.get('/tasks?ordering=person__name&size=1')).json.count).toBe(
      (await expected('tasks.id', `${where} and tasks.size = 1`)).length,
    )
  })

  it('keeps the order of the view where DISTINCT rows have no such value', async () => {
    const distinct = (query: Queryset) => query.leftJoinRelated('loose').distinct('tasks.*').where('tasks.id', '>', 3)
    const client = await served(narrowed(distinct))
    expect(await shown(client, 'ordering=-person__name')).toEqual(await expected('tasks.id', 'tasks.id > 3'))
    expect(await shown(client, 'ordering=-size')).toEqual(
      await expected('tasks.size desc, tasks.id desc', 'tasks.id > 3'),
    )
    class Walked extends narrowed(distinct) {
      static override paginationClass = new CursorPagination({ pageSize: 6, ordering: '-id' })
    }
    const walked = await served(Walked)
    expect(await shown(walked, 'ordering=person__name')).toEqual((await expected('tasks.id desc')).slice(0, 6))
  })

  it.skipIf(runsAsRole())('is counted without the locks of its queryset', async () => {
    for (const count of ['exact', 'capped'] as const) {
      class Short extends narrowed((query) => query.forUpdate().skipLocked()) {
        static override paginationClass = new PageNumberPagination({ pageSize: 7, count })
      }
      const client = await served(Short)
      const texts = await countQueries(database.knex, async () => {
        expect((await client.get('/tasks?page=2')).json).toMatchObject({ count: 40, next: '/tasks?page=3' })
      })
      expect(texts.filter((text) => text.includes('count(') && text.includes('for update'))).toEqual([])
    }
  })

  it('gives instances no property more', async () => {
    const seen: string[][] = []
    for (const change of [(query: Queryset) => query, (query: Queryset) => query.select('*')]) {
      const view = narrowed((query) =>
        change(query).runAfter((rows: unknown) => {
          for (const row of rows as object[]) seen.push(Object.keys(row))
          return rows
        }),
      )
      await shown(await served(view), 'ordering=person__name')
    }
    expect(new Set(seen.map((keys) => keys.sort().join()))).toEqual(
      new Set(['id,loose_id,parent_id,person_id,size,title']),
    )
  })

  it.each(['loose__name', 'parent__name'])('shows no row twice where the database keeps no key: %s', async (path) => {
    const client = await served(Tasks)
    const found = await shown(client, `ordering=${path}`)
    expect(found.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, index) => index + 1))
    const texts = await countQueries(database.knex, () => shown(client, `ordering=${path}&size=2`))
    expect(texts.join('\n')).not.toContain('left join')
  })

  it('may be declared with a path twice', async () => {
    class Twice extends Tasks {
      static override ordering = ['-person__name', 'person__name', 'person__size']
    }
    expect(await shown(await served(Twice), '')).toEqual(await expected('people.name desc, people.size, tasks.id'))
  })

  it('is read from the schema of its queryset', async () => {
    const client = await served(narrowed((query) => query.withSchema('other')))
    expect(await shown(client, 'ordering=person__name')).toEqual([2, 1, 3])
    expect(await shown(client, 'ordering=-person__name')).toEqual([3, 1, 2])
  })

  it('is named as mappers of names will', async () => {
    const knex = knexLibrary({ client: 'pg', connection: database.connection as never, ...knexSnakeCaseMappers() })
    class Mapped extends Model {
      static override tableName = 'tasks'
      static override relationMappings = () => ({
        bestPerson: {
          relation: Model.BelongsToOneRelation,
          modelClass: class extends Person {},
          join: { from: 'tasks.personId', to: 'people.id' },
        },
      })
    }
    const Bound = Mapped.bindKnex(knex) as typeof Model
    class View extends Tasks {
      static override model = Bound as typeof Task
      static override serializerClass = Object.assign(class extends TaskSerializer {}, { model: Bound as typeof Task })
      static override orderingFields = ['bestPerson__name']
    }
    const client = await served(View)
    const texts = await countQueries(knex, async () => {
      expect(await shown(client, 'ordering=bestPerson__name')).toEqual(await expected('people.name, tasks.id'))
    })
    expect(texts.join('\n')).toContain('left join')
    await knex.destroy()
  })

  it('has names that PostgreSQL does not cut', async () => {
    const long = `person${'x'.repeat(60)}`
    class Named extends Model {
      static override tableName = 'tasks'
      static override relationMappings = () => ({
        [`${long}a`]: {
          relation: Model.BelongsToOneRelation,
          modelClass: Person,
          join: { from: 'tasks.person_id', to: 'people.id' },
        },
        [`${long}b`]: {
          relation: Model.BelongsToOneRelation,
          modelClass: Person,
          join: { from: 'tasks.size', to: 'people.id' },
        },
      })
    }
    Named.knex(database.knex)
    class View extends Tasks {
      static override model = Named as typeof Task
      static override serializerClass = Object.assign(class extends TaskSerializer {}, { model: Named })
      static override orderingFields = [`${long}a__name`, `${long}b__name`]
    }
    const client = await served(View)
    const { rows } = await database.knex.raw(`select tasks.id from tasks left join people a on a.id = person_id
      left join people b on b.id = tasks.size order by b.name, a.name desc, tasks.id desc`)
    expect(await shown(client, `ordering=${long}b__name,-${long}a__name`)).toEqual(
      rows.map(({ id }: { id: number }) => id),
    )
  })
})
