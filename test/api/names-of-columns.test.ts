/** Columns whose names mean something to JavaScript, or to what lies between us and the database: kept on every path, or refused. */
import { Model } from 'objection'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  APIRouter,
  BulkModelViewSet,
  ConfigurationError,
  CSVRenderer,
  CursorPagination,
  FieldFilter,
  JSONRenderer,
  ModelSerializer,
  NDJSONRenderer,
  NestedSerializer,
  OrderingFilter,
  PageNumberPagination,
  ReadOnlyModelViewSet,
  SerializerMethodField,
} from '../../lib/index.js'
import { type Client, serving } from '../support/client.js'
import { createDatabase, type TestDatabase } from '../support/database.js'

/** Names that are kept, with the property that a model gives them. */
const KEPT: readonly (readonly [column: string, property: string])[] = [
  ['prototype', 'prototype'],
  ['constructor', 'builder'],
  ['0', '0'],
  ['toString', 'toString'],
  ['toJSON', 'toJSON'],
  ['then', 'then'],
  ["a'b", "a'b"],
  ['as', 'as'],
  ['Ü', 'Ü'],
]

const REFUSED: readonly (readonly [column: string, problem: string])[] = [
  ['x as y', 'knex takes what follows " as " for another name'],
  ['x AS y', 'knex takes what follows " as " for another name'],
  ['x as', 'knex takes what follows " as " for another name'],
  ['line\u2028', 'U+2028'],
  ['in\u2028side', 'U+2028'],
  ['line\u2029', 'U+2028 or U+2029'],
  [' first', 'white space at its ends'],
  ['last ', 'white space at its ends'],
  ['*', 'knex takes "*" for all columns'],
  ['[0]', 'begins with a bracket'],
  ['is it?', 'question mark'],
  ['__proto__', 'pg and Objection lose the values of this name'],
]

let database: TestDatabase
let client: Client
beforeAll(async () => {
  process.env['SERVICE_SECRET_KEY'] ??= 'a secret of more than sixteen characters'
  const names = [...KEPT, ...REFUSED, ['constructor']].map(([column]) => column)
  const tables = names.map(
    (name, index) => `create table odd${index} (id int generated always as identity primary key, "${name}" text);`,
  )
  database = await createDatabase({ schema: tables.join('\n') })
  const api = new APIRouter()
  for (const [index, [column, property]] of KEPT.entries()) {
    const views = viewsOf(index, column, property)
    for (const [kind, view] of Object.entries(views)) api.register(`${kind}${index}`, view, `${kind}-${index}`)
  }
  await api.prepare()
  client = await serving(api.routes())
})
afterAll(async () => {
  await client.close()
  await database.drop()
})

/** The rows of a table as rows, by PostgreSQL's own JSON, and through instances. */
function viewsOf(index: number, column: string, property: string): Record<string, any> {
  class Odd extends Model {
    static override tableName = `odd${index}`
    static override columnNameMappers = {
      parse: (row: object) => renamed(row, column, property),
      format: (row: object) => renamed(row, property, column),
    }
  }
  if (column === property) Object.assign(Odd, { columnNameMappers: undefined })
  Odd.knex(database.knex)
  class Shown extends ModelSerializer {
    static override schemaName = `Shown${index}`
    static override model = Odd
    static override fields: any = '__all__'
  }
  class Rows extends BulkModelViewSet {
    static override model = Odd
    static override serializerClass: any = Shown
    static override paginationClass: any = PageNumberPagination
    static override filterBackends = [FieldFilter, OrderingFilter]
    static override filtersetFields = [property]
    static override orderingFields = [property]
    static override rendererClasses = [JSONRenderer, CSVRenderer, NDJSONRenderer]
  }
  class Labelled extends Shown {
    static override schemaName = `Labelled${index}`
    static override declaredFields = { label: new SerializerMethodField() }
    getLabel() {
      return 'x'
    }
  }
  return {
    rows: Rows,
    native: class extends Rows {
      static override useNativeJson = true
    },
    instances: class extends Rows {
      static override serializerClass: any = Labelled
    },
    cursors: class extends Rows {
      static override paginationClass: any = new CursorPagination({ ordering: property, pageSize: 1 })
    },
  }
}

