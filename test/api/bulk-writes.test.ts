/** What a bulk request writes: all or nothing, through hooks and permissions, without deadlocks. */
import { Model, raw } from 'objection'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  APIRouter,
  action,
  BasePermission,
  BulkModelViewSet,
  type Context,
  FileUploadField,
  type GuardedView,
  ModelSerializer,
  NestedSerializer,
  type Permissions,
  type Serializer,
  SerializerMethodField,
  ValidationError,
} from '../../lib/index.js'
import { api, BookViewSet, LabelledViewSet, three, titles, WAYS, writing } from '../support/bulk-books.js'
import { countQueries } from '../support/database.js'
import { Author, AuthorSerializer, Book, database, Genre, Review, useLibrary } from '../support/library.js'
import { runsAsRole } from '../support/roles.js'
import { connectTo } from '../support/server.js'
import { serializerOf, serveViews, viewOf } from '../support/views.js'
import { untilWaiting } from '../support/waiting.js'
import { size } from '../trust/support/size.js'

useLibrary({ sql: 'alter table books add unique (author_id, title)' })

describe('[I4] all or nothing', () => {
  it.each(WAYS)('one bad item of a hundred is told by its position, as %s', async (_way, view) => {
    const { send } = await api(view)
    const items: object[] = Array.from({ length: 100 }, (_, index) => ({ title: `t${index}` }))
    items[57] = { title: 7, n: 'x' }
    items[60] = 5 as never
    const response = await send('POST', '/api/books/bulk', items)
    expect(response).toMatchObject({ status: 400, json: { detail: 'Validation failed', status: 400 } })
    expect(response.json.errors).toEqual({
      57: { title: ['Not a valid string.'], n: ['A valid integer is required.'] },
      60: { non_field_errors: ['Expected an object.'] },
    })
    expect(await titles()).toEqual([])
  })

  it.each(WAYS)('what only the database finds is told by its position, too, as %s', async (_way, view) => {
    await three()
    const { send } = await api(view)
    const create = async (...items: object[]) => (await send('POST', '/api/books/bulk', items)).json.errors
    const update = async (...items: object[]) => (await send('PATCH', '/api/books/bulk', items)).json.errors
    expect(await create({ title: 'a' }, { title: 'b', isbn: '1' })).toEqual({
      1: { isbn: ['This field must be unique.'] },
    })
    expect(await create({ title: 'a', isbn: 'x' }, { title: 'b' }, { title: 'c', isbn: 'x' })).toEqual({
      2: { isbn: ['This field must be unique.'] },
    })
    expect(await create({ title: 'a' }, { title: 'b', n: -1 })).toEqual({ 1: { n: ['Invalid value.'] } })
    expect(await create({ title: 'a', author_id: 1 }, { title: 'a', author_id: 1 })).toEqual({
      1: { non_field_errors: ['The fields author_id, title must make a unique set.'] },
    })
    expect(await update({ id: 3, n: 1 }, { id: 2, isbn: '1' })).toEqual({ 1: { isbn: ['This field must be unique.'] } })
    expect(await update({ id: 3, n: 1 }, { id: 2, title: 'x' }, { id: 1, n: -5 })).toEqual({
      2: { n: ['Invalid value.'] },
    })
    expect(await Book.query().orderBy('id').select('id', 'title', 'n')).toMatchObject([
      { id: 1, title: 'One', n: 0 },
      { id: 2, title: 'Two', n: 0 },
      { id: 3, title: 'Three', n: 0 },
    ])
  })

  it.each(['rows', 'instances'])('what is found at the end has the position of who sent it, as %s', async (way) => {
    await database.knex.raw(`
      drop table if exists seats;
      create table seats (id int generated always as identity primary key, code int unique deferrable initially deferred);
      insert into seats (code) values (1), (2), (3)`)
    class Seat extends Model {
      static override tableName = 'seats'
    }
    Seat.knex(database.knex)
    class SeatSerializer extends ModelSerializer {
      static override model = Seat
      static override fields = '__all__'
      static override declaredFields: Record<string, SerializerMethodField> =
        way === 'rows' ? {} : { label: new SerializerMethodField() }
      getLabel() {
        return 'seat'
      }
    }
    class Seats extends BulkModelViewSet {
      static override model = Seat
      static override serializerClass = SeatSerializer
    }
    const { send } = await api(BookViewSet, { seats: Seats })
    const taken = ['This field must be unique.']
    const created = await send('POST', '/api/seats/bulk', [{ code: 4 }, { code: 2 }])
    expect(created).toMatchObject({ status: 400, json: { errors: { 1: { code: taken } } } })
    const updated = await send('PATCH', '/api/seats/bulk', [
      { id: 1, code: 2 },
      { id: 2, code: 3 },
    ])
    expect(updated).toMatchObject({ status: 400, json: { errors: { 1: { code: taken } } } })
    const twice = await send(
      'PATCH',
      '/api/seats/bulk',
      [3, 1, 2].map((id) => ({ id, code: id === 2 ? 7 : 9 })),
    )
    expect(twice.json.errors).toEqual({ 1: { code: taken } })
    expect((await send('POST', '/api/seats', { code: 2 })).json.errors).toEqual({ code: taken })
    const moved = [2, 3, 1].map((code, index) => ({ id: index + 1, code }))
    expect((await send('PATCH', '/api/seats/bulk', moved)).json).toMatchObject(moved)
    expect(await Seat.query().orderBy('id').select('id', 'code')).toEqual(moved)
  })

  it('what is found at the end is told of objects without a text, too', async () => {
    await database.knex.raw(`
      drop table if exists plans;
      create table plans (id int generated always as identity primary key, plan jsonb unique deferrable initially deferred)`)
    class Plan extends Model {
      static override tableName = 'plans'
    }
    Plan.knex(database.knex)
    class PlanSerializer extends ModelSerializer {
      static override model = Plan
      static override fields = '__all__'
    }
    class Plans extends BulkModelViewSet {
      static override model = Plan
      static override serializerClass = PlanSerializer
    }
    const { send } = await api(BookViewSet, { plans: Plans })
    const plan = (n: number) => ({ toString: n })
    for (const n of [1, 2, 3]) await send('POST', '/api/plans', { plan: plan(n) })
    const updated = await send('PATCH', '/api/plans/bulk', [
      { id: 1, plan: plan(2) },
      { id: 2, plan: plan(3) },
    ])
    expect(updated).toMatchObject({ status: 400, json: { detail: 'Validation failed' } })
  })

  it.each(['rows', 'instances'])('a row that a trigger leaves out refuses all, as %s', async (way) => {
    await database.knex.raw(`
      drop table if exists notes;
      create table notes (id int generated always as identity primary key, text text);
      create or replace function leave_out() returns trigger language plpgsql as
        $$ begin if new.text = 'spam' then return null; end if; return new; end $$;
      create trigger leave_out before insert on notes for each row execute function leave_out()`)
    class Note extends Model {
      static override tableName = 'notes'
    }
    Note.knex(database.knex)
    class NoteSerializer extends ModelSerializer {
      static override model = Note
      static override fields = '__all__'
      static override declaredFields: Record<string, SerializerMethodField> =
        way === 'rows' ? {} : { label: new SerializerMethodField() }
      getLabel() {
        return 'note'
      }
    }
    class Notes extends BulkModelViewSet {
      static override model = Note
      static override serializerClass = NoteSerializer
    }
    const { send, reported } = await api(BookViewSet, { notes: Notes })
    const errors = { non_field_errors: ['Invalid value.'] }
    expect(await send('POST', '/api/notes', { text: 'spam' })).toMatchObject({ status: 400, json: { errors } })
    const mixed = [{ text: 'a' }, { text: 'spam' }, { text: 'b' }]
    expect(await send('POST', '/api/notes/bulk', mixed)).toMatchObject({ status: 400, json: { errors: { 1: errors } } })
    expect(await Note.query()).toEqual([])
    const created = await send('POST', '/api/notes/bulk', [{ text: 'a' }, { text: 'b' }])
    expect(created).toMatchObject({ status: 201, json: [{ text: 'a' }, { text: 'b' }] })
    expect((await send('POST', '/api/notes', { text: 'c' })).status).toBe(201)
    expect(reported).toEqual([])
  })

  it.skipIf(runsAsRole())('[I22] related keys are looked up in one query for the list', async () => {
    const { send } = await api(BookViewSet)
    const items = Array.from({ length: 50 }, (_, index) => ({
      title: `t${index}`,
      author_id: index === 40 ? 999 : (index % 2) + 1,
    }))
    let errors: unknown
    const texts = await countQueries(database.knex, async () => {
      errors = (await send('POST', '/api/books/bulk', items)).json.errors
    })
    expect(errors).toEqual({ 40: { author_id: ['Invalid pk "999" - object does not exist.'] } })
    expect(writing(texts)).toHaveLength(1)
    expect(texts).toHaveLength(2)
  })

  it('[A8] what hooks have written is undone with the rest', async () => {
    class Books extends BookViewSet {
      override async performBulkCreate(serializer: Serializer<Book>): Promise<unknown> {
        await Author.query(this.trx).insert({ name: 'of the hook' })
        await super.performBulkCreate(serializer)
        throw new ValidationError('No.')
      }
    }
    const { send } = await api(Books)
    expect((await send('POST', '/api/books/bulk', [{ title: 'a' }])).json.errors).toEqual({ non_field_errors: ['No.'] })
    expect(await titles()).toEqual([])
    expect(await Author.query().where('name', 'of the hook')).toEqual([])
  })

  it('nothing is deleted that is still referenced', async () => {
    class Authors extends BulkModelViewSet<Author> {
      static override model = Author
      static override serializerClass = AuthorSerializer
    }
    const { id } = await Author.query().insert({ name: 'Free' })
    await Book.query().insert({ title: 'x', author_id: 1 })
    const { send } = await api(BookViewSet, { authors: Authors })
    expect(await send('DELETE', '/api/authors/bulk', [id, 1])).toMatchObject({
      status: 409,
      json: { detail: 'Object is referenced by other objects.' },
    })
    expect(await Author.query().findById(id)).toBeDefined()
    await Author.query().deleteById(id)
  })
})

