/** Two features that meet in one request. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import knexLibrary, { type Knex } from 'knex'
import {
  APIRouter,
  CursorPagination,
  configure,
  FileUploadField,
  genericViewSet,
  IDMixin,
  JSONRenderer,
  ListMixin,
  ModelSerializer,
  ModelViewSet,
  NDJSONRenderer,
  NestedRouter,
  NestedSerializer,
  NestedViewSetMixin,
  PageNumberPagination,
  ReadOnlyModelViewSet,
  ServerCursorPagination,
  StreamMixin,
  StringField,
  UUIDField,
} from 'koa-viewsets'
import { FileSystemStorage } from 'koa-viewsets/storage'
import { Model } from 'objection'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { database, Author as LibraryAuthor, Book as LibraryBook, useLibrary } from '../support/library.js'
import { MULTIPART, multipart } from '../support/multipart.js'
import { runsAsRole } from '../support/roles.js'
import { connectTo } from '../support/server.js'
import { serializerOf, serveRouter, serveViews, tableOf, type ViewSetClass, viewOf } from '../support/views.js'

const SCHEMA = `
  create table nodes (id int primary key, parent_id int references nodes, n int not null default 0);
  create table contracts (id serial primary key, title text not null, file text);
  create table writers (id int primary key, tenant_id int not null, name text not null, unique (tenant_id, id));
  insert into writers values (1, 1, 'Ada');
  create table texts (
    id serial primary key, title text not null, tenant_id int not null default 1, writer_id int, reviewer_id int,
    foreign key (tenant_id, writer_id) references writers (tenant_id, id),
    foreign key (tenant_id, reviewer_id) references writers (tenant_id, id)
  );
  create table tenants (id int primary key);
  insert into tenants values (1), (2);
  create table staff (
    key int generated always as identity primary key, tenant_id int not null, id int not null, name text not null,
    unique (tenant_id, id)
  );
  create table notes (
    id serial primary key, title text not null, tenant_id int not null, staff_id int,
    foreign key (tenant_id, staff_id) references staff (tenant_id, id)
  );
  create table keyless (code text not null unique, title text);
  insert into keyless select 'c' || n, nullif(n % 3, 0)::text from generate_series(1, 9) n;
  create table countries (id int primary key, name text not null);
  insert into countries values (1, 'Ruritania');
  alter table authors add country_id int references countries;
  update authors set country_id = 1 where id = 1;
  insert into books (title, author_id) values ('one', 1);
  create table documents (id serial primary key, doc json);
  insert into documents (doc) values (E'{\\n "a": "b\\\\nc",\\r\\n "d": 1}');
  create table odd_names (n int, "a.dotted.name" text, "  spaces " text, "*" text, "x as y" text, "why?" json);
  insert into odd_names (n, "a.dotted.name") values (1, 'b'), (1, 'a'), (2, 'c');
  create table matrices (id int primary key, amounts numeric[][], times timestamptz[][]);
  insert into matrices values (1, '{{1.50,NULL},{123456789012345678901234567890.1,0.10}}',
    '{{2026-03-28 15:30:00.123456Z},{1969-12-31 23:59:59.999999Z}}');
  create table ranked (id uuid primary key default gen_random_uuid(), rank int, title text);
  insert into ranked (rank, title) select nullif(n % 4, 0), 'title ' || n from generate_series(1, 11) n;
  create table secrets (id serial primary key, slug text not null unique);
  insert into secrets (slug) values ('known');
`

useLibrary({ sql: SCHEMA, keep: true })

const folder = mkdtempSync(join(tmpdir(), 'crossings-'))
const storage = new FileSystemStorage({ root: folder, baseUrl: '/files' })

beforeAll(async () => {
  configure({ secretKey: '0123456789abcdef0123456789abcdef' })
})
afterAll(() => {
  configure({})
  rmSync(folder, { recursive: true })
})

class Country extends Model {
  static override tableName = 'countries'
}
class Author extends LibraryAuthor {
  static override relationMappings = () => ({
    ...LibraryAuthor.relationMappings(),
    country: {
      relation: Model.BelongsToOneRelation,
      modelClass: Country,
      join: { from: 'authors.country_id', to: 'countries.id' },
    },
  })
}
/** The library's, whose author is one of `author`. */
function booksOf(author: typeof LibraryAuthor) {
  return class Book extends LibraryBook {
    static override relationMappings = () => {
      const mappings = LibraryBook.relationMappings()
      return { ...mappings, author: { ...mappings.author, modelClass: author } }
    }
  }
}
const Book = booksOf(Author)

