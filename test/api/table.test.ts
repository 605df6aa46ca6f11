/** Models by the name of their table are Objection models like any other. */
import {
  APIRouter,
  ConfigurationError,
  FieldFilter,
  modelSerializer,
  modelViewSet,
  NestedSerializer,
  PrimaryKeyRelatedField,
  type TableModel,
  table,
} from 'koa-viewsets'
import { Model } from 'objection'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Client, serving } from '../support/client.js'
import { createDatabase, type TestDatabase } from '../support/database.js'

const SCHEMA = `
  create table authors (id serial primary key, name text not null);
  create table books (code text primary key, title text not null, author_id int not null references authors);
  create table covers (id serial primary key, colour text not null, book_code text not null unique references books);
  create table tags (id serial primary key, label text not null unique);
  create table book_tags (book_code text references books, tag_id int references tags, primary key (book_code, tag_id));
  insert into authors (name) values ('Ada'), ('Bob');
  insert into books values ('a', 'First', 1), ('b', 'Second', 2);
  insert into covers (colour, book_code) values ('red', 'a');
  insert into tags (label) values ('x'), ('y');
  insert into book_tags values ('a', 1), ('a', 2);`

interface AuthorRow {
  id: number
  name: string
  books?: BookRow[]
}
interface BookRow {
  code: string
  title: string
  author_id: number
}

const authors: TableModel<AuthorRow> = table('authors', {
  relations: { books: { hasMany: () => books, key: 'author_id' } },
})
const covers = table('covers')
const tags = table('public.tags')
const books = table<BookRow>('books', {
  idColumn: 'code',
  relations: {
    author: { belongsTo: () => authors, key: 'author_id' },
    cover: { hasOne: () => covers, key: 'book_code' },
    tags: { manyToMany: () => tags, through: 'book_tags', from: 'book_code', to: 'tag_id' },
  },
})

class BookSerializer extends modelSerializer(books, {
  fields: ['code', 'title', 'author_id'],
  declaredFields: {
    author: new NestedSerializer(modelSerializer(authors, { fields: ['id', 'name'] }), { readOnly: true }),
    cover: new NestedSerializer(modelSerializer(covers, { fields: ['colour'] }), { readOnly: true }),
    tags: new PrimaryKeyRelatedField({ queryset: tags, many: true }),
  },
}) {}
class BookViewSet extends modelViewSet(books, {
  serializerClass: BookSerializer,
  lookupField: 'code',
  ordering: ['code'],
  filterBackends: [FieldFilter],
  filtersetFields: ['title'],
}) {}

let database: TestDatabase
let client: Client

beforeAll(async () => {
  database = await createDatabase({ schema: SCHEMA })
  Model.knex(database.knex)
  const api = new APIRouter().register('books', BookViewSet)
  await api.prepare()
  client = await serving(api.routes())
})
afterAll(async () => {
  await client.close()
  await database.drop()
})

it('is named after what one of its rows is', () => {
  expect([books, authors, tags].map(({ name }) => name)).toEqual(['Book', 'Author', 'Tag'])
})

it('shows columns and relations of each kind', async () => {
  expect((await client.get('/books/a')).json).toEqual({
    code: 'a',
    title: 'First',
    author_id: 1,
    author: { id: 1, name: 'Ada' },
    cover: { colour: 'red' },
    tags: [1, 2],
  })
  expect((await client.get('/books?title=Second')).json).toMatchObject([{ code: 'b', cover: null, tags: [] }])
})

it('writes rows and their relations', async () => {
  const body = { code: 'c', title: 'Third', author_id: 2, tags: [2] }
  expect(await client.send('POST', '/books', body)).toMatchObject({ status: 201, json: { ...body, cover: null } })
  expect(await authors.query().findById(2).withGraphFetched('books')).toMatchObject({
    books: [{ code: 'b' }, { code: 'c' }],
  })
})

it('extends a class of the application', () => {
  class Base extends Model {
    get shout() {
      return 'hey'
    }
  }
  class Book extends table<BookRow>('books', { base: Base }) {}
  expect(new Book()).toMatchObject({ shout: 'hey' })
})

it.each<[string, () => unknown, string]>([
  ['no name', () => table(''), "table(): the first argument is a table's name"],
  ['a misspelt option', () => table('books', { idColum: 'x' } as never), 'idColumn'],
  ['a base that is no model', () => table('books', { base: class {} as never }), 'base is no Objection model class'],
  [
    'a relation of no kind',
    () => table('books', { relations: { a: { key: 'x' } as never } }),
    'relations.a: say one of belongsTo',
  ],
  [
    'a relation of two kinds',
    () => table('books', { relations: { a: { belongsTo: () => tags, hasMany: () => tags, key: 'x' } } }),
    'say one of',
  ],
  [
    'a relation without its key',
    () => table('books', { relations: { a: { belongsTo: () => tags } as never } }),
    'relations.a: key is missing',
  ],
  [
    'a relation to a value',
    () => table('books', { relations: { a: { belongsTo: tags, key: 'x' } as never } }).getRelations(),
    'no Objection model class',
  ],
])('%s is a mistake that is told', (_mistake, make, message) => {
  expect(make).toThrow(ConfigurationError)
  expect(make).toThrow(message)
})
