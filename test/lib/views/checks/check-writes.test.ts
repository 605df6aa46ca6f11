/** Which writing actions a table or a view of the database cannot have, told before any request. */
import { Model } from 'objection'
import { describe, expect, it } from 'vitest'
import {
  APIRouter,
  BulkModelViewSet,
  ConfigurationError,
  CreateMixin,
  GenericViewSet,
  ListMixin,
  ModelSerializer,
  ModelViewSet,
  NestedRouter,
  NestedViewSetMixin,
  ReadOnlyModelViewSet,
} from '../../../../lib/index.js'
import { DestroyAPIView } from '../../../../lib/views/index.js'
import { serveApp } from '../../../support/client.js'
import { Author, useLibrary } from '../../../support/library.js'
import { serveRouter } from '../../../support/views.js'

const SCHEMA = `
  alter table books add number int, add slug text, add unique (author_id, number);
  insert into books (title, number, slug, author_id) values ('one', 1, 'a', 1), ('two', 1, 'a', 2);
  create view counts as select author_id as id, count(*)::int as books from books group by author_id;
  create view joined as select b.id, b.title, a.name from books b join authors a on a.id = b.author_id;
  create materialized view kept as select id, title from books;
  create view distincts as select distinct id, title from books;
  create view shown as select id, title, upper(title) as loud from books where title <> 'hidden';
  create view guarded as select b.id, b.title, a.name from books b join authors a on a.id = b.author_id;
  create function guard() returns trigger language plpgsql as
    $$ begin update books set title = new.title where id = new.id; return new; end $$;
  create trigger guard instead of update on guarded for each row execute function guard();
  create view shown_tags as select slug, label from tags;
  create table logs (id int, line text);
  create table lines (line text);
  create table events (id serial, at date not null, what text, primary key (id, at)) partition by range (at);
  create table events_all partition of events default;
  create table loose (id int not null, at date not null, primary key (id, at)) partition by range (at);
`

useLibrary({ sql: SCHEMA, keep: true })

function viewOf(tableName: string, base: any = ModelViewSet, statics: object = {}, idColumn = 'id'): any {
  class Row extends Model {
    static override tableName = tableName
    static override idColumn = idColumn
    static override relationMappings = (): any =>
      tableName === 'books'
        ? {
            author: {
              relation: Model.BelongsToOneRelation,
              modelClass: Author,
              join: { from: 'books.author_id', to: 'authors.id' },
            },
          }
        : {}
  }
  class RowSerializer extends ModelSerializer {
    static override model = Row
    static override fields: any = '__all__'
  }
  class Rows extends base {
    static model = Row
    static serializerClass: any = RowSerializer
  }
  return Object.assign(Rows, statics)
}

function prepared(view: any): Promise<void> {
  return new APIRouter().register('rows', view, 'row').prepare()
}

const Logged = CreateMixin(ListMixin(GenericViewSet))

