/** What an application's querysets say holds for every request, however it says it: nothing that we add to a query loosens it. */
import { Model, QueryBuilder, raw } from 'objection'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  APIRouter,
  BaseFilter,
  BulkModelViewSet,
  CursorPagination,
  configure,
  FieldFilter,
  type Filters,
  ModelSerializer,
  modelViewSet,
  NestedRouter,
  NestedViewSetMixin,
  type Pagination,
  PrimaryKeyRelatedField,
  type Queryset,
} from '../../lib/index.js'
import { ModifierFilter } from '../../lib/views/index.js'
import { type Client, serveApp, serving } from '../support/client.js'
import { createDatabase, type TestDatabase } from '../support/database.js'

const SCHEMA = `
  create table notes (id int primary key, owner text, part text not null, text text not null);
  create table lines (id int primary key, note_id int not null references notes on delete cascade, text text not null);
`
/** Of these the caller sees 1 to 4: hers, and nobody's. */
const NOTES = [
  { id: 1, owner: null, part: 'a', text: 'one' },
  { id: 2, owner: 'me', part: 'b', text: 'two' },
  { id: 3, owner: 'me', part: 'a', text: 'three' },
  { id: 4, owner: null, part: 'b', text: 'four' },
  { id: 5, owner: 'you', part: 'a', text: 'five' },
  { id: 6, owner: 'you', part: 'b', text: 'six' },
]
const HIDDEN = [5, 6]

class Note extends Model {
  static override tableName = 'notes'
  declare id: number
  static override relationMappings = () => ({
    owned: {
      relation: Model.HasManyRelation,
      modelClass: Note,
      join: { from: 'notes.owner', to: 'notes.owner' },
      modify: (query: AnyQuery) => query.where('owner', 'me').orWhereNull('owner'),
    },
  })
}
class Line extends Model {
  static override tableName = 'lines'
  static override modifiers = { all: (query: AnyQuery) => query.clearWhere() }
}
type AnyQuery = QueryBuilder<any, any>

class HookedBuilder<M extends Model, R = M[]> extends QueryBuilder<M, R> {
  constructor(modelClass: never) {
    // @ts-expect-error Objection gives it the class, which its types leave out
    super(modelClass)
    void this.onBuild((query) => void query.where('notes.owner', 'me').orWhereNull('notes.owner'))
  }
}
class HookedNote extends Note {
  static override QueryBuilder: any = HookedBuilder
}

const SQL = `owner = ? or owner is null`

/** The same condition, said in all ways that Objection knows. */
const SHAPES: Readonly<Record<string, (query: AnyQuery) => AnyQuery>> = {
  'where and orWhereNull': (query) => query.where('owner', 'me').orWhereNull('owner'),
  'a leading orWhere': (query) => query.orWhere('owner', 'me').orWhereNull('owner'),
  'whereRaw with an OR': (query) => query.whereRaw(SQL, ['me']),
  'where(raw) with an OR': (query) => query.where(raw(SQL, ['me'])),
  'a raw value with an OR': (query) => query.where('owner', raw(`'me' or owner is null`)),
  'a raw column with an OR': (query) => query.where(raw('owner is null or owner') as never, 'me' as never),
  'an object with a raw value': (query) => query.where({ owner: raw(`'me' or owner is null`) as never }),
  'whereNot(raw) with an OR': (query) => query.whereNot(raw(`owner <> 'me' or owner is null`)),
  'a group': (query) => query.where((inner) => void inner.where('owner', 'me').orWhereNull('owner')),
  'AND before OR': (query) => query.where('id', '>', 0).where('owner', 'me').orWhereNull('owner'),
  'findByIds and OR': (query) => query.findByIds([2, 3]).orWhereNull('owner'),
  onBuild: (query) => query.onBuild((built) => void built.where('owner', 'me').orWhereNull('owner')),
  'onBuild in onBuild': (query) =>
    query.onBuild((built) => void built.onBuild((inner) => void inner.where('owner', 'me').orWhereNull('owner'))),
  onBuildKnex: (query) => query.onBuildKnex((built) => void built.where('owner', 'me').orWhereNull('owner')),
  'onBuild of the context': (query) =>
    query.context({ onBuild: (built: AnyQuery) => void built.where('owner', 'me').orWhereNull('owner') }),
  'several onBuild of the context': (query) =>
    query.context({
      onBuild: [
        (built: AnyQuery) => void built.where('owner', 'me'),
        (built: AnyQuery) => void built.orWhereNull('owner'),
      ],
    }),
  'runBefore of the context': (query) =>
    query.context({ runBefore: (_: unknown, built: AnyQuery) => void built.where('owner', 'me').orWhereNull('owner') }),
  'a subquery': (query) => query.whereIn('id', Note.query().select('id').where('owner', 'me').orWhereNull('owner')),
  EXISTS: (query) =>
    query.whereExists(Note.query().alias('n').whereRaw(`n.id = notes.id and (n.owner = 'me' or n.owner is null)`)),
  'a left join': (query) =>
    query
      .select('notes.*')
      .leftJoin('notes as n', (on) => void on.on('n.id', 'notes.id').onVal('n.owner', 'you'))
      .whereNull('n.id'),
  DISTINCT: (query) => query.distinct('notes.*').where('owner', 'me').orWhereNull('owner'),
  'GROUP BY': (query) => query.groupBy('notes.id').where('owner', 'me').orWhereNull('owner'),
  'GROUP BY and HAVING': (query) => query.groupBy('notes.id').havingRaw(`min(owner) = 'me' or min(owner) is null`),
  'a common table expression': (query) =>
    query
      .with('mine', Note.query().where('owner', 'me').orWhereNull('owner'))
      .whereIn('notes.id', raw('(select id from mine)') as never),
}

