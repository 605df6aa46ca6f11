/** Lists and objects are written from raw rows or from instances: both are the same answer (promise E22). */
import knexLibrary, { type Knex } from 'knex'
import Koa from 'koa'
import {
  APIRouter,
  CursorPagination,
  configure,
  type DeclaredFields,
  ModelSerializer,
  ModelViewSet,
  NestedSerializer,
  PageNumberPagination,
  type Pagination,
  SlugRelatedField,
  StringField,
} from 'koa-viewsets'
import { Model } from 'objection'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rowPlan } from '../../lib/rows/row-plan.js'
import { countQueries, createDatabase, type TestDatabase } from '../support/database.js'
import { runsAsRole } from '../support/roles.js'
import { serve, type TestServer } from '../support/server.js'
import { serializerOf, serveViews, viewOf } from '../support/views.js'
import { report, size } from '../trust/support/size.js'

/** Of `everything`, before the ones with odd values. */
const ROWS = size(250, 10_000)

const SCHEMA = `
  create extension citext;
  create type mood as enum ('glad', 'sad "quoted"');
  create domain short as varchar(12) check (length(value) > 0);
  create table publishers (id serial primary key, name text not null);
  create table authors (
    id serial primary key, name text not null unique, born date, publisher_id int references publishers
  );
  create table retired (id serial primary key, name text not null, born date, publisher_id int);
  insert into retired (name) values ('retired 1');
  create table everything (
    id bigint generated always as identity primary key,
    author_id int references authors, small int2, whole int4, big int8, single real, double double precision,
    price numeric(12, 4), bare numeric, flag bool, words text, code varchar(40), padded char(6), folded citext, feeling mood,
    brief short, key uuid, day date, clock time, moment timestamptz, naive timestamp, span interval, raw bytea,
    doc json, tree jsonb, address inet, tags text[], numbers int8[], moments timestamptz[], feelings mood[]
  );
  insert into publishers (name) values ('Faber'), ('Ünïcode "x"');
  insert into authors (name, born, publisher_id)
    select 'author ' || n, date '1900-01-01' + n, nullif(n % 3, 0) from generate_series(1, 20) n;
  insert into everything (author_id, small, whole, big, single, double, price, bare, flag, words, code, padded, folded,
      feeling, brief, key, day, clock, moment, naive, span, raw, doc, tree, address, tags, numbers, moments, feelings)
    select case when n % 7 > 0 then n % 20 + 1 end, n - 200, n::bigint * 1000003 % 2147483647, 9007199254740980 + n,
      case n % 9 when 0 then 'NaN'::real when 1 then 'Infinity' when 2 then '-Infinity' when 3 then '-0' when 4 then 16777216 else n / 7.0 end,
      case n % 4 when 0 then 10 ^ (n % 40 - 20) when 1 then -0 when 2 then random() * 10 ^ (n % 60 - 30)
        else ('{537059850409267170000,1e23,-33450841795301752,9.999999999999999e22,1e22,9007199254740993,4.35e20,1.7976931348623157e308,-1.797693134862315e308}'::float8[])[n % 9 + 1] end,
      n / 13.0, ('0.' || repeat('1', n % 30 + 1))::numeric, n % 2 = 0,
      (array['plain', 'quo"te', E'line\\nbreak', E'tab\\t', '\\back', 'Grüße', '😀 emoji', E'\\u0001 control', '', 'a/b<c>&'])[n % 10 + 1],
      'code ' || n, 'p' || n % 10, 'Folded', (array['glad', 'sad "quoted"'])[n % 2 + 1]::mood, 'brief', md5(n::text)::uuid,
      date '1999-12-31' + n, time '00:00' + n * interval '1 minute 0.001234 second',
      timestamptz '2024-03-31 00:30:00+00' + n * interval '17 minutes 0.000123 second',
      timestamp '2024-10-27 00:30:00' + n * interval '23 minutes 0.5 second', n * interval '1 day 02:03:04.5', decode(md5(n::text), 'hex'),
      (E'{\\n\\t"n":' || n || E' ,\\r\\n"text": "a\\\\"b"}')::json, jsonb_build_object('n', n, 'list', jsonb_build_array(1, null, 'x')),
      ('10.0.0.' || n % 250)::inet, array['a', 'b "c"', null], array[n, 9007199254740993],
      array[timestamptz '2024-03-31 00:30:00.000001+00', null], array['glad', 'sad "quoted"']::mood[]
    from generate_series(1, ${ROWS}) n;
  insert into everything default values;
  insert into everything (moment, naive, day, brief) values
    ('infinity', '-infinity', 'infinity', 'x'), ('0044-03-15 12:00:00+00 BC', '0044-03-15 12:00:00 BC', '0044-03-15 BC', 'y'),
    ('12345-01-01 00:00:00.5+00', '12345-01-01 00:00:00', '12345-01-01', 'z');`

