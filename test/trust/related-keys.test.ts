/**
 * Keys of all types that PostgreSQL lets refer to each other, each value in the spellings that SQL calls equal. Lists, objects,
 * `expand`, numbers, nested routes, filters, keys in bodies and paths say which objects are related as a join in SQL does,
 * through rows and through instances, before and after writes.
 */
import Koa from 'koa'
import { Model } from 'objection'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  APIRouter,
  BulkModelViewSet,
  FieldFilter,
  ModelSerializer,
  NestedRouter,
  NestedSerializer,
  NestedViewSetMixin,
  PrimaryKeyRelatedField,
  SerializerMethodField,
} from '../../lib/index.js'
import { count } from '../../lib/views/index.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { serve, type TestResponse, type TestServer } from '../support/server.js'
import { Random } from './support/random.js'
import { isLong, seed as longSeed, report, size } from './support/size.js'

/** The short run is the same each time. */
const seed = isLong ? longSeed : 419_281_022

const WRITES = size(1, 150)

/** The types of a key and of what refers to it, and values: of each the spellings that are equal, the key's own first. */
interface Pair {
  readonly key: readonly string[]
  readonly reference?: readonly string[]
  readonly values: readonly (readonly string[])[]
  /** What refers has a form of its own, in which no client names the key. */
  readonly isForeign?: boolean
  /** What refers shows a form that the key's own type does not take. */
  readonly isOwnForm?: boolean
}

const one = (key: string, reference: string, ...values: readonly (readonly string[])[]): Pair => ({
  key: [key],
  reference: [reference],
  values,
})

const PAIRS: readonly Pair[] = [
  one('citext', 'citext', ['de', 'DE', 'De'], ['fr', 'FR'], ['Ö', 'ö']),
  one('folded', 'citext', ['de', 'DE', 'De'], ['fr', 'FR']),
  one('numeric', 'numeric', ['1.5', '1.50', '1.500'], ['2', '2.0'], ['-0.10', '-0.1']),
  { ...one('numeric(10,2)', 'numeric', ['1.50', '1.5', '1.500'], ['2.00', '2']), isOwnForm: true },
  { ...one('numeric', 'int', ['1.00', '1'], ['2', '2'], ['30.0', '30']), isForeign: true },
  { ...one('numeric(12,3)', 'int8', ['1.000', '1'], ['2.000', '2']), isForeign: true },
  one('int8', 'int2', ['1'], ['2'], ['3']),
  one('int', 'int8', ['1'], ['2'], ['3']),
  one('interval', 'interval', ['1 day', '24:00:00'], ['1 mon', '30 days'], ['2:00', '120 minutes']),
  one('char(5)', 'varchar(5)', ['ab', 'ab'], ['cd'], ['efghi']),
  { ...one('char(5)', 'char(8)', ['ab', 'ab '], ['cd'], ['efghi']), isOwnForm: true },
  { ...one('char(5)', 'text', ['ab', 'ab'], ['cd', 'cd']), isForeign: true },
  { ...one('varchar(9)', 'char(5)', ['ab'], ['cd'], ['efghi']), isOwnForm: true },
  one('text collate ci', 'text collate ci', ['Ada', 'ADA', 'ada'], ['Ben', 'ben']),
  one('text collate "C"', 'varchar(9)', ['Ada'], ['ada'], ['Ben']),
  one(
    'timestamptz',
    'timestamptz',
    ['2026-01-02 03:04:05.123456+00', '2026-01-02 05:04:05.123456+02'],
    ['2026-01-02 03:04:05.123457+00'],
    ['2026-01-02 03:04:05.123+00'],
  ),
  {
    ...one('timestamp', 'date', ['2026-01-02 00:00:00', '2026-01-02'], ['2026-01-03 00:00:00', '2026-01-03']),
    isForeign: true,
  },
  {
    ...one('date', 'timestamp', ['2026-01-02', '2026-01-02 00:00:00'], ['2026-01-03', '2026-01-03 00:00:00']),
    isForeign: true,
  },
  one('date', 'date', ['2026-01-02'], ['2026-01-03']),
  one('time', 'time', ['01:02:03.000004'], ['01:02:03.000005']),
  one('float8', 'float8', ['0', '-0'], ['0.1', '1e-1'], ['1e300']),
  one('float8', 'real', ['0.5'], ['-0.25'], ['1024']),
  one('uuid', 'uuid', ['a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'], ['b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11']),
  one('code', 'code', ['x', 'X'], ['y', 'Y']),
  one('code', 'citext', ['x', 'X'], ['y', 'Y']),
  one('level', 'level', ['low'], ['high']),
  one('bool', 'bool', ['true'], ['false']),
  one('bytea', 'bytea', ['\\x00ff'], ['\\x6162']),
  one('inet', 'inet', ['10.0.0.1', '10.0.0.1/32'], ['10.0.0.0/8']),
  one('inet', 'cidr', ['10.0.0.0/8'], ['192.168.1.0/24']),
  one('numrange', 'numrange', ['[1,2)', '[1.0,2.00)'], ['[3,4)']),
  {
    key: ['int', 'citext'],
    values: [
      ['1|de', '1|DE'],
      ['1|fr', '1|FR'],
      ['2|de', '2|dE'],
    ],
  },
  {
    key: ['numeric', 'char(4)'],
    reference: ['numeric(9,2)', 'varchar(4)'],
    values: [
      ['1.5|ab', '1.50|ab'],
      ['2|ab', '2.00|ab'],
      ['2.0|cd', '2|cd'],
    ],
  },
]