describe('[I6] Bulk requests over rows that refer to each other', () => {
  it('do not wait for each other', async () => {
    const Node = tableOf('nodes')
    await database.knex('nodes').insert([1, 2, 3, 4].map((id) => ({ id })))
    const { send } = await serveViews({ nodes: viewOf(Node, serializerOf(Node, ['id', 'parent_id', 'n'])) })
    const statuses = new Set<number>()
    for (let n = 0; n < 40; n++) {
      const answers = await Promise.all([
        send('PATCH', '/nodes/bulk', [{ id: 1, parent_id: 2 + (n % 2), n }]),
        send('PATCH', '/nodes/bulk', [
          { id: 2, parent_id: n % 2 ? 1 : null, n },
          { id: 3, parent_id: n % 2 ? null : 1, n },
        ]),
      ])
      for (const { status } of answers) statuses.add(status)
    }
    expect([...statuses]).toEqual([200])
  })

  it('leave rows that they change free to be referred to', async () => {
    const { send } = await serveViews({ authors: viewOf(Author, serializerOf(Author, ['id', 'name'])) })
    const trx = await database.knex.transaction()
    await trx('books').insert({ title: 'two', author_id: 1 })
    // the row's key is shared by the transaction that has just referred to it
    expect((await send('PATCH', '/authors/bulk', [{ id: 1, name: 'Ada' }])).status).toBe(200)
    await trx.rollback()
  })
})

describe('[F8] An upload that is not shown', () => {
  it('is kept', async () => {
    const Contract = tableOf('contracts')
    const file = new FileUploadField({ storage, writeOnly: true })
    const { port } = await serveViews({
      contracts: viewOf(Contract, serializerOf(Contract, ['id', 'title'], { file })),
    })
    const body = multipart(
      { name: 'title', content: 'x' },
      { name: 'file', filename: 'a.txt', type: 'text/plain', content: 'hello' },
    )
    const { status, json } = await connectTo(port).send({
      method: 'POST',
      path: '/contracts',
      headers: MULTIPART,
      body,
    })
    expect({ status, json }).toEqual({ status: 201, json: { id: 1, title: 'x' } })
    const [stored] = await database.knex('contracts').pluck('file')
    expect(readdirSync(folder, { recursive: true })).toContain(stored)
  })
})

