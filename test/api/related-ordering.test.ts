/** Lists ordered by columns of related objects: missing values and ties, on all ways of reading, through all paginations. */
import { Model } from 'objection'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  APIRouter,
  CursorPagination,
  configure,
  FieldFilter,
  type Filters,
  LimitOffsetPagination,
  ModelSerializer,
  NestedRouter,
  NestedSerializer,
  NestedViewSetMixin,
  OrderingFilter,
  PageNumberPagination,
  type Pagination,
  ReadOnlyModelViewSet,
  SearchFilter,
  ServerCursorPagination,
} from '../../lib/index.js'
import { type Client, serving } from '../support/client.js'
import { countQueries, createDatabase, type TestDatabase } from '../support/database.js'

const SCHEMA = `
  create table teams (id int primary key, name text, founded timestamptz);
  create table people (id int primary key, name text, team_id int references teams, score numeric(6,2), place point);
  create table profiles (id int primary key, person_id int unique references people, motto text);
  create table badges (id int primary key, person_id int references people, name text);
  create table tasks (id int primary key, title text not null, size int, person_id int references people, project_id int not null);
  create table projects (id int primary key);
  insert into projects values (1), (2), (3);
  insert into teams select n, case when n = 3 then null else 'team ' || n % 2 end,
    case when n = 2 then null else timestamptz '2024-01-01 00:00:00.000001Z' + n % 2 * interval '1 microsecond' end from generate_series(1, 4) n;
  insert into people select n, (array['Ada', 'ada', 'Ben', null, ''])[n % 5 + 1], nullif(n % 5, 0), nullif(n % 3, 0) * 1.5 from generate_series(1, 12) n;
  insert into profiles select n, n, 'motto ' || n % 3 from generate_series(1, 6) n;
  insert into badges select n, n % 3 + 1, 'badge ' || n from generate_series(1, 9) n;
  insert into tasks select n, 'task ' || n % 7, nullif(n % 4, 0), nullif(n % 13, 0), 1 + n % 2 from generate_series(1, 70) n;`

class Team extends Model {
  static override tableName = 'teams'
}
class Profile extends Model {
  static override tableName = 'profiles'
}
class Badge extends Model {
  static override tableName = 'badges'
}
class Project extends Model {
  static override tableName = 'projects'
}
class Person extends Model {
  static override tableName = 'people'
  static override relationMappings = () => ({
    team: { relation: Model.BelongsToOneRelation, modelClass: Team, join: { from: 'people.team_id', to: 'teams.id' } },
    profile: {
      relation: Model.HasOneRelation,
      modelClass: Profile,
      join: { from: 'people.id', to: 'profiles.person_id' },
    },
    badge: { relation: Model.HasOneRelation, modelClass: Badge, join: { from: 'people.id', to: 'badges.person_id' } },
    tasks: { relation: Model.HasManyRelation, modelClass: Task, join: { from: 'people.id', to: 'tasks.person_id' } },
  })
}
const toPerson = { from: 'tasks.person_id', to: 'people.id' }
class Task extends Model {
  static override tableName = 'tasks'
  static override relationMappings = () => ({
    person: { relation: Model.BelongsToOneRelation, modelClass: Person, join: toPerson },
    scored: {
      relation: Model.BelongsToOneRelation,
      modelClass: Person,
      modify: (query: { where(column: string, operator: string, value: number): unknown }) =>
        query.where('people.score', '>', 1.5),
      join: toPerson,
    },
    project: {
      relation: Model.BelongsToOneRelation,
      modelClass: Project,
      join: { from: 'tasks.project_id', to: 'projects.id' },
    },
  })
}

class TaskSerializer extends ModelSerializer<Task> {
  static override model = Task
  static override fields = ['id', 'title']
}
class PersonSerializer extends ModelSerializer<Person> {
  static override model = Person
  static override fields = ['id', 'name']
}
class PersonTaskSerializer extends ModelSerializer<Task> {
  static override model = Task
  static override fields = ['id', 'title', 'person']
  static override declaredFields = { person: new NestedSerializer(PersonSerializer, { readOnly: true }) }
}
class ProjectSerializer extends ModelSerializer<Project> {
  static override model = Project
  static override fields = ['id']
}

const PATHS = ['person__name', 'person__score', 'person__team__name', 'person__team__founded', 'person__profile__motto']

class Tasks extends ReadOnlyModelViewSet<Task> {
  static override model = Task
  static override serializerClass: typeof TaskSerializer | typeof PersonTaskSerializer = TaskSerializer
  static override filterBackends: Filters = [new FieldFilter({ groupParam: 'filter' }), SearchFilter, OrderingFilter]
  static override filtersetFields = ['size', 'person__name']
  static override searchFields = ['title']
  static override orderingFields = ['size', 'title', 'scored__name', ...PATHS]
  static override paginationClass: Pagination = null
}
/** Read as rows that are joined to other tables. */
class Joined extends Tasks {
  static override serializerClass = PersonTaskSerializer
}
class Native extends Joined {
  static override useNativeJson = true
}
class Instances extends Tasks {
  override getQueryset() {
    return super
      .getQueryset()
      .where('tasks.id', '>', 0)
      .runAfter((rows: unknown) => rows)
  }
}
class NestedTasks extends NestedViewSetMixin(Tasks) {
  static override parentLookupField = 'project_id'
  static override paginationClass = new CursorPagination({ pageSize: 4 })
}
class Projects extends ReadOnlyModelViewSet<Project> {
  static override model = Project
  static override serializerClass = ProjectSerializer
}