function renamed(row: object, from: string, to: string): any {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name === from ? to : name, value]))
}

describe('a column that is named', () => {
  const paths = ['rows', 'native', 'instances', 'cursors'] as const
  const cases = KEPT.flatMap(([column, property], index) =>
    paths.map((kind) => [column, kind, property, index] as const),
  )

  it.each(cases)('%s keeps its values on every path of %s', async (column, kind, property, index) => {
    const at = `/${kind}${index}`
    const named = encodeURIComponent(property)
    await database.knex.raw(`truncate odd${index} restart identity`)
    const stored = async () => {
      const { rows } = await database.knex.raw(`select row_to_json(o)::text as row from odd${index} o order by id`)
      return rows.map(({ row }: { row: string }) => JSON.parse(row)[column])
    }
    const created = await client.send('POST', at, { [property]: 'one' })
    expect([created.status, created.json[property]]).toEqual([201, 'one'])
    const bulk = await client.send('POST', `${at}/bulk`, [{ [property]: 'two' }, { [property]: 'three' }])
    expect([bulk.status, bulk.json.map((item: any) => item[property])]).toEqual([201, ['two', 'three']])
    for (const [method, value] of [
      ['PUT', 'uno'],
      ['PATCH', 'eins'],
    ] as const) {
      const { status, json } = await client.send(method, `${at}/1`, { [property]: value })
      expect([method, status, json[property]]).toEqual([method, 200, value])
    }
    const changes = [
      { id: 2, [property]: 'zwei' },
      { id: 3, [property]: 'drei' },
    ]
    expect((await client.send('PATCH', `${at}/bulk`, changes)).json.map((item: any) => item[property])).toEqual([
      'zwei',
      'drei',
    ])
    expect(await stored()).toEqual(['eins', 'zwei', 'drei'])
    expect((await client.send('PATCH', `${at}/1`, {})).json[property]).toBe('eins')
    expect((await client.get(`${at}/2`)).json[property]).toBe('zwei')
    expect((await client.get(`${at}/2?fields=${named}`)).json).toEqual({ [property]: 'zwei' })
    const found = await client.get(`${at}?${named}=drei`)
    expect(found.json.results.map((item: any) => item[property])).toEqual(['drei'])
    const first = await client.get(`${at}?ordering=-${named}`)
    expect(first.json.results[0][property]).toBe('zwei')
    expect((await client.get(`${at}.csv?ordering=${named}&fields=${named}`)).text).toContain('drei')
    expect((await client.send('DELETE', `${at}/1`)).status).toBe(204)
    expect(await stored()).toEqual(['zwei', 'drei'])
    expect(client.reported).toEqual([])
  })
})

