/** One API over models that name their columns as the table does, or in camelCase by either of Objection's mappers. */
import knexLibrary, { type Knex } from 'knex'
import Koa from 'koa'
import {
  APIRouter,
  BulkModelViewSet,
  CursorPagination,
  configure,
  type DeclaredFields,
  FieldFilter,
  ModelSerializer,
  ModelViewSet,
  NestedSerializer,
  OrderingFilter,
  PageNumberPagination,
  type Pagination,
  PrimaryKeyRelatedField,
  SearchFilter,
  ServerCursorPagination,
  SlugRelatedField,
} from 'koa-viewsets'
import { ChangesMixin, ensureChangesTable, HistoryMixin } from 'koa-viewsets/changes'
import { count, sum } from 'koa-viewsets/views'
import { knexSnakeCaseMappers, Model, type RelationMappings, snakeCaseMappers } from 'objection'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { serve, type TestServer } from '../support/server.js'
import {
  routerOf,
  serializerOf,
  serveRouter,
  serveViews,
  tableOf,
  type ViewSetClass,
  viewOf,
} from '../support/views.js'

const SCHEMA = `
  create table book_authors (id serial primary key, full_name text not null unique);
  create table my_books (
    id serial primary key, long_title varchar(20) not null, isbn_code text unique, price_net numeric(6, 2),
    written_at timestamptz not null default '2026-01-02 03:04:05.678901+00', book_author_id int references book_authors
  );
  insert into book_authors (full_name) values ('Ada Lovelace'), ('Ben');
  insert into my_books (long_title, price_net, book_author_id)
    select 'title ' || n, n % 3, n % 2 + 1 from generate_series(1, 30) n;`

/** As libraries for names convert: at whatever stands between words, and at any depth. */
const ownMappers = {
  wrapIdentifier: (name: string, quoted: (name: string) => string) =>
    quoted(
      name
        .replaceAll(/[ -]+/g, '_')
        .replaceAll(/([a-z\d])([A-Z])/g, '$1_$2')
        .toLowerCase(),
    ),
  postProcessResponse: (result: unknown) => camelize(result),
}

function camelize(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(camelize)
  const isPlain = typeof value === 'object' && value !== null && !(value instanceof Date)
  if (!isPlain) return value
  const named = Object.entries(value).map(([name, item]) => [
    name.replaceAll(/[ _-]+(\w)/g, (_, letter: string) => letter.toUpperCase()),
    camelize(item),
  ])
  return Object.fromEntries(named)
}

const AT_KNEX = {
  'by knexSnakeCaseMappers()': knexSnakeCaseMappers(),
  'by knexSnakeCaseMappers({ underscoreBeforeDigits: true })': knexSnakeCaseMappers({ underscoreBeforeDigits: true }),
  'by mappers of its own': ownMappers,
}

type Naming = 'as the table has them' | 'by snakeCaseMappers()' | keyof typeof AT_KNEX

