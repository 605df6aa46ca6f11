/** Objects whose key is several columns: in paths, `Location`, bulk requests, nested paths, cursors and documents. */

import Router from '@koa/router'
import {
  APIRouter,
  CursorPagination,
  configure,
  FieldFilter,
  IDMixin,
  IsAuthenticatedOrReadOnly,
  NestedRouter,
  NestedSerializer,
  NestedViewSetMixin,
  PrimaryKeyRelatedField,
  SlugRelatedField,
} from 'koa-viewsets'
import { RetrieveUpdateAPIView } from 'koa-viewsets/views'
import { Model } from 'objection'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { type Client, serveApp } from '../support/client.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { throughInstances } from '../support/reviewed-books.js'
import { routerOf, serializerOf, serveRouter, serveViews, tableOf, viewOf } from '../support/views.js'

let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase({
    schema: `
      create table students (id int primary key, name text);
      create table enrolments (
        student_id int references students, course_id bigint, grade text, deleted_at timestamptz, version int not null default 1,
        primary key (student_id, course_id)
      );
      create table marks (
        id int generated always as identity primary key, student_id int not null, course_id bigint not null, points int,
        foreign key (student_id, course_id) references enrolments
      );
      create function next_version() returns trigger language plpgsql as $$ begin new.version = old.version + 1; return new; end $$;
      create trigger next_version before update on enrolments for each row execute function next_version();
      create table notices (
        student_id int references students, id int generated always as identity, text text, primary key (student_id, id)
      );
      create table hobbies (id int primary key, name text not null unique);
      create table pursuits (
        student_id int references students, hobby_id int references hobbies, hours int, primary key (student_id, hobby_id)
      );
      insert into hobbies values (1, 'chess'), (2, 'rowing');
      create table places (country text, name text, size int, primary key (country, name));
      create table readings (station uuid, at timestamptz, value numeric(6, 2), note text, primary key (station, at, value));
      insert into students values (7, 'Ada'), (8, 'Ben');`,
  })
  Model.knex(database.knex)
  configure({ secretKey: '0123456789abcdef0123456789abcdef' })
}, 60_000)

afterAll(() => database.drop())

beforeEach(() =>
  database.knex.raw(`
    truncate enrolments, marks, places, readings restart identity;
    insert into enrolments values (7, 3, 'A'), (7, 4, 'B'), (8, 3, 'C'), (8, 9007199254740993, 'D');
    insert into marks (student_id, course_id, points) values (7, 3, 10), (7, 4, 20), (7, 3, 40);`),
)

class Student extends IDMixin(Model) {
  static override tableName = 'students'
  static override idConfig = { mode: 'encoded', alphabet: 'bcdfghjkmnpqrstvwxz23456789' }
}
class Enrolment extends Model {
  static override tableName = 'enrolments'
  static override idColumn = ['student_id', 'course_id']
  static override relationMappings = () => ({
    marks: {
      relation: Model.HasManyRelation,
      modelClass: Mark,
      join: {
        from: ['enrolments.student_id', 'enrolments.course_id'],
        to: ['marks.student_id', 'marks.course_id'],
      },
    },
  })
}
class Mark extends Model {
  static override tableName = 'marks'
  static override relationMappings = () => ({
    enrolment: {
      relation: Model.BelongsToOneRelation,
      modelClass: Enrolment,
      join: {
        from: ['marks.student_id', 'marks.course_id'],
        to: ['enrolments.student_id', 'enrolments.course_id'],
      },
    },
  })
}
class Place extends Model {
  static override tableName = 'places'
  static override idColumn = ['country', 'name']
}
class Reading extends Model {
  static override tableName = 'readings'
  static override idColumn = ['station', 'at', 'value']
}

const EnrolmentSerializer = serializerOf(Enrolment, ['student_id', 'course_id', 'grade'])
const PlaceSerializer = serializerOf(Place, ['country', 'name', 'size'])
const ReadingSerializer = serializerOf(Reading, ['station', 'at', 'value', 'note'])

const enrolments = (statics: object = {}) => viewOf(Enrolment, EnrolmentSerializer, statics)
const served = (statics: object = {}) => serveViews({ enrolments: enrolments(statics) })

const stored = () =>
  database.knex('enrolments').orderBy(['student_id', 'course_id']).select('student_id', 'course_id', 'grade')

const BOTH = ['enrolments.student_id', 'enrolments.course_id']

const WRONG_KEYS =
  `7 7, ,3 7,3,3 3,7 7,x x,3 7;3 7,3.0 7,%203 99999999999999999999,3 7,%223 7,3%00 %22,%22 , 7,%22 [7,3]`.split(' ')