/** Pairs that are compared as others are: for the long run. */
const MORE: readonly Pair[] = [
  one('real', 'real', ['0.5', '5e-1'], ['-0.25']),
  one('real', 'float8', ['0.5'], ['-0.25']),
  one('int2', 'int', ['1'], ['2'], ['3']),
  one('int2', 'int2', ['1'], ['2']),
  one('int8', 'int8', ['1'], ['9223372036854775807']),
  { ...one('numeric', 'int2', ['1.0', '1'], ['2', '2']), isForeign: true },
  one('numeric(10,2)', 'numeric(10,2)', ['1.50', '1.5'], ['2.00', '2']),
  one('numeric(5,2)', 'numeric(8,4)', ['1.50', '1.5'], ['2.00', '2']),
  one('text', 'text', ['a'], ['A'], [' a']),
  one('varchar(4)', 'text', ['a'], ['A']),
  one('name', 'name', ['a'], ['A']),
  one('name', 'text', ['a'], ['A']),
  one('text', 'name', ['a'], ['A']),
  one('char(3)', 'char(3)', ['ab', 'ab '], ['c']),
  one('"char"', '"char"', ['a'], ['b']),
  one('timetz', 'timetz', ['01:02:03+00'], ['01:02:03.5+02']),
  one('timestamp', 'timestamp', ['2026-01-02 03:04:05.123456'], ['2026-01-02 03:04:05.123457']),
  {
    ...one(
      'timestamptz',
      'timestamp',
      ['2026-01-02 03:04:05+00', '2026-01-02 03:04:05'],
      ['2026-01-03 00:00:00+00', '2026-01-03 00:00:00'],
    ),
    isForeign: true,
  },
  {
    ...one('timestamptz', 'date', ['2026-01-02 00:00:00+00', '2026-01-02'], ['2026-01-03 00:00:00+00', '2026-01-03']),
    isForeign: true,
  },
  {
    ...one('date', 'timestamptz', ['2026-01-02', '2026-01-02 00:00:00+00'], ['2026-01-03', '2026-01-03 00:00:00+00']),
    isForeign: true,
  },
  one('timestamptz(0)', 'timestamptz', ['2026-01-02 03:04:05+00'], ['2026-01-02 03:04:06+00']),
  one('cidr', 'cidr', ['10.0.0.0/8'], ['192.168.1.0/24']),
  one('cidr', 'inet', ['10.0.0.0/8'], ['192.168.1.0/24']),
  one('macaddr', 'macaddr', ['08:00:2b:01:02:03', '08-00-2b-01-02-03'], ['08:00:2b:01:02:04']),
  one('macaddr8', 'macaddr8', ['08:00:2b:01:02:03:04:05'], ['08:00:2b:01:02:03:04:06']),
  one('oid', 'oid', ['1'], ['4294967295']),
  one('bit(3)', 'bit(3)', ['101'], ['111']),
  one('varbit(5)', 'varbit(5)', ['101'], ['111']),
  one('pg_lsn', 'pg_lsn', ['0/A', '0/0A'], ['1/B']),
  one('money', 'money', ['1.5', '$1.50'], ['2']),
  one('int4range', 'int4range', ['[1,5)', '[1,4]'], ['[7,8)']),
  one('daterange', 'daterange', ['[2026-01-01,2026-01-05)', '[2026-01-01,2026-01-04]'], ['[2026-02-01,2026-02-02)']),
  one('int4multirange', 'int4multirange', ['{[1,5)}', '{[1,4]}'], ['{[7,8)}']),
  one('tsvector', 'tsvector', ["'a' 'b'", "'b' 'a'"], ["'c'"]),
  one('whole', 'int', ['1'], ['2']),
  one('int', 'whole', ['1'], ['2']),
]

