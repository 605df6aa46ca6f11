/** Tables with triggers and unusual types, models with hooks and query builders of their own. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { Readable } from 'node:stream'
import knexLibrary, { type Knex } from 'knex'
import type { Context } from 'koa'
import {
  AllowAny,
  APIRouter,
  action,
  BulkModelViewSet,
  CreateMixin,
  CursorPagination,
  configure,
  FullTextSearchFilter,
  GenericViewSet,
  IDMixin,
  IntegerField,
  JSONRenderer,
  ListMixin,
  ModelSerializer,
  ModelViewSet,
  NDJSONRenderer,
  NestedRouter,
  NestedSerializer,
  NestedViewSetMixin,
  PageNumberPagination,
  PrimaryKeyRelatedField,
  PublicIDMixin,
  RetrieveMixin,
  SearchFilter,
  ServerCursorPagination,
  SlugRelatedField,
  StreamMixin,
  UpdateMixin,
} from 'koa-viewsets'
import { transaction } from 'koa-viewsets/plugins'
import { Model, type Pojo, QueryBuilder, type QueryContext, raw, type StaticHookArguments } from 'objection'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { serveApp } from '../support/client.js'
import { undescribed } from '../support/contract.js'
import { Author, Book, database, useLibrary } from '../support/library.js'
import { runsAsRole } from '../support/roles.js'
import { routerOf, serializerOf, serveRouter, serveViews, tableOf, viewOf } from '../support/views.js'

const SCHEMA = `
  -- whose keys clients give
  alter table authors alter id drop identity, add books_count int not null default 0;
  insert into authors (id, name) values (3, 'Cleo');
  alter table books add deleted bool not null default false;
  insert into books (title, author_id, deleted) select 'title ' || n, 1 + n % 3, n = 3 from generate_series(1, 6) n;
  create function count_books() returns trigger language plpgsql as
    $$ begin update authors set books_count = books_count + 1 where id = new.author_id; return new; end $$;
  create trigger count_books after insert on books for each row execute function count_books();
  create table plain (id int primary key, author_id int references authors);
  create table labels (id int primary key, label text not null);
  create table tagged (book_id int primary key, tag_id int);
  insert into labels values (1, 'a'), (2, 'b');
  insert into tagged values (1, 1);

  create table keeps (id int primary key, kept bool not null);
  create function keep() returns trigger language plpgsql as $$ begin return case when old.kept then null else old end; end $$;
  create trigger keep before delete on keeps for each row execute function keep();
  create table marked (id int primary key, kept bool not null default true, gone_at timestamptz);
  create function hold_back() returns trigger language plpgsql as $$ begin return case when old.kept then null else new end; end $$;
  create trigger hold_back before update on marked for each row execute function hold_back();

  create table nodes (id int primary key, parent_id int references nodes on delete cascade);

  create table parted (id int primary key, author_id int references authors) partition by range (id);
  create table parted_low partition of parted for values from (0) to (100);
  create trigger count_books after insert on parted_low for each row execute function count_books();
  create table ruled (id int primary key, author_id int references authors);
  create rule count_books as on insert to ruled do also update authors set books_count = books_count + 1 where id = new.author_id;
  create table descriptions (book_id int primary key references books on delete cascade, text text not null);
  create view shown_books as select id, title, author_id from books;
  create view described_books as select b.id, b.title, d.text from books b join descriptions d on d.book_id = b.id;
  create function describe() returns trigger language plpgsql as $$ begin
    if tg_op = 'INSERT' then
      insert into books (title, author_id) values (new.title, 1) returning id into new.id;
      insert into descriptions values (new.id, new.text);
    else
      update books set title = new.title where id = old.id;
      update descriptions set text = new.text where book_id = old.id;
    end if;
    return new; end $$;
  create trigger describe instead of insert or update on described_books for each row execute function describe();
  create table people (id int primary key, first text, last text, name text generated always as (first || ' ' || last) stored);
  create view named_people as select id, name from people;
  create function part_name() returns trigger language plpgsql as $$ begin
    if tg_op = 'INSERT' then
      insert into people values (new.id, split_part(new.name, ' ', 1), split_part(new.name, ' ', 2));
    else
      update people set first = split_part(new.name, ' ', 1), last = split_part(new.name, ' ', 2) where id = old.id;
    end if;
    return new; end $$;
  create trigger part_name instead of insert or update on named_people for each row execute function part_name();
  create view noted_books as select * from described_books limit all;
  create rule note_book as on insert to noted_books do instead
    insert into descriptions values (new.id, new.text) returning book_id, ''::text, text;
  create view author_counts as select a.id, a.name, (select count(*)::int from plain p where p.author_id = a.id) as books_count from authors a;

  create table writers (id int primary key, public_id uuid not null unique);
  create table pages (writer_id int primary key references writers, text text);
  create table documents (id serial primary key, title text not null, meta jsonb, other json);
  create table spans (id serial primary key, span interval);

  create table inbox (id serial primary key, text text not null);
  create table quarantine (text text not null);
  create function divert() returns trigger language plpgsql as
    $$ begin if new.text = 'bad' then insert into quarantine values (new.text); return null; end if; return new; end $$;
  create trigger divert before insert on inbox for each row execute function divert();

  create table categories (code text primary key, parent_code text references categories);
  create type address as (street text, city text);
  create table places (id serial primary key, address address, area box);
  create table profiles (author_id int primary key references authors, bio text);
  insert into profiles values (1, 'one'), (2, 'two');
  create table coded (code text primary key, slug text not null unique, title text);
  insert into coded values ('a', 's', 't'), ('b', 'u', 't');
  create table drafts (id serial primary key, state text, before_id int unique references drafts, gone_at timestamptz);
  create table settings (id serial primary key, meta jsonb not null, secret int);
  create table invoices (id serial primary key, title text, "paid?" bool);
  insert into invoices (title) values ('one'), ('two');
`

useLibrary({ sql: SCHEMA, keep: true })

beforeAll(() => configure({ secretKey: '0123456789abcdef0123456789abcdef' }))
afterAll(() => configure({}))

async function rowsOf(sql: string): Promise<Record<string, unknown>[]> {
  return (await database.knex.raw(sql)).rows
}

const signed = { mode: 'signed', alphabet: '0123456789abcdef', hmacKeys: ['k'.repeat(32)] } as const

type AnyQuery = QueryBuilder<any, any>

const BookSerializer = serializerOf(Book, ['id', 'title', 'author_id'])

describe('[P14] Hooks that expect whole objects', () => {
  class WholeAuthor extends Author {
    override $parseDatabaseJson(json: Pojo): Pojo {
      const known = Object.entries(super.$parseDatabaseJson(json)).filter(([name]) => name === 'id' || name === 'name')
      return Object.fromEntries(known)
    }
  }
  class WholeTag extends Model {
    static override tableName = 'labels'
    declare label: string
    override $afterFind(): void {
      this.label = this.label.trim()
    }
  }
  class WholeBook extends Model {
    static override tableName = 'books'
    declare title: string
    static override relationMappings = () => ({
      author: {
        relation: Model.BelongsToOneRelation,
        modelClass: WholeAuthor,
        join: { from: 'books.author_id', to: 'authors.id' },
      },
      tags: {
        relation: Model.ManyToManyRelation,
        modelClass: WholeTag,
        join: { from: 'books.id', through: { from: 'tagged.book_id', to: 'tagged.tag_id' }, to: 'labels.id' },
      },
    })
    override $afterFind(): void {
      this.title = this.title.trim()
    }
  }

  it('do not see counts', async () => {
    const paginationClass = new PageNumberPagination({ pageSize: 2 })
    const view = viewOf(WholeAuthor, serializerOf(WholeAuthor, ['id', 'name']), { paginationClass })
    const { get } = await serveViews({ authors: view })
    expect((await get('/authors')).json).toMatchObject({ count: 3, next: '/authors?page=2' })
    expect((await get('/authors?page=2')).json).toMatchObject({ count: 3, results: [{ id: 3, name: 'Cleo' }] })
  })

  it('do not see keys that are looked up', async () => {
    const serializer = serializerOf(WholeBook, ['id', 'title', 'author_id', 'tags'], {
      author_id: new PrimaryKeyRelatedField({ queryset: WholeAuthor }),
      tags: new PrimaryKeyRelatedField({ queryset: WholeTag, many: true, required: false }),
    })
    class Shaping extends viewOf(WholeBook, serializer) {
      override getQueryset() {
        return super.getQueryset().select('books.*', raw('1').as('one'))
      }
    }
    const { send } = await serveViews({ books: viewOf(WholeBook, serializer), shaping: Shaping })
    expect(await send('POST', '/books', { title: 'new', author_id: 2, tags: [2] })).toMatchObject({
      status: 201,
      json: { author_id: 2, tags: [2] },
    })
    expect((await send('POST', '/books', { title: 'new', author_id: 9 })).json.errors).toEqual({
      author_id: ['Invalid pk "9" - object does not exist.'],
    })
    expect((await send('PATCH', '/books/1', { tags: [2] })).json).toMatchObject({ id: 1, tags: [2] })
    expect((await send('PATCH', '/shaping/bulk', [{ id: 1, title: 'title 1' }])).json).toMatchObject([{ id: 1 }])
  })
})

describe('[P14 E22] Hooks that run on what is found', () => {
  class Tag extends Model {
    static override tableName = 'labels'
    static override virtualAttributes = ['loud']
    declare label: string
    declare loud: string
  }
  class Finding extends Tag {
    override $afterFind(): void {
      this.loud = `${this.label}!`
      this.label = '***'
    }
  }
  class Found extends Tag {
    static override afterFind({ result = [] }: { result?: Tag[] }): void {
      for (const tag of result) tag.loud = `${tag.label}?`
    }
  }
  class Read extends Tag {
    static override fromDatabaseJson(json: object) {
      return super.fromDatabaseJson({ ...json, loud: 'read' }) as never
    }
  }

  it.each([['$afterFind', Finding] as const, ['afterFind', Found] as const, ['fromDatabaseJson', Read] as const])(
    'show the same in answers to writes: %s',
    async (_, model) => {
      const serializer = serializerOf(model, ['id', 'label', 'loud'])
      const { get, send } = await serveViews({ tags: viewOf(model, serializer) })
      await database.knex('labels').where('id', '>', 2).delete()
      const shown = async () => (await get('/tags/3')).json
      expect((await send('POST', '/tags', { id: 3, label: 'c' })).json).toEqual(await shown())
      expect((await send('PATCH', '/tags/3', { label: 'd' })).json).toEqual(await shown())
      expect((await send('PUT', '/tags/3', { id: 3, label: 'e' })).json).toEqual(await shown())
      expect((await send('PATCH', '/tags/bulk', [{ id: 3, label: 'f' }])).json).toEqual([await shown()])
      expect((await send('POST', '/tags/bulk', [{ id: 4, label: 'f' }])).json).toEqual([{ ...(await shown()), id: 4 }])
      expect(await database.knex('labels').where('id', '>', 2)).toMatchObject([{ label: 'f' }, { label: 'f' }])
    },
  )
})

describe('[A1] Values that a class gives to new objects', () => {
  it('come back by no soft delete, and by nothing that lets go of an object', async () => {
    class Draft extends Model {
      static override tableName = 'drafts'
      state = 'new'
      static override relationMappings = () => ({
        after: {
          relation: Model.HasOneRelation,
          modelClass: Draft,
          join: { from: 'drafts.id', to: 'drafts.before_id' },
        },
      })
    }
    const after = new NestedSerializer(serializerOf(Draft, ['id', 'state']), { required: false, allowNull: true })
    const serializer = serializerOf(Draft, ['id', 'state'], { after })
    const { send } = await serveViews({ drafts: viewOf(Draft, serializer, { softDelete: 'gone_at' }) })
    const draft = async () => (await send('POST', '/drafts', { state: 'old', after: { state: 'old' } })).json
    const [one, two] = [await draft(), await draft()]
    expect(one).toEqual({ id: 1, state: 'old', after: { id: 2, state: 'old' } })
    expect((await send('PATCH', '/drafts/1', { after: null })).json).toEqual({ id: 1, state: 'old', after: null })
    expect((await send('DELETE', '/drafts/1')).status).toBe(204)
    expect((await send('DELETE', '/drafts/bulk', [2, two.id])).status).toBe(200)
    const stored = await rowsOf('select state, before_id, gone_at is null as there from drafts order by id')
    const gone = { state: 'old', before_id: null, there: false }
    expect(stored).toEqual([gone, gone, gone, { state: 'old', before_id: two.id, there: true }])
  })
})

describe('[P14] A query with hooks of its own', () => {
  const narrowed = (query: QueryBuilder<Model>) =>
    query.runBefore(async (result, builder) => {
      void builder.where('id', '<', 3)
      return result
    })

  it('narrows counts and keys that are looked up, too', async () => {
    class Few extends viewOf(Author, serializerOf(Author, ['id', 'name']), {
      paginationClass: new PageNumberPagination({ pageSize: 1 }),
    }) {
      override getQueryset() {
        return narrowed(super.getQueryset())
      }
    }
    const author_id = new PrimaryKeyRelatedField({ queryset: () => narrowed(Author.query()) as never })
    const { get, send } = await serveViews({
      few: Few,
      books: viewOf(Book, serializerOf(Book, ['id', 'title', 'author_id'], { author_id })),
    })
    expect((await get('/few')).json).toMatchObject({ count: 2, results: [{ id: 1 }] })
    expect((await send('POST', '/books', { title: 'new', author_id: 2 })).status).toBe(201)
    expect((await send('POST', '/books', { title: 'new', author_id: 3 })).json.errors).toEqual({
      author_id: ['Invalid pk "3" - object does not exist.'],
    })
  })
})

describe('[P14] A query builder that executes in its own way', () => {
  class Visible<M extends Model, R = M[]> extends QueryBuilder<M, R> {
    declare ArrayQueryBuilderType: Visible<M, M[]>
    declare SingleQueryBuilderType: Visible<M, M>
    declare MaybeSingleQueryBuilderType: Visible<M, M | undefined>
    declare NumberQueryBuilderType: Visible<M, number>
    declare PageQueryBuilderType: Visible<M, { results: M[]; total: number }>
    override execute(): Promise<R> {
      if (this.isFind() && !this.has('insert')) void this.where('deleted', false)
      return super.execute()
    }
  }
  class VisibleBook extends Book {
    declare QueryBuilderType: Visible<this>
    static override QueryBuilder = Visible
  }
  const serializer = serializerOf(VisibleBook, ['id', 'title'])

  it('shows no row that it hides', async () => {
    const { get, send } = await serveViews({
      books: viewOf(VisibleBook, serializer, { paginationClass: PageNumberPagination }),
      native: viewOf(VisibleBook, serializer, { paginationClass: PageNumberPagination, useNativeJson: true }),
      feed: viewOf(VisibleBook, serializer, { paginationClass: new CursorPagination({ ordering: 'id' }) }),
    })
    const hidden = { id: 3, title: 'title 3' }
    for (const path of ['/books', '/native', '/feed']) {
      const { json } = await get(path)
      expect(json.results.length).toBeGreaterThan(3)
      expect(json.results).not.toContainEqual(hidden)
      if (path !== '/feed') expect(json.count).toBe(json.results.length)
      for (const answer of [await get(`${path}/3`), await send('PATCH', `${path}/3`, { title: 'x' })]) {
        expect(answer.status).toBe(404)
      }
    }
  })

  it('is told that a cursor of the database knows nothing of it', async () => {
    const { get, reported } = await serveViews({
      export: viewOf(VisibleBook, serializer, { paginationClass: new ServerCursorPagination() }),
    })
    expect((await get('/export')).status).toBe(500)
    expect(String(reported[0])).toMatch(/VisibleBook: its QueryBuilder executes in its own way/)
  })
})

describe('[P14] A queryset that was begun without the request', () => {
  it('is read in its transaction, with no second connection', async () => {
    const knex = knexLibrary({
      client: 'pg',
      connection: { ...database.connection } as Knex.PgConnectionConfig,
      pool: { min: 0, max: 1 },
      acquireConnectionTimeout: 2_000,
    })
    class Alone extends Book {}
    Alone.knex(knex)
    class Books extends viewOf(Alone, serializerOf(Alone, ['id', 'title']), {
      filterBackends: [FullTextSearchFilter],
      searchFields: ['title'],
    }) {
      override getQueryset() {
        return Alone.query().where('deleted', false)
      }
    }
    class Matching extends Books {
      static override filterBackends = [SearchFilter]
      static override searchFields = ['$title']
    }
    try {
      const { get, send } = await serveViews({ books: Books, matching: Matching })
      expect((await send('PATCH', '/books/1', { title: 'title 1' })).status).toBe(200)
      expect((await send('PATCH', '/books/bulk', [{ id: 1, title: 'title 1' }])).status).toBe(200)
      expect((await get('/books?search=title')).json.length).toBeGreaterThan(3)
      expect((await get('/matching?search=title.1')).json).toEqual([{ id: 1, title: 'title 1' }])
    } finally {
      await knex.destroy()
    }
  })
})

describe("[A8] In a transaction of the application's", () => {
  class Joined extends BulkModelViewSet {
    static override model = Book
    static override serializerClass = BookSerializer
    override getKnex(): Knex {
      return this.ctx.state['trx']
    }
  }

  // a role needs transactions of its own
  it.skipIf(runsAsRole())(
    'what the database refuses is told by its item, and ends no more than the request',
    async () => {
      const statuses: number[] = []
      const { send } = await serveViews({ books: Joined }, transaction(database.knex), async (ctx, next) => {
        await next()
        statuses.push(ctx.status)
        // the transaction goes on
        await ctx.state['trx'].raw('select 1')
      })
      const items = [
        { title: 'new', author_id: 1 },
        { title: 'new', author_id: 999 },
      ]
      expect((await send('POST', '/books/bulk', items)).json).toMatchObject({
        status: 400,
        errors: { 1: { author_id: ['Invalid pk "999" - object does not exist.'] } },
      })
      expect((await send('POST', '/books', items[1])).json).toMatchObject({
        status: 400,
        errors: { author_id: ['Invalid pk "999" - object does not exist.'] },
      })
      expect((await send('POST', '/books', items[0])).status).toBe(201)
      expect(statuses).toEqual([400, 400, 201])
    },
  )
})

describe('[A8] A trigger', () => {
  it('that keeps rows keeps all of a bulk delete', async () => {
    await database.knex('keeps').insert([
      { id: 1, kept: false },
      { id: 2, kept: true },
    ])
    const model = tableOf('keeps')
    class Hooked extends model {
      override $beforeDelete(): void {}
    }
    const { send } = await serveViews({
      keeps: viewOf(model, serializerOf(model, ['id', 'kept'])),
      hooked: viewOf(Hooked, serializerOf(Hooked, ['id', 'kept'])),
    })
    for (const path of ['/keeps/bulk', '/hooked/bulk']) {
      expect((await send('DELETE', path, [1, 2])).status).toBe(403)
      expect(await rowsOf('select id from keeps order by id')).toEqual([{ id: 1 }, { id: 2 }])
    }
    expect(await send('DELETE', '/keeps/bulk', [1])).toMatchObject({ status: 200, json: { deleted: [1] } })
  })

  it('that keeps rows as they are keeps soft deletes and restores, one by one and in bulk', async () => {
    await database
      .knex('marked')
      .insert([
        { id: 1, kept: false },
        { id: 2 },
        { id: 3, gone_at: database.knex.fn.now() },
        { id: 4, kept: false, gone_at: database.knex.fn.now() },
      ])
    const model = tableOf('marked')
    class Hooked extends model {
      override $beforeUpdate(): void {}
    }
    const softDelete = { column: 'gone_at', permissionClasses: [AllowAny], purgePermissionClasses: [AllowAny] }
    const { send } = await serveViews({
      marked: viewOf(model, serializerOf(model, ['id']), { softDelete }),
      hooked: viewOf(Hooked, serializerOf(Hooked, ['id']), { softDelete }),
    })
    const rows = () => rowsOf('select id, gone_at is not null as gone from marked order by id')
    const before = await rows()
    for (const path of ['/marked', '/hooked']) {
      expect((await send('DELETE', `${path}/2`)).status).toBe(403)
      expect((await send('DELETE', `${path}/bulk`, [1, 2])).status).toBe(403)
      expect((await send('POST', `${path}/3/restore`)).status).toBe(403)
      expect((await send('POST', `${path}/2/restore`)).status).toBe(404)
      expect((await send('DELETE', `${path}/bulk`, [1, 3])).status).toBe(400)
      expect(await rows()).toEqual(before)
      expect((await send('POST', `${path}/4/restore`)).status).toBe(200)
      expect((await send('DELETE', `${path}/bulk`, [4])).status).toBe(200)
    }
  })

  it('of a foreign key deletes with its parent what a bulk delete names, too', async () => {
    await database.knex('nodes').insert([
      { id: 1, parent_id: null },
      { id: 2, parent_id: 1 },
    ])
    class Node extends Model {
      static override tableName = 'nodes'
      override $beforeDelete(): void {}
    }
    const { send } = await serveViews({ nodes: viewOf(Node, serializerOf(Node, ['id', 'parent_id'])) })
    expect(await send('DELETE', '/nodes/bulk', [1, 2])).toMatchObject({ status: 200, json: { deleted: [1, 2] } })
  })

  it('that writes for a view without deletes gets what the client sends', async () => {
    const model = tableOf('described_books')
    class Described extends CreateMixin(RetrieveMixin(UpdateMixin(GenericViewSet<Model>))) {
      static override model = model
      static override serializerClass = serializerOf(model, ['id', 'title', 'text'])
    }
    const { send } = await serveRouter(new APIRouter().register('books', Described, 'book'))
    const book = { title: 'Seventy', text: 'numbers' }
    const created = await send('POST', '/books', book)
    expect(created).toMatchObject({ status: 201, json: book })
    expect(await send('PATCH', `/books/${created.json.id}`, { text: 'words' })).toMatchObject({
      status: 200,
      json: { text: 'words' },
    })
    expect(await rowsOf('select text from descriptions')).toEqual([{ text: 'words' }])
  })

  it('that writes for a view gets what the table below it computes of other columns', async () => {
    const model = tableOf('named_people')
    const { send } = await serveViews({ people: viewOf(model, serializerOf(model, ['id', 'name'])) })
    const [ada, ben] = ['Ada Lovelace', 'Ben Hill'].map((name) => ({ id: 1, name }))
    expect(await send('POST', '/people', ada)).toMatchObject({ status: 201, json: ada })
    expect(await send('PUT', '/people/1', ben)).toMatchObject({ status: 200, json: ben })
    expect(await rowsOf('select first from people')).toEqual([{ first: 'Ben' }])
  })

  it('is as well a rule that inserts for a view', async () => {
    const model = tableOf('noted_books')
    class Noted extends CreateMixin(GenericViewSet<Model>) {
      static override model = model
      static override serializerClass = serializerOf(model, ['id', 'title', 'text'])
    }
    const { send } = await serveRouter(new APIRouter().register('books', Noted, 'book'))
    await database.knex('books').insert({ id: 71, title: 'Noted', author_id: 1 })
    const note = { id: 71, text: 'a note' }
    expect(await send('POST', '/books', note)).toMatchObject({ status: 201, json: note })
  })

  it('that diverts a row leaves nothing of it where the answer is a refusal', async () => {
    const model = tableOf('inbox')
    const { send } = await serveViews({ inbox: viewOf(model, serializerOf(model, ['id', 'text'])) })
    expect((await send('POST', '/inbox', { text: 'bad' })).status).toBe(400)
    expect((await send('POST', '/inbox/bulk', [{ text: 'good' }, { text: 'bad' }])).status).toBe(400)
    expect(await rowsOf('select * from quarantine')).toEqual([])
    expect(await rowsOf('select * from inbox')).toEqual([])
    expect((await send('POST', '/inbox', { text: 'good' })).status).toBe(201)
  })
})

describe('[P14] What query() of a model says of the caller', () => {
  const caller = new AsyncLocalStorage<Context>()
  const calls: string[] = []
  const note = (own: Model, name: string, context: QueryContext) =>
    void calls.push(`${own.constructor.name} ${name} ${(context as QueryContext & { name?: string }).name}`)

  class Told extends Model {
    static override query(...args: unknown[]) {
      return super.query(...(args as [])).context({ name: caller.getStore()?.get('X-Name') }) as never
    }
    override $beforeInsert(context: QueryContext): void {
      note(this, 'insert', context)
    }
    override $beforeUpdate(_: unknown, context: QueryContext): void {
      note(this, 'update', context)
    }
    override $beforeDelete(context: QueryContext): void {
      note(this, 'delete', context)
    }
    override $afterFind(context: QueryContext): void {
      if (!context['name' as never]) calls.push('nobody finds')
    }
  }
  class Writer extends Told {
    static override tableName = 'authors'
    static override relationMappings = () => ({
      books: {
        relation: Model.HasManyRelation,
        modelClass: Work,
        join: { from: 'authors.id', to: 'books.author_id' },
      },
    })
  }
  class Work extends Told {
    static override tableName = 'books'
  }

  it('reaches the hooks of all writes', async () => {
    const books = new NestedSerializer(serializerOf(Work, ['id', 'title']), { many: true, required: false })
    const Serializer = serializerOf(Writer, ['id', 'name', 'books'], { books })
    const view = viewOf(Writer, Serializer)
    const { send } = await serveViews({ writers: view }, (ctx, next) => caller.run(ctx, next))
    const hooks = async (method: string, path: string, body?: unknown) => {
      calls.length = 0
      const { status } = await send(method, `/writers${path}`, body, { 'X-Name': 'Ada' })
      expect(status).toBeLessThan(300)
      return calls.toSorted((a, b) => a.localeCompare(b))
    }
    const made = ['Work insert Ada', 'Writer insert Ada']
    expect(await hooks('POST', '', { id: 50, name: 'n', books: [{ title: 'one' }] })).toEqual(made)
    expect(await hooks('POST', '/bulk', [{ id: 51, name: 'n', books: [{ title: 'one' }] }])).toEqual(made)
    const id = (await rowsOf('select id from books where author_id = 50'))[0]?.['id']
    const changed = ['Work insert Ada', 'Work update Ada', 'Writer update Ada']
    const body = { name: 'm', books: [{ id, title: 'two' }, { title: 'new' }] }
    expect(await hooks('PATCH', '/50', body)).toEqual(changed)
    expect(await hooks('PUT', '/50', { id: 50, name: 'p' })).toEqual(['Writer update Ada'])
    expect(await hooks('PATCH', '/bulk', [{ id: 50, name: 'q' }])).toEqual(['Writer update Ada'])
    await rowsOf('update books set author_id = null where author_id >= 50')
    expect(await hooks('DELETE', '/50')).toEqual(['Writer delete Ada'])
    expect(await hooks('DELETE', '/bulk', [51])).toEqual(['Writer delete Ada'])
  })

  it('reaches the hooks of all that is read, also while a list is sent', async () => {
    const books = new NestedSerializer(serializerOf(Work, ['id', 'title']), { many: true, readOnly: true })
    const Serializer = serializerOf(Writer, ['id', 'name', 'books'], { books })
    const Streamed = Object.assign(StreamMixin(viewOf(Writer, Serializer)), {
      rendererClasses: [JSONRenderer, NDJSONRenderer],
      streamRows: 1,
    })
    const { get } = await serveViews({ writers: Streamed }, (ctx, next) => caller.run(ctx, next))
    calls.length = 0
    const { text } = await get('/writers.ndjson', { 'X-Name': 'Ada' })
    expect(text.trim().split('\n').length).toBeGreaterThan(2)
    expect(calls).toEqual([])
  })

  it.each([
    ['a stream', (pieces: AsyncIterable<string>) => Readable.from(pieces)],
    ['a stream of the web', (pieces: AsyncIterable<string>) => ReadableStream.from(pieces)],
  ])('is known while %s is sent that a renderer has made', async (_, streamOf) => {
    class Asking extends JSONRenderer {
      override render(): never {
        return streamOf(named()) as never
      }
    }
    async function* named(): AsyncGenerator<string> {
      for (const mark of ['[', ',']) yield `${mark}"${caller.getStore()?.get('X-Name')}"`
      yield ']'
    }
    const view = viewOf(Writer, serializerOf(Writer, ['id']), { rendererClasses: [Asking] })
    const api = routerOf({ writers: view })
    const { get } = await serveApp((ctx, next) => caller.run(ctx, next), undescribed(api.routes()))
    expect((await get('/writers', { 'X-Name': 'Ada' })).json).toEqual(['Ada', 'Ada'])
  })
})

describe('[P14] Hooks that leave out rows', () => {
  const isShown = ({ title }: { title?: string }) => !title?.startsWith('hidden')
  const only = (result: unknown) => (Array.isArray(result) ? result.filter(isShown) : result)
  class Left extends Book {
    static override afterFind({ result }: StaticHookArguments<Model>): unknown {
      return only(result)
    }
  }
  const takeOut = (rows: unknown) => {
    if (!Array.isArray(rows)) return
    for (const [index, row] of [...rows.entries()].reverse()) if (!isShown(row)) rows.splice(index, 1)
  }
  class LeftInPlace extends Book {
    static override afterFind({ result }: StaticHookArguments<Model>): void {
      takeOut(result)
    }
  }
  const after = (query: AnyQuery) => query.runAfter(only)
  const inPlace = (query: AnyQuery) =>
    query.runAfter((rows: unknown) => {
      takeOut(rows)
      return rows
    })
  const byContext = (query: AnyQuery) => query.context({ runAfter: only })

  it.each([
    ['of the model', Left, (query: AnyQuery) => query],
    ['of the model, in its place', LeftInPlace, (query: AnyQuery) => query],
    ['of the queryset', Book, after],
    ['of the queryset, in its place', Book, inPlace],
    ['of its context', Book, byContext],
  ] as const)('do not end a list before its last page (%s)', async (_whose, model, narrowed) => {
    const pagesOf = (paginationClass: object) => {
      class Pages extends ModelViewSet {
        static override model: typeof Model = model
        static override serializerClass = BookSerializer
        static override ordering = ['id']
        override getQueryset() {
          return narrowed(super.getQueryset().where('n', 77)) as never
        }
      }
      return Object.assign(Pages, { paginationClass })
    }
    await database.knex('books').where({ n: 77 }).delete()
    const titles = ['a', 'hidden b', 'c', 'hidden d', 'hidden e', 'f']
    await database.knex('books').insert(titles.map((title) => ({ title, n: 77 })))
    const { get } = await serveViews({
      numbers: pagesOf(new PageNumberPagination({ pageSize: 2 })),
      uncounted: pagesOf(new PageNumberPagination({ pageSize: 2, count: 'none' })),
      cursors: pagesOf(new CursorPagination({ pageSize: 2 })),
      exports: pagesOf(new ServerCursorPagination({ pageSize: 2, maxPerUser: 1 })),
    })
    for (const path of ['/numbers', '/uncounted', '/cursors']) {
      const shown: string[] = []
      for (let next = path; next !== null; ) {
        const { json } = await get(next)
        if (path === '/numbers') expect(json.count).toBe(titles.length)
        shown.push(...json.results.map((book: Book) => book.title))
        next = json.next
      }
      expect(shown).toEqual(['a', 'c', 'f'])
    }
    const exported: string[] = []
    for (let path = '/exports'; path !== ''; ) {
      const { json } = await get(path)
      exported.push(...json.results.map((book: Book) => book.title))
      path = json.exhausted ? '' : `/exports?server_cursor=${json.cursor_id}`
    }
    expect(exported).toEqual(['a', 'c', 'f'])
  })

  it('leave each row what was read of it, where they turn a list', async () => {
    await rowsOf(`
      create table stamps (id int primary key, at timestamptz);
      insert into stamps select id, timestamptz '2026-01-01T00:00:00Z' + id * interval '1.000001 seconds' from generate_series(1, 4) id`)
    class Stamp extends Model {
      static override tableName = 'stamps'
      static override afterFind({ result }: StaticHookArguments<Model>): void {
        ;(result as unknown[]).reverse()
      }
    }
    Stamp.knex(database.knex)
    const { get } = await serveViews({ stamps: viewOf(Stamp, serializerOf(Stamp, ['id', 'at']), { ordering: ['id'] }) })
    expect((await get('/stamps')).json).toEqual(
      [4, 3, 2, 1].map((id) => ({ id, at: `2026-01-01T00:00:0${id}.00000${id}Z` })),
    )
  })
})

describe('[P14] Hooks that change a list of related rows', () => {
  const isShown = ({ id }: { id?: number }) => id !== 6
  const remove = (rows: { id?: number }[]) => {
    for (const [index, row] of [...rows.entries()].reverse()) if (!isShown(row)) rows.splice(index, 1)
  }
  const left = [
    { id: 1, nodes: [{ id: 3 }, { id: 2 }] },
    { id: 5, nodes: [] },
  ]
  const whole = [
    { id: 1, nodes: [{ id: 3 }, { id: 2 }] },
    { id: 5, nodes: [{ id: 6 }] },
  ]

  it.each<[string, (rows: { id?: number }[]) => unknown, object]>([
    ['return fewer', (rows) => rows.filter(isShown), left],
    ['take some out', remove, left],
    ['turn it', (rows) => void rows.reverse(), whole],
  ])('leave each with its owner where they %s', async (_what, change, shown) => {
    class Node extends Model {
      static override tableName = 'nodes'
    }
    class Child extends Node {
      static override afterFind({ result }: StaticHookArguments<Model>): unknown {
        return Array.isArray(result) ? change(result) : undefined
      }
    }
    class Built extends Node {}
    Built.QueryBuilder = class<M extends Model, R = M[]> extends QueryBuilder<M, R> {
      constructor(...args: never[]) {
        super(...(args as []))
        void this.runAfter((result: unknown) => (Array.isArray(result) ? (change(result) ?? result) : result))
      }
    }
    await rowsOf('truncate nodes; insert into nodes values (1), (5); insert into nodes values (2, 1), (3, 1), (6, 5)')
    for (const modelClass of [Child, Built]) {
      class Parent extends Node {
        static override relationMappings = () => ({
          nodes: { relation: Model.HasManyRelation, modelClass, join: { from: 'nodes.id', to: 'nodes.parent_id' } },
        })
      }
      const nodes = new NestedSerializer(serializerOf(modelClass, ['id']), {
        many: true,
        readOnly: true,
        orderBy: ['-id'],
      })
      class Parents extends viewOf(Parent, serializerOf(Parent, ['id', 'nodes'], { nodes })) {
        override getQueryset() {
          return super.getQueryset().whereNull('parent_id').orderBy('id')
        }
      }
      const { get } = await serveViews({ parents: Parents })
      expect((await get('/parents')).json).toEqual(shown)
    }
  })
})

describe('[A8] A static hook that cancels a statement', () => {
  const model = tableOf('marked')
  const RESULTS = [undefined, 0, 1]

  /** Cancels with `result`, once `work` has done what it does in place of the statement. */
  function cancelling(
    hook: `before${'Insert' | 'Update' | 'Delete'}`,
    result: unknown,
    work?: (own: Hooks) => unknown,
  ) {
    class Cancelling extends model {}
    return Object.assign(Cancelling, {
      [hook]: async (own: Hooks) => {
        own.cancelQuery((await work?.(own)) ?? result)
      },
    })
  }

  /** What such a hook is told, as far as these tests need it. */
  interface Hooks {
    readonly transaction: Knex
    readonly inputItems: readonly { readonly id: number }[]
    asFindQuery(): { patch(values: object): Promise<number> }
    cancelQuery(result: unknown): void
  }

  function serve(own: typeof Model, isHidden: boolean) {
    class View extends BulkModelViewSet {
      static override model = own
      static override serializerClass = serializerOf(own, ['id', 'kept'])
      override getQueryset() {
        const query = super.getQueryset()
        return isHidden ? query.whereNull('gone_at') : query
      }
    }
    return serveViews({ marked: View })
  }

  beforeEach(() => rowsOf('truncate marked; insert into marked (id, kept) values (1, false), (2, false), (3, false)'))

  it.each(RESULTS)('leaves objects as they are, and answers what is stored (%s)', async (result) => {
    const { send } = await serve(cancelling('beforeUpdate', result), false)
    const json = { id: 1, kept: false }
    expect(await send('PATCH', '/marked/1', { kept: true })).toMatchObject({ status: 200, json })
    expect(await send('PUT', '/marked/1', { id: 1, kept: true })).toMatchObject({ status: 200, json })
    const items = [1, 2].map((id) => ({ id, kept: true }))
    const stored = items.map(({ id }) => ({ id, kept: false }))
    expect(await send('PATCH', '/marked/bulk', items)).toMatchObject({ status: 200, json: stored })
    expect(await rowsOf('select id from marked where kept')).toEqual([])
  })

  it.each(RESULTS)('has deleted what it marks, once it is no longer to be seen (%s)', async (result) => {
    const mark = async (own: Hooks) => void (await own.asFindQuery().patch({ gone_at: new Date() }))
    const { send } = await serve(cancelling('beforeDelete', result, mark), true)
    expect((await send('DELETE', '/marked/1')).status).toBe(204)
    expect(await send('DELETE', '/marked/bulk', [2, 3])).toMatchObject({ status: 200, json: { deleted: [2, 3] } })
    expect(await rowsOf('select id from marked where gone_at is not null order by id')).toHaveLength(3)
  })

  it('refuses deletions of what stays', async () => {
    const { send } = await serve(cancelling('beforeDelete', 0), false)
    expect((await send('DELETE', '/marked/1')).status).toBe(403)
    expect((await send('DELETE', '/marked/bulk', [2, 3])).status).toBe(403)
    expect(await rowsOf('select id from marked')).toHaveLength(3)
  })

  it('has inserted what is there, and refuses what is not', async () => {
    const insert = async ({ inputItems, transaction }: Hooks) =>
      void (await transaction('marked').insert(inputItems.map(({ id }) => ({ id, kept: true }))))
    const writing = await serve(cancelling('beforeInsert', undefined, insert), false)
    expect(await writing.send('POST', '/marked', { id: 4 })).toMatchObject({ status: 201, json: { id: 4, kept: true } })
    const json = [5, 6].map((id) => ({ id, kept: true }))
    expect(await writing.send('POST', '/marked/bulk', [{ id: 5 }, { id: 6 }])).toMatchObject({ status: 201, json })
    for (const result of [...RESULTS, []]) {
      const { send } = await serve(cancelling('beforeInsert', result), false)
      expect((await send('POST', '/marked', { id: 7 })).status).toBe(400)
      expect((await send('POST', '/marked/bulk', [{ id: 7 }, { id: 8 }])).status).toBe(400)
    }
    expect(await rowsOf('select id from marked')).toHaveLength(6)
  })
})

