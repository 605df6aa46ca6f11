/** The schemas of serializers in the OpenAPI document (wire format, section 13), and all of one resource. */
import { Model } from 'objection'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  APIRouter,
  action,
  BulkModelViewSet,
  ConfigurationError,
  Conflict,
  DateField,
  type DeclaredFields,
  type IDConfig,
  IDMixin,
  IntegerField,
  ModelSerializer,
  ModelViewSet,
  modelSerializer,
  modelViewSet,
  NestedRouter,
  NestedSerializer,
  NestedViewSetMixin,
  PrimaryKeyRelatedField,
  ReadOnlyModelViewSet,
  Serializer,
  SlugRelatedField,
  StringField,
} from '../../lib/index.js'
import { snakeCase } from '../../lib/kernel/naming.js'
import { serveApp } from '../support/client.js'
import {
  Author,
  AuthorSerializer,
  Book,
  BookSerializer,
  BookViewSet,
  Country,
  CountrySerializer,
  database,
  describeApi,
  prepared,
  Tagging,
  TaggingSerializer,
  TagSerializer,
  useDescribedBooks,
} from '../support/described-books.js'
import { operationOf } from '../support/operation-of.js'
import { lint } from '../support/redocly.js'
import { runsAsRole } from '../support/roles.js'
import { tableOf } from '../support/views.js'

useDescribedBooks()

/** A number, or the digits of one beyond 2^53. */
const INT8 = [{ type: 'integer', format: 'int64' }, { type: 'string' }] as const
const TAKEN_INT8 = [INT8[0], { ...INT8[1], pattern: '^-?[0-9]+$' }]

