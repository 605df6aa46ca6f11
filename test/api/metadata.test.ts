/** OPTIONS: what a path takes (wire format, section 12). */
import Router from '@koa/router'
import knex from 'knex'
import { afterEach, describe, expect, it } from 'vitest'
import {
  APIRouter,
  APIView,
  action,
  BaseAuthentication,
  BaseMetadata,
  BasePermission,
  BaseRenderer,
  BaseThrottle,
  BulkModelViewSet,
  ChoiceField,
  ConfigurationError,
  type Context,
  CurrentUserDefault,
  type DeclaredFields,
  type DescribedView,
  GenericAPIView,
  HiddenField,
  JSONField,
  ModelSerializer,
  ModelViewSet,
  MultipleChoiceField,
  NestedRouter,
  NestedSerializer,
  NestedViewSetMixin,
  type Permissions,
  PrimaryKeyRelatedField,
  ReadOnlyModelViewSet,
  Serializer,
  SerializerField,
  SerializerMethodField,
  SlugRelatedField,
  StringField,
  Throttled,
} from '../../lib/index.js'
import { RetrieveAPIView, UpdateAPIView } from '../../lib/views/index.js'
import { type Client, serveApp, serving } from '../support/client.js'
import { countQueries } from '../support/database.js'
import { Author, Book, database, useLibrary } from '../support/library.js'
import { connectTo } from '../support/server.js'

useLibrary({
  sql: `
    create type mood as enum ('calm', 'wild');
    alter table authors alter id type bigint;
    alter table books alter title type varchar(255), alter price set not null, alter author_id type bigint,
      add status text not null default 'draft', add owner_id int, add mood mood, add weight float8,
      add in_stock boolean not null default true, add published date, add uid uuid, add marks int[], add secret text;`,
})

let client: Client | undefined

afterEach(async () => {
  await client?.close()
  client = undefined
})

class AuthorSerializer extends ModelSerializer<Author> {
  static override model = Author
  static override fields = '__all__'
}

/** The book of the wire format. */
class BookSerializer extends ModelSerializer<Book> {
  static override model = Book
  static override fields: readonly string[] | string = ['id', 'title', 'price', 'status']
  static override extraKwargs = { title: { minLength: 2 }, price: { minValue: 0 } }
  static override declaredFields: DeclaredFields = {
    status: new ChoiceField({ choices: ['draft', 'open'], required: false }),
  }
}

class BookViewSet extends ModelViewSet<Book> {
  static override model = Book
  static override serializerClass: typeof BookSerializer | null = BookSerializer
}

async function serve(viewSet: typeof APIView): Promise<Client> {
  const api = new APIRouter({ prefix: '/api' }).register('books', viewSet, 'book')
  await api.prepare()
  return serveApp(api.routes())
}

const options = async (path: string, viewSet: typeof APIView = BookViewSet) =>
  (await serve(viewSet)).send('OPTIONS', path)