describe('[A1] read-only, hidden and unknown keys', () => {
  it('are ignored in lists as elsewhere', async () => {
    class Limited extends ModelSerializer<Book> {
      static override model = Book
      static override fields = ['id', 'title', 'n']
      static override readOnlyFields = ['n']
    }
    class Books extends BookViewSet {
      static override serializerClass = Limited
    }
    const { send } = await api(Books)
    const created = await send('POST', '/api/books/bulk', [{ id: 77, title: 'a', n: 5, isbn: 'secret', nothing: 1 }])
    expect(created.json).toEqual([{ id: 1, title: 'a', n: 0 }])
    const updated = await send('PATCH', '/api/books/bulk', [{ id: 1, title: 'b', n: 5, isbn: 'secret' }])
    expect(updated.json).toEqual([{ id: 1, title: 'b', n: 0 }])
    expect(await Book.query().findById(1)).toMatchObject({ isbn: null, n: 0 })
  })

  it('[A4 R9] do not pollute', async () => {
    const { port, send } = await api(BookViewSet)
    for (const body of ['[{"title":"x","__proto__":{"n":1}}]', '[{"constructor":{"prototype":{"n":1}}}]']) {
      const response = await serverSend(port, body)
      const errors = { non_field_errors: [expect.stringContaining('"__proto__", and "constructor"')] }
      expect(response).toMatchObject({ status: 400, json: { detail: 'Malformed JSON', errors } })
    }
    expect(({} as { n?: number }).n).toBeUndefined()
    expect(send).toBeDefined()
  })

  function serverSend(port: number, body: string) {
    return connectTo(port).send({
      method: 'POST',
      path: '/api/books/bulk',
      headers: { 'Content-Type': 'application/json' },
      body,
    })
  }
})