const TYPES = `
  create extension if not exists citext;
  create collation ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
  create domain code as citext check (value <> '');
  create domain folded as citext;
  create type level as enum ('low', 'high');
  create domain whole as int check (value > 0);
`

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase({ schema: TYPES })
})
afterAll(() => database.drop())

/** The tables of a pair: owners, what refers to one, what refers to one alone, and tags, which a join table links to owners. */
async function createTables({ key, reference = key, values, isForeign = false }: Pair): Promise<void> {
  const names = key.map((_, index) => `k${index}`)
  const columns = (types: readonly string[], prefix: string) =>
    types.map((type, index) => `${prefix}${index} ${type}`).join(', ')
  const list = (prefix: string) => key.map((_, index) => `${prefix}${index}`).join(', ')
  await database.knex.raw(`
    drop table if exists links, tags, badges, items, owners;
    create table owners (${columns(key, 'k')}, name text, primary key (${list('k')}));
    create table tags (${columns(key, 't')}, label text, primary key (${list('t')}));
    create table items (id int generated by default as identity primary key, name text, ${columns(reference, 'o')},
      foreign key (${list('o')}) references owners);
    create table badges (id int generated by default as identity primary key, label text, ${columns(reference, 'o')},
      foreign key (${list('o')}) references owners, unique (${list('o')}));
    create table links (${columns(reference, 'o')}, ${columns(reference, 't')},
      foreign key (${list('o')}) references owners, foreign key (${list('t')}) references tags);
  `)
  const insert = async (table: string, cells: Readonly<Record<string, string>>) => {
    const entries = Object.entries(cells)
    const sql = `insert into ${table} (${entries.map(([name]) => name).join(', ')}) values (${entries.map(() => '?').join(', ')})`
    await database.knex.raw(
      sql,
      entries.map(([, value]) => value),
    )
  }
  const named = (prefix: string, text: string) =>
    Object.fromEntries(names.map((_, index) => [`${prefix}${index}`, text.split('|')[index] as string]))
  for (const [position, [own = '', ...others]] of values.entries()) {
    const last = others.at(-1) ?? own
    await insert('owners', { ...named('k', own), name: `owner ${position}` })
    await insert('tags', { ...named('t', own), label: `tag ${position}` })
    for (const [index, text] of [...(isForeign ? [] : [own]), ...others].entries()) {
      await insert('items', { ...named('o', text), name: `item ${position}.${index}` })
    }
    if (position !== 1) await insert('badges', { ...named('o', last), label: `badge ${position}` })
  }
  for (const [position, [own = '', ...others]] of values.entries()) {
    const next = values[(position + 1) % values.length] ?? []
    const last = others.at(-1) ?? own
    await insert('links', { ...named('o', last), ...named('t', others[0] ?? own) })
    await insert('links', { ...named('o', last), ...named('t', isForeign ? (next[1] as string) : (next[0] as string)) })
  }
}

