/** A relation that a client may write by a key and by an object: either, never both. */
import {
  APIRouter,
  type DeclaredFields,
  HiddenField,
  ModelSerializer,
  NestedSerializer,
  PrimaryKeyRelatedField,
  type Serializer,
  SlugRelatedField,
} from 'koa-viewsets'
import { prepareModels } from 'koa-viewsets/tools'
import { beforeAll, describe, expect, it } from 'vitest'
import { Author, database, Genre, Book as LibraryBook, useLibrary } from '../../support/library.js'
import { serveViews, viewOf } from '../../support/views.js'

useLibrary({
  sql: `
    alter table books alter title set default '', alter author_id set not null, add editor_id int references authors`,
  rows: `
    delete from authors; delete from genres; alter sequence authors_id_seq restart; alter sequence genres_id_seq restart;
    insert into authors (name) values ('Ann'), ('Bob');
    insert into genres (name) values ('red'), ('green');
    insert into books (title, author_id) values ('One', 1);
    insert into books_genres values (1, 1)`,
})

class Book extends LibraryBook {
  static override relationMappings = () => {
    const mappings = LibraryBook.relationMappings()
    return { ...mappings, editor: { ...mappings.author, join: { from: 'books.editor_id', to: 'authors.id' } } }
  }
}
/** An author, and the books that are edited by it. */
class Shelved extends Author {
  static override relationMappings = () => {
    const mappings = Author.relationMappings()
    const join = { from: 'authors.id', to: 'books.editor_id' }
    return { ...mappings, edited: { ...mappings.books, modelClass: Book, join } }
  }
}

class AuthorSerializer extends ModelSerializer<Author> {
  static override model = Author
  static override fields = ['id', 'name']
}
class GenreSerializer extends ModelSerializer<Genre> {
  static override model = Genre
  static override fields = ['id', 'name']
}
class BookSerializer extends ModelSerializer<Book> {
  static override model = Book
  static override fields = ['id', 'title', 'author_id', 'editor_id']
  static override declaredFields: DeclaredFields = {
    author: new NestedSerializer(AuthorSerializer),
    editor: new NestedSerializer(AuthorSerializer, { required: false, allowNull: true }),
  }
}
const BOTH = {
  author_id: ['Give either author_id or author, not both.'],
  author: ['Give either author_id or author, not both.'],
}
const REQUIRED = ['This field is required.']

interface Document {
  components: { schemas: Record<string, object> }
}

beforeAll(() => prepareModels([Author, Shelved, Book, Genre]))

async function stored() {
  return {
    authors: await database.knex('authors').orderBy('id'),
    books: await database.knex('books').orderBy('id'),
    genres: await database.knex('genres').orderBy('id'),
    links: await database.knex('books_genres').orderBy(['book_id', 'genre_id']),
  }
}