class Publisher extends Model {
  static override tableName = 'publishers'
}

class Author extends Model {
  static override tableName = 'authors'
  static override relationMappings = () => ({
    publisher: {
      relation: Model.BelongsToOneRelation,
      modelClass: Publisher,
      join: { from: 'authors.publisher_id', to: 'publishers.id' },
    },
  })
}

class Retired extends Model {
  static override tableName = 'retired'
}

class Everything extends Model {
  static override tableName = 'everything'
  static override relationMappings = () => ({
    author: {
      relation: Model.BelongsToOneRelation,
      modelClass: Author,
      join: { from: 'everything.author_id', to: 'authors.id' },
    },
  })
}

class PublisherSerializer extends ModelSerializer<Publisher> {
  static override model = Publisher
  static override fields = '__all__'
}

class AuthorSerializer extends ModelSerializer<Author> {
  static override model = Author
  static override fields = ['id', 'name', 'born']
  static override declaredFields: DeclaredFields = {
    publisher: new NestedSerializer(PublisherSerializer, { readOnly: true }),
  }
}

class NameSerializer extends ModelSerializer<Author> {
  static override model = Author
  static override fields = ['id', 'name']
}

class RowSerializer extends ModelSerializer<Everything> {
  static override model = Everything
  static override fields = '__all__'
  static override declaredFields: DeclaredFields = {
    author: new NestedSerializer(AuthorSerializer, { readOnly: true }),
    author_name: new StringField({ source: 'author.name', readOnly: true }),
    publisher_name: new StringField({ source: 'author.publisher.name', readOnly: true }),
    by: new SlugRelatedField({ queryset: Author, slugField: 'name', source: 'author', required: false }),
    shout: new (class extends StringField {
      override toRepresentation(value: unknown): unknown {
        return String(value).toUpperCase()
      }
    })({ source: 'words', readOnly: true }),
  }
}

/** The same output, but through instances: an overridden method needs them. */
class InstanceSerializer extends RowSerializer {
  override toRepresentation(object: Everything): unknown {
    return super.toRepresentation(object)
  }
}

class Authors extends ModelViewSet<Author> {
  static override model = Author
  static override serializerClass = NameSerializer
}

class Houses extends ModelViewSet<Publisher> {
  static override model = Publisher
  static override serializerClass = PublisherSerializer
  static override paginationClass = PageNumberPagination
}

class RetiredSerializer extends ModelSerializer<Retired> {
  static override model = Retired
  static override fields = ['id', 'name']
}

/** Shows its objects by a serializer of another table. */
class RetiredAuthors extends ModelViewSet<Retired> {
  static override model = Retired
  static override serializerClass = RetiredSerializer

  override getSerializerClass() {
    return NameSerializer
  }
}

class Rows extends ModelViewSet<Everything> {
  static override model = Everything
  static override serializerClass: typeof RowSerializer = RowSerializer
  static override paginationClass = PageNumberPagination
  static override ordering = ['-words', 'day']
}

class Instances extends Rows {
  static override serializerClass = InstanceSerializer
}