describe('[P14] Hooks that leave nothing of a change', () => {
  class Label extends Model {
    static override tableName = 'labels'
    declare label?: string
  }
  class Deleting extends Label {
    override $beforeUpdate(): void {
      delete this.label
    }
  }
  class Omitting extends Label {
    override $beforeUpdate(): void {
      this.$omitFromDatabaseJson(['label'])
    }
  }
  class Formatting extends Label {
    override $formatDatabaseJson(json: Pojo): Pojo {
      const row = super.$formatDatabaseJson(json)
      delete row['label']
      return row
    }
  }

  it.each([
    ['$beforeUpdate()', Deleting],
    ['$omitFromDatabaseJson()', Omitting],
    ['$formatDatabaseJson()', Formatting],
  ])('leave the object as it is: %s', async (_what, own) => {
    const labels = serializerOf(own, ['id', 'label'])
    class Tagged extends Model {
      static override tableName = 'tagged'
      static override idColumn = 'book_id'
      static override relationMappings = () => ({
        tag: {
          relation: Model.BelongsToOneRelation,
          modelClass: own,
          join: { from: 'tagged.tag_id', to: 'labels.id' },
        },
      })
    }
    const nested = serializerOf(Tagged, ['book_id', 'tag'], { tag: new NestedSerializer(labels) })
    await rowsOf('insert into tagged values (7, 1) on conflict (book_id) do update set tag_id = 1')
    const { send } = await serveViews({
      labels: viewOf(own, labels),
      tagged: viewOf(Tagged, nested, { lookupField: 'book_id' }),
    })
    const change = { id: 1, label: 'z' }
    const left = { id: 1, label: 'a' }
    expect(await send('PATCH', '/labels/1', change)).toMatchObject({ status: 200, json: left })
    expect(await send('PUT', '/labels/1', change)).toMatchObject({ status: 200, json: left })
    expect(await send('PATCH', '/labels/bulk', [change])).toMatchObject({ status: 200, json: [left] })
    const json = { book_id: 7, tag: left }
    expect(await send('PATCH', '/tagged/7', { tag: change })).toMatchObject({ status: 200, json })
    expect(await rowsOf('select * from labels where id = 1')).toEqual([left])
  })
})