describe.each<[string, () => Promise<Client>]>([
  ['rows', () => served()],
  ['instances', () => serveViews({ enrolments: viewOf(Enrolment, throughInstances(EnrolmentSerializer)) })],
  ['native JSON', () => served({ useNativeJson: true })],
  // whose rows PostgreSQL cannot lock as they are
  ['a queryset that groups', () => served({ queryset: () => Enrolment.query().select('enrolments.*').groupBy(BOTH) })],
])('an object with a key of two columns, by %s', (_path, serveIt) => {
  it('is read, changed, replaced and deleted by its path', async () => {
    const client = await serveIt()
    const own = await client.get('/enrolments/7,3')
    expect([own.status, own.json]).toEqual([200, { student_id: 7, course_id: 3, grade: 'A' }])
    const patched = await client.send('PATCH', '/enrolments/7,3', { grade: 'A+' })
    expect([patched.status, patched.json.grade]).toEqual([200, 'A+'])
    const put = await client.send('PUT', '/enrolments/7,4', { student_id: 7, course_id: 4, grade: 'B+' })
    expect([put.status, put.json]).toEqual([200, { student_id: 7, course_id: 4, grade: 'B+' }])
    expect((await client.send('DELETE', '/enrolments/8,3')).status).toBe(204)
    expect(await stored()).toEqual([
      { student_id: 7, course_id: '3', grade: 'A+' },
      { student_id: 7, course_id: '4', grade: 'B+' },
      { student_id: 8, course_id: '9007199254740993', grade: 'D' },
    ])
  })

  it('is created with its path as Location', async () => {
    const client = await serveIt()
    const { status, headers } = await client.send('POST', '/enrolments', { student_id: 8, course_id: 5, grade: null })
    expect([status, headers['location']]).toEqual([201, '/enrolments/8,5'])
    expect((await client.get('/enrolments/8,5')).json).toEqual({ student_id: 8, course_id: 5, grade: null })
    const again = await client.send('POST', '/enrolments', { student_id: 8, course_id: 5 })
    expect([again.status, again.json.errors]).toEqual([
      400,
      { non_field_errors: ['The fields student_id, course_id must make a unique set.'] },
    ])
  })

  it('keeps all digits of its parts', async () => {
    const client = await serveIt()
    const { json } = await client.get('/enrolments/8,9007199254740993')
    expect(json).toEqual({ student_id: 8, course_id: '9007199254740993', grade: 'D' })
    expect((await client.get('/enrolments/8,9007199254740992')).status).toBe(404)
  })

  it('is found by nothing else', async () => {
    const client = await serveIt()
    for (const key of WRONG_KEYS) {
      for (const method of ['GET', 'PATCH', 'DELETE']) {
        const body = method === 'PATCH' ? { grade: 'F' } : undefined
        const { status } = await client.send(method, `/enrolments/${key}`, body)
        expect([key, method, status]).toEqual([key, method, 404])
      }
    }
    expect(await stored()).toHaveLength(4)
  })

  it('is found where a client has encoded the comma, too', async () => {
    const client = await serveIt()
    expect((await client.get('/enrolments/7%2C3')).json.grade).toBe('A')
  })
})