describe.each<Naming>([
  'as the table has them',
  'by snakeCaseMappers()',
  'by knexSnakeCaseMappers()',
  'by knexSnakeCaseMappers({ underscoreBeforeDigits: true })',
  'by mappers of its own',
])('columns named %s', (naming) => {
  const camel = naming !== 'as the table has them'
  const mappers = naming in AT_KNEX ? AT_KNEX[naming as keyof typeof AT_KNEX] : undefined
  const atKnex = mappers !== undefined
  /** A name as the model, and so the client, has it. */
  const name = (snake: string) =>
    camel ? snake.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase()) : snake
  /** A name as relation mappings have it: the table's, unless knex itself converts. */
  const raw = (snake: string) => (atKnex ? name(snake) : snake)

  let database: TestDatabase
  let knex: Knex
  let server: TestServer

  beforeAll(async () => {
    configure({ secretKey: '0123456789abcdef0123456789abcdef' })
    database = await createDatabase({ schema: SCHEMA })
    knex = knexLibrary({
      client: 'pg',
      connection: { ...database.connection } as Knex.PgConnectionConfig,
      pool: { min: 0, max: 6 },
      ...mappers,
    })
    const api = router()
    await api.prepare()
    server = await serve(new Koa().use(api.routes()))
    async function close(): Promise<void> {
      await server.close()
      await api.close()
      await knex.destroy()
      await database.drop()
    }
    return close
  })
  afterAll(() => configure({}))

  function router(): APIRouter {
    class BookAuthor extends Model {
      static override tableName = raw('book_authors')
    }
    class MyBook extends Model {
      static override tableName = raw('my_books')
      static override relationMappings = () => ({
        author: {
          relation: Model.BelongsToOneRelation,
          modelClass: BookAuthor,
          join: { from: `${raw('my_books')}.${raw('book_author_id')}`, to: `${raw('book_authors')}.id` },
        },
      })
    }
    if (naming === 'by snakeCaseMappers()') {
      BookAuthor.columnNameMappers = snakeCaseMappers()
      MyBook.columnNameMappers = snakeCaseMappers()
    }
    for (const model of [BookAuthor, MyBook]) model.knex(knex)
    class AuthorSerializer extends ModelSerializer {
      static override model = BookAuthor
      static override fields = '__all__'
    }
    class BookSerializer extends ModelSerializer {
      static override model = MyBook
      static override fields = '__all__'
      static override declaredFields: DeclaredFields = {
        author: new NestedSerializer(AuthorSerializer, { readOnly: true }),
      }
    }
    class Books extends ModelViewSet {
      static override model = MyBook
      static override serializerClass: typeof BookSerializer = BookSerializer
      static override paginationClass: Pagination = PageNumberPagination
      static override filterBackends = [FieldFilter, SearchFilter, OrderingFilter]
      static override filtersetFields = [name('price_net'), `author__${name('full_name')}`]
      static override searchFields = [name('long_title')]
      static override orderingFields = [name('price_net'), name('long_title')]
    }
    class InstanceSerializer extends BookSerializer {
      override toRepresentation(object: Model): unknown {
        return super.toRepresentation(object)
      }
    }
    class Instances extends Books {
      static override serializerClass = InstanceSerializer
    }
    class Native extends Books {
      static override useNativeJson = true
    }
    class Feed extends Books {
      static override paginationClass = new CursorPagination({ ordering: `-${name('price_net')}`, pageSize: 7 })
    }
    class InstanceFeed extends Feed {
      static override serializerClass = InstanceSerializer
    }
    class Estimated extends Books {
      static override paginationClass = new PageNumberPagination({ pageSize: 7, count: 'estimated' })
    }
    class Export extends Books {
      static override paginationClass = new ServerCursorPagination({ pageSize: 7 })
    }
    class Authors extends ModelViewSet {
      static override model = BookAuthor
      static override serializerClass = AuthorSerializer
    }
    const api = new APIRouter({ prefix: '/api' })
    api
      .register('books', Books, 'book')
      .register('instances', Instances, 'instance')
      .register('native', Native, 'native')
    api.register('instance-feed', InstanceFeed, 'instance-feed').register('estimated', Estimated, 'estimated')
    api.register('feed', Feed, 'feed').register('export', Export, 'export').register('authors', Authors, 'author')
    return api
  }

  const get = async (path: string) => (await server.send({ path: `/api/${path}` })).json
  const send = (method: string, path: string, body: unknown) =>
    server.send({
      method,
      path: `/api/${path}`,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })

  it('are the fields of a book', async () => {
    expect(await get('books/2')).toEqual({
      id: 2,
      [name('long_title')]: 'title 2',
      [name('isbn_code')]: null,
      [name('price_net')]: '2.00',
      [name('written_at')]: '2026-01-02T03:04:05.678901Z',
      [name('book_author_id')]: 1,
      author: { id: 1, [name('full_name')]: 'Ada Lovelace' },
    })
  })

  it('filter, search and order lists, the same on every path', async () => {
    const query = `?${name('price_net')}__gte=1&author__${name('full_name')}=Ben&search=title&ordering=-${name('price_net')},${name('long_title')}`
    const rows = await get(`books${query}`)
    expect(rows.count).toBe(10)
    expect(rows.results[0]).toMatchObject({ [name('price_net')]: '2.00', author: { [name('full_name')]: 'Ben' } })
    expect((await get(`instances${query}`)).results).toEqual(rows.results)
    expect((await get(`native${query}`)).results).toEqual(rows.results)
  })

  it('lead through cursors of both kinds, each book once', async () => {
    const seen = new Set<number>()
    const instances = new Set<number>()
    for (const [path, ids] of [
      ['feed', seen],
      ['instance-feed', instances],
    ] as const) {
      for (let page = await get(path); ; page = (await server.send({ path: page.next })).json) {
        for (const { id } of page.results) ids.add(id)
        if (page.next === null) break
      }
    }
    const exported = new Set<number>()
    for (let page = await get('export'); ; page = await get(`export?server_cursor=${page.cursor_id}`)) {
      for (const { id } of page.results) exported.add(id)
      if (page.exhausted) break
    }
    const sizes = { seen: seen.size, instances: instances.size, exported: exported.size }
    expect(sizes).toEqual({ seen: 30, instances: 30, exported: 30 })
  })

  it('are counted by estimate', async () => {
    expect(await get('estimated?page=2')).toMatchObject({ count: expect.any(Number), results: { length: 7 } })
  })

  it.each(['books', 'instances'])('are written, and named by what is wrong with them (%s)', async (path) => {
    const book = {
      [name('long_title')]: 'new',
      [name('isbn_code')]: path,
      [name('book_author_id')]: 2,
      [name('price_net')]: 1.5,
    }
    const created = await send('POST', path, book)
    expect(created.status).toBe(201)
    expect(created.json).toMatchObject({ ...book, [name('price_net')]: '1.50', author: { id: 2 } })
    const own = `${path}/${created.json.id}`
    expect((await send('PATCH', own, { [name('long_title')]: 'newer' })).json).toMatchObject({
      [name('long_title')]: 'newer',
    })
    expect((await send('POST', path, book)).json.errors).toEqual({
      [name('isbn_code')]: ['This field must be unique.'],
    })
    expect((await send('POST', path, { [name('long_title')]: 'x', [name('book_author_id')]: 99 })).json.errors).toEqual(
      {
        [name('book_author_id')]: ['Invalid pk "99" - object does not exist.'],
      },
    )
    expect((await send('POST', path, { [name('long_title')]: 'x'.repeat(21) })).json.errors).toEqual({
      [name('long_title')]: ['Ensure this field has no more than 20 characters.'],
    })
    expect((await send('DELETE', 'authors/2', {})).status).toBe(409)
    expect((await send('DELETE', own, {})).status).toBe(204)
  })
})

