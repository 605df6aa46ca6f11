/** What stands around objects and lists, statuses that a view chooses, and errors in a shape of the application's. */
import { afterEach, describe, expect, it } from 'vitest'
import { createClient } from '../../lib/client/index.js'
import {
  APIRouter,
  bulkModelViewSet,
  CSVRenderer,
  CursorPagination,
  configure,
  JSONRenderer,
  modelSerializer,
  modelViewSet,
  NestedSerializer,
  PageNumberPagination,
  ValidationError,
} from '../../lib/index.js'
import { validateResponse } from '../../lib/testing/index.js'
import { serveApp } from '../support/client.js'
import { operationOf } from '../support/operation-of.js'
import { Project, Task, useProjects } from '../support/projects.js'

useProjects()
afterEach(() => configure({}))

class TaskSerializer extends modelSerializer(Task, { fields: ['id', 'title', 'project_id'] }) {}
class ProjectSerializer extends modelSerializer(Project, {
  fields: ['id', 'name', 'deleted_at'],
  readOnlyFields: ['deleted_at'],
}) {}
const paged = new PageNumberPagination({ pageSize: 2 })

class DataViewSet extends bulkModelViewSet(Project, {
  serializerClass: ProjectSerializer,
  paginationClass: paged,
  ordering: ['id'],
  envelope: 'data',
  rendererClasses: [JSONRenderer, CSVRenderer],
}) {}
class ArticleViewSet extends modelViewSet(Project, {
  serializerClass: ProjectSerializer,
  paginationClass: paged,
  ordering: ['id'],
  envelope: { object: 'article', list: 'articles' },
  statuses: { create: 200, destroy: 200 },
}) {}

async function serveViews(views: Record<string, unknown>) {
  const api = new APIRouter()
  for (const [name, view] of Object.entries(views)) api.register(name, view as typeof ArticleViewSet, name)
  await api.prepare()
  return { ...(await serveApp(api.routes())), api }
}

