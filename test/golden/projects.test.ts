/** What the examples have not: each way of reading, pages, nested writes, deletes that mark, sums and exports. */
import { APIRouter, configure, NestedRouter } from 'koa-viewsets'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { serving } from '../support/client.js'
import { undescribed } from '../support/contract.js'
import { database, useProjects } from '../support/projects.js'
import {
  CamelTask,
  CamelTaskViewSet,
  FigureViewSet,
  Member,
  MemberViewSet,
  PAGES,
  PatchedProjectViewSet,
  PersonViewSet,
  ProjectTaskViewSet,
  projectsBy,
  WAYS,
  WrittenProjectViewSet,
} from './support/projects-api.js'
import { expectRecorded, othersIn, Recording } from './support/recording.js'

useProjects()
beforeAll(() => {
  configure({ secretKey: '0123456789abcdef0123456789abcdef' })
  for (const model of [Member, CamelTask]) model.knex(database.knex)
})
afterAll(() => configure({}))

const FILES = [
  ...WAYS,
  'below',
  'nested-writes',
  'patch-documents',
  'composite-keys',
  'mapped-names',
  'pages',
  'figures',
]
const admin = { 'X-User': 'admin' }

/** Records requests to the view sets of a router, and holds them to their file. */
async function record(name: string, api: APIRouter, work: (recording: Recording) => Promise<void>): Promise<void> {
  await api.prepare()
  const client = await serving((ctx, next) => {
    if (ctx.get('X-User')) ctx.state['user'] = { id: ctx.get('X-User') }
    return next()
  }, undescribed(api.routes()))
  onTestFinished(() => client.close())
  onTestFinished(() => api.close())
  const recording = await Recording.of({ api, port: client.port })
  await work(recording)
  expect(client.reported).toEqual([])
  await expectRecorded('projects', name, recording.text())
}

describe('projects read as', () => {
  it.each(WAYS)('%s', (way) =>
    record(way, new APIRouter().register('projects', projectsBy(way), 'project'), async (api) => {
      await api.send('GET', '/projects')
      await api.send('GET', '/projects?page=2')
      await api.send('GET', '/projects?page=3')
      await api.send('GET', '/projects?page_size=1&ordering=-name')
      await api.send('GET', '/projects?ordering=parent__name,-name&fields=name')
      await api.send('GET', '/projects?ordering=slug')
      await api.send('GET', '/projects?expand=children,tasks_count&fields=id,children,tasks_count')
      await api.send('GET', '/projects?expand=nothing')
      await api.send('GET', '/projects?fields=nothing')
      await api.send('GET', '/projects?name__in=One,Two&parent_id__isnull=true&fields=id')
      await api.send('GET', '/projects?parent__name=One&tasks__title__icontains=G&fields=id')
      await api.send('GET', '/projects?id__range=2,3&fields=id')
      await api.send('GET', '/projects?parent_id=x')
      await api.send('GET', '/projects?filter=or(name=None,any(tasks,title=f,done=false))&fields=id')
      await api.send('GET', '/projects?filter=not(count(tasks)__gte=3)&fields=id')
      await api.send('GET', '/projects?filter=or(name=None')
      await api.send('GET', '/projects?search=one%20b&fields=id')
      await api.send('QUERY', '/projects', { filter: { or: [{ name: 'Two' }, { 'none(tasks)': {} }] }, fields: ['id'] })
      await api.send('QUERY', '/projects', { order: ['-name'], page_size: 1, fields: ['name'] })
      await api.send('QUERY', '/projects', { filter: { name__gte: { a: 1 } } })
      await api.send('HEAD', '/projects')
      await api.send('OPTIONS', '/projects')
      await api.send('GET', '/projects/1')
      await api.send('GET', '/projects/2?expand=*')
      await api.send('GET', '/projects/9')
      await api.send('OPTIONS', '/projects/1')
      await api.send('POST', '/projects', { name: 'Four', slug: 'four', parent_id: 1, members: [3, 1] })
      await api.send('POST', '/projects', { name: 'Five', slug: 'four' })
      await api.send('POST', '/projects', { name: null, parent_id: 9, members: [1, 'x'] })
      await api.send('POST', '/projects', { name: 'Five', parent_id: 99, members: [1, 99] })
      await api.send('PUT', '/projects/4', { name: 'Vier', members: [2] })
      await api.send('PATCH', '/projects/4', { parent_id: 2 })
      await api.send('PATCH', '/projects/4?fields=members', { members: [] })
      await api.send('PATCH', '/projects/4?expand=tasks_count', { name: 'Four' })
      await api.send('POST', '/projects/bulk', [{ name: 'a', members: [1] }, { name: 'b' }])
      await api.send('POST', '/projects/bulk', [{ name: 'c' }, { slug: 'four' }])
      await api.send('POST', '/projects/bulk', [
        { name: 'c', slug: 'c' },
        { name: 'd', slug: 'four' },
      ])
      await api.send('PATCH', '/projects/bulk', [
        { id: 5, name: 'A', members: [2, 3] },
        { id: 6, parent_id: 1 },
      ])
      await api.send('PATCH', '/projects/bulk', [{ id: 5, name: 'x' }, { id: 99 }])
      await api.send('DELETE', '/projects/bulk', [5, 99])
      await api.send('DELETE', '/projects/bulk', [5, 6])
      await api.send('DELETE', '/projects/4')
      await api.send('GET', '/projects/4')
      await api.send('GET', '/projects?deleted=only')
      await api.send('GET', '/projects?deleted=only&fields=id,slug', undefined, admin)
      await api.send('POST', '/projects/4/restore', undefined, admin)
      await api.send('DELETE', '/projects/4/purge', undefined, admin)
      await api.send('DELETE', '/projects/5/purge', undefined, admin)
      await api.ask({ path: '/projects', headers: { 'Content-Type': 'text/plain' }, body: 'name' })
      await api.ask({ path: '/projects', headers: { 'Content-Type': 'application/json' }, body: '[1' })
      await api.send('DELETE', '/projects')
    }),
  )
})

