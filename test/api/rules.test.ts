/** Rules of models: what a caller may not read is nowhere, what it may not write stays, over all paths. */

import Router from '@koa/router'
import makeKnex, { type Knex } from 'knex'
import type { Context } from 'koa-viewsets'
import { Model, QueryBuilder, raw, snakeCaseMappers } from 'objection'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import {
  APIRouter,
  action,
  BaseAuthentication,
  BulkModelViewSet,
  CursorPagination,
  configure,
  FieldFilter,
  type FilterRelations,
  IntegerField,
  JSONRenderer,
  ModelSerializer,
  modelSerializer,
  modelViewSet,
  NDJSONRenderer,
  NestedRouter,
  NestedSerializer,
  NestedViewSetMixin,
  NotFound,
  OrderingFilter,
  objectAction,
  PrimaryKeyRelatedField,
  SearchFilter,
  Serializer,
  SerializerMethodField,
  SlugRelatedField,
  StreamMixin,
} from '../../lib/index.js'
import { any, type Rules, readable, rule, sql } from '../../lib/rules/index.js'
import { AggregateMixin, count, max, mountView } from '../../lib/views/index.js'
import { type Client, serving } from '../support/client.js'
import { createDatabase } from '../support/database.js'
import { Author, Book, database, Genre, Review, useLibrary } from '../support/library.js'
import { runsAsRole } from '../support/roles.js'
import { routerOf, serializerOf, serveRouter, tableOf, viewOf } from '../support/views.js'

const SCHEMA = `
alter table authors add tenant_id int not null default 1;
alter table authors alter tenant_id drop default;
alter table books add tenant_id int not null, add published bool not null default false;
alter table genres add tenant_id int not null, alter name set not null;
`

const ROWS = `
delete from authors; delete from genres; alter sequence authors_id_seq restart; alter sequence genres_id_seq restart;
insert into authors (tenant_id, name) values (1, 'Ada'), (2, 'Ben'), (1, 'Cleo');
insert into books (tenant_id, title, published, author_id) values
  (1, 'One', true, 1), (1, 'Two', true, 2), (2, 'Three', true, 2), (2, 'Four', true, 1), (1, 'Five', false, null);
insert into genres (tenant_id, name) values (1, 'crime'), (2, 'drama'), (1, 'poetry');
insert into books_genres values (1, 1), (1, 2), (2, 2), (3, 1), (3, 2), (4, 3);
insert into reviews (book_id, stars) values (1, 5), (1, 3), (2, 4), (3, 1), (4, 2);
`

useLibrary({ sql: SCHEMA, rows: ROWS })

/** A tenant by its number in a header. */
class Tenants extends BaseAuthentication {
  override authenticate(ctx: Context) {
    const tenant = ctx.get('X-Tenant')
    return tenant === '' ? null : { user: { tenant: Number(tenant), isEditor: ctx.get('X-Editor') !== '' } }
  }
}

const ofTenant = ({ user }: { user: { tenant: number } | undefined }) => ({ tenant_id: user?.tenant })

const RULES = [
  rule(Author, { read: ofTenant }),
  rule(Genre, { read: ofTenant }),
  rule(Book, { read: ofTenant, update: ({ user }) => ({ tenant_id: user?.tenant, published: true }) }),
  rule(Review, { read: any('book', readable) }),
]

class AuthorSerializer extends ModelSerializer<Author> {
  static override model = Author
  static override fields = ['id', 'name']
}
class ReviewSerializer extends ModelSerializer<Review> {
  static override model = Review
  static override fields = ['id', 'stars', 'book_id']
}
class BookSerializer extends ModelSerializer<Book> {
  static override model = Book
  static override fields = ['id', 'tenant_id', 'title', 'published', 'author_id', 'genres']
  static override declaredFields = {
    genres: new PrimaryKeyRelatedField({ queryset: Genre, many: true, required: false }),
  }
}
class NestedBookSerializer extends ModelSerializer<Book> {
  static override model = Book
  static override fields = ['id', 'title', 'author', 'reviews', 'tenant_id']
  static override declaredFields = {
    author: new NestedSerializer(AuthorSerializer, { required: false, allowNull: true }),
    reviews: new NestedSerializer(ReviewSerializer, { many: true, required: false }),
  }
}
class NamedBookSerializer extends ModelSerializer<Book> {
  static override model = Book
  static override fields = ['id', 'title', 'author', 'tenant_id']
  static override declaredFields = {
    author: new SlugRelatedField({ queryset: Author, slugField: 'name', required: false, allowNull: true }),
  }
}

class TenantViewSet extends BulkModelViewSet {
  static override authenticationClasses = [Tenants]
  static override filterBackends = [FieldFilter, SearchFilter, OrderingFilter]
}
class AuthorViewSet extends TenantViewSet {
  static override model = Author
  static override serializerClass = AuthorSerializer
}
class ReviewViewSet extends TenantViewSet {
  static override model = Review
  static override serializerClass = ReviewSerializer
  static override filtersetFields = ['stars', 'book__title']
}
class BookViewSet extends TenantViewSet {
  static override model = Book
  static override serializerClass = BookSerializer
  static override filtersetFields = ['title', 'author__name', 'author__id']
  static override searchFields = ['author__name']
  static override orderingFields = ['id', 'author__name']
  static override filterRelations = { reviews: ReviewViewSet, author: AuthorViewSet }
  static override expandable = { author: AuthorSerializer, reviews: ReviewSerializer, votes: count('reviews') }
}
class NestedBookViewSet extends TenantViewSet {
  static override model = Book
  static override serializerClass = NestedBookSerializer
}
class NamedBookViewSet extends TenantViewSet {
  static override model = Book
  static override serializerClass = NamedBookSerializer
}
class BookReviewViewSet extends NestedViewSetMixin(TenantViewSet) {
  static override model = Review
  static override serializerClass = ReviewSerializer
  static override parentLookupField = 'book_id'
}

let client: Client
let clients: Record<'rules' | 'related', Client>

const VIEWS = { AuthorViewSet, BookViewSet, ReviewViewSet, NestedBookViewSet, NamedBookViewSet, BookReviewViewSet }

async function serve(views: typeof VIEWS, rules?: Rules): Promise<Client> {
  const api = new APIRouter(rules ? { rules } : {})
  api.register('authors', views.AuthorViewSet)
  api.register('books', views.BookViewSet)
  api.register('reviews', views.ReviewViewSet)
  api.register('nested', views.NestedBookViewSet, 'nested')
  api.register('named', views.NamedBookViewSet, 'named')
  const nested = new NestedRouter(api, 'books', { lookup: 'book' })
  nested.register('reviews', views.BookReviewViewSet, 'book-review')
  await api.prepare()
  return serving(api.routes())
}

/** The same view sets without rules: each narrows its queryset, and names where related objects come from. */
function narrowedViews(): typeof VIEWS {
  const tenantOf = (view: { ctx: Context }) => (view.ctx.state['user'] as { tenant: number } | null)?.tenant ?? null
  class Authors extends AuthorViewSet {
    override getQueryset() {
      return super.getQueryset().where('tenant_id', tenantOf(this))
    }
  }
  class Genres extends TenantViewSet {
    static override model = Genre
    static override serializerClass = class extends ModelSerializer<Genre> {
      static override model = Genre
      static override fields = ['id', 'name']
    }
    override getQueryset() {
      return super.getQueryset().where('tenant_id', tenantOf(this))
    }
  }
  class Reviews extends ReviewViewSet {
    static override related: FilterRelations = { book: () => Books }
    override getQueryset() {
      const books = Book.query().where('tenant_id', tenantOf(this)).select('id')
      return super.getQueryset().whereIn('book_id', books)
    }
  }
  const related: FilterRelations = { author: Authors, genres: Genres, reviews: Reviews }
  class Books extends BookViewSet {
    static override related = related
    static override filterRelations = { reviews: Reviews, author: Authors }
    override getQueryset() {
      return super.getQueryset().where('tenant_id', tenantOf(this))
    }
  }
  class NestedBooks extends NestedBookViewSet {
    static override related = related
    override getQueryset() {
      return super.getQueryset().where('tenant_id', tenantOf(this))
    }
  }
  class NamedBooks extends NamedBookViewSet {
    static override related = related
    override getQueryset() {
      return super.getQueryset().where('tenant_id', tenantOf(this))
    }
  }
  return {
    ...VIEWS,
    AuthorViewSet: Authors,
    BookViewSet: Books,
    ReviewViewSet: Reviews,
    NestedBookViewSet: NestedBooks,
    NamedBookViewSet: NamedBooks,
  }
}

beforeAll(async () => {
  clients = { rules: await serve(VIEWS, RULES), related: await serve(narrowedViews()) }
  client = clients.rules
})
afterAll(async () => {
  for (const one of Object.values(clients)) await one.close()
})

const AS = (tenant: number) => ({ 'X-Tenant': String(tenant) })
async function get(path: string, tenant = 1) {
  const { status, json } = await client.get(path, AS(tenant))
  if (status === 500) throw client.reported.at(-1)
  return status === 200 ? json : status
}
async function send(method: string, path: string, body?: unknown, tenant = 1) {
  const { status, json } = await client.send(method, path, body, AS(tenant))
  if (status === 500) throw client.reported.at(-1)
  return { status, json }
}
const stored = async (text: string) => (await database.knex.raw(text)).rows

