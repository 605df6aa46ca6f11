/** What an API refuses before any request, how it gets ready, and how it is closed. */
import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import Router from '@koa/router'
import knex, { type Knex } from 'knex'
import type Koa from 'koa'
import { knexSnakeCaseMappers, Model, snakeCaseMappers, Validator, type ValidatorArgs } from 'objection'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  APIRouter,
  APIView,
  action,
  and,
  BaseFilter,
  ConfigurationError,
  type DeclaredFields,
  FieldFilter,
  GenericViewSet,
  IntegerField,
  IsAdminUser,
  IsAuthenticated,
  ListMixin,
  ModelSerializer,
  ModelViewSet,
  NestedRouter,
  NestedSerializer,
  NestedViewSetMixin,
  ObjectPermission,
  or,
  PrimaryKeyRelatedField,
  ReadOnlyModelViewSet,
  SearchFilter,
  ViewSet,
} from '../../lib/index.js'
import { serveApp } from '../support/client.js'
import { createDatabase } from '../support/database.js'
import {
  Author,
  AuthorSerializer,
  Book,
  BookSerializer,
  BookViewSet,
  database,
  Membership,
  MembershipSerializer,
  Token,
  useLibrary,
} from '../support/library.js'
import { runsAsRole } from '../support/roles.js'
import { routerOf, serializerOf, serveResources, serveRouter, tableOf, viewOf } from '../support/views.js'

useLibrary()