describe('a part of a key', () => {
  it.each([
    ['at', 'Wien', 'at,Wien'],
    ['us', 'Boise, Idaho', 'us,%22Boise,%20Idaho%22'],
    ['fr', 'a"b', 'fr,%22a%5C%22b%22'],
    ['de', '"', 'de,%22%5C%22%22'],
    ['ch', 'back\\slash', 'ch,back%5Cslash'],
    ['it', 'both \\" and ,', 'it,%22both%20%5C%5C%5C%22%20and%20,%22'],
    ['pt', 'été 🏖', 'pt,%C3%A9t%C3%A9%20%F0%9F%8F%96'],
    ['a,b', 'c', '%22a,b%22,c'],
    ['se', '100%', 'se,100%25'],
    ['fi', 'name.csv', 'fi,name.csv'],
    ['..', '.', '..,.'],
    ['dk', 'a:b;c=d&e?f#g', 'dk,a%3Ab%3Bc%3Dd%26e%3Ff%23g'],
  ])('that is a text is written so that it can be read back: %j, %j', async (country, name, key) => {
    const client = await serveViews({ places: viewOf(Place, PlaceSerializer) })
    const { status, headers, json } = await client.send('POST', '/places', { country, name, size: 1 })
    expect([status, headers['location'], json]).toEqual([201, `/places/${key}`, { country, name, size: 1 }])
    expect((await client.get(`/places/${key}`)).json).toEqual(json)
    expect((await client.send('PUT', `/places/${key}`, { ...json, size: 2 })).json).toEqual({ ...json, size: 2 })
  })

  it('may be empty', async () => {
    const client = await serveViews({ places: viewOf(Place, PlaceSerializer) })
    await database.knex('places').insert([
      { country: 'no', name: '', size: 1 },
      { country: '', name: '', size: 2 },
    ])
    expect((await client.get('/places/no,')).json.size).toBe(1)
    expect((await client.get('/places/,')).json.size).toBe(2)
    expect((await client.get('/places/%22%22,%22%22')).json.size).toBe(2)
  })

  it('is read as a value of its type, microseconds and decimals included', async () => {
    const client = await serveViews({ readings: viewOf(Reading, ReadingSerializer) })
    const station = '0190b4a8-7a5c-7d3e-9a6f-0123456789ab'
    const reading = { station, at: '2026-03-28T10:00:00.123456Z', value: '12.50', note: null }
    const { status, headers } = await client.send('POST', '/readings', reading)
    expect([status, headers['location']]).toEqual([201, `/readings/${station},2026-03-28T10%3A00%3A00.123456Z,12.50`])
    expect((await client.get(headers['location'] as string)).json).toEqual(reading)
    const spelled = `/readings/${station.toUpperCase()},2026-03-28T11:00:00.123456%2B01:00,12.5`
    expect((await client.send('PATCH', spelled, { note: 'x' })).json).toEqual({ ...reading, note: 'x' })
    expect((await client.get(`/readings/${station},2026-03-28T10:00:00.123457Z,12.50`)).status).toBe(404)
    expect((await client.send('DELETE', spelled)).status).toBe(204)
    expect(await database.knex('readings')).toEqual([])
  })

  it('is shown and read as the external id of what it leads to', async () => {
    class Visit extends Model {
      static override tableName = 'enrolments'
      static override idColumn = ['student_id', 'course_id']
      static override relationMappings = () => ({
        student: {
          relation: Model.BelongsToOneRelation,
          modelClass: Student,
          join: { from: 'enrolments.student_id', to: 'students.id' },
        },
      })
    }
    const client = await serveViews({
      visits: viewOf(Visit, serializerOf(Visit, ['student_id', 'course_id', 'grade'])),
    })
    const [first] = (await client.get('/visits')).json
    expect(first).toEqual({ student_id: expect.not.stringMatching(/^7$/), course_id: 3, grade: 'A' })
    expect((await client.get(`/visits/${first.student_id},3`)).json).toEqual(first)
    expect((await client.get('/visits/7,3')).status).toBe(404)
    const { headers } = await client.send('POST', '/visits', { student_id: first.student_id, course_id: 9 })
    expect(headers['location']).toBe(`/visits/${first.student_id},9`)
    const changed = await client.send('PATCH', '/visits/bulk', [
      { student_id: first.student_id, course_id: 9, grade: 'Z' },
    ])
    expect([changed.status, changed.json[0].grade]).toEqual([200, 'Z'])
  })
})