describe.each(['rules', 'related'] as const)('what a caller may not read, by %s,', (by) => {
  beforeEach(() => {
    client = clients[by]
  })

  it('is in no list, and not found', async () => {
    expect(await get('/authors')).toEqual([
      { id: 1, name: 'Ada' },
      { id: 3, name: 'Cleo' },
    ])
    expect(await get('/authors/2')).toBe(404)
    expect(await get('/reviews')).toMatchObject([{ id: 1 }, { id: 2 }, { id: 3 }])
    expect(await get('/reviews/4')).toBe(404)
  })

  it('is not shown by a value that is missing', async () => {
    expect((await client.get('/authors')).json).toEqual([])
    expect((await client.get('/reviews')).json).toEqual([])
  })

  it('is not nested in what is read', async () => {
    expect(await get('/nested/1')).toMatchObject({ author: { name: 'Ada' }, reviews: [{ id: 1 }, { id: 2 }] })
    expect(await get('/nested/2')).toMatchObject({ author: null, reviews: [{ id: 3 }] })
    expect(await get('/nested')).toMatchObject([{ author: { id: 1 } }, { author: null }, { author: null }])
    expect(await get('/named')).toMatchObject([{ author: 'Ada' }, { author: null }, { author: null }])
    expect(await get('/books')).toMatchObject([{ genres: [1] }, { genres: [] }, { genres: [] }])
  })

  it('is not expanded or counted', async () => {
    expect(await get('/books?expand=author,reviews,votes')).toMatchObject([
      { author: { name: 'Ada' }, reviews: [{ stars: 5 }, { stars: 3 }], votes: 2 },
      { author: null, reviews: [{ stars: 4 }], votes: 1 },
      { author: null, reviews: [], votes: 0 },
    ])
    expect(await get('/books/2?expand=author,reviews,votes')).toMatchObject({ author: null, votes: 1 })
  })

  it('cannot be filtered, searched or ordered by', async () => {
    expect(await get('/books?author__name=Ben')).toEqual([])
    expect(await get('/books?author__id=2')).toEqual([])
    expect(await get('/books?search=Ben')).toEqual([])
    expect(await get('/books?filter=any(author,name=Ben)')).not.toMatchObject([{}])
    const ordered = (await get('/books?ordering=author__name')) as { id: number }[]
    expect(ordered.map(({ id }) => id)).toEqual([1, 2, 5])
    const backwards = (await get('/books?ordering=-author__name')) as { id: number }[]
    expect(backwards.map(({ id }) => id)).toEqual([5, 2, 1])
    expect(await get('/reviews?book__title=Three')).toEqual([])
  })

  it('leads to nothing on a path', async () => {
    expect(await get('/books/1/reviews')).toMatchObject([{ id: 1 }, { id: 2 }])
    expect(await get('/books/3/reviews')).toBe(404)
    expect(await get('/books/3/reviews/4')).toBe(404)
    expect((await send('POST', '/books/3/reviews', { stars: 1 })).status).toBe(404)
    expect((await send('DELETE', '/books/3/reviews/4')).status).toBe(404)
  })

  it.each([2, 99])('cannot be named: author %i is one that is missing', async (author_id) => {
    const told = { author_id: [`Invalid pk "${author_id}" - object does not exist.`] }
    const body = { title: 'New', tenant_id: 1, author_id }
    const list = [{ id: 1, author_id }]
    for (const [method, path, given] of [
      ['POST', '/books', body],
      ['PATCH', '/books/1', { author_id }],
      ['PUT', '/books/1', { ...body, published: true }],
    ] as const) {
      const { status, json } = await send(method, path, given)
      expect([status, json]).toMatchObject([400, { errors: told }])
    }
    expect((await send('PATCH', '/books/bulk', list)).status).toBe(400)
    expect((await send('POST', '/books/bulk', [body])).status).toBe(400)
    expect(await stored('select author_id from books where id = 1 or id > 5')).toEqual([{ author_id: 1 }])
  })

  it('cannot be named by a model without a relation to it', async () => {
    class Row extends Model {
      static override tableName = 'books'
    }
    class Rows extends TenantViewSet {
      static override model = Row
      static override serializerClass = serializerOf(Row, ['id', 'tenant_id', 'title', 'author_id']) as never
    }
    const api = new APIRouter({ rules: RULES }).register('rows', Rows, 'row')
    await api.prepare()
    const one = await serving(api.routes())
    onTestFinished(() => one.close())
    const body = { title: 'New', tenant_id: 1, author_id: 2 }
    const answers = [
      await one.send('POST', '/rows', body, AS(1)),
      await one.send('POST', '/rows/bulk', [body], AS(1)),
      await one.send('PATCH', '/rows/1', { author_id: 2 }, AS(1)),
      await one.send('PATCH', '/rows/bulk', [{ id: 1, author_id: 2 }], AS(1)),
      await one.send('PATCH', '/rows/1', { author_id: 3 }, AS(1)),
    ]
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 400, 200])
    expect(answers[0]?.json.errors).toEqual({ author_id: ['Invalid pk "2" - object does not exist.'] })
    expect(await stored('select author_id from books where id = 1 or id > 5')).toEqual([{ author_id: 3 }])
  })

  it('cannot be named by a plain field beside the one that finds it', async () => {
    const declared = {
      author_id: new IntegerField({ required: false }),
      writer: new PrimaryKeyRelatedField({ queryset: Author, source: 'author', required: false }),
    }
    class Both extends TenantViewSet {
      static override model = Book
      static override serializerClass = serializerOf(Book, ['id', 'tenant_id', 'title'], declared) as never
    }
    const api = new APIRouter({ rules: RULES }).register('both', Both, 'both')
    await api.prepare()
    const one = await serving(api.routes())
    onTestFinished(() => one.close())
    const asked = async (method: string, path: string, body: object) =>
      (await one.send(method, path, body, AS(1))).status
    const body = { title: 'New', tenant_id: 1 }
    expect(await asked('POST', '/both', { ...body, author_id: 2 })).toBe(400)
    expect(await asked('POST', '/both', { ...body, author_id: 99 })).toBe(400)
    expect(await asked('PATCH', '/both/1', { author_id: 2 })).toBe(400)
    expect(await asked('PATCH', '/both/1', { writer: 2 })).toBe(400)
    // which is shown so
    expect(await asked('PATCH', '/both/1', { author_id: 2, writer: 1 })).toBe(400)
    expect(await asked('PATCH', '/both/1', { author_id: 3, writer: 1 })).toBe(200)
  })

  it('is of the database of the model that has a rule, where tables of another have the same numbers', async () => {
    const schema = `create table people (id int primary key); insert into people values (1), (2);
      create table notes (id int primary key generated always as identity, person_id int references people)`
    const first = await createDatabase({ schema })
    const second = await createDatabase({ copied: first.name })
    onTestFinished(() => Promise.all([first.drop(), second.drop()]).then(() => {}))
    const Person = tableOf('people').bindKnex(first.knex)
    const Note = tableOf('notes').bindKnex(second.knex)
    const people = viewOf(Person, serializerOf(Person, ['id']))
    const notes = viewOf(Note, serializerOf(Note, ['id', 'person_id']))
    const rules = [rule(Person, { read: { id: 1 } })]
    const one = await serveRouter(routerOf({ people, notes }, { rules }))
    expect((await one.get('/people')).json).toEqual([{ id: 1 }])
    expect((await one.send('POST', '/notes', { person_id: 2 })).status).toBe(201)
  })

  it('cannot be named by a model that another pool of the database reads', async () => {
    const pool = makeKnex({
      client: 'pg',
      connection: database.connection as Knex.PgConnectionConfig,
      pool: { max: 2 },
    })
    onTestFinished(() => pool.destroy())
    const Text = tableOf('books').bindKnex(pool)
    const texts = viewOf(Text, serializerOf(Text, ['id', 'title', 'author_id']))
    const authors = viewOf(Author, serializerOf(Author, ['id']))
    const one = await serveRouter(routerOf({ authors, texts }, { rules: [rule(Author, { read: { id: 1 } })] }))
    expect((await one.send('PATCH', '/texts/1', { author_id: 2 })).status).toBe(400)
    expect((await one.send('PATCH', '/texts/1', { author_id: 1 })).status).toBe(200)
  })

  it('is not seen by another model of the table, whatever that calls the columns', async () => {
    class Row extends Model {
      static override tableName = 'books'
      static override columnNameMappers = snakeCaseMappers()
    }
    const rows = viewOf(Row, serializerOf(Row, ['id', 'tenantId']), { authenticationClasses: [Tenants] })
    const rules = [
      rule(Book, { read: ({ user }) => ({ and: [{ tenant_id: user?.tenant }, any('author', { id: 1 })] }) }),
    ]
    const one = await serveRouter(routerOf({ rows }, { rules }))
    expect((await one.get('/rows', AS(1))).json).toEqual([{ id: 1, tenantId: 1 }])
  })

  it('cannot be linked, and stays linked', async () => {
    expect((await send('PATCH', '/books/1', { genres: [2] })).status).toBe(400)
    expect((await send('PATCH', '/books/1', { genres: [3] })).status).toBe(200)
    expect(await stored('select genre_id from books_genres where book_id = 1 order by 1')).toEqual([
      { genre_id: 2 },
      { genre_id: 3 },
    ])
    expect((await send('POST', '/named', { title: 'New', tenant_id: 1, author: 'Ben' })).status).toBe(400)
    expect((await send('POST', '/named', { title: 'New', tenant_id: 1, author: 'Cleo' })).status).toBe(201)
  })

  it('is not changed through what it is nested in', async () => {
    expect((await send('PATCH', '/nested/2', { author: { id: 2, name: 'Stolen' } })).status).toBe(400)
    expect(await stored('select name from authors where id = 2')).toEqual([{ name: 'Ben' }])
    expect((await send('PATCH', '/nested/1', { reviews: [{ id: 4, stars: 5 }] })).status).toBe(400)
    expect(await stored('select stars from reviews where id = 4')).toEqual([{ stars: 1 }])
  })

  it('stays as it is where the object is sent back', async () => {
    const before = await stored('select row_to_json(b) from books b order by id')
    for (const path of ['/nested/2', '/named/2', '/books/2']) {
      const body = await get(path)
      expect((await send('PUT', path, body)).status).toBe(200)
    }
    expect(await stored('select row_to_json(b) from books b order by id')).toEqual(before)
    expect(await stored('select * from books_genres where book_id = 2')).toEqual([{ book_id: 2, genre_id: 2 }])
  })
})