describe('mistakes of the programmer', () => {
  const valid = { model: Book, serializerClass: BookSerializer }
  /** A view set with these statics, whatever their types. */
  function viewWith(statics: Record<string, unknown>): typeof BookViewSet {
    const view = class Broken extends ModelViewSet {}
    for (const [name, value] of Object.entries({ ...valid, ...statics })) {
      Object.defineProperty(view, name, { value, configurable: true })
    }
    return view as never
  }

  it.each<[string, Record<string, unknown>, RegExp]>([
    ['no model', { model: null }, /^Broken: set static model .*queryset/],
    ['a model that is none', { model: {} }, /^Broken: static model is no Objection model/],
    ['a queryset that is a query', { model: null, queryset: 'books' }, /^Broken: static queryset .* function/],
    ['no serializer', { serializerClass: null }, /^Broken: set static serializerClass, or override getSerializerClass/],
    ['a serializer that is none', { serializerClass: {} }, /^Broken.*serializerClass/],
    ['a policy list that is none', { permissionClasses: {} }, /^Broken\.permissionClasses: give a list/],
    [
      'a wrong policy',
      { permissionClasses: [Map] },
      /^Broken\.permissionClasses\[0\]: has no method hasPermission\(\)/,
    ],
    ['an empty policy', { throttleClasses: [undefined] }, /^Broken\.throttleClasses\[0\]/],
    ['no renderer', { rendererClasses: [] }, /^Broken\.rendererClasses: give at least one renderer/],
    ['a wrong paginator', { paginationClass: Map }, /^Broken\.paginationClass: has no method paginate\(\)/],
    ['a wrong versioning', { versioningClass: {} }, /^Broken\.versioningClass: has no method determineVersion\(\)/],
    ['a wrong filter', { filterBackends: [{}] }, /^Broken\.filterBackends\[0\]/],
    ['a path parameter that is no name', { lookupUrlKwarg: 'book-id' }, /^Broken.*lookupUrlKwarg.*"book-id"/],
  ])('[I23] %s is found at registration', (_mistake, statics, message) => {
    const register = () => new APIRouter().register('books', viewWith(statics))
    expect(register).toThrow(ConfigurationError)
    expect(register).toThrow(message)
  })

  it('[I23] a class that is no view set is found at registration', () => {
    for (const wrong of [class {}, {}, undefined, Book]) {
      const register = () => new APIRouter().register('books', wrong as never)
      expect(register).toThrow(
        new ConfigurationError(
          'APIRouter: register("books", …) takes a view set class; extend ViewSet or ModelViewSet',
        ),
      )
    }
  })

  it('[I23] a view without model needs a basename', () => {
    class Clock extends ViewSet {
      list() {
        return []
      }
    }
    expect(() => new APIRouter().register('clock', Clock)).toThrow(
      'APIRouter: Clock has no model; name it: register("clock", Clock, basename)',
    )
  })

  it('[I23] a view without any action has no routes, and that is a mistake', () => {
    class Nothing extends ViewSet {}
    expect(() => new APIRouter().register('nothing', Nothing, 'nothing')).toThrow(/^Nothing: has no action/)
  })

  it('[I23] a prefix or a basename that is taken is named with both classes', () => {
    class Others extends ModelViewSet {
      static override model = Author
      static override serializerClass = AuthorSerializer
    }
    const router = new APIRouter().register('books', BookViewSet)
    expect(() => router.register('/books/', Others)).toThrow(
      'APIRouter: Others and BookViewSet are both registered under "books"; change one',
    )
    expect(() => router.register('volumes', BookViewSet)).toThrow(/both have the basename "book"/)
    expect(() => router.register('volumes', BookViewSet, 'volume')).not.toThrow()
    router.register('books/{number:int}', Others)
  })

  it('[I23] two routes with one path are named with both classes by prepare()', async () => {
    class Others extends ModelViewSet {
      static override model = Author
      static override serializerClass = AuthorSerializer
      static override lookupUrlKwarg = 'other_id'
    }
    const router = new APIRouter().register('books', BookViewSet).register('books/{id:int}', Others)
    await expect(router.prepare()).rejects.toThrow(
      new ConfigurationError(
        'BookViewSet and Others both have the path /books/{id:int}; give one of them another prefix',
      ),
    )
  })

  it('[I23] an action that finds its object by a parameter that its path does not have is named by prepare()', async () => {
    class Fitting extends BookViewSet {
      @action({ detail: true, methods: ['POST'], lookupField: 'title', lookupUrlKwarg: 'id' })
      open() {
        return this.getObject()
      }
      @action({ detail: false, methods: ['POST'], urlPath: 'named/{title}', lookupField: 'title' })
      named() {
        return this.getObject()
      }
    }
    class Slugs extends Fitting {
      @action({ detail: true, methods: ['POST'], lookupField: 'title' })
      publish() {
        return this.getObject()
      }
    }
    await expect(new APIRouter().register('books', Slugs).prepare()).rejects.toThrow(
      new ConfigurationError(
        'Slugs: publish() finds its object by the parameter "title", which its path /books/{id:int}/publish does not have; name it in its urlPath, or set its lookupUrlKwarg',
      ),
    )
    await expect(new APIRouter().register('books', Fitting).prepare()).resolves.toBeUndefined()
  })

  it.each([
    ['books//x', /an empty segment/],
    [':id', /neither/],
    ['{id:float}', /unknown hint "float"/],
    ['{files:path}', /rest of the path/],
    ['authors/{id:int}/books', /the parameter "id" occurs twice/],
  ])('[I23] the prefix %s is a mistake', (prefix, message) => {
    const register = () => new APIRouter({ prefix: '/api' }).register(prefix, BookViewSet)
    expect(register).toThrow(ConfigurationError)
    expect(register).toThrow(message)
  })

  it('[I23] what the catalogue shows is found by prepare(), all of it at once', async () => {
    class Volume extends Book {}
    class Unknown extends ModelSerializer<Book> {
      static override model = Volume
      static override fields = ['id', 'titel']
    }
    class Books extends ModelViewSet<Book> {
      static override model = Book
      static override serializerClass = Unknown
    }
    class Lookups extends ModelViewSet<Book> {
      static override model = Volume
      static override serializerClass = BookSerializer
      static override lookupField = 'code'
    }
    class Orders extends ModelViewSet<Book> {
      static override model = Volume
      static override serializerClass = BookSerializer
      static override ordering = ['-nope']
    }
    const router = new APIRouter()
      .register('books', Books, 'book')
      .register('lookups', Lookups, 'lookup')
      .register('orders', Orders, 'order')
    const error = await router.prepare().then(
      () => undefined,
      (thrown: unknown) => thrown as Error,
    )
    expect(error).toBeInstanceOf(ConfigurationError)
    const lines = error?.message.split('\n') ?? []
    expect(lines).toHaveLength(3)
    expect(lines[0]).toMatch(/Unknown.*titel/)
    expect(lines[1]).toBe('Lookups: lookupField "code" is no column of Volume')
    expect(lines[2]).toBe('Orders: ordering names "-nope", which is no column of Volume')
  })

  it('refuses a model whose idColumn is none of its table', async () => {
    class Tag extends Model {
      static override tableName = 'tags'
    }
    class TagSerializer extends ModelSerializer {
      static override model = Tag
      static override fields = ['slug']
    }
    class Tags extends ModelViewSet {
      static override model = Tag
      static override serializerClass = TagSerializer
    }
    await expect(new APIRouter().register('tags', Tags).prepare()).rejects.toThrow(
      'Tags: idColumn of Tag is "id", which is no column of "tags"; name its primary key there, or set lookupField',
    )
  })

  it.each<[string, object, string]>([
    [
      'Ajv cannot read',
      { jsonSchema: { type: 'object', properties: { title: { type: 'date-time' } } } },
      'Titles: Ajv cannot read the jsonSchema of Titled, and refuses all writes: Error: type must be JSONType',
    ],
    [
      'has words that Ajv does not know',
      { jsonSchema: { type: 'object', properties: { title: { type: 'string', example: 'Momo' } } } },
      'unknown keyword: "example"; correct it, or give the model a createValidator() that takes it, as by strict: false',
    ],
    [
      'has not what additionalProperties: false asks for',
      { jsonSchema: { type: 'object', additionalProperties: false, properties: { id: { type: 'integer' } } } },
      'TitleSerializer: field "title" cannot be written: the jsonSchema of Titled has no property "title", and its ' +
        'additionalProperties: false refuses what it has not; add it there, or set readOnly: true',
    ],
    [
      'has not what pickJsonSchemaProperties keeps',
      { pickJsonSchemaProperties: true, jsonSchema: { type: 'object', properties: { id: { type: 'integer' } } } },
      'TitleSerializer: field "title" cannot be written: the jsonSchema of Titled has no property "title", and ' +
        'pickJsonSchemaProperties leaves out what it has not; add it there, or set readOnly: true',
    ],
  ])('[I23] a jsonSchema that %s is found by prepare() where something is written', async (_what, statics, message) => {
    const prepared = (base: typeof ModelViewSet | typeof ReadOnlyModelViewSet, more: object = {}) => {
      const Titled = Object.assign(class Titled extends Model {}, { tableName: 'books' }, statics)
      Titled.knex(database.knex)
      Object.assign(Titled.prototype, more)
      class TitleSerializer extends ModelSerializer {
        static override model = Titled
        static override fields = ['id', 'title']
      }
      const view = class Titles extends (base as typeof ModelViewSet) {
        static override model = Titled
        static override serializerClass: any = TitleSerializer
      }
      return new APIRouter().register('titles', view).prepare()
    }
    await expect(prepared(ModelViewSet)).rejects.toThrow(message)
    await prepared(ReadOnlyModelViewSet)
    const $beforeValidate = () => ({ type: 'object' })
    await prepared(ModelViewSet, { $beforeValidate })
  })

  it.each<[string, object, string]>([
    [
      'cannot be read',
      { type: 'object', properties: { name: { type: 'date-time' } } },
      'Ajv cannot read the jsonSchema of Writer',
    ],
    [
      'lacks a field',
      { type: 'object', additionalProperties: false, properties: {} },
      'field "name" cannot be written',
    ],
  ])('[I23] a jsonSchema that %s is found of nested objects that are written', async (_what, jsonSchema, message) => {
    const prepared = (options: { readOnly?: true } = {}) => {
      class Writer extends Model {
        static override tableName = 'authors'
        static override jsonSchema = jsonSchema
      }
      class Work extends Model {
        static override tableName = 'books'
        static override relationMappings = {
          author: {
            relation: Model.BelongsToOneRelation,
            modelClass: Writer,
            join: { from: 'books.author_id', to: 'authors.id' },
          },
        }
      }
      for (const model of [Writer, Work]) model.knex(database.knex)
      const author = new NestedSerializer(serializerOf(Writer, ['name']), options)
      return routerOf({ works: viewOf(Work, serializerOf(Work, ['author'], { author })) }).prepare()
    }
    await expect(prepared()).rejects.toThrow(message)
    await prepared({ readOnly: true })
  })

  it('[I23] a jsonSchema may lack the key by which nested objects are named that are there', async () => {
    await database.knex.raw('create table papers (id uuid primary key, text text)')
    onTestFinished(() => database.knex.schema.dropTable('papers'))
    const Paper = tableOf('papers', {
      jsonSchema: { type: 'object', additionalProperties: false, properties: { text: { type: 'string' } } },
    })
    const Folder = tableOf('papers', {
      relationMappings: {
        papers: {
          relation: Model.HasManyRelation,
          modelClass: Paper,
          join: { from: 'papers.text', to: 'papers.text' },
        },
      },
    })
    const shown = serializerOf(Paper, ['id', 'text'])
    const papers = new NestedSerializer(shown, { many: true })
    await routerOf({ folders: viewOf(Folder, serializerOf(Folder, ['id', 'papers'], { papers })) }).prepare()
    await expect(routerOf({ papers: viewOf(Paper, shown) }).prepare()).rejects.toThrow('field "id" cannot be written')
  })

  const titles = (made: typeof Model, fields: readonly string[] = ['id', 'title']) => {
    made.knex(database.knex)
    return routerOf({ titles: viewOf(made, serializerOf(made, [...fields])) })
  }

  it('[I23] a jsonSchema with an $id is compiled once, where a getter makes it, too', async () => {
    class Titled extends Model {
      static override tableName = 'books'
      static override get jsonSchema() {
        return { $id: 'titled', type: 'object' as const, properties: { title: { type: 'string' as const } } }
      }
    }
    await titles(Titled).prepare()
    expect(() => Titled.fromJson({ title: 'Momo' })).not.toThrow()
  })

  it('[I23] a jsonSchema that something else than Ajv reads is its own affair', async () => {
    const jsonSchema: object = { type: 'object', additionalProperties: false, properties: { pages: { type: 'text' } } }
    class Unasked extends Model {
      static override tableName = 'books'
      static override jsonSchema = jsonSchema
      override $validate(json: never) {
        return json
      }
    }
    class Own extends Validator {
      override validate({ json }: ValidatorArgs) {
        return json
      }
    }
    class Asked extends Model {
      static override tableName = 'books'
      static override jsonSchema = jsonSchema
      static override createValidator() {
        return new Own()
      }
    }
    await titles(Unasked).prepare()
    await titles(Asked).prepare()
  })

  it('[I23] a field that clients may leave out, and the jsonSchema does, is warned of', async () => {
    class Titled extends Model {
      static override tableName = 'books'
      static override jsonSchema = {
        type: 'object' as const,
        additionalProperties: false,
        properties: { title: { type: 'string' as const } },
      }
    }
    const warning = once(process, 'warning')
    await titles(Titled, ['id', 'title', 'isbn']).prepare()
    expect((await warning)[0]).toMatchObject({
      code: 'KOA_VIEWSETS_LOST_VALUE',
      message: expect.stringContaining('field "isbn" cannot be written: the jsonSchema of Titled has no property'),
    })
  })

  it.each([
    ['by one statement', undefined],
    ['with hooks', () => {}],
  ])('a value that pickJsonSchemaProperties leaves out is not stored, %s', async (_how, $beforeUpdate) => {
    class Titled extends Model {
      static override tableName = 'books'
      static override pickJsonSchemaProperties = true
      static override jsonSchema = { type: 'object' as const, properties: { title: { type: 'string' as const } } }
    }
    if ($beforeUpdate) Object.assign(Titled.prototype, { $beforeInsert: $beforeUpdate, $beforeUpdate })
    const { send } = await serveRouter(titles(Titled, ['id', 'title', 'isbn']))
    const sent = { title: 'Momo', isbn: '978' }
    const { status, json } = await send('POST', '/titles', sent)
    const id = json.id as number
    const kept = { id, title: 'Momo', isbn: null }
    expect([status, json]).toEqual([201, kept])
    expect((await send('PATCH', `/titles/${id}`, { isbn: '979' })).json).toEqual(kept)
    expect((await send('PATCH', '/titles/bulk', [{ ...sent, id }])).json).toEqual([kept])
    expect((await send('POST', '/titles/bulk', [sent])).json).toMatchObject([{ isbn: null }])
  })

  it.each<[string, string, object, string]>([
    ['a question mark', 'is_it?', {}, 'field "is_it?" is the column "is_it?", and knex can carry no name'],
    ['a colon', 'is:it', {}, 'field "is:it" is the column "is:it", and Objection does not write'],
    ['a leading dollar', '$it', {}, 'field "$it" is the column "$it", and Objection does not write'],
    [
      'no way back through its mapper',
      'line_1',
      { columnNameMappers: snakeCaseMappers() },
      'field "line1" is the column "line_1", which the columnNameMappers, or the $parseDatabaseJson() and $formatDatabaseJson(), of Odd write to as "line1"',
    ],
  ])('[I23] a column whose name has %s is found by prepare()', async (_what, column, statics, message) => {
    await database.knex.raw('drop table if exists odd')
    await database.knex.schema.raw(
      `create table odd (id int generated always as identity primary key, "${column.replace('?', '\\?')}" text)`,
    )
    class Odd extends Model {
      static override tableName = 'odd'
    }
    Object.assign(Odd, statics)
    Odd.knex(database.knex)
    const prepared = (options: object) => {
      class OddSerializer extends ModelSerializer {
        static override model = Odd
        static override fields = '__all__'
      }
      Odd.knex(database.knex)
      class Odds extends ModelViewSet {
        static override model = Odd
        static override serializerClass: any = Object.assign(OddSerializer, options)
      }
      return new APIRouter().register('odds', Odds).prepare()
    }
    await expect(prepared({})).rejects.toThrow(ConfigurationError)
    await expect(prepared({})).rejects.toThrow(`OddSerializer: ${message}`)
    await prepared({ fields: ['id'] })
    if (!column.includes('?')) await prepared({ readOnlyFields: [column === 'line_1' ? 'line1' : column] })
  })

  it("[I23] a column that knex's own mappers do not find back is found by prepare(), in fields and filters", async () => {
    await database.knex.schema.raw(
      'create table numbered (id int generated always as identity primary key, line_1 text, b2_c int)',
    )
    const mapped = knex({
      client: 'pg',
      connection: { ...database.connection } as Knex.PgConnectionConfig,
      ...knexSnakeCaseMappers(),
    })
    onTestFinished(() => mapped.destroy())
    class Numbered extends Model {
      static override tableName = 'numbered'
    }
    Numbered.knex(mapped)
    const prepared = (fields: string[], filtersetFields: string[] = []) => {
      const statics = { filterBackends: [FieldFilter], filtersetFields }
      const view = viewOf(Numbered, Object.assign(serializerOf(Numbered, fields), { readOnlyFields: fields }), statics)
      return new APIRouter().register('numbered', view).prepare()
    }
    const why = 'is the column "line_1", which the mappers of knex write to as "line1"; correct them'
    await expect(prepared(['id', 'line1'])).rejects.toThrow(`field "line1" ${why}`)
    await expect(prepared(['id'], ['line1'])).rejects.toThrow(`filtersetFields names "line1", which ${why}`)
    await prepared(['id', 'b2C'], ['b2C'])
  })

  it('a view set of some actions takes a model with a key of several columns', async () => {
    class Members extends ListMixin(GenericViewSet<Membership>) {
      static override model = Membership
      static override serializerClass = MembershipSerializer
      async create() {
        const serializer = this.getInputSerializer()
        await serializer.isValid({ raiseException: true })
        await serializer.save()
        this.ctx.status = 201
        return serializer.data
      }
    }
    const { get, send } = await serveResources({ members: Members })
    expect((await send('POST', '/api/members', { author_id: 1, club: 'x' })).status).toBe(201)
    expect((await get('/api/members')).json).toEqual([{ author_id: 1, club: 'x', since: null }])
    await Membership.query().delete()
  })

  it('[I23] a model without database or table is named by prepare()', async () => {
    class Lost extends Model {
      static override tableName = 'lost'
    }
    Lost.knex(undefined as never)
    class LostSerializer extends ModelSerializer {
      static override model = Lost
      static override fields = '__all__'
    }
    class LostViewSet extends ModelViewSet {
      static override model = Lost
      static override serializerClass = LostSerializer
    }
    const router = new APIRouter().register('lost', LostViewSet)
    await expect(router.prepare()).rejects.toThrow(/^Lost: not bound to a database/)
    await expect(router.prepare({ knex: database.knex })).rejects.toThrow(/^Lost: table "lost" does not exist/)
  })

  it('a registration after prepare() or mount() is a mistake', async () => {
    const prepared = new APIRouter()
    await prepared.prepare()
    expect(() => prepared.register('books', BookViewSet)).toThrow(
      'APIRouter: register("books") came after prepare() or the first request; register first',
    )
    const mounted = new APIRouter()
    mounted.mount(new Router())
    expect(() => mounted.register('books', BookViewSet)).toThrow(/register\("books"\) came after mount\(\)/)
  })

  it('a prepare() that failed may be repeated, and registered for again', async () => {
    class Late extends Model {
      static override tableName = 'tags'
      static override idColumn = 'slug'
    }
    Late.knex(undefined as never)
    class LateSerializer extends ModelSerializer {
      static override model = Late
      static override fields = '__all__'
    }
    class LateViewSet extends ModelViewSet {
      static override model = Late
      static override serializerClass = LateSerializer
    }
    const router = new APIRouter().register('late', LateViewSet)
    await expect(router.prepare()).rejects.toThrow(ConfigurationError)
    Late.knex(database.knex)
    router.register('books', BookViewSet)
    await router.prepare()
    const client = await serveApp(router.routes())
    expect((await client.get('/late')).json).toEqual([])
  })

  it('a model that is bound late has its join tables read where it is bound', async () => {
    class Late extends Book {}
    Late.knex(undefined as never)
    class LateViewSet extends ModelViewSet<Late> {
      static override model = Late
      static override serializerClass = class LateSerializer extends ModelSerializer<Late> {
        static override model = Late
        static override fields = ['id', 'genres']
      }
    }
    const router = new APIRouter().register('late', LateViewSet)
    await expect(router.prepare()).rejects.toThrow(/^Late: not bound to a database/)
    Late.knex(database.knex)
    await router.prepare()
    const client = await serveApp(router.routes())
    await Book.query().insert({ title: 'One' })
    await database.knex.raw("insert into genres (id, name) values (7, 'novel')")
    expect((await client.send('PATCH', '/late/1', { genres: [7] })).json).toEqual({ id: 1, genres: [7] })
  })
})

