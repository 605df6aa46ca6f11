/** What a serializer writes: one row, nested objects, related keys, and in how many statements. */
import {
  ConfigurationError,
  HiddenField,
  ModelSerializer,
  NestedSerializer,
  PrimaryKeyRelatedField,
  Serializer,
  SlugRelatedField,
  StringField,
} from 'koa-viewsets'
import { prepareModels } from 'koa-viewsets/tools'
import { Model, type RelationMappings } from 'objection'
import { describe, expect, it } from 'vitest'
import { countQueries } from '../support/database.js'
import { serializerOf, serveViews, viewOf } from '../support/views.js'
import {
  Author,
  AuthorSerializer,
  Book,
  BookSerializer,
  book,
  Country,
  database,
  FullBookSerializer,
  failure,
  make,
  NotedSerializer,
  Review,
  ReviewSerializer,
  refused,
  rows,
  Sheet,
  SheetSerializer,
  ShelfSerializer,
  saved,
  Tag,
  TaggedSerializer,
  TagSerializer,
  useBooks,
  variant,
} from '../support/written-books.js'

useBooks()

describe('save', () => {
  it('creates, or updates the object given, and lays extra values over the validated data', async () => {
    const made = new BookSerializer({ inputData: { title: 'x' } })
    await made.isValid()
    await made.save({ is_admin: true, title: 'y' })
    expect(made.data).toMatchObject({ id: 3, title: 'y' })
    expect((await rows('books'))[2]).toMatchObject({ is_admin: true })
    const change = new BookSerializer({ obj: await book(), inputData: { n: 9 }, partial: true })
    await change.isValid()
    await change.save({ owner_id: 5 })
    expect(change.data).toMatchObject({ id: 1, title: 'One', n: 9 })
    expect((await rows('books'))[0]).toMatchObject({ owner_id: 5, n: 9, title: 'One' })
  })

  it('takes an object in the place of the foreign key to it, whatever its field, or where there is none', async () => {
    const [ann, bob] = await Author.query().orderBy('id')
    class Keyed extends ModelSerializer {
      static override model = Book
      static override fields = ['id', 'title', 'author']
      static override readOnlyFields = ['author']
    }
    const given = async (serializer: unknown, author: unknown, options: object) => {
      const one = make(serializer, options)
      await one.isValid({ raiseException: true })
      await one.save({ author })
      return one.data
    }
    expect(await given(Keyed, ann, { inputData: { title: 'x' } })).toMatchObject({ author: 1 })
    expect(await given(Keyed, bob, { obj: await book(), inputData: {}, partial: true })).toMatchObject({
      id: 1,
      author: 2,
    })
    expect(await given(BookSerializer, bob, { inputData: { title: 'y', author_id: 1 } })).toMatchObject({
      author_id: 2,
    })
    expect(await given(FullBookSerializer, ann, { inputData: { title: 'z' } })).toMatchObject({
      author: { name: 'Ann' },
    })
    class Elsewhere extends Model {
      static override tableName = 'public.authors'
    }
    const named = await Elsewhere.query(database.knex).findById(2)
    await prepareModels([Author, Elsewhere], database.knex)
    expect(await given(Keyed, named, { inputData: { title: 'v' } })).toMatchObject({ author: 2 })
    expect(await Author.query().resultSize()).toBe(2)
    const unsaved = Author.fromJson({ name: 'new' })
    await expect(given(Keyed, unsaved, { inputData: { title: 'x' } })).rejects.toThrow(
      'Keyed: cannot write "author": it is given an object without its "id"',
    )
    // a nested one makes it, as it makes that of an input
    expect(await given(FullBookSerializer, unsaved, { inputData: { title: 'w' } })).toMatchObject({
      author: { name: 'new' },
    })
  })

  it('takes objects in the place of their keys in a list of keys, which clients may only read, too', async () => {
    class Shown extends TaggedSerializer {
      static override readOnlyFields = ['tags']
    }
    const red = await Tag.query().insert({ slug: 'scarlet' })
    const blue = await Tag.query().insert({ slug: 'azure' })
    const given = async (serializer: unknown, tags: unknown, options: object) => {
      const one = make(serializer, options)
      await one.isValid({ raiseException: true })
      await one.save({ tags })
      return one.data
    }
    const change = async () => ({ obj: await book(), inputData: {}, partial: true })
    for (const serializer of [TaggedSerializer, Shown]) {
      expect(await given(serializer, [red, blue.id], await change())).toMatchObject({ tags: [red.id, blue.id] })
      expect(await given(serializer, [blue], await change())).toMatchObject({ tags: [blue.id] })
      expect(await given(serializer, [], await change())).toMatchObject({ tags: [] })
      expect(await given(serializer, [red], { inputData: { title: 'x' } })).toMatchObject({ tags: [red.id] })
    }
    await expect(given(Shown, [Tag.fromJson({ slug: 'new' })], await change())).rejects.toThrow(
      'Shown: cannot write "tags": it is given an object without its "id"',
    )
    for (const one of [red, new Set([red])])
      await expect(given(TaggedSerializer, one, await change())).rejects.toThrow(
        'TaggedSerializer: cannot write "tags": it is a list of keys, and is given something else',
      )
  })

  it('refuses keys in the place of nested objects, of which it had made objects without a value', async () => {
    const one = new ShelfSerializer({ obj: await book(), inputData: {}, partial: true })
    await one.isValid({ raiseException: true })
    for (const tags of [[1, 2], [null]])
      await expect(one.save({ tags })).rejects.toThrow(
        'ShelfSerializer: cannot write "tags": it is given keys in the place of objects; let a field with shownBy take them',
      )
  })

  it('refuses what an application may give by mistake, of which clients were told, or which was written as something else', async () => {
    const ann = await Author.query().findById(1)
    const red = await Tag.query().insert({ slug: 'scarlet' })
    const reviews = await Review.query().where({ book_id: 1 })
    for (const [serializer, extra, message] of [
      [TaggedSerializer, { tags: [{ id: red.id }] }, 'an object that is no Tag; give keys, or objects of Tag'],
      [TaggedSerializer, { tags: [ann] }, 'an object that is no Tag; give keys, or objects of Tag'],
      [TaggedSerializer, { tags: [red.id, undefined] }, 'undefined among its keys'],
      [TaggedSerializer, { tags: [null] }, 'null among its keys'],
      [TaggedSerializer, { tags: [Promise.resolve(red.id)] }, 'a promise; await it'],
      [TaggedSerializer, { tags: Promise.resolve([red.id]) }, 'a promise; await it'],
      [BookSerializer, { title: Promise.resolve('x') }, 'a promise; await it'],
      [BookSerializer, { n: Number.NaN }, 'NaN, and holds integers'],
      [BookSerializer, { owner_id: Number.POSITIVE_INFINITY }, 'Infinity, and holds integers'],
      [ShelfSerializer, { tags: Promise.resolve([]) }, 'a promise; await it'],
      [ShelfSerializer, { tags: [Promise.resolve(red)] }, 'a promise; await it'],
      [ShelfSerializer, { tags: [red] }, 'rows that are stored, and would insert them again'],
      [ShelfSerializer, { reviews }, 'rows that are stored, and would insert them again'],
    ] as const) {
      const one = make(serializer, { obj: await book(), inputData: {}, partial: true })
      await one.isValid({ raiseException: true })
      const name = Object.keys(extra)[0] ?? ''
      const refusal = one.save(extra)
      await expect(refusal).rejects.toThrow(`${serializer.name}: cannot write "${name}": it is given ${message}`)
      await expect(refusal).rejects.toBeInstanceOf(ConfigurationError)
    }
    // those that are not stored are made, and a query is a part of the statement
    const one = make(ShelfSerializer, { obj: await book(), inputData: {}, partial: true })
    await one.isValid({ raiseException: true })
    await one.save({ tags: [Tag.fromJson({ slug: 'new' })], title: Author.query().select('name').findById(2) })
    expect(one.data).toMatchObject({
      title: 'Bob',
      tags: expect.arrayContaining([{ id: expect.any(Number), slug: 'new' }]),
    })
  })

  it('[A9] sends no UPDATE when nothing was sent', async () => {
    const obj = await book()
    const texts = await countQueries(database.knex, async () => {
      expect(await saved(BookSerializer, {}, { obj, partial: true })).toMatchObject({ id: 1, title: 'One' })
    })
    expect(texts).toEqual([])
  })

  it('calls the create and update of the class', async () => {
    class Own extends Serializer<{ name: string }> {
      static override declaredFields = { name: new StringField() }
      override create(data: Record<string, unknown>) {
        return { name: `created ${String(data['name'])}` }
      }
      override update(instance: { name: string }, data: Record<string, unknown>) {
        return { name: `${instance.name} became ${String(data['name'])}` }
      }
    }
    expect(await saved(Own, { name: 'x' })).toEqual({ name: 'created x' })
    expect(await saved(Own, { name: 'y' }, { obj: { name: 'x' } })).toEqual({ name: 'x became y' })
    const items = [{ name: 'x' }, { name: 'y' }]
    expect(await saved(Own, items, { many: true })).toEqual([{ name: 'created x' }, { name: 'created y' }])
    expect(await saved(Own, items, { many: true, obj: [{ name: 'a' }, { name: 'b' }] })).toEqual([
      { name: 'a became x' },
      { name: 'b became y' },
    ])
  })

  it('updates each object of a list by the data in its place', async () => {
    const obj = [await book(1), await book(2)]
    const list = new BookSerializer({ obj, inputData: [{ title: 'x' }, { title: 'y' }], many: true, partial: true })
    await list.isValid({ raiseException: true })
    await list.save()
    expect(list.data).toMatchObject([{ title: 'x' }, { title: 'y' }])
    expect([(await book(1)).title, (await book(2)).title]).toEqual(['x', 'y'])
  })

  it('says so where it cannot: a serializer without create, a key that is no column', async () => {
    class Plain extends Serializer {
      static override declaredFields = { a: new StringField() }
    }
    await expect(saved(Plain, { a: 'x' })).rejects.toThrow('Plain: override create(data), or extend ModelSerializer')
    const made = new BookSerializer({ inputData: { title: 'x' } })
    await made.isValid()
    await expect(made.save({ nope: 1 })).rejects.toThrow(ConfigurationError)
  })

  it('changes an object as one of its own class, whatever class of its table the serializer has', async () => {
    class OtherBook extends Model {
      static override tableName = 'books'
      override $beforeUpdate() {
        Object.assign(this, { isbn: null })
      }
    }
    OtherBook.knex(database.knex)
    await prepareModels([OtherBook])
    const Noted = variant(BookSerializer, { fields: ['id', 'meta', 'isbn'] })
    for (const meta of [[], [1, ['a']], 'text', { a: [1] }]) {
      const obj = await OtherBook.query().findById(1).throwIfNotFound()
      expect(await saved(Noted, { meta, isbn: 'x' }, { obj })).toMatchObject({ meta, isbn: null })
      expect((await rows('books'))[0]).toMatchObject({ meta, isbn: null })
    }
    const obj = await OtherBook.query().orderBy('id')
    const inputData = obj.map((_, index) => ({ meta: [index], isbn: 'x' }))
    const list = make(Noted, { obj, inputData, many: true })
    await list.isValid({ raiseException: true })
    await list.save()
    expect(list.data).toMatchObject(inputData.map(({ meta }) => ({ meta, isbn: null })))
  })

  it('changes no row of another table, and is told of what is no row, or of too few', async () => {
    const author = await Author.query().findById(1).throwIfNotFound()
    for (const obj of [author, { id: 1 }, Object.create(null)])
      await expect(
        saved(variant(BookSerializer, { fields: ['id', 'title'] }), { title: 'x' }, { obj }),
      ).rejects.toThrow('VariantSerializer: obj is no Book; give one that this model has read')
    const list = make(BookSerializer, { obj: [await book(1)], inputData: [{}, {}], many: true, partial: true })
    await list.isValid({ raiseException: true })
    await expect(list.save()).rejects.toThrow('BookSerializer: inputData has 2 items for 1 objects; give one for each')
  })

  it('answers 404 when the row is gone', async () => {
    const obj = await book()
    await database.knex.raw('truncate books cascade')
    await expect(saved(BookSerializer, { title: 'x' }, { obj })).rejects.toMatchObject({ status: 404 })
  })

  it("tells what the database refuses by the client's fields, whatever their source", async () => {
    const Renamed = variant(BookSerializer, {
      fields: ['id', 'title', 'number'],
      extraKwargs: { number: { source: 'isbn' } },
    })
    expect((await failure(saved(Renamed, { title: 'x', number: '111' }))).errors).toEqual({
      number: ['This field must be unique.'],
    })
    const Hidden = variant(ReviewSerializer, {
      fields: ['stars', 'text'],
      declaredFields: { book_id: new HiddenField({ default: 1 }) },
    })
    expect((await failure(saved(Hidden, { stars: 9 }))).errors).toEqual({ stars: ['Invalid value.'] })
    // the hidden half of the pair is not named
    expect((await failure(saved(Hidden, { stars: 4, text: 'good' }))).errors).toEqual({
      text: ['This field must be unique.'],
    })
    expect((await failure(saved(ReviewSerializer, { stars: 4, text: 'good', book_id: 1 }))).errors).toEqual({
      non_field_errors: ['The fields book_id, text must make a unique set.'],
    })
  })
})