describe('what a caller may not write', () => {
  beforeEach(() => {
    client = clients.rules
  })

  it('is 403 where it may read it, and 404 where not', async () => {
    expect((await send('PATCH', '/books/5', { title: 'x' })).status).toBe(403)
    expect((await send('PATCH', '/books/5', {})).status).toBe(403)
    expect((await send('PATCH', '/books/3', { title: 'x' })).status).toBe(404)
    expect(
      (
        await send('PATCH', '/books/bulk', [
          { id: 1, title: 'x' },
          { id: 5, title: 'x' },
        ])
      ).status,
    ).toBe(403)
    expect(await stored('select title from books order by id')).toMatchObject([
      { title: 'One' },
      { title: 'Two' },
      { title: 'Three' },
      { title: 'Four' },
      { title: 'Five' },
    ])
  })

  it('may be hidden by it from itself, where the rule says that it may be changed', async () => {
    const one = await serve(VIEWS, [rule(Book, { read: { published: true }, update: true })])
    onTestFinished(() => one.close())
    const hidden = await one.send('PATCH', '/books/1', { published: false }, AS(1))
    expect([hidden.status, hidden.text]).toEqual([204, ''])
    expect((await one.get('/books/1', AS(1))).status).toBe(404)
    const kept = await serve(VIEWS, [rule(Book, { read: { published: true } })])
    onTestFinished(() => kept.close())
    expect((await kept.send('PATCH', '/books/2', { published: false }, AS(1))).status).toBe(403)
  })

  it('is refused as the row that results, and nothing of it is stored', async () => {
    expect((await send('PATCH', '/books/1', { tenant_id: 2 })).status).toBe(403)
    expect((await send('PATCH', '/books/1', { published: false })).status).toBe(403)
    expect((await send('POST', '/books', { title: 'x', tenant_id: 2 })).status).toBe(403)
    expect(
      (
        await send('POST', '/books/bulk', [
          { title: 'x', tenant_id: 1 },
          { title: 'x', tenant_id: 2 },
        ])
      ).status,
    ).toBe(403)
    expect(await stored('select count(*)::int, max(tenant_id) from books where id = 1 or id > 5')).toEqual([
      { count: 1, max: 1 },
    ])
  })

  it('is not taken over by code of a nested serializer, a plain one too', async () => {
    const declared = { id: new IntegerField({ readOnly: true }), tenant_id: new IntegerField() }
    class Own extends ModelSerializer<Author> {
      static override model = Author
      static override fields = ['id']
      static override declaredFields = declared
      override async update(author: Author, data: Record<string, unknown>) {
        return Author.query(this.context.knex).patchAndFetchById(author.id, data)
      }
    }
    class Plain extends Serializer<Author> {
      static override declaredFields = declared
      override async update(author: Author, data: Record<string, unknown>) {
        return Author.query(this.context.knex).patchAndFetchById(author.id, data)
      }
    }
    const own = rule(Author, { read: true, create: false, update: ofTenant })
    const api = new APIRouter({ rules: [own] })
    for (const nested of [Own, Plain]) {
      class Books extends TenantViewSet {
        static override model = Book
        static override serializerClass = serializerOf(Book, ['id', 'author'], {
          author: new NestedSerializer(nested, { required: false }),
        }) as never
      }
      api.register(nested.name, Books, nested.name)
    }
    await api.prepare()
    const one = await serving(api.routes())
    onTestFinished(() => one.close())
    for (const name of ['Own', 'Plain']) {
      expect((await one.send('PATCH', `/${name}/2`, { author: { tenant_id: 1 } }, AS(1))).status).toBe(403)
      expect((await one.send('PATCH', `/${name}/1`, { author: { tenant_id: 2 } }, AS(1))).status).toBe(403)
    }
    expect(await stored('select tenant_id from authors order by id')).toMatchObject([
      { tenant_id: 1 },
      { tenant_id: 2 },
      { tenant_id: 1 },
    ])
  })

  it('may stand in a nested list as it was shown', async () => {
    const one = await serve(VIEWS, [rule(Review, { read: true, update: { stars__gte: 4 } })])
    onTestFinished(() => one.close())
    const { json } = await one.get('/nested/1', AS(1))
    const [mine, another] = (json as { reviews: { id: number; stars: number }[] }).reviews
    expect([mine?.stars, another?.stars]).toEqual([5, 3])
    const changed = await one.send('PATCH', '/nested/1', { reviews: [{ ...mine, stars: 4 }, another] }, AS(1))
    expect(changed.status).toBe(200)
    const refused = await one.send('PATCH', '/nested/1', { reviews: [mine, { ...another, stars: 4 }] }, AS(1))
    expect(refused.status).toBe(403)
    expect(await stored('select stars from reviews where book_id = 1 order by id')).toEqual([
      { stars: 4 },
      { stars: 3 },
    ])
  })

  it('is not deleted', async () => {
    expect((await send('DELETE', '/books/3')).status).toBe(404)
    expect((await send('DELETE', '/books/1')).status).toBe(204)
    expect((await send('DELETE', '/books/bulk', [2, 3])).status).toBe(400)
    expect(await stored('select id from books order by id')).toEqual([{ id: 2 }, { id: 3 }, { id: 4 }, { id: 5 }])
  })

  it('cannot be moved below what the caller does not see', async () => {
    expect((await send('PATCH', '/reviews/1', { book_id: 3 })).status).toBe(400)
    expect((await send('POST', '/reviews', { book_id: 3, stars: 1 })).status).toBe(400)
    expect((await send('POST', '/reviews', { book_id: 2, stars: 1 })).status).toBe(201)
  })
})

it.each(['rules', 'view sets of related objects'])(
  'are told of by the document: %s hide what is there',
  async (how) => {
    const options = { queryset: Book, shownBy: serializerOf(Book, ['id']) }
    const serializer = serializerOf(Review, ['id'], {
      book: new NestedSerializer(serializerOf(Book, ['title']), { readOnly: true }),
      title: new SlugRelatedField({ source: 'book', slugField: 'title', readOnly: true }),
      shown: new PrimaryKeyRelatedField({ source: 'book', ...options }),
      book_id: new PrimaryKeyRelatedField({ source: 'book', readOnly: true }),
    })
    class Published extends BookViewSet {
      override getQueryset() {
        return super.getQueryset().where('books.published', true)
      }
    }
    class Reviews extends BulkModelViewSet {}
    const related = how === 'rules' ? {} : { book: Published }
    Object.assign(Reviews, { model: Review, serializerClass: serializer, related })
    const rules = how === 'rules' ? [rule(Book, { read: { published: true } })] : []
    const api = new APIRouter({ rules }).register('reviews', Reviews)
    await database.knex('reviews').insert({ book_id: 5, stars: 1 })
    // which holds answers to the document
    const client = await serving(api.routes())
    onTestFinished(() => client.close())
    const shown = (await client.get('/reviews')).json
    expect(shown.at(-1)).toMatchObject({ book: null, title: null, shown: null, book_id: 5 })
    const schema = api.getSchema().components.schemas[`${serializer.schemaName}Output`]
    expect(schema?.['properties']).toMatchObject({ title: { type: ['string', 'null'] }, book_id: { type: 'integer' } })
  },
)

it('holds of what a serializer, or a view set, writes by code of its own', async () => {
  class Own extends BookSerializer {
    static override schemaName = 'OwnBook'
    override async create(data: Record<string, unknown>) {
      return Book.query(this.context.knex).insertAndFetch({ title: String(data['title']), tenant_id: 2 } as never)
    }
  }
  class Books extends BookViewSet {}
  Object.assign(Books, { serializerClass: Own })
  class Late extends NestedBookViewSet {
    override async performCreate(serializer: Serializer<Book>) {
      const book = await serializer.save()
      await book.$query(this.trx).patch({ tenant_id: 2 } as never)
      return book
    }
  }
  const nested = serializerOf(Review, ['id', 'stars'], { book: new NestedSerializer(Own) })
  class Reviews extends ReviewViewSet {}
  Object.assign(Reviews, { serializerClass: nested, filtersetFields: [] })
  const views = { ...VIEWS, BookViewSet: Books, NestedBookViewSet: Late, ReviewViewSet: Reviews }
  const other = await serve(views, [...RULES.filter(({ model }) => model !== Review), rule(Review, {})])
  onTestFinished(() => other.close())
  const body = { title: 'x', tenant_id: 1 }
  expect((await other.send('POST', '/books', body, AS(1))).status).toBe(403)
  expect((await other.send('POST', '/nested', body, AS(1))).status).toBe(403)
  expect((await other.send('POST', '/reviews', { stars: 1, book: body }, AS(1))).status).toBe(403)
  expect(await stored('select id from books where id > 5')).toEqual([])
})

it('answers a write without a body where its writer may not read what it has written', async () => {
  const other = await serve(VIEWS, [
    rule(Book, {
      read: ({ user }) => ({ or: [{ tenant_id: user?.tenant }, { published: true }] }),
      create: true,
      update: true,
    }),
  ])
  try {
    const created = await other.send('POST', '/books', { title: 'x', tenant_id: 2 }, AS(1))
    expect([created.status, created.text]).toEqual([201, ''])
    expect(created.headers['preference-applied']).toBe('return=minimal')
    const changed = await other.send('PATCH', '/books/1', { tenant_id: 2, published: false }, AS(1))
    expect([changed.status, changed.text]).toEqual([204, ''])
    expect(await stored('select tenant_id from books where id = 1')).toEqual([{ tenant_id: 2 }])
  } finally {
    await other.close()
  }
})

it('answers a create without a body also where the view set has a queryset of its own', async () => {
  class Own extends BookViewSet {
    override getQueryset() {
      return super.getQueryset()
    }
  }
  const Plain = modelViewSet(Review, { serializerClass: ReviewSerializer, authenticationClasses: [Tenants] })
  class Reviews extends Plain {
    override getQueryset() {
      return super.getQueryset()
    }
  }
  const views = { ...VIEWS, BookViewSet: Own, ReviewViewSet: Reviews as never }
  const other = await serve(views, [
    rule(Book, { read: { published: true }, create: true }),
    rule(Review, { read: { stars__gt: 3 }, create: true }),
  ])
  try {
    for (const [path, body] of [
      ['/books', { title: 'x', tenant_id: 2 }],
      ['/reviews', { stars: 1, book_id: 1 }],
    ] as const) {
      const created = await other.send('POST', path, body, AS(1))
      expect([created.status, created.text]).toEqual([201, ''])
    }
  } finally {
    await other.close()
  }
})

it('asks of what is readable whatever its own rule asks of others', async () => {
  const other = await serve(VIEWS, [
    rule(Author, { read: ofTenant }),
    rule(Book, { read: any('author', readable) }),
    rule(Review, { read: any('book', readable) }),
  ])
  try {
    expect((await other.get('/books', AS(1))).json).toMatchObject([{ id: 1 }, { id: 4 }])
    expect((await other.get('/reviews', AS(1))).json).toMatchObject([{ id: 1 }, { id: 2 }, { id: 5 }])
    expect((await other.get('/reviews/3', AS(1))).status).toBe(404)
  } finally {
    await other.close()
  }
})