it('an extra of a join table may be of a type whose values are compared with nothing', async () => {
  await database.knex.raw(`
    create type mood as enum ('glad', 'sad'); create domain shown_mood as mood;
    create table moody (book_id int references books, author_id int references authors, mood shown_mood)`)
  class Moody extends Model {
    static override tableName = 'books'
    static override relationMappings = () => ({
      moods: {
        relation: Model.ManyToManyRelation,
        modelClass: Author,
        join: {
          from: 'books.id',
          through: { from: 'moody.book_id', to: 'moody.author_id', extra: ['mood'] },
          to: 'authors.id',
        },
      },
    })
  }
  const moods = new PrimaryKeyRelatedField({ many: true, queryset: Author, required: false })
  Moody.knex(database.knex)
  const api = routerOf({ books: viewOf(Moody, serializerOf(Moody, ['id'], { moods })) })
  await expect(api.prepare()).resolves.toBeUndefined()
})

describe('relations whose join cannot be', () => {
  const { BelongsToOneRelation, HasManyRelation, ManyToManyRelation } = Model
  it.each([
    ['from another table', BelongsToOneRelation, { from: 'papers.author_id', to: 'authors.id' }, /table 'papers'/],
    ['to another table', HasManyRelation, { from: 'books.id', to: 'papers.book_id' }, /table 'papers'/],
    ['without a join', BelongsToOneRelation, undefined, /join must be an object/],
    [
      'through two tables',
      ManyToManyRelation,
      { from: 'books.id', through: { from: 'one.book_id', to: 'two.author_id' }, to: 'authors.id' },
      /the same join table/,
    ],
    [
      'by a column of its own that is not there',
      BelongsToOneRelation,
      { from: 'books.wrote', to: 'authors.id' },
      /table "books" has no column "wrote"/,
    ],
    [
      'by a column of the other that is not there',
      BelongsToOneRelation,
      { from: 'books.author_id', to: 'authors.nr' },
      /table "authors" has no column "nr"/,
    ],
    [
      'by a property in the place of a column',
      BelongsToOneRelation,
      { from: 'books.authorId', to: 'authors.id' },
      /table "books" has no column "authorId"/,
    ],
    [
      'through a table that is not there',
      ManyToManyRelation,
      {
        from: 'books.id',
        through: { from: 'books_writers.book_id', to: 'books_writers.author_id' },
        to: 'authors.id',
      },
      'Odd.relationMappings.writer: table "books_writers" does not exist; create it, or correct join.through',
    ],
    ...[{ from: 'books_genres.books_id' }, { to: 'books_genres.genre' }, { extra: ['genre'] }].map(
      (wrong): [string, typeof ManyToManyRelation, object, RegExp] => [
        `through a column that is not there: ${JSON.stringify(wrong)}`,
        ManyToManyRelation,
        {
          from: 'books.id',
          through: { from: 'books_genres.book_id', to: 'books_genres.genre_id', ...wrong },
          to: 'authors.id',
        },
        /Odd\.relationMappings\.writer: the table "books_genres" has no column "(books_id|genre)"/,
      ],
    ),
  ])('%s', async (_, relation, join, message) => {
    for (const shown of ['by a field', 'by a filter']) {
      class Odd extends Model {
        static override tableName = 'books'
        static override columnNameMappers = snakeCaseMappers()
        static override relationMappings = () => ({ writer: { relation, modelClass: Author, join } as never })
      }
      class OddSerializer extends ModelSerializer {
        static override model = Odd
        static override fields = ['id']
        static override declaredFields =
          shown === 'by a field' ? { writer: new NestedSerializer(AuthorSerializer, { readOnly: true }) } : {}
      }
      Odd.knex(database.knex)
      class Odds extends ModelViewSet {
        static override model = Odd
        static override serializerClass = OddSerializer
        static override filterBackends = [FieldFilter]
        static override filtersetFields = shown === 'by a filter' ? ['writer__id'] : []
      }
      const prepare = async () => new APIRouter().register('odds', Odds).prepare()
      // the second time, too: Objection keeps what it has refused
      for (let time = 0; time < 2; time++) {
        const error: unknown = await prepare().catch((reason: unknown) => reason)
        expect(error).toBeInstanceOf(ConfigurationError)
        expect(String(error)).toMatch(/Odd\.relationMappings\.writer: /)
        if (time === 0) expect(String(error)).toMatch(message)
      }
    }
  })
})