describe('bulk requests', () => {
  it('name objects by all members of their key', async () => {
    const client = await served()
    const { status, json } = await client.send('PATCH', '/enrolments/bulk', [
      { student_id: 8, course_id: '9007199254740993', grade: 'X' },
      { student_id: 7, course_id: 4, grade: 'Y' },
    ])
    expect([status, json]).toEqual([
      200,
      [
        { student_id: 8, course_id: '9007199254740993', grade: 'X' },
        { student_id: 7, course_id: 4, grade: 'Y' },
      ],
    ])
    expect((await stored()).map(({ grade }) => grade)).toEqual(['A', 'Y', 'C', 'X'])
  })

  it('name them by members that the output does not show, too', async () => {
    const client = await serveViews({ enrolments: viewOf(Enrolment, serializerOf(Enrolment, ['student_id', 'grade'])) })
    const item = { student_id: 7, course_id: 4, grade: 'B+' }
    expect((await client.send('PATCH', '/enrolments/bulk', [item])).json).toEqual([{ student_id: 7, grade: 'B+' }])
    expect((await client.get('/enrolments/7,4')).json).toEqual({ student_id: 7, grade: 'B+' })
  })

  it('delete what is named by members, or by the string that paths have', async () => {
    const client = await served()
    const { status, json } = await client.send('DELETE', '/enrolments/bulk', [
      '8,3',
      { student_id: 8, course_id: '9007199254740993' },
    ])
    expect([status, json]).toEqual([200, { deleted: ['8,3', '8,9007199254740993'] }])
    expect(await stored()).toHaveLength(2)
  })

  it('say of each item what is wrong with its key, and do nothing', async () => {
    const client = await served()
    const { status, json } = await client.send('PATCH', '/enrolments/bulk', [
      { student_id: 7, course_id: 3, grade: 'F' },
      { student_id: 7, grade: 'F' },
      { student_id: null, course_id: 'x', grade: 'F' },
      { student_id: 7, course_id: 5, grade: 'F' },
      { student_id: 3, course_id: 7, grade: 'F' },
      { student_id: 7, course_id: '3', grade: 'F' },
      {},
    ])
    expect([status, json.errors]).toEqual([
      400,
      {
        1: { course_id: ['This field is required.'] },
        2: {
          student_id: ['This field may not be null.'],
          course_id: ['Invalid pk "x" - object does not exist.'],
        },
        3: { non_field_errors: ['Invalid pk "7,5" - object does not exist.'] },
        4: { non_field_errors: ['Invalid pk "3,7" - object does not exist.'] },
        5: { non_field_errors: ['Invalid pk "7,3" - listed more than once.'] },
        6: { student_id: ['This field is required.'], course_id: ['This field is required.'] },
      },
    ])
    const deleted = await client.send('DELETE', '/enrolments/bulk', ['7', 7, null, '7,3,4', '7,5', ['7', '3'], '7,3'])
    expect([deleted.status, Object.keys(deleted.json.errors)]).toEqual([400, ['0', '1', '2', '3', '4', '5']])
    expect((await stored()).map(({ grade }) => grade)).toEqual(['A', 'B', 'C', 'D'])
  })

  it('send as many statements and parameters for one item as for many', async () => {
    const client = await served()
    await database.knex.raw("insert into enrolments select 7, n, 'N' from generate_series(100, 199) n")
    const sent: { sql: string; bindings: unknown[] }[] = []
    const listen = (query: { sql: string; bindings: unknown[] }) => sent.push(query)
    database.knex.on('query', listen)
    const items = Array.from({ length: 100 }, (_, n) => `7,${100 + n}`)
    expect((await client.send('DELETE', '/enrolments/bulk', items)).status).toBe(200)
    database.knex.off('query', listen)
    const asked = sent.filter(({ sql }) => /^(select|delete)/.test(sql))
    expect(asked.map(({ bindings }) => bindings?.length)).toEqual([2, 2])
  })

  it('that name rows in other orders do not wait for each other', async () => {
    const client = await served()
    const orders = ['7,3 7,4 8,3'.split(' '), '8,3 7,4 7,3'.split(' ')] as const
    const body = (keys: readonly string[], grade: string) =>
      keys.map((key) => ({ student_id: Number(key.split(',')[0]), course_id: Number(key.split(',')[1]), grade }))
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        client.send('PATCH', '/enrolments/bulk', body(n % 2 ? orders[0] : orders[1], `g${n}`)),
      ),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  })
})