describe('[P14] The answer to a create', () => {
  it.each([
    ['parted', 'authors'],
    ['ruled', 'authors'],
    ['shown_books', 'authors'],
    ['plain', 'author_counts'],
  ])('shows them for %s and %s as they are after it', async (tableName, related) => {
    const RelatedAuthor = tableOf(related, { idColumn: 'id' })
    class Row extends Model {
      static override tableName = tableName
      static override idColumn = 'id'
      static override relationMappings = () => ({
        author: {
          relation: Model.BelongsToOneRelation,
          modelClass: RelatedAuthor,
          join: { from: `${tableName}.author_id`, to: `${related}.id` },
        },
      })
    }
    const author = new NestedSerializer(serializerOf(RelatedAuthor, ['id', 'books_count']), { readOnly: true })
    const shown = tableName === 'shown_books' ? ['id', 'title', 'author_id'] : ['id', 'author_id']
    const { get, send } = await serveViews({ rows: viewOf(Row, serializerOf(Row, shown, { author })) })
    const created = await send('POST', '/rows', { id: 50, title: 'new', author_id: 2 })
    expect(created.status).toBe(201)
    // a view shows keys that its table makes, and takes none
    expect(created.json.id === 50).toBe(tableName !== 'shown_books')
    const now = await get(`/rows/${created.json.id}`)
    expect(created.json).toEqual(now.json)
    expect(now.json.author.books_count).toBeGreaterThan(0)
  })

  it('shows related objects as they are after it', async () => {
    const nested = serializerOf(Book, ['title', 'author_id'], {
      author: new NestedSerializer(serializerOf(Author, ['id', 'books_count']), { readOnly: true }),
    })
    class Category extends Model {
      static override tableName = 'categories'
      static override idColumn = 'code'
      static override relationMappings = () => ({
        parent: {
          relation: Model.BelongsToOneRelation,
          modelClass: Category,
          join: { from: 'categories.parent_code', to: 'categories.code' },
        },
      })
    }
    const parent = new NestedSerializer(serializerOf(Category, ['code']), { readOnly: true })
    const { send } = await serveViews({
      books: viewOf(Book, nested),
      categories: viewOf(Category, serializerOf(Category, ['code', 'parent_code'], { parent }), {
        lookupField: 'code',
      }),
    })
    const [{ books_count: before } = {}] = await rowsOf('select books_count from authors where id = 3')
    const { json } = await send('POST', '/books', { title: 'new', author_id: 3 })
    expect(json.author).toEqual({ id: 3, books_count: Number(before) + 1 })
    const both = [
      { title: 'new', author_id: 3 },
      { title: 'new', author_id: 3 },
    ]
    expect((await send('POST', '/books/bulk', both)).json[0].author.books_count).toBe(Number(before) + 3)
    await send('POST', '/categories', { code: 'a', parent_code: null })
    expect((await send('POST', '/categories', { code: 'b', parent_code: 'a' })).json.parent).toEqual({ code: 'a' })
  })
})

