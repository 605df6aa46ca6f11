/**
 * [E22] Lists and numbers inside objects by chance: of all kinds of relations, ordered, narrowed and cut, lists in lists, beside
 * single objects. Rows, JSON of PostgreSQL and instances give the same bytes, in pages, objects and tables of values.
 */
import Koa from 'koa'
import { Model, type QueryBuilder } from 'objection'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  APIRouter,
  CSVRenderer,
  CursorPagination,
  configure,
  JSONRenderer,
  ModelViewSet,
  NestedSerializer,
  PageNumberPagination,
  PrimaryKeyRelatedField,
  type SerializerField,
  SlugRelatedField,
} from '../../lib/index.js'
import { count } from '../../lib/views/index.js'
import { countQueries, createDatabase, type TestDatabase } from '../support/database.js'
import { serve, type TestServer } from '../support/server.js'
import { type SerializerClass, serializerOf } from '../support/views.js'
import { Random } from './support/random.js'
import { report, seed, size } from './support/size.js'

const SHAPES = size(2, 400)

const SCHEMA = `
  create table areas (region text, number int, name text, rank int, primary key (region, number));
  create table sites (
    id int primary key, region text, number int, parent_id int references sites, name varchar(40), rank int,
    price numeric(8, 3), big int8, moment timestamptz, doc jsonb, gone_at timestamptz,
    foreign key (region, number) references areas
  );
  create table notes (id int8 primary key, site_id int references sites, text text, rank int, kept bool);
  create table tags (id uuid primary key, label text not null, weight float8, rank int, gone_at timestamptz);
  create table sites_tags (site_id int references sites, tag_id uuid references tags, role text, stars int);
  create index on sites (parent_id);
  create index on notes (site_id, rank desc, id desc);
`

class Area extends Model {
  static override tableName = 'areas'
  static override idColumn = ['region', 'number']
  static override relationMappings = () => ({
    sites: {
      relation: Model.HasManyRelation,
      modelClass: Site,
      join: { from: ['areas.region', 'areas.number'], to: ['sites.region', 'sites.number'] },
    },
  })
}
class Note extends Model {
  static override tableName = 'notes'
  static override modifiers = {
    kept: (query: QueryBuilder<Note>) => void query.where('kept', true).orWhere('notes.rank', 2),
    byText: (query: QueryBuilder<Note>) => void query.orderBy('text', 'desc'),
    ofRoots: (query: QueryBuilder<Note>) =>
      void query.whereExists(Note.relatedQuery('site').whereNull('parent_id') as never),
  }
  static override relationMappings = () => ({
    site: { relation: Model.BelongsToOneRelation, modelClass: Site, join: { from: 'notes.site_id', to: 'sites.id' } },
  })
}
class Tag extends Model {
  static override tableName = 'tags'
  static override modifiers = {
    heavy: (query: QueryBuilder<Tag>) => void query.where('weight', '>', 2).orderByRaw('length(label) desc'),
  }
  static override relationMappings = () => ({ sites: tagged('tags', Site, 'sites') })
}
class Site extends Model {
  static override tableName = 'sites'
  static override modifiers = {
    ranked: (query: QueryBuilder<Site>) => void query.whereNotNull('sites.rank'),
    inArea: (query: QueryBuilder<Site>) => void query.where({ number: 1 }).orWhere('name', 'like', '%1%'),
  }
  static override relationMappings = () => ({
    area: {
      relation: Model.BelongsToOneRelation,
      modelClass: Area,
      join: { from: ['sites.region', 'sites.number'], to: ['areas.region', 'areas.number'] },
    },
    parent: {
      relation: Model.BelongsToOneRelation,
      modelClass: Site,
      join: { from: 'sites.parent_id', to: 'sites.id' },
    },
    children: { relation: Model.HasManyRelation, modelClass: Site, join: { from: 'sites.id', to: 'sites.parent_id' } },
    notes: { relation: Model.HasManyRelation, modelClass: Note, join: { from: 'sites.id', to: 'notes.site_id' } },
    lastNotes: {
      relation: Model.HasManyRelation,
      modelClass: Note,
      modify: (query: QueryBuilder<Note>) => query.where('notes.rank', '>', 0).orderBy('notes.rank', 'desc'),
      join: { from: 'sites.id', to: 'notes.site_id' },
    },
    tags: tagged('sites', Tag, 'tags'),
  })
}

function tagged(from: string, modelClass: typeof Model, to: string) {
  const key = (table: string) => `sites_tags.${table === 'sites' ? 'site_id' : 'tag_id'}`
  return {
    relation: Model.ManyToManyRelation,
    modelClass,
    join: { from: `${from}.id`, through: { from: key(from), to: key(to), extra: ['role'] }, to: `${to}.id` },
  }
}

