/** Lists inside objects: their order, their parts, and how many statements they cost. */
import type { Model } from 'objection'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  APIRouter,
  type DeclaredFields,
  FieldFilter,
  JSONRenderer,
  ModelSerializer,
  modelSerializer,
  modelViewSet,
  NDJSONRenderer,
  NestedSerializer,
  PageNumberPagination,
  PrimaryKeyRelatedField,
  SerializerMethodField,
  StreamMixin,
} from '../../lib/index.js'
import { formatExplanations } from '../../lib/tools/index.js'
import { count } from '../../lib/views/index.js'
import { serveApp } from '../support/client.js'
import { countQueries } from '../support/database.js'
import { database, Grade, Note, Person, Project, Task, useProjects } from '../support/projects.js'
import { routerOf, serializerOf, serveViews, viewOf } from '../support/views.js'

useProjects()

class NoteSerializer extends modelSerializer(Note, { fields: ['id', 'text'] }) {}
class TaskSerializer extends modelSerializer(Task, { fields: ['id', 'title', 'due'] }) {}
class PersonSerializer extends modelSerializer(Person, { fields: ['id', 'name'] }) {}
class ProjectNameSerializer extends modelSerializer(Project, { fields: ['id', 'name'] }) {}

/** A view set of projects that show these fields. */
function projectsWith(declaredFields: DeclaredFields, name = 'ProjectSerializer') {
  class ProjectSerializer extends ModelSerializer<Project> {
    static override model = Project
    static override fields = ['id', 'name']
    static override declaredFields = declaredFields
  }
  Object.defineProperty(ProjectSerializer, 'name', { value: name })
  return modelViewSet(Project, {
    serializerClass: ProjectSerializer,
    paginationClass: new PageNumberPagination({ count: 'none' }),
    ordering: ['id'],
  })
}

async function serveProjects(declaredFields: DeclaredFields, base = projectsWith(declaredFields)) {
  const api = new APIRouter().register('projects', base)
  await api.prepare()
  const client = await serveApp(api.routes())
  return { ...client, api }
}

const list = (options: object) => new NestedSerializer(TaskSerializer, { many: true, readOnly: true, ...options })
const titles = (tasks: { title: string }[]) => tasks.map(({ title }) => title).join('')

describe('the order of a list', () => {
  it('is the declared one, ties in the order of the key', async () => {
    const { get } = await serveProjects({ tasks: list({ orderBy: ['-due'] }) })
    const { json: body } = await get('/projects')
    expect(body.results.map(({ tasks }: any) => titles(tasks))).toEqual(['ecadb', 'gf', ''])
    expect(titles((await get('/projects/1')).json.tasks)).toBe('ecadb')
  })

  it('stands before the one that the relation has', async () => {
    const { get } = await serveProjects({
      own: list({ source: 'openTasks' }),
      declared: list({ source: 'openTasks', orderBy: ['title'], limit: 2 }),
    })
    const { json: body } = await get('/projects/1')
    expect([titles(body.own), titles(body.declared)]).toEqual(['dca', 'ac'])
  })

  it('holds for a list that is written, in the answer too', async () => {
    const { send } = await serveProjects({
      tasks: new NestedSerializer(TaskSerializer, { many: true, orderBy: ['-title'] }),
    })
    const made = await send('POST', '/projects', {
      name: 'New',
      tasks: [{ title: 'x' }, { title: 'z' }, { title: 'y' }],
    })
    expect([made.status, titles(made.json.tasks)]).toEqual([201, 'zyx'])
    const [x] = made.json.tasks.filter(({ title }: any) => title === 'x')
    const changed = await send('PATCH', `/projects/${made.json.id}`, { tasks: [{ id: x.id, title: 'zz' }] })
    expect([changed.status, titles(changed.json.tasks)]).toEqual([200, 'zzzy'])
  })
})

describe('the order of an expanded list', () => {
  const expandable = { tasks: list({ orderBy: ['-due'] }) }
  const shapes: [string, DeclaredFields][] = [
    ['its keys', { tasks: new PrimaryKeyRelatedField({ many: true, readOnly: true }) }],
    ['the list in another order', { tasks: list({ orderBy: ['title'] }) }],
  ]

  it.each(shapes)(
    'is the declared one beside code that computes a field, where the serializer shows %s',
    async (_, declaredFields) => {
      class Named extends modelSerializer(Project, {
        fields: ['id', 'name'],
        declaredFields: { ...declaredFields, count: new SerializerMethodField<number>() },
      }) {
        getCount({ name }: Project) {
          return name.length
        }
      }
      const view = modelViewSet(Project, { serializerClass: Named, ordering: ['id'], expandable })
      const { get, send } = await serveProjects({}, view as never)
      expect((await get('/projects?expand=tasks')).json.map(({ tasks }: any) => titles(tasks))).toEqual([
        'ecadb',
        'gf',
        '',
      ])
      expect(titles((await get('/projects/1?expand=tasks')).json.tasks)).toBe('ecadb')
      expect(titles((await send('PATCH', '/projects/1?expand=tasks', { name: 'Renamed' })).json.tasks)).toBe('ecadb')
    },
  )
})