describe('objects below one with a key of two columns', () => {
  const nested = async (statics: object = {}, above: object = {}) => {
    const api = new APIRouter().register('enrolments', enrolments(above), 'enrolment')
    class Marks extends NestedViewSetMixin(
      viewOf(Mark, serializerOf(Mark, ['id', 'student_id', 'course_id', 'points'])),
    ) {
      static override parentLookupField = 'enrolment'
    }
    new NestedRouter(api, 'enrolments', { lookup: 'enrolment' }).register(
      'marks',
      Object.assign(Marks, statics),
      'mark',
    )
    return serveRouter(api)
  }

  it.each([
    ['as rows', {}, {}],
    ['as native JSON', { useNativeJson: true }, {}],
    ['below what permissions look at', {}, { permissionClasses: [IsAuthenticatedOrReadOnly] }],
  ])('are those of the whole key, %s', async (_how, statics, above) => {
    const client = await nested(statics, above)
    const points = async (key: string) =>
      (await client.get(`/enrolments/${key}/marks`)).json.map((mark: any) => mark.points)
    expect(await points('7,3')).toEqual([10, 40])
    expect(await points('7,4')).toEqual([20])
    expect(await points('8,9007199254740993')).toEqual([])
    for (const key of ['8,4', '3,7', '7', 'x,3'])
      expect((await client.get(`/enrolments/${key}/marks`)).status).toBe(404)
    expect((await client.get('/enrolments/7,3/marks/1')).json.points).toBe(10)
    expect((await client.get('/enrolments/7,4/marks/1')).status).toBe(404)
  })

  it('belong to the one on the path, whatever the body says', async () => {
    const client = await nested()
    const { status, json, headers } = await client.send('POST', '/enrolments/7,4/marks', {
      student_id: 8,
      course_id: 3,
      points: 5,
    })
    expect([status, json]).toEqual([201, { id: 4, student_id: 7, course_id: 4, points: 5 }])
    expect(headers['location']).toBe('/enrolments/7,4/marks/4')
    const patched = await client.send('PATCH', '/enrolments/7,4/marks/4', { student_id: 8, course_id: 3, points: 6 })
    expect(patched.json).toEqual({ id: 4, student_id: 7, course_id: 4, points: 6 })
    expect((await client.send('PATCH', '/enrolments/7,3/marks/4', { points: 7 })).status).toBe(404)
    const bulk = await client.send('POST', '/enrolments/7,4/marks/bulk', [{ points: 1 }, { student_id: 8, points: 2 }])
    expect(bulk.json.map((mark: any) => [mark.student_id, mark.course_id])).toEqual([
      [7, 4],
      [7, 4],
    ])
    expect((await client.send('POST', '/enrolments/8,4/marks', { points: 1 })).status).toBe(404)
    expect((await client.send('DELETE', '/enrolments/7,3/marks/bulk', [1, 4])).status).toBe(400)
  })

  it('may refer to it by a relation that names its columns in another order', async () => {
    class Turned extends Mark {
      static override relationMappings = () => ({
        enrolment: {
          relation: Model.BelongsToOneRelation,
          modelClass: Enrolment,
          join: {
            from: ['marks.course_id', 'marks.student_id'],
            to: ['enrolments.course_id', 'enrolments.student_id'],
          },
        },
      })
    }
    const api = new APIRouter().register('enrolments', enrolments(), 'enrolment')
    class Marks extends NestedViewSetMixin(viewOf(Turned, serializerOf(Turned, ['id', 'points']))) {
      static override parentLookupField = 'enrolment'
    }
    new NestedRouter(api, 'enrolments', { lookup: 'enrolment' }).register('marks', Marks, 'mark')
    const client = await serveRouter(api)
    expect((await client.get('/enrolments/7,3/marks')).json.map((mark: any) => mark.points)).toEqual([10, 40])
    expect((await client.get('/enrolments/8,4/marks')).status).toBe(404)
    expect((await client.send('POST', '/enrolments/7,4/marks', { points: 1 })).status).toBe(201)
    expect(await database.knex('marks').orderBy('id', 'desc').first()).toMatchObject({ student_id: 7, course_id: '4' })
  })

  it('are not found by one column of the key alone', async () => {
    const api = new APIRouter().register('enrolments', enrolments(), 'enrolment')
    class Marks extends NestedViewSetMixin(viewOf(Mark, serializerOf(Mark, ['id', 'points']))) {
      static override parentLookupField = 'student_id'
    }
    new NestedRouter(api, 'enrolments', { lookup: 'enrolment' }).register('marks', Marks, 'mark')
    await expect(api.prepare()).rejects.toThrow(
      'Marks: parentLookupField "student_id" leads to one of the columns that are the key of Enrolment together; name the relation that has all of them',
    )
  })
})

