/** Numbers of related objects on request: what counts, for whom, and how many statements that costs. */
import { Model } from 'objection'
import { describe, expect, it } from 'vitest'
import type { createClient } from '../../lib/client/index.js'
import {
  APIRouter,
  BasePermission,
  CSVRenderer,
  FieldFilter,
  IsAuthenticated,
  JSONRenderer,
  modelSerializer,
  modelViewSet,
  NestedSerializer,
  PageNumberPagination,
} from '../../lib/index.js'
import { formatExplanations } from '../../lib/tools/index.js'
import { AggregateMixin, count } from '../../lib/views/index.js'
import { serveApp } from '../support/client.js'
import { countQueries } from '../support/database.js'
import { database, Person, Project, Task, useProjects } from '../support/projects.js'

useProjects()

class TaskSerializer extends modelSerializer(Task, { fields: ['id', 'title', 'project_id'] }) {}
class PersonSerializer extends modelSerializer(Person, { fields: ['id', 'name'] }) {}
class ProjectSerializer extends modelSerializer(Project, { fields: ['id', 'name'] }) {}

class ProjectViewSet extends modelViewSet(Project, {
  serializerClass: ProjectSerializer,
  paginationClass: PageNumberPagination,
  rendererClasses: [JSONRenderer, CSVRenderer],
  ordering: ['id'],
  expandable: { tasks_count: count('tasks'), members_count: count('members'), tasks: TaskSerializer },
}) {}

/** Open tasks, for those whom it lets in. */
class OpenTasks extends modelViewSet(Task, { serializerClass: TaskSerializer, permissionClasses: [IsAuthenticated] }) {
  override getQueryset() {
    return super.getQueryset().where('done', false).orWhere('id', '<', 0)
  }
}

async function serveViews(views: Record<string, unknown>) {
  const api = new APIRouter()
  for (const [name, view] of Object.entries(views)) api.register(name, view as typeof ProjectViewSet, name)
  await api.prepare()
  const client = await serveApp((ctx, next) => {
    if (ctx.get('x-user')) ctx.state['user'] = { id: ctx.get('x-user') }
    return next()
  }, api.routes())
  return { ...client, api }
}

const numbers = (rows: any[], name = 'tasks_count') => rows.map((row) => row[name])