interface Shape {
  readonly columns: readonly string[]
  readonly one: Readonly<Record<string, typeof Model>>
  readonly many: Readonly<Record<string, typeof Model>>
  readonly orders: readonly string[]
  readonly modifiers: readonly string[]
}

const SHAPE_OF = new Map<typeof Model, Shape>([
  [
    Area,
    {
      columns: ['region', 'number', 'name', 'rank'],
      one: {},
      many: { sites: Site },
      orders: ['-rank', 'name'],
      modifiers: [],
    },
  ],
  [
    Site,
    {
      columns: ['id', 'name', 'rank', 'price', 'big', 'moment', 'doc', 'parent_id'],
      one: { area: Area, parent: Site },
      many: { children: Site, notes: Note, lastNotes: Note, tags: Tag },
      orders: ['-rank', 'price', '-moment', 'name', '-id'],
      modifiers: ['ranked', 'inArea'],
    },
  ],
  [
    Note,
    {
      columns: ['id', 'text', 'rank', 'kept'],
      one: { site: Site },
      many: {},
      orders: ['rank', '-rank', '-text'],
      modifiers: ['kept', 'byText', 'ofRoots'],
    },
  ],
  [
    Tag,
    {
      columns: ['id', 'label', 'weight', 'rank'],
      one: {},
      many: { sites: Site },
      orders: ['-rank', 'weight'],
      modifiers: ['heavy'],
    },
  ],
])
const shapeOf = (model: typeof Model) => SHAPE_OF.get(model) as Shape

const random = new Random(seed)
const LIMITS = [1, 2, 10]

/** How a list is shown. */
function options(model: typeof Model) {
  const { orders, modifiers } = shapeOf(model)
  return {
    many: true,
    readOnly: true,
    ...(random.chance(0.5) && { orderBy: [random.pick(orders)] }),
    ...(random.chance(0.35) && modifiers.length > 0 && { modify: random.some(modifiers, 0.7) }),
    ...(random.chance(0.5) && { limit: random.pick(LIMITS) }),
  }
}

/** A serializer by chance. */
function randomSerializer(model: typeof Model, depth: number): SerializerClass {
  const { columns, one, many } = shapeOf(model)
  const declared: Record<string, SerializerField> = {}
  for (const [source, related] of depth > 0 ? Object.entries(one) : []) {
    if (!random.chance(0.4)) continue
    declared[`${source}_shown`] = new NestedSerializer(randomSerializer(related, depth - 1), { source, readOnly: true })
  }
  for (const [source, related] of depth > 0 ? Object.entries(many) : []) {
    for (const name of random.some([`${source}_a`, `${source}_b`], 0.4)) {
      const serializer = randomSerializer(related, depth - 1)
      declared[name] = new NestedSerializer(serializer, { source, ...options(related) } as never)
    }
    if (related !== Area && random.chance(0.2)) {
      declared[`${source}_keys`] = new PrimaryKeyRelatedField({ source, many: true, readOnly: true })
    }
    if (related === Tag && random.chance(0.3)) {
      declared[`${source}_labels`] = new SlugRelatedField({ source, slugField: 'label', many: true, readOnly: true })
    }
  }
  const shown = random.some(columns, 0.6)
  return serializerOf(model, [...(shown.length > 0 ? shown : columns.slice(0, 1)), ...Object.keys(declared)], declared)
}

let database: TestDatabase
let api: APIRouter
let server: TestServer

/** The ways of reading, of which one is by code of the application's. */
const WAYS = ['rows', 'native', 'instances', 'own-rows', 'own-instances'] as const

function viewsOf(model: typeof Model, serializer: SerializerClass, isPaged: boolean) {
  const relations = Object.keys(shapeOf(model).many).filter((name) => name !== 'lastNotes')
  const paginator = isPaged
    ? new PageNumberPagination({ pageSize: 4, count: 'none' })
    : new CursorPagination({ ordering: '-rank', pageSize: 3 })
  class View extends ModelViewSet {
    static override model = model
    static override serializerClass = serializer
    static override paginationClass = paginator
    static override rendererClasses = [JSONRenderer, CSVRenderer]
    static override expandable = Object.fromEntries(relations.map((name) => [`${name}_count`, count(name)]))
    static override useNativeJson = false
    static override softDelete = model === Tag || model === Site ? 'gone_at' : null
  }
  class Native extends View {
    static override useNativeJson = true
  }
  class Own extends View {
    override getQueryset() {
      return super.getQueryset().where(`${model.tableName}.rank`, '>', 0).orWhereNull('rank')
    }
  }
  const instances = (view: typeof View) =>
    class extends view {
      override loadRelated(...given: Parameters<ModelViewSet['loadRelated']>) {
        return super.loadRelated(...given)
      }
    }
  return { rows: View, native: Native, instances: instances(View), 'own-rows': Own, 'own-instances': instances(Own) }
}

