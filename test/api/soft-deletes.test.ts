/** Objects that are marked as deleted: who leaves them out, who sees them, and what brings them back or ends them. */
import { Model } from 'objection'
import { beforeAll, describe, expect, it } from 'vitest'
import { createClient } from '../../lib/client/index.js'
import {
  APIRouter,
  BaseAuthentication,
  BasePermission,
  bulkModelViewSet,
  CursorPagination,
  configure,
  FieldFilter,
  HasScope,
  ModelSerializer,
  modelSerializer,
  modelViewSet,
  NestedRouter,
  NestedSerializer,
  nestedViewSet,
  ObjectPermission,
  or,
  PageNumberPagination,
  PrimaryKeyRelatedField,
} from '../../lib/index.js'
import { rule } from '../../lib/rules/index.js'
import { formatExplanations } from '../../lib/tools/index.js'
import { count } from '../../lib/views/index.js'
import { serveApp } from '../support/client.js'
import { countQueries } from '../support/database.js'
import { operationOf } from '../support/operation-of.js'
import { database, Project, Task, useProjects } from '../support/projects.js'

useProjects()
beforeAll(() => configure({ secretKey: '0123456789abcdef0123456789abcdef' }))

class IsAdmin extends BasePermission {
  override hasPermission(ctx: any) {
    return ctx.state.user?.id === 'admin'
  }
}

class TaskSerializer extends modelSerializer(Task, { fields: ['id', 'title', 'project_id'] }) {}
class ProjectSerializer extends modelSerializer(Project, {
  fields: ['id', 'name', 'slug', 'deleted_at'],
  readOnlyFields: ['deleted_at'],
}) {}
class TaskViewSet extends bulkModelViewSet(Task, {
  serializerClass: TaskSerializer,
  softDelete: 'deleted_at',
  ordering: ['id'],
}) {}
class ProjectViewSet extends bulkModelViewSet(Project, {
  serializerClass: ProjectSerializer,
  softDelete: { column: 'deleted_at', permissionClasses: [IsAdmin], purgePermissionClasses: [IsAdmin] },
  filterBackends: [new FieldFilter({ groupParam: 'filter' })],
  filtersetFields: ['name', 'tasks__title'],
  filterRelations: { tasks: TaskViewSet },
  expandable: { tasks_count: count('tasks') },
  paginationClass: PageNumberPagination,
  facets: ['name'],
  ordering: ['id'],
}) {}

const admin = { 'x-user': 'admin' }

async function serveViews(views: Record<string, unknown> = { projects: ProjectViewSet, tasks: TaskViewSet }) {
  const api = new APIRouter()
  for (const [name, view] of Object.entries(views)) api.register(name, view as typeof ProjectViewSet, name)
  await api.prepare()
  const client = await serveApp((ctx, next) => {
    if (ctx.get('x-user')) ctx.state['user'] = { id: ctx.get('x-user') }
    return next()
  }, api.routes())
  return { ...client, api }
}

const ids = ({ json }: { json: any }) => (json.results ?? json).map(({ id }: any) => id)

