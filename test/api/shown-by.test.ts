/** Related fields that take keys and show objects under one name (`shownBy`). */
import {
  APIRouter,
  bulkModelViewSet,
  ConfigurationError,
  FieldFilter,
  FormParser,
  JSONParser,
  ModelSerializer,
  modelSerializer,
  PrimaryKeyRelatedField,
  SlugRelatedField,
  table,
} from 'koa-viewsets'
import { createClient } from 'koa-viewsets/client'
import { JsonPatchParser, MergePatchParser } from 'koa-viewsets/patches'
import { type ModelRule, rule } from 'koa-viewsets/rules'
import { Model } from 'objection'
import { describe, expect, it } from 'vitest'
import { serveApp } from '../support/client.js'
import { Author, database, Genre, Book as LibraryBook, useLibrary } from '../support/library.js'

const Big = table<{ id: string; name: string }>('bigs')
class Book extends LibraryBook {
  declare editor_id: number | null
  declare big_id: string | null
  static override relationMappings = () => ({
    ...LibraryBook.relationMappings(),
    editor: {
      relation: Model.BelongsToOneRelation,
      modelClass: Author,
      join: { from: 'books.editor_id', to: 'authors.id' },
    },
    big: { relation: Model.BelongsToOneRelation, modelClass: Big, join: { from: 'books.big_id', to: 'bigs.id' } },
  })
}
class AuthorSerializer extends modelSerializer(Author, { fields: ['id', 'name'] }) {}
class GenreSerializer extends modelSerializer(Genre, { fields: ['id', 'name'] }) {}
class BigSerializer extends modelSerializer(Big, { fields: ['id', 'name'] }) {}
class BookSerializer extends modelSerializer(Book, {
  fields: ['id', 'title'],
  declaredFields: {
    author: new PrimaryKeyRelatedField({
      queryset: Author,
      shownBy: AuthorSerializer,
      allowNull: true,
      required: false,
    }),
    writer: new SlugRelatedField({
      queryset: Author,
      slugField: 'name',
      source: 'editor',
      shownBy: AuthorSerializer,
      allowNull: true,
      required: false,
    }),
    big: new PrimaryKeyRelatedField({ queryset: Big, shownBy: BigSerializer, allowNull: true, required: false }),
    genres: new PrimaryKeyRelatedField({ queryset: Genre, many: true, shownBy: GenreSerializer, required: false }),
  },
}) {}
class Books extends bulkModelViewSet(Book, {
  serializerClass: BookSerializer,
  parserClasses: [JSONParser, FormParser, MergePatchParser, JsonPatchParser],
  filterBackends: [FieldFilter],
  filtersetFields: ['author__id', 'author__name', 'genres__id'],
  expandable: { author: AuthorSerializer },
  strictBody: 'writable',
}) {}
class Loose extends Books {
  static override strictBody = false
}
class Native extends Loose {
  static override useNativeJson = true
}
class Instances extends Loose {
  override getSerializer(...options: never[]): never {
    return super.getSerializer(...options) as never
  }
}
const WAYS = [
  ['rows', Loose],
  ['JSON of PostgreSQL', Native],
  ['instances', Instances],
] as const

useLibrary({
  sql: `
    create table bigs (id bigint primary key, name text);
    alter table books add editor_id int references authors, add big_id bigint references bigs;
    alter table authors add unique (name);
    insert into bigs values (9007199254740993, 'big');
    insert into genres (name) values ('x'), ('y'), ('z')`,
  rows: `
    insert into books (title, author_id, editor_id, big_id) values ('a', 1, 2, 9007199254740993), ('b', null, null, null);
    insert into books_genres values (1, 1), (1, 2)`,
})

async function serve(view: typeof Books, rules: readonly ModelRule[] = []) {
  const api = new APIRouter({ rules }).register('books', view, 'books')
  await api.prepare()
  return { api, client: await serveApp(api.routes()) }
}
const rows = () => database.knex('books').orderBy('id').select('*')
const links = () => database.knex('books_genres').orderBy(['book_id', 'genre_id'])