describe('relations to objects with a key of two columns', () => {
  class Tagged extends Mark {
    static override relationMappings = () => ({
      ...Mark.relationMappings(),
      others: {
        relation: Model.ManyToManyRelation,
        modelClass: Enrolment,
        join: {
          from: 'marks.id',
          through: { from: 'others.mark_id', to: ['others.student_id', 'others.course_id'] },
          to: ['enrolments.student_id', 'enrolments.course_id'],
        },
      },
    })
  }

  it('show the keys that paths have', async () => {
    await database.knex.raw(`
      create table others (mark_id int, student_id int, course_id bigint);
      insert into others values (1, 8, 3), (1, 8, 9007199254740993)`)
    const serializer = serializerOf(Tagged, ['id', 'enrolment', 'others'])
    const client = await serveViews({ marks: viewOf(Tagged, serializer) })
    expect((await client.get('/marks')).json).toEqual([
      { id: 1, enrolment: '7,3', others: ['8,3', '8,9007199254740993'] },
      { id: 2, enrolment: '7,4', others: [] },
      { id: 3, enrolment: '7,3', others: [] },
    ])
    const { status, json } = await client.send('PATCH', '/marks/2', { enrolment: '7,3', others: ['7,3'] })
    expect([status, json]).toEqual([200, { id: 2, enrolment: '7,4', others: [] }])
  })

  it('are refused as lists that clients write', async () => {
    const serializer = serializerOf(Tagged, ['id', 'others'], {
      others: new PrimaryKeyRelatedField({ many: true, queryset: Enrolment }),
    })
    const api = routerOf({ marks: viewOf(Tagged, serializer) })
    await expect(api.prepare()).rejects.toThrow(
      'field "others" is a list of keys of several columns; set readOnly: true',
    )
  })

  it('name none of a nested list by a key that its table makes and that none of them has', async () => {
    const Notice = tableOf('notices', { idColumn: ['student_id', 'id'] })
    class Noticed extends Model {
      static override tableName = 'students'
      static override relationMappings = () => ({
        notices: {
          relation: Model.HasManyRelation,
          modelClass: Notice,
          join: { from: 'students.id', to: 'notices.student_id' },
        },
      })
    }
    const notices = new NestedSerializer(serializerOf(Notice, ['id', 'text']), { many: true, required: false })
    const { send } = await serveViews({ students: viewOf(Noticed, serializerOf(Noticed, ['id'], { notices })) })
    const add = async (student: number): Promise<number> =>
      (await send('PATCH', `/students/${student}`, { notices: [{ text: 'new' }] })).json.notices[0].id
    const [id, others] = [await add(8), await add(7)]
    const change = (key: number) => send('PATCH', '/students/8', { notices: [{ id: key, text: 'changed' }] })
    expect((await change(id)).json.notices).toEqual([{ id, text: 'changed' }])
    for (const key of [others, 99]) {
      expect(await change(key)).toMatchObject({
        status: 400,
        json: { errors: { notices: { 0: { id: [`Invalid pk "${key}" - object does not exist.`] } } } },
      })
    }
    expect(await database.knex('notices').count()).toEqual([{ count: '2' }])
  })

  it('name objects of a nested list, and the one nested object, by a boolean', async () => {
    const own = await createDatabase({
      schema: `create table sides (is_left bool primary key, name text); insert into sides values (true, 'a'), (false, 'b');
        create table pages (id int primary key, is_left bool references sides); insert into pages values (1, false);
        create table notes (page_id int references pages, is_open bool, text text, primary key (page_id, is_open));
        insert into notes values (1, true, 'a'), (1, false, 'b');`,
    })
    onTestFinished(() => own.drop())
    const Side = tableOf('sides', { idColumn: 'is_left' })
    const Note = tableOf('notes', { idColumn: ['page_id', 'is_open'] })
    class Page extends Model {
      static override tableName = 'pages'
      static override relationMappings = () => ({
        side: {
          relation: Model.BelongsToOneRelation,
          modelClass: Side,
          join: { from: 'pages.is_left', to: 'sides.is_left' },
        },
        notes: { relation: Model.HasManyRelation, modelClass: Note, join: { from: 'pages.id', to: 'notes.page_id' } },
      })
    }
    for (const model of [Side, Note, Page]) model.knex(own.knex)
    const serializer = serializerOf(Page, ['side', 'notes'], {
      side: new NestedSerializer(serializerOf(Side, ['is_left', 'name'])),
      notes: new NestedSerializer(serializerOf(Note, ['is_open', 'text']), { many: true }),
    })
    const { send } = await serveViews({ pages: viewOf(Page, serializer) })
    const side = { is_left: false, name: 'c' }
    const notes = [
      { is_open: false, text: 'c' },
      { is_open: true, text: 'd' },
    ]
    expect(await send('PATCH', '/pages/1', { side, notes })).toMatchObject({ status: 200, json: { side, notes } })
    const wrong = await send('PATCH', '/pages/1', { side: { ...side, is_left: true } })
    expect(wrong.json.errors).toEqual({ side: { is_left: ['Invalid pk true - object does not exist.'] } })
  })

  const Hobby = tableOf('hobbies')
  const HobbySerializer = serializerOf(Hobby, ['id', 'name'])
  const shownHobby = new PrimaryKeyRelatedField({ queryset: Hobby, shownBy: HobbySerializer })
  it.each([
    [
      'a key beside the object',
      ['hobby_id', 'hobby'],
      { hobby: new NestedSerializer(HobbySerializer, { readOnly: true }) },
      [{ hobby_id: 1 }],
    ],
    ['a key that is shown as the object', ['hobby'], { hobby: shownHobby }, [{ hobby: 1 }, { hobby: { id: 1 } }]],
    ['a key, twice', ['hobby_id', 'hobby'], { hobby: shownHobby }, [{ hobby_id: 1 }]],
    [
      'a slug',
      ['hobby'],
      { hobby: new SlugRelatedField({ queryset: Hobby, slugField: 'name' }) },
      [{ hobby: 'chess' }],
    ],
  ])('name objects of a join table within a list by %s', async (_name, fields, declared, named) => {
    class Pursuit extends Model {
      static override tableName = 'pursuits'
      static override idColumn = ['student_id', 'hobby_id']
      static override relationMappings = () => ({
        hobby: {
          relation: Model.BelongsToOneRelation,
          modelClass: Hobby,
          join: { from: 'pursuits.hobby_id', to: 'hobbies.id' },
        },
      })
    }
    class Busy extends Model {
      static override tableName = 'students'
      static override relationMappings = () => ({
        pursuits: {
          relation: Model.HasManyRelation,
          modelClass: Pursuit,
          join: { from: 'students.id', to: 'pursuits.student_id' },
        },
      })
    }
    await database.knex.raw('truncate pursuits; insert into pursuits values (7, 1, 5), (7, 2, 6), (8, 1, 7)')
    const pursuits = new NestedSerializer(serializerOf(Pursuit, [...fields, 'hours'], declared), { many: true })
    const { send, get } = await serveViews({
      students: viewOf(Busy, serializerOf(Busy, ['id', 'pursuits'], { pursuits })),
    })
    for (const [position, key] of named.entries()) {
      const changed = await send('PATCH', '/students/7', { pursuits: [{ ...key, hours: position }] })
      expect(changed.json.pursuits).toMatchObject([{ hours: position }, { hours: 6 }])
      const twice = await send('PATCH', '/students/7', { pursuits: [key, { ...key, hours: 9 }] })
      expect([twice.status, twice.text]).toEqual([400, expect.stringContaining('listed more than once')])
    }
    const read = (await get('/students/7')).json
    expect(await send('PUT', '/students/7', read)).toMatchObject({ status: 200, json: read })
  })

  it('write the columns of a foreign key, which the database checks together', async () => {
    const serializer = serializerOf(Mark, ['id', 'student_id', 'course_id', 'points'])
    const client = await serveViews({ marks: viewOf(Mark, serializer) })
    const { status, json } = await client.send('POST', '/marks', { student_id: 8, course_id: 4 })
    expect([status, json.errors]).toEqual([
      400,
      { non_field_errors: ['The values of student_id, course_id name no object that exists.'] },
    ])
    expect((await client.send('POST', '/marks', { student_id: 8, course_id: 3 })).status).toBe(201)
  })

  it('are narrowed by columns of theirs', async () => {
    const client = await serveViews({
      marks: viewOf(Mark, serializerOf(Mark, ['id']), {
        filterBackends: [FieldFilter],
        filtersetFields: ['enrolment__grade', 'student_id'],
      }),
    })
    expect((await client.get('/marks?enrolment__grade=A')).json).toEqual([{ id: 1 }, { id: 3 }])
    expect((await client.get('/marks?student_id=7&enrolment__grade=B')).json).toEqual([{ id: 2 }])
  })
})