describe('[E11] A nested object on a path', () => {
  const Writer = tableOf('writers')
  class Text extends Model {
    static override tableName = 'texts'
    static override relationMappings = () => ({
      writer: {
        relation: Model.BelongsToOneRelation,
        modelClass: Writer,
        join: { from: ['texts.tenant_id', 'texts.writer_id'], to: ['writers.tenant_id', 'writers.id'] },
      },
    })
  }
  const writer = new NestedSerializer(serializerOf(Writer, ['tenant_id', 'id', 'name']), { allowNull: true })

  const Staff = tableOf('staff', { idColumn: 'key' })
  class Note extends Model {
    static override tableName = 'notes'
    static override relationMappings = () => ({
      staff: {
        relation: Model.BelongsToOneRelation,
        modelClass: Staff,
        join: { from: ['notes.tenant_id', 'notes.staff_id'], to: ['staff.tenant_id', 'staff.id'] },
      },
    })
  }
  const staff = new NestedSerializer(serializerOf(Staff, ['tenant_id', 'id', 'name']), { allowNull: true })

  it('cannot move its row where the foreign key has several columns', async () => {
    class Texts extends NestedViewSetMixin(ModelViewSet<Model>) {
      static override model = Text
      static override serializerClass = serializerOf(Text, ['id', 'title', 'writer'], { writer })
      static override parentLookupField = 'writer_id'
    }
    const Writers = viewOf(Writer, serializerOf(Writer, ['id', 'name']))
    const api = new APIRouter().register('writers', Writers, 'writer')
    new NestedRouter(api, 'writers', { lookup: 'writer' }).register('texts', Texts, 'text')
    const { get, send } = await serveRouter(api)
    const { schemas } = api.getSchema().components as any
    expect(schemas[`${Texts.serializerClass.schemaName}Input`].required).toEqual(['title'])
    const other = { tenant_id: 1, id: 2, name: 'Eve' }
    const created = await send('POST', '/writers/1/texts', { title: 't', writer: other })
    expect(created).toMatchObject({ status: 201, json: { writer: { id: 1 } } })
    const own = created.headers['location'] as string
    expect((await get(own)).status).toBe(200)
    expect((await send('PATCH', own, { writer: null })).json).toMatchObject({ writer: { id: 1 } })
    expect(await database.knex('writers').pluck('name')).toEqual(['Ada'])
  })

  it('is written where its foreign key shares a column with that of the path, and stays in the parent', async () => {
    const Tenant = tableOf('tenants')
    class Notes extends NestedViewSetMixin(ModelViewSet<Model>) {
      static override model = Note
      static override serializerClass = serializerOf(Note, ['id', 'title', 'staff'], { staff })
      static override parentLookupField = 'tenant_id'
    }
    const api = new APIRouter().register('tenants', viewOf(Tenant, serializerOf(Tenant, ['id'])), 'tenant')
    new NestedRouter(api, 'tenants', { lookup: 'tenant' }).register('notes', Notes, 'note')
    const { get, send } = await serveRouter(api)
    const eve = { tenant_id: 1, id: 7, name: 'Eve' }
    const created = await send('POST', '/tenants/1/notes', { title: 't', staff: eve })
    expect(created).toMatchObject({ status: 201, json: { staff: eve } })
    const own = created.headers['location'] as string
    expect((await send('PATCH', own, { staff: { name: 'Eva' } })).json).toMatchObject({
      staff: { ...eve, name: 'Eva' },
    })
    // one of another tenant, though this one has one with that id
    const mallory = { tenant_id: 2, id: 7, name: 'Mallory' }
    const refused = { staff: ['Invalid value.'] }
    expect((await send('POST', '/tenants/1/notes', { title: 't', staff: mallory })).json.errors).toEqual(refused)
    expect((await send('PATCH', own, { staff: null })).json).toMatchObject({ staff: null })
    expect((await send('PATCH', own, { staff: mallory })).json.errors).toEqual(refused)
    expect(await database.knex('staff').pluck('name')).toEqual(['Eva'])
    expect((await get(own)).status).toBe(200)
  })

  it('is written where it is of the same table as its parent, and shares a column with its key', async () => {
    class Reviewed extends Text {
      static override relationMappings = () => ({
        ...Text.relationMappings(),
        reviewer: {
          relation: Model.BelongsToOneRelation,
          modelClass: Writer,
          join: { from: ['texts.tenant_id', 'texts.reviewer_id'], to: ['writers.tenant_id', 'writers.id'] },
        },
      })
    }
    class Texts extends NestedViewSetMixin(ModelViewSet<Model>) {
      static override model = Reviewed
      static override serializerClass = serializerOf(Reviewed, ['id', 'title', 'reviewer'], { reviewer: writer })
      static override parentLookupField = 'writer'
    }
    const Writers = viewOf(Writer, serializerOf(Writer, ['id', 'name']))
    const api = new APIRouter().register('writers', Writers, 'writer')
    new NestedRouter(api, 'writers', { lookup: 'writer' }).register('texts', Texts, 'text')
    const { send } = await serveRouter(api)
    const reviewer = { tenant_id: 1, id: 5, name: 'Rae' }
    const { status, json } = await send('POST', '/writers/1/texts', { title: 't', reviewer })
    expect([status, json.reviewer]).toEqual([201, reviewer])
    expect(await database.knex('texts').where('id', json.id)).toMatchObject([{ writer_id: 1, reviewer_id: 5 }])
    const other = { tenant_id: 2, id: 6, name: 'Mallory' }
    const refused = await send('POST', '/writers/1/texts', { title: 't', reviewer: other })
    expect(refused.json.errors).toEqual({ reviewer: ['Invalid value.'] })
    await database.knex('texts').where('id', json.id).delete()
    await database.knex('writers').where('id', 5).delete()
  })

  it('is written in a list of its owner where it shares a column, and stays with the owner', async () => {
    class Tenant extends Model {
      static override tableName = 'tenants'
      static override relationMappings = () => ({
        notes: {
          relation: Model.HasManyRelation,
          modelClass: Note,
          join: { from: 'tenants.id', to: 'notes.tenant_id' },
        },
      })
    }
    const notes = new NestedSerializer(serializerOf(Note, ['id', 'title', 'staff'], { staff }), { many: true })
    const { send } = await serveViews({ tenants: viewOf(Tenant, serializerOf(Tenant, ['id', 'notes'], { notes })) })
    await database.knex('notes').delete()
    await database.knex('staff').delete()
    const eve = { tenant_id: 1, id: 7, name: 'Eve' }
    const written = await send('PATCH', '/tenants/1', {
      notes: [
        { title: 't', staff: eve },
        { title: 'u', staff: null },
      ],
    })
    expect(written).toMatchObject({ status: 200, json: { notes: [{ staff: eve }, { staff: null }] } })
    const [, { id }] = written.json.notes
    const mallory = { tenant_id: 2, id: 7, name: 'Mallory' }
    for (const note of [
      { title: 'v', staff: mallory },
      { id, staff: mallory },
    ]) {
      const refused = await send('PATCH', '/tenants/1', { notes: [note] })
      expect(refused.json.errors).toEqual({ notes: { 0: { staff: ['Invalid value.'] } } })
    }
    expect(await database.knex('notes').pluck('tenant_id')).toEqual([1, 1])
    expect(await database.knex('staff').pluck('name')).toEqual(['Eve'])
  })

  it('cannot move its row in a list of its owner either', async () => {
    class Owner extends Writer {
      static override relationMappings = () => ({
        texts: {
          relation: Model.HasManyRelation,
          modelClass: Text,
          join: { from: ['writers.tenant_id', 'writers.id'], to: ['texts.tenant_id', 'texts.writer_id'] },
        },
      })
    }
    const texts = new NestedSerializer(serializerOf(Text, ['id', 'title', 'writer'], { writer }), { many: true })
    const { send } = await serveViews({
      owners: viewOf(Owner, serializerOf(Owner, ['id', 'tenant_id', 'texts'], { texts })),
    })
    await database.knex('texts').delete()
    const moved = { title: 'mine', writer: { tenant_id: 1, id: 9, name: 'Eve' } }
    expect((await send('PATCH', '/owners/1', { texts: [moved] })).status).toBe(200)
    expect(await database.knex('texts').select('title', 'writer_id')).toEqual([{ title: 'mine', writer_id: 1 }])
  })

  it('cannot move its row below a subclass of the model either', async () => {
    class Public extends Writer {}
    class Texts extends NestedViewSetMixin(ModelViewSet<Model>) {
      static override model = Text
      static override serializerClass = serializerOf(Text, ['id', 'title', 'writer'], { writer })
      static override parentLookupField = 'writer_id'
    }
    const api = new APIRouter().register('writers', viewOf(Public, serializerOf(Public, ['id', 'name'])), 'writer')
    new NestedRouter(api, 'writers', { lookup: 'writer' }).register('texts', Texts, 'text')
    const { send } = await serveRouter(api)
    const other = { tenant_id: 1, id: 2, name: 'Eve' }
    expect((await send('POST', '/writers/1/texts', { title: 't', writer: other })).json).toMatchObject({
      writer: { id: 1 },
    })
    expect(await database.knex('writers').pluck('name')).toEqual(['Ada'])
  })
})