describe('an envelope', () => {
  it('stands around objects and lists, in answers and bodies', async () => {
    const { get, send } = await serveViews({ data: DataViewSet, articles: ArticleViewSet })
    expect((await get('/data/1')).json).toEqual({ data: { id: 1, name: 'One', deleted_at: null } })
    expect((await get('/data')).json).toEqual({
      data: [expect.objectContaining({ id: 1 }), expect.objectContaining({ id: 2 })],
      meta: { count: 3, next: '/data?page=2', previous: null },
    })
    expect((await get('/articles')).json).toEqual({
      articles: [expect.objectContaining({ id: 1 }), expect.objectContaining({ id: 2 })],
      count: 3,
      next: '/articles?page=2',
      previous: null,
    })
    const made = await send('POST', '/data', { data: { name: 'New' } })
    expect([made.status, made.json.data.name, made.headers.location]).toEqual([
      201,
      'New',
      `/data/${made.json.data.id}`,
    ])
    expect((await send('PATCH', '/data/1', { data: { name: 'x' } })).json.data.name).toBe('x')
    const many = await send('POST', '/data/bulk', { data: [{ name: 'a' }, { name: 'b' }] })
    expect(many.json.data.map(({ name }: any) => name)).toEqual(['a', 'b'])
    const ids = many.json.data.map(({ id }: any) => id)
    expect((await send('DELETE', '/data/bulk', { data: ids })).json).toEqual({ deleted: ids })
    expect((await get('/data.csv')).text).toMatch(/^id,name,deleted_at\r?\n1,/)
  })

  it('is the same from rows, native JSON and instances, with and without pages and fields', async () => {
    class Native extends DataViewSet {
      static override useNativeJson = true
    }
    class Own extends DataViewSet {
      override getQueryset() {
        return super.getQueryset().where('id', '>', 0)
      }
      override async getDetail() {
        return super.getDetail()
      }
    }
    class Whole extends modelViewSet(Project, {
      serializerClass: ProjectSerializer,
      ordering: ['id'],
      envelope: 'data',
    }) {}
    const { get } = await serveViews({ data: DataViewSet, native: Native, own: Own, whole: Whole })
    const text = (await get('/data')).text
    for (const path of ['native', 'own']) {
      expect((await get(`/${path}`)).text).toBe(text.replace('/data?', `/${path}?`))
      expect((await get(`/${path}/1`)).text).toBe((await get('/data/1')).text)
    }
    expect((await get('/whole')).json.data.length).toBe(3)
    expect((await get('/data?fields=id')).json.data).toEqual([{ id: 1 }, { id: 2 }])
    expect((await get('/data/1?fields=name')).json).toEqual({ data: { name: 'One' } })
  })

  it('leaves out what a paginator has no value for', async () => {
    class Sparse extends PageNumberPagination {
      override async paginate(...[source, request]: Parameters<PageNumberPagination['paginate']>) {
        return { ...(await super.paginate(source, request)), more: undefined }
      }
    }
    class Beside extends DataViewSet {
      static override envelope = { list: 'data' }
      static override paginationClass = new Sparse({ pageSize: 2 })
    }
    const { get } = await serveViews({ beside: Beside })
    expect((await get('/beside')).json).toMatchObject({ count: 3, next: '/beside?page=2', previous: null })
  })

  it('is asked of bodies, whose errors keep their shape, with pointers into the whole body', async () => {
    const { send, port } = await serveViews({ data: DataViewSet })
    const missing = await send('POST', '/data', { name: 'New' })
    expect([missing.status, missing.json.errors]).toEqual([400, { data: ['This field is required.'] }])
    for (const body of [[], 'x', { data: null }]) expect((await send('POST', '/data', body)).status).toBe(400)
    expect((await send('POST', '/data', { data: {} })).json.errors).toEqual({ name: ['This field is required.'] })
    configure({ problemDetails: true })
    const problem = await fetch(`http://127.0.0.1:${port}/data`, {
      method: 'POST',
      headers: { accept: 'application/problem+json', 'content-type': 'application/json' },
      body: '{"data":{}}',
    })
    const { errors } = (await problem.json()) as { errors: { pointer: string }[] }
    expect(errors[0]?.pointer).toBe('#/data/name')
  })

  it('has nothing beside its member where unknown names are refused', async () => {
    class Strict extends DataViewSet {
      static override strictBody = true
    }
    const { send } = await serveViews({ data: DataViewSet, strict: Strict })
    const body = { data: { name: 'New' }, dat: {} }
    const errors = { dat: ['Unknown field; did you mean "data"?'] }
    expect((await send('POST', '/data', body)).status).toBe(201)
    expect((await send('POST', '/strict', body)).json).toMatchObject({ status: 400, errors })
    expect((await send('POST', '/data', body, { prefer: 'handling=strict' })).json).toMatchObject({
      status: 400,
      errors,
    })
    expect((await send('POST', '/strict', { data: { name: 'New' } })).status).toBe(201)
  })

  it('has versions and tags like any answer', async () => {
    class Tagged extends DataViewSet {
      static override concurrency = 'deleted_at'
      override async performUpdate(serializer: any) {
        return serializer.save()
      }
    }
    const { get, send } = await serveViews({ data: Tagged })
    const etag = (await get('/data/1')).headers.etag as string
    expect((await get('/data/1', { 'if-none-match': etag })).status).toBe(304)
    const minimal = await send('PATCH', '/data/1', { data: { name: 'y' } }, { prefer: 'return=minimal' })
    expect([minimal.status, minimal.headers.etag]).toEqual([204, (await get('/data/1')).headers.etag])
  })

  it('is described, and answers are held to that', async () => {
    const { api, get } = await serveViews({ data: DataViewSet })
    const document = api.getSchema({ title: 't', version: '1' }) as any
    const body = document.paths['/data'].post.requestBody.content['application/json'].schema
    expect(body.properties.data.$ref).toMatch(/ProjectInput$/)
    const path = '/data?fields=id'
    const { status, headers, json } = await get(path)
    const check = (answer: unknown) =>
      validateResponse(document, { method: 'GET', path, status, headers, body: answer })
    expect(check(json)).toEqual([])
    expect(check({ results: json.data }).length).toBeGreaterThan(0)
  })
})