it('asks of relations that their mappings narrow, in all that reads and writes', async () => {
  const other = await serve(VIEWS, [
    rule(Book, { read: true, update: any('praise'), delete: any('praise') }),
    rule(Review, { read: any('book', any('praise')) }),
  ])
  try {
    expect((await other.get('/reviews', AS(1))).json).toMatchObject([{ id: 1 }, { id: 2 }, { id: 3 }])
    expect((await other.get('/books/3?expand=reviews,votes', AS(1))).json).toMatchObject({ reviews: [], votes: 0 })
    expect((await other.send('PATCH', '/books/1', { title: 'x' }, AS(1))).status).toBe(200)
    expect((await other.send('PATCH', '/books/3', { title: 'x' }, AS(1))).status).toBe(403)
    expect((await other.send('DELETE', '/books/3', undefined, AS(1))).status).toBe(403)
  } finally {
    await other.close()
  }
})

describe('view sets of related objects', () => {
  class MaskedAuthors extends AuthorViewSet {
    override getQueryset() {
      return super.getQueryset().select('authors.id', 'authors.tenant_id', raw("'someone'").as('name'))
    }
  }

  it.each(['rows', 'instances'])('mask what their querysets mask, read as %s', async (way) => {
    const shown = way === 'rows' ? { fields: ['id', 'author'] } : { fields: ['id', 'author', 'extra'] }
    const serializer = serializerOf(Book, shown.fields, {
      author: new NestedSerializer(AuthorSerializer),
      ...(way === 'rows' ? {} : { extra: new SerializerMethodField({ methodName: 'extra' }) }),
    })
    Object.assign(serializer.prototype, { extra: () => 1 })
    class Books extends BookViewSet {}
    Object.assign(Books, { related: { author: () => MaskedAuthors }, serializerClass: serializer })
    const masked = await serve({ ...VIEWS, BookViewSet: Books })
    try {
      const { json } = await masked.get('/books?ordering=id', AS(1))
      expect(json).toMatchObject([{ author: { id: 1, name: 'someone' } }, { author: { name: 'someone' } }, {}, {}, {}])
      expect((await masked.get('/books/1', AS(1))).json).toMatchObject({ author: { name: 'someone' } })
      expect((await masked.get('/books?author__name=Ada', AS(1))).json).toEqual([])
      expect((await masked.get('/books?search=Ada', AS(1))).json).toEqual([])
      expect((await masked.get('/books?author__name=someone', AS(1))).json).toHaveLength(4)
    } finally {
      await masked.close()
    }
  })

  it('are refused where they are of another model, or of no relation', async () => {
    class Wrong extends BookViewSet {
      static override related: FilterRelations = { author: ReviewViewSet }
    }
    await expect(serve({ ...VIEWS, BookViewSet: Wrong })).rejects.toThrow(
      'Wrong: related["author"] is ReviewViewSet, a view set of Review; name one of Author',
    )
    class Nowhere extends BookViewSet {
      static override related: FilterRelations = { writer: AuthorViewSet }
    }
    await expect(serve({ ...VIEWS, BookViewSet: Nowhere })).rejects.toThrow(
      'Nowhere: related["writer"] is no relation of Book',
    )
  })
})

describe('an OR of the application', () => {
  class HookedBook extends Book {
    static override QueryBuilder = class<M extends Model, R = M[]> extends QueryBuilder<M, R> {
      constructor(...args: never[]) {
        super(...(args as []))
        this.onBuild((query) => void (query.isFind() && query.where('title', '<>', 'a').orWhere('title', '<>', 'b')))
      }
    } as never
  }
  const either = (query: QueryBuilder<Book>) => query.where('title', '<>', 'a').orWhere('title', '<>', 'b')
  class Own extends BookViewSet {
    @action({ methods: ['GET'] })
    async all() {
      return (await this.getQueryset()).map((book) => book.$id())
    }

    @action({ methods: ['GET'] })
    async some() {
      return (await either(this.getQueryset() as never)).map((book) => book.$id())
    }

    @action({ methods: ['GET'] })
    async uses() {
      const some = () => either(this.getQueryset() as never)
      const few = () => some().select('books.id')
      const late = () =>
        either(this.getQueryset().select('books.id').toKnexQuery() as never) as unknown as Knex.QueryBuilder
      const knex = Book.knex()
      const ids = (rows: Model[]) =>
        rows
          .map((row) => Number(row.$id?.() ?? (row as unknown as { id: number }).id))
          .sort((one, other) => one - other)
      return {
        total: (await some().page(0, 1)).total,
        size: await some().resultSize(),
        lists: [
          await some().clone(),
          await either(this.getQueryset().clone() as never),
          await Book.query().whereIn('id', few() as never),
          await Book.query().where('id', -1).union(some()),
          await Book.query()
            .with('few', few() as never)
            .whereIn('id', knex.select('id').from('few') as never),
          await Book.query().from(some().as('books')),
          await some().withGraphJoined('author').where('books.id', '>', 0).orWhere('books.id', '<', 0),
          await some().toKnexQuery(),
          await some().toKnexQuery().clone(),
          await knex
            .select('id')
            .from('books')
            .whereIn('id', few().toKnexQuery() as never),
          await late(),
          await late().clone(),
          await knex.select('id').from('books').whereIn('id', late()),
          await knex.select('id').from('books').whereIn('id', late().clone()),
          await some().forUpdate().orWhere('id', '>', 0),
          await either(this.getQueryset().patch({ published: true } as never) as never).returning('id'),
        ].map((rows) => ids(rows as Model[])),
      }
    }

    @action({ methods: ['GET'], detail: true })
    async genres() {
      const genres = this.getRelatedQueryset('genres').where('name', '<>', 'a').orWhere('name', '<>', 'b')
      return ((await genres) as Model[]).map((genre) => genre.$id())
    }
  }
  class Static extends Own {
    static override queryset = () => either(Book.query()) as never
  }
  class Hooked extends Own {
    static override model = HookedBook
    static override serializerClass = serializerOf(HookedBook, ['id', 'title']) as never
  }
  class Override extends Own {
    override getQueryset() {
      return either(super.getQueryset() as never) as never
    }
  }

  const others = (query: QueryBuilder<Model>) => query.where('tenant_id', '<>', 7).orWhere('tenant_id', '<>', 8)
  class OwnBuilder<M extends Model, R = M[]> extends QueryBuilder<M, R> {
    constructor(...args: never[]) {
      super(...(args as []))
      this.onBuild((query) => void (query.isFind() && others(query as never)))
    }
  }
  it.each([
    ['a modifier of a graph', { modifiers: { others } }, 'author(others)', undefined],
    ['a graph of the model with a query builder', { QueryBuilder: OwnBuilder }, 'author', undefined],
    ['a query builder of the related model', { QueryBuilder: OwnBuilder }, undefined, undefined],
    ['the mapping of a relation', {}, undefined, others],
    ['the mapping of a relation, in a graph', {}, 'author', others],
  ])('in %s lets in no related row that a rule keeps out', async (_, statics, graph, modify) => {
    class Writer extends Author {}
    Object.assign(Writer, statics)
    class Written extends Book {
      static override relationMappings = () => ({
        ...Book.relationMappings(),
        author: {
          relation: Model.BelongsToOneRelation,
          modelClass: Writer,
          ...(modify && { modify }),
          join: { from: 'books.author_id', to: 'authors.id' },
        },
      })
    }
    Object.assign(Writer, {
      relationMappings: () => ({
        books: {
          relation: Model.HasManyRelation,
          modelClass: Written,
          ...(modify && { modify }),
          join: { from: 'authors.id', to: 'books.author_id' },
        },
      }),
    })
    const WriterSerializer = serializerOf(Writer, ['id'])
    class Books extends BookViewSet {
      static override model = Written
      static override serializerClass = serializerOf(Written, ['id', 'author_id'], {
        author: new NestedSerializer(WriterSerializer as never, { readOnly: true }),
      }) as never
    }
    if (graph)
      Object.assign(Books, {
        queryset: () => Written.query()['withGraphFetched'](graph),
      })
    class Writers extends AuthorViewSet {
      static override model = Writer
      static override serializerClass = serializerOf(Writer, ['id'], {
        books: new NestedSerializer(serializerOf(Written, ['id']) as never, { many: true, readOnly: true }),
      }) as never
    }
    class Below extends NestedViewSetMixin(Books) {
      static override parentLookupField = 'author_id'
    }
    const api = new APIRouter({ rules: [rule(Written, { read: ofTenant }), rule(Writer, { read: ofTenant })] })
    api.register('books', Books, 'book')
    api.register('authors', Writers, 'author')
    new NestedRouter(api, 'authors', { lookup: 'author' }).register('books', Below, 'author-book')
    await api.prepare()
    const one = await serving(api.routes())
    onTestFinished(() => one.close())
    const answers = ['/books', '/books/2', '/books?author__name=Ben', '/authors', '/authors/2', '/authors/1/books']
    const books = [
      { id: 1, author_id: 1, author: { id: 1 } },
      { id: 2, author_id: 2, author: null },
      { id: 5, author_id: null, author: null },
    ]
    expect(await Promise.all(answers.map(async (path) => (await one.get(path, AS(1))).json))).toEqual([
      books,
      books[1],
      [],
      [
        { id: 1, books: [{ id: 1 }] },
        { id: 3, books: [] },
      ],
      expect.objectContaining({ status: 404 }),
      [books[0]],
    ])
    expect((await one.send('PATCH', '/books/1', { author_id: 2 }, AS(1))).status).toBe(400)
    expect((await one.send('PATCH', '/books/2', { author_id: 2 }, AS(1))).json).toEqual(books[1])
  })

  it.each([
    ['what its actions read', Own],
    ['static queryset', Static],
    ['a query builder', Hooked],
    ['getQueryset()', Override],
  ])('in %s lets in no row that a rule, or the path, keeps out', async (_, view) => {
    const below = NestedViewSetMixin(view)
    Object.assign(below, { parentLookupField: 'author_id' })
    const api = new APIRouter({ rules: [rule(Book, { read: ofTenant }), rule(Genre, { read: ofTenant })] })
    api.register('books', view, 'book')
    api.register('authors', AuthorViewSet, 'author')
    new NestedRouter(api, 'authors', { lookup: 'author' }).register('books', below, 'author-book')
    await api.prepare()
    const one = await serving(api.routes())
    onTestFinished(() => one.close())
    expect((await one.get('/books/all', AS(1))).json).toEqual([1, 2, 5])
    expect((await one.get('/authors/1/books/all', AS(1))).json).toEqual([1])
    expect((await one.get('/books/some', AS(1))).json).toEqual([1, 2, 5])
    expect((await one.get('/authors/1/books/some', AS(1))).json).toEqual([1])
    // statements of its own, which write for a GET
    if (!runsAsRole()) {
      const uses = (await one.get('/books/uses', AS(1))).json
      expect(uses).toEqual({ total: 3, size: 3, lists: uses.lists.map(() => [1, 2, 5]) })
      const below1 = (await one.get('/authors/1/books/uses', AS(1))).json
      expect(below1).toEqual({ total: 1, size: 1, lists: below1.lists.map(() => [1]) })
    }
    expect((await one.get('/books/1/genres', AS(1))).json).toEqual([1, 3])
    const hidden = ['/books/3', '/authors/1/books/2', '/authors/1/books/3', '/authors/1/books/4']
    for (const path of hidden) {
      const requests = [
        one.get(path, AS(1)),
        ...['PATCH', 'DELETE'].map((method) => one.send(method, path, method === 'PATCH' ? {} : undefined, AS(1))),
      ]
      expect((await Promise.all(requests)).map(({ status }) => status)).toEqual([404, 404, 404])
    }
    expect((await one.get('/authors/1/books/1', AS(1))).status).toBe(200)
  })
})