describe('DELETE', () => {
  it('marks the row, which nobody finds any more', async () => {
    const { get, send } = await serveViews()
    const queries = await countQueries(database.knex, async () => {
      expect((await send('DELETE', '/projects/2')).status).toBe(204)
    })
    expect(queries.join('\n')).toMatch(/update "projects" set "deleted_at" = now\(\) where .*"deleted_at" is null/)
    expect(queries.join('\n')).not.toMatch(/delete from/)
    const { rows } = await database.knex.raw('select deleted_at from projects where id = 2')
    expect(rows[0].deleted_at).toBeInstanceOf(Date)
    expect(ids(await get('/projects'))).toEqual([1, 3])
    expect((await get('/projects')).json.count).toBe(2)
    for (const [method, body] of [['GET'], ['PATCH', { name: 'x' }], ['PUT', { name: 'x' }], ['DELETE']] as const) {
      expect((await send(method, '/projects/2', body)).status).toBe(404)
    }
    expect((await get('/projects/facets')).json.name.values.length).toBe(2)
    expect((await get('/projects/facets?deleted=only', admin)).json.name.values.length).toBe(1)
  })

  it('of two at once is 204 and 404', async () => {
    const { send } = await serveViews()
    const both = await Promise.all([send('DELETE', '/projects/1'), send('DELETE', '/projects/1')])
    expect(new Set(both.map(({ status }) => status))).toEqual(new Set([204, 404]))
  })

  it('of several marks all or none, by one statement', async () => {
    const { get, send } = await serveViews()
    const refused = await send('DELETE', '/tasks/bulk', [1, 99])
    expect([refused.status, ids(await get('/tasks')).length]).toEqual([400, 7])
    const queries = await countQueries(database.knex, async () => {
      expect((await send('DELETE', '/tasks/bulk', [1, 2, 3])).json).toEqual({ deleted: [1, 2, 3] })
    })
    expect(queries.filter((sql) => sql.startsWith('update')).length).toBe(1)
    expect(ids(await get('/tasks'))).toEqual([4, 5, 6, 7])
    expect((await send('DELETE', '/tasks/bulk', [1])).status).toBe(400)
  })

  it('of several goes one by one through the hooks of the model, and marks all or none', async () => {
    let calls = 0
    class Watched extends Task {
      override $beforeUpdate() {
        calls++
      }
    }
    class Tasks extends bulkModelViewSet(Watched, {
      serializerClass: modelSerializer(Watched, { fields: ['id', 'title'] }),
      softDelete: 'deleted_at',
      ordering: ['id'],
    }) {}
    const { get, send } = await serveViews({ tasks: Tasks })
    expect((await send('DELETE', '/tasks/bulk', [1, 99])).status).toBe(400)
    expect([calls, ids(await get('/tasks')).length]).toEqual([0, 7])
    expect((await send('DELETE', '/tasks/bulk', [1, 2])).json).toEqual({ deleted: [1, 2] })
    expect([calls, ids(await get('/tasks'))]).toEqual([2, [3, 4, 5, 6, 7]])
  })

  it('is the same from rows, native JSON, instances, cursors, and of querysets of an application', async () => {
    class Native extends TaskViewSet {
      static override useNativeJson = true
    }
    class Own extends TaskViewSet {
      override getQueryset() {
        return Task.query(this.trx ?? this.knex)
          .where('id', '<', 3)
          .orWhere('id', '>', 3) as never
      }
    }
    class Cursors extends modelViewSet(Task, {
      serializerClass: TaskSerializer,
      softDelete: 'deleted_at',
      paginationClass: new CursorPagination({ ordering: 'id', pageSize: 2 }),
    }) {}
    const { get, send } = await serveViews({ tasks: TaskViewSet, native: Native, own: Own, cursors: Cursors })
    await get('/tasks')
    await send('DELETE', '/tasks/4')
    expect(ids(await get('/tasks'))).toEqual([1, 2, 3, 5, 6, 7])
    expect(ids(await get('/native'))).toEqual([1, 2, 3, 5, 6, 7])
    expect(ids(await get('/own'))).toEqual([1, 2, 5, 6, 7])
    for (const path of ['/tasks/4', '/native/4', '/own/4']) expect((await get(path)).status).toBe(404)
    expect((await send('DELETE', '/own/4')).status).toBe(404)
    const first = await get('/cursors')
    const second = await get(first.json.next.replace(/^https?:\/\/[^/]+/, ''))
    expect([...ids(first), ...ids(second)]).toEqual([1, 2, 3, 5])
  })

  it('frees a unique name, where the index is of live rows', async () => {
    const { send } = await serveViews()
    expect((await send('PATCH', '/projects/1', { slug: 'one' })).status).toBe(200)
    expect((await send('POST', '/projects', { name: 'x', slug: 'one' })).json.errors).toHaveProperty('slug')
    await send('DELETE', '/projects/1')
    expect((await send('POST', '/projects', { name: 'x', slug: 'one' })).status).toBe(201)
    const restored = await send('POST', '/projects/1/restore', undefined, admin)
    expect([restored.status, restored.json.errors]).toEqual([400, { slug: [expect.any(String)] }])
  })

  it('names objects by what is unique among live rows', async () => {
    class BySlug extends modelViewSet(Project, {
      serializerClass: ProjectSerializer,
      softDelete: 'deleted_at',
      lookupField: 'slug',
    }) {}
    const { send, get } = await serveViews({ projects: BySlug })
    await database.knex.raw(`update projects set slug = 'a', deleted_at = now() where id = 1;
      update projects set slug = 'a' where id = 2`)
    expect((await get('/projects/a')).json.id).toBe(2)
    expect((await send('DELETE', '/projects/a')).status).toBe(204)
    expect((await send('DELETE', '/projects/a')).status).toBe(404)
  })
})