describe('[P14] Bulk writes', () => {
  it('take columns of rows and of boxes', async () => {
    const model = tableOf('places')
    const { send } = await serveViews({ places: viewOf(model, serializerOf(model, ['id', 'address', 'area'])) })
    const places = [
      { address: '(Main,Rome)', area: '(1,1),(0,0)' },
      { address: '("High St",Bath)', area: '(2,2),(0,0)' },
    ]
    const { status, json } = await send('POST', '/places/bulk', places)
    expect({ status, json }).toMatchObject({ status: 201, json: places })
    const swapped = json.map(({ id }: { id: number }, index: number) => ({ ...places[1 - index], id }))
    expect(await send('PATCH', '/places/bulk', swapped)).toMatchObject({ status: 200, json: swapped })
  })

  it('change the key of a row that another column names', async () => {
    const model = tableOf('coded', { idColumn: 'code' })
    const view = viewOf(model, serializerOf(model, ['code', 'slug', 'title']), { lookupField: 'slug' })
    const { send } = await serveViews({ coded: view })
    const changes = [
      { slug: 's', code: 'new' },
      { slug: 'u', title: 'other' },
    ]
    expect(await send('PATCH', '/coded/bulk', changes)).toMatchObject({ status: 200, json: changes })
  })

  it('name objects by the plain field of a key that is shown in full, too', async () => {
    class Profile extends Model {
      static override tableName = 'profiles'
      static override idColumn = 'author_id'
      static override relationMappings = () => ({
        author: {
          relation: Model.BelongsToOneRelation,
          modelClass: Author,
          join: { from: 'profiles.author_id', to: 'authors.id' },
        },
      })
    }
    const author = new NestedSerializer(serializerOf(Author, ['id']), { readOnly: true })
    const serializer = serializerOf(Profile, ['author', 'author_id', 'bio'], { author })
    const { send } = await serveViews({ profiles: viewOf(Profile, serializer, { lookupField: 'author_id' }) })
    const changed = { author_id: 1, bio: 'new' }
    expect((await send('PATCH', '/profiles/bulk', [changed])).json).toMatchObject([changed])
    expect((await send('DELETE', '/profiles/bulk', [{ author_id: 1 }])).json).toEqual({ deleted: [1] })
  })

  it('name what they have deleted as the output does', async () => {
    class Plain extends IDMixin(Model) {
      static override tableName = 'plain'
      static override idConfig = { mode: 'raw' } as const
    }
    await database.knex('plain').insert({ id: 9 })
    const serializer = serializerOf(Plain, ['id'], { id: new IntegerField({ readOnly: true }) })
    const { get, send } = await serveViews({ plain: viewOf(Plain, serializer) })
    const [{ id }] = (await get('/plain')).json
    expect(id).toBe(9)
    expect((await send('DELETE', '/plain/bulk', ['9'])).json).toEqual({ deleted: [id] })
  })

  it("name what the model's schema refuses as single writes do", async () => {
    const jsonSchema = {
      type: 'object',
      properties: { meta: { type: 'object', properties: { tags: { type: 'array', items: { type: 'string' } } } } },
    }
    const model = tableOf('settings', { jsonSchema })
    const { send } = await serveViews({ settings: viewOf(model, serializerOf(model, ['id', 'meta'])) })
    const wrong = { meta: { tags: [1] } }
    const { errors } = (await send('POST', '/settings', wrong)).json
    expect(Object.keys(errors)).toEqual(['meta'])
    expect((await send('POST', '/settings/bulk', [{ meta: {} }, wrong])).json.errors).toEqual({ 1: errors })
  })

  it('work beside columns whose names have question marks', async () => {
    const model = tableOf('invoices')
    const { send } = await serveViews({ invoices: viewOf(model, serializerOf(model, ['id', 'title'])) })
    const changes = [
      { id: 1, title: 'a' },
      { id: 2, title: 'b' },
    ]
    expect(await send('PATCH', '/invoices/bulk', changes)).toMatchObject({ status: 200, json: changes })
  })
})