describe('the metadata of a path', () => {
  it('is byte for byte that of the wire format', async () => {
    const { status, headers, text } = await options('/api/books')
    expect(status).toBe(200)
    expect(headers).toMatchObject({
      allow: 'GET, POST, HEAD, OPTIONS',
      'content-type': 'application/json; charset=utf-8',
    })
    expect(text).toBe(
      '{"name":"BookViewSet","description":"","allowed_methods":["get","post","head","options"],"actions":{"fields":{' +
        '"id":{"type":"integer","required":false,"read_only":true},' +
        '"title":{"type":"string","required":true,"read_only":false,"min_length":2,"max_length":255},' +
        '"price":{"type":"string","required":true,"read_only":false,"min_value":0},' +
        '"status":{"type":"string","required":false,"read_only":false,"choices":["draft","open"]}}}}',
    )
  })

  it('names its own methods on a detail path', async () => {
    const { json } = await options('/api/books/1')
    expect(json.allowed_methods).toEqual(['get', 'put', 'patch', 'delete', 'head', 'options'])
    expect(Object.keys(json.actions.fields)).toEqual(['id', 'title', 'price', 'status'])
  })

  it('is JSON where the path itself answers with something else', async () => {
    class Picture extends BaseRenderer {
      readonly mediaType = 'image/png'
      readonly format = 'png'
      readonly contentType = 'image/png'
      render(data: unknown) {
        return (data as { pixels: Buffer }).pixels
      }
    }
    class Pictured extends BookViewSet {
      @action({ methods: ['GET'], rendererClasses: [Picture] })
      async picture() {
        return { pixels: Buffer.from('pixels') }
      }
    }
    const { status, headers, json } = await options('/api/books/picture', Pictured)
    expect([status, headers['content-type'], json.allowed_methods]).toEqual([
      200,
      'application/json; charset=utf-8',
      ['get', 'head', 'options'],
    ])
  })

  it('has the types of the wire format for each kind of column', async () => {
    class AllSerializer extends ModelSerializer<Book> {
      static override model = Book
      static override fields = '__all__'
    }
    class All extends BookViewSet {
      static override serializerClass = AllSerializer as never
    }
    const { json } = await options('/api/books', All)
    const types = Object.entries<{ type: string }>(json.actions.fields).map(([name, { type }]) => [name, type])
    expect(Object.fromEntries(types)).toEqual({
      id: 'integer',
      title: 'string',
      isbn: 'string',
      n: 'integer',
      big: 'integer',
      price: 'string',
      status: 'string',
      author_id: 'integer',
      owner_id: 'integer',
      mood: 'string',
      weight: 'number',
      in_stock: 'boolean',
      published: 'string',
      uid: 'string',
      marks: 'array',
      secret: 'string',
    })
    expect(json.actions.fields.mood.choices).toEqual(['calm', 'wild'])
  })

  it('has the types that values have in the document, where a field says nothing of its own', async () => {
    class Plain extends BookSerializer {
      static override fields = ['title', 'price']
      static override declaredFields: DeclaredFields = {
        ...BookSerializer.declaredFields,
        available: new SerializerField({ source: 'in_stock', readOnly: true }),
        writer: new PrimaryKeyRelatedField({ source: 'author', readOnly: true }),
      }
    }
    class View extends BookViewSet {
      static override serializerClass = Plain as never
    }
    const { fields } = (await options('/api/books', View)).json.actions
    expect(fields).toMatchObject({ available: { type: 'boolean' }, writer: { type: 'integer' } })
  })

  it('shows labels, help and choices where they are declared, and write-only fields', async () => {
    class Rich extends BookSerializer {
      static override fields = ['title']
      static override extraKwargs = { title: { label: 'Title', helpText: 'As on the cover.', maxLength: 9 } } as never
      static override declaredFields: DeclaredFields = {
        ...BookSerializer.declaredFields,
        tags: new MultipleChoiceField({ choices: ['a', 'b'], readOnly: true, source: 'marks' }),
        secret: new StringField({ writeOnly: true, required: false }),
        meta: new JSONField({ readOnly: true, source: 'marks' }),
        label: new SerializerMethodField(),
        author: new NestedSerializer(AuthorSerializer, { readOnly: true }),
      }
      getLabel() {
        return ''
      }
    }
    class View extends BookViewSet {
      static override serializerClass = Rich as never
    }
    const { fields } = (await options('/api/books', View)).json.actions
    expect(fields).toEqual({
      title: {
        type: 'string',
        required: true,
        read_only: false,
        label: 'Title',
        help_text: 'As on the cover.',
        max_length: 9,
      },
      status: { type: 'string', required: false, read_only: false, choices: ['draft', 'open'] },
      tags: { type: 'array', required: false, read_only: true, choices: ['a', 'b'] },
      secret: { type: 'string', required: false, read_only: false },
      meta: { type: 'string', required: false, read_only: true },
      label: { type: 'string', required: false, read_only: true },
      author: { type: 'object', required: false, read_only: true },
    })
  })

  it('[E16] shows no choices of relations and no hidden fields', async () => {
    await database.knex('authors').insert({ name: 'Ada' })
    class Related extends BookSerializer {
      static override fields = ['title', 'price', 'author_id']
      static override declaredFields: DeclaredFields = {
        owner_id: new HiddenField({ default: new CurrentUserDefault() }),
        author_id: new PrimaryKeyRelatedField({ queryset: Author }),
        writer: new SlugRelatedField({ queryset: () => Author.query(), slugField: 'name', source: 'author' }),
      }
    }
    class View extends BookViewSet {
      static override serializerClass = Related as never
    }
    const { text, json } = await options('/api/books', View)
    expect(text).not.toMatch(/Ada|owner_id/)
    expect(json.actions.fields.author_id).toEqual({ type: 'integer', required: true, read_only: false })
    expect(json.actions.fields.writer).toEqual({ type: 'string', required: true, read_only: false })
  })

  it('has no fields where the path takes no object, or the view has no serializer', async () => {
    class Reader extends ReadOnlyModelViewSet<Book> {
      static override model = Book
      static override serializerClass = BookSerializer
    }
    class Ping extends APIView {
      static override description = 'Answers.'
      post() {
        return 'pong'
      }
    }
    class Bare extends GenericAPIView<Book> {
      static override model = Book
      post() {
        return 'made'
      }
    }
    const bare = { name: 'Reader', description: '', allowed_methods: ['get', 'head', 'options'] }
    expect((await options('/api/books', Reader)).json).toEqual(bare)
    expect((await options('/api/books/1', Reader)).json).toEqual(bare)
    await client?.close()
    const allowed_methods = ['post', 'options']
    client = await serving(Ping.asView())
    expect((await client.send('OPTIONS', '/')).json).toEqual({ name: 'Ping', description: 'Answers.', allowed_methods })
    await client.close()
    client = await serving(Bare.asView())
    expect((await client.send('OPTIONS', '/')).json).toEqual({ name: 'Bare', description: '', allowed_methods })
  })

  it('is of the serializer that the action which takes the object has', async () => {
    class TitleInput extends Serializer {
      static override declaredFields = { title: new StringField() }
    }
    class ByAction extends BookViewSet {
      override getSerializerClass() {
        return this.action === 'create' ? TitleInput : BookSerializer
      }
    }
    const { send } = await serve(ByAction)
    expect(Object.keys((await send('OPTIONS', '/api/books')).json.actions.fields)).toEqual(['title'])
    expect(Object.keys((await send('OPTIONS', '/api/books/1')).json.actions.fields)).toEqual([
      ...['id', 'title', 'price', 'status'],
    ])
  })

  it('is of what an action takes, on its path and on nested and bulk ones', async () => {
    class RenameInput extends Serializer {
      static override declaredFields = { title: new StringField({ maxLength: 5 }) }
    }
    class Books extends BulkModelViewSet<Book> {
      static override model = Book
      static override serializerClass = BookSerializer
      async rename() {
        return 'renamed'
      }
      async recent() {
        return []
      }
    }
    action({ methods: ['POST'], detail: true, inputSerializer: RenameInput })(Books.prototype.rename as never)
    action({ methods: ['GET'] })(Books.prototype.recent)
    class Parts extends NestedViewSetMixin(ModelViewSet<Book>) {
      static override model = Book
      static override serializerClass = BookSerializer
      static override parentLookupField = 'owner_id'
    }
    const api = new APIRouter({ prefix: '/api' }).register('books', Books)
    new NestedRouter(api, 'books', { lookup: 'book_id' }).register('parts', Parts, 'part')
    await api.prepare()
    client = await serving(api.routes())
    const { send } = client
    const metadata = async (path: string) => (await send('OPTIONS', path)).json
    expect(await metadata('/api/books/1/rename')).toEqual({
      name: 'Books',
      description: '',
      allowed_methods: ['post', 'options'],
      actions: { fields: { title: { type: 'string', required: true, read_only: false, max_length: 5 } } },
    })
    expect(await metadata('/api/books/recent')).not.toHaveProperty('actions')
    expect(Object.keys((await metadata('/api/books/bulk')).actions.fields)).toEqual(['id', 'title', 'price', 'status'])
    expect((await metadata('/api/books/bulk')).allowed_methods).toEqual(['post', 'patch', 'delete', 'options'])
    expect((await metadata('/api/books/1/parts')).name).toBe('Parts')
  })

  it('is there on generic views, with their own methods', async () => {
    class Detail extends RetrieveAPIView<Book> {
      static override model = Book
      static override serializerClass = BookSerializer
    }
    class Change extends UpdateAPIView<Book> {
      static override model = Book
      static override serializerClass = BookSerializer
    }
    client = await serving(Detail.asView())
    expect((await client.send('OPTIONS', '/')).json).toEqual({
      name: 'Detail',
      description: '',
      allowed_methods: ['get', 'head', 'options'],
    })
    await client.close()
    client = await serving(Change.asView())
    const { json } = await client.send('OPTIONS', '/')
    expect(json.allowed_methods).toEqual(['put', 'patch', 'options'])
    expect(json.actions.fields.title).toMatchObject({ required: true })
  })
})