it('records objects below others', () => {
  const api = new APIRouter().register('projects', projectsBy('rows'), 'project')
  new NestedRouter(api, 'projects', { lookup: 'project_id' }).register('tasks', ProjectTaskViewSet, 'task')
  return record('below', api, async (recording) => {
    await recording.send('GET', '/projects/1/tasks')
    await recording.send('GET', '/projects/1/tasks?fields=title')
    await recording.send('GET', '/projects/3/tasks')
    await recording.send('GET', '/projects/9/tasks')
    await recording.send('GET', '/projects/2/tasks/6')
    await recording.send('GET', '/projects/2/tasks/1')
    await recording.send('POST', '/projects/2/tasks', { title: 'new', project_id: 1 })
    await recording.send('POST', '/projects/9/tasks', { title: 'new' })
    await recording.send('PUT', '/projects/2/tasks/8', { title: 'newer', due: 4 })
    await recording.send('PATCH', '/projects/2/tasks/8', { due: null })
    await recording.send('PATCH', '/projects/2/tasks/1', { due: null })
    await recording.send('DELETE', '/projects/2/tasks/8')
    await recording.send('DELETE', '/projects/2/tasks/1')
    await recording.send('DELETE', '/projects/2')
    await recording.send('GET', '/projects/2/tasks')
  })
})