class NoteSerializer extends ModelSerializer<Note> {
  static override model = Note
  static override fields = ['id', 'part', 'text']
}
class LineSerializer extends ModelSerializer<Line> {
  static override model = Line
  static override fields = ['id', 'text', 'note_id']
}
class LineViewSet extends NestedViewSetMixin(BulkModelViewSet<Line>) {
  static override model = Line
  static override serializerClass = LineSerializer
  static override parentLookupField = 'note_id'
}

class Clearing extends BaseFilter {
  override read() {
    return { change: (query: AnyQuery) => void query.clearWhere() }
  }
}
class ClearingLater extends BaseFilter {
  override read() {
    return { change: (query: AnyQuery) => void query.onBuildKnex((built) => void built.clearWhere()) }
  }
}
class Commented extends BaseFilter {
  override read() {
    return { where: () => ({ sql: `text = 'x' /* ( */ or true /* ) */`, bindings: [] }) }
  }
}

let database: TestDatabase
beforeAll(async () => {
  configure({ secretKey: 'a secret for these tests' })
  database = await createDatabase({ schema: SCHEMA })
  for (const model of [Note, Line, HookedNote]) model.knex(database.knex)
})
afterAll(() => database.drop())
beforeEach(async () => {
  await database.knex.raw('truncate notes, lines')
  await database.knex('notes').insert(NOTES)
  await database
    .knex('lines')
    .insert([...NOTES.map(({ id }) => ({ id, note_id: id, text: 'line' })), { id: 7, note_id: 1, text: 'moving' }])
})

interface Views {
  readonly queryset?: Queryset
  readonly filterBackends?: Filters
  readonly getQueryset?: (query: AnyQuery) => AnyQuery
  readonly paginationClass?: Pagination
}

/** Notes, and below them their lines, and their lines by themselves, which refer to notes that the caller sees. */
async function routesOf({ queryset = null, filterBackends = [], getQueryset, paginationClass = null }: Views) {
  class NoteViewSet extends BulkModelViewSet<Note> {
    static override model = Note
    static override queryset: Queryset = queryset
    static override serializerClass = NoteSerializer
    static override filterBackends: Filters = filterBackends.includes(FieldFilter)
      ? filterBackends
      : [...filterBackends, FieldFilter]
    static override filtersetFields = ['part']
    static override paginationClass: Pagination = paginationClass
    override getQueryset() {
      return (getQueryset?.(super.getQueryset()) ?? super.getQueryset()) as never
    }
  }
  if (!getQueryset) Reflect.deleteProperty(NoteViewSet.prototype, 'getQueryset')
  const visible = () => (getQueryset ? getQueryset(Note.query()) : (queryset?.() ?? Note.query())) as never
  class FreeLineSerializer extends LineSerializer {
    static override declaredFields = { note_id: new PrimaryKeyRelatedField({ queryset: visible }) }
  }
  class FreeLineViewSet extends BulkModelViewSet<Line> {
    static override model = Line
    static override serializerClass = FreeLineSerializer
  }
  const api = new APIRouter().register('notes', NoteViewSet).register('lines', FreeLineViewSet)
  new NestedRouter(api, 'notes', { lookup: 'note_id' }).register('lines', LineViewSet, 'note-line')
  await api.prepare()
  return api.routes()
}

