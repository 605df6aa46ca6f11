/** Named modifiers as parameters of lists. */
import { Model, type QueryBuilder } from 'objection'
import { describe, expect, it } from 'vitest'
import type { createClient } from '../../../lib/client/index.js'
import {
  APIRouter,
  CursorPagination,
  configure,
  FieldFilter,
  modelSerializer,
  modelViewSet,
} from '../../../lib/index.js'
import { modifierProblem } from '../../../lib/queryset/reads-whole-rows.js'
import { formatExplanations } from '../../../lib/tools/index.js'
import { count, ModifierFilter } from '../../../lib/views/index.js'
import { serveApp } from '../../support/client.js'
import { countQueries } from '../../support/database.js'
import { operationOf } from '../../support/operation-of.js'
import { database, Note, Project, Task, useProjects } from '../../support/projects.js'

useProjects()
configure({ secretKey: 'a secret of this test only' })

class TaskSerializer extends modelSerializer(Task, { fields: ['id', 'title', 'done'] }) {}
class TaskViewSet extends modelViewSet(Task, {
  serializerClass: TaskSerializer,
  paginationClass: new CursorPagination({ ordering: 'title' }),
  filterBackends: [FieldFilter, new ModifierFilter(Task, ['open', 'ends'])],
  filtersetFields: ['project_id'],
  aggregates: { n: count() },
  queryMethod: true,
}) {}
const Tasks = () => new APIRouter().register('tasks', TaskViewSet)

async function serveTasks(view: typeof TaskViewSet = TaskViewSet) {
  const api = new APIRouter().register('tasks', view)
  await api.prepare()
  return { ...(await serveApp(api.routes())), api }
}
const titles = ({ results }: { results: { title: string }[] }) => results.map(({ title }) => title).join('')

describe('a modifier that is declared', () => {
  it('narrows lists, sums and pages where a client asks for it, together with filters', async () => {
    const { get, send } = await serveTasks()
    const answers: Record<string, string> = {}
    for (const query of ['', '?open=true', '?ends=true', '?open=true&ends=true', '?ends=true&project_id=2']) {
      answers[query] = titles((await get(`/tasks${query}`)).json)
    }
    expect(answers).toEqual({
      '': 'abcdefg',
      '?open=true': 'acdf',
      '?ends=true': 'bfg',
      '?open=true&ends=true': 'f',
      '?ends=true&project_id=2': 'fg',
    })
    const first = await get('/tasks?open=true&page_size=3')
    const { pathname, search } = new URL(first.json.next, 'http://localhost')
    expect(titles((await get(pathname + search)).json)).toBe('f')
    expect((await get('/tasks/aggregate?open=true')).json).toEqual({ n: 4 })
    expect(titles((await send('QUERY', '/tasks', { open: true })).json)).toBe('acdf')
  })

  it('is read as rows by one statement', async () => {
    const { get, api } = await serveTasks()
    await get('/tasks?ends=true')
    const queries = await countQueries(database.knex, () => get('/tasks?ends=true&project_id=2'))
    expect(queries).toEqual([expect.stringMatching(/ as "c0".*\("due" < \$\d or "due" > \$\d\)/)])
    const text = formatExplanations(await api.explain('task-list'))
    expect(text).toMatch(/parameters {3}.*\bopen, ends\b/)
    expect(text).toContain('reads        rows')
  })

  it.each(['open=false', 'open=', 'open=1', 'ends=TRUE'])('answers 400 to %s', async (query) => {
    const { get } = await serveTasks()
    const { status, json } = await get(`/tasks?${query}`)
    expect([status, json.errors]).toEqual([400, { [query.split('=')[0] as string]: ['Use true, or leave it out.'] }])
  })

  it('lets in no row that the queryset keeps out, where it holds a copy of it', async () => {
    class Peered extends Task {
      static override modifiers = {
        ...Task.modifiers,
        peers: (query: QueryBuilder<Peered>) =>
          void query.whereIn('id', query.clone().clearSelect().select('id')).orWhere('done', false),
      }
    }
    class Peers extends modelViewSet(Peered, {
      serializerClass: modelSerializer(Peered, { fields: ['id', 'title'] }),
      filterBackends: [new ModifierFilter(Peered, ['peers'])],
      ordering: ['title'],
    }) {
      override getQueryset() {
        return super.getQueryset().where('project_id', 2)
      }
    }
    const { get } = await serveApp(new APIRouter().register('tasks', Peers).routes())
    const all = (await get('/tasks')).json
    expect(all.length).toBeGreaterThan(0)
    expect((await get('/tasks?peers=true')).json).toEqual(all)
  })

  it('leaves alone what is not declared', async () => {
    class Strict extends TaskViewSet {
      static override strictParams = true
    }
    const { get } = await serveTasks()
    expect(titles((await get('/tasks?latest=true')).json)).toBe('abcdefg')
    expect((await (await serveTasks(Strict)).get('/tasks?latest=true')).status).toBe(400)
  })

  it('is described, and known to the client', async () => {
    const { api } = await serveTasks()
    expect(operationOf(api.getSchema(), '/tasks').parameters).toContainEqual(
      expect.objectContaining({ name: 'open', in: 'query', schema: { type: 'boolean', enum: [true] } }),
    )
    const asked = (client: ReturnType<typeof createClient<ReturnType<typeof Tasks>>>) => [
      client.tasks.list({ open: true, project_id: 1 }),
      // @ts-expect-error it is asked for or not
      client.tasks.list({ open: false }),
      // @ts-expect-error it is not declared
      client.tasks.list({ latest: true }),
    ]
    expect(asked.length).toBe(1)
  })
})