const WAYS: Readonly<Record<string, typeof Tasks>> = {
  tasks: Tasks,
  joined: Joined,
  native: Native,
  instances: Instances,
}
const PAGES = {
  cursor: new CursorPagination({ pageSize: 14 }),
  number: new PageNumberPagination({ pageSize: 6 }),
  offset: new LimitOffsetPagination({ defaultLimit: 6 }),
  server: new ServerCursorPagination({ pageSize: 30 }),
} satisfies Record<string, Pagination>

let database: TestDatabase
let client: Client

beforeAll(async () => {
  configure({ secretKey: 'a secret of the tests' })
  database = await createDatabase({ schema: SCHEMA })
  for (const model of [Team, Profile, Badge, Project, Person, Task]) model.knex(database.knex)
  const api = new APIRouter()
  for (const [way, view] of Object.entries(WAYS)) {
    api.register(way, view, way)
    for (const [page, pagination] of Object.entries(PAGES)) {
      class Paged extends view {
        static override paginationClass: Pagination = pagination
      }
      api.register(`${way}-${page}`, Paged, `${way}-${page}`)
    }
  }
  class Declared extends Tasks {
    static override ordering = ['-person__team__name', 'person__name']
    static override paginationClass = new CursorPagination({ pageSize: 9 })
  }
  api.register('declared', Declared, 'declared')
  api.register('projects', Projects, 'project')
  new NestedRouter(api, 'projects', { lookup: 'project_id' }).register('tasks', NestedTasks, 'project-task')
  await api.prepare()
  client = await serving(api.routes())
})
afterAll(async () => {
  await client?.close()
  await database?.drop()
})
afterEach(() => expect(client.reported.splice(0)).toEqual([]))

const COLUMNS: Readonly<Record<string, string>> = {
  size: 'tasks.size',
  title: 'tasks.title',
  id: 'tasks.id',
  person__name: 'people.name',
  person__score: 'people.score',
  person__team__name: 'teams.name',
  person__team__founded: 'teams.founded',
  person__profile__motto: 'profiles.motto',
  scored__name: 'scored.name',
}

/** The order that plain SQL gives: the primary key last, in the direction of the last term. */
async function expected(order: string, where = 'true'): Promise<number[]> {
  const terms = order.split(',')
  const last = terms.at(-1)?.startsWith('-') ? '-id' : 'id'
  const sql = [...terms, last].map(
    (term) => `${COLUMNS[term.replace('-', '')]} ${term.startsWith('-') ? 'desc' : 'asc'}`,
  )
  const { rows } = await database.knex.raw<{ rows: { id: number }[] }>(`
    select tasks.id from tasks left join people on people.id = person_id left join teams on teams.id = team_id
      left join profiles on profiles.person_id = people.id left join people scored on scored.id = tasks.person_id and scored.score > 1.5
    where ${where} order by ${sql.join(', ')}`)
  return rows.map(({ id }) => id)
}

const idsOf = (rows: readonly { id: number }[]) => rows.map(({ id }) => id)

async function list(path: string, query: Record<string, string>): Promise<number[]> {
  const { status, json } = await client.get(`/${path}?${new URLSearchParams(query).toString()}`)
  expect([path, query, status, json]).toEqual([path, query, 200, json])
  return idsOf(json)
}

/** All pages of a list, to its end and back again. */
async function walk(start: string): Promise<{ forth: number[]; back: number[] }> {
  const forth: number[] = []
  const back: number[] = []
  let last = start
  for (let at: string | null = start; at; ) {
    const { status, json }: { status: number; json: { next: string | null; results: { id: number }[] } } =
      await client.get(at)
    expect([at, status]).toEqual([at, 200])
    forth.push(...idsOf(json.results))
    last = at
    at = json.next
  }
  for (let at: string | null = last; at; ) {
    const { json }: { json: { previous?: string | null; results: { id: number }[] } } = await client.get(at)
    back.unshift(...idsOf(json.results))
    at = json.previous ?? null
  }
  return { forth, back }
}

const ORDERS = [
  ...PATHS,
  ...PATHS.map((path) => `-${path}`),
  'person__name,-size',
  '-person__team__name,person__name,size',
  'size,-person__score',
  '-title,-person__team__founded,person__profile__motto',
  'scored__name',
  '-scored__name,title',
]