describe('a foreign key and a nested object of one relation', () => {
  const routes = [
    { method: 'POST', path: '/books', isList: false },
    { method: 'PUT', path: '/books/1', isList: false },
    { method: 'PATCH', path: '/books/1', isList: false },
    { method: 'POST', path: '/books/bulk', isList: true },
    { method: 'PATCH', path: '/books/bulk', isList: true },
  ]
  const bodies = [
    { author_id: 2, author: { name: 'x' } },
    { author_id: 2, author: { id: 2, name: 'x' } },
    { author_id: 2, author: {} },
    { author_id: 99, author: { name: 'x' } },
    { author_id: 2, author: null },
  ]
  it.each(routes)('are refused together, by the names of both: $method $path', async ({ method, path, isList }) => {
    const client = await serveViews({ books: viewOf(Book, BookSerializer) })
    const before = await stored()
    for (const body of bodies) {
      const item = method === 'PATCH' && isList ? { id: 1, ...body } : body
      const answer = await client.send(method, path, isList ? [item] : item)
      expect(answer).toMatchObject({ status: 400, json: { errors: isList ? { 0: BOTH } : BOTH } })
    }
    expect(await stored()).toEqual(before)
  })

  it('need not both be there, whichever is required', async () => {
    const client = await serveViews({ books: viewOf(Book, BookSerializer) })
    const made = await client.send('POST', '/books', { author: { name: 'Cy' } })
    expect(made).toMatchObject({ status: 201, json: { author_id: 3, author: { id: 3, name: 'Cy' } } })
    const named = await client.send('POST', '/books', { author_id: 2 })
    expect(named).toMatchObject({ status: 201, json: { author_id: 2, author: { id: 2, name: 'Bob' } } })
    const put = await client.send('PUT', '/books/1', { author: { name: 'Anna' } })
    expect(put).toMatchObject({ status: 200, json: { author_id: 1, author: { id: 1, name: 'Anna' } } })
    const moved = await client.send('PUT', '/books/1', { author_id: 2 })
    expect(moved).toMatchObject({ status: 200, json: { author_id: 2, author: { name: 'Bob' } } })
    const bulk = await client.send('POST', '/books/bulk', [{ author: { name: 'Di' } }, { author_id: 1 }])
    expect(bulk).toMatchObject({ status: 201, json: [{ author: { name: 'Di' } }, { author: { name: 'Anna' } }] })
    const none = await client.send('POST', '/books', {})
    expect(none).toMatchObject({ status: 400, json: { errors: { author_id: REQUIRED, author: REQUIRED } } })
  })

  it('[B17] may be sent back as they were read, and changed where they agree', async () => {
    const client = await serveViews({ books: viewOf(Book, BookSerializer) })
    const before = await stored()
    const { json } = await client.get('/books/1')
    expect(json).toMatchObject({ author_id: 1, author: { id: 1 }, editor_id: null, editor: null })
    expect(await client.send('PUT', '/books/1', json)).toMatchObject({ status: 200, json })
    expect(await stored()).toEqual(before)
    const renamed = { ...json, author: { id: 1, name: 'Anna' } }
    expect(await client.send('PUT', '/books/1', renamed)).toMatchObject({ status: 200, json: renamed })
    const wrong = { ...json, author: { id: 1, name: null } }
    expect(await client.send('PUT', '/books/1', wrong)).toMatchObject({
      status: 400,
      json: { errors: { author: { name: ['This field may not be null.'] } } },
    })
  })

  it('are told from each other however they are called', async () => {
    class Slugs extends ModelSerializer<Book> {
      static override model = Book
      static override fields = ['id']
      static override declaredFields: DeclaredFields = {
        by: new SlugRelatedField({ queryset: Author, slugField: 'name', source: 'author' }),
        writer: new NestedSerializer(AuthorSerializer, { source: 'author' }),
      }
    }
    const client = await serveViews({ books: viewOf(Book, Slugs) })
    const message = ['Give either by or writer, not both.']
    const answer = await client.send('POST', '/books', { by: 'Bob', writer: { name: 'x' } })
    expect(answer).toMatchObject({ status: 400, json: { errors: { by: message, writer: message } } })
    expect(await client.send('POST', '/books', { writer: { name: 'Cy' } })).toMatchObject({ json: { by: 'Cy' } })
  })

  it('are one object where one of them takes all of it', async () => {
    class Titles extends ModelSerializer<Book> {
      static override model = Book
      static override fields = ['title']
    }
    class Named extends AuthorSerializer {
      static override fields = ['name']
    }
    class Whole extends Named {
      static override declaredFields: DeclaredFields = { books: new NestedSerializer(Titles, { many: true }) }
    }
    class Listed extends Named {
      static override fields = []
      static override declaredFields = Whole.declaredFields
    }
    const given = { name: 'Cy', books: [{ title: 'Two' }] }
    const send = async (one: typeof AuthorSerializer, other: typeof AuthorSerializer) => {
      class Two extends ModelSerializer<Book> {
        static override model = Book
        static override fields = ['id']
        static override declaredFields: DeclaredFields = {
          one: new NestedSerializer(one, { source: 'author' }),
          other: new NestedSerializer(other, { source: 'author' }),
        }
      }
      const client = await serveViews({ books: viewOf(Book, Two) })
      return client.send('PATCH', '/books/1', { one: given, other: given })
    }
    const message = ['Give either other or one, not both.']
    expect(await send(Listed, Named)).toMatchObject({ status: 400, json: { errors: { one: message, other: message } } })
    expect((await send(Named, Whole)).status).toBe(200)
    expect(await database.knex('books').where({ title: 'Two', author_id: 1 })).toHaveLength(1)
    expect((await send(Whole, Named)).status).toBe(200)
    expect(await database.knex('books').where({ title: 'Two', author_id: 1 })).toHaveLength(2)
  })

  it('leave the key its default only where there is no object', async () => {
    class Defaults extends BookSerializer {
      static override fields = ['id', 'title']
      static override declaredFields: DeclaredFields = {
        author_id: new PrimaryKeyRelatedField({ queryset: Author, default: 2 }),
      }
    }
    const client = await serveViews({ books: viewOf(Book, Defaults) })
    expect(await client.send('POST', '/books', {})).toMatchObject({ status: 201, json: { author: { name: 'Bob' } } })
    expect(await client.send('PUT', '/books/1', { author: { name: 'Anna' } })).toMatchObject({
      status: 200,
      json: { author_id: 1, author: { id: 1, name: 'Anna' } },
    })
  })

  it('are told in lists inside others, at their place', async () => {
    class Shelf extends ModelSerializer<Author> {
      static override model = Shelved
      static override fields = ['id', 'name']
      static override declaredFields: DeclaredFields = { edited: new NestedSerializer(BookSerializer, { many: true }) }
    }
    const client = await serveViews({ authors: viewOf(Shelved, Shelf) })
    const edited = [{ author_id: 1 }, { author_id: 1, author: { name: 'x' } }]
    const answer = await client.send('POST', '/authors', { name: 'Ed', edited })
    expect(answer).toMatchObject({ status: 400, json: { errors: { edited: { 1: BOTH } } } })
    expect(await client.send('POST', '/authors', { name: 'Ed', edited: edited.slice(0, 1) })).toMatchObject({
      status: 201,
      json: { edited: [{ author_id: 1, editor_id: 3 }] },
    })
  })

  it('do not let an object take the place of a key that the application gives', async () => {
    class Hidden extends ModelSerializer<Book> {
      static override model = Book
      static override fields = ['id']
      static override declaredFields: DeclaredFields = {
        author_id: new HiddenField({ default: 2 }),
        author: new NestedSerializer(AuthorSerializer, { required: false }),
      }
    }
    class ByView extends BookSerializer {
      static override fields = ['id', 'title']
    }
    class View extends viewOf(Book, ByView) {
      override performCreate(serializer: Serializer) {
        return serializer.save({ author_id: 2 })
      }
    }
    const client = await serveViews({ hidden: viewOf(Book, Hidden), saved: View })
    const before = await stored()
    for (const path of ['/hidden', '/saved']) {
      const answer = await client.send('POST', path, { author: { name: 'x' } })
      expect(answer).toMatchObject({ status: 400, json: { errors: { author: ['Invalid value.'] } } })
    }
    expect(await stored()).toEqual(before)
    expect(await client.send('POST', '/hidden', {})).toMatchObject({ status: 201, json: { author: { id: 2 } } })
  })
})