describe('what else a key of two columns is used for', () => {
  it('cursors pass over no row of those that are alike', async () => {
    const client = await served({ paginationClass: new CursorPagination({ pageSize: 1 }), ordering: ['student_id'] })
    const seen: string[] = []
    for (let path: string | null = '/enrolments'; path !== null; ) {
      const { json }: { json: any } = await client.get(path)
      seen.push(...json.results.map((one: any) => `${one.student_id},${one.course_id}`))
      path = json.next && new URL(json.next, 'http://x').pathname + new URL(json.next, 'http://x').search
    }
    expect(seen).toEqual(['7,3', '7,4', '8,3', '8,9007199254740993'])
  })

  it('versions: If-Match is that of the row with the whole key', async () => {
    const client = await served({ concurrency: 'version' })
    const { headers } = await client.get('/enrolments/7,3')
    const etag = headers['etag'] as string
    expect((await client.send('PATCH', '/enrolments/7,4', { grade: 'Z' }, { 'If-Match': etag })).status).toBe(412)
    expect((await client.send('PATCH', '/enrolments/7,3', { grade: 'Z' }, { 'If-Match': etag })).status).toBe(200)
    expect((await client.send('PATCH', '/enrolments/7,3', { grade: 'Y' }, { 'If-Match': etag })).status).toBe(412)
  })

  it('soft deletes mark the one row', async () => {
    const client = await served({ softDelete: 'deleted_at' })
    expect((await client.send('DELETE', '/enrolments/7,3')).status).toBe(204)
    expect((await client.get('/enrolments/7,3')).status).toBe(404)
    expect((await client.send('DELETE', '/enrolments/bulk', ['8,3', '7,4'])).status).toBe(200)
    expect((await client.get('/enrolments')).json).toHaveLength(1)
    expect(await stored()).toHaveLength(4)
  })

  it('a key that changes is found at its new path', async () => {
    const client = await served()
    await database.knex('marks').delete()
    expect((await client.send('PATCH', '/enrolments/8,3', { course_id: 5 })).json).toEqual({
      student_id: 8,
      course_id: 5,
      grade: 'C',
    })
    expect((await client.get('/enrolments/8,3')).status).toBe(404)
    expect((await client.get('/enrolments/8,5')).json.grade).toBe('C')
    expect((await client.send('PATCH', '/enrolments/8,5', { student_id: 7, course_id: 3 })).status).toBe(400)
  })

  it('a route written by hand takes it, too', async () => {
    class OneEnrolment extends RetrieveUpdateAPIView {
      static override model = Enrolment
      static override serializerClass = EnrolmentSerializer
    }
    const router = new Router().all('/:id', OneEnrolment.asView())
    const client = await serveApp(router.routes() as never)
    expect((await client.get('/7,3')).json.grade).toBe('A')
    expect((await client.send('PATCH', '/7,3', { grade: 'B' })).json.grade).toBe('B')
    expect((await client.get('/7')).status).toBe(404)
  })

  it('the document says what the path is made of', async () => {
    const api = routerOf({ enrolments: enrolments() })
    await api.prepare()
    const document = api.getSchema()
    const path = (document.paths as any)['/enrolments/{id}']
    const [parameter] = path.parameters ?? path.get.parameters
    expect(parameter).toMatchObject({
      name: 'id',
      in: 'path',
      description: expect.stringMatching(
        /^Names the enrolments: student_id,course_id, with commas between the values; one that holds a comma or a quotation mark stands in quotation marks\./,
      ),
      schema: { type: 'string' },
    })
  })

  it('explain() shows the statement by both columns', async () => {
    const api = routerOf({ enrolments: enrolments() })
    await api.prepare()
    const [explained] = await api.explain('enrolments-retrieve')
    expect(explained?.statements[0]?.sql).toContain('"enrolments"."student_id" = $1 and "enrolments"."course_id" = $2')
  })
})