describe('[I23] a column whose name nothing can carry', () => {
  it.each(REFUSED)('is refused at prepare(): %j', async (column, problem) => {
    const index = KEPT.length + REFUSED.findIndex(([name]) => name === column)
    const { rows } = viewsOf(index, column, column)
    const prepared = new APIRouter().register('odds', rows, 'odd').prepare()
    await expect(prepared).rejects.toThrow(ConfigurationError)
    const again = new APIRouter().register('odds', rows, 'odd').prepare()
    await expect(again).rejects.toThrow(problem)
  })

  it('is a property "constructor", unless it is only read', async () => {
    const { rows } = viewsOf(KEPT.length + REFUSED.length, 'constructor', 'constructor')
    await expect(new APIRouter().register('odds', rows, 'odd').prepare()).rejects.toThrow(
      'Shown: field "constructor" is the property "constructor", which instances of Objection cannot hold; give the column another property by columnNameMappers of Odd, or set readOnly: true',
    )
    class Hidden extends ModelSerializer {
      static override model = rows.model
      static override fields = ['id']
    }
    class Changing extends rows {
      static serializerClass = Hidden
      static filtersetFields = []
    }
    await expect(new APIRouter().register('odds', Changing as any, 'odd').prepare()).rejects.toThrow(
      'Changing: bulkUpdate() makes instances of rows, and those cannot hold the column "constructor"; give the column another property by columnNameMappers of Odd, or extend ReadOnlyModelViewSet',
    )
    class Reading extends ReadOnlyModelViewSet {
      static override model = rows.model
      static override serializerClass: any = class ReadSerializer extends ModelSerializer {
        static override model = rows.model
        static override fields = ['id', 'constructor']
        static override readOnlyFields = ['constructor']
      }
    }
    await database.knex.raw(`insert into ?? ("constructor") values ('x')`, [rows.model.tableName])
    const api = new APIRouter().register('odds', Reading, 'odd')
    await api.prepare()
    const reader = await serving(api.routes())
    expect((await reader.get('/odds')).text).toBe('[{"id":1,"constructor":"x"}]')
    await reader.close()
  })
})

it('named as a method that all instances have is refused, though nobody shows it, unless objects are only read', async () => {
  await database.knex.raw(`
    create table marked (id int primary key, "$set" text, note text); insert into marked values (1, 'a', 'b')`)
  class Marked extends Model {
    static override tableName = 'marked'
  }
  Marked.knex(database.knex)
  class Shown extends ModelSerializer {
    static override model = Marked
    static override fields = ['id', 'note']
  }
  const statics = { model: Marked, serializerClass: Shown }
  const Writing = Object.assign(class Writing extends BulkModelViewSet {}, statics as object)
  await expect(new APIRouter().register('marked', Writing as never).prepare()).rejects.toThrow(
    'those cannot hold the column "$set"; give the column another property by columnNameMappers of Marked',
  )
  const Reading = Object.assign(class extends ReadOnlyModelViewSet {}, statics as object)
  const api = new APIRouter().register('marked', Reading as never)
  await api.prepare()
  const own = await serving(api.routes())
  expect((await own.get('/marked/1')).json).toEqual({ id: 1, note: 'b' })
  await own.close()
})

it('named as a member of all objects are shown of related objects, by rows and by instances', async () => {
  await database.knex.raw(`
    create table files (id int primary key, "constructor" text, "hasOwnProperty" text);
    create table covers (id int primary key, "constructor" text, "toString" text, file_id int unique references files);
    insert into files values (1, 'a', 'b'); insert into covers values (7, 'x', 'y', 1)`)
  class File extends Model {
    static override tableName = 'files'
    static override relationMappings = () => ({
      cover: { relation: Model.HasOneRelation, modelClass: Cover, join: { from: 'files.id', to: 'covers.file_id' } },
    })
  }
  class Cover extends Model {
    static override tableName = 'covers'
  }
  for (const model of [File, Cover]) model.knex(database.knex)
  const cover = new NestedSerializer(
    class extends ModelSerializer {
      static override schemaName = 'Cover'
      static override model = Cover
      static override fields = ['id', 'constructor', 'toString']
      static override readOnlyFields = ['constructor']
    },
    { readOnly: true },
  )
  class Shown extends ModelSerializer {
    static override schemaName = 'File'
    static override model = File
    static override fields = ['id', 'constructor', 'hasOwnProperty']
    static override readOnlyFields = ['constructor']
  }
  class Labelled extends Shown {
    static override schemaName = 'LabelledFile'
    static override fields = ['id', 'constructor', 'hasOwnProperty', 'label']
    static override declaredFields = { label: new SerializerMethodField() }
    getLabel() {
      return 'x'
    }
  }
  const api = new APIRouter()
  for (const [name, serializerClass] of Object.entries({ rows: Shown, instances: Labelled })) {
    const View = class extends ReadOnlyModelViewSet {}
    api.register(
      name,
      Object.assign(View, { model: File, serializerClass, expandable: { cover } } as object) as never,
      name,
    )
  }
  await api.prepare()
  const own = await serving(api.routes())
  const file = { id: 1, constructor: 'a', hasOwnProperty: 'b', cover: { id: 7, constructor: 'x', toString: 'y' } }
  expect((await own.get('/rows?expand=cover')).json).toEqual([file])
  expect((await own.get('/rows/1?expand=cover')).json).toEqual(file)
  expect((await own.get('/instances?expand=cover')).json).toEqual([{ ...file, label: 'x' }])
  await own.close()
})