it('leaves the version of a row as it is', async () => {
  class Edition extends Book {
    declare title: string
    override $beforeUpdate() {
      this.title = 'another'
    }
  }
  class Versioned extends serializerOf(Edition, ['id', 'title', 'published']) {
    static override readOnlyFields = ['title']
  }
  class Books extends BookViewSet {
    static override model = Edition
    static override serializerClass = Versioned as never
    static override concurrency = 'title'
  }
  const api = new APIRouter({ rules: [rule(Book, { read: ofTenant, update: { author__tenant_id: 1 } })] })
  api.register('books', Books)
  await api.prepare()
  const one = await serving(api.routes())
  onTestFinished(() => one.close())
  let { headers } = await one.get('/books/1', AS(1))
  for (const [method, body, status] of [
    ['PATCH', { published: false }, 200],
    ['DELETE', undefined, 204],
  ] as const) {
    const send = (tag: string) => one.send(method, '/books/1', body, { ...AS(1), 'If-Match': tag })
    expect((await send('"0000000000000000-0000000000000000"')).status).toBe(412)
    const answer = await send(String(headers['etag']))
    expect(answer.status).toBe(status)
    headers = answer.headers
  }
})

it('holds in a graph that a queryset loads', async () => {
  class Books extends NestedBookViewSet {
    override getQueryset() {
      return super.getQueryset().withGraphFetched('[author.books, reviews]')
    }
  }
  const other = await serve({ ...VIEWS, NestedBookViewSet: Books }, RULES)
  try {
    const one = await other.get('/nested/2', AS(1))
    expect(other.reported).toEqual([])
    expect(one.json).toMatchObject({ author: null, reviews: [{ id: 3 }] })
    expect((await other.get('/nested', AS(1))).json).toMatchObject([{ author: { id: 1 } }, { author: null }, {}])
  } finally {
    await other.close()
  }
})

it.each(['*', 'book.*'])('refuses a graph that names not all that it loads: %s', async (graph) => {
  const related = (name: string, modelClass: typeof Model, join: { from: string; to: string }) => () => ({
    [name]: { relation: Model.BelongsToOneRelation, modelClass, join },
  })
  class Writer extends Model {
    static override tableName = 'authors'
  }
  class Text extends Model {
    static override tableName = 'books'
    static override relationMappings = related('author', Writer, { from: 'books.author_id', to: 'authors.id' })
  }
  class Critique extends Model {
    static override tableName = 'reviews'
    static override relationMappings = related('book', Text, { from: 'reviews.book_id', to: 'books.id' })
  }
  class Critiques extends modelViewSet(Critique, { authenticationClasses: [Tenants] }) {
    static override serializerClass = class extends ModelSerializer {
      static override model = Critique
      static override fields = ['id', 'writer']
      static override declaredFields = { writer: new SerializerMethodField() }
      getWriter(review: Model) {
        return (review as Model & { book?: { author?: { name: string } } }).book?.author?.name
      }
    }
    override getQueryset() {
      return super.getQueryset().withGraphFetched(graph)
    }
  }
  const rules = [rule(Critique, { read: true }), rule(Text, { read: true }), rule(Author, { read: ofTenant })]
  const api = new APIRouter({ rules })
  await api.register('critiques', Critiques).prepare()
  const other = await serving(api.routes())
  onTestFinished(() => other.close())
  const { status, text } = await other.get('/critiques', AS(1))
  expect([status, text]).toEqual([500, expect.not.stringContaining('Ben')])
  expect(String(other.reported[0])).toMatch(/^ConfigurationError: (Critique|Text): a query loads "\*", all relations/)
})

it.each(['rows', 'instances'])('holds of links, where their table has a rule, of books read as %s', async (way) => {
  class Link extends Model {
    static override tableName = 'books_genres'
    static override idColumn = ['book_id', 'genre_id']
  }
  const masked = rule(Book, { fields: { title: { read: false, mask: 'A book' } } })
  const other = await serve(VIEWS, [
    ...(way === 'rows' ? [] : [masked]),
    rule(Link, { read: { genre_id__ne: 2 }, create: { genre_id__lt: 3 }, delete: { genre_id__lt: 3 } }),
  ])
  try {
    const change = async (genres: number[]) => (await other.send('PATCH', '/books/1', { genres }, AS(1))).status
    expect((await other.get('/books/1', AS(1))).json).toMatchObject({ genres: [1] })
    expect(await change([1, 3])).toBe(403)
    // it is there, and not seen
    expect(await change([1, 2])).toBe(200)
    expect(await change([])).toBe(200)
    expect(await stored('select genre_id from books_genres where book_id = 1')).toEqual([{ genre_id: 2 }])
    expect((await other.send('PATCH', '/books/4', { genres: [] }, AS(1))).status).toBe(403)
  } finally {
    await other.close()
  }
})

it('keeps links that are sent, also where the write itself hides what they lead to', async () => {
  const titled = sql`id in (select l.genre_id from books_genres l join books b on b.id = l.book_id where b.title <> 'Hidden')`
  for (const genres of [{ read: titled }, undefined]) {
    const rules = genres ? [rule(Genre, genres)] : []
    const other = await serve(VIEWS, rules)
    try {
      const change = (body: object) => other.send('PATCH', '/books/4', body, AS(1))
      expect(await change({ title: 'Hidden', genres: [3] })).toMatchObject({
        status: 200,
        json: { title: 'Hidden', genres: genres ? [] : [3] },
      })
      // it cannot be chosen any more, and it does not go
      expect((await change({ genres: [3] })).status).toBe(genres ? 400 : 200)
      expect((await change({ genres: [] })).status).toBe(200)
      expect(await stored('select genre_id from books_genres where book_id = 4')).toEqual(
        genres ? [{ genre_id: 3 }] : [],
      )
      expect((await change({ title: 'Seen' })).json).toMatchObject({ genres: genres ? [3] : [] })
    } finally {
      await other.close()
    }
  }
})

describe('a view on a route of its own', () => {
  const byHand = (rules: Rules) => {
    const router = new Router()
    mountView(router, '/books', BookViewSet.asView({ get: 'list', post: 'create' }, { rules }))
    const detail = { get: 'retrieve', patch: 'partialUpdate', delete: 'destroy' }
    mountView(router, '/books/{id:int}', BookViewSet.asView(detail, { rules }))
    return serving(router.routes() as never)
  }

  it('has the rules that its route names', async () => {
    const hand = await byHand(RULES)
    try {
      const ids = (await hand.get('/books', AS(1))).json as { id: number }[]
      expect(ids.map(({ id }) => id)).toEqual([1, 2, 5])
      expect((await hand.get('/books', {})).json).toEqual([])
      expect((await hand.get('/books/3', AS(1))).status).toBe(404)
      expect((await hand.get('/books/1', AS(1))).json).toMatchObject({ genres: [1] })
      const send = async (method: string, path: string, body?: unknown) =>
        (await hand.send(method, path, body, AS(1))).status
      expect(await send('PATCH', '/books/5', { title: 'x' })).toBe(403)
      expect(await send('PATCH', '/books/1', { author_id: 2 })).toBe(400)
      expect(await send('PATCH', '/books/1', { tenant_id: 2 })).toBe(403)
      expect(await send('POST', '/books', { tenant_id: 2, title: 'x' })).toBe(403)
      expect(await send('DELETE', '/books/3')).toBe(404)
      expect(await stored('select title from books where tenant_id = 1 order by id')).toEqual([
        { title: 'One' },
        { title: 'Two' },
        { title: 'Five' },
      ])
    } finally {
      await hand.close()
    }
  })

  it.each([
    ['a rule that is of no column', [rule(Book, { read: { tenant: 1 } })], /rule\(Book\)\.read/],
    ['a model without one', { models: [rule(Book, { read: true })], default: 'deny' as const }, /Author.* no rule/],
  ])('answers no request with %s', async (_, rules, message) => {
    const hand = await byHand(rules)
    try {
      expect((await hand.get('/books', AS(1))).status).toBe(500)
      expect(String(hand.reported[0])).toMatch(message)
    } finally {
      await hand.close()
    }
  })

  it('refuses what are no rules where it is made', () => {
    expect(() => BookViewSet.asView({ get: 'list' }, { rules: [{}] as never })).toThrow(/rules: one of them is none/)
  })
})