describe('[B17] A text in a json column', () => {
  class Document extends Model {
    static override tableName = 'documents'
    static override jsonAttributes = ['meta', 'other']
  }
  const serializer = serializerOf(Document, ['id', 'title', 'meta', 'other'])
  class Instances extends serializer {
    override toRepresentation(object: Model): unknown {
      return super.toRepresentation(object)
    }
  }

  it('stays a text, however it is read and written', async () => {
    const views = {
      rows: viewOf(Document, serializer),
      instances: viewOf(Document, Instances),
      export: viewOf(Document, Instances, { paginationClass: new ServerCursorPagination() }),
    }
    const { get, send } = await serveViews(views)
    for (const path of ['/rows', '/instances']) {
      for (const meta of ['123', 'true', 'null', '"', 'text', '{"a": 1}', 5, { a: '1' }, ['2'], null]) {
        const { status, json } = await send('POST', path, { title: 'a', meta, other: meta })
        expect({ status, json }).toMatchObject({ status: 201, json: { meta, other: meta } })
        const own = `${path}/${json.id}`
        expect((await get(own)).json).toMatchObject({ meta, other: meta })
        expect((await send('PATCH', own, { title: 'b' })).json).toMatchObject({ meta, other: meta })
        expect((await send('PUT', own, { title: 'c', meta, other: meta })).json).toMatchObject({ meta, other: meta })
        expect((await send('PATCH', `${path}/bulk`, [{ id: json.id, title: 'd' }])).json).toMatchObject([{ meta }])
        expect((await get('/instances')).json.at(-1)).toMatchObject({ meta, other: meta })
        expect((await get('/export')).json.results.at(-1)).toMatchObject({ meta, other: meta })
      }
    }
  })
})