describe('[E9] object permissions', () => {
  class Own extends BasePermission {
    override hasObjectPermission(ctx: Context, _view: GuardedView, book: object): boolean {
      return String((book as Book).author_id) === ctx.get('X-Author')
    }
  }
  class Guarded extends BookViewSet {
    static override permissionClasses: Permissions = [Own]
  }

  it('are checked for every object; one refusal refuses all', async () => {
    await Book.query().insert([
      { title: 'Mine', author_id: 2 },
      { title: 'Hers', author_id: 1 },
    ])
    const { send } = await api(Guarded)
    const mine = { 'X-Author': '2' }
    expect((await send('DELETE', '/api/books/bulk', [1, 2], mine)).status).toBe(401)
    expect(
      (
        await send(
          'PATCH',
          '/api/books/bulk',
          [
            { id: 1, n: 1 },
            { id: 2, n: 1 },
          ],
          mine,
        )
      ).status,
    ).toBe(401)
    // before validation, and after ids
    expect(
      (
        await send(
          'PATCH',
          '/api/books/bulk',
          [
            { id: 1, n: 'x' },
            { id: 2, n: 1 },
          ],
          mine,
        )
      ).status,
    ).toBe(401)
    expect(
      (
        await send(
          'PATCH',
          '/api/books/bulk',
          [
            { id: 2, n: 1 },
            { id: 9, n: 1 },
          ],
          mine,
        )
      ).status,
    ).toBe(400)
    expect(await titles()).toEqual(['Mine', 'Hers'])
    expect((await send('PATCH', '/api/books/bulk', [{ id: 1, n: 1 }], mine)).json).toMatchObject([{ id: 1, n: 1 }])
    expect((await send('DELETE', '/api/books/bulk', [1], mine)).json).toEqual({ deleted: [1] })
  })
})