describe('[A10] depth', () => {
  it('does not show by its relation a key that is for writing only', async () => {
    class Person extends Author {
      static override jsonSchema = {
        type: 'object',
        properties: { id: {}, name: {}, country_id: { type: 'integer', writeOnly: true } },
      }
    }
    class PersonSerializer extends ModelSerializer {
      static override model = Person
      static override fields = '__all__'
      static override depth = 1
    }
    const Written = booksOf(Person)
    class WrittenSerializer extends ModelSerializer {
      static override model = Written
      static override fields = ['id', 'author_id']
      static override depth = 2
    }
    const { get } = await serveViews({
      people: viewOf(Person, PersonSerializer),
      books: viewOf(Written, WrittenSerializer),
    })
    expect((await get('/people/1')).json).toEqual({ id: 1, name: 'Ada' })
    expect((await get('/books/1')).json).toEqual({ id: 1, author_id: 1, author: { id: 1, name: 'Ada' } })
  })
})

describe('[D9] A cursor over a table without the key of its model', () => {
  it.each([['-title,code'], ['title,code']])('loses no row in the order %s', async (order) => {
    const Keyless = tableOf('keyless')
    const statics = {
      lookupField: 'code',
      paginationClass: new CursorPagination({ ordering: order.split(','), pageSize: 2 }),
    }
    class Read extends ReadOnlyModelViewSet {}
    const serializerClass = serializerOf(Keyless, ['code', 'title'])
    const view = Object.assign(Read, { model: Keyless, serializerClass, ...statics }) as unknown as ViewSetClass
    const { get } = await serveViews({ keyless: view })
    const seen: string[] = []
    for (let path: string | null = '/keyless'; path !== null; ) {
      const { status, json }: { status: number; json: any } = await get(path)
      expect(status).toBe(200)
      seen.push(...json.results.map(({ code }: { code: string }) => code))
      path = json.next
    }
    expect(seen.toSorted()).toEqual(Array.from({ length: 9 }, (_, index) => `c${index + 1}`))
  })
})