describe('a wrong declaration', () => {
  class Named extends Task {
    static override modifiers = {
      ...Task.modifiers,
      project_id: (query: QueryBuilder<Task>) => void query.where('project_id', 1),
      asking: () => {
        throw new Error('there is no request')
      },
    }
  }
  const view = (...filterBackends: any[]) =>
    modelViewSet(Named, {
      serializerClass: TaskSerializer as any,
      filterBackends,
      filtersetFields: ['project_id'],
    } as any)
  const mistakes: [string, () => unknown, string][] = [
    [
      'an unknown name',
      () => view(new ModifierFilter(Task, ['opn' as 'open'])),
      'ModifierFilter: "opn" is no modifier of Task; did you mean "open"?',
    ],
    [
      'a model without modifiers',
      () => view(new ModifierFilter(Note as any, ['open'])),
      'ModifierFilter: "open" is no modifier of Note; it has none',
    ],
    [
      'another model',
      () =>
        modelViewSet(Project, {
          serializerClass: modelSerializer(Project, { fields: ['id'] }),
          filterBackends: [new ModifierFilter(Task, ['open'])],
        }),
      "ModifierFilter: its model is Task, and the view's is Project; name modifiers of the latter",
    ],
    [
      'a parameter of two backends',
      () => view(FieldFilter, new ModifierFilter(Named, ['project_id'])),
      'ModifierFilter: "project_id" is a parameter of another filter backend, too; rename the modifier',
    ],
    [
      'a modifier that orders',
      () => view(new ModifierFilter(Named, ['latest'])),
      'ModifierFilter: the modifier "latest" does more than to choose rows',
    ],
    [
      'a modifier that selects',
      () => view(new ModifierFilter(Named, ['titles'])),
      'ModifierFilter: the modifier "titles" does more than to choose rows',
    ],
    [
      'a modifier that needs a request',
      () => view(new ModifierFilter(Named, ['asking'])),
      'ModifierFilter: the modifier "asking" does more than to choose rows, or needs a request when it is called',
    ],
  ]
  it.each(mistakes)('is told: %s', async (_name, make, message) => {
    Named.knex(database.knex)
    const prepared = async () => {
      await new APIRouter().register('tasks', make() as typeof TaskViewSet).prepare()
    }
    await expect(prepared()).rejects.toThrow(message)
  })

  it('does not compile', () => {
    // @ts-expect-error no modifier of Task
    expect(() => new ModifierFilter(Task, ['opn'])).toThrow('no modifier')
  })

  it('is none where the application has all models answer other names', () => {
    const exported = Model as { modifierNotFound?: unknown }
    const { modifierNotFound } = exported
    exported.modifierNotFound = () => undefined
    try {
      expect(modifierProblem(Task, 'opn')).toBeUndefined()
    } finally {
      exported.modifierNotFound = modifierNotFound
    }
    expect(modifierProblem(Task, 'opn')).toMatch('is no modifier of Task')
  })

  it('is none of a model that answers other names by itself', async () => {
    class Answering extends Task {
      static modifierNotFound(query: QueryBuilder<Task>, name: string): void {
        void query.where('title', name)
      }
    }
    Answering.knex(database.knex)
    const filter = new ModifierFilter(Answering as any, ['a' as 'open'])
    const { get } = await serveTasks(
      modelViewSet(Answering, {
        serializerClass: TaskSerializer as any,
        filterBackends: [filter],
      } as any) as any,
    )
    expect((await get('/tasks?a=true')).json).toMatchObject([{ title: 'a' }])
  })

  it('is none of a model that makes its modifiers when it is asked', () => {
    class Making extends Task {
      static getModifiers() {
        return { late: (query: QueryBuilder<Task>) => void query.where('title', 'late') }
      }
    }
    expect(() => new ModifierFilter(Making, ['late' as 'open'])).not.toThrow()
    expect(() => new ModifierFilter(Making, ['lat' as 'open'])).toThrow('did you mean "late"?')
  })
})