/** PostgreSQL writes the JSON of all that SQL can say; the rest (arrays, intervals, bytes) is left out. */
class NativeSerializer extends ModelSerializer<Everything> {
  static override model = Everything
  static override fields = [
    'id',
    'author_id',
    'small',
    'whole',
    'big',
    'single',
    'double',
    'price',
    'bare',
    'flag',
    'words',
    'code',
    'padded',
    'folded',
    'feeling',
    'brief',
    'key',
    'day',
    'clock',
    'moment',
    'naive',
    'doc',
    'tree',
    'address',
  ]
  static override declaredFields: DeclaredFields = {
    author: new NestedSerializer(AuthorSerializer, { readOnly: true }),
    publisher_name: new StringField({ source: 'author.publisher.name', readOnly: true }),
  }
}

/** The same through instances. */
class NativeInstanceSerializer extends NativeSerializer {
  override toRepresentation(object: Everything): unknown {
    return super.toRepresentation(object)
  }
}

class NotNative extends ModelViewSet<Everything> {
  static override model = Everything
  static override serializerClass: typeof NativeSerializer = NativeSerializer
  static override paginationClass: Pagination = PageNumberPagination
  static override ordering = ['-words', 'day']
}

class NativeInstances extends NotNative {
  static override serializerClass = NativeInstanceSerializer
}

class Native extends NotNative {
  static override useNativeJson = true
}

class NotNativeCursor extends NotNative {
  static override paginationClass: Pagination = new CursorPagination({ ordering: ['-words', 'day'], pageSize: 40 })
}

class NativeCursor extends NotNativeCursor {
  static override useNativeJson = true
}

/** A queryset of its own: compiled at each request. */
class Narrowed extends Rows {
  override getQueryset() {
    return super.getQueryset().where('id', '<', 150).where('flag', true)
  }
}

class NarrowedInstances extends Narrowed {
  static override serializerClass = InstanceSerializer
}

class ZonedRows extends Rows {
  override getKnex() {
    return zoned
  }
}

class ZonedInstances extends Instances {
  override getKnex() {
    return zoned
  }
}

class ZonedNative extends Native {
  override getKnex() {
    return zoned
  }
}

let database: TestDatabase
let zoned: Knex
let server: TestServer

beforeAll(async () => {
  database = await createDatabase({ schema: SCHEMA })
  Model.knex(database.knex)
  zoned = knexLibrary({
    client: 'pg',
    connection: { ...database.connection } as Knex.PgConnectionConfig,
    pool: {
      min: 0,
      max: 2,
      afterCreate: (
        connection: { query(sql: string, done: (error: unknown) => void): void },
        done: (error: unknown, c: unknown) => void,
      ) => connection.query("set timezone = 'Asia/Kolkata'", (error) => done(error, connection)),
    },
  })
  configure({ secretKey: 'a secret of these tests only' })
  const api = new APIRouter({ prefix: '/api' })
  api.register('native', Native, 'native').register('not-native', NotNative, 'not-native')
  api.register('native-instances', NativeInstances, 'native-instance')
  api.register('houses', Houses).register('authors', Authors).register('retired', RetiredAuthors)
  api.register('rows', Rows, 'row').register('instances', Instances, 'instance')
  api.register('narrowed', Narrowed, 'narrowed').register('narrowed-instances', NarrowedInstances, 'narrowed-instance')
  api.register('zoned-rows', ZonedRows, 'zoned-row').register('zoned-instances', ZonedInstances, 'zoned-instance')
  api.register('zoned-native', ZonedNative, 'zoned-native')
  api.register('native-cursor', NativeCursor, 'native-cursor')
  api.register('not-native-cursor', NotNativeCursor, 'not-native-cursor')
  await api.prepare()
  server = await serve(new Koa().use(api.routes()))
})

afterAll(async () => {
  await server.close()
  await zoned.destroy()
  await database.drop()
})

/** The body with spacing in json columns evened out, and links without the prefix. */
async function body(path: string): Promise<{ status: number; text: string; headers: unknown }> {
  const { status, text, headers } = await server.send({ path })
  const { date: _, 'content-length': __, ...rest } = headers
  return { status, text: JSON.stringify(JSON.parse(text)).replaceAll(/\/api\/[a-z-]+\?/g, '/api/?'), headers: rest }
}