beforeAll(async () => {
  configure({ secretKey: 'a secret of this test only' })
  database = await createDatabase({ schema: SCHEMA })
  for (const model of [Area, Site, Note, Tag]) model.knex(database.knex)
  const or = (text: string, share = 0.3) => (random.chance(share) ? 'null' : text)
  const tag = (index: number) => `'00000000-0000-4000-8000-00000000000${index}'`
  const rows = (length: number, row: (index: number) => string) =>
    Array.from({ length }, (_, index) => `(${row(index)})`).join(', ')
  const links = Array.from({ length: 40 }, () => `(${1 + random.below(14)}, ${tag(random.below(6))}, 'r', 1)`)
  const small = () => or(String(random.below(4)))
  await database.knex.raw(
    [
      `insert into areas values ${rows(4, (n) => `'${n % 2 ? 'a' : 'b'}', ${n >> 1}, 'area ${n}', ${small()}`)};`,
      `insert into sites values ${rows(14, (n) => {
        const parent = n === 0 ? 'null' : or(String(1 + random.below(n)))
        const area = random.chance(0.3) ? 'null, null' : `'${random.pick(['a', 'b'])}', ${random.below(2)}`
        const moment = or(`timestamptz '2024-01-01 00:00:00.123456+00' + ${random.below(3)} * interval '1 day'`)
        return [
          ...[
            n + 1,
            area,
            parent,
            or(`'site "${n}" ü'`, 0.1),
            small(),
            or(`${n}.5`),
            or(`9007199254740990 + ${n}`),
            moment,
          ],
          ...[or(`'["white space is that of each way"]'`), random.chance(0.2) ? 'now()' : 'null'],
        ].join(', ')
      })};`,
      `insert into notes values ${rows(60, (n) => `${n + 1}, ${or(String(1 + random.below(14)), 0.1)}, ${or(`'n${random.below(5)}'`)}, ${small()}, ${or('true', 0.4)}`)};`,
      `insert into tags values ${rows(6, (n) => `${tag(n)}, '${'labels'.slice(n)}', ${or(`${n} / 3.0`)}, ${small()}, ${n === 5 ? 'now()' : 'null'}`)};`,
      `insert into sites_tags values ${links.join(', ')};`,
    ]
      .join('\n')
      .replaceAll('?', '\\?'),
  )
  api = new APIRouter()
  for (let shape = 0; shape < SHAPES; shape++) {
    const model = random.pick([Site, Site, Tag, Note])
    const views = viewsOf(model, randomSerializer(model, 2), random.chance(0.6))
    for (const way of WAYS) {
      api.register(`${way}${shape}`, views[way], `${way}${shape}`)
    }
  }
  await api.prepare()
  server = await serve(new Koa().use(api.routes()))
})
afterAll(async () => {
  await server?.close()
  await database?.drop()
})

const URLS = ['', '?expand=*', '?page=2', '?fields=id,name,notes_a,tags_a,children_b', '.csv', '/1']
const where = (shape: number, url: string) => `seed ${seed}, shape ${shape}${url}`

/** What a way answers, without what it says of itself. */
async function answerOf(way: string, shape: number, url: string): Promise<string> {
  const { status, text } = await server.send({ path: `/${way}${shape}${url}` })
  return `${status} ${text.replaceAll(`/${way}${shape}`, '').replaceAll(/cursor=[^"]+/g, 'cursor')}`
}

it('gives the same bytes by all ways, and asks once where rows are read', {
  timeout: 60_000 + SHAPES * 2_000,
}, async () => {
  for (let shape = 0; shape < SHAPES; shape++) {
    const [explained] = await api.explain(`rows${shape}-list`)
    expect([explained?.reading, where(shape, '')]).toEqual([{ from: 'rows' }, where(shape, '')])
    for (const url of URLS) {
      const of = where(shape, url)
      const json = await answerOf('instances', shape, url)
      expect({ of, json: await answerOf('rows', shape, url) }).toEqual({ of, json })
      expect({ of, json: await answerOf('native', shape, url) }).toEqual({ of, json })
      const own = await answerOf('own-instances', shape, url)
      expect({ of, json: await answerOf('own-rows', shape, url) }).toEqual({ of, json: own })
    }
    for (const way of ['rows', 'native', 'own-rows']) {
      const queries = await countQueries(database.knex, () => answerOf(way, shape, '?expand=*'))
      expect([queries.length, where(shape, way)]).toEqual([1, where(shape, way)])
    }
  }
  report('lists inside rows', { shapes: SHAPES, seed })
})