/** Classes for a pair's tables, and view sets of them. */
function viewsOf({ key }: Pair) {
  const columns = (table: string, prefix: string) => key.map((_, index) => `${table}.${prefix}${index}`)
  const of = (model: () => typeof Model, from: string[], to: string[]) => ({ modelClass: model, join: { from, to } })
  class Owner extends Model {
    static override tableName = 'owners'
    static override idColumn = key.map((_, index) => `k${index}`) as never
    static override relationMappings = () => ({
      items: { relation: Model.HasManyRelation, ...of(() => Item, columns('owners', 'k'), columns('items', 'o')) },
      badge: { relation: Model.HasOneRelation, ...of(() => Badge, columns('owners', 'k'), columns('badges', 'o')) },
      tags: {
        relation: Model.ManyToManyRelation,
        modelClass: Tag,
        join: {
          from: columns('owners', 'k'),
          through: { from: columns('links', 'o'), to: columns('links', 't') },
          to: columns('tags', 't'),
        },
      },
    })
  }
  class Tag extends Model {
    static override tableName = 'tags'
    static override idColumn = key.map((_, index) => `t${index}`) as never
  }
  class Item extends Model {
    static override tableName = 'items'
    static override relationMappings = () => ({
      owner: {
        relation: Model.BelongsToOneRelation,
        ...of(() => Owner, columns('items', 'o'), columns('owners', 'k')),
      },
    })
  }
  class Badge extends Model {
    static override tableName = 'badges'
  }
  const isSingle = key.length === 1
  const serializer = (model: typeof Model, fields: readonly string[], declared: object = {}, slow = false) => {
    class Made extends ModelSerializer {
      static override model = model
      static override schemaName = `${model.tableName}${fields.join('')}${slow}`
      static override fields = slow ? [...fields, 'slow'] : fields
      static override declaredFields = (slow ? { ...declared, slow: new SerializerMethodField() } : declared) as never
      getSlow(): string {
        return 'x'
      }
    }
    return Made
  }
  const names = (prefix: string) => key.map((_, index) => `${prefix}${index}`)
  const references = Object.fromEntries(
    isSingle
      ? [['o0', new PrimaryKeyRelatedField({ queryset: Owner, required: false, allowNull: true } as never)]]
      : [],
  )
  const bare = serializer(Item, ['id', 'name'])
  const ownerOf = (slow: boolean) =>
    serializer(
      Owner,
      [...names('k'), 'name', 'items', 'badge', ...(isSingle ? ['tags'] : []), 'tag_list'],
      {
        items: new NestedSerializer(bare, { many: true, required: false }),
        badge: new NestedSerializer(serializer(Badge, ['id', 'label']), { required: false, allowNull: true }),
        ...(isSingle
          ? { tags: new PrimaryKeyRelatedField({ queryset: Tag, many: true, required: false } as never) }
          : {}),
        tag_list: new NestedSerializer(serializer(Tag, ['label']), { many: true, readOnly: true, source: 'tags' }),
      },
      slow,
    )
  const itemOf = (slow: boolean) =>
    serializer(
      Item,
      ['id', 'name', ...names('o'), 'owner'],
      { ...references, owner: new NestedSerializer(serializer(Owner, [...names('k'), 'name']), { readOnly: true }) },
      slow,
    )
  const view = (model: typeof Model, serializerClass: unknown, more: object = {}) => {
    class Made extends BulkModelViewSet {}
    return Object.assign(Made, {
      model,
      serializerClass,
      ordering: ['name'],
      paginationClass: null,
      ...more,
    }) as typeof BulkModelViewSet
  }
  const filters = { filterBackends: [FieldFilter], filtersetFields: [...names('o'), 'owner__name'] }
  const expandable = { items: bare, items_count: count('items'), tags_count: count('tags') }
  class Below extends NestedViewSetMixin(BulkModelViewSet) {
    static override model = Item
    static override serializerClass = bare as never
    static override parentLookupField = 'o0'
    static override paginationClass = null
    static override ordering = ['name']
  }
  const owners = view(Owner, ownerOf(false))
  const api = new APIRouter()
    .register('owners', owners, 'owners')
    .register('slow-owners', view(Owner, ownerOf(true)), 'slow-owners')
    .register('counted', view(Owner, serializer(Owner, [...names('k'), 'name']), { expandable }), 'counted')
    .register(
      'slow-counted',
      view(Owner, serializer(Owner, [...names('k'), 'name'], {}, true), { expandable }),
      'slow-counted',
    )
    .register('items', view(Item, itemOf(false), filters), 'items')
    .register('slow-items', view(Item, itemOf(true), filters), 'slow-items')
  if (isSingle) new NestedRouter(api, 'owners', { lookup: 'owner' }).register('items', Below)
  return { api, isSingle, names }
}