describe('a list', () => {
  it.each([1, 2, 3])('is the same from rows as from instances (page %i)', async (page) => {
    const query = `?page=${page}&page_size=80`
    const rows = await body(`/api/rows${query}`)
    expect(rows.status).toBe(200)
    expect(rows).toEqual(await body(`/api/instances${query}`))
  })

  it('is the same bytes where no json column stands in it', async () => {
    const strip = (text: string) => text.replaceAll(/"(doc|tree)":("[^"]*"|\{[^}]*\}|[^,}]*),?/g, '')
    const [rows = '', native = '', instances = ''] = await Promise.all(
      ['rows', 'native', 'instances'].map(async (name) => {
        const { text } = await server.send({ path: `/api/${name}?page_size=100` })
        return strip(text).replaceAll(`/api/${name}`, '')
      }),
    )
    expect(rows).toBe(instances)
    const floats = (text: string) => text.match(/"(?:single|double)":[^,}]*/g)
    expect(floats(native)).toEqual(floats(instances))
  })

  it('is the same in another time zone of the database', async () => {
    const rows = await body('/api/rows?page_size=100&page=3')
    expect(await body('/api/zoned-rows?page_size=100&page=3')).toEqual(rows)
    expect(await body('/api/zoned-instances?page_size=100&page=3')).toEqual(rows)
  })

  it('is the same over a queryset of the application', async () => {
    const rows = await body('/api/narrowed?page_size=30&page=2')
    expect(rows.status).toBe(200)
    expect(JSON.parse(rows.text).results.length).toBeGreaterThan(10)
    expect(rows).toEqual(await body('/api/narrowed-instances?page_size=30&page=2'))
  })

  it('is one statement, its count and its nested objects included', async () => {
    const queries = await countQueries(database.knex, () => server.send({ path: '/api/rows' }))
    expect(queries).toHaveLength(1)
    expect(queries[0]).toMatch(/^select \(select count\(\*\) as "count" from "everything"\), /)
  })

  it('is one statement on later pages, too, once it was counted', async () => {
    for (const path of ['rows', 'native']) {
      await server.send({ path: `/api/${path}?page_size=7` })
      const queries = await countQueries(database.knex, async () => {
        const { status, json } = await server.send({ path: `/api/${path}?page=3&page_size=7` })
        expect([status, json.count, json.results.length]).toEqual([200, ROWS + 4, 7])
      })
      expect(queries).toHaveLength(1)
    }
  })

  it('is right where it has become shorter, or longer, since it was counted', async () => {
    const names = Array.from({ length: 20 }, (_, index) => ({ name: `for a while ${index}` }))
    const page = async (number: number) => (await server.send({ path: `/api/houses?page=${number}&page_size=7` })).json
    await database.knex('publishers').insert(names)
    expect(await page(1)).toMatchObject({ count: 22 })
    expect(await page(4)).toMatchObject({ count: 22, next: null, results: { length: 1 } })
    await database.knex('publishers').where('name', 'like', 'for a while %').delete()
    expect(await page(4)).toEqual({ detail: 'Invalid page', status: 404 })
    const refused = await countQueries(database.knex, () => page(4))
    expect(refused).toEqual(['select count(*) as "count" from "publishers"'])
    await database.knex('publishers').insert(names)
    expect(await page(3)).toMatchObject({ count: 22, results: { length: 7 } })
    await database.knex('publishers').where('name', 'like', 'for a while %').delete()
    expect(await page(1)).toMatchObject({ count: 2, results: { length: 2 } })
  })

  it('counts nothing when the first page is not full', async () => {
    const { text } = await server.send({ path: '/api/narrowed?page_size=100' })
    expect(JSON.parse(text).count).toBe(JSON.parse(text).results.length)
  })
})

describe('a serializer that views of two tables share', () => {
  it('shows each view its own table', async () => {
    expect((await body('/api/authors/1')).text).toContain('"name":"author 1"')
    expect((await body('/api/retired/1')).text).toContain('"name":"retired 1"')
    expect((await body('/api/authors')).text).toContain('"name":"author 1"')
    expect((await body('/api/retired')).text).toContain('"name":"retired 1"')
  })
})