it('records writes of objects inside others', () => {
  const api = new APIRouter().register('projects', WrittenProjectViewSet, 'project')
  return record('nested-writes', api.register('people', PersonViewSet), async (recording) => {
    const tasks = [
      { title: 'x', notes: [{ text: 'one' }, { text: 'two' }] },
      { title: 'y', due: 2 },
    ]
    await recording.send('POST', '/projects', { name: 'New', parent: { name: 'Above' }, tasks, members: [2, 1] })
    await recording.send('POST', '/projects', { name: 'New', tasks: [{ title: 'x' }, { due: 'never', notes: [{}] }] })
    await recording.send('POST', '/projects', { name: 'New', parent: { id: 1, name: 'One' }, members: [] })
    await recording.send('POST', '/projects', { name: 'New', tasks: [{ id: 1, title: 'taken' }] })
    await recording.send('PATCH', '/projects/1', { tasks: [{ id: 1, title: 'A', notes: [{ id: 1, text: 'N1' }] }] })
    await recording.send('PATCH', '/projects/1', { tasks: [{ id: 6, title: 'of another' }] })
    await recording.send('PATCH', '/projects/1', { tasks: [{ id: 2, due: 9 }, { title: 'more' }], members: [3] })
    await recording.send('PATCH', '/projects/2', { parent: { name: 'One again' } })
    await recording.send('PATCH', '/projects/2', { parent: null })
    await recording.send('PATCH', '/projects/2', { members: [1, 1, 9] })
    await recording.send('PUT', '/projects/2', { name: 'Two', tasks: [], members: [] })
    await recording.send('POST', '/projects/bulk', [
      { name: 'a', tasks: [{ title: 'a1', notes: [{ text: 'a11' }] }], members: [1] },
      { name: 'b', tasks: [{ title: 'b1' }, { title: 'b2' }], members: [1, 2] },
    ])
    await recording.send('PATCH', '/projects/bulk', [
      { id: 1, tasks: [{ id: 1, due: 1 }, { title: 'z' }] },
      { id: 2, members: [3], tasks: [{ id: 6, notes: [{ text: 'f2' }] }] },
    ])
    await recording.send('PATCH', '/projects/bulk', [
      { id: 1, name: 'x' },
      { id: 2, tasks: [{ id: 99 }] },
    ])
    await recording.send('GET', '/projects')
    await recording.send('GET', '/projects/1')
    await recording.send('PATCH', '/people/1', { rank: 5 })
  })
})

it('records patch documents', () =>
  record('patch-documents', new APIRouter().register('projects', PatchedProjectViewSet, 'project'), async (api) => {
    const patch = (type: string, body: unknown) =>
      api.ask({
        method: 'PATCH',
        path: '/projects/2',
        headers: { 'Content-Type': `application/${type}` },
        body: JSON.stringify(body),
      })
    await patch('merge-patch+json', { name: 'Zwei', parent: { name: 'Eins' } })
    await patch('merge-patch+json', { parent: null, tasks: [{ id: 6, due: 1 }] })
    await patch('json-patch+json', [
      { op: 'test', path: '/name', value: 'Zwei' },
      { op: 'replace', path: '/name', value: 'Two' },
      { op: 'add', path: '/members/-', value: 2 },
    ])
    await patch('json-patch+json', [{ op: 'test', path: '/name', value: 'Zwei' }])
    await patch('json-patch+json', [{ op: 'remove', path: '/name' }])
    await patch('json-patch+json', { op: 'remove' })
    await api.ask({ path: '/projects', headers: { 'Content-Type': 'application/merge-patch+json' }, body: '{}' })
    await api.send('PATCH', '/projects/2', { name: 'quiet' }, { Prefer: 'return=minimal' })
  }))

it('records keys of two columns', () =>
  record('composite-keys', new APIRouter().register('members', MemberViewSet, 'member'), async (api) => {
    const { json } = await api.send('GET', '/members')
    await api.send('GET', json.next)
    await api.send('GET', '/members/1,2')
    await api.send('GET', '/members/1,9')
    await api.send('GET', '/members/1')
    await api.send('POST', '/members', { project_id: 3, person_id: 2 })
    await api.send('POST', '/members', { project_id: 3, person_id: 2 })
    await api.send('POST', '/members', { project_id: 9, person_id: 2 })
    await api.send('PATCH', '/members/3,2', { person_id: 3 })
    await api.send('POST', '/members/bulk', [
      { project_id: 3, person_id: 1 },
      { project_id: 2, person_id: 2 },
    ])
    await api.send('DELETE', '/members/bulk', ['3,1', { project_id: 2, person_id: 2 }])
    await api.send('DELETE', '/members/1,1')
  }))