describe('a key with a part that is no number', () => {
  it.each([
    ['boolean', true, '1,true'],
    ['boolean', false, '1,false'],
    ['timestamptz', '2026-01-01T00:00:00.123456Z', '1,2026-01-01T00:00:00.123456Z'],
    ['interval', 'P1DT2H', '1,P1DT2H'],
    ['numeric(8,2)', '1.50', '1,1.50'],
  ])('%s %s is in Location and in bulk requests as the object shows it', async (type, value, key) => {
    const own = await createDatabase({ schema: `create table parts (id int, b ${type}, t text, primary key (id, b))` })
    onTestFinished(() => own.drop())
    const Part = tableOf('parts', { idColumn: ['id', 'b'] })
    Part.knex(own.knex)
    const serializer = serializerOf(Part, ['id', 'b', 't'])
    const { get, send } = await serveViews({
      rows: viewOf(Part, serializer),
      native: viewOf(Part, serializer, { useNativeJson: true }),
    })
    for (const way of ['rows', 'native']) {
      await own.knex('parts').delete()
      const created = await send('POST', `/${way}`, { id: 1, b: value, t: 'x' })
      const location = String(created.headers['location'])
      expect(decodeURIComponent(location)).toBe(`/${way}/${key}`)
      expect((await get(location)).json).toEqual({ id: 1, b: value, t: 'x' })
      const changed = await send('PATCH', `/${way}/bulk`, [{ id: 1, b: value, t: 'y' }])
      expect(changed.json).toEqual([{ id: 1, b: value, t: 'y' }])
      expect((await send('DELETE', `/${way}/bulk`, [key])).json).toEqual({ deleted: [key] })
    }
  })

  it('a relation to it that may lead nowhere is described as null, too', async () => {
    const own = await createDatabase({
      schema: `create table seats (r int, c int, primary key (r, c)); insert into seats values (1, 2);
        create table guests (id int primary key, r int, c int, foreign key (r, c) references seats);
        insert into guests values (1, 1, 2), (2, null, null);`,
    })
    onTestFinished(() => own.drop())
    const Seat = tableOf('seats', { idColumn: ['r', 'c'] })
    class Guest extends Model {
      static override tableName = 'guests'
      static override relationMappings = () => ({
        seat: {
          relation: Model.BelongsToOneRelation,
          modelClass: Seat,
          join: { from: ['guests.r', 'guests.c'], to: ['seats.r', 'seats.c'] },
        },
      })
    }
    for (const model of [Seat, Guest]) model.knex(own.knex)
    const { get } = await serveViews({ guests: viewOf(Guest, serializerOf(Guest, ['id', 'seat'])) })
    // what is answered is held to the document
    expect((await get('/guests')).json).toEqual([
      { id: 1, seat: '1,2' },
      { id: 2, seat: null },
    ])
  })
})