const ada = { id: 1, name: 'Ada' }
const ben = { id: 2, name: 'Ben' }
const [x, y, z] = [
  { id: 1, name: 'x' },
  { id: 2, name: 'y' },
  { id: 3, name: 'z' },
]

describe.each(WAYS)('a field that takes keys and shows objects, read as %s', (_way, view) => {
  it('shows what keys name, in objects, lists and answers to writes', async () => {
    const { client } = await serve(view)
    const first = {
      id: 1,
      title: 'a',
      author: ada,
      writer: ben,
      big: { id: '9007199254740993', name: 'big' },
      genres: [x, y],
    }
    const second = { id: 2, title: 'b', author: null, writer: null, big: null, genres: [] }
    const shown = (await client.get('/books')).json
    expect(shown).toMatchObject([{ ...first, big: { name: 'big' } }, second])
    const made = await client.send('POST', '/books', { title: 'c', author: 2, writer: 'Ada', genres: [3, 1] })
    expect(made).toMatchObject({ status: 201, json: { id: 3, author: ben, writer: ada, genres: [x, z] } })
    const changed = await client.send('PATCH', '/books/3', { author: 1, genres: [2] })
    expect(changed.json).toMatchObject({ author: ada, writer: ada, genres: [y] })
    expect((await client.send('PATCH', '/books/3', { author: null, genres: [] })).json).toMatchObject({
      author: null,
      genres: [],
    })
    const bulk = await client.send('POST', '/books/bulk', [
      { title: 'd', author: 1, genres: [1] },
      { title: 'e', writer: 'Ben' },
    ])
    expect(bulk.json).toMatchObject([
      { author: ada, writer: null, genres: [x] },
      { author: null, writer: ben, genres: [] },
    ])
    const patched = await client.send('PATCH', '/books/bulk', [
      { id: 1, author: 2, genres: [3] },
      { id: 2, author: ada },
    ])
    expect(patched.json).toMatchObject([{ author: ben, genres: [z] }, { author: ada }])
  })

  it('takes what was read, which changes nothing', async () => {
    const { client } = await serve(view)
    const before = [await rows(), await links()]
    for (const id of [1, 2]) {
      const { text } = await client.get(`/books/${id}`)
      const again = await client.send('PUT', `/books/${id}`, JSON.parse(text))
      expect([again.status, again.text]).toEqual([200, text])
    }
    const { json } = await client.get('/books')
    expect((await client.send('PATCH', '/books/bulk', json)).status).toBe(200)
    expect([await rows(), await links()]).toEqual(before)
  })

  it('keeps an object that the caller is not shown, and lets go of one that is', async () => {
    const { client } = await serve(view, [rule(Author, { read: { name: 'Ben' } })])
    const before = await rows()
    const { json } = await client.get('/books/1')
    expect(json).toMatchObject({ author: null, writer: ben })
    expect((await client.send('PUT', '/books/1', json)).json).toEqual(json)
    expect((await client.send('PATCH', '/books/bulk', [json])).json).toEqual([json])
    expect(await rows()).toEqual(before)
    await client.send('PATCH', '/books/1', { author: 2 })
    expect((await client.send('PATCH', '/books/1', { author: null })).json.author).toBeNull()
    expect(await rows()).toMatchObject([{ author_id: null, editor_id: 2 }, {}])
  })

  it('takes objects by their keys alone', async () => {
    const { client } = await serve(view)
    const sent = { author: { id: 2, name: 'Other' }, writer: { id: 9, name: 'Ada' }, genres: [{ id: 3 }, 1] }
    const { json } = await client.send('PATCH', '/books/1', sent)
    expect(json).toMatchObject({ author: ben, writer: ada, genres: [x, z] })
    expect(await database.knex('authors').orderBy('id').pluck('name')).toEqual(['Ada', 'Ben'])
    const wrong = await client.send('PATCH', '/books/1', {
      author: { id: 9 },
      writer: { id: 1 },
      genres: [{ id: 7 }, {}],
    })
    expect(wrong).toMatchObject({
      status: 400,
      json: {
        errors: {
          author: ['Invalid pk "9" - object does not exist.'],
          genres: expect.anything(),
          writer: expect.anything(),
        },
      },
    })
  })
})