it('lists of objects are changed beside a column of which a mapper of knex makes another name', async () => {
  const database = await createDatabase({
    schema: `create table places (id int primary key, post_code text, line_1 text, "subLine" text);
      insert into places values (1, 'a', 'b', 'c'), (2, 'd', 'e', 'f')`,
  })
  const mapped = knexLibrary({
    client: 'pg',
    connection: { ...database.connection } as Knex.PgConnectionConfig,
    ...knexSnakeCaseMappers(),
  })
  onTestFinished(async () => {
    await mapped.destroy()
    await database.drop()
  })
  class Place extends Model {
    static override tableName = 'places'
  }
  Place.knex(mapped)
  class PlaceSerializer extends ModelSerializer {
    static override model = Place
    static override fields = ['id', 'postCode']
  }
  class Places extends BulkModelViewSet {
    static override model = Place
    static override serializerClass = PlaceSerializer
  }
  const client = await serveViews({ places: Places })
  const changed = [
    { id: 1, postCode: 'x' },
    { id: 2, postCode: 'y' },
  ]
  expect((await client.send('PATCH', '/places/bulk', changed)).json).toEqual(changed)
  expect(await database.knex('places').orderBy('id')).toEqual([
    { id: 1, post_code: 'x', line_1: 'b', subLine: 'c' },
    { id: 2, post_code: 'y', line_1: 'e', subLine: 'f' },
  ])
})