describe('a queryset that is narrowed', () => {
  class Published extends BookViewSet {
    override getQueryset() {
      return super.getQueryset().where('published', true)
    }
  }
  class Loose extends Published {
    static override mayLeaveQueryset = true
  }

  it('holds of rows that are written, too', async () => {
    const strict = await serve({ ...VIEWS, BookViewSet: Published })
    try {
      const sent = async (method: string, path: string, body: unknown) =>
        (await strict.send(method, path, body, AS(1))).status
      expect(await sent('POST', '/books', { title: 'x', tenant_id: 1 })).toBe(403)
      expect(await sent('POST', '/books', { title: 'x', tenant_id: 1, published: true })).toBe(201)
      expect(await sent('PATCH', '/books/1', { published: false })).toBe(403)
      expect(await sent('PATCH', '/books/1', { title: 'y' })).toBe(200)
      expect(await sent('PATCH', '/books/bulk', [{ id: 1, published: false }])).toBe(403)
      expect(await sent('POST', '/books/bulk', [{ title: 'x', tenant_id: 1 }])).toBe(403)
      expect(await stored('select title, published from books where id = 1 or id > 5 order by id desc')).toEqual([
        { title: 'x', published: true },
        { title: 'y', published: true },
      ])
    } finally {
      await strict.close()
    }
  })

  it('holds of nested objects, of which the view set is named', async () => {
    const tenantOf = (view: { ctx: Context }) => (view.ctx.state['user'] as { tenant: number }).tenant
    class TenantAuthorSerializer extends ModelSerializer<Author> {
      static override model = Author
      static override fields = ['id', 'name', 'tenant_id']
    }
    class Authors extends AuthorViewSet {
      override getQueryset() {
        return super.getQueryset().where('tenant_id', tenantOf(this))
      }
    }
    class LooseAuthors extends Authors {
      static override mayLeaveQueryset = true
    }
    class Reviews extends ReviewViewSet {
      override getQueryset() {
        return super.getQueryset().where('stars', '<', 5)
      }
    }
    class NestedBooks extends NestedBookViewSet {
      static override related: FilterRelations = { author: Authors, reviews: Reviews }
      static override serializerClass = class extends NestedBookSerializer {
        static override schemaName = 'TenantBook'
        static override declaredFields = {
          ...NestedBookSerializer.declaredFields,
          author: new NestedSerializer(TenantAuthorSerializer, { required: false, allowNull: true }),
        }
      }
    }
    class LooseBooks extends NestedBooks {
      static override related: FilterRelations = { author: LooseAuthors }
    }
    const strict = await serve({
      ...VIEWS,
      AuthorViewSet: Authors,
      NestedBookViewSet: NestedBooks,
      NamedBookViewSet: LooseBooks as never,
    })
    try {
      const sent = async (method: string, path: string, body: unknown) =>
        (await strict.send(method, path, body, AS(1))).status
      const given = (tenant_id: number) => ({ title: 'x', tenant_id: 1, author: { name: 'z', tenant_id } })
      expect(await sent('PATCH', '/nested/1', { author: { id: 1, tenant_id: 2 } })).toBe(403)
      expect(await sent('PATCH', '/nested/1', { author: { id: 1, name: 'A' } })).toBe(200)
      expect(await sent('PATCH', '/nested/1', { reviews: [{ id: 2, stars: 5 }] })).toBe(403)
      expect(await sent('PATCH', '/nested/1', { reviews: [{ id: 2, stars: 4 }, { stars: 5 }] })).toBe(403)
      expect(await sent('PATCH', '/nested/1', { reviews: [{ id: 2, stars: 4 }, { stars: 4 }] })).toBe(200)
      expect(await sent('POST', '/nested', given(2))).toBe(403)
      expect(await sent('POST', '/nested/bulk', [given(1), given(2)])).toBe(403)
      expect(await sent('POST', '/nested', given(1))).toBe(201)
      expect(await sent('PATCH', '/named/1', { author: { id: 1, tenant_id: 2 } })).toBe(200)
      expect(await stored('select name, tenant_id from authors where id = 1 or id > 3 order by id')).toEqual([
        { name: 'A', tenant_id: 2 },
        { name: 'z', tenant_id: 1 },
      ])
    } finally {
      await strict.close()
    }
  })

  it('holds of no nested object that rules let be written and hide', async () => {
    class Authors extends AuthorViewSet {
      override getQueryset() {
        return super.getQueryset().where('tenant_id', 1)
      }
    }
    class Books extends TenantViewSet {
      static override model = Book
      static override related: FilterRelations = { author: Authors }
      static override serializerClass = serializerOf(Book, ['id', 'author'], {
        author: new NestedSerializer(serializerOf(Author, ['id', 'tenant_id'])),
      })
    }
    const rules = [rule(Author, { read: ofTenant, create: true, update: true, delete: true })]
    const hiding = await serve({ ...VIEWS, NestedBookViewSet: Books as never }, rules)
    try {
      const { status } = await hiding.send('PATCH', '/nested/1', { author: { id: 1, tenant_id: 2 } }, AS(1))
      expect(status).toBe(200)
      expect(await stored('select tenant_id from authors where id = 1')).toEqual([{ tenant_id: 2 }])
    } finally {
      await hiding.close()
    }
  })

  it('may be left where it says so', async () => {
    const loose = await serve({ ...VIEWS, BookViewSet: Loose })
    try {
      const changed = await loose.send('PATCH', '/books/1', { published: false }, AS(1))
      expect([changed.status, changed.json]).toMatchObject([200, { published: false }])
      expect((await loose.send('POST', '/books', { title: 'x', tenant_id: 1 }, AS(1))).status).toBe(201)
    } finally {
      await loose.close()
    }
  })
})

describe('related objects of a whole table that another view set narrows', () => {
  class Authors extends AuthorViewSet {
    override getQueryset() {
      return super.getQueryset().where('tenant_id', 1)
    }
  }
  const prepare = async (books: typeof BookViewSet, options: object) => {
    const api = new APIRouter(options)
    api.register('authors', Authors)
    api.register('books', books)
    await api.prepare()
  }

  it('are warned of, with the fix', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    onTestFinished(() => warned.mockRestore())
    await prepare(BookViewSet, {})
    expect(warned.mock.calls.map(([text]) => String(text)).filter((text) => text.includes('shows a part'))).toEqual([
      expect.stringMatching(
        /^Authors shows a part of Author by its queryset, and all of it is reached by BookViewSet \(BookSerializer.author_id\), BookViewSet \(\w+.author\); set static related = { author: Authors } there, give the router a rule\(Author, …\), or choose the rows by the field's own queryset$/,
      ),
    ])
  })

  it('are refused by a router that is strict', async () => {
    await expect(prepare(BookViewSet, { strict: true })).rejects.toThrow(
      'all of it is reached by BookViewSet (BookSerializer.author_id)',
    )
    await expect(prepare(BookViewSet, { strict: true, rules: [rule(Author, { read: true })] })).resolves.toBeUndefined()
    const ofFields = [rule(Author, { fields: { name: { write: false } } })]
    await expect(prepare(BookViewSet, { strict: true, rules: ofFields })).rejects.toThrow('all of it is reached by')
    class Related extends BookViewSet {
      static override related: FilterRelations = { author: Authors }
    }
    await expect(prepare(Related, { strict: true })).resolves.toBeUndefined()
  })

  it('are found in the serializer of bodies and in those of actions, too', async () => {
    const shown = serializerOf(Book, ['id', 'title'])
    const choosing = serializerOf(Book, ['author_id'])
    class Bodies extends modelViewSet(Book, { serializerClass: shown, inputSerializerClass: choosing }) {}
    class Acting extends modelViewSet(Book, {
      serializerClass: shown,
      actions: { sign: objectAction({ methods: ['POST'], input: choosing }, async () => null) },
    }) {}
    for (const views of [Bodies, Acting])
      await expect(prepare(views as never, { strict: true })).rejects.toThrow('all of it is reached by')
  })
})

it.each([true, false])('has isnull of related rows mean what the filter means by it: %s', async (isnull) => {
  class Books extends modelViewSet(Book, {
    serializerClass: serializerOf(Book, ['id']),
    filterBackends: [FieldFilter],
    filtersetFields: ['author__name', 'genres__name', 'author_id'],
  }) {}
  const idsOf = async (rules: Rules, query: string): Promise<readonly number[]> => {
    const client = await serving(new APIRouter({ rules }).register('books', Books).routes())
    const { json } = await client.get(`/books${query}`)
    await client.close()
    return json.map(({ id }: Book) => id)
  }
  for (const name of ['author__name__isnull', 'genres__name__isnull', 'author_id__isnull']) {
    const filtered = await idsOf([], `?${name}=${isnull}`)
    expect([name, await idsOf([rule(Book, { read: { [name]: isnull } })], '')]).toEqual([name, filtered])
    const others = [1, 2, 3, 4, 5].filter((id) => !filtered.includes(id))
    expect([name, await idsOf([rule(Book, { read: { not: { [name]: isnull } } })], '')]).toEqual([name, others])
  }
})

it('holds of no row where the column cannot hold the value, of whatever type it is', async () => {
  let value: unknown
  const other = await serve(VIEWS, [rule(Author, { read: () => ({ tenant_id: value }) })])
  try {
    const date = new Date()
    for (const one of [1.5, 3e9, Infinity, 10n ** 30n, true, 'x', {}, () => 1, date, Buffer.from('x')]) {
      for (value of [one, [one]]) expect([value, (await other.get('/authors')).json]).toEqual([value, []])
    }
    for (value of [[], [1], [1, 2]]) expect([value, (await other.get('/authors')).json]).toEqual([value, []])
    for (value of [1, 1n, '1']) expect((await other.get('/authors')).json).toHaveLength(2)
  } finally {
    await other.close()
  }
})

it('holds of an interval that the database has told, and of none that another object says', async () => {
  await database.knex.raw(
    `create table shifts (id int primary key, length interval); insert into shifts values (1, '5 h')`,
  )
  onTestFinished(() => database.knex.schema.dropTable('shifts'))
  class Shift extends Model {
    static override tableName = 'shifts'
    declare length: unknown
  }
  const [shift] = await Shift.query(database.knex)
  class Shifts extends modelViewSet(Shift, { serializerClass: serializerOf(Shift, ['id']) }) {}
  for (const [length, ids] of [
    [shift?.length, [{ id: 1 }]],
    [{ hours: 5 }, []],
  ]) {
    const api = new APIRouter({ rules: [rule(Shift, { read: () => ({ length }) })] })
    const one = await serving(api.register('shifts', Shifts).routes())
    expect((await one.get('/shifts')).json).toEqual(ids)
    await one.close()
  }
})