describe('an object', () => {
  it('is the same from rows as from instances', async () => {
    for (const id of [1, 2, 3, 9, 20, ROWS, ROWS + 1, ROWS + 2, ROWS + 3, ROWS + 4]) {
      const row = await body(`/api/rows/${id}`)
      expect(row.status).toBe(200)
      expect(row).toEqual(await body(`/api/instances/${id}`))
    }
  })

  it('is 404 on both paths when it is not there', async () => {
    expect(await body('/api/rows/99999')).toEqual(await body('/api/instances/99999'))
  })
})

describe('a create', () => {
  const object = {
    author_id: 3,
    small: -5,
    whole: 7,
    big: '9007199254740993',
    single: 1.5,
    double: 1e-7,
    price: '12.5',
    bare: '0.10',
    flag: true,
    words: 'quo"te \\ Grüße 😀',
    code: 'c',
    feeling: 'glad',
    brief: 'b',
    key: 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11',
    day: '2026-03-28',
    clock: '15:30',
    moment: '2026-03-28T15:30:00.123456+02:00',
    naive: '2026-03-28T15:30:00',
    doc: { list: [1, 'two', null] },
    tree: ['a', { b: null }],
    address: '10.0.0.1',
  }

  const post = (name: string, body: unknown) =>
    server.send({
      path: `/api/${name}`,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })

  it('stores and shows the same by one statement as through instances', async () => {
    const [row, instance] = [await post('not-native', object), await post('native-instances', object)]
    expect(row.status).toBe(201)
    const { id, ...shown } = row.json
    expect(row.headers.location).toBe(`/api/not-native/${id}`)
    const { id: other, ...same } = instance.json
    expect(shown).toEqual(same)
    expect(Number(other)).toBe(Number(id) + 1)
    const [stored, control] = await database.knex('everything').whereIn('id', [id, other]).orderBy('id')
    expect({ ...stored, id: 0 }).toEqual({ ...control, id: 0 })
  })

  // a role's foreign keys are looked up
  it.skipIf(runsAsRole())('is one statement, without a transaction, its nested objects included', async () => {
    const queries = await countQueries(database.knex, () => post('not-native', { author_id: 3 }))
    expect(queries).toHaveLength(1)
    expect(queries[0]).toMatch(/^with "koa_viewsets_written" as \(insert into/)
  })

  it('tells of a missing key the same as when it was looked up', async () => {
    const [row, instance] = [
      await post('not-native', { author_id: 999 }),
      await post('native-instances', { author_id: 999 }),
    ]
    expect(row.status).toBe(400)
    expect(row.text).toBe(instance.text)
  })

  it('tells of all that is wrong at once, a missing key too', async () => {
    const [row, instance] = await Promise.all(
      ['not-native', 'native-instances'].map((name) => post(name, { author_id: 999, whole: 'x', price: '1.23456' })),
    )
    expect(Object.keys(row?.json.errors)).toEqual(expect.arrayContaining(['author_id', 'whole', 'price']))
    expect(row?.json).toEqual(instance?.json)
  })
})

describe('native JSON', () => {
  it.each([1, 2, 3])('is the list that rows give (page %i)', async (page) => {
    const native = await body(`/api/native?page=${page}&page_size=80`)
    expect(native.status).toBe(200)
    expect(native).toEqual(await body(`/api/not-native?page=${page}&page_size=80`))
  })

  it('is the list that rows give, page by page behind cursors and back', async () => {
    const pagesOf = async (paths: readonly string[]) => {
      const [native, rows] = await Promise.all(paths.map(async (path) => (await server.send({ path })).json))
      expect(native.results).toEqual(rows.results)
      return { next: [native.next, rows.next], previous: [native.previous, rows.previous], results: native.results }
    }
    let pages = await pagesOf(['/api/native-cursor', '/api/not-native-cursor'])
    let shown = pages.results.length
    for (const direction of ['next', 'previous'] as const) {
      while (pages[direction].every((link) => link !== null)) {
        pages = await pagesOf(pages[direction])
        shown += pages.results.length
      }
      expect(pages[direction]).toEqual([null, null])
    }
    // there and back: all but the last page twice
    expect(shown).toBeGreaterThanOrEqual(2 * (ROWS + 4) - 40)
  })

  it('is the same in another time zone of the database', async () => {
    const native = await body('/api/zoned-native?page=3&page_size=100')
    expect(native).toEqual(await body('/api/not-native?page=3&page_size=100'))
  })

  it('is the object that rows give', async () => {
    for (const id of [1, 2, 9, ROWS + 1, ROWS + 2, ROWS + 3, ROWS + 4]) {
      expect(await body(`/api/native/${id}`)).toEqual(await body(`/api/not-native/${id}`))
    }
    expect((await body('/api/native/99999')).status).toBe(404)
  })

  it('is one statement', async () => {
    const queries = await countQueries(database.knex, () => server.send({ path: '/api/native' }))
    expect(queries).toHaveLength(1)
    expect(queries[0]).toContain('string_agg(')
  })

  it.each([`it's`, 'a "quote"', 'a\\back\\slash\\', 'why? ?? \\? $1 :x :x:', 'Größe 😀', 'x'.repeat(100)])(
    'may name members %j',
    async (name) => {
      const word = new StringField({ source: 'words', readOnly: true })
      const author = new NestedSerializer(
        serializerOf(Author, ['id'], { [name]: new StringField({ source: 'name' }) }),
        {
          readOnly: true,
        },
      )
      const serializer = serializerOf(Everything, ['id'], { [name]: word, author })
      const view = (useNativeJson: boolean) => viewOf(Everything, serializer, { useNativeJson, ordering: ['id'] })
      const client = await serveViews({ native: view(true), rows: view(false) })
      let native = { text: '' }
      const queries = await countQueries(database.knex, async () => {
        native = await client.get('/native/1')
      })
      expect(queries[0]).toContain(' as json ')
      expect(native.text).toBe((await client.get('/rows/1')).text)
      const stored = await database.knex('everything').where('id', 1).first()
      expect(JSON.parse(native.text)).toMatchObject({
        [name]: stored.words,
        author: { [name]: `author ${stored.author_id}` },
      })
      expect((await client.get('/native')).text).toBe((await client.get('/rows')).text)
    },
  )
})

describe('[P10 B15 E22] every way to the same answer', () => {
  const zone = process.env['TZ']
  afterAll(() => {
    if (zone === undefined) delete process.env['TZ']
    else process.env['TZ'] = zone
  })

  it(`is the same for ${ROWS} rows of every column type in four time zones of the process and two of the database`, async () => {
    const last = Math.ceil((ROWS + 4) / 100)
    const pages = Array.from({ length: last }, (_, index) => `?page_size=100&page=${index + 1}`)
    const first = { rows: new Map<string, string>(), native: new Map<string, string>() }
    for (const name of ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata']) {
      process.env['TZ'] = name
      for (const page of pages) {
        const answers = await Promise.all(
          ['rows', 'zoned-rows', 'instances', 'zoned-instances'].map(
            async (path) => (await body(`/api/${path}${page}`)).text,
          ),
        )
        const written = await Promise.all(
          ['native', 'zoned-native', 'not-native'].map(async (path) => (await body(`/api/${path}${page}`)).text),
        )
        first.rows.set(page, first.rows.get(page) ?? answers[0] ?? '')
        first.native.set(page, first.native.get(page) ?? written[0] ?? '')
        for (const text of answers) expect(text).toBe(first.rows.get(page))
        for (const text of written) expect(text).toBe(first.native.get(page))
      }
    }
    expect(JSON.parse(first.rows.get(`?page_size=100&page=${last}`) ?? '{}').results.length).toBeGreaterThan(0)
    report('P10 differential', { rows: ROWS, pages: pages.length, zones: 4, 'ways a page': 7, deviations: 0 })
  }, 900_000)
})

describe('the writer', () => {
  it('needs instances where a serializer changes how objects are written', () => {
    expect(rowPlan(RowSerializer)).toBeDefined()
    expect(rowPlan(InstanceSerializer)).toBeUndefined()
  })
})