describe('an API that nobody prepared', () => {
  it('is prepared by the first request to it', async () => {
    const router = new APIRouter({ prefix: '/api' }).register('books', BookViewSet)
    const client = await serveApp(router.routes())
    const [first, second] = await Promise.all([client.get('/api/books'), client.get('/api/books')])
    expect([first.status, second.status]).toEqual([200, 200])
  })

  it('knows from the first request what type a key has', async () => {
    const uid = '11111111-2222-3333-4444-555555555555'
    await Token.query().insert({ uid, label: 'x' } as never)
    for (const mounted of [false, true]) {
      class FreshToken extends Token {}
      class FreshSerializer extends ModelSerializer {
        static override model = FreshToken
        static override fields = '__all__'
      }
      class Tokens extends ModelViewSet {
        static override model = FreshToken
        static override serializerClass = FreshSerializer
      }
      const router = new APIRouter({ prefix: '/api' }).register('tokens', Tokens)
      const own = new Router()
      if (mounted) router.mount(own)
      const client = await serveApp(mounted ? (own.routes() as Koa.Middleware) : router.routes())
      expect((await client.get(`/api/tokens/${uid}`)).json).toEqual({ uid, label: 'x' })
      expect((await client.get('/api/tokens/1')).headers['content-type']).toMatch(/^text\/plain/)
    }
    await Token.query().delete()
  })

  it('answers 503 while its database is away, leaves other paths to the app, and recovers by itself', async () => {
    class Far extends Model {
      static override tableName = 'books'
    }
    class FarSerializer extends ModelSerializer {
      static override model = Far
      static override fields = ['id', 'title']
    }
    class FarViewSet extends ModelViewSet {
      static override model = Far
      static override serializerClass = FarSerializer
    }
    const away = knex({ client: 'pg', connection: { host: '127.0.0.1', port: 1, user: 'x' }, pool: { min: 0, max: 1 } })
    Far.knex(away)
    const router = new APIRouter({ prefix: '/api' }).register('far', FarViewSet)
    const client = await serveApp(router.routes(), (ctx) => {
      ctx.body = 'the app'
    })
    for (let round = 0; round < 2; round++) {
      const { status, headers, text } = await client.get('/api/far')
      expect({ status, text }).toEqual({
        status: 503,
        text: '{"detail":"Service temporarily unavailable","status":503}',
      })
      expect(headers['retry-after']).toMatch(/^[1-9]/)
    }
    expect(client.reported).toHaveLength(2)
    for (const path of ['/', '/health', '/api/other', '/api/far/1/2', '/far']) {
      expect(await client.get(path)).toMatchObject({ status: 200, text: 'the app' })
    }
    expect(client.reported).toHaveLength(2)
    Far.knex(database.knex)
    expect((await client.get('/api/far')).json).toEqual([])
    await away.destroy()
  })

  it('answers 503 for a mistake in a declaration, and the stack that the app logs says which', async () => {
    class Unlikely extends Book {}
    class UnlikelyViewSet extends ModelViewSet<Unlikely> {
      static override model = Unlikely
      static override serializerClass = BookSerializer
      static override lookupField = 'title'
    }
    Unlikely.knex(database.knex)
    const router = new APIRouter({ prefix: '/api' }).register('unlikely', UnlikelyViewSet)
    const client = await serveApp(router.routes())
    const { status, text } = await client.get('/api/unlikely')
    expect({ status, text }).toEqual({
      status: 503,
      text: '{"detail":"Service temporarily unavailable","status":503}',
    })
    expect(client.reported).toMatchObject([{ name: 'ServiceUnavailable', cause: { name: 'ConfigurationError' } }])
    expect((client.reported[0] as Error).stack).toContain(
      '[cause]: ConfigurationError: UnlikelyViewSet: update() finds its object by lookupField "title", which is not unique',
    )
  })
})