describe('the keys and the objects of a many-to-many relation', () => {
  class Tagged extends ModelSerializer<Book> {
    static override model = Book
    static override fields = ['id', 'genres']
    static override declaredFields: DeclaredFields = {
      genre_list: new NestedSerializer(GenreSerializer, { many: true, source: 'genres', required: false }),
    }
  }
  const message = ['Give either genres or genre_list, not both.']

  it('are refused together where the keys would let go of the objects', async () => {
    const client = await serveViews({ books: viewOf(Book, Tagged) })
    const before = await stored()
    for (const body of [
      { genres: [2], genre_list: [{ id: 1, name: 'x' }] },
      { genres: [2], genre_list: [{ name: 'new' }] },
    ]) {
      const answer = await client.send('PATCH', '/books/1', body)
      expect(answer).toMatchObject({ status: 400, json: { errors: { genres: message, genre_list: message } } })
    }
    expect(await stored()).toEqual(before)
  })

  it('[B17] may be sent back as they were read', async () => {
    const client = await serveViews({ books: viewOf(Book, Tagged) })
    const before = await stored()
    const { json } = await client.get('/books/1')
    expect(json).toEqual({ id: 1, genres: [1], genre_list: [{ id: 1, name: 'red' }] })
    expect(await client.send('PUT', '/books/1', json)).toMatchObject({ status: 200, json })
    expect(await stored()).toEqual(before)
    const longer = { genres: [1, 2], genre_list: [{ id: 1, name: 'crimson' }] }
    expect(await client.send('PATCH', '/books/1', longer)).toMatchObject({ status: 200, json: { genres: [1, 2] } })
  })
})

describe('the description of a relation that is written in two ways', () => {
  it('asks for neither field', async () => {
    const client = await serveViews({ books: viewOf(Book, BookSerializer) })
    const { json } = await client.send('OPTIONS', '/books')
    const api = new APIRouter().register('books', viewOf(Book, BookSerializer))
    await api.prepare()
    const { components } = api.getSchema({ title: 'Books', version: '1' }) as unknown as Document
    expect(components.schemas['BookInput']).toMatchObject({ properties: { author: {}, author_id: {} } })
    expect(components.schemas['BookInput']).not.toHaveProperty('required')
    expect(json.actions.fields).toMatchObject({ author_id: { required: false }, author: { required: false } })
  })
})