describe('relations', () => {
  it('leave deleted objects out of lists, counts, filters and choices, and show what a foreign key points to', async () => {
    class Full extends ModelSerializer<Project> {
      static override model = Project
      static override fields = ['id', 'tasks', 'task_ids', 'first']
      static override declaredFields = {
        tasks: new NestedSerializer(TaskSerializer, { many: true, readOnly: true }),
        task_ids: new PrimaryKeyRelatedField({ source: 'tasks', many: true, readOnly: true }),
        first: new NestedSerializer(TaskSerializer, { source: 'tasks', many: true, readOnly: true, limit: 1 }),
      }
    }
    class WithProject extends ModelSerializer<Task> {
      static override model = Task
      static override fields = ['id', 'project_id', 'title', 'project']
      static override declaredFields = { project: new NestedSerializer(ProjectSerializer, { readOnly: true }) }
    }
    const { get, send } = await serveViews({
      projects: ProjectViewSet,
      tasks: TaskViewSet,
      full: modelViewSet(Project, { serializerClass: Full }),
      nested: modelViewSet(Task, { serializerClass: WithProject }),
    })
    await send('DELETE', '/tasks/1')
    const full = (await get('/full/1')).json
    expect(full.tasks.map(({ id }: any) => id)).toEqual([2, 3, 4, 5])
    expect([full.task_ids, full.first[0].id]).toEqual([[2, 3, 4, 5], 2])
    expect((await get('/projects/1?expand=tasks_count')).json.tasks_count).toBe(4)
    expect(ids(await get('/projects?tasks__title=a'))).toEqual([])
    expect(ids(await get('/projects?filter=any(tasks)'))).toEqual([1, 2])
    expect(ids(await get('/projects?filter=count(tasks)__gte=5'))).toEqual([])
    await send('DELETE', '/projects/1')
    expect((await send('POST', '/nested', { title: 'x', project_id: 1 })).json.errors).toEqual({
      project_id: ['Invalid pk "1" - object does not exist.'],
    })
    expect((await send('POST', '/nested', { title: 'x', project_id: 2 })).status).toBe(201)
    expect((await get('/nested/2')).json.project.id).toBe(1)
  })

  it('tell nobody what a rule hides of them by refusing changes', async () => {
    class Shown extends ModelSerializer<Project> {
      static override model = Project
      static override fields = ['id', 'slug']
      override toRepresentation(project: Project) {
        return { ...(super.toRepresentation(project) as object), slug: project.slug }
      }
    }
    class WithProject extends ModelSerializer<Task> {
      static override model = Task
      static override fields = ['id', 'project']
      static override declaredFields = { project: new NestedSerializer(Shown) }
    }
    const hides = rule(Project, { read: true, update: true, fields: { slug: { read: false, write: true } } })
    const api = new APIRouter({ rules: [hides] })
    api.register('projects', ProjectViewSet).register('tasks', modelViewSet(Task, { serializerClass: WithProject }))
    await api.prepare()
    const { send } = await serveApp(api.routes())
    await database.knex('projects').where('id', 1).update({ slug: 'one', deleted_at: database.knex.fn.now() })
    const tried = async (slug: string) => (await send('PATCH', '/tasks/1', { project: { slug } })).status
    expect([await tried('one'), await tried('two')]).toEqual([400, 400])
  })

  it('make what is nested in a deleted object a 404', async () => {
    class Nested extends nestedViewSet(Task, {
      serializerClass: TaskSerializer,
      softDelete: 'deleted_at',
      parentLookupField: 'project_id',
      ordering: ['id'],
    }) {}
    const api = new APIRouter()
    api.register('projects', ProjectViewSet)
    new NestedRouter(api, 'projects', { lookup: 'project_id' }).register('tasks', Nested)
    await api.prepare()
    const { get, send } = await serveApp(api.routes())
    await send('DELETE', '/projects/1/tasks/2')
    expect(ids(await get('/projects/1/tasks'))).toEqual([1, 3, 4, 5])
    expect((await get('/projects/1/tasks/2')).status).toBe(404)
    await send('DELETE', '/projects/1')
    for (const path of ['/projects/1/tasks', '/projects/1/tasks/3']) expect((await get(path)).status).toBe(404)
    expect((await send('POST', '/projects/1/tasks', { title: 'x' })).status).toBe(404)
  })
})