const served = async (views: Views) => serveApp(await routesOf(views))

const ids = (json: unknown) => (json as { id: number }[]).map(({ id }) => id).sort((a, b) => a - b)
const hidden = () => database.knex('notes').whereIn('id', HIDDEN).orderBy('id')

async function expectHeld({ get, send }: Client, objects = [1, 2, 3, 4]): Promise<void> {
  const before = await hidden()
  const partOf = (part: string) =>
    NOTES.filter((note) => note.part === part && objects.includes(note.id)).map(({ id }) => id)
  expect(ids((await get('/notes')).json)).toEqual(objects)
  expect(ids((await get('/notes?part=a')).json)).toEqual(partOf('a'))
  for (const { id } of NOTES) {
    const status = objects.includes(id) ? 200 : 404
    const found = await get(`/notes/${id}`)
    expect([id, found.status]).toEqual([id, status])
    if (status === 200) expect(found.json).toMatchObject({ id })
    const changed = await send('PATCH', `/notes/${id}`, { text: `new ${id}` })
    expect([id, changed.status]).toEqual([id, status])
    if (status === 200) expect(changed.json).toMatchObject({ id, text: `new ${id}` })
  }
  expect(await hidden()).toEqual(before)
}

describe.each(Object.entries(SHAPES))('a queryset by %s', (_name, shape) => {
  let client: Client
  beforeAll(async () => {
    client = await serving(await routesOf({ getQueryset: shape }))
  })
  afterAll(() => client.close())

  it('holds for lists, filters, objects and writes', async () => {
    await expectHeld(client)
  })

  it('holds as static queryset', async () => {
    await expectHeld(await served({ queryset: () => shape(Note.query()) }))
  })

  it('holds for deletions, one by one and together', async () => {
    const { send } = client
    for (const { id } of NOTES) {
      expect([id, (await send('DELETE', `/notes/${id}`)).status]).toEqual([id, HIDDEN.includes(id) ? 404 : 204])
    }
    expect(ids(await database.knex('notes'))).toEqual(HIDDEN)
  })

  it('holds for bulk requests', async () => {
    const { send } = client
    expect(
      (
        await send('PATCH', '/notes/bulk', [
          { id: 2, text: 'x' },
          { id: 5, text: 'x' },
        ])
      ).json,
    ).toMatchObject({
      status: 400,
      errors: { 1: { id: ['Invalid pk "5" - object does not exist.'] } },
    })
    expect((await send('DELETE', '/notes/bulk', [1, 6])).status).toBe(400)
    expect(
      (
        await send('PATCH', '/notes/bulk', [
          { id: 2, text: 'x' },
          { id: 1, text: 'y' },
        ])
      ).status,
    ).toBe(200)
    expect((await send('DELETE', '/notes/bulk', [2, 4])).json).toEqual({ deleted: [2, 4] })
    expect(ids(await database.knex('notes'))).toEqual([1, 3, 5, 6])
    expect(await hidden()).toMatchObject([{ text: 'five' }, { text: 'six' }])
  })

  it('holds for parents and for related keys', async () => {
    const { get, send } = client
    for (const { id } of NOTES) {
      const isHidden = HIDDEN.includes(id)
      expect([id, (await get(`/notes/${id}/lines`)).status]).toEqual([id, isHidden ? 404 : 200])
      const path = `/notes/${id}/lines/${id}`
      expect([id, (await send('PATCH', path, { text: 'x' })).status]).toEqual([id, isHidden ? 404 : 200])
      const moved = await send('PATCH', '/lines/7', { note_id: id })
      expect([id, moved.status]).toEqual([id, isHidden ? 400 : 200])
      expect([id, (await send('DELETE', path)).status]).toEqual([id, isHidden ? 404 : 204])
    }
    expect(await database.knex('lines').whereIn('id', HIDDEN)).toMatchObject([{ text: 'line' }, { text: 'line' }])
  })
})