describe('statuses', () => {
  it('are 200 with a body where a view says so', async () => {
    class Soft extends modelViewSet(Project, {
      serializerClass: ProjectSerializer,
      softDelete: 'deleted_at',
      statuses: { destroy: 200 },
    }) {}
    const { send, get } = await serveViews({ articles: ArticleViewSet, soft: Soft })
    const made = await send('POST', '/articles', { article: { name: 'New' } })
    expect([made.status, made.json.article.name]).toEqual([200, 'New'])
    const minimal = await send('POST', '/articles', { article: { name: 'Quiet' } }, { prefer: 'return=minimal' })
    expect([minimal.status, minimal.text, minimal.headers.location]).toEqual([
      204,
      '',
      expect.stringMatching(/^\/articles\/\d+$/),
    ])
    const gone = await send('DELETE', `/articles/${made.json.article.id}`)
    expect([gone.status, gone.json]).toEqual([200, made.json])
    expect((await get(`/articles/${made.json.article.id}`)).status).toBe(404)
    const marked = await send('DELETE', '/soft/3')
    expect([marked.status, marked.json.id]).toEqual([200, 3])
    expect(marked.json.deleted_at).toMatch(/^20/)
  })

  it('show of what DELETE answers what the client asks for', async () => {
    class Soft extends modelViewSet(Project, {
      serializerClass: ProjectSerializer,
      softDelete: 'deleted_at',
      statuses: { destroy: 200 },
      strictParams: true,
    }) {}
    const { send, api } = await serveViews({ articles: ArticleViewSet, soft: Soft })
    const { id } = (await send('POST', '/articles', { article: { name: 'New' } })).json.article
    expect((await send('DELETE', `/articles/${id}?fields=name`)).json).toEqual({ article: { name: 'New' } })
    expect((await send('DELETE', '/soft/2?fields=title')).json.errors).toHaveProperty('fields')
    expect((await send('DELETE', '/soft/2?fields=id')).json).toEqual({ id: 2 })
    const { parameters = [] } = operationOf(api.getSchema(), '/articles/{id}', 'delete')
    expect(parameters.map(({ name }) => name)).toContain('fields')
  })
})

describe('the shape of errors', () => {
  it('is what the application makes of them, and the document knows it', async () => {
    configure({
      errorShape: {
        body: ({ detail, errors }) => ({ errors: errors ?? { body: [detail] } }),
        schema: { type: 'object', properties: { errors: { type: 'object' } }, required: ['errors'] },
      },
    })
    const { port, api } = await serveViews({ articles: ArticleViewSet })
    const document = api.getSchema({ title: 't', version: '1' })
    const answered = async (method: string, path: string, body?: string) => {
      const headers = { 'content-type': 'application/json' }
      const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, ...(body && { headers, body }) })
      const shown = (await answer.json()) as object
      const exchange = { method, path, status: answer.status, headers: Object.fromEntries(answer.headers) }
      expect(validateResponse(document, { ...exchange, body: shown })).toEqual([])
      expect(validateResponse(document, { ...exchange, body: { detail: 'x', status: 400 } })).not.toEqual([])
      return shown
    }
    expect(await answered('POST', '/articles', '{"article":{}}')).toEqual({
      errors: { name: ['This field is required.'] },
    })
    expect(await answered('GET', '/articles/99')).toEqual({ errors: { body: ['Not found'] } })
  })

  it.each(['react-admin', 'refine'] as const)(
    'is what the forms of %s show: a message for each path',
    async (front) => {
      configure({ errorShape: front })
      class Tasks extends bulkModelViewSet(Task, {
        serializerClass: class extends modelSerializer(Task, {
          fields: ['id', 'title', 'project'],
          declaredFields: { project: new NestedSerializer(ProjectSerializer) },
        }) {
          override validate(data: { title?: string }) {
            if (data.title === 'none') throw new ValidationError({ non_field_errors: ['Not this', 'nor that'] })
            return data as never
          }
        },
      }) {}
      const { port, api } = await serveViews({ tasks: Tasks })
      const document = api.getSchema()
      const status = front === 'refine' ? { statusCode: 400 } : {}
      const failed = { message: 'Validation failed', ...status }
      const answers = async (path: string, body: unknown, expected: object) => {
        const method = body === undefined ? 'GET' : 'POST'
        const headers = { 'content-type': 'application/json' }
        const sent = body === undefined ? {} : { headers, body: JSON.stringify(body) }
        const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, ...sent })
        const shown = await answer.json()
        expect(shown).toEqual(expected)
        const exchange = {
          method,
          path,
          status: answer.status,
          headers: Object.fromEntries(answer.headers),
          body: shown,
        }
        expect(validateResponse(document, exchange)).toEqual([])
      }
      await answers(
        '/tasks',
        { project: {} },
        { ...failed, errors: { title: 'This field is required.', 'project.name': 'This field is required.' } },
      )
      await answers('/tasks', { title: 'a', project: 7 }, { ...failed, errors: { project: 'Expected an object.' } })
      await answers('/tasks/bulk', [{ title: 'a', project: { name: 'b' } }, { title: 'c' }], {
        ...failed,
        errors: { '1.project': 'This field is required.' },
      })
      await answers(
        '/tasks',
        { title: 'none', project: { name: 'b' } },
        front === 'refine'
          ? { message: 'Not this nor that', ...status, errors: {} }
          : { ...failed, errors: { 'root.serverError': 'Not this nor that' } },
      )
      await answers('/tasks/99', undefined, { message: 'Not found', ...(front === 'refine' && { statusCode: 404 }) })
    },
  )

  it('is the own one where the hook fails, which is reported', async () => {
    configure({ errorShape: { body: () => undefined as never } })
    const { get, reported } = await serveViews({ articles: ArticleViewSet })
    expect((await get('/articles/99')).status).toBe(404)
    expect(String(reported[0])).toContain('body() has returned no object')
    configure({ errorShape: { body: () => Promise.reject(new Error('late')) } })
    expect((await get('/articles/99')).json).toEqual({ detail: 'Not found', status: 404 })
    expect(String(reported[1])).toContain('body() has returned a promise')
    expect(() => configure({ errorShape: { schema: {} } as never })).toThrow('configure({ errorShape }): give { body:')
    expect(() => configure({ errorShape: 'vue' as never })).toThrow('or one of react-admin, refine')
  })
})