describe('deleted objects', () => {
  it('are shown to whom a permission allows it', async () => {
    const { get, send } = await serveViews()
    await send('DELETE', '/projects/2')
    expect((await get('/projects?deleted=true')).status).toBe(401)
    expect((await get('/projects?deleted=true', { 'x-user': 'ada' })).status).toBe(403)
    expect((await get('/projects/2?deleted=only', { 'x-user': 'ada' })).status).toBe(403)
    expect(ids(await get('/projects?deleted=true', admin))).toEqual([1, 2, 3])
    expect(ids(await get('/projects?deleted=only', admin))).toEqual([2])
    expect(ids(await get('/projects?deleted=false'))).toEqual([1, 3])
    expect((await get('/projects/2?deleted=true', admin)).json.deleted_at).toMatch(/^20/)
    expect((await get('/projects/1?deleted=only', admin)).status).toBe(404)
    expect((await get('/projects?deleted=yes', admin)).json.errors).toEqual({
      deleted: ['Use one of: true, only, false.'],
    })
    expect((await send('PATCH', '/projects/2?deleted=true', { name: 'x' }, admin)).status).toBe(404)
    // nobody may: the parameter is none
    expect(ids(await get('/tasks?deleted=true', admin)).length).toBe(7)
  })

  it('are restored, once', async () => {
    const { get, send } = await serveViews()
    expect((await send('POST', '/projects/2/restore', undefined, admin)).status).toBe(404)
    await send('DELETE', '/projects/2')
    expect((await send('POST', '/projects/2/restore')).status).toBe(401)
    const both = await Promise.all([1, 2].map(() => send('POST', '/projects/2/restore', undefined, admin)))
    expect(new Set(both.map(({ status }) => status))).toEqual(new Set([200, 404]))
    expect(both.find(({ status }) => status === 200)?.json).toMatchObject({ id: 2, deleted_at: null })
    expect(ids(await get('/projects'))).toEqual([1, 2, 3])
  })

  it('are purged, and no others', async () => {
    const { get, send } = await serveViews()
    expect((await send('DELETE', '/projects/3/purge', undefined, admin)).status).toBe(404)
    await send('DELETE', '/projects/3')
    expect((await send('DELETE', '/projects/3/purge', undefined, { 'x-user': 'ada' })).status).toBe(403)
    expect((await send('DELETE', '/projects/3/purge', undefined, admin)).status).toBe(204)
    expect(ids(await get('/projects?deleted=true', admin))).toEqual([1, 2])
    await send('DELETE', '/projects/2')
    expect((await send('DELETE', '/projects/2/purge', undefined, admin)).status).toBe(409)
    for (const path of ['/tasks/1/restore', '/tasks/1/purge']) expect((await send('POST', path)).status).toBe(404)
  })

  it('are restored and purged before the answer by hooks that wait for nothing', async () => {
    class Hasty extends ProjectViewSet {
      override async performRestore(project: Project) {
        void super.performRestore(project)
      }
      override async performPurge(project: Project) {
        void super.performPurge(project)
      }
    }
    const { get, send } = await serveViews({ projects: Hasty })
    await send('DELETE', '/projects/2')
    expect((await send('DELETE', '/projects/2/purge', undefined, admin)).status).toBe(409)
    expect((await send('POST', '/projects/2/restore', undefined, admin)).status).toBe(200)
    expect((await get('/projects/2')).status).toBe(200)
  })

  it('have versions: If-Match holds for DELETE, restore and purge', async () => {
    await database.knex.raw(`
      create or replace function touch() returns trigger as $$ begin new.n = old.n + 1; return new; end $$ language plpgsql;
      alter table projects add column if not exists n int not null default 0;
      create or replace trigger touch before update on projects for each row execute function touch()`)
    class Versioned extends modelViewSet(Project, {
      serializerClass: ProjectSerializer,
      softDelete: { column: 'deleted_at', permissionClasses: [IsAdmin], purgePermissionClasses: [IsAdmin] },
    }) {
      static override concurrency = 'n'
    }
    const { get, send } = await serveViews({ projects: Versioned })
    const etag = (await get('/projects/3')).headers.etag as string
    await send('PATCH', '/projects/3', { name: 'x' })
    expect((await send('DELETE', '/projects/3', undefined, { 'if-match': etag })).status).toBe(412)
    const now = (await get('/projects/3')).headers.etag as string
    expect((await send('DELETE', '/projects/3', undefined, { 'if-match': now })).status).toBe(204)
    const deleted = (await get('/projects/3?deleted=true', admin)).headers.etag as string
    expect((await send('POST', '/projects/3/restore', undefined, { ...admin, 'if-match': now })).status).toBe(412)
    const restored = await send('POST', '/projects/3/restore', undefined, { ...admin, 'if-match': deleted })
    expect([restored.status, restored.headers.etag]).toEqual([200, (await get('/projects/3')).headers.etag])
    await send('DELETE', '/projects/3')
    expect((await send('DELETE', '/projects/3/purge', undefined, { ...admin, 'if-match': now })).status).toBe(412)
  })

  it('are explained as the request asks for them, and to nobody who may not see them', async () => {
    const { api } = await serveViews()
    const told: unknown[] = []
    const client = await serveApp(async (ctx) => {
      ctx.state['user'] = { id: ctx.get('x-user') }
      const statements = await api.explain({ ctx }).then(
        (all) => all.flatMap((one) => one.statements.map(({ sql }) => sql)),
        (error: unknown) => error,
      )
      told.push(statements)
      ctx.body = {}
    })
    for (const path of ['/projects', '/projects/1', '/projects/facets?facets=name']) {
      const only = `${path}${path.includes('?') ? '&' : '?'}deleted=only`
      await client.get(only, admin)
      expect(told.pop()).toEqual([expect.stringMatching(/"deleted_at" is not null/)])
      await client.get(only, { 'x-user': 'ann' })
      expect(told.pop()).toMatchObject({ status: 403 })
    }
  })

  it('are described and explained', async () => {
    const { api } = await serveViews()
    const document = api.getSchema({ title: 't', version: '1' })
    const { paths } = document
    const names = (path: string) => operationOf(document, path).parameters?.map(({ name }) => name)
    expect(Object.keys(paths)).toEqual(expect.arrayContaining(['/projects/{id}/restore', '/projects/{id}/purge']))
    expect(Object.keys(paths)).not.toContain('/tasks/{id}/restore')
    expect(names('/projects')).toContain('deleted')
    expect(names('/tasks')).not.toContain('deleted')
    expect(formatExplanations(await api.explain('projects-list'))).toMatch(/reads +rows[\s\S]*"deleted_at" is null/)
    expect(formatExplanations(await api.explain('projects-destroy'))).toContain('update "projects" set "deleted_at"')
  })
})

