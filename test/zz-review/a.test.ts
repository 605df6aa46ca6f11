import { knexSnakeCaseMappers, Model, raw } from 'objection'
import knexLibrary from 'knex'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  APIRouter, configure, CursorPagination, type DeclaredFields, HiddenField, JSONField, ModelSerializer, ModelViewSet, NestedSerializer, PageNumberPagination,
  SerializerMethodField, FieldFilter, OrderingFilter, ReadOnlyModelViewSet, SearchFilter,
} from '../../lib/index.js'
import { createDatabase, type TestDatabase, countQueries } from '../support/database.js'
import { type Client, serving } from '../support/client.js'

const SCHEMA = `
  create table authors (id int primary key, name text not null, hidden bool not null default false);
  create view visible_authors as select id, name from authors where not hidden;
  insert into authors values (1,'a',false),(2,'b',true);
  create table books (id serial primary key, slug text unique, title text not null default 't', secret text, score int, author_id int references authors,
    settings text, made timestamptz);
  create table archived_books (like books including all);
  insert into books (id, slug, title, secret, score, author_id, settings) select n, 's'||n, 'live '||n, 'secret '||n, case when n%3=0 then null else n end, 1, '{"a":1}' from generate_series(1,10) n;
  select setval('books_id_seq', 100);
  insert into archived_books (id, slug, title) select n, 's'||n, 'archived '||n from generate_series(1,10) n;
  create table reviews (id serial primary key, book_id int references books, text text);
  insert into reviews (book_id, text) values (1,'r1'),(1,'r2'),(2,'r3');
  create table wide (id serial primary key, ${Array.from({ length: 12 }, (_, i) => `c${i} int`).join(', ')});
  create schema tenant; create table tenant.books (like public.books including all);
  insert into tenant.books (id, slug, title) values (1, 's1', 'tenant 1');
`
let db: TestDatabase, other: TestDatabase
class Author extends Model { static override tableName = 'authors' }
class VisibleAuthor extends Model { static override tableName = 'visible_authors' }
class Review extends Model { static override tableName = 'reviews' }
class Book extends Model {
  static override tableName = 'books'
  static override relationMappings = () => ({
    author: { relation: Model.BelongsToOneRelation, modelClass: Author, join: { from: 'books.author_id', to: 'authors.id' } },
    reviews: { relation: Model.HasManyRelation, modelClass: Review, join: { from: 'books.id', to: 'reviews.book_id' } },
  })
}
class ArchivedBook extends Book { static override tableName = 'archived_books' }
class Wide extends Model { static override tableName = 'wide' }
const open: Client[] = []
beforeAll(async () => {
  configure({ secretKey: '0123456789abcdef0123456789abcdef' })
  db = await createDatabase({ schema: SCHEMA })
  other = await createDatabase({ schema: SCHEMA + `update books set title = 'other ' || id;` })
  Model.knex(db.knex)
})
afterAll(async () => { for (const c of open) await c.close(); await db.drop(); await other.drop() })
async function api(views: Record<string, any>): Promise<Client> {
  const a = new APIRouter({ prefix: '' })
  for (const [name, view] of Object.entries(views)) a.register(name, view, name)
  await a.prepare()
  const c = await serving(a.routes())
  open.push(c)
  return c
}
const fields = ['id', 'slug', 'title', 'secret']
const mk = (extra: any = {}, base: any = ModelSerializer) => { class S extends base { static model = Book; static fields = extra.fields ?? fields; static declaredFields = extra.declared ?? {} } return S as any }