it('shows an object with results of its own as one object, in each format', async () => {
  await database.knex.raw(`create table races (id int primary key, results jsonb);
    insert into races values (1, '[{"place":1},{"place":2}]'), (2, '[]')`)
  class Race extends Model {
    static override tableName = 'races'
  }
  Race.knex(database.knex)
  class RaceSerializer extends ModelSerializer<Race> {
    static override model = Race
    static override fields = ['id', 'results']
  }
  class Instances extends RaceSerializer {
    static override schemaName = 'RaceInstance'
    override toRepresentation(race: Race): unknown {
      return super.toRepresentation(race)
    }
  }
  const api = new APIRouter()
  for (const [name, serializerClass] of Object.entries({ rows: RaceSerializer, instances: Instances })) {
    class Races extends ReadOnlyModelViewSet<Race> {
      static override model = Race
      static override serializerClass = serializerClass as never
      static override rendererClasses = [JSONRenderer, CSVRenderer, NDJSONRenderer]
      static override paginationClass = PageNumberPagination
      static override envelope = { object: 'race', list: 'races' }
    }
    api.register(name, Races, name)
  }
  await api.prepare()
  const own = await serving(api.routes())
  const [first, second] = [
    { id: 1, results: [{ place: 1 }, { place: 2 }] },
    { id: 2, results: [] },
  ]
  for (const path of ['/rows', '/instances']) {
    expect((await own.get(`${path}/1`)).json).toEqual({ race: first })
    expect((await own.get(`${path}/1?fields=results`)).json).toEqual({ race: { results: first?.results } })
    expect((await own.get(path)).json).toMatchObject({ races: [first, second], count: 2 })
    expect((await own.get(`${path}/1.csv`)).text).toBe('id,results\r\n1,"[{""place"":1},{""place"":2}]"\r\n')
    expect((await own.get(`${path}/1.csv?fields=results`)).text).toBe('results\r\n"[{""place"":1},{""place"":2}]"\r\n')
    const lines = async (asked: string) => (await own.get(asked)).text.trim().split('\n')
    expect((await lines(`${path}/1.ndjson`)).map((line) => JSON.parse(line))).toEqual([first])
    expect((await lines(`${path}.ndjson`)).map((line) => JSON.parse(line))).toEqual([first, second])
  }
  await own.close()
})

describe('[I23] a table whose name knex cannot carry', () => {
  it.each(REFUSED.filter(([name]) => name !== '[0]' && name !== '__proto__'))(
    'is refused at prepare(): %j',
    async (name, problem) => {
      await database.knex.schema.raw(`create table "${name.replace('?', '\\?')}" (id int primary key)`)
      class Odd extends Model {
        static override tableName = name
      }
      Odd.knex(database.knex)
      class Rows extends ReadOnlyModelViewSet {
        static override model = Odd
        static override serializerClass: any = class OddSerializer extends ModelSerializer {
          static override model = Odd
          static override fields = ['id']
        }
      }
      const prepared = new APIRouter().register('odds', Rows, 'odd').prepare()
      await expect(prepared).rejects.toThrow(`Odd: table "${name}" cannot be read: `)
      await expect(new APIRouter().register('odds', Rows, 'odd').prepare()).rejects.toThrow(problem)
    },
  )
})