describe('a queryset', () => {
  it('holds where the model itself adds to its queries', async () => {
    await expectHeld(await served({ queryset: () => HookedNote.query() as never }))
  })

  it('holds where it is a relation with conditions of its own', async () => {
    await expectHeld(await served({ queryset: () => Note.relatedQuery('owned').for([2]) as never }))
  })

  it.each(Object.entries(SHAPES))('holds beside a filter backend by %s', async (_name, shape) => {
    class Mine extends BaseFilter {
      override filterQueryset(query: AnyQuery) {
        return shape(query)
      }
    }
    class NotThree extends BaseFilter {
      override filterQueryset(query: AnyQuery) {
        return query.whereRaw('notes.id < 3 or notes.id > 3')
      }
    }
    const { get } = await served({ filterBackends: [Mine, NotThree] })
    expect(ids((await get('/notes')).json)).toEqual([1, 2, 4])
    expect(ids((await get('/notes?part=b')).json)).toEqual([2, 4])
    const after = await served({ filterBackends: [NotThree, FieldFilter, Mine], paginationClass: null })
    expect(ids((await after.get('/notes?part=a')).json)).toEqual([1])
    const narrowed = await served({
      filterBackends: [Mine],
      getQueryset: (query) => query.whereRaw('notes.id = 2 or notes.id = 6'),
    })
    expect(ids((await narrowed.get('/notes')).json)).toEqual([2])
    expect(ids((await narrowed.get('/notes?part=a')).json)).toEqual([])
  })

  it.each<[string, Filters]>([
    ['read()', [Clearing]],
    ['hooks that it adds', [ClearingLater]],
    ['a modifier', [new ModifierFilter(Line, ['all'])]],
    ['a comment that begins a parenthesis', [Commented]],
  ])('of the lines of a note holds where a filter backend clears conditions by %s', async (_name, filterBackends) => {
    class Below extends LineViewSet {
      static override filterBackends: Filters = filterBackends
    }
    const api = new APIRouter().register('notes', modelViewSet(Note, { serializerClass: NoteSerializer }))
    new NestedRouter(api, 'notes', { lookup: 'note_id' }).register('lines', Below, 'line')
    await api.prepare()
    const { get } = await serveApp(api.routes())
    for (const path of ['/notes/2/lines?all=true', '/notes/2/lines?all=true&other=1']) {
      expect([path, ids((await get(path)).json)]).toEqual([path, [2]])
    }
  })

  it.each(Object.entries(SHAPES))('by %s keeps cursors to its rows', async (name, shape) => {
    if (name.startsWith('GROUP BY')) return
    const { get } = await served({
      getQueryset: shape,
      paginationClass: new CursorPagination({ ordering: 'text', pageSize: 1 }),
    })
    const seen: string[] = []
    for (let next: string | null = '/notes?part=b'; next !== null && seen.length < 9; ) {
      const page = (await get(next)).json as { next: string | null; results: { text: string }[] }
      seen.push(...page.results.map(({ text }) => text))
      next = page.next
    }
    expect(seen).toEqual(['four', 'two'])
  })
})

describe('one query for all requests', () => {
  const shared = () => Note.query().where('owner', 'me').orWhereNull('owner')

  it.each<[string, () => Views]>([
    [
      'getQueryset()',
      () => {
        const query = shared()
        return { getQueryset: () => query }
      },
    ],
    [
      'static queryset',
      () => {
        const query = shared()
        return { queryset: () => query }
      },
    ],
  ])('keeps what no request has asked for, as %s and of keys', async (_name, views) => {
    const client = await served(views())
    for (const id of [8, 9]) {
      await expectHeld(client)
      expect((await client.send('POST', '/lines', { id, text: 'x', note_id: 3 })).status).toBe(201)
      expect((await client.send('POST', '/lines', { id: 10, text: 'x', note_id: 5 })).status).toBe(400)
    }
  })

  it('keeps the parents of none, as that of a view set below others', async () => {
    const query = Line.query().where('id', '<', 7)
    class Shared extends BulkModelViewSet<Line> {
      static override model = Line
      static override serializerClass = LineSerializer
      override getQueryset() {
        return query as never
      }
    }
    class Below extends NestedViewSetMixin(Shared) {
      static override parentLookupField = 'note_id'
    }
    class Notes extends BulkModelViewSet<Note> {
      static override model = Note
      static override serializerClass = NoteSerializer
    }
    const api = new APIRouter().register('notes', Notes)
    new NestedRouter(api, 'notes', { lookup: 'note_id' }).register('lines', Below as never, 'line')
    await api.prepare()
    const client = await serveApp(api.routes())
    for (const id of [1, 2, 3, 1]) expect(ids((await client.get(`/notes/${id}/lines`)).json)).toEqual([id])
  })
})