describe('a writable nested object', () => {
  const author = { name: 'Cy', bio: 'c' }

  it('is created first, and the row refers to it', async () => {
    const texts = await countQueries(database.knex, async () => {
      expect(await saved(FullBookSerializer, { title: 'x', author })).toEqual({
        id: 3,
        title: 'x',
        isbn: null,
        author: { id: 3, ...author },
      })
    })
    expect(texts.map((text) => text.split(' ', 3).join(' '))).toEqual([
      'BEGIN;',
      'insert into "authors"',
      'insert into "books"',
      'select "authors".*, "koa_viewsets_keys"."koaviewsetsplace"',
      'COMMIT;',
    ])
    expect(await saved(FullBookSerializer, { title: 'y', author: null })).toMatchObject({ author: null })
  })

  it('[A7] ignores an id on create, and makes a new object', async () => {
    expect(await saved(FullBookSerializer, { title: 'x', author: { ...author, id: 1 } })).toMatchObject({
      author: { id: 3 },
    })
    expect((await rows('authors'))[0]).toMatchObject({ name: 'Ann' })
  })

  it('is the object now related on update; null lets go of it', async () => {
    const obj = await book()
    expect(await saved(FullBookSerializer, { title: 'x', author }, { obj })).toMatchObject({
      author: { id: 1, ...author },
    })
    expect(await rows('authors')).toHaveLength(2)
    expect(await saved(FullBookSerializer, { title: 'x', author: null }, { obj: await book() })).toMatchObject({
      author: null,
    })
    expect(await rows('authors')).toHaveLength(2)
    // there is none any more: a new one is made
    expect(
      await saved(FullBookSerializer, { author: { name: 'Di', bio: '' } }, { obj: await book(), partial: true }),
    ).toMatchObject({ author: { id: 3, name: 'Di' } })
  })

  it.each([2, '2', 99, '1x', 1.5, true, { id: 1 }, [1], [2]])(
    "[A7] refuses another object's id on update: %j",
    async (id) => {
      for (const partial of [true, false]) {
        const errors = await refused(
          FullBookSerializer,
          { title: 'x', author: { ...author, id } },
          { obj: await book(), partial },
        )
        expect(Object.keys(errors?.['author'] ?? {})).toEqual(['id'])
      }
      expect(await rows('authors')).toMatchObject([{ name: 'Ann' }, { name: 'Bob' }])
    },
  )

  it('[A7] changes nothing when another request has moved the relation since it was checked', async () => {
    const [ada, ben] = await Author.query().insert([
      { name: 'moved from', bio: 'b' },
      { name: 'moved to', bio: 'b' },
    ] as never[])
    const book = await Book.query().insertAndFetch({ title: 'moving', author_id: (ada as Author).id })
    const serializer = new FullBookSerializer({ obj: book, inputData: { author: { name: 'x' } }, partial: true })
    expect(await serializer.isValid()).toBe(true)
    await Book.query()
      .findById(book.id)
      .patch({ author_id: (ben as Author).id } as never)
    await expect(serializer.save()).rejects.toMatchObject({ status: 409 })
    const names = await Author.query()
      .findByIds([(ada as Author).id, (ben as Author).id])
      .orderBy('id')
    expect(names).toMatchObject([{ name: 'moved from' }, { name: 'moved to' }])

    const review = await Review.query().insertAndFetch({ stars: 1, text: 'old', book_id: book.id } as never)
    const shelf = new ShelfSerializer({
      obj: await Book.query().findById(book.id).throwIfNotFound(),
      inputData: { reviews: [{ id: review.id, text: 'x' }] },
      partial: true,
    })
    expect(await shelf.isValid()).toBe(true)
    await Review.query()
      .findById(review.id)
      .patch({ book_id: (await Book.query().insertAndFetch({ title: 'elsewhere' } as Partial<Book>)).id } as never)
    await expect(shelf.save()).rejects.toMatchObject({ status: 409 })
    expect(await Review.query().findById(review.id)).toMatchObject({ text: 'old' })
  })

  it('[A7] takes its own id, and none', async () => {
    for (const id of [1, '1', null]) {
      expect(
        await saved(FullBookSerializer, { author: { id, name: `is ${id}` } }, { obj: await book(), partial: true }),
      ).toMatchObject({ author: { id: 1, name: `is ${id}` } })
    }
    // where there is none now, an id names nothing
    const lonely = await Book.query().insertAndFetch({ title: 'lonely' } as Partial<Book>)
    expect(await refused(FullBookSerializer, { author: { id: 1, ...author } }, { obj: lonely, partial: true })).toEqual(
      {
        author: { id: ['Invalid pk "1" - object does not exist.'] },
      },
    )
  })

  it('[A9] is partial where the update is, and whole where it is new', async () => {
    expect(
      await saved(FullBookSerializer, { author: { name: 'x' } }, { obj: await book(), partial: true }),
    ).toMatchObject({
      author: { name: 'x', bio: 'a' },
    })
    expect(await refused(FullBookSerializer, { title: 'x', author: { name: 'x' } }, { obj: await book() })).toEqual({
      author: { bio: ['This field is required.'] },
    })
    const lonely = await Book.query().insertAndFetch({ title: 'lonely' } as Partial<Book>)
    expect(await refused(FullBookSerializer, { author: { name: 'x' } }, { obj: lonely, partial: true })).toEqual({
      author: { bio: ['This field is required.'] },
    })
  })

  it('[A8] is rolled back with the row, and the row with it', async () => {
    const error = await failure(saved(FullBookSerializer, { title: 'x', isbn: '222', author }))
    expect(error.errors).toEqual({ isbn: ['This field must be unique.'] })
    await failure(saved(FullBookSerializer, { title: 'x', isbn: '222', author }, { obj: await book() }))
    expect(await rows('authors')).toMatchObject([{ name: 'Ann' }, { name: 'Bob' }])
  })

  it('[A8] tells what the database refuses under the nested field', async () => {
    const taken = { name: 'Bob', bio: '' }
    expect((await failure(saved(FullBookSerializer, { title: 'x', author: taken }))).errors).toEqual({
      author: { name: ['This field must be unique.'] },
    })
    expect(
      (await failure(saved(FullBookSerializer, { title: 'x', author: taken }, { obj: await book() }))).errors,
    ).toEqual({
      author: { name: ['This field must be unique.'] },
    })
    const reviews = [
      { stars: 1, text: 'fine' },
      { stars: 6, text: 'too many' },
    ]
    expect((await failure(saved(ShelfSerializer, { title: 'x', reviews }))).errors).toEqual({
      reviews: { 1: { stars: ['Invalid value.'] } },
    })
    expect(
      (await failure(saved(ShelfSerializer, [{ title: 'x' }, { title: 'y', tags: [{ slug: 'red' }] }], { many: true })))
        .errors,
    ).toEqual({
      1: { tags: { 0: { slug: ['This field must be unique.'] } } },
    })
    expect(await rows('books')).toHaveLength(2)
    expect(await rows('reviews')).toHaveLength(3)
  })

  it('works inside the transaction it is given', async () => {
    const trx = await database.knex.transaction()
    const context = { knex: trx }
    try {
      await saved(FullBookSerializer, { title: 'x', author }, { context })
      await saved(ShelfSerializer, { title: 'y', tags: [{ slug: 'new' }], reviews: [{ stars: 3 }] }, { context })
    } finally {
      await trx.rollback()
    }
    expect([await rows('books'), await rows('authors'), await rows('genres')].map((all) => all.length)).toEqual([
      2, 2, 3,
    ])
  })

  it('may be any depth, and is loaded before it is compared', async () => {
    const Deep = variant(AuthorSerializer, {
      fields: ['id', 'name'],
      extraKwargs: {},
      declaredFields: {
        country: new NestedSerializer(variant(TagSerializer, { model: Country, fields: ['id', 'code', 'name'] })),
      },
    })
    const Outer = variant(BookSerializer, { fields: ['title'], declaredFields: { author: new NestedSerializer(Deep) } })
    const obj = await Book.query().findById(1).withGraphFetched('author')
    const change = { author: { country: { id: 1, name: 'Deutschland' } } }
    expect(await saved(Outer, change, { obj, partial: true })).toEqual({
      title: 'One',
      author: { id: 1, name: 'Ann', country: { id: 1, code: 'de  ', name: 'Deutschland' } },
    })
    expect(await rows('countries')).toHaveLength(2)
    expect(await refused(Outer, { author: { country: { id: 2 } } }, { obj: await book(), partial: true })).toEqual({
      author: { country: { id: ['Invalid pk "2" - object does not exist.'] } },
    })
  })

  it('that is read-only takes no input', async () => {
    const Shown = variant(FullBookSerializer, {
      declaredFields: { author: new NestedSerializer(AuthorSerializer, { readOnly: true }) },
    })
    expect(await saved(Shown, { title: 'x', author: { name: 'pwn' } }, { obj: await book() })).toMatchObject({
      author: { name: 'Ann' },
    })
  })

  it('that points to the row is created after it, changed, and let go', async () => {
    expect(await saved(ShelfSerializer, { title: 'x', cover: { color: 'red' } })).toMatchObject({
      cover: { id: 2, color: 'red' },
    })
    const obj = await book()
    expect(await saved(ShelfSerializer, { cover: { color: 'white' } }, { obj, partial: true })).toMatchObject({
      cover: { id: 1, color: 'white' },
    })
    expect(
      await refused(ShelfSerializer, { cover: { id: 2, color: 'pwn' } }, { obj: await book(), partial: true }),
    ).toEqual({
      cover: { id: ['Invalid pk "2" - object does not exist.'] },
    })
    expect(await saved(ShelfSerializer, { cover: null }, { obj: await book(), partial: true })).toMatchObject({
      cover: null,
    })
    expect(await rows('covers')).toEqual([
      { id: 1, color: 'white', book_id: null },
      { id: 2, color: 'red', book_id: 3 },
    ])
    expect(
      await saved(ShelfSerializer, { cover: { color: 'new' } }, { obj: await book(2), partial: true }),
    ).toMatchObject({
      cover: { id: 3, color: 'new' },
    })
  })

  it('in a list is told by its id: known ones change, new ones are added, others stay', async () => {
    const reviews = [
      { id: 2, stars: 4 },
      { stars: 2, text: 'new' },
    ]
    const data = await saved(ShelfSerializer, { reviews }, { obj: await book(), partial: true })
    expect(data.reviews).toEqual([
      { id: 1, stars: 5, text: 'good', book_id: 1, critic_id: 2 },
      { id: 2, stars: 4, text: 'bad', book_id: 1, critic_id: null },
      { id: 4, stars: 2, text: 'new', book_id: 1, critic_id: null },
    ])
    expect(
      await refused(
        ShelfSerializer,
        { reviews: [{ id: 1 }, { id: 3, stars: 1 }, { text: 'x' }, { id: 9 }] },
        { obj: await book(), partial: true },
      ),
    ).toEqual({
      reviews: {
        1: { id: ['Invalid pk "3" - object does not exist.'] },
        2: { stars: ['This field is required.'] },
        3: { id: ['Invalid pk "9" - object does not exist.'] },
      },
    })
  })

  it('in a list belongs to the row, whatever key it names', async () => {
    const reviews = [
      { stars: 2, text: 'mine', book_id: 2 },
      { id: 1, book_id: 2 },
    ]
    await saved(ShelfSerializer, { title: 'x', reviews: reviews.slice(0, 1) })
    await saved(ShelfSerializer, { reviews }, { obj: await book(), partial: true })
    expect((await rows('reviews')).map(({ book_id }) => book_id)).toEqual([1, 1, 2, 3, 1])
  })

  it('[A7 B17] in a list is told by all columns of its key', async () => {
    const obj = () => Sheet.query().findById(1).throwIfNotFound()
    const save = async (lines: object[]) =>
      (await saved(SheetSerializer, { lines }, { obj: await obj(), partial: true })).lines
    const one = { sheet_id: 1, position: 1, text: 'one' }
    const two = { sheet_id: 1, position: 2, text: 'two' }
    expect(await save([one, two])).toEqual([one, two])
    expect(await save([{ sheet_id: 1, position: 2, text: 'zwei' }])).toEqual([one, { ...two, text: 'zwei' }])
    expect(await save([{ position: 1, text: 'eins' }])).toEqual([
      { ...one, text: 'eins' },
      { ...two, text: 'zwei' },
    ])
    // a position that is free is a new line, of this sheet whatever it says
    expect(await save([{ sheet_id: 2, position: 7, text: 'new' }])).toEqual([
      { ...one, text: 'eins' },
      { ...two, text: 'zwei' },
      { sheet_id: 1, position: 7, text: 'new' },
    ])
    const lines = [{ sheet_id: 1, text: 'which' }]
    expect(await refused(SheetSerializer, { lines }, { obj: await obj(), partial: true })).toEqual({
      lines: { 0: { position: ['This field is required.'] } },
    })
    expect(await database.knex('lines').where('sheet_id', 2)).toEqual([{ sheet_id: 2, position: 1, text: 'other' }])
  })

  it('[B17] in a list is told by its key in any spelling that the key has', async () => {
    const id = 'aaaaaaaa-9c0b-4ef8-bb6d-6bb9bd380a11'
    await database.knex('notes').insert({ id, sheet_id: 1, text: 'n' })
    const save = async (notes: object[]) => {
      const obj = await Sheet.query().findById(1).throwIfNotFound()
      return (await saved(NotedSerializer, { notes }, { obj, partial: true })).notes
    }
    expect(await save([{ id, text: 'lower' }])).toEqual([{ id, text: 'lower' }])
    expect(await save([{ id: id.toUpperCase(), text: 'upper' }])).toEqual([{ id, text: 'upper' }])
    const reviews = [{ id: '2', stars: 4 }]
    expect((await saved(ShelfSerializer, { reviews }, { obj: await book(), partial: true })).reviews[1]).toMatchObject({
      id: 2,
      stars: 4,
    })
  })

  it.each([
    ['several columns, before a catalogue was read', ['int', 'text'], [1, 'a'], [1, 'b'], false],
    ['lists', ['int[]', 'text[]'], [[1], ['a']], [[1, 2], ['b']], true],
  ] as const)('of several objects are told apart by keys of %s', async (_, types, one, other, isPrepared) => {
    const [x, y] = types
    await database.knex.raw(`drop table if exists leaves; drop table if exists trees;
      create table trees (id int primary key generated by default as identity, x ${x}, y ${y}, unique (x, y));
      create table leaves (id int primary key generated by default as identity, x ${x}, y ${y}, text text, foreign key (x, y) references trees (x, y))`)
    const integer = { type: 'integer' }
    const keys = isPrepared ? {} : { x: integer, y: { type: 'string' } }
    class Leaf extends Model {
      static override tableName = 'leaves'
      static override jsonSchema = { type: 'object', properties: { id: integer, ...keys, text: { type: 'string' } } }
    }
    class Tree extends Model {
      static override tableName = 'trees'
      static override jsonSchema = { type: 'object', properties: { id: integer, ...keys } }
      static override relationMappings: RelationMappings = {
        leaves: {
          relation: Model.HasManyRelation,
          modelClass: Leaf,
          join: { from: ['trees.x', 'trees.y'], to: ['leaves.x', 'leaves.y'] },
        },
      }
    }
    for (const model of [Leaf, Tree]) model.knex(database.knex)
    if (isPrepared) await prepareModels([Leaf, Tree])
    const nested = { leaves: new NestedSerializer(serializerOf(Leaf, ['id', 'text']), { many: true }) }
    const serializer = serializerOf(Tree, ['id', 'x', 'y', 'leaves'], nested)
    const trees = [one, other].map(([x, y]) => ({ x, y, leaves: [{ text: 'a' }] }))
    const made = await saved(serializer, trees, { many: true })
    expect(made).toMatchObject(trees)
    const changed = made.map((tree: any) => ({ ...tree, leaves: [{ id: tree.leaves[0].id, text: 'b' }] }))
    const obj = await Tree.query().withGraphFetched('leaves').orderBy('id')
    expect(await saved(serializer, changed, { obj, many: true })).toEqual(changed)
    expect(await Tree.query().withGraphFetched('leaves').orderBy('id')).toMatchObject(changed)
  })

  it('of a many-to-many relation is related once, also where its create() finds what is related already', async () => {
    class FoundTagSerializer extends variant(TagSerializer, {}) {
      override async create(data: Record<string, unknown>) {
        const found = await Tag.query(this.context.knex as never).findOne({ slug: data['slug'] as string })
        return found ?? super.create(data)
      }
    }
    const tags = new NestedSerializer(FoundTagSerializer, { many: true })
    const { send } = await serveViews({
      books: viewOf(Book, serializerOf(Book, ['id', 'title', 'n', 'tags'], { tags })),
    })
    const slugs = async (method: string, path: string, names: readonly string[]) => {
      const { json } = await send(method, path, { title: 'x', n: 1, tags: names.map((slug) => ({ slug })) })
      return json.tags.map(({ slug }: { slug: string }) => slug)
    }
    expect(await slugs('POST', '/books', ['red', 'red', 'new'])).toEqual(['red', 'new'])
    expect(await slugs('PATCH', '/books/3', ['new', 'green'])).toEqual(['red', 'green', 'new'])
    expect(await database.knex('books_genres').where('book_id', 3)).toHaveLength(3)
  })

  it('of a many-to-many relation is created and related', async () => {
    const made = await saved(ShelfSerializer, { title: 'x', tags: [{ slug: 'new' }, { slug: 'newer', id: 1 }] })
    expect(made.tags).toEqual([
      { id: 4, slug: 'new' },
      { id: 5, slug: 'newer' },
    ])
    const changed = await saved(
      ShelfSerializer,
      { tags: [{ id: 1, slug: 'crimson' }] },
      { obj: await book(), partial: true },
    )
    expect(changed.tags).toEqual([
      { id: 1, slug: 'crimson' },
      { id: 2, slug: 'green' },
    ])
    expect(
      await refused(ShelfSerializer, { tags: [{ id: 3, slug: 'pwn' }] }, { obj: await book(), partial: true }),
    ).toEqual({
      tags: { 0: { id: ['Invalid pk "3" - object does not exist.'] } },
    })
  })
})