describe('close()', () => {
  it('[I12] lets running requests end, refuses new ones, and may be called twice', async () => {
    let release: () => void = () => {}
    const entered = new Promise<void>((resolve) => {
      class Slow extends ViewSet {
        async list() {
          resolve()
          await new Promise<void>((go) => {
            release = go
          })
          return ['done']
        }
      }
      router.register('slow', Slow, 'slow')
    })
    const client = await serveApp(router.routes())
    const running = client.get('/slow')
    await entered
    const closed = Promise.all([router.close(), router.close()])
    expect((await client.get('/slow')).status).toBe(503)
    release()
    expect((await running).json).toEqual(['done'])
    await closed
    await router.close()
  })
  const router = new APIRouter()

  it('[I12] waits for 50 requests under way, which are all answered; later ones get 503', async () => {
    const books = new APIRouter({ prefix: '/api' }).register('books', BookViewSet)
    await books.prepare()
    let entered = 0
    const enter: Koa.Middleware = (_, next) => {
      entered++
      return next()
    }
    const { get, send } = await serveApp(enter, books.routes())
    await Book.query().insert({ title: 'One' })
    const { pool } = database.knex.client as { pool: { numUsed(): number; numPendingAcquires(): number } }
    const locker = await database.knex.transaction()
    onTestFinished(async () => {
      if (!locker.isCompleted()) await locker.rollback()
    })
    await locker.raw('lock table books in access exclusive mode')
    const running = Promise.all([
      ...Array.from({ length: 30 }, () => get('/api/books')),
      ...Array.from({ length: 10 }, () => get('/api/books/1')),
      ...Array.from({ length: 10 }, (_, index) => send('POST', '/api/books', { title: `book ${index}` })),
    ])
    await expect.poll(() => entered, { timeout: 10_000 }).toBe(50)
    let isClosed = false
    const closed = books.close().then(() => {
      isClosed = true
      // nothing runs any more: the application may end its pool
      return [pool.numUsed(), pool.numPendingAcquires()]
    })
    for (const late of [await get('/api/books'), await send('POST', '/api/books', { title: 'late' })]) {
      expect(late).toMatchObject({ status: 503, headers: { 'retry-after': expect.stringMatching(/^[1-9]/) } })
    }
    expect(isClosed).toBe(false)
    await locker.rollback()
    expect((await running).map(({ status }) => status)).toEqual([...Array(40).fill(200), ...Array(10).fill(201)])
    expect(await closed).toEqual([0, 0])
    expect(await Book.query().resultSize()).toBe(11)
  })
})