describe('a part of a list', () => {
  it('is what modifiers leave, as many as the limit says, of each object its own', async () => {
    const { get } = await serveProjects({
      tasks: list({ modify: 'open', orderBy: ['-due'], limit: 2 }),
      all_tasks: list({ source: 'tasks' }),
      first: list({ source: 'tasks', limit: 1 }),
    })
    const { json: body } = await get('/projects')
    expect(body.results.map((one: any) => [titles(one.tasks), titles(one.all_tasks), titles(one.first)])).toEqual([
      ['ca', 'abcde', 'a'],
      ['f', 'fg', 'f'],
      ['', '', ''],
    ])
  })

  it('is read by the statement of the page, for all objects of it', async () => {
    const { get } = await serveProjects({ tasks: list({ orderBy: ['-due'], limit: 2, modify: ['open'] }) })
    await get('/projects')
    const queries = await countQueries(database.knex, () => get('/projects'))
    expect(queries.length).toBe(1)
    expect(queries[0]).toMatch(/ cross join lateral \(select .* limit 2\) /)
    await database.knex.raw(`insert into projects (name) select 'p' || n from generate_series(1, 20) n`)
    expect((await countQueries(database.knex, () => get('/projects'))).length).toBe(1)
  })

  it('is the same of a relation by a join table', async () => {
    const { get } = await serveProjects({
      members: new NestedSerializer(PersonSerializer, { many: true, readOnly: true, orderBy: ['-rank'], limit: 2 }),
    })
    const { json: body } = await get('/projects')
    expect(body.results.map((one: any) => one.members.map(({ name }: any) => name))).toEqual([
      ['Cleo', 'Ben'],
      ['Cleo', 'Ada'],
      [],
    ])
  })

  it('is the same of a relation of a table to itself', async () => {
    const { get } = await serveProjects({
      children: new NestedSerializer(ProjectNameSerializer, { many: true, readOnly: true, orderBy: ['-id'], limit: 1 }),
    })
    const { json: body } = await get('/projects')
    expect(body.results.map((one: any) => one.children.map(({ name }: any) => name))).toEqual([['None'], [], []])
  })

  it('holds conditions with OR of a modifier together, and takes its select', async () => {
    const { get } = await serveProjects({
      ends: list({ source: 'tasks', modify: ['open', 'ends'], limit: 5 }),
      whole: new NestedSerializer(modelSerializer(Task, { fields: ['id', 'title'] }), {
        source: 'tasks',
        many: true,
        readOnly: true,
        modify: ['titles', 'latest'],
        limit: 2,
      }),
    })
    const { json: body } = await get('/projects')
    expect(body.results.map((one: any) => [titles(one.ends), titles(one.whole)])).toEqual([
      ['', 'ea'],
      ['f', 'gf'],
      ['', ''],
    ])
  })

  it('stands inside parts of lists', async () => {
    class WithNotes extends modelSerializer(Task, {
      fields: ['title', 'notes'],
      declaredFields: {
        notes: new NestedSerializer(NoteSerializer, { many: true, readOnly: true, orderBy: ['-id'], limit: 1 }),
      },
    }) {}
    const { get } = await serveProjects({
      tasks: new NestedSerializer(WithNotes, { many: true, readOnly: true, modify: 'open', limit: 2 }),
    })
    await get('/projects')
    const queries = await countQueries(database.knex, async () => {
      const { json: body } = await get('/projects')
      expect(
        body.results.map((one: any) => one.tasks.map(({ notes }: any) => notes.map(({ text }: any) => text))),
      ).toEqual([[['n2'], ['n3']], [['n4']], []])
    })
    expect(queries.length).toBe(1)
  })

  it('is read with each portion of a stream', async () => {
    class Streamed extends StreamMixin(projectsWith({ tasks: list({ limit: 1 }) })) {
      static override rendererClasses = [JSONRenderer, NDJSONRenderer]
      static override streamFormats = ['ndjson']
      static override streamRows = 2
    }
    const { get } = await serveProjects({}, Streamed)
    const queries = await countQueries(database.knex, async () => {
      const lines = (await get('/projects.ndjson')).text.trim().split('\n')
      expect(lines.map((line) => titles(JSON.parse(line).tasks))).toEqual(['a', 'f', ''])
    })
    expect(queries.filter((sql) => sql.includes('unnest')).length).toBe(2)
  })

  it('takes one statement more for all instances of a page', async () => {
    class Counted extends modelSerializer(Project, {
      fields: ['id', 'tasks', 'count'],
      declaredFields: { tasks: list({ orderBy: ['-due'], limit: 2 }), count: new SerializerMethodField<number>() },
    }) {
      getCount(project: Project) {
        return project.id
      }
    }
    const view = modelViewSet(Project, { serializerClass: Counted, ordering: ['id'] })
    const { get } = await serveProjects({}, view as never)
    await get('/projects')
    const queries = await countQueries(database.knex, () => get('/projects'))
    expect(queries.length).toBe(2)
    expect(queries[1]).toMatch(/unnest\(\$\d+::integer\[\]\) .* cross join lateral/)
  })

  it('is that of one object for all who show it', async () => {
    class Shown extends modelSerializer(Project, {
      fields: ['tasks'],
      declaredFields: { tasks: list({ orderBy: ['-due'], limit: 1 }) },
    }) {}
    class OfTask extends modelSerializer(Task, {
      fields: ['title', 'project', 'shout'],
      declaredFields: {
        project: new NestedSerializer(Shown, { readOnly: true }),
        shout: new SerializerMethodField<string>(),
      },
    }) {
      getShout(task: Task) {
        return task.title.toUpperCase()
      }
    }
    const { get } = await serveProjects({}, modelViewSet(Task, { serializerClass: OfTask, ordering: ['id'] }) as never)
    const { json } = await get('/projects')
    expect(json.map(({ project }: any) => titles(project.tasks)).join('')).toBe('eeeeegg')
  })

  it('is as long as its limit where a join table links two objects twice', async () => {
    await database.knex.raw(`alter table members drop constraint members_pkey; insert into members values (1, 3)`)
    onTestFinished(() =>
      database.knex.raw('delete from members; alter table members add primary key (project_id, person_id)'),
    )
    const members = () =>
      new NestedSerializer(PersonSerializer, { many: true, readOnly: true, orderBy: ['-rank'], limit: 1 })
    class Named extends modelSerializer(Project, {
      fields: ['members', 'shout'],
      declaredFields: { members: members(), shout: new SerializerMethodField<string>() },
    }) {
      getShout(project: Project) {
        return project.name.toUpperCase()
      }
    }
    const rows = await serveProjects({ members: members() })
    const instances = await serveProjects(
      {},
      modelViewSet(Project, { serializerClass: Named, ordering: ['id'] }) as never,
    )
    expect((await rows.get('/projects/1')).json.members).toEqual([{ id: 3, name: 'Cleo' }])
    expect((await instances.get('/projects/1')).json.members).toEqual([{ id: 3, name: 'Cleo' }])
    const written = new NestedSerializer(PersonSerializer, { many: true })
    const { get, send } = await serveProjects({ members: written }, projectsWith({ members: written }, 'Written'))
    const { json } = await get('/projects/1')
    expect(json.members).toHaveLength(4)
    expect(await send('PUT', '/projects/1', json)).toMatchObject({ status: 200, json })
    const more = { members: [...json.members, json.members[3]] }
    expect((await send('PATCH', '/projects/1', more)).json.errors.members).toEqual({
      4: { id: ['Invalid pk "3" - listed more than once.'] },
    })
  })

  it('is shown by answers to writes, and leaves the relation itself to other fields', async () => {
    class Fields extends modelSerializer(Project, {
      fields: ['id', 'name', 'tasks', 'task_ids', 'count'],
      declaredFields: {
        tasks: list({ limit: 1, orderBy: ['-id'] }),
        task_ids: new PrimaryKeyRelatedField({ source: 'tasks', many: true, readOnly: true }),
        count: new SerializerMethodField<number>(),
      },
    }) {
      getCount(project: Project) {
        return project.tasks?.length ?? -1
      }
    }
    const { send, get } = await serveProjects({}, modelViewSet(Project, { serializerClass: Fields }) as never)
    const changed = await send('PATCH', '/projects/1', { name: 'Renamed' })
    expect(changed.json).toEqual({
      id: 1,
      name: 'Renamed',
      tasks: [expect.objectContaining({ title: 'e' })],
      task_ids: [1, 2, 3, 4, 5],
      count: 5,
    })
    expect((await send('POST', '/projects', { name: 'New' })).json.tasks).toEqual([])
    expect(Object.keys((await get('/projects/1?fields=tasks')).json)).toEqual(['tasks'])
  })

  it('is expanded where a view set says how', async () => {
    const view = modelViewSet(Project, {
      serializerClass: ProjectNameSerializer,
      ordering: ['id'],
      expandable: { tasks: new NestedSerializer(TaskSerializer, { many: true, orderBy: ['-due'], limit: 1 }) },
    })
    const { get } = await serveProjects({}, view as never)
    expect((await get('/projects?expand=tasks')).json.map(({ tasks }: any) => titles(tasks))).toEqual(['e', 'g', ''])
    expect((await get('/projects/1')).json).toEqual({ id: 1, name: 'One' })
  })

  it('is described with its most objects, and explained', async () => {
    const { api } = await serveProjects({ tasks: list({ limit: 2 }) })
    const { components } = api.getSchema({ title: 't', version: '1' }) as any
    expect(components.schemas.ProjectOutput.properties.tasks).toMatchObject({ type: 'array', maxItems: 2 })
    const text = formatExplanations(await api.explain('project-list'))
    expect(text).toContain('reads        rows')
    const modified = await serveProjects({ tasks: list({ modify: 'titles' }) })
    const explained = formatExplanations(await modified.api.explain('project-list'))
    expect(explained).toContain(
      'instances: ProjectSerializer.tasks: the modifier "titles" of Task does more than to choose and order rows',
    )
    expect(explained).toContain('then one statement for each relation shown: tasks')
  })

  it('is refused where the queryset loads the relation in its own way, which may hide some of it', async () => {
    class Own extends projectsWith({ tasks: list({ limit: 2 }) }) {
      override getQueryset() {
        return super.getQueryset().withGraphFetched('tasks(open)')
      }
    }
    const { get, app } = await serveProjects({}, Own)
    app.silent = true
    const reported: unknown[] = []
    app.on('error', (error) => reported.push(error))
    expect((await get('/projects')).status).toBe(500)
    expect(String(reported[0])).toContain('Project: getQueryset() loads "tasks" with a graph of its own')
  })
})