describe('[B17] A text under the name of a json column', () => {
  it('stays what the query made it, in lists and in cursors', async () => {
    class Laid extends Model {
      static override tableName = 'settings'
      static override jsonSchema = { type: 'object', properties: { meta: { type: ['object', 'string'] } } }
    }
    const queryset = () => Laid.query().select('id', raw("'1'").as('meta'))
    const serializer = serializerOf(Laid, ['id', 'meta'])
    const views = {
      list: viewOf(Laid, serializer, { queryset }),
      cursor: viewOf(Laid, serializer, { queryset, paginationClass: new ServerCursorPagination() }),
    }
    const [{ id }] = (await database.knex('settings').insert({ meta: '{}' }).returning('id')) as [{ id: number }]
    const { get } = await serveViews(views)
    const [listed] = (await get('/list')).json
    expect(listed.id).toBe(id)
    expect((await get('/cursor')).json.results[0]).toEqual(listed)
    await database.knex('settings').where({ id }).delete()
  })
})

describe('[E14] A key of another model', () => {
  class Person extends IDMixin(Model) {
    static override tableName = 'authors'
    static override idConfig = signed
  }
  class Profile extends Model {
    static override tableName = 'profiles'
    static override idColumn = 'author_id'
    static override relationMappings = () => ({
      author: {
        relation: Model.BelongsToOneRelation,
        modelClass: Person,
        join: { from: 'profiles.author_id', to: 'authors.id' },
      },
    })
  }

  it('is its external id in paths, Location and bulk bodies, too', async () => {
    await database.knex('profiles').where({ author_id: 3 }).delete()
    const { get, send } = await serveViews({
      people: viewOf(Person, serializerOf(Person, ['id', 'name'])),
      profiles: viewOf(Profile, serializerOf(Profile, ['author_id', 'bio'])),
    })
    const { id } = (await get('/people')).json.find(({ name }: { name: string }) => name === 'Cleo')
    const created = await send('POST', '/profiles', { author_id: id, bio: 'x' })
    expect(created).toMatchObject({ status: 201, json: { author_id: id }, headers: { location: `/profiles/${id}` } })
    expect((await get(`/profiles/${id}`)).json).toEqual({ author_id: id, bio: 'x' })
    expect((await get('/profiles/3')).status).toBe(404)
    expect((await send('PATCH', '/profiles/bulk', [{ author_id: id, bio: 'y' }])).json).toEqual([
      { author_id: id, bio: 'y' },
    ])
    expect((await send('DELETE', '/profiles/bulk', [3])).status).toBe(400)
    // a number that JSON has rounded names nobody
    expect((await send('DELETE', '/profiles/bulk', [9_007_199_254_740_992])).status).toBe(400)
    expect((await send('POST', '/profiles', { author_id: 9_007_199_254_740_992 })).json.errors).toEqual({
      author_id: ['Not a valid string.'],
    })
    expect((await send('DELETE', '/profiles/bulk', [id])).json).toEqual({ deleted: [id] })
  })

  it('cannot name objects where its external id is stored in another table', async () => {
    class Writer extends PublicIDMixin(Model) {
      static override tableName = 'writers'
      static override publicIdConfig = { strategy: 'uuid7' } as const
    }
    class Page extends Model {
      static override tableName = 'pages'
      static override idColumn = 'writer_id'
      static override relationMappings = () => ({
        writer: {
          relation: Model.BelongsToOneRelation,
          modelClass: Writer,
          join: { from: 'pages.writer_id', to: 'writers.id' },
        },
      })
    }
    class Feed extends CreateMixin(ListMixin(GenericViewSet<Model>)) {
      static override model = Page
      static override serializerClass = serializerOf(Page, ['text'])
    }
    const { get, send } = await serveViews({ feed: Feed as never })
    expect((await get('/feed')).json).toEqual([])
    expect((await send('POST', '/feed', {})).status).toBe(400)
    class Comments extends ModelViewSet<Model> {
      static override model = Book
      static override serializerClass = BookSerializer
      override getQueryset() {
        return super.getQueryset()
      }
    }
    const nested = new APIRouter().register('feed', Feed)
    new NestedRouter(nested, 'feed', { lookup: 'page' }).register('comments', Comments)
    await expect(nested.prepare()).rejects.toThrow('Page: objects cannot be looked up by "writer_id"')
    await expect(serveViews({ pages: viewOf(Page, serializerOf(Page, ['text'])) })).rejects.toThrow(
      'Page: objects cannot be looked up by "writer_id", whose external ids are stored in another table; use another lookupField',
    )
  })
})