describe('a nested serializer that does not fit its relation', () => {
  const authors = new NestedSerializer(AuthorSerializer, { readOnly: true, many: true })
  const books = new NestedSerializer(BookSerializer, { readOnly: true })
  class PenName extends Author {
    static override tableName = 'genres'
    static override relationMappings = () => ({}) as never
  }
  class PenNameSerializer extends AuthorSerializer {
    static override model = PenName
  }

  it.each<[string, typeof Model, DeclaredFields, object, RegExp]>([
    [
      'of another model',
      Book,
      { author: books },
      {},
      /"author" nests BookSerializer, of Book, and the relation leads to Author/,
    ],
    [
      'of a model that extends it, of another table',
      Book,
      { author: new NestedSerializer(PenNameSerializer, { readOnly: true }) },
      {},
      /"author" nests PenNameSerializer, of PenName, and the relation leads to Author/,
    ],
    ['a list of what is one', Book, { author: authors }, {}, /"author" shows a list, and .* leave out many: true/],
    ['one of what is a list', Author, { books }, {}, /"books" shows one object, and .* set many: true/],
    ['expanded, of another model', Book, {}, { author: BookSerializer }, /"author" nests BookSerializer, of Book/],
    ['expanded, a list of what is one', Book, {}, { author: authors }, /leave out many: true/],
    ['expanded, one of what is a list', Author, {}, { books }, /set many: true/],
  ])('%s', async (_, model, declaredFields, expandable, message) => {
    class Odd extends ModelSerializer {
      static override model = model
      static override fields = ['id']
      static override declaredFields = declaredFields
    }
    const view = Object.assign(class Odds extends ModelViewSet {}, { model, serializerClass: Odd, expandable })
    const error: unknown = await new APIRouter()
      .register('odds', view)
      .prepare()
      .catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(ConfigurationError)
    expect(String(error)).toMatch(message)
  })
})