describe('hooks', () => {
  it('performCreate, performUpdate and performDestroy hold for every item of a list', async () => {
    const removed: number[] = []
    class Hooked extends BookViewSet {
      override performCreate(serializer: Serializer<Book>): Promise<unknown> {
        return serializer.save({ author_id: 2 })
      }
      override performUpdate(serializer: Serializer<Book>, instance: Book): Promise<unknown> {
        return serializer.save({ n: (instance.n ?? 0) + 10 })
      }
      override async performDestroy(instance: Book): Promise<unknown> {
        removed.push(instance.id)
        return instance.$query(this.trx).patch({ title: `(${instance.title})` })
      }
    }
    const { send } = await api(Hooked)
    const created = await send('POST', '/api/books/bulk', [{ title: 'a' }, { title: 'b', n: 1 }])
    expect(created.json).toMatchObject([{ author_id: 2 }, { author_id: 2, n: 1 }])
    const updated = await send('PATCH', '/api/books/bulk', [{ id: 2, title: 'B' }, { id: 1 }])
    expect(updated.json).toMatchObject([
      { id: 2, title: 'B', n: 11 },
      { id: 1, n: 10 },
    ])
    expect((await send('DELETE', '/api/books/bulk', [2, 1])).json).toEqual({ deleted: [2, 1] })
    expect(removed).toEqual([2, 1])
    expect(await titles()).toEqual(['(a)', '(B)'])
    const refused = await send('POST', '/api/books/bulk', [
      { title: 'c' },
      { title: 'd', isbn: 'x' },
      { title: 'e', isbn: 'x' },
    ])
    expect(refused.json.errors).toEqual({ 2: { isbn: ['This field must be unique.'] } })
    expect(await titles()).toHaveLength(2)
  })

  it('performBulkCreate and performBulkUpdate add values to the whole list, in one statement', async () => {
    class Hooked extends BookViewSet {
      override performBulkCreate(serializer: Serializer<Book>): Promise<unknown> {
        return serializer.save({ author_id: 1 })
      }
      override performBulkUpdate(serializer: Serializer<Book>): Promise<unknown> {
        return serializer.save({ n: 9 })
      }
    }
    const { send } = await api(Hooked)
    const texts = await countQueries(database.knex, async () => {
      await send('POST', '/api/books/bulk', [{ title: 'a' }, { title: 'b' }])
      await send('PATCH', '/api/books/bulk', [{ id: 1, title: 'x' }, { id: 2 }])
    })
    expect(writing(texts)).toHaveLength(2)
    expect(await Book.query().orderBy('id').select('title', 'n', 'author_id')).toEqual([
      { title: 'x', n: 9, author_id: 1 },
      { title: 'b', n: 9, author_id: 1 },
    ])
  })

  it('of serializers may give what only SQL knows, in lists and nested lists as in single objects', async () => {
    const upper = ({ title, name }: Record<string, unknown>) => ({
      ...(title !== undefined && { title: raw('upper(?)', [title as string]) }),
      ...(name !== undefined && { name: raw('upper(?)', [name as string]) }),
    })
    class Upper extends serializerOf(Book, ['id', 'title']) {
      override validate(data: Record<string, unknown>) {
        return { ...data, ...upper(data) }
      }
    }
    const books = new NestedSerializer(Upper, { many: true, required: false })
    class Named extends serializerOf(Author, ['id', 'name', 'books'], { books }) {
      override validate(data: Record<string, unknown>) {
        return { ...data, ...upper(data) }
      }
    }
    const { send } = await serveViews({ books: viewOf(Book, Upper), authors: viewOf(Author, Named) })
    const done = async (method: string, path: string, body: unknown) => (await send(method, path, body)).json
    const titled = (id: number, title: string) => ({ id, title })
    expect(await done('POST', '/books', { title: 'a' })).toEqual(titled(1, 'A'))
    expect(await done('POST', '/books/bulk', [{ title: 'b' }, { title: 'c' }])).toEqual([
      titled(2, 'B'),
      titled(3, 'C'),
    ])
    expect(await done('PATCH', '/books/bulk', [titled(1, 'd'), titled(3, 'e')])).toEqual([
      titled(1, 'D'),
      titled(3, 'E'),
    ])
    expect(await done('PATCH', '/books/2', { title: 'f' })).toEqual(titled(2, 'F'))
    const { id } = await done('POST', '/authors', { name: 'x', books: [{ title: 'g' }, { title: 'h' }] })
    expect(await done('PATCH', `/authors/${id}`, { books: [titled(4, 'i'), titled(5, 'j'), { title: 'k' }] })).toEqual({
      id,
      name: 'X',
      books: [titled(4, 'I'), titled(5, 'J'), titled(6, 'K')],
    })
  })

  it('of models are called for every item', async () => {
    const seen: string[] = []
    class Watched extends Book {
      override $beforeInsert(): void {
        seen.push(`insert ${this.title}`)
        this.n = 5
      }
      override $beforeUpdate(options: { old?: Watched }): void {
        seen.push(`update ${options.old?.title} to ${this.title}`)
        this.n = 6
      }
      override $beforeDelete(): void {
        seen.push(`delete ${this.title}`)
      }
    }
    Watched.knex(database.knex)
    class WatchedSerializer extends ModelSerializer<Watched> {
      static override model = Watched
      static override fields = ['id', 'title', 'n']
    }
    class Books extends BulkModelViewSet<Watched> {
      static override model = Watched
      static override serializerClass = WatchedSerializer
    }
    const { send } = await api(Books)
    const texts = await countQueries(database.knex, async () => {
      expect((await send('POST', '/api/books/bulk', [{ title: 'a' }, { title: 'b' }])).json).toMatchObject([
        { n: 5 },
        { n: 5 },
      ])
      const patched = await send('PATCH', '/api/books/bulk', [
        { id: 1, title: 'A' },
        { id: 2, title: 'B' },
      ])
      expect(patched.json).toMatchObject([{ n: 6 }, { n: 6 }])
    })
    expect(writing(texts)).toHaveLength(2)
    await send('DELETE', '/api/books/bulk', [1, 2])
    expect(seen).toEqual(['insert a', 'insert b', 'update a to A', 'update b to B', 'delete A', 'delete B'])
    expect(await titles()).toEqual([])
  })

  it('of models are called once for each item, also where they set what only SQL knows', async () => {
    const seen: unknown[] = []
    class Counting extends Book {
      override $beforeUpdate({ old }: { old?: Counting }): void {
        seen.push(`${old?.title} ${this.title ?? 'deleted'}`)
        this.n = raw('n + 1') as never
      }
    }
    Counting.knex(database.knex)
    await database.knex.raw('alter table books add deleted_at timestamptz')
    onTestFinished(() => database.knex.raw('alter table books drop deleted_at').then(() => {}))
    const serializer = serializerOf(Counting, ['id', 'title', 'author_id', 'n'])
    const { send } = await serveViews({ books: viewOf(Counting, serializer, { softDelete: 'deleted_at' }) })
    const titled = (...names: string[]) => names.map((title, index) => ({ id: index + 1, title }))
    await send(
      'POST',
      '/books/bulk',
      titled('a', 'b', 'c').map(({ title }) => ({ title, author_id: 1, n: 0 })),
    )
    const counted = titled('d', 'e', 'f').map((item) => ({ ...item, n: 1 }))
    expect((await send('PATCH', '/books/bulk', titled('d', 'e', 'f'))).json).toMatchObject(counted)
    expect(seen.splice(0)).toEqual(['a d', 'b e', 'c f'])
    expect((await send('PATCH', '/books/bulk', titled('x', 'x'))).json.errors).toEqual({
      1: { non_field_errors: ['The fields author_id, title must make a unique set.'] },
    })
    expect((await send('GET', '/books')).json).toMatchObject(counted)
    seen.length = 0
    expect((await send('DELETE', '/books/bulk', [1, 3])).json).toEqual({ deleted: [1, 3] })
    expect(seen).toEqual(['d deleted', 'f deleted'])
    expect(await database.knex('books').whereNull('deleted_at')).toMatchObject([{ id: 2, title: 'e', n: 1 }])
  })

  it('of models that stand around updates make them one by one', async () => {
    let after = 0
    class Watched extends Book {
      override $afterUpdate(): void {
        after++
      }
    }
    Watched.knex(database.knex)
    class WatchedSerializer extends ModelSerializer<Watched> {
      static override model = Watched
      static override fields = ['id', 'title', 'isbn']
    }
    class Books extends BulkModelViewSet<Watched> {
      static override model = Watched
      static override serializerClass = WatchedSerializer
    }
    await three()
    const { send } = await api(Books)
    expect(
      (
        await send('PATCH', '/api/books/bulk', [
          { id: 1, title: 'a' },
          { id: 2, title: 'b' },
        ])
      ).status,
    ).toBe(200)
    expect(after).toBe(2)
    const refused = await send('PATCH', '/api/books/bulk', [
      { id: 3, title: 'c' },
      { id: 2, isbn: '1' },
    ])
    expect(refused.json.errors).toEqual({ 1: { isbn: ['This field must be unique.'] } })
    expect(await titles()).toEqual(['a', 'b', 'Three'])
  })

  it('of serializers are called for every item, and their values written', async () => {
    class Checked extends ModelSerializer<Book> {
      static override model = Book
      static override fields = ['id', 'title', 'n']
      validateTitle(title: string) {
        if (title === 'bad') throw new ValidationError('Too bad.')
        return title.toUpperCase()
      }
      override create(data: Record<string, unknown>): Promise<Book> {
        return super.create({ ...data, isbn: `isbn of ${String(data['title'])}` })
      }
    }
    class Books extends BookViewSet {
      static override serializerClass = Checked
    }
    const { send } = await api(Books)
    expect((await send('POST', '/api/books/bulk', [{ title: 'a' }, { title: 'bad' }])).json.errors).toEqual({
      1: { title: ['Too bad.'] },
    })
    await send('POST', '/api/books/bulk', [{ title: 'a' }, { title: 'b' }])
    expect((await Book.query().orderBy('id')).map(({ isbn }) => isbn)).toEqual(['isbn of A', 'isbn of B'])
  })
})