describe('a wrong declaration', () => {
  const mistakes: [string, DeclaredFields, string][] = [
    [
      'an order of one object',
      { parent: new NestedSerializer(ProjectNameSerializer, { readOnly: true, limit: 2 }) },
      'ProjectSerializer: field "parent" has limit, which is for lists; set many: true, or leave it out',
    ],
    [
      'a list of no relation',
      { name: list({ limit: 2 }) },
      'ProjectSerializer: field "name" has limit, and the model has no relation of that name to many objects; correct its source',
    ],
    [
      'an unknown column',
      { tasks: list({ orderBy: ['-deu'] }) },
      'ProjectSerializer: field "tasks" has orderBy "deu", which is no column of Task; did you mean "due"?',
    ],
    [
      'a column without order',
      { tasks: list({ orderBy: ['meta'] }) },
      'ProjectSerializer: field "tasks" has orderBy "meta", a column of type json, which has no order; take another one',
    ],
    [
      'an unknown modifier',
      { tasks: list({ modify: 'opn' }) },
      'ProjectSerializer: field "tasks" has modify "opn", which is no modifier of Task; did you mean "open"?',
    ],
    [
      'a modifier of a name that every object has',
      { tasks: list({ modify: 'toString' }) },
      'ProjectSerializer: field "tasks" has modify "toString", which is no modifier of Task; take one of',
    ],
    [
      'a limit of a modifier',
      { tasks: list({ modify: ['open', 'two'] }) },
      'ProjectSerializer: field "tasks" has modify "two": it has a limit, which counts for the rows of all lists together; use option limit',
    ],
    [
      'a limit of the relation',
      { nextTasks: list({}) },
      'Project.relationMappings.nextTasks: its modify has a limit, which counts for the rows of all objects together; leave it out: one object is the first of its order, and a list is cut by limit of NestedSerializer',
    ],
    [
      'a modifier of the relation that is none',
      { misnamed: list({}) },
      'Project.relationMappings.misnamed: modify names "opn", which is no modifier of Task; did you mean "open"?',
    ],
    [
      'distinctOn() of a modifier',
      { tasks: list({ modify: 'perDue' }) },
      'ProjectSerializer: field "tasks" has modify "perDue": it has distinctOn() without project_id, which counts for',
    ],
    [
      'distinctOn() of the relation',
      { perDue: list({}) },
      'Project.relationMappings.perDue: its modify has distinctOn() without project_id, which counts for the rows of all objects',
    ],
    [
      'an order beside that of distinctOn()',
      { ownPerDue: list({ orderBy: ['title'] }) },
      'ProjectSerializer: field "ownPerDue" has orderBy, and its rows are the first by the order of a distinctOn(); leave orderBy out',
    ],
    [
      'a part that is written',
      { tasks: new NestedSerializer(TaskSerializer, { many: true, limit: 2 }) },
      'ProjectSerializer: field "tasks" shows a part of a list, which a client cannot write as a whole; set readOnly: true',
    ],
    [
      'rows without a key',
      {
        grades: new NestedSerializer(
          class GradeSerializer extends ModelSerializer<Grade> {
            static override model = Grade
            static override fields = ['code']
          },
          { many: true, readOnly: true, limit: 2 },
        ),
      },
      'ProjectSerializer: field "grades" has a limit, and Grade has no primary key that tells its rows apart; set its idColumn',
    ],
    [
      'a limit of nothing',
      { tasks: list({ limit: 0 }) },
      'ProjectSerializer: declaredFields.tasks: NestedSerializer: limit is 0; give a whole number of at least 1',
    ],
  ]
  it.each(mistakes)('is told: %s', async (_name, fields, message) => {
    const prepared = async () => {
      await new APIRouter().register('projects', projectsWith(fields)).prepare()
    }
    await expect(prepared()).rejects.toThrow(message)
  })

  it('may be distinct by the column that leads to the object', async () => {
    const { get } = await serveProjects({ ownPerDue: list({}) })
    await database.knex('tasks').insert({ project_id: 2, title: 'g', due: 3 })
    const shown = (await get('/projects')).json.results.map(({ ownPerDue }: any) => titles(ownPerDue))
    expect(shown).toEqual(['bdae', 'gfg', ''])
  })

  it.each([
    { filterBackends: [FieldFilter], filtersetFields: ['nextTasks__title'] },
    { expandable: { tasks_count: count('nextTasks') } },
  ])('is told: a relation with a limit in %j', async (statics) => {
    const router = routerOf({ projects: viewOf(Project, serializerOf(Project, ['id']), statics) })
    await expect(router.prepare()).rejects.toThrow('Project.relationMappings.nextTasks: its modify has a limit')
  })

  it('does not compile where the model declares its columns', () => {
    const made = () => [
      // @ts-expect-error no column of Task
      new NestedSerializer(TaskSerializer, { many: true, orderBy: ['-deu'] }),
      // @ts-expect-error no modifier of Task
      new NestedSerializer(TaskSerializer, { many: true, readOnly: true, modify: 'opn' }),
      new NestedSerializer(TaskSerializer, { many: true, readOnly: true, orderBy: ['-due', 'id'], modify: ['open'] }),
    ]
    expect(made().length).toBe(3)
  })
})

