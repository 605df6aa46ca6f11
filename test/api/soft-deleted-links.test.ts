/** What is read is sent back unchanged, and something of it is related to a deleted object. */
import { AllowAny, action, JSONParser, NestedSerializer, ValidationError } from 'koa-viewsets'
import { JsonPatchParser } from 'koa-viewsets/patches'
import { Model } from 'objection'
import { expect, it } from 'vitest'
import { Author, database, Genre, Book as LibraryBook, useLibrary } from '../support/library.js'
import { serializerOf, serveViews, tableOf, viewOf } from '../support/views.js'

useLibrary({
  sql: `
    alter table authors add gone_at timestamptz, add data json;
    update authors set data = '{"a": 1, "b": 2}';
    alter table genres add gone_at timestamptz;
    create table covers (id int primary key, book_id int references books, gone_at timestamptz);
    update authors set gone_at = now() where id = 1;
    insert into genres (gone_at) values (null), (now())`,
  rows: `
    insert into books (id, title, author_id) values (7, 'Momo', 1); insert into books_genres values (7, 1), (7, 2);
    insert into covers values (3, 7, now())`,
})
const softDelete = { column: 'gone_at', permissionClasses: [AllowAny] }
const Cover = tableOf('covers')
class Book extends LibraryBook {
  static override relationMappings = () => ({
    ...LibraryBook.relationMappings(),
    cover: { relation: Model.HasOneRelation, modelClass: Cover, join: { from: 'books.id', to: 'covers.book_id' } },
  })
}
const serve = (fields: string[]) =>
  serveViews({
    authors: viewOf(Author, serializerOf(Author, ['id']), { softDelete }),
    genres: viewOf(Genre, serializerOf(Genre, ['id']), { softDelete }),
    books: viewOf(Book, serializerOf(Book, fields), { parserClasses: [JSONParser, JsonPatchParser] }),
  })
const links = () => database.knex('books_genres').orderBy('genre_id').pluck('genre_id')

it('[B17] PUT of what was read keeps the link to a deleted genre, which a restore then shows again', async () => {
  const { get, send } = await serve(['id', 'title', 'genres'])
  const book = (await get('/books/7')).json
  expect(book).toEqual({ id: 7, title: 'Momo', genres: [1] })
  expect((await send('PUT', '/books/7', book)).status).toBe(200)
  expect(await links()).toEqual([1, 2])
})

it('[B17] a PUT of what was read is taken where its author is deleted', async () => {
  const { get, send } = await serve(['id', 'title', 'author_id'])
  const book = (await get('/books/7')).json
  expect(book).toEqual({ id: 7, title: 'Momo', author_id: 1 })
  const answer = await send('PUT', '/books/7', book)
  expect({ status: answer.status, json: answer.json }).toEqual({ status: 200, json: book })
})

it('so is one whose nested author is as it was, its members in another order', async () => {
  const { send } = await serveViews({
    authors: viewOf(Author, serializerOf(Author, ['id']), { softDelete }),
    books: viewOf(Book, serializerOf(Book, ['id'], { author: new NestedSerializer(serializerOf(Author, ['data'])) })),
  })
  const put = async (data: object) => (await send('PUT', '/books/7', { author: { data } })).status
  expect([await put({ b: 2, a: 1 }), await put({ a: 1 })]).toEqual([200, 400])
})

it('and code that checks authors has nothing to say of it', async () => {
  class CheckedAuthorSerializer extends serializerOf(Author, ['name']) {
    override validate(): never {
      throw new ValidationError('No author.')
    }
  }
  const { get, send } = await serveViews({
    authors: viewOf(Author, serializerOf(Author, ['id']), { softDelete }),
    books: viewOf(Book, serializerOf(Book, ['id'], { author: new NestedSerializer(CheckedAuthorSerializer) })),
  })
  const book = (await get('/books/7')).json
  expect((await send('PUT', '/books/7', book)).status).toBe(200)
})

it('a PATCH of the title alone is taken, and a JSON patch of the whole', async () => {
  const { get, send } = await serve(['id', 'title', 'author_id'])
  expect((await send('PATCH', '/books/7', { title: 'x' })).status).toBe(200)
  const book = (await get('/books/7')).json
  expect(
    (
      await send('PATCH', '/books/7', [{ op: 'replace', path: '', value: { ...book, title: 'y' } }], {
        'Content-Type': 'application/json-patch+json',
      })
    ).status,
  ).toBe(200)
})

it('another object may not choose the deleted one, nor may one of another row of the same request', async () => {
  await database.knex.raw("insert into books (id, title, author_id) values (8, 'Emil', 2)")
  const { send } = await serve(['id', 'title', 'author_id'])
  const answer = await send('PATCH', '/books/bulk', [
    { id: 7, author_id: 1 },
    { id: 8, author_id: 1 },
  ])
  expect([answer.status, answer.json.errors]).toEqual([
    400,
    { 1: { author_id: ['Invalid pk "1" - object does not exist.'] } },
  ])
  expect((await send('PATCH', '/books/7', { author_id: 2 })).status).toBe(200)
  expect((await send('PATCH', '/books/7', { author_id: 1 })).status).toBe(400)
})

it('nor does code of the application find a deleted one by getRelatedQueryset()', async () => {
  class Books extends viewOf(Book, serializerOf(Book, ['id'])) {
    @action({ methods: ['GET'] })
    async genres() {
      return this.getRelatedQueryset('genres').where('genres.id', 1).orWhere('genres.id', 2).select('genres.id')
    }
  }
  const { get } = await serveViews({ genres: viewOf(Genre, serializerOf(Genre, ['id']), { softDelete }), books: Books })
  expect((await get('/books/genres')).json).toEqual([{ id: 1 }])
})

it('a QUERY asks for deleted objects in its body, as a GET does in its URL', async () => {
  const { get, send } = await serveViews({
    genres: viewOf(Genre, serializerOf(Genre, ['id']), { softDelete, queryMethod: true }),
  })
  expect((await get('/genres?deleted=only')).json).toEqual([{ id: 2 }])
  expect((await send('QUERY', '/genres', { deleted: 'only' })).json).toEqual([{ id: 2 }])
  expect((await send('QUERY', '/genres', { deleted: 'maybe' })).json.errors).toEqual({
    deleted: ['Use one of: true, only, false.'],
  })
})

it('[B17] PUT of what was read keeps the deleted cover of the book', async () => {
  const cover = new NestedSerializer(serializerOf(Cover, ['id']), { allowNull: true, required: false })
  const { get, send } = await serveViews({
    covers: viewOf(Cover, serializerOf(Cover, ['id']), { softDelete }),
    books: viewOf(Book, serializerOf(Book, ['id', 'title'], { cover })),
  })
  const book = (await get('/books/7')).json
  expect(book).toEqual({ id: 7, title: 'Momo', cover: null })
  expect((await send('PUT', '/books/7', book)).status).toBe(200)
  expect(await database.knex('covers').select('id', 'book_id')).toEqual([{ id: 3, book_id: 7 }])
  await database.knex('covers').update({ gone_at: null })
  expect((await send('PUT', '/books/7', book)).status).toBe(200)
  expect(await database.knex('covers').select('id', 'book_id')).toEqual([{ id: 3, book_id: null }])
})