describe('nested objects', () => {
  class WithAuthor extends ModelSerializer<Book> {
    static override model = Book
    static override fields = ['id', 'title']
    static override declaredFields = { author: new NestedSerializer(AuthorSerializer) }
  }
  class Books extends BookViewSet {
    static override serializerClass = WithAuthor
  }

  it('in lists are written with their item, and checked against it', async () => {
    const { send } = await api(Books)
    const created = await send('POST', '/api/books/bulk', [
      { title: 'a', author: { name: 'Cy' } },
      { title: 'b', author: { name: 'Di' } },
    ])
    expect(created.json).toMatchObject([{ author: { name: 'Cy' } }, { author: { name: 'Di' } }])
    const [{ author: cy }, { author: di }] = created.json
    const stolen = await send('PATCH', '/api/books/bulk', [{ id: 1, author: { id: di.id, name: 'pwn' } }, { id: 2 }])
    expect(stolen.json.errors).toEqual({ 0: { author: { id: [`Invalid pk "${di.id}" - object does not exist.`] } } })
    const renamed = await send('PATCH', '/api/books/bulk', [
      { id: 2, author: { name: 'Dee' } },
      { id: 1, title: 'A' },
    ])
    expect(renamed.json).toEqual([
      { id: 2, title: 'b', author: { id: di.id, name: 'Dee' } },
      { id: 1, title: 'A', author: { id: cy.id, name: 'Cy' } },
    ])
    await Book.query().delete()
    await Author.query().where('id', '>', 2).delete()
  })
})