describe('mistakes in rules', () => {
  const prepare = async (rules: Rules) => {
    const api = new APIRouter({ rules })
    api.register('books', BookViewSet)
    await api.prepare()
  }

  it('are found before any request', async () => {
    await expect(prepare([rule(Book, { read: { titel: 'x' } })])).rejects.toThrow(
      'rule(Book).read names "titel": Book has neither a column nor a relation "titel"; correct the name',
    )
    await expect(prepare([rule(Book, { read: ({ user }) => ({ tenant_id__near: user?.id ?? 1 }) })])).rejects.toThrow(
      'rule(Book).read asks for "tenant_id__near"; the lookups of tenant_id are',
    )
    await expect(prepare([rule(Book, { read: any('pages') })])).rejects.toThrow(
      'rule(Book).read asks about "pages", which is no relation of Book',
    )
    await expect(
      prepare([rule(Book, { read: any('reviews', readable) }), rule(Review, { read: any('book', readable) })]),
    ).rejects.toThrow('leads to itself by "readable"')
    await expect(prepare([rule(Book, {}), rule(Book, {})])).rejects.toThrow('rules: two are of Book; make them one')
  })

  it('are tables with a rule that another model calls by another name', async () => {
    class Shelved extends Model {
      static override tableName = 'public.books'
    }
    Shelved.knex(database.knex)
    const api = new APIRouter({ rules: [rule(Book, { read: ofTenant })] })
    api.register('shelved', viewOf(Shelved, serializerOf(Shelved, ['id'])), 'shelved')
    await expect(api.prepare()).rejects.toThrow(
      'rules: Shelved calls the table "public.books" and Book calls it "books", and a rule holds for one name; give both models the same tableName',
    )
    const rules = [rule(Book, { read: ofTenant }), rule(Shelved, { read: ofTenant })]
    await expect(new APIRouter({ rules }).register('books', BookViewSet).prepare()).resolves.toBeUndefined()
  })

  it('are models without a rule, where the default is to deny', async () => {
    await expect(prepare({ models: [rule(Book, {})], default: 'deny' })).rejects.toThrow(
      /rules: .*Author.* have no rule, and the default is to deny/,
    )
    const others = [Author, Genre, Review].map((model) => rule(model, { read: true }))
    await expect(prepare({ models: others, default: 'deny' })).rejects.toThrow(
      'rules: Book has no rule, and the default is to deny',
    )
  })

  it('are no join tables of which there is no model', async () => {
    const models = [Book, Author, Genre, Review].map((model) => rule(model, { read: true }))
    await expect(prepare({ models, default: 'deny' })).resolves.toBeUndefined()
  })
})

it('is a function of the request that was sent, whatever is asked first on behalf of it', async () => {
  const asked: string[] = []
  const create = ({ ctx }: { ctx: Context }) => {
    asked.push(`${ctx.method} ${ctx.querystring}`)
    return ctx.method === 'POST'
  }
  class Related extends BookViewSet {
    static override related: FilterRelations = { author: AuthorViewSet }
  }
  const api = new APIRouter({ rules: [rule(Author, { read: ofTenant }), rule(Book, { create })] })
  api.register('authors', AuthorViewSet).register('books', Related)
  await api.prepare()
  const one = await serving(api.routes())
  onTestFinished(() => one.close())
  const body = { title: 'New', tenant_id: 1, author_id: 1 }
  asked.length = 0
  expect((await one.send('POST', '/books?by=hand', body, AS(1))).status).toBe(201)
  expect(new Set(asked)).toEqual(new Set(['POST by=hand']))
})

it.each([true, false])(
  'of a row that an action gets is that of changes, unless it says otherwise: atomic %s',
  async (atomic) => {
    const held = (rule?: 'read' | 'delete') =>
      objectAction({ methods: ['POST'], atomic, ...(rule && { rule }) }, (book: Book) => ({ held: book.$id() }))
    const Held = modelViewSet(Book, {
      serializerClass: BookSerializer,
      authenticationClasses: [Tenants],
      actions: { touch: held(), look: held('read'), wipe: held('delete') },
    })
    const api = new APIRouter({ rules: [rule(Book, { read: ofTenant, update: { published: true }, delete: false })] })
    api.register('books', Held)
    await api.prepare()
    const one = await serving(api.routes())
    onTestFinished(() => one.close())
    const statuses = async (id: number) => {
      const asked = ['touch', 'look', 'wipe'].map((name) => one.send('POST', `/books/${id}/${name}`, {}, AS(1)))
      return (await Promise.all(asked)).map(({ status }) => status)
    }
    expect(await statuses(1)).toEqual([200, 200, 403])
    expect(await statuses(5)).toEqual([403, 200, 403])
    expect(await statuses(3)).toEqual([404, 404, 404])
    expect(() => action({ methods: ['POST'], rule: 'write' as never })).toThrow('rule is "write"; take one of read')
  },
)

it('of a new row is asked also where its writer may not read it', async () => {
  const Reviews = modelViewSet(Review, { serializerClass: ReviewSerializer, authenticationClasses: [Tenants] })
  // it reads the table of the row itself, of which an INSERT sees what was there before
  const create = any('book', { 'none(reviews)': { stars: 1 } })
  const api = new APIRouter({ rules: [rule(Review, { read: { stars__gt: 3 }, create })] })
  api.register('reviews', Reviews)
  await api.prepare()
  const one = await serving(api.routes())
  onTestFinished(() => one.close())
  const sent = async (stars: number) => (await one.send('POST', '/reviews', { stars, book_id: 1 }, AS(1))).status
  expect([await sent(1), await sent(2), await sent(4)]).toEqual([403, 201, 201])
  expect(await stored('select stars from reviews where id > 5 order by id')).toEqual([{ stars: 2 }, { stars: 4 }])
})

it('is shown by explain(), as it is for the caller', async () => {
  const api = new APIRouter({ rules: RULES })
  api.register('books', BookViewSet)
  await api.prepare()
  const explained = (await api.explain('book')).find(({ method }) => method === 'PATCH')
  expect(explained).toMatchObject({
    rules: [
      'reads Book where its rule says so',
      'reads Genre where its rule says so',
      'changes Book where its rule says so',
    ],
    notes: ['decided by rules, which are functions of the caller, on each request'],
  })
  // rules of what no relation leads to decide on nothing
  class Shelf extends Model {
    static override tableName = 'genres'
  }
  const apart = new APIRouter({ rules: [rule(Review, { read: ({ user }) => ({ stars: user?.stars }) })] })
  class Shelves extends TenantViewSet {
    static override model = Shelf
    static override serializerClass = serializerOf(Shelf, ['id', 'name']) as never
  }
  apart.register('shelves', Shelves)
  await apart.prepare()
  const lists = await apart.explain('genre-list')
  expect(lists[0]).toMatchObject({ notes: [], statements: [{ does: 'list' }] })
  const told: unknown[] = []
  const explaining = await serving(async (ctx, next) => {
    told.push(...(await api.explain({ ctx })))
    await next()
  }, api.routes())
  onTestFinished(() => explaining.close())
  await explaining.get('/books', AS(1))
  expect(told).toMatchObject([
    {
      rules: ['reads Book where "books"."tenant_id" = $1', 'reads Genre where "genres"."tenant_id" = $1'],
      statements: [{ does: 'list', sql: expect.stringContaining('where "books"."tenant_id" = $1') }],
    },
  ])
  class Link extends Model {
    static override tableName = 'books_genres'
  }
  const linked = new APIRouter({ rules: [rule(Link, { read: { book_id__gt: 1 } })] }).register('books', BookViewSet)
  expect((await linked.explain('book-list'))[0]?.rules).toEqual([
    expect.stringContaining('where "books_genres"."book_id" > $1'),
  ])
  class Related extends BookViewSet {
    static override related: FilterRelations = { author: AuthorViewSet }
  }
  const other = new APIRouter()
  other.register('books', Related)
  await other.prepare()
  expect((await other.explain('book-list'))[0]?.rules).toEqual(['author from AuthorViewSet'])
})

it('holds of related objects that code of the application looks up', async () => {
  class Books extends BookViewSet {
    @action({ methods: ['POST'], detail: true })
    async shelve() {
      const { genre } = this.body.data as { genre: number }
      const found = await this.getRelatedQueryset('genres').findById(genre)
      if (!found) throw new NotFound()
      return found
    }
  }
  const other = await serve({ ...VIEWS, BookViewSet: Books }, RULES)
  onTestFinished(() => other.close())
  expect((await other.send('POST', '/books/1/shelve', { genre: 1 }, AS(1))).status).toBe(200)
  expect((await other.send('POST', '/books/1/shelve', { genre: 2 }, AS(1))).status).toBe(404)
})

it('leaves the first of a list to what a caller sees, where code of the application shows what it has saved', async () => {
  const reviews = new NestedSerializer(ReviewSerializer, { many: true, readOnly: true, orderBy: ['id'], limit: 1 })
  class Books extends BulkModelViewSet {
    static override model = Book
    static override serializerClass = serializerOf(Book, ['id', 'title', 'reviews'], { reviews })
    @action({ methods: ['POST'], detail: true })
    async rename() {
      const obj = await this.getObject()
      const serializer = this.getSerializer({ obj, inputData: { title: 'new' }, partial: true })
      await serializer.isValid({ raiseException: true })
      await serializer.save()
      return serializer.data
    }
  }
  const api = routerOf({ books: Books }, { rules: [rule(Review, { read: { stars: 3 } })] })
  const one = await serveRouter(api)
  const seen = [{ id: 2, stars: 3, book_id: 1 }]
  expect((await one.get('/books/1')).json).toMatchObject({ reviews: seen })
  expect((await one.send('POST', '/books/1/rename')).json).toMatchObject({ title: 'new', reviews: seen })
})