/** What a join in SQL says of each owner, in the order of the names. */
async function related({ key }: Pair) {
  const on = (one: string, prefix: string, other: string, second: string) =>
    key.map((_, index) => `${one}.${prefix}${index} = ${other}.${second}${index}`).join(' and ')
  const { rows } = await database.knex.raw(`
    select o.name, o.ctid::text as place,
      coalesce((select json_agg(json_build_object('id', i.id, 'name', i.name) order by i.id) from items i where ${on('o', 'k', 'i', 'o')}), '[]') as items,
      (select json_build_object('id', b.id, 'label', b.label) from badges b where ${on('o', 'k', 'b', 'o')}) as badge,
      coalesce((select json_agg(json_build_object('label', t.label) order by ${key.map((_, index) => `t.t${index}`).join(', ')}) from links l join tags t on ${on('t', 't', 'l', 't')} where ${on('o', 'k', 'l', 'o')}), '[]') as tag_list
    from owners o order by o.name`)
  return rows as { name: string; items: { id: number; name: string }[]; badge: unknown; tag_list: unknown[] }[]
}

const byNumber = (one: number, other: number) => one - other

const seenIn = (json: any) => json.map(({ name, items, badge, tag_list }: any) => ({ name, items, badge, tag_list }))

describe.each(
  [...PAIRS, ...(isLong ? MORE : [])].map(
    (pair) => [`${pair.key.join()} and ${(pair.reference ?? pair.key).join()}`, pair] as const,
  ),
)('%s', (_, pair) => {
  let server: TestServer
  let views: ReturnType<typeof viewsOf>
  beforeAll(async () => {
    await createTables(pair)
    Model.knex(database.knex)
    views = viewsOf(pair)
    await views.api.prepare()
    server = await serve(new Koa().use(views.api.routes()))
  })
  afterAll(() => server?.close())

  const get = async (path: string) => {
    const answer = await server.send({ path })
    expect([path, answer.status, answer.status === 200 ? '' : answer.text]).toEqual([path, 200, ''])
    return answer.json
  }
  const send = async (method: string, path: string, body?: unknown, status = 200): Promise<any> => {
    const answer: TestResponse = await server.send({
      method,
      path,
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    })
    expect([method, path, body, answer.status, answer.status === status ? '' : answer.text]).toEqual([
      method,
      path,
      body,
      status,
      '',
    ])
    return answer.json
  }
  const keyOf = (object: any) =>
    views
      .names('k')
      .map((name) => encodeURIComponent(object[name]))
      .join(',')

  /** Holds all ways to what SQL says. */
  async function agree(): Promise<any[]> {
    const expected = (await related(pair)).map(({ name, items, badge, tag_list }) => ({
      name,
      items,
      badge,
      tag_list,
    }))
    const owners = await get('/owners')
    expect(seenIn(owners)).toEqual(expected)
    const slow = await get('/slow-owners')
    expect(slow.map(({ slow: _slow, ...rest }: any) => rest)).toEqual(owners)
    for (const path of ['/counted', '/slow-counted']) {
      const counted = await get(`${path}?expand=items,items_count,tags_count`)
      expect(
        counted.map(({ name, items, items_count, tags_count }: any) => ({ name, items, items_count, tags_count })),
      ).toEqual(
        expected.map(({ name, items, tag_list }) => ({
          name,
          items,
          items_count: items.length,
          tags_count: tag_list.length,
        })),
      )
    }
    for (const owner of owners) {
      expect(await get(`/owners/${keyOf(owner)}`)).toEqual(owner)
      expect(await get(`/slow-owners/${keyOf(owner)}`)).toEqual({ ...owner, slow: 'x' })
      if (!views.isSingle) continue
      const below = `/owners/${keyOf(owner)}/items`
      const nested = await get(below)
      expect(new Set(nested.map(({ id }: any) => id))).toEqual(new Set(owner.items.map(({ id }: any) => id)))
      for (const { id, name } of nested) expect(await get(`${below}/${id}`)).toEqual({ id, name })
    }
    const items = await get('/items')
    expect(await get('/slow-items')).toEqual(items.map((item: any) => ({ ...item, slow: 'x' })))
    for (const { name, items: own } of expected) {
      const found = items.filter((item: any) => item.owner?.name === name)
      expect(found.map(({ id }: any) => id).sort(byNumber)).toEqual(own.map(({ id }) => id).sort(byNumber))
      expect(
        (await get(`/items?owner__name=${encodeURIComponent(name)}`)).map(({ id }: any) => id).sort(byNumber),
      ).toEqual(own.map(({ id }) => id).sort(byNumber))
    }
    return owners
  }

  it('shows what SQL joins', async () => {
    const owners = await agree()
    expect(owners.flatMap(({ items }) => items)).toHaveLength(
      pair.values.flat().length - (pair.isForeign ? pair.values.length : 0),
    )
  })

  it('finds objects by each spelling of their keys', async () => {
    const items = await get('/items')
    for (const [position, spellings] of pair.values.entries()) {
      const own = items.filter(({ owner }: any) => owner.name === `owner ${position}`)
      for (const { o0 } of own) {
        if (!views.isSingle || o0 === null || pair.isForeign || pair.isOwnForm) continue
        const found = await get(`/items?o0=${encodeURIComponent(o0)}`)
        expect(found.map(({ id }: any) => id).sort(byNumber)).toEqual(own.map(({ id }: any) => id).sort(byNumber))

        expect((await get(`/owners/${encodeURIComponent(o0)}`)).name).toBe(`owner ${position}`)
      }
      expect(own).toHaveLength(spellings.length - (pair.isForeign ? 1 : 0))
    }
  })

  it('writes what is related, and shows it as it reads it', { timeout: isLong ? 600_000 : 30_000 }, async () => {
    const random = new Random(seed)
    for (let write = 0; write < WRITES; write++) {
      const owners = await agree()
      const owner = random.pick(owners)
      const slow = random.chance(0.5) ? 'slow-' : ''
      const path = `/${slow}owners/${keyOf(owner)}`
      const items = await get('/items')
      /** How clients name the owner of an item: by what the item shows, where the key takes that. */
      const ownerKey = ({ o0, owner }: any) =>
        pair.isForeign || pair.isOwnForm ? (owners.find(({ name }) => name === owner?.name)?.k0 ?? null) : o0
      const body: Record<string, unknown> = {}
      if (random.chance(0.6)) {
        body['items'] = [
          ...owner.items.map((item: any) => ({ ...item, name: `${item.name}'` })),
          { name: `new ${write}` },
        ]
      }
      if (random.chance(0.6)) body['badge'] = random.chance(0.2) ? null : { label: `label ${write}` }
      if (views.isSingle && random.chance(0.6)) {
        const keys = items.map(ownerKey).filter((key: any) => key !== null)
        body['tags'] = Array.from({ length: random.below(4) }, () => random.pick(keys))
      }
      const answer = await send('PATCH', path, body)
      const { slow: _slow, ...shown } = await get(path)
      const { slow: _other, ...written } = answer
      expect(written).toEqual(shown)
      if ('items' in body) {
        expect(
          written.items.map(({ name }: any) => name).sort((one: string, other: string) => (one < other ? -1 : 1)),
        ).toEqual(
          (body['items'] as { name: string }[]).map(({ name }) => name).sort((one, other) => (one < other ? -1 : 1)),
        )
      }
      if ('badge' in body) expect(written.badge?.label).toBe((body['badge'] as any)?.label)
      const { name } = owner
      await agree()
      // what was read, sent back
      const before = await database.knex.raw(
        'select (select json_agg(l order by l::text) from links l) l, (select json_agg(b order by id) from badges b) b, (select json_agg(i order by id) from items i) i',
      )
      expect(await send('PUT', path, shown)).toEqual(answer)
      const after = await database.knex.raw(
        'select (select json_agg(l order by l::text) from links l) l, (select json_agg(b order by id) from badges b) b, (select json_agg(i order by id) from items i) i',
      )
      expect(after.rows).toEqual(before.rows)
      expect((await get(path)).name).toBe(name)
      // an object moves to another, whose key is spelled in some way
      if (views.isSingle) {
        const [from, to] = [random.pick(items), random.pick(items)] as any[]
        const moved = await send('PATCH', `/${slow}items/${from.id}`, { o0: ownerKey(to) })
        expect(moved.owner?.name).toBe(to.owner?.name)
        const [bulk] = await send('PATCH', `/${slow}owners/bulk`, [
          { k0: ownerKey(to) ?? owner.k0, name: (to.owner ?? owner).name },
        ])
        expect(bulk.name).toBe((to.owner ?? owner).name)
      }
    }
    report(`related keys ${[...pair.key, ...(pair.reference ?? [])].join()}`, { writes: WRITES, seed })
  })
})