describe('[D9] A list of rows that nothing tells apart', () => {
  it('is ordered by all columns, whatever they are called', async () => {
    const Odd = tableOf('odd_names')
    class OddViewSet extends genericViewSet(Odd, {
      serializerClass: serializerOf(Odd, ['n']),
      mixins: [ListMixin],
      paginationClass: new PageNumberPagination({ pageSize: 2 }),
    }) {}
    const { get } = await serveViews({ odd: OddViewSet as unknown as ViewSetClass })
    const sent: string[] = []
    database.knex.on('query', ({ sql }) => void sent.push(sql))
    expect((await get('/odd')).json).toMatchObject({ count: 3, results: [{ n: 1 }, { n: 1 }] })
    expect(sent.at(-1)).toContain(
      `order by "odd_names"."n" asc, "odd_names"."a.dotted.name" asc, "odd_names"."  spaces " asc, "odd_names"."*" asc, ` +
        `"odd_names"."x as y" asc, "odd_names"."why?"::text collate "C" asc`,
    )
  })
})

describe('[A8] A create whose answer cannot be written', () => {
  it.each(['/books', '/books/bulk'])('stores nothing, also where only ?expand= shows why: %s', async (path) => {
    class Failing extends StringField {
      override toRepresentation(): unknown {
        throw new Error('a bug')
      }
    }
    const expandable = { author: serializerOf(Author, ['id', 'name'], { name: new Failing() }) }
    const { send } = await serveViews({
      books: viewOf(Book, serializerOf(Book, ['id', 'title', 'author_id']), { expandable }),
    })
    const book = { title: 'kept?', author_id: 1 }
    expect((await send('POST', `${path}?expand=author`, path === '/books' ? book : [book])).status).toBe(500)
    expect(await database.knex('books').where({ title: 'kept?' })).toEqual([])
  })
})

describe('An update() of the application', () => {
  it('may name the object in its own way, for PATCH, too', async () => {
    class People extends viewOf(Author, serializerOf(Author, ['id', 'name'])) {
      override async update(options?: { partial?: boolean }): Promise<unknown> {
        const params = this.ctx['params'] as Record<string, string>
        if (params['id'] === '2147483648') params['id'] = '1'
        return super.update(options)
      }
    }
    const { send } = await serveViews({ people: People })
    for (const method of ['PUT', 'PATCH']) {
      expect(await send(method, '/people/2147483648', { id: 1, name: 'Ada' })).toMatchObject({
        status: 200,
        json: { id: 1 },
      })
    }
  })
})

describe('[R5] A write that the path or the list refuses', () => {
  // a pool of another login is another database, which is asked for its tables
  it.skipIf(runsAsRole())('takes no connection', async () => {
    const small = knexLibrary({
      client: 'pg',
      connection: { ...database.connection } as Knex.PgConnectionConfig,
      pool: { min: 0, max: 1 },
      acquireConnectionTimeout: 2000,
    })
    class Books extends viewOf(Book, serializerOf(Book, ['id', 'title', 'author_id'])) {
      static override strictParams = true
      override getKnex() {
        return small
      }
    }
    class Nested extends NestedViewSetMixin(Books) {
      static override parentLookupField = 'author_id'
    }
    const api = new APIRouter().register('books', Books, 'book')
    api.register('authors', viewOf(Author, serializerOf(Author, ['id', 'name'])), 'author')
    new NestedRouter(api, 'authors', { lookup: 'author' }).register('books', Nested, 'authors-book')
    const { send } = await serveRouter(api)
    const held = await small.client.acquireConnection()
    const many = Array.from({ length: 101 }, (_, id) => ({ id, title: 'x' }))
    for (const [method, path, body, status] of [
      ['PATCH', '/books/2147483648', {}, 404],
      ['PUT', '/books/2147483648', {}, 404],
      ['DELETE', '/books/2147483648', undefined, 404],
      ['DELETE', '/authors/2147483648/books/1', undefined, 404],
      ['POST', '/authors/2147483648/books', { title: 'x' }, 404],
      ['PATCH', '/books/1?fields=nope', {}, 400],
      ['PATCH', '/books/bulk', many, 400],
      ['DELETE', '/books/bulk', {}, 400],
      ['PATCH', '/books/1', { title: 'x' }, 503],
    ] as const) {
      expect([method, path, (await send(method, path, body)).status]).toEqual([method, path, status])
    }
    await small.client.releaseConnection(held)
    await small.destroy()
  })
})