it('records properties that are called otherwise than their columns', () =>
  record('mapped-names', new APIRouter().register('tasks', CamelTaskViewSet, 'task'), async (api) => {
    await api.send('GET', '/tasks?projectId=2&ordering=-projectId')
    await api.send('GET', '/tasks/1')
    await api.send('POST', '/tasks', { projectId: 1, title: 'x' })
    await api.send('POST', '/tasks', { projectId: 9, title: 'x' })
    await api.send('PUT', '/tasks/8', { projectId: 2, title: 'y', done: true })
    await api.send('PATCH', '/tasks/8', { projectId: 1 })
    await api.send('PATCH', '/tasks/bulk', [
      { id: 7, done: false },
      { id: 8, title: 'z' },
    ])
    await api.send('DELETE', '/tasks/bulk', [7])
    await api.send('DELETE', '/tasks/8')
  }))

it('records pages of each paginator', () => {
  const api = new APIRouter()
  for (const [name, view] of Object.entries(PAGES)) api.register(name, view, name)
  return record('pages', api, async (recording) => {
    for (const name of ['numbered', 'capped', 'uncounted']) {
      await recording.send('GET', `/${name}`)
      await recording.send('GET', `/${name}?page=2&done=false`)
      await recording.send('GET', `/${name}?page=9`)
      await recording.send('GET', `/${name}?page=x&page_size=3`)
    }
    await recording.send('GET', '/limited')
    await recording.send('GET', '/limited?limit=3&offset=2&done=false')
    await recording.send('GET', '/limited?offset=99')
    for (const name of ['keyset', 'keyset-native']) {
      const first = await recording.send('GET', `/${name}`)
      const second = await recording.send('GET', first.json.next)
      await recording.send('GET', second.json.next)
      await recording.send('GET', second.json.previous)
      await recording.send('GET', `/${name}?done=true`)
    }
    const opened = await recording.send('GET', '/snapshot')
    const id = opened.json.cursor_id as string
    const next = await recording.send('GET', `/snapshot?server_cursor=${id}`)
    await recording.send('GET', `/snapshot?server_cursor=${next.json.cursor_id}`)
    await recording.send('GET', `/snapshot?server_cursor=${id}`)
  })
})

it('records sums, counts, modifiers and exports', () =>
  record('figures', new APIRouter().register('tasks', FigureViewSet, 'task'), async (api) => {
    await api.send('GET', '/tasks/aggregate')
    await api.send('GET', '/tasks/aggregate?aggregate=tasks,days&done=false')
    await api.send('GET', '/tasks/aggregate?group_by=project__name&ordering=-tasks&aggregate=tasks')
    await api.send('GET', '/tasks/aggregate?group_by=done,project__name&page=2')
    await api.send('GET', '/tasks/aggregate?group_by=title')
    await api.send('QUERY', '/tasks/aggregate', { group_by: ['done'], filter: { project__name: 'One' } })
    await api.send('GET', '/tasks/facets')
    await api.send('GET', '/tasks/facets?facet=done&project__name=One')
    await api.send('QUERY', '/tasks/facets', {
      facet: ['project__name'],
      filter: { or: [{ title: 'a' }, { title: 'f' }] },
    })
    await api.send('GET', '/tasks?open=true')
    await api.send('GET', '/tasks?ends=true&done=true')
    await api.send('GET', '/tasks?open=false')
    await api.send('GET', '/tasks?unknown=1')
    await api.ask({ path: '/tasks?done=true', headers: { Accept: 'text/csv' } })
    await api.ask({ path: '/tasks?done=true', headers: { Accept: 'application/x-ndjson' } })
    await api.ask({ path: '/tasks.ndjson?project__name=Two' })
    await api.ask({ path: '/tasks/1', headers: { Accept: 'text/csv' } })
    await api.ask({ path: '/tasks', headers: { Prefer: 'handling=strict, count=none' } })
  }))

it('has no other file', () => expect(othersIn('projects', FILES)).toEqual([]))