describe('a permission of owners', () => {
  const prepareWith = (permission: ObjectPermission, base = BookViewSet) =>
    new APIRouter()
      .register(
        'books',
        class Owned extends base {
          static override permissionClasses = [or(IsAdminUser, and(IsAuthenticated, permission))]
        },
      )
      .prepare()
      .then(() => 'prepared', String)

  it('names a property that the model does not have', async () => {
    expect(await prepareWith(new ObjectPermission({ ownerField: 'autor_id' }))).toMatch(
      /^ConfigurationError: Owned: ObjectPermission asks for the ownerField "autor_id", which Book does not have/,
    )
    expect(await prepareWith(new ObjectPermission({ ownerField: 'author_id' }))).toBe('prepared')
  })

  it('may ask for what a queryset of the application selects', async () => {
    class Selecting extends BookViewSet {
      override getQueryset() {
        return super.getQueryset().select('books.*', 'books.author_id as whose')
      }
    }
    expect(await prepareWith(new ObjectPermission({ ownerField: 'whose' }), Selecting as never)).toBe('prepared')
  })
})

async function warned(view: typeof BookViewSet, code = 'KOA_VIEWSETS_UNREAD_NAMES'): Promise<string[]> {
  const heard: Error[] = []
  const listener = (warning: Error) => heard.push(warning)
  process.on('warning', listener)
  onTestFinished(() => void process.removeListener('warning', listener))
  await new APIRouter().register('books', view).prepare()
  await setImmediate()
  return heard.flatMap((one) => ((one as { code?: string }).code === code ? one.message : []))
}

it('tells that a bundler has shortened the names of classes', async () => {
  Object.defineProperty(APIView, 'name', { value: 'xY', configurable: true })
  onTestFinished(() => void Object.defineProperty(APIView, 'name', { value: 'APIView', configurable: true }))
  expect(await warned(BookViewSet, 'KOA_VIEWSETS_SHORT_NAMES')).toEqual([
    expect.stringContaining('A bundler has shortened the names of classes: APIView is called "xY".'),
  ])
})