describe('a related field', () => {
  const Slug = variant(BookSerializer, {
    fields: ['id', 'title'],
    declaredFields: {
      author: new SlugRelatedField({ queryset: Author, slugField: 'name', required: false, allowNull: true }),
    },
  })

  it('takes and shows primary keys', async () => {
    expect(await saved(BookSerializer, { title: 'x', author_id: 2 })).toMatchObject({ author_id: 2 })
    expect(await refused(BookSerializer, { title: 'x', author_id: 99 })).toEqual({
      author_id: ['Invalid pk "99" - object does not exist.'],
    })
    for (const wrong of ['2', 1.5, true, {}, [2], 2147483648, -2147483649]) {
      expect(Object.keys((await refused(BookSerializer, { title: 'x', author_id: wrong })) ?? {})).toEqual([
        'author_id',
      ])
    }
  })

  it('takes and shows slugs', async () => {
    const obj = await Book.query().findById(1).withGraphFetched(Slug.plan.relations)
    expect(make(Slug, { obj }).data).toEqual({ id: 1, title: 'One', author: 'Ann' })
    expect(await saved(Slug, { title: 'x', author: 'Bob' })).toMatchObject({ author: 'Bob' })
    expect((await rows('books'))[2]).toMatchObject({ author_id: 2 })
    expect(await refused(Slug, { title: 'x', author: 'Zed"' })).toEqual({
      author: ['Object with slug "Zed\\"" does not exist.'],
    })
    expect(await saved(Slug, { title: 'x', author: null })).toMatchObject({ author: null })
  })

  it('of many shows and takes a set: the list given is what is related, a missing key leaves it', async () => {
    expect(await saved(TaggedSerializer, { title: 'x', tags: [3, 1, 3] })).toMatchObject({
      tags: expect.arrayContaining([1, 3]),
    })
    expect((await saved(TaggedSerializer, { title: 'y' })).tags).toEqual([])
    const tags = async (inputData: object, partial: boolean) => {
      const data = await saved(TaggedSerializer, inputData, { obj: await book(), partial })
      return data.tags.toSorted()
    }
    expect(await tags({ n: 1 }, true)).toEqual([1, 2])
    expect(await tags({ title: 'kept' }, false)).toEqual([1, 2])
    expect(await tags({ tags: [2, 3] }, true)).toEqual([2, 3])
    expect(await tags({ title: 'x', tags: [2, 3] }, false)).toEqual([2, 3])
    expect(await tags({ tags: [] }, true)).toEqual([])
    expect(await database.knex('books_genres').where({ book_id: 1 })).toEqual([])
    expect(await refused(TaggedSerializer, { title: 'x', tags: [1, 98, 99] })).toEqual({
      tags: ['Invalid pk "98" - object does not exist.', 'Invalid pk "99" - object does not exist.'],
    })
    for (const wrong of [1, '1', {}, [null], ['1'], [[1]], [true]]) {
      expect(Object.keys((await refused(TaggedSerializer, { title: 'x', tags: wrong })) ?? {})).toEqual(['tags'])
    }
  })

  it('of many are none where null is taken', async () => {
    const Nullable = variant(TaggedSerializer, {
      declaredFields: { tags: new PrimaryKeyRelatedField({ queryset: Tag, many: true, allowNull: true }) },
    })
    expect((await saved(Nullable, { title: 'x', tags: null })).tags).toEqual([])
    const change = { obj: await book(), partial: true }
    expect((await saved(Nullable, { tags: null }, change)).tags).toEqual([])
    expect(await database.knex('books_genres').where({ book_id: 1 })).toEqual([])
  })

  it('of many may name objects by slug', async () => {
    const Slugs = variant(TaggedSerializer, {
      fields: ['title'],
      declaredFields: { tags: new SlugRelatedField({ queryset: Tag, slugField: 'slug', many: true }) },
    })
    expect((await saved(Slugs, { title: 'x', tags: ['red', 'blue', 'red'] })).tags).toEqual(['red', 'blue'])
    expect(await refused(Slugs, { title: 'x', tags: ['red', 'pink'] })).toEqual({
      tags: ['Object with slug "pink" does not exist.'],
    })
  })

  it('of many takes more keys than a statement takes parameters', async () => {
    await database.knex.raw(`insert into genres (slug) select 't' || n from generate_series(1, 40000) n`)
    const tags = Array.from({ length: 40_000 }, (_, index) => index + 4)
    const made = await saved(TaggedSerializer, { title: 'x', tags }, { context: { maxNestedObjects: 40_000 } })
    expect(made.tags).toHaveLength(40_000)
    expect(await saved(TaggedSerializer, { tags: [1] }, { obj: await book(3), partial: true })).toMatchObject({
      tags: [1],
    })
  })

  it('[R10] of many tells of a hundred missing objects, however many there are', async () => {
    const tags = Array.from({ length: 20_000 }, (_, index) => -1 - index)
    const told = tags.slice(0, 100).map((key) => `Invalid pk "${key}" - object does not exist.`)
    const context = { maxNestedObjects: 20_000 }
    expect(await refused(TaggedSerializer, { title: 'x', tags }, { context })).toEqual({ tags: told })
  })

  it('of many becomes one of the sets that two writers give, never a mixture', async () => {
    const write = async (tags: number[]) => saved(TaggedSerializer, { tags }, { obj: await book(), partial: true })
    for (let round = 0; round < 10; round++) {
      await database.knex('books_genres').delete()
      await Promise.all([write([1, 2]), write([3])])
      const stored = (await database.knex('books_genres').where({ book_id: 1 }).orderBy('genre_id')).map(
        ({ genre_id }) => genre_id,
      )
      expect([[1, 2], [3]]).toContainEqual(stored)
    }
  })

  it('[E12] chooses among what the request may see; forbidden and missing read the same', async () => {
    const Own = variant(BookSerializer, {
      fields: ['title'],
      declaredFields: {
        author_id: new PrimaryKeyRelatedField({
          queryset: (context) => Author.query().where('owner_id', (context.user as { id: number }).id),
        }),
      },
    })
    const context = { user: { id: 1 } }
    expect(await saved(Own, { title: 'x', author_id: 1 }, { context })).toEqual({ title: 'x', author_id: 1 })
    const texts = [2, 99].map(
      async (author_id) => (await refused(Own, { title: 'x', author_id }, { context }))?.['author_id'],
    )
    expect(await Promise.all(texts)).toEqual([2, 99].map((key) => [`Invalid pk "${key}" - object does not exist.`]))
  })

  it('asks the application for no queryset where nothing is chosen', async () => {
    const Own = variant(BookSerializer, {
      fields: ['title'],
      declaredFields: {
        author_id: new PrimaryKeyRelatedField({
          queryset: (context) => Author.query().where('owner_id', (context.user as { id: number }).id),
          required: false,
        }),
      },
    })
    const obj = await Book.query().findById(1)
    const partly = make(Own, { obj, partial: true, inputData: { title: 'x' }, context: {} })
    expect([await partly.isValid(), partly.validatedData]).toEqual([true, { title: 'x' }])
    const whole = make(Own, { inputData: { title: 'x' }, context: {} })
    expect([await whole.isValid(), whole.validatedData]).toEqual([true, { title: 'x' }])
  })

  it('takes its default once, also where something else is refused', async () => {
    let defaults = 0
    const author_id = new PrimaryKeyRelatedField({ queryset: Author, default: () => ++defaults })
    const Own = variant(BookSerializer, { fields: ['title'], declaredFields: { author_id } })
    const client = await serveViews({ books: viewOf(Book, Own) })
    const answer = await client.send('POST', '/books', { title: null })
    expect([answer.json.errors, defaults]).toEqual([{ title: ['This field may not be null.'] }, 1])
  })

  it('without a queryset is shown', async () => {
    const Shown = variant(BookSerializer, {
      fields: ['id'],
      declaredFields: {
        author_id: new PrimaryKeyRelatedField({ readOnly: true }),
        tags: new PrimaryKeyRelatedField({ readOnly: true, many: true }),
        author: new SlugRelatedField({ readOnly: true, slugField: 'name' }),
      },
    })
    const obj = await Book.query().findById(1).withGraphFetched(Shown.plan.relations)
    expect(make(Shown, { obj }).data).toEqual({ id: 1, author_id: 1, tags: [1, 2], author: 'Ann' })
  })

  it('stores the column that the foreign key points to', async () => {
    class Club extends Model {
      static override tableName = 'clubs'
      static override get relationMappings(): RelationMappings {
        return {
          country: {
            relation: Model.BelongsToOneRelation,
            modelClass: Country,
            join: { from: 'clubs.country_code', to: 'countries.code' },
          },
        }
      }
    }
    await database.knex.raw(
      'create table clubs (id serial primary key, country_code char(4) references countries (code))',
    )
    Club.knex(database.knex)
    await prepareModels([Club, Country])
    class Generated extends ModelSerializer {
      static override model = Club
      static override fields = ['country_code']
    }
    class ByName extends ModelSerializer {
      static override model = Club
      static override declaredFields = { country: new SlugRelatedField({ queryset: Country, slugField: 'name' }) }
    }
    expect(await saved(Generated, { country_code: 'fr' })).toEqual({ country_code: 'fr  ' })
    expect(await saved(ByName, { country: 'Germany' })).toEqual({ country: 'Germany' })
    expect(await database.knex('clubs').pluck('country_code')).toEqual(['fr  ', 'de  '])
  })
})

describe('[I22] queries', () => {
  const shelf = (count: number) =>
    Array.from({ length: count }, (_, index) => ({
      title: `t${index}`,
      author_id: (index % 2) + 1,
      reviews: [
        { stars: 3, text: 'a', critic_id: (index % 2) + 1 },
        { stars: 3, text: 'b', critic_id: 2 },
      ],
    }))
  class Listed extends ShelfSerializer {
    static override fields = ['id', 'title', 'author_id']
  }

  it.each([1, 10, 100])(
    'for related fields are one each, in a list of %i and in the lists inside it',
    async (count) => {
      const texts = await countQueries(database.knex, async () => {
        expect(await refused(Listed, shelf(count), { many: true })).toBeUndefined()
      })
      expect(texts).toHaveLength(2)
    },
  )

  it.each([1, 10, 100])('for the output are one and one for each relation, for %i rows', async (count) => {
    await saved(Listed, shelf(count), { many: true })
    const texts = await countQueries(database.knex, async () => {
      const obj = await Book.query().where('id', '>', 2).withGraphFetched(Listed.plan.relations)
      expect(make(Listed, { obj, many: true }).data).toHaveLength(count)
    })
    expect(texts).toHaveLength(4)
  })
})