describe('the typed client', () => {
  it('knows envelopes and statuses, and walks over pages in them', async () => {
    class Cursors extends modelViewSet(Task, {
      serializerClass: TaskSerializer,
      envelope: 'data',
      paginationClass: new CursorPagination({ ordering: 'id', pageSize: 3 }),
    }) {}
    configure({ secretKey: '0123456789abcdef0123456789abcdef' })
    const api = () =>
      new APIRouter().register('data', DataViewSet).register('articles', ArticleViewSet).register('tasks', Cursors)
    const { port } = await serveViews({ data: DataViewSet, articles: ArticleViewSet, tasks: Cursors })
    const client = createClient<ReturnType<typeof api>>(`http://127.0.0.1:${port}`)
    const made = await client.articles.create({ article: { name: 'New' } })
    const name: string | undefined = made.ok ? made.data.article.name : undefined
    const page = await client.data.list()
    const count: number | undefined = page.ok ? page.data.meta.count : undefined
    const names: string[] = []
    for await (const one of client.data.all()) names.push(one.name)
    const titles: string[] = []
    for await (const one of client.tasks.all()) titles.push(one.title)
    expect([name, count, names, titles.length]).toEqual(['New', 4, ['One', 'Two', 'None', 'New'], 7])
    const gone = await client.articles.destroy(4)
    const gonesName: string | undefined = gone.ok ? gone.data.article.name : undefined
    expect(gonesName).toBe('New')
    // @ts-expect-error the object stands in its envelope
    const wrong = await client.articles.create({ name: 'New' })
    expect(wrong.ok ? '' : wrong.kind).toBe('invalid')
  })
})

describe('a wrong declaration', () => {
  const mistakes: [string, any, string][] = [
    [
      'an unknown option',
      { envelope: { objects: 'x' } },
      'ProjectViewSet: static envelope: has no option "objects"; did you mean "object"?',
    ],
    ['no name', { envelope: '' }, 'ProjectViewSet: static envelope is empty; give a name, or null'],
    [
      'meta without a list',
      { envelope: { object: 'x', meta: 'm' } },
      'ProjectViewSet: static envelope: meta stands beside list; name both, by different names',
    ],
    ['an unknown status', { statuses: { destroy: 201 } }, 'ProjectViewSet: statuses.destroy is 201; give 200 or 204'],
    [
      'an action without a choice',
      { statuses: { update: 200 } },
      'ProjectViewSet: statuses has no action "update"; take create or destroy',
    ],
  ]
  it.each(mistakes)('is told: %s', (_name, spec, message) => {
    const view = modelViewSet(Project, { serializerClass: ProjectSerializer, ...spec })
    expect(() => new APIRouter().register('projects', view as typeof ArticleViewSet)).toThrow(message)
  })
})