describe('names that no filter backend reads', () => {
  it.skipIf(runsAsRole())(
    'nor protects objects: a backend of the application that narrows lists is told of',
    async () => {
      class OwnRows extends BaseFilter {
        override filterQueryset(query: never) {
          return query
        }
      }
      class Listed extends BookViewSet {
        static override filterBackends: (typeof BookViewSet)['filterBackends'] = [OwnRows]
      }
      class Narrowed extends Listed {
        override getQueryset() {
          return super.getQueryset()
        }
      }
      const code = 'KOA_VIEWSETS_LIST_RULE'
      expect(await warned(Listed, code)).toEqual([
        expect.stringContaining(
          'Listed: OwnRows of filterBackends has its own filterQueryset(), which narrows lists only',
        ),
      ])
      expect(await warned(Narrowed, code)).toEqual([])
    },
  )

  it('are told once', async () => {
    class Unread extends BookViewSet {
      static override filterBackends = [SearchFilter]
      static override filtersetFields = ['title']
      static override orderingFields = ['title']
    }
    const told = [
      'Unread: filtersetFields is read by FieldFilter, which is not among filterBackends; add it, or leave filtersetFields out',
      'Unread: orderingFields is read by OrderingFilter, which is not among filterBackends; add it, or leave orderingFields out',
    ]
    expect(await warned(Unread)).toEqual(told)
    expect(await warned(Unread)).toEqual([])
  })

  it('may stand in a class whose backends a class below leaves out, or be read by a backend of the application', async () => {
    class Filtered extends BookViewSet {
      static override filterBackends: (typeof BookViewSet)['filterBackends'] = [FieldFilter]
      static override filtersetFields = ['title']
    }
    class Unfiltered extends Filtered {
      static override filterBackends = []
    }
    class Own extends BaseFilter {}
    class Owning extends BookViewSet {
      static override filterBackends = [Own]
      static override filtersetFields = ['title']
    }
    for (const view of [Filtered, Unfiltered, Owning]) expect(await warned(view)).toEqual([])
  })
})

it('[I23] a related model that is bound to another database is told at the start, and one of another pool is none', async () => {
  class Writer extends Model {
    static override tableName = 'authors'
  }
  class Work extends Model {
    static override tableName = 'books'
    static override relationMappings = () => ({
      writer: {
        relation: Model.BelongsToOneRelation,
        modelClass: Writer,
        join: { from: 'books.author_id', to: 'authors.id' },
      },
    })
  }
  const writers = viewOf(Writer, serializerOf(Writer, ['id']))
  const worksWith = (field: DeclaredFields[string]) =>
    new APIRouter().register('works', viewOf(Work, serializerOf(Work, ['id', 'writer'], { writer: field })))
  const works = viewOf(Work, serializerOf(Work, ['id']))
  class WorksOfWriter extends NestedViewSetMixin(works) {
    static override parentLookupField = 'author_id'
  }
  const filters = { filterBackends: [FieldFilter], filtersetFields: ['writer__name'] }
  const below = new APIRouter().register('writers', writers)
  new NestedRouter(below, 'writers', { lookup: 'author_id' }).register('works', WorksOfWriter)
  const apis = [
    worksWith(new NestedSerializer(serializerOf(Writer, ['name']), { readOnly: true })),
    worksWith(new PrimaryKeyRelatedField({ queryset: Writer })),
    new APIRouter().register('works', viewOf(Work, serializerOf(Work, ['id']), filters)),
    new APIRouter().register('works', viewOf(Work, serializerOf(Work, ['id', 'author_id']))),
    below,
  ]
  const other = await createDatabase({ schema: 'create table authors (id int primary key, name text)' })
  onTestFinished(() => other.drop())
  Writer.knex(other.knex)
  // what does not read it may be related to it
  const plain = serializerOf(Work, ['id', 'author_id'], { author_id: new IntegerField() })
  await new APIRouter().register('works', viewOf(Work, plain)).register('writers', writers).prepare()
  for (const api of apis) {
    await expect(api.prepare()).rejects.toThrow(
      /: Writer is bound to another database than Work, .*, and let clients ask a view set of Writer$/,
    )
  }
  // the relations of a bound class lead to bound ones, whatever class the serializers are of
  const Bound = Work.bindKnex(database.knex)
  const shown = serializerOf(Work, ['id', 'writer'], { writer: new PrimaryKeyRelatedField({ queryset: Writer }) })
  await new APIRouter().register('works', viewOf(Bound, shown)).prepare()
  const pool = knex({ client: 'pg', connection: { ...database.connection } as Knex.PgConnectionConfig })
  onTestFinished(() => pool.destroy())
  Writer.knex(pool)
  for (const api of apis) await api.prepare()
})

it('[I23] a table of another database is another one, though it is called the same', async () => {
  const other = await createDatabase({ schema: 'create table authors (id int primary key, name text)' })
  onTestFinished(() => other.drop())
  class Elsewhere extends Model {
    static override tableName = 'authors'
  }
  Elsewhere.knex(other.knex)
  class Narrowed extends viewOf(Elsewhere, serializerOf(Elsewhere, ['id'])) {
    override getQueryset() {
      return super.getQueryset().where('id', 1)
    }
  }
  const books = viewOf(Book, serializerOf(Book, ['id', 'author_id']))
  await new APIRouter({ strict: true }).register('elsewhere', Narrowed).register('books', books).prepare()
  const related = viewOf(Book, serializerOf(Book, ['id', 'author_id']), { related: { author: Narrowed } })
  await expect(new APIRouter().register('books', related).prepare()).rejects.toThrow(
    'View: Elsewhere is bound to another database than Book',
  )
  const pool = knex({ client: 'pg', connection: { ...database.connection } as Knex.PgConnectionConfig })
  onTestFinished(() => pool.destroy())
  Elsewhere.knex(pool)
  await new APIRouter().register('books', related).prepare()
  const strict = new APIRouter({ strict: true }).register('elsewhere', Narrowed).register('books', books)
  await expect(strict.prepare()).rejects.toThrow('Narrowed shows a part of Author by its queryset')
})