describe('two fields that show one list', () => {
  const ids = (more: object) =>
    new NestedSerializer(serializerOf(Task, ['id']), { many: true, readOnly: true, source: 'tasks', ...more })

  it.each([
    ['each in an order', { up: ids({ orderBy: ['title'] }), down: ids({ orderBy: ['-title'] }) }],
    ['one in no order', { down: ids({ orderBy: ['-title'] }), up: ids({}) }],
  ])('%s', async (_, declared) => {
    const serializer = serializerOf(Project, ['id'], declared)
    class Instances extends serializer {
      static override schemaName = 'InstancesOfLists'
      override toRepresentation(object: Model) {
        return super.toRepresentation(object)
      }
    }
    const { get } = await serveViews({
      rows: viewOf(Project, serializer),
      native: viewOf(Project, serializer, { useNativeJson: true }),
      instances: viewOf(Project, Instances),
    })
    const want = { id: 1, up: [1, 2, 3, 4, 5], down: [5, 4, 3, 2, 1] }
    for (const way of ['rows', 'native', 'instances']) {
      const [first] = (await get(`/${way}`)).json
      for (const { id, up, down } of [first, (await get(`/${way}/1`)).json]) {
        const shown = [up, down].map((list: { id: number }[]) => list.map((task) => task.id))
        expect({ way, id, up: shown[0], down: shown[1] }).toEqual({ way, ...want })
      }
    }
  })
})