describe('one nested object that several items name', () => {
  class GenreSerializer extends ModelSerializer<Genre> {
    static override model = Genre
    static override fields = ['id', 'name']
  }
  class WithGenres extends ModelSerializer<Book> {
    static override model = Book
    static override fields = ['id']
    static override declaredFields = { genres: new NestedSerializer(GenreSerializer, { many: true }) }
  }
  class ReviewSerializer extends ModelSerializer<Review> {
    static override model = Review
    static override fields = ['id']
    static override declaredFields = { book: new NestedSerializer(WithGenres) }
  }
  class Reviews extends BulkModelViewSet<Review> {
    static override model = Review
    static override serializerClass = ReviewSerializer
  }

  it('has what is new in its list once', async () => {
    await three()
    await database.knex('reviews').insert([1, 2].map((stars) => ({ book_id: 1, stars })))
    const { send } = await api(Reviews)
    const book = { id: 1, genres: [{ name: 'new' }] }
    const patched = await send(
      'PATCH',
      '/api/books/bulk',
      [1, 2].map((id) => ({ id, book })),
    )
    const shown = { id: 1, genres: [{ id: expect.any(Number), name: 'new' }] }
    expect(patched.json).toEqual([1, 2].map((id) => ({ id, book: shown })))
  })
})