describe('the schemas of a serializer', () => {
  it('are what it shows, what POST and PUT take, and what PATCH takes', async () => {
    const { schemas } = (await describeApi({ books: BookViewSet })).components
    expect(schemas['BookOutput']).toEqual({
      type: 'object',
      properties: {
        id: { type: 'integer', format: 'int32' },
        title: { type: 'string', title: 'Title', description: 'As on the cover.' },
        price: { type: 'string', format: 'decimal' },
        rating: { type: ['number', 'null'], format: 'double' },
        big: { anyOf: [...INT8, { type: 'null' }] },
        status: { type: 'string', enum: ['draft', 'open'] },
        mood: { type: ['string', 'null'], enum: ['calm', 'wild', null] },
        in_stock: { type: 'boolean' },
        published: { type: ['string', 'null'], format: 'date' },
        created: { type: 'string', format: 'date-time' },
        uid: { type: 'string', format: 'uuid' },
        marks: { type: ['array', 'null'], items: { type: ['integer', 'null'], format: 'int32' } },
        meta: {},
        author_id: { anyOf: [...INT8, { type: 'null' }] },
        tags: { type: 'array', items: { type: 'integer', format: 'int32' } },
        author: { anyOf: [{ $ref: '#/components/schemas/AuthorOutput' }, { type: 'null' }] },
        country: { type: ['string', 'null'] },
        label: { type: 'string', examples: ['One (1)'] },
        length: {},
      },
      required: [
        ...['id', 'title', 'price', 'rating', 'big', 'status', 'mood', 'in_stock', 'published', 'created', 'uid'],
        ...['marks', 'meta', 'author_id', 'tags', 'author', 'country', 'label', 'length'],
      ],
    })
    expect(schemas['BookInput']).toEqual({
      type: 'object',
      properties: {
        title: { type: 'string', minLength: 2, maxLength: 255, title: 'Title', description: 'As on the cover.' },
        price: { type: 'string', format: 'decimal' },
        rating: { type: ['number', 'null'], format: 'double', minimum: 0, maximum: 5 },
        big: { anyOf: [...TAKEN_INT8, { type: 'null' }] },
        status: { type: 'string', enum: ['draft', 'open'], default: 'draft' },
        mood: { type: ['string', 'null'], enum: ['calm', 'wild', null] },
        in_stock: { type: 'boolean' },
        published: { type: ['string', 'null'], format: 'date' },
        uid: { type: 'string', format: 'uuid' },
        marks: { type: ['array', 'null'], items: { type: ['integer', 'null'], format: 'int32' }, maxItems: 1000 },
        meta: {},
        secret: { type: ['string', 'null'] },
        author_id: { anyOf: [...TAKEN_INT8, { type: 'null' }] },
        tags: { type: 'array', items: { type: 'integer', format: 'int32' } },
      },
      required: ['title', 'price'],
    })
    const { required: _, ...patch } = structuredClone(schemas['BookInput']) as any
    // what is left out stays as it is
    delete patch.properties.status.default
    expect(schemas['BookPatch']).toEqual(patch)
    expect(schemas['AuthorOutput']).toEqual({
      type: 'object',
      properties: {
        id: { anyOf: INT8 },
        name: { type: 'string' },
        country_id: { type: 'integer', format: 'int32' },
      },
      required: ['id', 'name', 'country_id'],
    })
  })

  it('[A2] know nothing of hidden fields', async () => {
    expect(JSON.stringify(await describeApi({ books: BookViewSet }))).not.toMatch(/owner_id/)
  })

  it('nest what can be written, partially for PATCH', async () => {
    class AuthorInput extends ModelSerializer<Author> {
      static override model = Author
      static override fields = ['id', 'name']
      static override declaredFields: DeclaredFields = { country: new NestedSerializer(CountrySerializer) }
    }
    class NestedBook extends ModelSerializer<Book> {
      static override model = Book
      static override fields = ['id', 'title']
      static override declaredFields: DeclaredFields = {
        author: new NestedSerializer(AuthorInput, { allowNull: true }),
        tags: new NestedSerializer(TagSerializer, { many: true, maxItems: 7, required: false }),
      }
    }
    class View extends BookViewSet {
      static override serializerClass = NestedBook
    }
    const document = await describeApi({ books: View })
    const { schemas } = document.components
    expect(schemas['NestedBookInput']).toMatchObject({
      properties: {
        author: { anyOf: [{ $ref: '#/components/schemas/AuthorInput' }, { type: 'null' }] },
        tags: {
          type: 'array',
          items: {
            allOf: [
              { $ref: '#/components/schemas/TagInput' },
              // by which an element names the tag that it changes
              { type: 'object', properties: { id: { type: 'integer', format: 'int32' } } },
            ],
          },
          maxItems: 7,
        },
      },
      required: ['title', 'author'],
    })
    expect(schemas['NestedBookPatch']).toMatchObject({
      properties: { author: { anyOf: [{ $ref: '#/components/schemas/AuthorInputPatch' }, { type: 'null' }] } },
    })
    expect(schemas['AuthorInput']).toMatchObject({
      properties: { country: { $ref: '#/components/schemas/CountryInput' } },
    })
    expect(schemas['AuthorInputOutput']).toMatchObject({
      properties: { country: { $ref: '#/components/schemas/CountryOutput' } },
    })
    expect(operationOf(document, '/api/books/{id}', 'put').responses).toHaveProperty('409')
  })

  it('name objects of nested lists as the server does: by the first of two fields that show the key', async () => {
    class TwiceTag extends TagSerializer {
      static override fields = ['id', 'number', 'name']
      static override declaredFields: DeclaredFields = { number: new IntegerField({ source: 'id', readOnly: true }) }
    }
    class TwiceBook extends ModelSerializer<Book> {
      static override model = Book
      static override fields = ['id', 'title']
      static override declaredFields: DeclaredFields = { tags: new NestedSerializer(TwiceTag, { many: true }) }
    }
    class View extends BookViewSet {
      static override serializerClass = TwiceBook
    }
    const { schemas } = (await describeApi({ books: View })).components
    const { tags } = (schemas['TwiceBookInput'] as any).properties
    expect(Object.keys(tags.items.allOf[1].properties)).toEqual(['id'])
  })

  it('have the default of a related object where clients know it by what is stored', async () => {
    class Coded extends IDMixin(Model) {
      static override tableName = 'countries'
      static override idConfig: IDConfig = { mode: 'encoded', alphabet: 'abcdef' }
    }
    const fields = [
      new PrimaryKeyRelatedField({ queryset: Country, default: 1 }),
      new SlugRelatedField({ queryset: Country, slugField: 'code', default: 1 }),
      new PrimaryKeyRelatedField({ queryset: Coded, default: 1 }),
    ]
    const shown = fields.map(async (country, index) => {
      class Origin extends Serializer {
        static override schemaName = `Origin${index}`
        static override declaredFields: DeclaredFields = { country }
      }
      class View extends BookViewSet {
        @action({ methods: ['POST'], inputSerializer: Origin })
        async move() {}
      }
      const { schemas } = (await describeApi({ books: View })).components
      return (schemas[`Origin${index}Input`] as any).properties.country.default
    })
    expect(await Promise.all(shown)).toEqual([1, undefined, undefined])
  })

  it('show with depth what the related model has', async () => {
    class Deep extends ModelSerializer<Book> {
      static override model = Book
      static override fields = ['id', 'author_id']
      static override depth = 2
    }
    class View extends BookViewSet {
      static override serializerClass = Deep
    }
    const { schemas } = (await describeApi({ books: View })).components
    expect(schemas['DeepOutput']).toMatchObject({
      properties: {
        author: { anyOf: [{ $ref: '#/components/schemas/DeepAuthorOutput' }, { type: 'null' }] },
      },
    })
    expect(schemas['DeepAuthorOutput']).toMatchObject({
      properties: { country: { $ref: '#/components/schemas/DeepAuthorCountryOutput' } },
    })
  })

  it('show null for an object that a key leads to, where no foreign key of the database keeps it there', async () => {
    await database.knex.raw('create table notes (id int primary key, writer_id bigint not null)')
    onTestFinished(() => database.knex.schema.dropTable('notes'))
    await database.knex('notes').insert({ id: 1, writer_id: 99 })
    const join = { from: 'notes.writer_id', to: 'authors.id' }
    class Note extends Model {
      static override tableName = 'notes'
      static override relationMappings = {
        writer: { relation: Model.BelongsToOneRelation, modelClass: Author, join },
      }
    }
    class NoteSerializer extends ModelSerializer<Note> {
      static override model = Note
      static override fields = ['id', 'writer_id']
      static override declaredFields: DeclaredFields = {
        writer: new NestedSerializer(AuthorSerializer, { readOnly: true }),
        writer_name: new SlugRelatedField({ source: 'writer', slugField: 'name', readOnly: true }),
        writer_key: new PrimaryKeyRelatedField({ source: 'writer', readOnly: true }),
      }
    }
    class NoteViewSet extends ModelViewSet<Note> {
      static override model = Note
      static override serializerClass = NoteSerializer
    }
    const api = await prepared({ notes: NoteViewSet })
    const { json } = await (await serveApp(api.routes())).get('/api/notes/1')
    expect(json).toEqual({ id: 1, writer_id: 99, writer: null, writer_name: null, writer_key: 99 })
    expect(api.getSchema().components.schemas['NoteOutput']).toMatchObject({
      properties: {
        writer_id: { anyOf: INT8 },
        writer: { anyOf: [{ $ref: '#/components/schemas/AuthorOutput' }, { type: 'null' }] },
        writer_name: { type: ['string', 'null'] },
        writer_key: { anyOf: INT8 },
      },
    })
  })

  it.each([
    ['no null where a foreign key of more columns keeps it there', 'notes', 'tenant int not null', false],
    ['null where one of more columns does that may be null', 'notes', 'tenant int', true],
    ['null where that of one partition keeps it there', 'notes_1', 'tenant int not null', true],
  ])('show %s', async (_what, table, tenant, isNull) => {
    await database.knex.raw(`
      create table writers (tenant int, id int unique, primary key (tenant, id));
      create table notes (id int primary key, ${tenant}, writer_id int not null) partition by list (id);
      create table notes_1 partition of notes for values in (1);
      create table notes_2 partition of notes default;
      alter table ${table} add foreign key (tenant, writer_id) references writers;
    `)
    onTestFinished(() => database.knex.schema.dropTable('notes').dropTable('writers'))
    const Writer = tableOf('writers')
    const Note = tableOf('notes', {
      relationMappings: {
        writer: {
          relation: Model.BelongsToOneRelation,
          modelClass: Writer,
          join: { from: 'notes.writer_id', to: 'writers.id' },
        },
      },
    })
    for (const model of [Writer, Note]) model.knex(database.knex)
    class WriterSerializer extends ModelSerializer<Model> {
      static override model = Writer
      static override fields = ['id']
    }
    class NoteSerializer extends ModelSerializer<Model> {
      static override model = Note
      static override fields = ['id']
      static override declaredFields: DeclaredFields = {
        writer: new NestedSerializer(WriterSerializer, { readOnly: true }),
      }
    }
    class NoteViewSet extends ReadOnlyModelViewSet<Model> {
      static override model = Note
      static override serializerClass = NoteSerializer
    }
    const { schemas } = (await prepared({ notes: NoteViewSet })).getSchema().components
    const writer = { $ref: '#/components/schemas/WriterOutput' }
    expect(schemas['NoteOutput']).toMatchObject({
      properties: { writer: isNull ? { anyOf: [writer, { type: 'null' }] } : writer },
    })
  })

  it('have the types of keys of related objects', async () => {
    class Keys extends ModelSerializer<Author> {
      static override model = Author
      static override fields = ['id']
      static override declaredFields: DeclaredFields = {
        country: new SlugRelatedField({ queryset: Country, slugField: 'code' }),
        books: new PrimaryKeyRelatedField({ queryset: Book, many: true, readOnly: true }),
      }
    }
    class View extends BookViewSet {
      static override model = Author as never
      static override serializerClass = Keys as never
      static override filterBackends = []
    }
    const { schemas } = (await describeApi({ authors: View })).components
    expect(schemas['KeysOutput']?.['properties']).toEqual({
      id: { anyOf: INT8 },
      country: { type: 'string' },
      books: { type: 'array', items: { type: 'integer', format: 'int32' } },
    })
  })

  it('have the name that the class gives them', async () => {
    class Named extends BookSerializer {
      static override schemaName = 'Volume'
    }
    class Heir extends Named {}
    class View extends BookViewSet {
      static override serializerClass = Named
    }
    class Other extends BookViewSet {
      static override serializerClass = Heir
    }
    const api = new APIRouter({ prefix: '/api' }).register('books', View).register('heirs', Other, 'heir')
    await api.prepare()
    const names = Object.keys(api.getSchema().components.schemas)
    expect(names).toEqual(expect.arrayContaining(['VolumeOutput', 'VolumePage', 'HeirOutput', 'HeirPage']))
  })

  it('[I23] must not share a name', async () => {
    const { Twin } = {
      Twin: class extends ModelSerializer<Book> {
        static override model = Book
        static override fields = ['id']
        static override schemaName = 'Book'
      },
    }
    class View extends BookViewSet {
      static override serializerClass = Twin
    }
    const api = new APIRouter().register('books', BookViewSet).register('twins', View, 'twin')
    await api.prepare()
    expect(() => api.getSchema()).toThrow(
      new ConfigurationError(
        'OpenAPI: Twin (id) and another serializer are called "BookOutput"; set static schemaName of one serializer',
      ),
    )
  })

  it('share one where they say the same', async () => {
    const inPlace = () => {
      const author = new NestedSerializer(modelSerializer(Author, { fields: ['id', 'name'] }), { readOnly: true })
      return modelSerializer(Book, { fields: ['id', 'title', 'author'], declaredFields: { author } })
    }
    const api = new APIRouter()
      .register('books', modelViewSet(Book, { serializerClass: inPlace() }))
      .register('others', modelViewSet(Book, { serializerClass: inPlace() }), 'other')
    await api.prepare()
    const { components, paths } = api.getSchema()
    const ofBooks = Object.keys(components.schemas).filter((name) => name.startsWith('Book') && name.endsWith('put'))
    expect(ofBooks.sort()).toEqual(['BookInput', 'BookOutput'])
    expect(paths['/others/{id}']?.['get']).toMatchObject({
      responses: { 200: { content: { 'application/json': { schema: { $ref: '#/components/schemas/BookOutput' } } } } },
    })
  })

  it.each([
    ['Wiki', 'WikiInput'],
    ['WikiInput', 'Wiki'],
    ['école', 'Å'],
  ])('get names of their own in the document: %s beside %s', async (...names) => {
    const api = new APIRouter()
    for (const name of names) {
      const made = class extends ModelSerializer<Book> {
        static override model = Book
        static override fields = ['id', 'title']
      }
      Object.defineProperty(made, 'name', { value: `${name}Serializer` })
      class View extends BookViewSet {
        static override serializerClass: any = made
      }
      api.register(snakeCase(name), View, snakeCase(name))
    }
    await api.prepare()
    const { schemas } = api.getSchema().components
    const own = Object.keys(schemas).filter((name) => !/Err/.test(name))
    expect(own).toHaveLength(8)
    for (const name of own) expect(name).toMatch(/^[\w.-]+$/)
  })

  it('follow the serializer that an action chooses, and the version that is asked for', async () => {
    class Short extends Serializer {
      static override declaredFields: DeclaredFields = { title: new StringField() }
    }
    class View extends BookViewSet {
      override getSerializerClass(): any {
        if (this.ctx.state['version'] === '2') return AuthorSerializer
        return this.action === 'list' ? Short : BookSerializer
      }
    }
    const api = await prepared({ books: View })
    const names = (options = {}) =>
      Object.keys(api.getSchema(options).components.schemas).filter((name) => !/Err/.test(name))
    expect(names()).toEqual([...['AuthorOutput', 'BookInput', 'BookOutput', 'BookPatch', 'ShortOutput', 'ShortPage']])
    expect(names({ apiVersion: '2' })).toEqual(['AuthorInput', 'AuthorOutput', 'AuthorPage', 'AuthorPatch'])
  })

  it('are those of the class where only a request can tell', async () => {
    class View extends BookViewSet {
      override getSerializerClass(): any {
        if (this.ctx.state['user'].isStaff) return AuthorSerializer
        return BookSerializer
      }
    }
    expect((await describeApi({ books: View })).components.schemas).toHaveProperty('BookOutput')
  })
})