describe('the number of related objects', () => {
  it('is shown where a client asks for it', async () => {
    const { get, send } = await serveViews({ projects: ProjectViewSet })
    const { json } = await get('/projects?expand=tasks_count,members_count')
    expect(numbers(json.results)).toEqual([5, 2, 0])
    expect(numbers(json.results, 'members_count')).toEqual([3, 2, 0])
    expect((await get('/projects')).json.results[0]).toEqual({ id: 1, name: 'One' })
    expect((await get('/projects/1?expand=tasks_count&fields=id')).json).toEqual({ id: 1, tasks_count: 5 })
    expect((await send('POST', '/projects?expand=tasks_count', { name: 'New' })).json).toMatchObject({ tasks_count: 0 })
    expect((await send('PATCH', '/projects/2?expand=tasks_count', { name: 'New' })).json).toMatchObject({
      tasks_count: 2,
    })
    expect((await get('/projects.csv?expand=tasks_count')).text).toContain('2,New,2')
  })

  it.each(['rows', 'instances'])('is of texts and of what is none, which stand for one another, of %s', async (way) => {
    await database.knex.raw(`
      drop table if exists labels; create table labels (code text);
      insert into labels values ('1'), ('1'), ('2'), ('x')`)
    class Label extends Model {
      static override tableName = 'labels'
    }
    class Labelled extends Model {
      static override tableName = 'projects'
      static override relationMappings = () => ({
        labels: {
          relation: Model.HasManyRelation,
          modelClass: Label,
          join: { from: 'projects.id', to: 'labels.code' },
        },
      })
    }
    for (const model of [Label, Labelled]) model.knex(database.knex)
    class Views extends modelViewSet(Labelled, {
      serializerClass: modelSerializer(Labelled, { fields: ['id'] }),
      ordering: ['id'],
    }) {
      static override expandable = { labels_count: count('labels') }
      override getQueryset() {
        return way === 'rows' ? super.getQueryset() : super.getQueryset().runAfter((rows) => rows)
      }
    }
    const { get, reported } = await serveViews({ labelled: Views })
    const { json } = await get('/labelled?expand=labels_count')
    expect(reported).toEqual([])
    expect(numbers(json, 'labels_count')).toEqual([2, 1, 0])
  })

  it('is read with the page as rows and as JSON, and by one statement more for instances', async () => {
    class Native extends ProjectViewSet {
      static override useNativeJson = true
    }
    class Own extends ProjectViewSet {
      override getQueryset() {
        return super.getQueryset().where('id', '>', 0)
      }
    }
    class Instances extends ProjectViewSet {
      override loadRelated(...given: Parameters<InstanceType<typeof ProjectViewSet>['loadRelated']>) {
        return super.loadRelated(...given)
      }
    }
    const { get } = await serveViews({ projects: ProjectViewSet, native: Native, own: Own, instances: Instances })
    const answers: unknown[] = []
    const counts: number[] = []
    for (const path of ['projects', 'native', 'own', 'instances']) {
      const url = `/${path}?page_size=10&expand=tasks_count,members_count`
      await get(url)
      const queries = await countQueries(database.knex, async () => answers.push((await get(url)).json.results))
      counts.push(queries.length)
    }
    expect(counts).toEqual([1, 1, 1, 3])
    expect(answers).toEqual(Array.from(answers, () => answers[3]))
  })

  it('is one of objects that are expanded, too, and of all at once', async () => {
    const view = modelViewSet(Task, {
      serializerClass: TaskSerializer,
      ordering: ['id'],
      expandable: { project: ProjectSerializer, 'project.tasks_count': count('tasks'), notes_count: count('notes') },
    })
    const { get } = await serveViews({ tasks: view })
    const { json } = await get('/tasks?expand=project.tasks_count')
    expect(json.map(({ project }: any) => project.tasks_count)).toEqual([5, 5, 5, 5, 5, 2, 2])
    expect((await get('/tasks/1?expand=*')).json).toEqual({
      id: 1,
      title: 'a',
      project_id: 1,
      project: { id: 1, name: 'One', tasks_count: 5 },
      notes_count: 2,
    })
  })

  it('is asked for by a parameter of another name', async () => {
    class Named extends ProjectViewSet {
      static override expandParam = 'include'
      static override strictParams = true
    }
    const { get, api } = await serveViews({ projects: Named })
    expect(numbers((await get('/projects?include=tasks_count')).json.results)).toEqual([5, 2, 0])
    expect((await get('/projects?expand=tasks_count')).status).toBe(400)
    expect((await get('/projects?include=tasks_cuont')).json.errors).toEqual({
      include: ['Unknown name; did you mean "tasks_count"?'],
    })
    const document = JSON.stringify(api.getSchema({ title: 't', version: '1' }))
    expect(document).toContain('Shown with `include=tasks_count`.')
  })

  it('is explained, and described as a number', async () => {
    const { api } = await serveViews({ projects: ProjectViewSet })
    const { components } = api.getSchema({ title: 't', version: '1' }) as any
    expect(components.schemas.ProjectOutput.properties.tasks_count).toMatchObject({ type: 'integer', minimum: 0 })
    expect(formatExplanations(await api.explain('projects-list'))).toContain('reads        rows')
  })
})