describe('a field that takes keys and shows objects', () => {
  it('is known to strict names, patches, forms, filters and selections', async () => {
    const { client } = await serve(Books)
    expect((await client.send('PUT', '/books/1', { title: 'c', author: ada })).status).toBe(200)
    const merge = { 'Content-Type': 'application/merge-patch+json' }
    expect((await client.send('PATCH', '/books/1', { author: { id: 2 } }, merge)).json.author).toEqual(ben)
    expect((await client.send('PATCH', '/books/1', { author: null }, merge)).json.author).toBeNull()
    const patch = { 'Content-Type': 'application/json-patch+json' }
    const operations = [
      { op: 'test', path: '/genres/0/name', value: 'x' },
      { op: 'replace', path: '/author', value: 1 },
      { op: 'remove', path: '/genres/0' },
      { op: 'add', path: '/genres/-', value: 3 },
    ]
    expect((await client.send('PATCH', '/books/1', operations, patch)).json).toMatchObject({
      author: ada,
      genres: [y, z],
    })
    expect((await client.get('/books?author__id=1')).json).toHaveLength(1)
    expect((await client.get('/books?author__name=Ada')).json).toHaveLength(1)
    expect((await client.get('/books/1?fields=author')).json).toEqual({ author: ada })
  })

  it('is described as both', async () => {
    const { api, client } = await serve(Books)
    const { BookInput: input, BookOutput: output } = api.getSchema().components.schemas as never
    expect(output).toMatchObject({
      properties: {
        author: { anyOf: [{ $ref: '#/components/schemas/AuthorOutput' }, { type: 'null' }] },
        genres: { type: 'array', items: { $ref: '#/components/schemas/GenreOutput' } },
      },
    })
    const { properties } = input as { properties: Record<string, object> }
    expect(JSON.stringify(properties['genres'])).toContain('"required":["id"]')
    expect(properties['genres']).toMatchObject({
      type: 'array',
      items: { anyOf: [{ type: 'integer' }, { type: 'object' }] },
    })
    const { fields } = (await client.send('OPTIONS', '/books')).json.actions
    expect(fields.author).toMatchObject({ type: 'integer', read_only: false })
    expect(fields.genres).toMatchObject({ type: 'array', read_only: false })
  })

  it('is typed for the client', async () => {
    const api = new APIRouter().register('books', Loose, 'books')
    await api.prepare()
    const { port } = await serveApp(api.routes())
    const { books } = createClient<typeof api>(`http://127.0.0.1:${port}`)
    const read = await books.retrieve(1)
    if (!read.ok) throw new Error('not read')
    const name: string | undefined = read.data.author?.name
    const names = read.data.genres.map(({ name }) => name)
    expect([name, names]).toEqual(['Ada', ['x', 'y']])
    expect(await books.update(1, read.data)).toMatchObject({ ok: true, data: read.data })
    expect(await books.partialUpdate(1, { author: 2, genres: [3] })).toMatchObject({
      ok: true,
      data: { author: ben, genres: [z] },
    })
  })

  it('must be shown with the key that it takes', async () => {
    class Nameless extends modelSerializer(Author, { fields: ['name'] }) {}
    class Shown extends ModelSerializer<Book> {
      static override model = Book
      static override fields = ['id']
      static override declaredFields = { author: new PrimaryKeyRelatedField({ queryset: Author, shownBy: Nameless }) }
    }
    const view = bulkModelViewSet(Book, { serializerClass: Shown })
    await expect(new APIRouter().register('books', view, 'books').prepare()).rejects.toThrow(
      new ConfigurationError(
        'Shown: field "author" is shown by Nameless, which does not show "id": a shown object that is sent back counts as that key; add it to the fields of Nameless',
      ),
    )
  })
})