it('S1 retrieve/list: two models one serializer', async () => {
  const S = mk()
  class Live extends ModelViewSet<any> { static override model: any = Book; static override serializerClass: any = S; static override paginationClass = PageNumberPagination }
  class Archived extends ModelViewSet<any> { static override model: any = ArchivedBook; static override serializerClass: any = S }
  const c = await api({ live: Live, archived: Archived })
  console.log('S1 live', (await c.get('/live/1')).text)
  console.log('S1 archived', (await c.get('/archived/1')).text)
  console.log('S1 archived list', (await c.get('/archived')).text.slice(0, 90))
  console.log('S1 POST live', (await c.send('POST', '/live', { title: 'x1' })).text)
  console.log('S1 POST archived', (await c.send('POST', '/archived', { title: 'into archive' })).text)
  console.log('S1 where is it', JSON.stringify((await db.knex.raw("select 'books' t, id from books where title='into archive' union all select 'archived', id from archived_books where title='into archive'")).rows))
})
it('S1b hooks of view model', async () => {
  const S = mk()
  class Redacted extends Book { override $afterFind() { (this as any).secret = '***' } }
  class V extends ModelViewSet<any> { static override model: any = Redacted; static override serializerClass: any = S }
  const c = await api({ v: V })
  console.log('S1b', (await c.get('/v/1')).text, (await c.get('/v')).text.slice(0, 80))
})
it('S2 location by lookup', async () => {
  const S = mk()
  class A extends ModelViewSet<any> { static override model: any = Book; static override serializerClass: any = S }
  class B extends ModelViewSet<any> { static override model: any = Book; static override serializerClass: any = S; static override lookupField = 'slug' }
  const c = await api({ a: A, b: B })
  const one = await c.send('POST', '/a', { title: 'x', slug: 'one' }), two = await c.send('POST', '/b', { title: 'x', slug: 'two' })
  console.log('S2', one.headers.location, two.headers.location, two.text)
})
it('S3 select mask', async () => {
  const S = mk()
  class Inst extends S { toRepresentation(o: any) { return super.toRepresentation(o) } }
  class Rows extends ModelViewSet<any> { static override model: any = Book; static override serializerClass: any = S
    override getQueryset(): any { return super.getQueryset().select('books.id', 'books.slug', 'books.title', raw("'masked'").as('secret')).where('id', 1) } }
  class Insts extends Rows { static override serializerClass: any = Inst }
  const c = await api({ rows: Rows, insts: Insts })
  for (const p of ['/rows', '/insts', '/rows/1', '/insts/1']) console.log('S3', p, (await c.get(p)).text)
})
it('S4 runAfter on retrieve', async () => {
  const S = mk()
  class Inst extends S { toRepresentation(o: any) { return super.toRepresentation(o) } }
  const redact = (rows: any) => { for (const r of [rows].flat()) r.secret = 'redacted'; return rows }
  class Rows extends ModelViewSet<any> { static override model: any = Book; static override serializerClass: any = S
    override getQueryset(): any { return super.getQueryset().where('id', 1).runAfter(redact) } }
  class Insts extends Rows { static override serializerClass: any = Inst }
  const c = await api({ rows: Rows, insts: Insts })
  for (const p of ['/rows', '/insts', '/rows/1', '/insts/1']) console.log('S4', p, (await c.get(p)).text)
})
it('S5 alias + cursor', async () => {
  const S = mk()
  class Rows extends ModelViewSet<any> { static override model: any = Book; static override serializerClass: any = S
    static override paginationClass: any = new CursorPagination({ pageSize: 3, ordering: 'id' })
    override getQueryset(): any { return super.getQueryset().alias('b') } }
  const c = await api({ rows: Rows })
  const p1 = await c.get('/rows'); const p2 = await c.get(p1.json.next ?? '/')
  console.log('S5', p1.status, p2.status, p2.text, c.reported.map(String).join().slice(0, 300))
})
it('S6 own knex in getQueryset', async () => {
  const S = mk()
  class Inst extends S { toRepresentation(o: any) { return super.toRepresentation(o) } }
  class Rows extends ModelViewSet<any> { static override model: any = Book; static override serializerClass: any = S
    override getQueryset(): any { return Book.query(other.knex).where('id', 1) } }
  class Insts extends Rows { static override serializerClass: any = Inst }
  const c = await api({ rows: Rows, insts: Insts })
  for (const p of ['/rows', '/insts', '/rows/1', '/insts/1']) console.log('S6', p, (await c.get(p)).text)
})
it('S7 context onBuild', async () => {
  const S = mk()
  class Inst extends S { toRepresentation(o: any) { return super.toRepresentation(o) } }
  class Rows extends ModelViewSet<any> { static override model: any = Book; static override serializerClass: any = S
    override getQueryset(): any { return super.getQueryset().context({ onBuild: (b: any) => b.withSchema('tenant') }).where('id', 1) } }
  class Insts extends Rows { static override serializerClass: any = Inst }
  class Wh extends Rows { override getQueryset(): any { return Book.query().context({ onBuild: (b: any) => b.where('id', 2) }) } }
  class WhInst extends Wh { static override serializerClass: any = Inst }
  const c = await api({ rows: Rows, insts: Insts, wh: Wh, whi: WhInst })
  console.log('S7 plain objection', JSON.stringify(await Book.query().context({ onBuild: (b: any) => b.withSchema('tenant') }).where('id', 1).select('title')))
  for (const p of ['/rows', '/insts', '/rows/1', '/insts/1', '/wh', '/whi', '/wh/1', '/whi/1']) console.log('S7', p, (await c.get(p)).text.slice(0, 160))
})
it('S8 nullable per jsonSchema', async () => {
  class Scored extends Book { static override jsonSchema = { type: 'object', properties: { title: { type: 'string' }, score: { type: 'integer' } } } }
  class S extends ModelSerializer { static override model: any = Scored; static override fields = ['id', 'score'] }
  class V extends ModelViewSet<any> { static override model: any = Scored; static override serializerClass: any = S
    static override filterBackends = [OrderingFilter]; static override orderingFields = ['score']
    static override paginationClass: any = new CursorPagination({ pageSize: 3 })
    override getQueryset(): any { return super.getQueryset().where('id', '<=', 10) } }
  const c = await api({ v: V })
  for (const o of ['score', '-score']) {
    const seen: number[] = []; let url: string | null = '/v?ordering=' + o
    for (let i = 0; url && i < 8; i++) { const r: any = await c.get(url); seen.push(...r.json.results.map((x: any) => x.id)); url = r.json.next }
    console.log('S8', o, seen.join(), 'ended', url === null)
  }
})
it('S9 trustKeys on a view', async () => {
  class B2 extends Model { static override tableName = 'books'
    static override relationMappings = () => ({ author: { relation: Model.BelongsToOneRelation, modelClass: VisibleAuthor, join: { from: 'books.author_id', to: 'visible_authors.id' } } }) }
  class S extends ModelSerializer { static override model: any = B2; static override fields = ['id', 'title', 'author_id'] }
  class V extends ModelViewSet<any> { static override model: any = B2; static override serializerClass: any = S }
  const c = await api({ v: V })
  console.log('S9 post', (await c.send('POST', '/v', { title: 'x', author_id: 2 })).text)
  console.log('S9 patch', (await c.send('PATCH', '/v/1', { author_id: 2 })).text)
})
it('S10 raw default', async () => {
  class S extends ModelSerializer { static override model: any = Book; static override fields = ['id', 'title', 'made']
    static override declaredFields: DeclaredFields = { made: new HiddenField({ default: () => raw('now()') }) } }
  class S2 extends S { override validate(d: any) { return d } }
  class V extends ModelViewSet<any> { static override model: any = Book; static override serializerClass: any = S }
  class V2 extends V { static override serializerClass: any = S2 }
  const c = await api({ v: V, v2: V2 })
  console.log('S10', (await c.send('POST', '/v', { title: 'x' })).text, (await c.send('POST', '/v2', { title: 'x' })).text, c.reported.map(String).join())
})
it('S11 text json attribute', async () => {
  class B3 extends Model { static override tableName = 'books'; static override jsonAttributes = ['settings'] }
  class S extends ModelSerializer { static override model: any = B3; static override fields = ['id']
    static override declaredFields: DeclaredFields = { settings: new JSONField({ required: false }) } }
  class Inst extends S { override toRepresentation(o: any) { return super.toRepresentation(o) } }
  class V extends ModelViewSet<any> { static override model: any = B3; static override serializerClass: any = S }
  class V2 extends V { static override serializerClass: any = Inst }
  const c = await api({ v: V, v2: V2 })
  console.log('S11', (await c.get('/v/1')).text, (await c.get('/v2/1')).text, (await c.send('PATCH', '/v/1', {})).text, (await c.send('POST', '/v', {settings: {b: 1}})).text)
})
it('S12 nested id toString', async () => {
  class RS extends ModelSerializer { static override model: any = Review; static override fields = ['id', 'text'] }
  class S extends ModelSerializer { static override model: any = Book; static override fields = ['id', 'title']
    static override declaredFields: DeclaredFields = { reviews: new NestedSerializer(RS, { many: true, required: false }) } }
  class V extends ModelViewSet<any> { static override model: any = Book; static override serializerClass: any = S }
  const c = await api({ v: V })
  console.log('S12', (await c.send('PATCH', '/v/1', { reviews: [{ id: { toString: 1, valueOf: 1 }, text: 'x' }] })).text, c.reported.map(String).join())
  console.log('S12b', (await c.send('PATCH', '/v/1', { reviews: [{ id: [1], text: 'x' }, {id: true}] })).text)
})
it('S13 insert shapes unbounded', async () => {
  class S extends ModelSerializer { static override model: any = Wide; static override fields = '__all__' }
  class V extends ModelViewSet<any> { static override model: any = Wide; static override serializerClass: any = S }
  const c = await api({ v: V })
  const set = Map.prototype.set
  const caches = new Set<Map<unknown, unknown>>()
  Map.prototype.set = function (k: any, v: any) { if (typeof k === 'string' && k.startsWith('insert|')) caches.add(this); return set.call(this, k, v) }
  for (let n = 0; n < 1500; n++) {
    const body: any = {}
    for (let b = 0; b < 12; b++) if (n & (1 << b)) body[`c${b}`] = b
    const r = await c.send('POST', '/v', body)
    if (r.status !== 201) throw new Error(r.text)
  }
  Map.prototype.set = set
  console.log('S13', [...caches].map((m) => m.size))
  const names = (await Promise.all([db.knex.raw('select count(*) from pg_prepared_statements')]))[0].rows
  console.log('S13 prepared on one connection', JSON.stringify(names))
}, 60000)
it('S14 withGraphJoined', async () => {
  const S = mk()
  class Inst extends S { toRepresentation(o: any) { return super.toRepresentation(o) } }
  class Rows extends ModelViewSet<any> { static override model: any = Book; static override serializerClass: any = S
    override getQueryset(): any { return super.getQueryset().withGraphJoined('reviews').where('books.id', '<', 3) } }
  class Insts extends Rows { static override serializerClass: any = Inst }
  const c = await api({ rows: Rows, insts: Insts })
  for (const p of ['/rows', '/insts', '/rows/1', '/insts/1']) { const r = await c.get(p); console.log('S14', p, r.status, r.text.slice(0, 250)) }
  console.log(c.reported.map(String).join().slice(0, 500))
})
it('S15 query listener that throws leaks', async () => {
  const S = mk()
  class Rows extends ModelViewSet<any> { static override model: any = Book; static override serializerClass: any = S }
  const c = await api({ rows: Rows })
  const l = () => { throw new Error('listener') }
  db.knex.on('query', l)
  const r = await c.get('/rows/1')
  db.knex.removeListener('query', l)
  console.log('S15', r.status, 'used', (db.knex.client as any).pool.numUsed())
})