describe.each(Object.keys(WAYS))('%s', (way) => {
  it.each(ORDERS)('are ordered by %s', async (ordering) => {
    expect(await list(way, { ordering })).toEqual(await expected(ordering))
  })

  it.each(ORDERS)('are cut at cursors by %s, and lose no row', async (ordering) => {
    const all = await expected(ordering)
    expect(await walk(`/${way}-cursor?ordering=${ordering}`)).toEqual({ forth: all, back: all })
  })

  it.each(['number', 'offset'])('are cut by %s', async (page) => {
    for (const ordering of ['-person__name', 'person__team__name,-size', 'scored__name']) {
      const all = await expected(ordering)
      expect(await walk(`/${way}-${page}?ordering=${ordering}`)).toEqual({ forth: all, back: all })
    }
  })

  it('are read through a cursor of the database', async () => {
    for (const ordering of ['-person__team__name,person__score', 'scored__name']) {
      const seen: number[] = []
      for (let at: string | null = `/${way}-server?ordering=${ordering}`; at; ) {
        const { json }: { json: { cursor_id: string | null; results: { id: number }[] } } = await client.get(at)
        seen.push(...idsOf(json.results))
        at = json.cursor_id && `/${way}-server?ordering=${ordering}&server_cursor=${json.cursor_id}`
      }
      expect(seen).toEqual(await expected(ordering))
    }
  })

  it('are ordered beside filters, groups, searches and fields', async () => {
    const ordering = '-person__name,person__score'
    expect(await list(way, { ordering, size__gt: '1', search: 'task 3' })).toEqual(
      await expected(ordering, "size > 1 and title like '%task 3%'"),
    )
    expect(await list(way, { ordering, filter: 'or(person__name=Ada,size=1)' })).toEqual(
      await expected(ordering, "people.name = 'Ada' or size = 1"),
    )
    expect(await list(way, { ordering, fields: 'id' })).toEqual(await expected(ordering))
    const all = await expected('person__name', 'size = 2')
    expect(await walk(`/${way}-cursor?ordering=person__name&size=2&fields=id`)).toEqual({ forth: all, back: all })
    expect(await walk(`/${way}-number?ordering=person__name&filter=not(size__ne=2)`)).toEqual({ forth: all, back: all })
  })
})

describe('an order by related columns', () => {
  it('is one of nested lists', async () => {
    const all = await expected('-person__team__name', 'project_id = 2')
    expect(await walk('/projects/2/tasks?ordering=-person__team__name')).toEqual({ forth: all, back: all })
    expect((await client.get('/projects/3/tasks?ordering=person__name')).json.results).toEqual([])
    expect((await client.get('/projects/4/tasks?ordering=person__name')).status).toBe(404)
  })

  it('is one that a view declares', async () => {
    const all = await expected('-person__team__name,person__name')
    expect(await walk('/declared')).toEqual({ forth: all, back: all })
  })

  it('ignores paths that are not declared (C9)', async () => {
    expect(await list('tasks', { ordering: 'person__team__id' })).toEqual(await expected('id'))
    expect(await list('tasks', { ordering: 'person__id,-size' })).toEqual(await expected('-size'))
  })

  it('does not show its values in a cursor', async () => {
    const { json } = await client.get('/tasks-cursor?ordering=-person__score')
    const token = new URLSearchParams(String(json.next).split('?')[1]).get('cursor') as string
    expect(Buffer.from(token, 'base64url').toString('latin1')).not.toMatch(/\d\.\d\d|"p"/)
  })

  it('is kept as any other order is, where nothing narrows the relation', async () => {
    const texts = await countQueries(database.knex, async () => {
      for (let turn = 0; turn < 3; turn++) await client.get('/tasks-cursor?ordering=person__name')
    })
    expect(new Set(texts).size).toBe(1)
  })

  it('leads to one object, by what the database says', async () => {
    const prepared = (orderingFields: string[], more: object = {}) => {
      class Wrong extends Tasks {}
      Object.assign(Wrong, { orderingFields, ...more })
      return new APIRouter().register('tasks', Wrong, 'task').prepare()
    }
    const many = 'may lead to several objects, as no primary key and no unique constraint of'
    await expect(prepared(['person__tasks__title'])).rejects.toThrow(`"tasks" of Person ${many} Task says otherwise`)
    await expect(prepared(['person__badge__name'])).rejects.toThrow(`"badge" of Person ${many} Badge`)
    await expect(prepared(['person__nope'])).rejects.toThrow('orderingFields names "person__nope"')
    await expect(prepared(['person'])).rejects.toThrow('orderingFields names "person", which is no column of Task')
    await expect(prepared(['-person__name'])).rejects.toThrow('orderingFields names "-')
    await expect(prepared(['person__place'])).rejects.toThrow(
      '"person__place" of type point, whose values have no order',
    )
    await expect(prepared([], { ordering: ['-person__nope'] })).rejects.toThrow('ordering names "person__nope"')
    await expect(prepared([], { ordering: ['person__place'] })).rejects.toThrow('whose values have no order')
    await expect(prepared([], { ordering: ['person__tasks__id'] })).rejects.toThrow(many)
  })
})