describe('what counts', () => {
  class Shown extends modelViewSet(Project, {
    serializerClass: ProjectSerializer,
    ordering: ['id'],
    filterRelations: { tasks: OpenTasks },
    expandable: { tasks_count: count('tasks') },
  }) {}

  it('is explained as it is for the caller, wherever it is asked', async () => {
    class Summed extends AggregateMixin(Shown) {
      static override aggregates = { projects: count() }
      static override filterBackends = [new FieldFilter({ groupParam: 'filter' })]
    }
    const api = new APIRouter().register('projects', Summed)
    await api.prepare()
    const { get, send } = await serveApp(async (ctx) => {
      if (ctx.get('x-user')) ctx.state['user'] = { id: ctx.get('x-user') }
      ctx.body = await api.explain({ ctx }).catch(({ status }) => ({ status }))
    })
    const user = { 'x-user': 'ada' }
    const open = { statements: [{ sql: expect.stringContaining('"done" = ') }] }
    for (const path of ['/projects?expand=tasks_count', '/projects/1?expand=tasks_count'])
      expect((await get(path, user)).json).toMatchObject([open])
    expect((await get('/projects/aggregate?filter=any(tasks)', user)).json).toMatchObject([open])
    const [changed] = (await send('PATCH', '/projects/1?expand=tasks_count', {}, user)).json
    expect(changed.statements.at(-1).sql).toContain('"done" = ')
    expect((await get('/projects/1?expand=tasks_count')).json).toEqual({ status: 401 })
  })

  it('is what the view set of the relation shows the caller', async () => {
    const { get, send } = await serveViews({ projects: Shown })
    const user = { 'x-user': 'ada' }
    expect(numbers((await get('/projects?expand=tasks_count', user)).json)).toEqual([3, 1, 0])
    expect((await get('/projects/1?expand=tasks_count', user)).json.tasks_count).toBe(3)
    expect((await send('PATCH', '/projects/1?expand=tasks_count', { name: 'x' }, user)).json.tasks_count).toBe(3)
    expect((await get('/projects')).status).toBe(200)
    for (const path of ['/projects?expand=tasks_count', '/projects/1?expand=*'])
      expect((await get(path)).status).toBe(401)
    const refused = await send('PATCH', '/projects/1?expand=tasks_count', { name: 'changed' })
    expect(refused.status).toBe(401)
    expect((await get('/projects/1')).json.name).toBe('x')
  })

  it('is asked of the view sets along a path', async () => {
    class Tasks extends modelViewSet(Task, {
      serializerClass: TaskSerializer,
      ordering: ['id'],
      filterRelations: { project: Shown },
      expandable: { project: ProjectSerializer, 'project.tasks_count': count('tasks') },
    }) {}
    const { get } = await serveViews({ tasks: Tasks })
    const { json } = await get('/tasks?expand=project.tasks_count', { 'x-user': 'ada' })
    expect(json[0].project.tasks_count).toBe(3)
    expect((await get('/tasks?expand=project.tasks_count')).status).toBe(401)
  })

  it('is what a filter may ask about, and a permission may look at the request', async () => {
    class Asked extends BasePermission {
      override hasPermission(ctx: any) {
        return ctx.get('x-user') === 'ada'
      }
    }
    class Guarded extends OpenTasks {
      static override permissionClasses = [Asked]
    }
    class Both extends Shown {
      static override filterRelations = { tasks: Guarded }
      static override filterBackends = [new FieldFilter({ groupParam: 'filter' })]
    }
    const { get } = await serveViews({ projects: Both })
    const { json } = await get('/projects?filter=count(tasks)__gte=3&expand=tasks_count', { 'x-user': 'ada' })
    expect(json).toEqual([{ id: 1, name: 'One', tasks_count: 3 }])
    expect((await get('/projects?expand=tasks_count', { 'x-user': 'ben' })).status).toBe(403)
  })
})