describe('the whole resource', () => {
  class PublishInput extends Serializer {
    static override declaredFields = { published_on: new DateField() }
  }
  class Books extends BulkModelViewSet<Book> {
    static override model = Book
    static override serializerClass = BookSerializer
    static override maxBulkSize = 7
    static override expandable = { tags: TagSerializer }

    async publish(data: { published_on: string }) {
      const book = await this.getObject()
      await book.$query(this.trx).patch({ published: data.published_on } as never)
      return { title: book.title }
    }
    async recent() {
      return this.getList()
    }
    async mark() {
      if (this.ctx.method === 'DELETE') throw new Conflict('Marked for good.')
    }
  }
  class Titles extends Serializer {
    static override declaredFields: DeclaredFields = { title: new StringField() }
  }
  action({
    methods: ['POST'],
    detail: true,
    inputSerializer: PublishInput,
    outputSerializer: Titles,
    description: 'Gives the book to its readers.',
  })(Books.prototype.publish)
  action({ methods: ['GET'] })(Books.prototype.recent)
  action({ methods: ['PUT', 'DELETE'], detail: true, responses: { 409: 'It is marked for good.' } })(
    Books.prototype.mark,
  )

  class Tags extends NestedViewSetMixin(BulkModelViewSet<Tagging>) {
    static override model = Tagging
    static override serializerClass = TaggingSerializer
    static override parentLookupField = 'book_id'
  }

  async function whole(): Promise<APIRouter> {
    Tagging.knex(database.knex)
    const api = new APIRouter({ prefix: '/api' }).register('books', Books)
    new NestedRouter(api, 'books', { lookup: 'book_id' }).register('taggings', Tags, 'tagging')
    await api.prepare()
    return api
  }

  it('has an operation for each action, bulk and nested route', async () => {
    const document = (await whole()).getSchema()
    const operations = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, { operationId, summary }]) => `${method} ${path} ${operationId}: ${summary}`),
    )
    expect(operations).toEqual([
      'get /api api_root: Show where each resource is',
      'get /api/books book_list: List books',
      'post /api/books book_create: Create a book',
      'post /api/books/bulk book_bulk_create: Create several books',
      'patch /api/books/bulk book_bulk_update: Change several books',
      'delete /api/books/bulk book_bulk_destroy: Delete several books',
      'get /api/books/{id} book_retrieve: Show a book',
      'put /api/books/{id} book_update: Replace a book',
      'patch /api/books/{id} book_partial_update: Change a book',
      'delete /api/books/{id} book_destroy: Delete a book',
      'post /api/books/{id}/publish book_publish: Publish',
      'get /api/books/recent book_recent: Recent',
      'put /api/books/{id}/mark book_mark_put: Mark',
      'delete /api/books/{id}/mark book_mark_delete: Mark',
      'get /api/books/{book_id}/taggings books_tagging_list: List taggings',
      'post /api/books/{book_id}/taggings books_tagging_create: Create a tagging',
      'post /api/books/{book_id}/taggings/bulk books_tagging_bulk_create: Create several taggings',
      'patch /api/books/{book_id}/taggings/bulk books_tagging_bulk_update: Change several taggings',
      'delete /api/books/{book_id}/taggings/bulk books_tagging_bulk_destroy: Delete several taggings',
      'get /api/books/{book_id}/taggings/{id} books_tagging_retrieve: Show a tagging',
      'put /api/books/{book_id}/taggings/{id} books_tagging_update: Replace a tagging',
      'patch /api/books/{book_id}/taggings/{id} books_tagging_partial_update: Change a tagging',
      'delete /api/books/{book_id}/taggings/{id} books_tagging_destroy: Delete a tagging',
    ])
    expect(document.tags.map(({ name }) => name)).toEqual(['api', 'book', 'tagging'])
  })

  it('[P12] says of an action whether it answers an object or a list', async () => {
    class Lists extends Books {
      async titles() {
        return [{ title: 'x' }]
      }
    }
    action({ methods: ['GET'], outputSerializer: [Titles] })(Lists.prototype.titles)
    const api = new APIRouter({ prefix: '/api' }).register('books', Lists)
    await api.prepare()
    const items = { $ref: '#/components/schemas/TitlesOutput' }
    expect(operationOf(api.getSchema(), '/api/books/titles', 'get').responses['200']).toMatchObject({
      content: { 'application/json': { schema: { type: 'array', items } } },
    })
  })

  it.skipIf(runsAsRole())('says of actions what they take and answer', async () => {
    const document = (await whole()).getSchema()
    expect(operationOf(document, '/api/books/{id}/publish', 'post')).toMatchObject({
      description: 'Gives the book to its readers.',
      requestBody: {
        content: { 'application/json': { schema: { $ref: '#/components/schemas/PublishInput' } } },
      },
      responses: {
        200: { content: { 'application/json': { schema: { $ref: '#/components/schemas/TitlesOutput' } } } },
        400: {},
        404: {},
        415: {},
      },
    })
    expect(document.components.schemas['PublishInput']).toEqual({
      type: 'object',
      properties: { published_on: { type: 'string', format: 'date' } },
      required: ['published_on'],
    })
    const mark = operationOf(document, '/api/books/{id}/mark', 'delete').responses
    expect(Object.keys(mark)).toEqual(['200', '204', '404', '409', '412', '503'])
    expect(mark['409']).toMatchObject({ description: 'It is marked for good.' })
  })

  it('says of bulk routes what a list may hold', async () => {
    const document = (await whole()).getSchema()
    const body = (method: string) =>
      operationOf(document, '/api/books/bulk', method).requestBody?.content['application/json']?.schema
    expect(body('post')).toEqual({ type: 'array', items: { $ref: '#/components/schemas/BookInput' }, maxItems: 7 })
    const key = { type: 'integer', format: 'int32' }
    const keyed = { type: 'object', properties: { id: key }, required: ['id'] }
    expect(body('patch')).toEqual({
      type: 'array',
      items: { allOf: [{ $ref: '#/components/schemas/BookPatch' }, keyed] },
      maxItems: 7,
    })
    expect(body('delete')).toEqual({ type: 'array', items: { anyOf: [key, keyed] }, maxItems: 7 })
    const { responses } = operationOf(document, '/api/books/bulk', 'delete')
    expect(responses['200']).toMatchObject({
      content: {
        'application/json': {
          schema: { type: 'object', properties: { deleted: { type: 'array', items: key } }, required: ['deleted'] },
        },
      },
    })
    expect(responses['400']).toEqual({ $ref: '#/components/responses/BulkBadRequest' })
    expect(document.components.responses['BulkBadRequest']?.content).toMatchObject({
      'application/json': { schema: { $ref: '#/components/schemas/BulkValidationError' } },
    })
  })

  it('says of nested routes which parent they need', async () => {
    const document = (await whole()).getSchema()
    const { parameters, responses } = operationOf(document, '/api/books/{book_id}/taggings/{id}')
    expect(parameters?.slice(0, 2)).toEqual([
      {
        name: 'book_id',
        in: 'path',
        required: true,
        description: 'Names the book.',
        schema: { type: 'integer' },
      },
      {
        name: 'id',
        in: 'path',
        required: true,
        description: 'Names the tagging.',
        schema: { type: 'integer' },
      },
    ])
    expect(responses).toHaveProperty('404')
    expect(operationOf(document, '/api/books/{book_id}/taggings').responses).toHaveProperty('404')
  })

  it('[P12] is right in every answer', async () => {
    const api = await whole()
    const { send } = await serveApp(api.routes())
    const seen: number[] = []
    const ask = async (method: string, path: string, body?: unknown) => {
      seen.push((await send(method, path, body)).status)
    }
    const book = { title: 'One', price: '1.00' }
    await database.knex('genres').insert([{ name: 'a' }, { name: 'b' }])
    await ask('POST', '/api/books/bulk?fields=title&expand=tags', [book, { ...book, tags: [1] }])
    await ask('PATCH', '/api/books/bulk?fields=id,title', [{ id: 1, title: 'New' }])
    await ask('PATCH', '/api/books/bulk', [{ id: 2, tags: [2] }])
    await ask('POST', '/api/books/1/publish', { published_on: '2026-03-28' })
    await ask('GET', '/api/books/recent')
    await ask('PUT', '/api/books/1/mark')
    await ask('POST', '/api/books/1/taggings', { tag_id: 1 })
    await ask('GET', '/api/books/1/taggings?fields=tag_id')
    await ask('POST', '/api/books/1/taggings/bulk', [{ tag_id: 2 }])
    expect(seen.splice(0)).toEqual([201, 200, 200, 200, 200, 204, 201, 200, 201])
    await ask('POST', '/api/books/bulk', [book, {}])
    await ask('POST', '/api/books/bulk', {})
    await ask(
      'POST',
      '/api/books/bulk',
      Array.from({ length: 8 }, () => book),
    )
    await ask('PATCH', '/api/books/bulk', [{ id: 99 }])
    await ask('DELETE', '/api/books/bulk', [99])
    await ask('POST', '/api/books/1/publish', {})
    await ask('DELETE', '/api/books/1/mark')
    await ask('GET', '/api/books/99/taggings')
    await ask('GET', '/api/books/2/taggings/1')
    await ask('OPTIONS', '/api/books/1/publish')
    await ask('GET', '/api/books/bulk')
    await ask('DELETE', '/api/books/1')
    expect(seen.splice(0)).toEqual([400, 400, 400, 400, 400, 400, 409, 404, 404, 200, 405, 409])
    await ask('DELETE', '/api/books/1/taggings/bulk', [1, { id: 2 }])
    await ask('DELETE', '/api/books/bulk', [{ id: 1 }])
    expect(seen).toEqual([200, 200])
  })

  it('passes redocly lint', { timeout: 60_000 }, async () => {
    const license = { name: 'MIT', identifier: 'MIT' }
    expect(await lint((await whole()).getSchema({ license }))).toEqual([])
  })
})

describe('external ids', () => {
  class Note extends IDMixin(Model) {
    static override tableName = 'genres'
    static override idConfig: IDConfig = {
      mode: 'signed',
      alphabet: 'mn7swcxDfgkGrBtv4qj6phd3b952CzF8',
      hmacKeys: ['current-hmac-key-0123456789'],
      includeUser: true,
    }
  }
  class NoteSerializer extends ModelSerializer<Note> {
    static override model = Note
    static override fields = '__all__'
  }
  class Notes extends ModelViewSet<Note> {
    static override model = Note
    static override serializerClass = NoteSerializer
  }

  it('[E14] are texts wherever the key would stand, and ask for a user where each has others', async () => {
    Note.knex(database.knex)
    const document = await describeApi({ notes: Notes })
    expect(document.components.schemas['NoteOutput']?.['properties']).toMatchObject({ id: { type: 'string' } })
    const retrieve = operationOf(document, '/api/notes/{id}')
    expect(retrieve.parameters?.[0]).toMatchObject({ schema: { type: 'string' } })
    expect(Object.keys(operationOf(document, '/api/notes').responses)).toContain('401')
  })
})