describe('an answer to a change of the mark', () => {
  const Marked = {
    serializerClass: ProjectSerializer,
    softDelete: { column: 'deleted_at', permissionClasses: [IsAdmin] },
  } as const
  class Shown extends modelViewSet(Project, { ...Marked, statuses: { destroy: 200 } }) {}

  it('of what rules hide from then on is the object as it was shown last, or has no body', async () => {
    const api = new APIRouter({ rules: [rule(Project, { read: { deleted_at: null } })] }).register('projects', Shown)
    await api.prepare()
    const { send } = await serveApp(api.routes())
    const deleted = await send('DELETE', '/projects/3')
    expect([deleted.status, deleted.json]).toMatchObject([200, { id: 3, deleted_at: null }])
    expect((await send('DELETE', '/projects/3')).status).toBe(404)
  })

  it('of what the queryset leaves out from then on, too', async () => {
    class Live extends Shown {
      override getQueryset() {
        return super.getQueryset().whereNull('deleted_at')
      }
    }
    class Bin extends Shown {
      override getQueryset() {
        return super.getQueryset().whereNotNull('deleted_at')
      }
    }
    const { get, send } = await serveViews({ live: Live, bin: Bin })
    expect((await send('DELETE', '/live/3')).json).toMatchObject({ id: 3, deleted_at: null })
    expect((await get('/live/3')).status).toBe(404)
    const restored = await send('POST', '/bin/3/restore', undefined, admin)
    expect([restored.status, restored.headers['preference-applied']]).toEqual([204, 'return=minimal'])
    expect((await get('/live/3')).status).toBe(200)
  })

  it('shows what deferred triggers make of the row, and its version', async () => {
    await database.knex.raw(`
      alter table projects add column if not exists n int not null default 0;
      create or replace function count_up() returns trigger as $$ begin
        update projects set n = n + 1, name = name || '!' where id = new.id; return null; end $$ language plpgsql;
      create constraint trigger count_up after update of deleted_at on projects deferrable initially deferred
        for each row execute function count_up()`)
    try {
      class Versioned extends Shown {
        static override concurrency = 'n'
      }
      const { get, send } = await serveViews({ projects: Versioned })
      expect((await send('DELETE', '/projects/3')).json.name).toBe('None!')
      const restored = await send('POST', '/projects/3/restore', undefined, admin)
      const now = await get('/projects/3')
      expect([restored.json, restored.headers.etag]).toEqual([now.json, now.headers.etag])
    } finally {
      await database.knex.raw('drop trigger count_up on projects')
    }
  })
})