describe('a wrong declaration', () => {
  const mistakes: [string, Record<string, any>, string][] = [
    [
      'no relation',
      { expandable: { n: count('taks') } },
      'ProjectViewSet: ProjectSerializer: field "n" counts "taks", which is no relation of Project; did you mean "tasks"?',
    ],
    [
      'one object',
      { expandable: { n: count('parent') } },
      'ProjectViewSet: ProjectSerializer: field "n" counts "parent", which leads to one object of Project; count a relation to many',
    ],
    [
      'the name of a field',
      { expandable: { name: count('tasks') } },
      'ProjectViewSet: expandable["name"] counts "tasks", and ProjectSerializer has a field of that name; take another one',
    ],
    [
      'a list with an unknown option',
      { expandable: { tasks: new NestedSerializer(TaskSerializer, { limt: 1 } as any) } },
      'ProjectViewSet: static expandable["tasks"]: NestedSerializer: has no option "limt"; did you mean "limit"?',
    ],
    [
      'a count among aggregates',
      { aggregates: { n: count('tasks') } },
      'ProjectViewSet: aggregates.n is count("tasks"), the number of related objects of one object, which is for expandable; write count()',
    ],
    [
      'relations that nobody asks about',
      { filterRelations: { tasks: OpenTasks } },
      'ProjectViewSet: static filterRelations is asked by groups of filters and by counts',
    ],
  ]
  it.each(mistakes)('is told: %s', async (_name, spec, message) => {
    const view = modelViewSet(Project, { serializerClass: ProjectSerializer, ...spec })
    const prepared = async () => {
      await new APIRouter().register('projects', view as typeof ProjectViewSet).prepare()
    }
    await expect(prepared()).rejects.toThrow(message)
  })

  it('does not compile where the model declares its relations', () => {
    const made = () => [
      // @ts-expect-error no relation of Project
      modelViewSet(Project, { serializerClass: ProjectSerializer, expandable: { n: count('taks') } }),
      modelViewSet(Task, {
        serializerClass: TaskSerializer,
        // @ts-expect-error no relation of the tasks' project
        expandable: { project: ProjectSerializer, 'project.n': count('notes') },
      }),
      // @ts-expect-error no relation
      modelViewSet(Project, { serializerClass: ProjectSerializer, expandable: { taks: TaskSerializer } }),
      // @ts-expect-error a count of no column
      modelViewSet(Project, { serializerClass: ProjectSerializer, aggregates: { n: count('tasks') } }),
      modelViewSet(Project, {
        serializerClass: ProjectSerializer,
        expandable: { members: new NestedSerializer(PersonSerializer, { many: true, limit: 1 }), n: count('members') },
      }),
    ]
    expect(made.length).toBe(0)
  })
})

describe('the typed client', () => {
  it('knows numbers, lists, all at once, and the name of the parameter', () => {
    class Named extends modelViewSet(Project, {
      serializerClass: ProjectSerializer,
      expandParam: 'include',
      expandable: {
        tasks_count: count('tasks'),
        members: new NestedSerializer(PersonSerializer, { many: true, limit: 1 }),
      },
    }) {}
    const api = () => new APIRouter().register('projects', ProjectViewSet).register('named', Named)
    const asked = async (client: ReturnType<typeof createClient<ReturnType<typeof api>>>) => {
      const one = await client.projects.retrieve(1, { expand: 'tasks_count' })
      const number: number | undefined = one.ok ? one.data.tasks_count : undefined
      const all = await client.projects.list({ expand: '*' })
      const counts: number[] = all.ok ? all.data.results.map(({ members_count }) => members_count) : []
      const title: string | undefined = all.ok ? all.data.results[0]?.tasks[0]?.title : undefined
      const named = await client.named.list({ include: ['tasks_count', 'members'] })
      const name: string | undefined = named.ok ? named.data[0]?.members[0]?.name : undefined
      // @ts-expect-error the parameter has another name
      await client.named.list({ expand: 'tasks_count' })
      // @ts-expect-error nobody declares it
      await client.projects.list({ expand: 'grades_count' })
      // @ts-expect-error it was not asked for
      return one.ok ? [number, counts, title, name, one.data.members_count] : []
    }
    expect(asked.length).toBe(1)
  })
})