describe('metadata and the steps before it', () => {
  class Key extends BaseAuthentication {
    override readonly challenge = 'Key realm="api"'
    authenticate(ctx: Context) {
      return ctx.get('X-Key') === '' ? null : { user: { id: 1 } }
    }
  }
  class LoggedIn extends BasePermission {
    override hasPermission(ctx: Context) {
      return ctx.state['user'] !== undefined
    }
  }
  class Never extends BaseThrottle {
    check(ctx: Context) {
      if (ctx.get('X-Key') === 'busy') throw new Throttled(3)
    }
  }
  class Private extends BookViewSet {
    static override authenticationClasses = [Key]
    static override permissionClasses = [LoggedIn]
    static override throttleClasses = [Never]
  }

  it('[E16] runs after authentication, permissions and throttles', async () => {
    const { send } = await serve(Private)
    expect((await send('OPTIONS', '/api/books')).status).toBe(401)
    expect((await send('OPTIONS', '/api/books', undefined, { 'X-Key': 'busy' })).status).toBe(429)
    expect((await send('OPTIONS', '/api/books', undefined, { 'X-Key': 'a' })).status).toBe(200)
  })

  it('[E16] touches no database, and answers with the pool exhausted', async () => {
    const { send } = await serve(BookViewSet)
    expect(await countQueries(database.knex, () => send('OPTIONS', '/api/books'))).toEqual([])
    const small = knex({
      client: 'pg',
      connection: { ...database.connection } as object,
      pool: { min: 0, max: 1 },
      acquireConnectionTimeout: 500,
      log: { error() {} },
    })
    const held = await small.client.acquireConnection()
    try {
      Book.knex(small)
      expect((await send('GET', '/api/books')).status).toBe(503)
      expect((await send('OPTIONS', '/api/books')).status).toBe(200)
      expect((await send('OPTIONS', '/api/books/1')).status).toBe(200)
    } finally {
      Book.knex(database.knex)
      await small.client.releaseConnection(held)
      await small.destroy()
    }
  })
})