describe('[I23] a writing action', () => {
  it.each([
    ['an aggregate', 'counts'],
    ['a join', 'joined'],
    ['a materialised view', 'kept'],
    ['DISTINCT', 'distincts'],
  ])('cannot write to %s', async (_what, table) => {
    await expect(prepared(viewOf(table))).rejects.toThrow(ConfigurationError)
    await expect(prepared(viewOf(table))).rejects.toThrow(
      `Rows: create() cannot insert in "${table}", which is a view or takes no such statement; extend ReadOnlyModelViewSet, or the mixins of what it takes, add an INSTEAD OF trigger, or override performCreate()`,
    )
    await expect(prepared(viewOf(table, DestroyMixed()))).rejects.toThrow('Rows: destroy() cannot delete in')
    await expect(prepared(viewOf(table, ReadOnlyModelViewSet))).resolves.toBeUndefined()
  })

  it('writes where a trigger stands for it, and only what that takes', async () => {
    await expect(prepared(viewOf('guarded'))).rejects.toThrow('Rows: create() cannot insert in "guarded"')
    class Renaming extends ModelViewSet {
      override async performCreate() {}
      override async performDestroy() {}
    }
    await expect(prepared(viewOf('guarded', Renaming))).resolves.toBeUndefined()
  })

  it('is refused by its own path, too', async () => {
    const answer = viewOf('counts', DestroyAPIView).asView()
    const { send, reported } = await serveApp((ctx) => {
      ctx['params'] = { id: '1' }
      return answer(ctx)
    })
    expect((await send('DELETE', '/')).status).toBe(500)
    expect(reported).toMatchObject([{ message: expect.stringContaining('Rows: destroy() cannot delete in "counts"') }])
  })

  it.each([
    ['no primary key', 'logs', 'writes by the key "id" of Row, which is not unique; add a primary key to the table'],
    ['not the key of its model', 'lines', 'writes by the key "id" of Row, which is no column of "lines"'],
    ['a key of its partitions only', 'loose', 'writes by the key "id" of Row, which is not unique'],
  ])('needs a key: a table with %s', async (_what, table, message) => {
    const idColumn = 'id'
    await expect(
      prepared(viewOf(table, ModelViewSet, table === 'lines' ? { lookupField: 'line' } : {}, idColumn)),
    ).rejects.toThrow(`Rows: update() ${message}`)
    if (table !== 'lines') await expect(prepared(viewOf(table, Logged))).resolves.toBeUndefined()
  })

  it('takes a key that a sequence makes unique over partitions', async () => {
    await expect(prepared(viewOf('events', BulkModelViewSet))).resolves.toBeUndefined()
  })

  it('finds its object by what is unique', async () => {
    const bySlug = { lookupField: 'slug' }
    await expect(prepared(viewOf('books', ModelViewSet, bySlug))).rejects.toThrow(
      'Rows: update() finds its object by lookupField "slug", which is not unique, so that it could write another; add a unique constraint, or set another lookupField',
    )
    await expect(prepared(viewOf('books', ReadOnlyModelViewSet, bySlug))).resolves.toBeUndefined()
    class Own extends ModelViewSet {
      override getQueryset() {
        return super.getQueryset().where('author_id', 1)
      }
    }
    await expect(prepared(viewOf('books', Own, { lookupField: 'number' }))).resolves.toBeUndefined()
    await expect(prepared(viewOf('books', Own, bySlug))).rejects.toThrow('lookupField "slug", which is not unique')
  })

  it('finds it by what is unique beside the parent on the path', async () => {
    const statics = { lookupField: 'number', parentLookupField: 'author_id' }
    const api = new APIRouter().register('authors', viewOf('authors'), 'author')
    const nested = viewOf('books', NestedViewSetMixin(ModelViewSet), statics)
    new NestedRouter(api, 'authors', { lookup: 'author_id' }).register('books', nested)
    await expect(api.prepare()).resolves.toBeUndefined()
  })
})

describe('an updatable view', () => {
  it('takes writes, without its key and what it computes', async () => {
    const client = await serveRouter(new APIRouter().register('rows', viewOf('shown'), 'row'))
    const { status, json } = await client.send('POST', '/rows', { id: 999, title: 'three', loud: 'quiet' })
    expect([status, json]).toEqual([201, { id: 3, title: 'three', loud: 'THREE' }])
    const changed = await client.send('PATCH', '/rows/3', { id: 1000, title: 'drei', loud: 'x' })
    expect([changed.status, changed.json]).toEqual([200, { id: 3, title: 'drei', loud: 'DREI' }])
    const { json: told } = await client.send('OPTIONS', '/rows')
    const readOnly = Object.entries<any>(told.actions.fields).filter(([, field]) => field.read_only)
    expect(readOnly.map(([name]) => name)).toEqual(['id', 'loud'])
    expect((await client.send('DELETE', '/rows/3')).status).toBe(204)
  })

  it('takes keys that nothing makes', async () => {
    const client = await serveRouter(
      new APIRouter().register('tags', viewOf('shown_tags', ModelViewSet, {}, 'slug'), 'tag'),
    )
    const { status, json } = await client.send('POST', '/tags', { slug: 'new', label: 'New' })
    expect([status, json]).toEqual([201, { slug: 'new', label: 'New' }])
  })
})

/** A view set of which only `destroy` writes. */
function DestroyMixed(): any {
  return class extends ModelViewSet {
    override async performCreate() {}
    override async performUpdate() {}
  }
}