describe('[I3] conditions', () => {
  it('of one object cannot be those of a list', async () => {
    await three()
    const { send } = await api(BookViewSet)
    for (const headers of [{ 'If-Match': '"x"' }, { 'If-None-Match': '*' }]) {
      expect((await send('PATCH', '/api/books/bulk', [{ id: 1, n: 1 }], headers)).status).toBe(412)
      expect((await send('DELETE', '/api/books/bulk', [1], headers)).status).toBe(412)
    }
    expect(await titles()).toHaveLength(3)
    expect((await send('PATCH', '/api/books/bulk', [{ id: 1, n: 1 }], { 'If-Match': '*' })).status).toBe(200)
    class Versioned extends BookViewSet {
      static override concurrency = 'n'
      static override requireIfMatch = true
    }
    expect(() => new APIRouter().register('books', Versioned)).toThrow(
      'Versioned: requireIfMatch cannot hold for bulk routes',
    )
  })
})

/** Related objects are joined, so that the rows of the queryset itself cannot be locked. */
class JoinedViewSet extends BookViewSet {
  override getQueryset() {
    return super.getQueryset().leftJoinRelated('author')
  }
}

class LatestViewSet extends BookViewSet {
  static override ordering = ['-id']
}

describe('[I6] crossing lists', () => {
  const views: [string, typeof BookViewSet][] = [
    ['rows', BookViewSet],
    ['instances', LabelledViewSet],
    ['joined rows', JoinedViewSet],
    ['rows in another order', LatestViewSet],
  ]

  it.each(
    views.flatMap(([name, view]) => (['PATCH', 'DELETE'] as const).map((method) => [method, name, view] as const)),
  )('lock the rows of a %s in the order of their keys: %s', async (method, _name, view) => {
    await Book.query().insert(Array.from({ length: 12 }, (_, index) => ({ title: `t${index}` })))
    const { send } = await api(view)
    const ids = [9, 4, 12, 1, 7, 3, 11, 6, 2, 10, 5, 8]
    const holder = await database.knex.transaction()
    onTestFinished(async () => {
      if (!holder.isCompleted()) await holder.rollback()
    })
    await holder.raw('select from books where id = 6 for update')
    const answer = send(method, '/api/books/bulk', method === 'DELETE' ? ids : ids.map((id) => ({ id, n: 1 })))
    await untilWaiting(database.knex)
    const { rows } = await database.knex.raw('select id from books for update skip locked')
    // those before the one that it waits for are its own by now, and none behind it
    expect(rows.map(({ id }: { id: number }) => id).toSorted((a: number, b: number) => a - b)).toEqual([
      7, 8, 9, 10, 11, 12,
    ])
    await holder.rollback()
    expect((await answer).status).toBe(200)
  })

  it(`never wait for each other: ${size(15, 200)} rounds without a deadlock`, async () => {
    await Book.query().insert(Array.from({ length: 6 }, (_, index) => ({ title: `t${index}` })))
    const { send } = await api(BookViewSet)
    const statuses = new Set<number>()
    for (let round = 0; round < size(15, 200); round++) {
      const answers = await Promise.all([
        send(
          'PATCH',
          '/api/books/bulk',
          [1, 2, 3, 4, 5, 6].map((id) => ({ id, n: round })),
        ),
        send(
          'PATCH',
          '/api/books/bulk',
          [6, 5, 4, 3, 2, 1].map((id) => ({ id, n: round + 1 })),
        ),
      ])
      for (const { status } of answers) statuses.add(status)
    }
    expect([...statuses]).toEqual([200])
  }, 60_000)
})