describe('a view without metadata', () => {
  class Silent extends BookViewSet {
    static override metadataClass = null
  }

  it('answers OPTIONS as any method that it does not take', async () => {
    const { port } = await serve(Silent)
    const send = (method: string, path: string) => connectTo(port).send({ method, path })
    for (const [path, allow] of [
      ['/api/books', 'GET, POST, HEAD'],
      ['/api/books/1', 'GET, PUT, PATCH, DELETE, HEAD'],
    ] as const) {
      const { status, json, headers } = await send('OPTIONS', path)
      expect([status, json, headers.allow]).toEqual([405, { detail: 'Method OPTIONS not allowed', status: 405 }, allow])
    }
    expect((await send('PATCH', '/api/books')).headers.allow).toBe('GET, POST, HEAD')
    expect((await send('GET', '/api/books')).status).toBe(200)
  })

  it("does so on an application's own router, too", async () => {
    const router = new Router()
    const api = new APIRouter().register('books', Silent)
    await api.prepare()
    api.mount(router)
    client = await serving(router.routes() as never, api.allowedMethods())
    const send = (method: string) => connectTo(client?.port ?? 0).send({ method, path: '/books' })
    expect((await send('OPTIONS')).headers.allow).toBe('GET, POST, HEAD')
    expect((await send('PUT')).headers.allow).toBe('GET, POST, HEAD')
  })
})

