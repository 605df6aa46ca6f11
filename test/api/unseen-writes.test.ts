/** Which writes load what is related to an object before it is written: those in which code of the application sees the object. */
import { Model } from 'objection'
import { expect, it } from 'vitest'
import {
  APIRouter,
  BasePermission,
  type Context,
  ModelSerializer,
  ModelViewSet,
  NestedSerializer,
  type Serializer,
  SerializerMethodField,
} from '../../lib/index.js'
import { countQueries } from '../support/database.js'
import { type Author, AuthorSerializer, Book, database, useLibrary } from '../support/library.js'
import { serveRouter } from '../support/views.js'

useLibrary()

class ShownBook extends ModelSerializer<Book> {
  static override model = Book
  static override fields = ['id', 'title', 'author_id']
  static override declaredFields = { author: new NestedSerializer(AuthorSerializer, { readOnly: true }) }
}

class Plain extends ModelViewSet<Book> {
  static override model = Book
  static override serializerClass = ShownBook
}

/** What code of the application has seen of the author. */
let seen: unknown

const see = (book: unknown) => {
  seen = (book as Book & { author?: Author }).author?.name
}

class Narrowed extends Plain {
  override getQueryset() {
    return super.getQueryset().where('books.id', '>', 0)
  }
}

/** Its answer is computed by code of the application, and what is written must be in the queryset. */
class Labelled extends Narrowed {
  static override mayLeaveQueryset = false
  static override serializerClass = class extends ShownBook {
    static override declaredFields = { ...ShownBook.declaredFields, label: new SerializerMethodField() }
    getLabel(book: Book & { author?: Author }) {
      return `${book.title} by ${book.author?.name}`
    }
  }
}

class Hooked extends Plain {
  override async performUpdate(serializer: Serializer<Book>, book: Book): Promise<unknown> {
    see(book)
    return super.performUpdate(serializer, book)
  }

  override async performDestroy(book: Book): Promise<unknown> {
    see(book)
    return super.performDestroy(book)
  }
}

class Guarded extends Plain {
  static override permissionClasses = [
    class Guard extends BasePermission {
      override hasObjectPermission(_ctx: Context, _view: object, book: object) {
        see(book)
        return true
      }
    },
  ]
}

class SeeingSerializer extends ShownBook {
  override validate(data: Record<string, unknown>) {
    see(this.obj)
    return data
  }
}

class Validated extends Plain {
  static override serializerClass = SeeingSerializer
}

class SeeingBook extends Book {
  override $beforeUpdate(options: { old?: unknown }) {
    see(options.old)
  }

  override $beforeDelete() {
    see(this)
  }
}

class SeeingBookSerializer extends ShownBook {
  static override model = SeeingBook as typeof Book
}

class OfModel extends Plain {
  static override model = SeeingBook as typeof Book
  static override serializerClass = SeeingBookSerializer
}

/** How often the authors of objects are loaded by a write, by statements of their own; its answer shows the author as it is afterwards. */
async function write(view: typeof Plain, method: 'PATCH' | 'DELETE', headers: Record<string, string> = {}) {
  seen = undefined
  const { id } = await Book.query().insert({ title: 'a', author_id: 1 })
  const client = await serveRouter(new APIRouter({ prefix: '/api' }).register('books', view))
  const body = method === 'PATCH' ? { author_id: 2 } : undefined
  await client.get(`/api/books/${id}`)
  let answer: Awaited<ReturnType<typeof client.send>> | undefined
  const statements = await countQueries(database.knex, async () => {
    answer = await client.send(method, `/api/books/${id}`, body, headers)
  })
  expect(answer?.status).toBe(method === 'PATCH' ? 200 : 204)
  if (method === 'PATCH') expect(answer?.json).toMatchObject({ author_id: 2, author: { id: 2, name: 'Ben' } })
  return statements.filter((sql) => sql.startsWith('select "authors".*')).length
}

it.each([
  ['a plain view set', Plain],
  ['one that narrows its rows', Narrowed],
])('%s loads nothing before it writes, and shows what is written by the statement of retrieve', async (_what, view) => {
  expect(await write(view, 'PATCH')).toBe(0)
  expect(await write(view, 'DELETE')).toBe(0)
})

it('what an answer computes of related objects is loaded once, when all is written', async () => {
  expect(await write(Labelled, 'PATCH')).toBe(1)
  expect(await write(Labelled, 'DELETE')).toBe(0)
})

it.each([
  ['performUpdate() and performDestroy()', Hooked, 2],
  ['an object permission', Guarded, 1],
  ['hooks of the model', OfModel, 1],
])('%s see what is related', async (_what, view, times) => {
  expect(await write(view, 'PATCH')).toBe(times)
  expect(seen).toBe('Ada')
  expect(await write(view, 'DELETE')).toBe(1)
  expect(seen).toBe('Ada')
})

it('validate() of a serializer sees what is related', async () => {
  expect(await write(Validated, 'PATCH')).toBe(2)
  expect(seen).toBe('Ada')
})

it('If-None-Match is compared with all that is shown', async () => {
  expect(await write(Plain, 'PATCH', { 'if-none-match': '"other"' })).toBe(1)
})

it('what performUpdate() has saved in the place of the object is shown, and not the object of its key', async () => {
  const { id } = await Book.query().insert({ title: 'another', author_id: 1 })
  class Renaming extends Plain {
    override async performUpdate(serializer: Serializer<Book>): Promise<unknown> {
      return Object.assign(serializer, {
        obj: Object.assign(new Writer(), { id, title: 'renamed', author_id: 2, author: null }),
      })
    }
  }
  const own = await Book.query().insert({ title: 'a', author_id: 1 })
  const client = await serveRouter(new APIRouter({ prefix: '/api' }).register('books', Renaming))
  const { status, json } = await client.send('PATCH', `/api/books/${own.id}`, { title: 'b' })
  expect([status, json.id, json.title]).toEqual([200, id, 'renamed'])
})

class Writer extends Model {
  static override tableName = 'authors'
}