describe('[P12] The document', () => {
  it('describes related objects by what is shown of them, though no queryset tells', async () => {
    const author = new SlugRelatedField({ readOnly: true, slugField: 'name' })
    const later = new PrimaryKeyRelatedField({ queryset: ({ user }) => Author.query().where('id', '>', user ? 1 : 0) })
    const serializer = serializerOf(Book, ['id', 'title', 'author', 'author_id'], { author, author_id: later })
    const api = new APIRouter().register('books', viewOf(Book, serializer), 'book')
    await api.prepare()
    const describe = () => (api.getSchema().components.schemas as any)[`${serializer.schemaName}Output`].properties
    const before = describe()
    expect(before.author).toEqual({ type: ['string', 'null'] })
    expect(before.author_id.type).toContain('integer')
    const { get } = await serveRouter(api)
    expect((await get('/books/1')).json).toMatchObject({ author: 'Ben', author_id: 2 })
    expect(describe()).toEqual(before)
  })

  it('asks for no key that the path gives', async () => {
    class Nested extends NestedViewSetMixin(ModelViewSet<Model>) {
      static override model = Book
      static override serializerClass = serializerOf(Book, ['id', 'title', 'author_id'], {
        author_id: new PrimaryKeyRelatedField({ queryset: Author }),
      })
      static override parentLookupField = 'author_id'
    }
    const api = new APIRouter().register('authors', viewOf(Author, serializerOf(Author, ['id', 'name'])), 'author')
    new NestedRouter(api, 'authors', { lookup: 'author' }).register('books', Nested, 'book')
    await api.prepare()
    const schemas = api.getSchema().components.schemas as any
    expect(schemas[`${Nested.serializerClass.schemaName}Input`].required).toEqual(['title'])
  })

  it('asks for the key where an action takes the same serializer elsewhere', async () => {
    const serializer = serializerOf(Book, ['id', 'title', 'author_id'], {
      author_id: new PrimaryKeyRelatedField({ queryset: Author }),
    })
    class Nested extends NestedViewSetMixin(ModelViewSet<Model>) {
      static override model = Book
      static override serializerClass = serializer
      static override parentLookupField = 'author_id'
    }
    class Books extends ListMixin(GenericViewSet<Model>) {
      static override model = Book
      static override serializerClass = serializer
      offer() {
        return {}
      }
    }
    action({ methods: ['POST'], inputSerializer: serializer })(Books.prototype.offer)
    const api = new APIRouter().register('authors', viewOf(Author, serializerOf(Author, ['id', 'name'])), 'author')
    new NestedRouter(api, 'authors', { lookup: 'author' }).register('books', Nested, 'book')
    api.register('books', Books, 'any-book')
    await api.prepare()
    const schemas = api.getSchema().components.schemas as any
    expect(schemas[`${serializer.schemaName}Input`].required).toEqual(['title', 'author_id'])
  })

  it('asks nested objects for no key that the object around them gives', async () => {
    const Profile = tableOf('profiles', { idColumn: 'author_id' })
    class Writer extends Model {
      static override tableName = 'authors'
      static override relationMappings = () => ({
        profile: {
          relation: Model.HasOneRelation,
          modelClass: Profile,
          join: { from: 'authors.id', to: 'profiles.author_id' },
        },
      })
    }
    const inner = serializerOf(Profile, ['author_id', 'bio'])
    const serializer = serializerOf(Writer, ['id', 'name'], {
      profile: new NestedSerializer(inner, { required: false }),
    })
    const api = new APIRouter().register('writers', viewOf(Writer, serializer), 'writer')
    const { send } = await serveRouter(api)
    expect((await send('POST', '/writers', { id: 60, name: 'Dan', profile: { bio: 'new' } })).json).toEqual({
      id: 60,
      name: 'Dan',
      profile: { author_id: 60, bio: 'new' },
    })
    const described = (router: APIRouter) => router.getSchema().components.schemas as any
    expect(described(api)[`${inner.schemaName}Input`]).toHaveProperty('properties.author_id')
    expect(described(api)[`${inner.schemaName}Input`]).not.toHaveProperty('required')
    // where profiles have a path of their own, they are asked for it there
    const both = new APIRouter().register('writers', viewOf(Writer, serializer), 'writer')
    both.register('profiles', viewOf(Profile, inner), 'profile')
    await both.prepare()
    expect(described(both)[`${inner.schemaName}Input`].required).toEqual(['author_id'])
    const { profile } = described(both)[`${serializer.schemaName}Input`].properties
    expect(profile).toHaveProperty('properties.author_id')
    expect(profile).not.toHaveProperty('required')
  })

  it("shows a nested object's own key, not another's external id", async () => {
    class Person extends IDMixin(Model) {
      static override tableName = 'authors'
      static override idConfig = signed
    }
    class Volume extends Model {
      static override tableName = 'books'
      static override relationMappings = () => ({
        person: {
          relation: Model.BelongsToOneRelation,
          modelClass: Person,
          join: { from: 'books.author_id', to: 'authors.id' },
        },
      })
    }
    class Shelf extends Model {
      static override tableName = 'authors'
      static override relationMappings = () => ({
        books: {
          relation: Model.HasManyRelation,
          modelClass: Volume,
          join: { from: 'authors.id', to: 'books.author_id' },
        },
      })
    }
    class VolumeSerializer extends ModelSerializer {
      static override schemaName = 'Volume'
      static override model = Volume
      static override fields = ['id', 'title', 'person_id']
      static override extraKwargs = { person_id: { source: 'person.id' } }
    }
    const serializer = serializerOf(Shelf, ['id', 'name', 'books'], {
      books: new NestedSerializer(VolumeSerializer, { many: true }),
    })
    const api = new APIRouter().register('shelves', viewOf(Shelf, serializer), 'shelf')
    await api.prepare()
    const schemas = api.getSchema().components.schemas as any
    const { items } = schemas[`${serializer.schemaName}Input`].properties.books
    expect(Object.keys(items.allOf[1].properties)).toEqual(['id'])
  })

  it('has what a body may be refused for, also where an action reads none', async () => {
    class Marking extends viewOf(Book, BookSerializer) {
      mark() {
        return { id: 1, title: 'x', author_id: 1 }
      }
    }
    action({ methods: ['PUT'], detail: true })(Marking.prototype.mark)
    const { send } = await serveViews({ books: Marking })
    // what the document does not describe fails in send()
    expect((await send('PUT', '/books/1/mark', 'x', { 'Content-Type': 'text/plain' })).status).toBe(415)
  })
})