describe('what a caller may not read is not told', () => {
  const ordered = ['-author__name', 'id']
  class Cursors extends BookViewSet {
    static override paginationClass = new CursorPagination({ pageSize: 2, ordering: ordered })
    static override orderingFields = []
  }
  class Native extends BookViewSet {
    static override useNativeJson = true
  }
  class Figures extends AggregateMixin(TenantViewSet) {
    static override model = Book
    static override serializerClass = BookSerializer
    static override groupBy = ['author__name']
    static override facets = ['author__name']
    static override aggregates = { highest: max('author__id'), number: count() }
  }
  class Texts extends StreamMixin(BookViewSet) {
    static override rendererClasses = [JSONRenderer, NDJSONRenderer]
  }
  let other: Client
  beforeAll(async () => {
    configure({ secretKey: 'rules '.repeat(4) })
    const api = new APIRouter({ rules: RULES })
    api.register('cursors', Cursors, 'cursor')
    api.register('native', Native, 'native')
    api.register('figures', Figures, 'figure')
    api.register('texts', Texts, 'text')
    await api.prepare()
    other = await serving(api.routes())
  })
  afterAll(() => other.close())
  const ask = async (path: string) => (await other.get(path, AS(1))).json

  it('by pages of a cursor that is ordered by a related column', async () => {
    const pages: number[][] = []
    let path: string | null = '/cursors'
    while (path) {
      const page = (await ask(path)) as { results: { id: number }[]; next: string | null }
      pages.push(page.results.map(({ id }) => id))
      path = page.next && new URL(page.next, 'http://x').pathname + new URL(page.next, 'http://x').search
    }
    expect(pages).toEqual([[2, 5], [1]])
  })

  it('by the order of a list whose statement another caller has made', async () => {
    class Whole extends TenantViewSet {
      static override model = Book
      static override serializerClass = modelSerializer(Book, { fields: ['id'] })
      static override orderingFields = ['author__name']
      static override ordering = ['author__name']
    }
    class Own extends Whole {
      override getQueryset() {
        return super.getQueryset().where('id', '<', 9)
      }
    }
    const api = new APIRouter({
      rules: [
        rule(Book, { read: true }),
        rule(Author, { read: ({ user }) => user?.tenant === 0 || { tenant_id: user?.tenant } }),
      ],
    })
    api.register('whole', Whole, 'whole').register('own', Own, 'own')
    await api.prepare()
    const staffed = await serving(api.routes())
    onTestFinished(() => staffed.close())
    for (const path of ['/whole', '/own', '/whole?ordering=author__name', '/own?ordering=author__name']) {
      const ids = async (tenant: number) => {
        const { json } = await staffed.get(path, AS(tenant))
        return (json as { id: number }[]).map(({ id }) => id)
      }
      expect([path, await ids(0)]).toEqual([path, [1, 4, 2, 3, 5]])
      expect([path, await ids(2)]).toEqual([path, [2, 3, 1, 4, 5]])
    }
  })

  it('by JSON that PostgreSQL writes', async () => {
    expect(await ask('/native?expand=author,reviews,votes&ordering=id')).toMatchObject([
      { id: 1, author: { name: 'Ada' }, votes: 2, genres: [1] },
      { id: 2, author: null, votes: 1, genres: [] },
      { id: 5, author: null, votes: 0 },
    ])
  })

  it('by figures, groups and facets', async () => {
    expect(await ask('/figures/aggregate?aggregate=highest,number')).toMatchObject({ highest: 1, number: 3 })
    const groups = JSON.stringify(await ask('/figures/aggregate?group_by=author__name&aggregate=number'))
    expect(groups).toContain('Ada')
    expect(groups).not.toContain('Ben')
    const facets = JSON.stringify(await ask('/figures/facets'))
    expect(facets).toContain('Ada')
    expect(facets).not.toContain('Ben')
  })

  it('by streams', async () => {
    const { text } = await other.get('/texts?expand=author,reviews,votes', { ...AS(1), Accept: 'application/x-ndjson' })
    const rows = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object)
    expect(rows).toMatchObject([{ author: { id: 1 } }, { author: null, votes: 1 }, { author: null }])
  })
})

it('is asked by the INSERT itself where it reads the new row only, and else before COMMIT', async () => {
  const sent: string[] = []
  const listen = ({ sql }: { sql: string }) => void sent.push(sql.split(' ', 1)[0] ?? '')
  const other = await serve({ ...VIEWS, BookViewSet: class extends BookViewSet {} }, [
    rule(Genre, { read: ({ user }) => ({ tenant_id: user?.tenant }) }),
    rule(Review, { create: any('book', { tenant_id: 1 }) }),
    rule(Author, { create: sql`name <> ${'Eve'}` }),
  ])
  onTestFinished(() => other.close())
  await other.send('POST', '/reviews', { book_id: 1, stars: 1 }, AS(1))
  database.knex.on('query', listen)
  onTestFinished(() => void database.knex.off('query', listen))
  const post = async (path: string, body: object) => (await other.send('POST', path, body, AS(1))).status
  expect(await post('/reviews', { book_id: 1, stars: 1 })).toBe(201)
  expect(await post('/reviews', { book_id: 3, stars: 1 })).toBe(403)
  expect(await stored('select count(*)::int from reviews where id > 5')).toEqual([{ count: 2 }])
  await database.knex.raw('alter table authors alter tenant_id set default 1')
  expect(await post('/authors', { name: 'Dan' })).toBe(201)
  expect(await post('/authors', { name: 'Eve' })).toBe(403)
  expect(await stored("select count(*)::int from authors where name in ('Dan', 'Eve')")).toEqual([{ count: 1 }])
  await database.knex.raw('alter table authors alter tenant_id drop default')
  expect(sent.filter((word) => word === 'BEGIN;')).toHaveLength(2)
})

it('joins what a negation asks of other tables, in place of reading all of their rows', async () => {
  const sent: string[] = []
  const listen = ({ sql }: { sql: string }) => void sent.push(sql)
  const other = await serve({ ...VIEWS, BookViewSet: class extends BookViewSet {} }, [
    rule(Book, { read: { not: { author__name: 'Eve' } } }),
    rule(Review, { read: { book__title__ne: 'Eve' } }),
  ])
  onTestFinished(() => other.close())
  database.knex.on('query', listen)
  onTestFinished(() => void database.knex.off('query', listen))
  for (const path of ['/books', '/reviews']) expect((await other.get(path, AS(1))).status).toBe(200)
  expect(sent.filter((sql) => sql.includes('not exists'))).toHaveLength(2)
  expect(sent.join()).not.toContain('is not true')
})

describe('asked of a change', () => {
  const changing = async (rules: Rules, before = 'select 1') => {
    await database.knex.raw(before)
    const other = await serve({ ...VIEWS, ReviewViewSet: class extends ReviewViewSet {} }, rules)
    const sent: string[] = []
    const listen = (query: { sql: string }) => void sent.push(query.sql.split(' ', 1)[0] ?? '')
    database.knex.on('query', listen)
    onTestFinished(async () => {
      database.knex.off('query', listen)
      await other.close()
      await database.knex.raw('drop trigger if exists touched on reviews')
    })
    return async (method: string, path: string, body?: object) => {
      sent.length = 0
      const { status } = await other.send(method, path, body, AS(1))
      return [status, ...sent].join(' ')
    }
  }
  const trigger = (when: string, does: string) => `
    create or replace function touched() returns trigger language plpgsql as $$ begin ${does}; return new; end $$;
    create trigger touched ${when} update on reviews for each row execute function touched()`

  it.skipIf(runsAsRole())('are no more statements than without rules', async () => {
    const own = { stars__gte: 2, book_id__in: [1, 2] }
    const send = await changing([rule(Review, { read: { stars__gte: 1 }, update: own, delete: own })])
    expect(await send('PATCH', '/reviews/1', { stars: 4 })).toBe('200 update')
    // what they refuse, before or afterwards, is held, to tell why
    expect(await send('PATCH', '/reviews/1', { stars: 1 })).toBe('403 update BEGIN; select update ROLLBACK')
    expect(await send('PATCH', '/reviews/4', { stars: 4 })).toBe('403 update BEGIN; select ROLLBACK')
    expect(await send('DELETE', '/reviews/4')).toBe('403 delete BEGIN; select ROLLBACK')
    expect(await send('DELETE', '/reviews/2')).toBe('204 delete')
    expect(await stored('select id, stars from reviews order by id')).toMatchObject([
      { id: 1, stars: 4 },
      { id: 3, stars: 4 },
      { id: 4, stars: 1 },
      { id: 5, stars: 2 },
    ])
  })

  it('is what triggers make of the row', async () => {
    const after = trigger('after', 'if new.stars > 4 then update reviews set stars = 0 where id = new.id; end if')
    const send = await changing([rule(Review, { update: { stars__gte: 1 } })], after)
    expect(await send('PATCH', '/reviews/1', { stars: 4 })).toMatch(/^200/)
    expect(await send('PATCH', '/reviews/1', { stars: 5 })).toMatch(/^403/)
    expect(await stored('select stars from reviews where id = 1')).toEqual([{ stars: 4 }])
  })

  it('is what triggers make of rows that it is about', async () => {
    const before = trigger(
      'before',
      'if new.stars > 4 then update books set tenant_id = 2 where id = new.book_id; end if',
    )
    const send = await changing([rule(Review, { update: any('book', { tenant_id: 1 }) })], before)
    expect(await send('PATCH', '/reviews/1', { stars: 4 })).toMatch(/^200/)
    expect(await send('PATCH', '/reviews/1', { stars: 5 })).toMatch(/^403/)
    expect(await stored('select tenant_id from books where id = 1')).toEqual([{ tenant_id: 1 }])
  })

  it('is asked once more of a row that is held, where it is about others', async () => {
    const send = await changing([
      rule(Review, { read: any('book', { tenant_id: 1 }), update: any('book', { title__startswith: 'O' }) }),
    ])
    expect(await send('PATCH', '/reviews/1', { stars: 4 })).toBe('200 BEGIN; select select update COMMIT;')
    expect(await send('PATCH', '/reviews/3', { stars: 5 })).toBe('403 BEGIN; select select ROLLBACK')
    expect(await send('PATCH', '/reviews/4', { stars: 5 })).toBe('404 BEGIN; select select ROLLBACK')
  })

  it('is asked of models that are bound to no database, over relations that are narrowed', async () => {
    class Unbound extends Model {}
    Unbound.knex(undefined as never)
    class Vote extends Unbound {
      static override tableName = 'reviews'
    }
    class Title extends Unbound {
      static override tableName = 'books'
      static override relationMappings = () => ({
        praise: {
          relation: Model.HasManyRelation,
          modelClass: Vote,
          modify: (query: QueryBuilder<Model>) => void query.where('stars', '>', 3),
          join: { from: 'books.id', to: 'reviews.book_id' },
        },
      })
    }
    class Titles extends BulkModelViewSet {
      static override model = Title
      static override serializerClass = serializerOf(Title, ['id', 'tenant_id', 'title'])
      override getKnex() {
        return database.knex
      }
    }
    const rules = [rule(Title, { read: true, create: any('praise'), update: any('praise') })]
    const api = new APIRouter({ rules }).register('titles', Titles)
    await api.prepare({ knex: database.knex })
    const other = await serving(api.routes())
    onTestFinished(() => other.close())
    const send = async (method: string, path: string, body: unknown) => (await other.send(method, path, body)).status
    expect(await send('PATCH', '/titles/1', { title: 'x' })).toBe(200)
    expect(await send('PATCH', '/titles/3', { title: 'x' })).toBe(403)
    expect(await send('PATCH', '/titles/bulk', [{ id: 1, title: 'y' }])).toBe(200)
    expect(await send('POST', '/titles', { tenant_id: 1, title: 'x' })).toBe(403)
  })
})