/** A model of its own: what a view set says of one holds for all view sets. */
function unmarked() {
  class Unmarked extends Model {
    static override tableName = 'projects'
  }
  Object.defineProperty(Unmarked, 'name', { value: 'Project' })
  Unmarked.knex(database.knex)
  return Unmarked
}

class OpenIdAuthentication extends BaseAuthentication {
  override openapi = [{ name: 'openId', definition: { type: 'openIdConnect', openIdConnectUrl: 'https://id.test' } }]
  override authenticate() {
    return null
  }
}

/** Lets in the owner of an object: projects of the name that is its id. */
class IsOwner extends BasePermission {
  override hasObjectPermission({ state }: any, _view: unknown, { name }: any) {
    return name === state.user?.id
  }
}

describe('permissions that look at objects', () => {
  class Owned extends modelViewSet(Project, {
    serializerClass: ProjectSerializer,
    softDelete: {
      column: 'deleted_at',
      permissionClasses: [or(IsAdmin, IsOwner)],
      purgePermissionClasses: [or(IsAdmin, IsOwner)],
    },
  }) {}

  it('are asked about what is restored, purged and shown', async () => {
    const { api, get, send } = await serveViews({ projects: Owned })
    const { name } = (await get('/projects/2')).json
    await send('DELETE', '/projects/2')
    const [owner, other] = [{ 'x-user': name }, { 'x-user': 'somebody' }]
    const statuses = async (caller: Record<string, string>) => [
      (await get('/projects/2?deleted=true', caller)).status,
      (await send('POST', '/projects/2/restore', undefined, caller)).status,
      (await send('DELETE', '/projects/2')).status,
      (await send('DELETE', '/projects/2/purge', undefined, caller)).status,
    ]
    expect(await statuses(other)).toEqual([403, 403, 404, 403])
    expect(await statuses(owner)).toEqual([200, 200, 204, 409])
    expect((await get('/projects/1?deleted=true', owner)).status).toBe(403)
    expect((await get('/projects/1', other)).status).toBe(200)
    expect(formatExplanations(await api.explain('projects-retrieve'))).toMatch(/reads +rows/)
  })

  it('are asked about what is deleted, and not about what it has become', async () => {
    class IsBinned extends BasePermission {
      override hasObjectPermission(_ctx: any, _view: unknown, { deleted_at }: any) {
        return deleted_at !== null && deleted_at > new Date(0)
      }
    }
    class Bin extends modelViewSet(Project, {
      serializerClass: ProjectSerializer,
      softDelete: { column: 'deleted_at', permissionClasses: [IsBinned] },
    }) {}
    const { send } = await serveViews({ projects: Bin })
    await send('DELETE', '/projects/2')
    const restored = await send('POST', '/projects/2/restore', undefined, admin)
    expect([restored.status, restored.json]).toMatchObject([200, { id: 2, deleted_at: null }])
    class IsLive extends BasePermission {
      override hasObjectPermission(_ctx: any, _view: unknown, { deleted_at }: any) {
        return deleted_at === null
      }
    }
    class Live extends modelViewSet(Project, {
      serializerClass: ProjectSerializer,
      softDelete: 'deleted_at',
      permissionClasses: [IsLive],
      statuses: { destroy: 200 },
    }) {}
    const live = await serveViews({ projects: Live })
    expect(await live.send('DELETE', '/projects/2')).toMatchObject({ status: 200, json: { id: 2 } })
    expect((await live.get('/projects/2')).status).toBe(404)
  })

  it('check the view set that they stand on', async () => {
    class Misnamed extends modelViewSet(Project, {
      serializerClass: ProjectSerializer,
      softDelete: { column: 'deleted_at', permissionClasses: [new ObjectPermission({ ownerField: 'owner' })] },
    }) {}
    await expect(new APIRouter().register('projects', Misnamed).prepare()).rejects.toThrow(/ownerField "owner"/)
  })

  it('ask for their scopes in the document', async () => {
    class Scoped extends modelViewSet(Project, {
      serializerClass: ProjectSerializer,
      authenticationClasses: [new OpenIdAuthentication()],
      softDelete: { column: 'deleted_at', permissionClasses: [new HasScope('restore:projects')] },
    }) {}
    const { api } = await serveViews({ projects: Scoped })
    const document = api.getSchema({ title: 't', version: '1' })
    const { security, responses } = operationOf(document, '/projects/{id}/restore', 'post')
    expect(security).toEqual([{ openId: ['restore:projects'] }])
    expect(Object.keys(responses)).toContain('403')
  })
})