const ANY_MAPPERS = [{}, { underscoreBeforeDigits: true }, { upperCase: true }]

it('names of ours are in no way of mappers of knex, whatever these make of names', async () => {
  configure({ secretKey: '0123456789abcdef0123456789abcdef' })
  const answers: unknown[][] = []
  for (const options of ANY_MAPPERS) answers.push(await answersBy(options))
  for (const own of answers) expect(own).toEqual(answers[0])
})

/** What an API answers whose statements have tables and columns of ours around those of the application. */
async function answersBy(options: { upperCase?: boolean }): Promise<unknown[]> {
  const tables = `
    create table makers (id int generated by default as identity primary key, full_name text not null unique);
    create table my_books (
      id int generated by default as identity primary key, long_title text not null, price_net numeric(6, 2),
      maker_id int references makers
    );
    create table labels (id int generated by default as identity primary key, label_text text not null);
    create table my_books_labels (
      my_book_id int references my_books, label_id int references labels, primary key (my_book_id, label_id)
    );
    insert into makers (full_name) values ('Ada'), ('Ben');
    insert into my_books (long_title, price_net, maker_id) select 'title ' || n, n % 3, n % 2 + 1 from generate_series(1, 9) n;
    insert into labels (label_text) values ('a'), ('b');
    insert into my_books_labels select n, 1 + n % 2 from generate_series(1, 6) n;`
  const own =
    /\b(makers|my_books_labels|my_books|labels|id|full_name|long_title|price_net|maker_id|label_text|my_book_id|label_id)\b/g
  const schema = options.upperCase ? tables.replaceAll(own, (name) => `"${name.toUpperCase()}"`) : tables
  const database = await createDatabase({ schema })
  const mapped = knexLibrary({
    client: 'pg',
    connection: { ...database.connection } as Knex.PgConnectionConfig,
    ...knexSnakeCaseMappers(options),
  })
  onTestFinished(async () => {
    await mapped.destroy()
    await database.drop()
  })
  await ensureChangesTable(mapped)
  const client = await serveRouter(routerOf(viewsOf(mapped)))
  const answers: unknown[] = []
  const ask = async (method: string, path: string, body?: unknown) => {
    const { status, json } = await client.send(method, path, body)
    expect([method, path, status]).toEqual([method, path, expect.toBeOneOf([200, 201, 204])])
    answers.push(JSON.stringify(json ?? null).replaceAll(/cursor=[\w-]+|"made_at":"[^"]*"/g, ''))
  }
  for (const path of ['/rows', '/native', '/feed', '/keys', '/recorded', '/makers']) {
    for (const query of ['', '/1', '?ordering=-maker__fullName,priceNet&search=title&maker__fullName=Ada'])
      await ask('GET', path + query)
    await ask('GET', `${path}?filter=any(labels,labelText=a)&expand=labels_count`)
    await ask('GET', `${path}?filter=or(count(labels)__gte=1,maker__fullName=Ben)`)
    if (path === '/makers') continue
    await ask('GET', `${path}/aggregate?group_by=maker__fullName`)
    await ask('GET', `${path}/facets`)
    await ask('PATCH', `${path}/1`, { longTitle: path })
    await ask('PATCH', `${path}/bulk`, [
      { id: 1, longTitle: 'x' },
      { id: 2, priceNet: '5.00' },
    ])
    await ask('POST', path, { longTitle: path, priceNet: '1.50' })
  }
  await ask('POST', '/rows', {
    longTitle: 'n',
    maker: { fullName: 'Cleo' },
    labels: [{ labelText: 'c' }, { labelText: 'd' }],
  })
  await ask('PATCH', '/rows/3', { labels: [{ labelText: 'e' }] })
  await ask('PATCH', '/keys/4', { labels: [1, 2], maker: 'Cleo' })
  await ask('PATCH', '/keys/bulk', [
    { id: 4, labels: [2] },
    { id: 5, labels: [1, 2] },
  ])
  await ask('DELETE', '/recorded/9')
  await ask('GET', '/recorded/1/history')
  return answers
}

function viewsOf(knex: Knex): Record<string, ViewSetClass> {
  const [makers, labels] = ['makers', 'labels'].map((name) => tableOf(name)) as [typeof Model, typeof Model]
  class Written extends Model {
    static override tableName = 'myBooks'
    static override get relationMappings(): RelationMappings {
      const through = { from: 'myBooksLabels.myBookId', to: 'myBooksLabels.labelId' }
      return {
        maker: {
          relation: Model.BelongsToOneRelation,
          modelClass: makers,
          join: { from: 'myBooks.makerId', to: 'makers.id' },
        },
        labels: {
          relation: Model.ManyToManyRelation,
          modelClass: labels,
          join: { from: 'myBooks.id', through, to: 'labels.id' },
        },
      }
    }
  }
  makers.relationMappings = () => ({
    books: { relation: Model.HasManyRelation, modelClass: Written, join: { from: 'makers.id', to: 'myBooks.makerId' } },
  })
  for (const model of [makers, labels, Written]) model.knex(knex)
  const many = { many: true, required: false } as const
  const maker = new NestedSerializer(serializerOf(makers, ['id', 'fullName']), { required: false, allowNull: true })
  const Label = serializerOf(labels, ['id', 'labelText'])
  const columns = ['id', 'longTitle', 'priceNet']
  const Nested = serializerOf(Written, columns, {
    maker,
    labels: new NestedSerializer(Label, { ...many, orderBy: ['-labelText'] }),
  })
  const Keys = serializerOf(Written, columns, {
    maker: new SlugRelatedField({ slugField: 'fullName', queryset: makers, required: false }),
    labels: new PrimaryKeyRelatedField({ queryset: labels, ...many }),
  })
  const books = new NestedSerializer(serializerOf(Written, columns), {
    many: true,
    readOnly: true,
    limit: 2,
    orderBy: ['-priceNet'],
  })
  const filterBackends = [new FieldFilter({ groupParam: 'filter' }), SearchFilter, OrderingFilter]
  const Labels = viewOf(labels, Label, { filterBackends, filtersetFields: ['labelText'] })
  const statics = {
    filterBackends,
    ordering: ['id'],
    paginationClass: new PageNumberPagination({ pageSize: 4 }),
    filtersetFields: ['maker__fullName'],
    filterRelations: { labels: () => Labels },
    orderingFields: ['maker__fullName', 'priceNet'],
    searchFields: ['longTitle', 'labels__labelText'],
    expandable: { labels_count: count('labels') },
    aggregates: { total: sum('priceNet') },
    groupBy: ['maker__fullName'],
    facets: ['priceNet'],
  }
  class Recorded extends HistoryMixin(ChangesMixin(BulkModelViewSet)) {}
  const recorded = { ...statics, model: Written, serializerClass: serializerOf(Written, columns) }
  return {
    rows: viewOf(Written, Nested, statics),
    native: viewOf(Written, Nested, { ...statics, useNativeJson: true }),
    feed: viewOf(Written, Nested, {
      ...statics,
      ordering: ['-maker__fullName'],
      paginationClass: new CursorPagination({ pageSize: 4 }),
    }),
    keys: viewOf(Written, Keys, statics),
    recorded: Object.assign(Recorded, recorded) as unknown as ViewSetClass,
    makers: viewOf(makers, serializerOf(makers, ['id', 'fullName'], { books }), { ordering: ['fullName'] }),
  }
}