describe('OPTIONS', () => {
  it('shows the fields of the action that takes an object', async () => {
    class Covers extends viewOf(Book, BookSerializer) {
      cover() {
        return {}
      }
      setCover() {
        return {}
      }
    }
    action({ methods: ['GET'], detail: true, urlPath: 'cover' })(Covers.prototype.cover)
    const serializerClass = serializerOf(Book, ['title'])
    action({ methods: ['PUT'], detail: true, urlPath: 'cover', serializerClass })(Covers.prototype.setCover)
    const { send } = await serveViews({ books: Covers })
    expect(Object.keys((await send('OPTIONS', '/books/1/cover')).json.actions.fields)).toEqual(['title'])
    expect(Object.keys((await send('OPTIONS', '/books/1')).json.actions.fields)).toEqual(['id', 'title', 'author_id'])
  })
})

describe('[B15] An interval without end', () => {
  it('is shown as PostgreSQL has it, not as none', async () => {
    const { rows } = await database.knex.raw(`select current_setting('server_version_num')::int >= 170000 as known`)
    const model = tableOf('spans')
    const serializer = serializerOf(model, ['id', 'span'])
    const { get } = await serveViews({ spans: viewOf(model, serializer) })
    await database.knex.raw(`insert into spans (span) values (?), ('1 day')`, [rows[0].known ? 'infinity' : '2 days'])
    expect((await get('/spans')).json.map(({ span }: { span: string }) => span)).toEqual([
      rows[0].known ? 'infinity' : 'P2D',
      'P1D',
    ])
  })
})