describe('bulkCreate()', () => {
  it('may be called by an action, whose transaction it leaves usable', async () => {
    class Importing extends BookViewSet {
      @action({ methods: ['POST'] })
      async import() {
        try {
          return await this.bulkCreate()
        } catch (error) {
          this.ctx.status = 200
          return { refused: (error as ValidationError).errors, books: await this.getQueryset().resultSize() }
        }
      }
    }
    const { send } = await api(Importing)
    expect((await send('POST', '/api/books/import', [{ title: 'a' }])).json).toMatchObject([{ id: 1, title: 'a' }])
    const refused = await send('POST', '/api/books/import', [
      { title: 'b', isbn: 'x' },
      { title: 'c', isbn: 'x' },
    ])
    expect(refused.json).toEqual({ refused: { 1: { isbn: ['This field must be unique.'] } }, books: 1 })
  })
})

describe('[F8] files', () => {
  it('of deleted objects go with them, once that is committed', async () => {
    const removed: string[] = []
    const storage = {
      save: async () => 'new.txt',
      delete: async (key: string) => void removed.push(key),
      url: (key: string) => `/files/${key}`,
    }
    class WithFile extends ModelSerializer<Book> {
      static override model = Book
      static override fields = ['id', 'title']
      static override declaredFields = { isbn: new FileUploadField({ storage, required: false, allowNull: true }) }
    }
    class Books extends BookViewSet {
      static override serializerClass = WithFile
    }
    await Book.query().insert([{ title: 'a', isbn: 'a.txt' }, { title: 'b', isbn: 'b.txt' }, { title: 'c' }])
    const { send } = await api(Books)
    expect((await send('DELETE', '/api/books/bulk', [1, 9])).status).toBe(400)
    expect(removed).toEqual([])
    expect(
      (
        await send('PATCH', '/api/books/bulk', [
          { id: 1, title: 'A' },
          { id: 2, isbn: null },
        ])
      ).json,
    ).toMatchObject([{ title: 'A', isbn: '/files/a.txt' }, { isbn: null }])
    await expect.poll(() => removed).toEqual(['b.txt'])
    expect((await send('DELETE', '/api/books/bulk', [3, 1])).status).toBe(200)
    await expect.poll(() => removed).toEqual(['b.txt', 'a.txt'])
  })
})