describe('a wrong declaration', () => {
  const mistakes: [string, any, string][] = [
    [
      'no column',
      { softDelete: 'deletd_at' },
      'ProjectViewSet: softDelete names "deletd_at", which is no column of Project',
    ],
    [
      'another type',
      { softDelete: 'name' },
      'ProjectViewSet: softDelete names "name" of type text; name a timestamptz',
    ],
    [
      'an unknown option',
      { softDelete: { column: 'deleted_at', permissions: [] } },
      'ProjectViewSet: static softDelete: has no option "permissions"',
    ],
    [
      'no permission',
      { softDelete: { column: 'deleted_at', permissionClasses: [Project] } },
      'ProjectViewSet.softDelete.permissionClasses',
    ],
    [
      'nobody who may, where a list says who',
      { softDelete: { column: 'deleted_at', permissionClasses: [] } },
      'ProjectViewSet.softDelete.permissionClasses is empty',
    ],
    [
      'a field that clients write',
      { serializerClass: modelSerializer(Project, { fields: ['id', 'name', 'deleted_at'] }), softDelete: 'deleted_at' },
      'which clients may write as "deleted_at"; add it to ProjectSerializer.readOnlyFields',
    ],
  ]
  it.each(mistakes)('is told: %s', async (_name, spec, message) => {
    const view = modelViewSet(unmarked(), {
      serializerClass: modelSerializer(unmarked(), { fields: ['id'] }),
      ...spec,
    })
    const prepared = async () => {
      await new APIRouter().register('projects', view as typeof ProjectViewSet).prepare()
    }
    await expect(prepared()).rejects.toThrow(message)
  })
})

describe('the typed client', () => {
  it('has restore, purge and the parameter where the view set declares them', () => {
    const api = () => new APIRouter().register('projects', ProjectViewSet).register('tasks', TaskViewSet)
    const asked = async (client: ReturnType<typeof createClient<ReturnType<typeof api>>>) => {
      const restored = await client.projects.restoreDeleted(2, { ifMatch: '"x"' })
      const name: string | undefined = restored.ok ? restored.data.name : undefined
      await client.projects.purgeDeleted(2)
      await client.projects.list({ deleted: 'only' })
      await client.projects.retrieve(2, { deleted: 'true' })
      // @ts-expect-error nobody may
      await client.tasks.list({ deleted: 'only' })
      // @ts-expect-error nobody may
      await client.tasks.restoreDeleted(1)
      return name
    }
    expect(asked.length).toBe(1)
  })

  it('asks for them', async () => {
    const { port } = await serveViews()
    const client = createClient<{
      routes: never
    }>(`http://127.0.0.1:${port}`, { headers: () => admin }) as unknown as Record<string, any>
    const { projects } = client as { projects: any }
    await projects.destroy(2)
    expect((await projects.list({ deleted: 'only' })).data.results.length).toBe(1)
    expect((await projects.restoreDeleted(2, { query: { fields: ['id'] } })).data).toEqual({ id: 2 })
    await projects.destroy(3)
    expect((await projects.purgeDeleted(3)).ok).toBe(true)
    expect((await projects.list({ deleted: 'true' })).data.count).toBe(2)
  })
})