describe('[G3] A stream of lines', () => {
  it('has a json column on one line, whatever it was written with', async () => {
    const Document = tableOf('documents')
    class Documents extends StreamMixin(ModelViewSet<Model>) {
      static override model = Document
      static override serializerClass = serializerOf(Document, ['id', 'doc'])
      static override rendererClasses = [JSONRenderer, NDJSONRenderer]
      static override paginationClass = new ServerCursorPagination()
    }
    const { get } = await serveViews({ documents: Documents })
    const lines = (await get('/documents.ndjson')).text.trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line))).toEqual([{ id: 1, doc: { a: 'b\nc', d: 1 } }])
  })
})

describe('[D9] A cursor over rows that PostgreSQL writes', () => {
  it.each([[['rank', 'id']], [['-rank', '-id']], [['id']], [['-title', 'id']]])(
    'has the same pages, forwards and backwards, in the order %j',
    async (ordering) => {
      const Ranked = tableOf('ranked')
      const statics = { lookupField: 'id', paginationClass: new CursorPagination({ ordering, pageSize: 3 }) }
      const key = new UUIDField({ source: 'id', readOnly: true })
      const serializer = serializerOf(Ranked, ['rank', 'title'], { "the key's": key })
      const { get } = await serveViews({
        rows: viewOf(Ranked, serializer, statics),
        native: viewOf(Ranked, serializer, { ...statics, useNativeJson: true }),
      })
      const walk = async (name: string) => {
        const pages: unknown[] = []
        let { json } = await get(`/${name}`)
        for (; json.next !== null; json = (await get(json.next)).json) pages.push(json.results)
        for (; json.previous !== null; json = (await get(json.previous)).json) pages.push(json.results)
        return [...pages, json.results]
      }
      const pages = await walk('rows')
      expect(pages).toHaveLength(7)
      expect(await walk('native')).toEqual(pages)
    },
  )
})

describe('[B17] Lists of lists', () => {
  it('are shown with all their digits, through instances, too', async () => {
    const Matrix = tableOf('matrices')
    const serializer = serializerOf(Matrix, ['id', 'amounts', 'times'])
    class Instances extends serializer {
      override toRepresentation(object: Model): unknown {
        return super.toRepresentation(object)
      }
    }
    const { get } = await serveViews({ rows: viewOf(Matrix, serializer), instances: viewOf(Matrix, Instances) })
    const shown = {
      id: 1,
      amounts: [
        ['1.50', null],
        ['123456789012345678901234567890.1', '0.10'],
      ],
      times: [['2026-03-28T15:30:00.123456Z'], ['1969-12-31T23:59:59.999999Z']],
    }
    // as their column was declared, the document has lists of lists, too
    expect((await get('/rows/1')).json).toEqual(shown)
    expect((await get('/instances/1')).json).toEqual(shown)
  })
})

describe('[E15] An object with an id for each user', () => {
  class Secret extends IDMixin(Model) {
    static override tableName = 'secrets'
    static override idConfig = {
      mode: 'signed',
      includeUser: true,
      alphabet: '0123456789abcdef',
      hmacKeys: ['k'.repeat(32)],
    } as const
  }

  it.each(['GET', 'PUT', 'PATCH', 'DELETE'])(
    'is none for anonymous callers who name it in another way: %s',
    async (method) => {
      const statics = { lookupField: 'slug' }
      const { send } = await serveViews({ secrets: viewOf(Secret, serializerOf(Secret, ['id', 'slug']), statics) })
      const body = method === 'GET' || method === 'DELETE' ? undefined : { slug: 'known' }
      expect((await send(method, '/secrets/unknown', body)).status).toBe(404)
      expect((await send(method, '/secrets/known', body)).status).toBe(404)
    },
  )
})