describe('[E16] the fields of what a path takes', () => {
  /** Passes where the header names the method that is asked about. */
  class Named extends BasePermission {
    override async hasPermission(ctx: Context) {
      return ctx.method === 'OPTIONS' || ctx.get('X-May').split(' ').includes(ctx.method)
    }
  }
  class Guarded extends BookViewSet {
    static override permissionClasses: Permissions = [Named]
  }
  class ShortSerializer extends ModelSerializer<Book> {
    static override model = Book
    static override fields = ['id', 'title']
  }
  class Choosing extends Guarded {
    override getSerializerClass() {
      return this.action === 'partialUpdate' ? ShortSerializer : BookSerializer
    }
  }

  it('are shown to whom they concern, and to nobody else', async () => {
    const { send } = await serve(Guarded)
    const described = async (path: string, may: string) => {
      const { status, json, headers } = await send('OPTIONS', path, undefined, { 'X-May': may })
      expect(status).toBe(200)
      expect(headers.allow).toBe(
        path.endsWith('1') ? 'GET, PUT, PATCH, DELETE, HEAD, OPTIONS' : 'GET, POST, HEAD, OPTIONS',
      )
      return json.actions !== undefined
    }
    expect(await described('/api/books', 'GET PUT PATCH DELETE')).toBe(false)
    expect(await described('/api/books', 'POST')).toBe(true)
    expect(await described('/api/books/1', 'GET POST DELETE')).toBe(false)
    expect(await described('/api/books/1', 'PATCH')).toBe(true)
    expect(await described('/api/books/1', 'PUT')).toBe(true)
  })

  it('are those of the action that the caller may use', async () => {
    const { send } = await serve(Choosing)
    const fields = async (may: string) => {
      const { json } = await send('OPTIONS', '/api/books/1', undefined, { 'X-May': may })
      return Object.keys(json.actions.fields as object)
    }
    expect(await fields('PUT PATCH')).toContain('price')
    expect(await fields('PATCH')).not.toContain('price')
  })

  it('ask the permissions of each action, not those of the first', async () => {
    class Closed extends BasePermission {
      override hasPermission(ctx: Context) {
        return ctx.method === 'OPTIONS'
      }
    }
    class Mixed extends BookViewSet {
      @action({ methods: ['POST'], urlPath: 'things', inputSerializer: ShortSerializer, permissionClasses: [Closed] })
      addThing() {}
      @action({ methods: ['PATCH'], urlPath: 'things', inputSerializer: ShortSerializer })
      changeThings() {}
    }
    const { send } = await serve(Mixed)
    const { json } = await send('OPTIONS', '/api/books/things')
    expect(Object.keys(json.actions.fields as object)).toEqual(['id', 'title'])
  })

  it('are an error where a permission fails', async () => {
    class Broken extends BasePermission {
      override hasPermission(ctx: Context): boolean {
        if (ctx.method === 'POST') throw new Error('broken')
        return true
      }
    }
    const { send } = await serve(
      class extends BookViewSet {
        static override permissionClasses: Permissions = [Broken]
      },
    )
    expect((await send('OPTIONS', '/api/books')).status).toBe(500)
  })
})

describe('an own metadata class', () => {
  class Terse extends BaseMetadata {
    override determineMetadata(ctx: Context, { name, input }: DescribedView) {
      return { name, fields: input?.fieldNames, path: ctx.path }
    }
  }

  it('answers in the place of SimpleMetadata, as a class or as an instance', async () => {
    for (const metadataClass of [Terse, new Terse()]) {
      const View = class extends BookViewSet {
        static override metadataClass = metadataClass
      }
      const { headers, json } = await options('/api/books', View)
      expect(headers.allow).toBe('GET, POST, HEAD, OPTIONS')
      expect(json).toMatchObject({ fields: ['id', 'title', 'price', 'status'], path: '/api/books' })
      await client?.close()
    }
    client = undefined
  })

  it('[I23] is checked at registration', () => {
    class Wrong extends BookViewSet {
      static override metadataClass = {} as never
    }
    expect(() => new APIRouter().register('books', Wrong)).toThrow(
      new ConfigurationError(
        'Wrong.metadataClass: has no method determineMetadata(); give a class or an instance of the right kind',
      ),
    )
  })
})
