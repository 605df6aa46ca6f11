/** Serializers on real tables: their fields, what they accept and what they show. */
import { runInNewContext } from 'node:vm'
import Koa from 'koa'
import {
  APIRouter,
  ArrayField,
  ConfigurationError,
  CurrentUserDefault,
  DateField,
  DateTimeField,
  type DeclaredFields,
  HiddenField,
  IntegerField,
  JSONField,
  ModelSerializer,
  ModelViewSet,
  MultipleChoiceField,
  NestedSerializer,
  PrimaryKeyRelatedField,
  ReadOnlyField,
  Serializer,
  type SerializerClass,
  type SerializerField,
  SerializerMethodField,
  SlugRelatedField,
  StringField,
  ValidationError,
} from 'koa-viewsets'
import { describeModel } from 'koa-viewsets/tools'
import { Model, type RelationMappings } from 'objection'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { countQueries } from '../support/database.js'
import { serve, type TestServer } from '../support/server.js'
import {
  Author,
  AuthorSerializer,
  Book,
  BookSerializer,
  book,
  database,
  FullBookSerializer,
  failure,
  make,
  Review,
  refused,
  rows,
  ShelfSerializer,
  saved,
  Tag,
  TaggedSerializer,
  TagSerializer,
  useBooks,
  variant,
} from '../support/written-books.js'

useBooks()

describe('the fields of a ModelSerializer', () => {
  it('come from the model, in the order of `fields`', () => {
    expect(new BookSerializer().getFieldNames()).toEqual(['id', 'title', 'isbn', 'n', 'meta', 'author_id'])
    const { plan } = BookSerializer
    expect(plan.fields.map(({ field }) => field.constructor.name)).toEqual([
      'IntegerField',
      'StringField',
      'StringField',
      'IntegerField',
      'JSONField',
      'PrimaryKeyRelatedField',
    ])
    expect(plan.fields.map(({ required }) => required)).toEqual([false, true, false, false, false, false])
    expect(plan.fields.map(({ allowNull }) => allowNull)).toEqual([false, false, true, true, true, true])
  })

  it("with `__all__` are the model's columns: all of them, or those its jsonSchema names", () => {
    expect(variant(BookSerializer, { fields: '__all__' }).plan.fieldNames).toEqual([
      ...describeModel(Book).columns.keys(),
    ])
    expect(variant(AuthorSerializer, { fields: '__all__', extraKwargs: {} }).plan.fieldNames).toEqual([
      'id',
      'name',
      'bio',
      'secret',
      'country_id',
    ])
  })

  it('are those declared where both are there, and declared ones need no listing', async () => {
    const Declared = variant(BookSerializer, {
      fields: ['title', 'id'],
      declaredFields: { title: new StringField({ maxLength: 3 }), extra: new ReadOnlyField({ source: 'shout' }) },
    })
    expect(Declared.plan.fieldNames).toEqual(['title', 'id', 'extra'])
    expect(await refused(Declared, { title: 'Four' })).toEqual({
      title: ['Ensure this field has no more than 3 characters.'],
    })
    expect(make(Declared, { obj: await book() }).data).toEqual({ title: 'One', id: 1, extra: 'ONE' })
  })

  it("add those of the class to its parent's, and replace one of the same name in its place", () => {
    class Base extends Serializer {
      static override declaredFields: Record<string, any> = { a: new StringField(), b: new StringField() }
    }
    class Sub extends Base {
      static override declaredFields = { c: new IntegerField(), a: new IntegerField() }
    }
    expect(Sub.plan.fieldNames).toEqual(['a', 'b', 'c'])
    expect(Sub.plan.fields[0]?.field).toBeInstanceOf(IntegerField)
    expect(Base.plan.fieldNames).toEqual(['a', 'b'])
  })

  it('take the options of `extraKwargs`, and `readOnlyFields` are shown and never written', async () => {
    const Strict = variant(BookSerializer, {
      fields: ['title', 'isbn', 'n'],
      readOnlyFields: ['n'],
      extraKwargs: { title: { minLength: 2, label: 'The title' }, isbn: { required: true } },
    })
    expect(await refused(Strict, { title: 'x', n: 'no number' })).toEqual({
      title: ['Ensure this field has at least 2 characters.'],
      isbn: ['This field is required.'],
    })
    expect(Strict.plan.fields[0]?.field.options.label).toBe('The title')
    expect(await saved(Strict, { title: 'ok', isbn: '9', n: 5 })).toEqual({ title: 'ok', isbn: '9', n: null })
  })

  it('with an attribute of the class are read-only', async () => {
    const Shouting = variant(BookSerializer, { fields: ['shout'] })
    expect(make(Shouting, { obj: await book() }).data).toEqual({ shout: 'ONE' })
    expect([...Shouting.plan.writableFields]).toEqual([])
  })

  it('are counted once per class: sets, column map and identity flag', () => {
    const { plan } = variant(BookSerializer, { readOnlyFields: ['isbn'] })
    expect(plan.readOnlyFields).toEqual(new Set(['id', 'isbn']))
    expect(plan.writableFields).toEqual(new Set(['title', 'n', 'meta', 'author_id']))
    expect(plan.columnMap).toEqual(
      new Map(['id', 'title', 'isbn', 'n', 'meta', 'author_id'].map((name) => [name, name])),
    )
    expect(plan.isIdentity).toBe(true)
    expect(BookSerializer.plan).toBe(new BookSerializer().plan)
    expect(ShelfSerializer.plan.isIdentity).toBe(false)
    expect(variant(BookSerializer, { extraKwargs: { title: { source: 'isbn' } } }).plan.isIdentity).toBe(false)
    expect(variant(BookSerializer, { extraKwargs: { title: { writeOnly: true } } }).plan.isIdentity).toBe(false)
    expect(variant(BookSerializer, { declaredFields: { x: new DateField({ source: 'title' }) } }).plan.isIdentity).toBe(
      false,
    )
  })

  it('name a column by the field that shows it, a flat key before the nested object', () => {
    const { plan } = variant(BookSerializer, {
      fields: ['author_id', 'title'],
      depth: 1,
      extraKwargs: { title: { source: 'isbn' } },
    })
    expect(plan.columnMap).toEqual(
      new Map([
        ['author_id', 'author_id'],
        ['isbn', 'title'],
      ]),
    )
  })
})

describe('depth', () => {
  const Deep = (depth: number) => variant(BookSerializer, { fields: ['id', 'author_id'], depth })
  const shown = async (serializer: typeof BookSerializer) =>
    make(serializer, { obj: await Book.query().findById(1).withGraphFetched(serializer.plan.relations) }).data

  it('0 shows foreign keys as keys, 1 and 2 the objects beside them, level by level', async () => {
    expect(await shown(Deep(0))).toEqual({ id: 1, author_id: 1 })
    expect(await shown(Deep(1))).toEqual({
      id: 1,
      author_id: 1,
      author: { id: 1, name: 'Ann', bio: 'a', country_id: 1 },
    })
    expect(await shown(Deep(2))).toEqual({
      id: 1,
      author_id: 1,
      author: { id: 1, name: 'Ann', bio: 'a', country_id: 1, country: { id: 1, code: 'de  ', name: 'Germany' } },
    })
  })

  it('[A10] shows no column that the jsonSchema marks writeOnly', async () => {
    for (const depth of [1, 2]) expect(JSON.stringify(await shown(Deep(depth)))).not.toContain('secret')
    expect(await saved(variant(AuthorSerializer, { fields: '__all__' }), { name: 'Cy', bio: '', secret: 's' })).toEqual(
      {
        id: 3,
        name: 'Cy',
        bio: '',
        country_id: null,
      },
    )
    expect((await rows('authors'))[2]).toMatchObject({ secret: 's' })
  })

  it('leaves the flat key writable and the nested object read-only', async () => {
    expect([...Deep(1).plan.writableFields]).toEqual(['author_id'])
    const Titled = variant(BookSerializer, { fields: ['title', 'author_id'], depth: 1 })
    expect(await saved(Titled, { title: 'x', author_id: 2, author: { name: 'pwn' } })).toMatchObject({
      author_id: 2,
      author: { name: 'Bob' },
    })
  })

  it('does not replace a declared nested serializer', () => {
    const Kept = variant(FullBookSerializer, { fields: ['author_id'], depth: 2 })
    expect(Kept.plan.fields.find(({ name }) => name === 'author')?.field).toBe(FullBookSerializer.declaredFields.author)
  })
})

describe('validation', () => {
  it('tells by isValid, errors and validatedData', async () => {
    const good = new BookSerializer({ inputData: { title: 'x', n: 3, unknown: 1 } })
    expect(() => good.errors).toThrow('BookSerializer: errors needs isValid(); await it first')
    expect(() => good.validatedData).toThrow('BookSerializer: validatedData needs an isValid() that was true')
    expect(await good.isValid()).toBe(true)
    expect(good.errors).toEqual({})
    expect(good.validatedData).toEqual({ title: 'x', n: 3 })
    const bad = new BookSerializer({ inputData: { n: 'x' } })
    expect(await bad.isValid()).toBe(false)
    expect(bad.errors).toEqual({ title: ['This field is required.'], n: ['A valid integer is required.'] })
    expect(() => bad.validatedData).toThrow('validatedData needs an isValid() that was true')
    await expect(bad.save()).rejects.toThrow('validatedData needs')
    expect(await failure(bad.isValid({ raiseException: true }))).toMatchObject({ status: 400, errors: bad.errors })
  })

  it('[B12] wants an object, and a list with many', async () => {
    for (const input of [undefined, null, 1, 'x', true, [], [{ title: 'x' }]]) {
      expect(await refused(BookSerializer, input)).toEqual({ non_field_errors: ['Expected an object.'] })
    }
    for (const input of [undefined, null, 1, 'x', {}]) {
      expect(await refused(BookSerializer, input, { many: true })).toEqual({
        non_field_errors: ['Expected a list of items.'],
      })
    }
    for (const author of [1, 'x', [], [{ name: 'x' }]]) {
      expect(await refused(FullBookSerializer, { title: 'x', author })).toEqual({
        author: { non_field_errors: ['Expected an object.'] },
      })
    }
    expect(await refused(ShelfSerializer, { title: 'x', reviews: {} })).toEqual({
      reviews: ['Expected a list of items.'],
    })
    expect(await refused(ShelfSerializer, { title: 'x', tags: [{ slug: 's' }, null, 4] })).toEqual({
      tags: { 1: { non_field_errors: ['Expected an object.'] }, 2: { non_field_errors: ['Expected an object.'] } },
    })
  })

  it('[R10] tells of a hundred objects in the lists of all, and of one in each further list', async () => {
    const shelves = Array.from({ length: 100 }, () => ({ title: 'x', tags: Array.from({ length: 100 }, () => ({})) }))
    const errors = await refused(ShelfSerializer, shelves, { many: true, context: { maxNestedObjects: 10_000 } })
    const tags = Object.values(errors as Record<string, { tags: object }>).map((each) => Object.keys(each.tags).length)
    expect(tags).toEqual(shelves.map((_, index) => (index === 0 ? 100 : 1)))
  })

  it('of a list keys errors by position, and saves all or none', async () => {
    const inputData = [{ title: 'a' }, {}, { title: 'c' }, { title: 4, author_id: 99 }]
    expect(await refused(BookSerializer, inputData, { many: true })).toEqual({
      1: { title: ['This field is required.'] },
      3: { title: ['Not a valid string.'], author_id: ['Invalid pk "99" - object does not exist.'] },
    })
    expect(await saved(BookSerializer, [{ title: 'a' }, { title: 'b' }], { many: true })).toMatchObject([
      { id: 3, title: 'a' },
      { id: 4, title: 'b' },
    ])
    const taken = [
      { title: 'c', isbn: '9' },
      { title: 'd', isbn: '111' },
    ]
    const error = await failure(saved(BookSerializer, taken, { many: true }))
    expect(error.errors).toEqual({ 1: { isbn: ['This field must be unique.'] } })
    expect(await rows('books')).toHaveLength(4)
  })

  it('runs validate<Field> after the field, then validate, and keeps what they return', async () => {
    const calls: string[] = []
    class Hooked extends BookSerializer {
      async validateTitle(value: string) {
        calls.push(`title ${value}`)
        if (value === 'bad') throw new ValidationError('No bad titles.')
        return value.trim()
      }
      validateAuthorId(value: number | null) {
        calls.push(`author ${value}`)
      }
      override async validate(data: Record<string, unknown>) {
        calls.push('all')
        if (data['n'] === 13) throw new ValidationError('Bad luck.')
        if (data['n'] === 14) throw new ValidationError({ n: ['Nearly.'] })
        return { ...data, isbn: 'set' }
      }
    }
    const made = new Hooked({ inputData: { title: ' x ', author_id: 1 } })
    await made.isValid()
    expect(made.validatedData).toEqual({ title: 'x', author_id: 1, isbn: 'set' })
    expect(calls.splice(0)).toEqual(['title  x ', 'author 1', 'all'])
    expect(await refused(Hooked, { title: 'bad', n: 'x' })).toEqual({
      title: ['No bad titles.'],
      n: ['A valid integer is required.'],
    })
    expect(calls.splice(0)).toEqual(['title bad'])
    expect(await refused(Hooked, { title: 'x', n: 13 })).toEqual({ non_field_errors: ['Bad luck.'] })
    expect(await refused(Hooked, { title: 'x', n: 14 })).toEqual({ n: ['Nearly.'] })
    const broken = class extends BookSerializer {
      validateTitle() {
        throw new TypeError('a fault of the application')
      }
    }
    await expect(refused(broken, { title: 'x' })).rejects.toThrow(TypeError)
  })

  it('waits for promises of other libraries as for its own', async () => {
    const Other: PromiseConstructor = runInNewContext('Promise')
    const later = (value: unknown): never => Other.resolve(value) as never
    class Upper extends StringField {
      override toInternalValue(value: unknown): never {
        return value === 'bad'
          ? (Other.reject(new ValidationError('No bad titles.')) as never)
          : later(String(value).toUpperCase())
      }
    }
    class Hooked extends BookSerializer {
      static override declaredFields = { title: new Upper() }
      validateIsbn(value: string) {
        return later(`${value}!`)
      }
      override validate(data: Record<string, unknown>): never {
        return later({ ...data, n: 3 })
      }
    }
    const made = new Hooked({ inputData: { title: 'x', isbn: '1' } })
    await made.isValid()
    expect(made.validatedData).toEqual({ title: 'X', isbn: '1!', n: 3 })
    expect(await refused(Hooked, { title: 'bad' })).toEqual({ title: ['No bad titles.'] })
  })

  it('is an error where validate() returns what is no object', async () => {
    for (const returned of [null, [{ title: 'x' }], true]) {
      class Wrong extends BookSerializer {
        override validate() {
          return returned
        }
      }
      await expect(refused(Wrong, { title: 'x' })).rejects.toThrow('Wrong: validate() returned no object')
    }
  })

  it('is an error where data is a map, a form or a promise, of which nothing would be written', async () => {
    class Mapped extends BookSerializer {
      override validate(data: Record<string, unknown>) {
        return new Map(Object.entries(data))
      }
    }
    const form = new FormData()
    form.set('title', 'x')
    await expect(refused(BookSerializer, form)).rejects.toThrow(
      'BookSerializer: inputData is a FormData, which has no members; give a plain object',
    )
    await expect(refused(Mapped, { title: 'x' })).rejects.toThrow('Mapped: what validate() returned is a Map')
    const serializer = make(BookSerializer, { inputData: { title: 'x' } })
    await serializer.isValid()
    await expect(serializer.save(Promise.resolve({ n: 1 }) as never)).rejects.toThrow(
      'BookSerializer: what save() was given is a Promise',
    )
  })

  it('is refused where a file stands in the place of a nested object', async () => {
    class Shelf extends Serializer {
      static override declaredFields = { book: new NestedSerializer(BookSerializer) }
    }
    const refused = make(Shelf, { inputData: { book: new File(['x'], 'x.txt') } })
    expect(await refused.isValid()).toBe(false)
    expect(refused.errors).toEqual({ book: { non_field_errors: ['Expected an object.'] } })
    await expect(make(Shelf, { inputData: { book: Promise.resolve({}) } }).isValid()).rejects.toThrow(
      'BookSerializer: inputData is a Promise',
    )
  })

  it('leaves alone what validate() returns to each of them', async () => {
    const kept = { title: 'kept' }
    class Constant extends BookSerializer {
      override validate() {
        return kept
      }
    }
    const serializer = make(Constant, { inputData: { title: 'x' } })
    await serializer.isValid()
    Object.assign(serializer.validatedData as object, { title: 'another' })
    expect(kept).toEqual({ title: 'kept' })
  })

  it('tells what all validators of a field and of its items have found', async () => {
    const refuse = (message: string) => () => {
      throw new ValidationError(message)
    }
    class Strict extends Serializer {
      static override declaredFields = {
        title: new StringField({ validators: [refuse('one'), refuse('two')] }),
        marks: new ArrayField({ child: new IntegerField({ validators: [refuse('three'), refuse('four')] }) }),
      }
      override validate(): never {
        throw new ValidationError({ title: 'not reached' })
      }
    }
    const serializer = new Strict({ inputData: { title: 'x', marks: [1] } })
    expect(await serializer.isValid()).toBe(false)
    expect(serializer.errors).toEqual({ title: ['one', 'two'], marks: { 0: ['three', 'four'] } })
  })

  it('runs the validators of a field, with the request, on values that are not null', async () => {
    const seen: unknown[] = []
    const even = (value: number, context: unknown) => {
      seen.push(context)
      if (value % 2) throw new ValidationError('Even numbers only.')
    }
    const Even = variant(BookSerializer, { fields: ['n'], extraKwargs: { n: { validators: [even] } } })
    const context = { user: { id: 7 } }
    expect(await refused(Even, { n: 3 }, { context })).toEqual({ n: ['Even numbers only.'] })
    expect(await refused(Even, { n: 4 })).toBeUndefined()
    expect(await refused(Even, { n: null })).toBeUndefined()
    expect(seen).toEqual([context, {}])
  })

  it('tells of a validator that says no by what it returns, as nobody would hear it', async () => {
    for (const isEven of [(n: number) => n % 2 === 0, async (n: number) => n % 2 === 0]) {
      const validators = [isEven as (n: number) => void]
      const Even = variant(BookSerializer, { fields: ['n'], extraKwargs: { n: { validators } } })
      await expect(refused(Even, { n: 3 })).rejects.toThrow('a validator returned false')
      expect(await refused(Even, { n: 4 })).toBeUndefined()
    }
  })

  it('of a partial update needs only what is sent, and applies no default', async () => {
    const Defaults = variant(BookSerializer, { extraKwargs: { n: { default: () => 5 }, isbn: { default: 'none' } } })
    const whole = make(Defaults, { inputData: { title: 'x' } })
    await whole.isValid()
    expect(whole.validatedData).toEqual({ title: 'x', n: 5, isbn: 'none' })
    const part = make(Defaults, { inputData: { n: 1 }, partial: true })
    await part.isValid()
    expect(part.validatedData).toEqual({ n: 1 })
  })

  it('tells null from a missing value', async () => {
    expect(await refused(BookSerializer, { title: null })).toEqual({ title: ['This field may not be null.'] })
    expect(await saved(BookSerializer, { title: 'x', n: null, author_id: null })).toMatchObject({
      n: null,
      author_id: null,
    })
  })
})

describe('keys that are no fields', () => {
  /** What Objection, knex and JavaScript give a meaning to. */
  const HOSTILE = [
    'meta:k',
    'meta:[k]',
    `meta:[x}', '1'::jsonb, true), is_admin = true, title = jsonb_set('{}'::jsonb, '{y]`,
    'books.title',
    'books.is_admin',
    'title as x',
    '#id',
    '#ref',
    '#dbRef',
    '$beforeInsert',
    '$afterFind',
    '$query',
    '$toDatabaseJson',
    '$omitFromDatabaseJson',
    'author',
    'tags',
    'reviews',
    'author.name',
    'author:name',
    'toJSON',
    'constructor',
    'prototype',
    'hasOwnProperty',
    'valueOf',
    'then',
    'is_admin',
    'secret',
    'owner_id',
    'id',
    'shout',
    '"title"',
    'title"; drop table books; --',
    '*',
    '',
    ' ',
    '0',
  ]
  const hostile = { ...Object.fromEntries(HOSTILE.map((key) => [key, `canary ${key}`])), title: 'new' }

  it.each([
    ['a create', {}],
    ['a partial update', { partial: true }],
    ['a full update', { partial: false }],
  ])('[A1 A3] do nothing in %s', async (kind, options) => {
    const obj = kind === 'a create' ? undefined : await book()
    const texts: string[] = []
    const values: unknown[] = []
    const listen = (query: { sql: string; bindings: unknown[] }) => {
      texts.push(query.sql)
      values.push(...query.bindings)
    }
    database.knex.on('query', listen)
    try {
      expect(await saved(BookSerializer, hostile, { obj, ...options })).toMatchObject({ title: 'new' })
    } finally {
      database.knex.removeListener('query', listen)
    }
    expect(texts).toEqual(
      [
        obj
          ? 'update "books" set "title" = ? where "books"."id" = ? returning *'
          : 'insert into "books" ("title") values (?) returning *',
      ].map((text) => expect.stringMatching(new RegExp(text.replace(/[.*()]/g, '\\$&').replaceAll('?', '\\$\\d')))),
    )
    expect(values).toEqual(obj ? ['new', 1] : ['new'])
    expect((await rows('books')).at(obj ? 0 : 2)).toMatchObject({
      is_admin: false,
      secret: 'hush',
      owner_id: 0,
      title: 'new',
    })
  })

  it('[A1 A3] do nothing in a nested object either', async () => {
    const author = { ...hostile, name: 'Dee', bio: '' }
    expect(await saved(FullBookSerializer, { title: 'x', author })).toMatchObject({ author: { id: 3, name: 'Dee' } })
    expect((await rows('authors'))[2]).toMatchObject({ secret: 'hush', owner_id: null })
  })

  it.each(['isRawInstance', 'isObjectionQueryBuilderBase', 'isObjectionRawBuilder', 'toKnexRaw', 'then'])(
    '[A3] a JSON value with the key %s is data, or refused, and never a part of the query',
    async (key) => {
      const meta = { [key]: true, client: {}, sql: 'select 1', toSQL: 'x' }
      const made = new BookSerializer({ inputData: { title: 'x', meta } })
      await made.isValid({ raiseException: true })
      const stored = await made.save().catch((error: unknown) => error)
      if (stored instanceof ValidationError) expect(stored.errors).toEqual({ meta: ['Invalid value.'] })
      else expect(made.data.meta).toEqual(meta)
    },
  )
})

describe('output', () => {
  it('follows dotted sources through objects and maps, and is null where they end', async () => {
    class Dotted extends Serializer {
      static override declaredFields = {
        city: new StringField({ source: 'address.city' }),
        zip: new IntegerField({ source: 'address.code.zip' }),
      }
    }
    expect(make(Dotted, { obj: { address: { city: 'Ulm', code: new Map([['zip', 1]]) } } }).data).toEqual({
      city: 'Ulm',
      zip: 1,
    })
    expect(make(Dotted, { obj: { address: null } }).data).toEqual({ city: null, zip: null })
    expect(Dotted.plan.readOnlyFields).toEqual(new Set(['city', 'zip']))
    const Book2 = variant(BookSerializer, {
      fields: ['id', 'author_name', 'country', 'first'],
      extraKwargs: {
        author_name: { source: 'author.name' },
        country: { source: 'author.country.code' },
        first: { source: 'meta.list.0' },
      },
    })
    expect(Book2.plan.relations).toEqual({ author: { country: {} } })
    await database
      .knex('books')
      .where({ id: 1 })
      .update({ meta: { list: ['x'] } })
    const obj = await Book.query().orderBy('id').withGraphFetched(Book2.plan.relations)
    expect(make(Book2, { obj, many: true }).data).toEqual([
      { id: 1, author_name: 'Ann', country: 'de  ', first: 'x' },
      { id: 2, author_name: 'Bob', country: null, first: null },
    ])
  })

  it('refuses to read a relation that nobody loaded, at every level', async () => {
    const Deep = variant(BookSerializer, { fields: ['c'], extraKwargs: { c: { source: 'author.country.name' } } })
    const plain = await book()
    const half = await Book.query().findById(1).withGraphFetched('author')
    expect(() => make(FullBookSerializer, { obj: plain }).data).toThrow(
      `FullBookSerializer: field "author" shows the relation "author", which was not loaded; load it with withGraphFetched('author')`,
    )
    expect(() => make(TaggedSerializer, { obj: plain }).data).toThrow('field "tags" shows the relation "tags"')
    expect(() => make(Deep, { obj: plain }).data).toThrow('shows the relation "author"')
    expect(() => make(Deep, { obj: half }).data).toThrow(`withGraphFetched('author.country')`)
  })

  it('refuses to read a column that nobody selected, or that is of another model', () => {
    const show = (object: Model) => make(variant(BookSerializer, { fields: ['title'] }), { obj: object }).data
    expect(() => show(Book.fromJson({}))).toThrow(`select it, or after an insert of your own use returning('*')`)
    expect(() => show(Author.fromJson({}))).toThrow(
      'field "title" shows the column "title", which the object does not have; it is one of Author: show it by a serializer of that model',
    )
  })

  it('of a method field is what the method returns; a promise or a query is an error', async () => {
    class Labelled extends BookSerializer {
      static override fields = ['id']
      static override declaredFields = {
        label: new SerializerMethodField(),
        the_id: new SerializerMethodField({ methodName: 'same' }),
        nothing: new SerializerMethodField(),
      }
      getLabel(object: Book) {
        return `${object.title}!`
      }
      same(object: Book) {
        return object.id
      }
      getNothing() {
        return undefined
      }
    }
    expect(make(Labelled, { obj: await book() }).data).toEqual({ id: 1, label: 'One!', the_id: 1, nothing: null })
    expect(await saved(Labelled, { label: 'pwn' }, { obj: await book(), partial: true })).toMatchObject({
      label: 'One!',
    })
    for (const getLabel of [async () => 'x', async () => Promise.reject(new Error('x')), () => Tag.query()]) {
      const Wrong = variant(Labelled, {})
      Object.assign(Wrong.prototype, { getLabel })
      const texts = await countQueries(database.knex, async () => {
        const obj = Object.assign(new Book(), { id: 1 })
        expect(() => make(Wrong, { obj }).data).toThrow('.getLabel() returned a promise: output is synchronous')
      })
      expect(texts).toEqual([])
    }
  })

  it('is no promise of toRepresentation(), of one object or a list', async () => {
    class Later extends BookSerializer {
      override toRepresentation(object: Book) {
        return Promise.resolve(super.toRepresentation(object))
      }
    }
    const obj = await book()
    for (const options of [{ obj }, { obj: [obj], many: true }]) {
      expect(() => make(Later, options).data).toThrow('Later.toRepresentation() returned a promise')
    }
  })

  it('is no promise of a field, its items, its source or its text', async () => {
    class Late extends StringField {
      override toRepresentation() {
        return Promise.reject(new Error('late'))
      }
      override fromText() {
        return Promise.reject(new Error('late'))
      }
    }
    class Shown extends Serializer {
      static override declaredFields: Record<string, SerializerField> = { title: new Late() }
    }
    class Listed extends Serializer {
      static override declaredFields: Record<string, SerializerField> = { title: new ArrayField({ child: new Late() }) }
    }
    class Plain extends Serializer {
      static override declaredFields: Record<string, SerializerField> = { title: new StringField() }
    }
    const late = 'Late: toRepresentation() returned a promise'
    expect(() => new Shown({ obj: { title: 'x' } }).data).toThrow(late)
    expect(() => new Listed({ obj: { title: ['x'] } }).data).toThrow(late)
    const title = Promise.reject(new Error('late'))
    expect(() => new Plain({ obj: { title } }).data).toThrow('Plain: the source of field "title" returned a promise')
    const form = new Shown({ inputData: { title: 'x' }, textual: true })
    await expect(form.isValid()).rejects.toThrow('Late: fromTexts() returned a promise')
  })

  it('writes nested and many alike, and a missing value as null', () => {
    class Point extends Serializer {
      static override declaredFields = { x: new IntegerField(), at: new DateTimeField() }
    }
    class Line extends Serializer {
      static override declaredFields = {
        ends: new NestedSerializer(Point, { many: true }),
        centre: new NestedSerializer(Point),
        tags: new ArrayField({ child: new StringField() }),
      }
    }
    const at = new Date('2026-03-28T15:30:00.1Z')
    expect(make(Line, { obj: [{ ends: [{ x: 1, at }, {}], centre: null }], many: true }).data).toEqual([
      {
        ends: [
          { x: 1, at: '2026-03-28T15:30:00.1Z' },
          { x: null, at: null },
        ],
        centre: null,
        tags: null,
      },
    ])
    expect(() => make(Line, {}).data).toThrow('Line: data needs an object; give obj, or await save() first')
  })
})

describe('[A2] a HiddenField', () => {
  class Owned extends BookSerializer {
    static override fields = ['id', 'title']
    static override declaredFields = { owner_id: new HiddenField({ default: new CurrentUserDefault() }) }
  }
  const owner = async (id: number) => (await rows('books'))[id - 1]?.owner_id

  it('is set on create and full update, never on a partial one, and takes no input', async () => {
    const as = (id: number) => ({ context: { user: { id } } })
    expect(await saved(Owned, { title: 'x', owner_id: 2 }, as(1))).toEqual({ id: 3, title: 'x' })
    expect(await owner(3)).toBe(1)
    expect(await saved(Owned, { title: 'y', owner_id: 3 }, { ...as(9), obj: await book(3), partial: true })).toEqual({
      id: 3,
      title: 'y',
    })
    expect(await owner(3)).toBe(1)
    await saved(Owned, { title: 'z', owner_id: 3 }, { ...as(9), obj: await book(3) })
    expect(await owner(3)).toBe(9)
  })

  it('is in the validated data of an object that a hook sees, and nowhere else', async () => {
    expect(Owned.plan.readable.map(({ name }) => name)).toEqual(['id', 'title'])
    const made = new Owned({ inputData: { title: 'x' }, context: { user: { id: 4 } } })
    await made.isValid()
    expect(made.validatedData).toEqual({ title: 'x', owner_id: 4 })
  })

  it('has no value for an anonymous caller', async () => {
    await saved(Owned, { title: 'x', owner_id: 5 })
    expect(await owner(3)).toBe(0)
  })
})

describe('[I23] a mistake of the programmer is a ConfigurationError with class, attribute and fix', () => {
  const plan = (serializer: SerializerClass) => () => (serializer as typeof Serializer).plan
  const broken = (statics: object) => plan(variant(BookSerializer, statics))
  const fields = ['title']

  it.each<[string, () => unknown, string]>([
    ['no model', broken({ model: null }), 'VariantSerializer: set static model to an Objection model'],
    ['no fields', broken({ fields: [] }), "set static fields to a list of names, or to '__all__'"],
    ['a wrong word', broken({ fields: '__al__' }), `static fields is "__al__"; give a list of names, or '__all__'`],
    [
      'an unknown name',
      broken({ fields: ['titel'] }),
      'fields names "titel", which is no column, relation or attribute of Book; did you mean "title"?',
    ],
    [
      'unknown extraKwargs',
      broken({ fields, extraKwargs: { n: {} } }),
      'extraKwargs.n names no field; add "n" to fields',
    ],
    [
      'a misspelt option',
      broken({ fields, extraKwargs: { title: { minLenght: 2 } } }),
      'VariantSerializer: extraKwargs.title: has no option "minLenght"; did you mean "minLength"?',
    ],
    [
      'options for a declared field',
      broken({ fields, extraKwargs: { title: {} }, declaredFields: { title: new StringField() } }),
      'extraKwargs.title is for generated fields; give the options to declaredFields.title',
    ],
    [
      'an unknown read-only name',
      broken({ fields, readOnlyFields: ['n'] }),
      'readOnlyFields names no field "n"; add it to fields',
    ],
    ['a wrong depth', broken({ depth: -1 }), 'static depth is -1; give a whole number of at least 0'],
    [
      'a field class',
      broken({ declaredFields: { title: StringField } }),
      'declaredFields.title is not a field; write new SomeField(…)',
    ],
    [
      'no source',
      broken({ declaredFields: { x: new StringField() } }),
      'field "x" has no source: Book has no column, relation or attribute "x"; correct the name, set option source, list in its static virtualAttributes what the queryset selects, or set writeOnly: true and take it in create() and update()',
    ],
    [
      'a method that is not there',
      broken({ declaredFields: { big_label: new SerializerMethodField() } }),
      'field "big_label" is a SerializerMethodField without its method; add getBigLabel(object), or set methodName',
    ],
    [
      'a related field without queryset',
      broken({ declaredFields: { author_id: new PrimaryKeyRelatedField({}) } }),
      'field "author_id" is a related field that a client may write; set option queryset, or readOnly: true',
    ],
    [
      'keys of a has-many',
      broken({ declaredFields: { reviews: new PrimaryKeyRelatedField({ queryset: Review, many: true }) } }),
      'field "reviews" is a list of keys without a many-to-many relation; set readOnly: true, or override create() and update()',
    ],
    [
      'nested without relation',
      broken({ declaredFields: { meta: new NestedSerializer(TagSerializer) } }),
      'field "meta" is nested, and Book has no relation of that name; set readOnly: true, or override create() and update()',
    ],
    [
      'an attribute that is written',
      broken({ declaredFields: { shout: new StringField() } }),
      'field "shout" is no column of Book, so it cannot be written; set readOnly: true, or override create() and update()',
    ],
    [
      'options that contradict',
      broken({ extraKwargs: { title: { minLength: 21 } } }),
      'StringField: minLength 21 is greater than maxLength 20',
    ],
  ])('%s', (_, attempt, message) => {
    expect(attempt).toThrow(ConfigurationError)
    expect(attempt).toThrow(message)
  })

  it('a queryset function that is asynchronous, a slug that is no property', async () => {
    const related = (field: any) => variant(BookSerializer, { fields: ['title'], declaredFields: { author: field } })
    const wrong = related(new PrimaryKeyRelatedField({ queryset: (async () => Author.query()) as any }))
    await expect(refused(wrong, { author: 1 })).rejects.toThrow(
      'the function of option queryset must return a query; do not make it async',
    )
    // nobody waits for it, and a rejection would end the process
    const rejecting = related(new PrimaryKeyRelatedField({ queryset: (async ({ ctx }: any) => ctx.state.user) as any }))
    await expect(refused(rejecting, { author: 1 })).rejects.toThrow('must return a query; do not make it async')
    const slug = related(new SlugRelatedField({ queryset: Author, slugField: 'nom' }))
    expect(plan(slug)).toThrow('SlugRelatedField: Author has no property "nom"; correct slugField or queryset')
  })

  it('a serializer nested in itself', () => {
    class Node extends Tag {
      static override get relationMappings(): RelationMappings {
        return {
          self: {
            relation: Model.BelongsToOneRelation,
            modelClass: Node,
            join: { from: 'genres.id', to: 'genres.id' },
          },
        }
      }
    }
    class Circle extends ModelSerializer {
      static override model = Node
      static override fields = ['id']
      static override get declaredFields(): DeclaredFields {
        return { self: new NestedSerializer(Circle, { readOnly: true }) }
      }
    }
    expect(plan(Circle)).toThrow('Circle: declaredFields nest the serializer in itself without end')
    expect(plan(Circle)).toThrow(ConfigurationError)
  })

  it('a foreign key of the model that its mapping calls HasOne', async () => {
    class Owned extends Model {
      static override tableName = 'books'
      static override relationMappings = {
        author: {
          relation: Model.HasOneRelation,
          modelClass: Author,
          join: { from: 'books.author_id', to: 'authors.id' },
        },
      }
    }
    class OwnedSerializer extends ModelSerializer {
      static override model = Owned
      static override fields = ['id', 'author']
      static override declaredFields = { author: new PrimaryKeyRelatedField({ queryset: Author }) }
    }
    class Views extends ModelViewSet {
      static override model = Owned
      static override serializerClass = OwnedSerializer
    }
    await expect(new APIRouter().register('books', Views).prepare()).rejects.toThrow(
      'field "author" names a HasOneRelation of Owned, whose key the related row holds; where it is a column of "books", make it a BelongsToOneRelation; else set readOnly: true, or override create() and update()',
    )
  })

  it('but input that a hook of the class takes needs no column', async () => {
    class Confirmed extends BookSerializer {
      static override fields = ['title']
      static override declaredFields = { again: new StringField({ writeOnly: true }) }
      override validate({ again, ...data }: Record<string, unknown>) {
        if (again !== data['title']) throw new ValidationError({ again: ['Not the same.'] })
        return data
      }
    }
    expect(await saved(Confirmed, { title: 'x', again: 'x' })).toEqual({ title: 'x' })
    expect(await refused(Confirmed, { title: 'x', again: 'y' })).toEqual({ again: ['Not the same.'] })
  })
})

describe('over HTTP', () => {
  class FullBooks extends ModelViewSet<Book> {
    static override model = Book
    static override serializerClass = FullBookSerializer
  }
  class Shelves extends ModelViewSet<Book> {
    static override model = Book
    static override serializerClass = ShelfSerializer
  }
  let server: TestServer
  beforeAll(async () => {
    const api = new APIRouter({ prefix: '/api' }).register('books', FullBooks).register('shelves', Shelves, 'shelf')
    await api.prepare()
    server = await serve(new Koa().use(api.routes()))
  })
  afterAll(() => server.close())
  const send = (method: string, path: string, body: unknown) =>
    server.send({ method, path, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) })

  it('is refused where it may change what only its create() takes', async () => {
    class Confirmed extends BookSerializer {
      static override fields = ['title']
      static override declaredFields = { again: new StringField({ writeOnly: true, required: false }) }
      override create({ again, ...data }: Record<string, unknown>) {
        return super.create(data)
      }
    }
    class Confirming extends ModelViewSet<Book> {
      static override model = Book
      static override serializerClass = Confirmed
    }
    class Creating extends Confirming {
      static override withoutActions = ['update', 'partialUpdate'] as const
    }
    const preparing = (view: typeof Confirming) => new APIRouter().register('books', view).prepare()
    await expect(preparing(Confirming)).rejects.toThrow(
      'Confirmed: field "again" is no column of Book, so it cannot be written; set readOnly: true, or override create() and update()',
    )
    await preparing(Creating)
  })

  it('[A7 A8 A9] hold in one request', async () => {
    expect((await send('PATCH', '/api/books/1', { author: { id: 2, name: 'pwn' } })).json).toEqual({
      detail: 'Validation failed',
      status: 400,
      errors: { author: { id: ['Invalid pk "2" - object does not exist.'] } },
    })
    const taken = await send('POST', '/api/books', { title: 'x', isbn: '111', author: { name: 'new', bio: '' } })
    expect([taken.status, taken.json.errors]).toEqual([400, { isbn: ['This field must be unique.'] }])
    const nested = await send('POST', '/api/books', { title: 'x', author: { name: 'Ann', bio: '' } })
    expect([nested.status, nested.json.errors]).toEqual([400, { author: { name: ['This field must be unique.'] } }])
    expect(await rows('authors')).toMatchObject([{ name: 'Ann' }, { name: 'Bob' }])
    expect((await send('PATCH', '/api/books/1', { author: { name: 'x' } })).json.author).toEqual({
      id: 1,
      name: 'x',
      bio: 'a',
    })
    expect((await send('PATCH', '/api/books/1', {})).status).toBe(200)
  })

  it('[B12] a body of another shape is 400', async () => {
    for (const body of [null, 1, 'x', []]) {
      const answer = await send('POST', '/api/books', body)
      expect([answer.status, answer.json.errors]).toEqual([400, { non_field_errors: ['Expected an object.'] }])
    }
    const empty = await server.send({ method: 'POST', path: '/api/books' })
    expect([empty.status, empty.json.errors]).toEqual([400, { title: ['This field is required.'] }])
  })

  it('[I22] a list costs one query and one for each relation', async () => {
    const texts = await countQueries(database.knex, async () => {
      expect((await server.send({ path: '/api/shelves' })).json).toHaveLength(2)
    })
    expect(texts).toHaveLength(4)
  })
})

describe('a default that is a list or an object', () => {
  const made = new Date('2024-01-02T00:00:00Z')
  class Noted extends Serializer {
    static override declaredFields: DeclaredFields = {
      labels: new JSONField({ default: ['a'] }),
      deep: new JSONField({ default: { list: [{ n: 1 }], at: made, bytes: Buffer.from('ab') } }),
      hidden: new HiddenField({ default: { by: [] as unknown[] } }),
      plain: new JSONField({ default: made }),
    }
    override validate(data: Record<string, unknown>) {
      const { labels, deep, hidden, plain } = data as {
        labels: unknown[]
        deep: Deep
        hidden: { by: unknown[] }
        plain: Date
      }
      labels.push('b')
      deep.list[0] = { n: 2 }
      deep.at.setFullYear(1)
      deep.bytes[0] = 0
      hidden.by.push('c')
      plain.setFullYear(1)
    }
  }
  interface Deep {
    readonly list: { n: number }[]
    readonly at: Date
    readonly bytes: Buffer
  }
  const FRESH = { labels: ['a', 'b'], hidden: { by: ['c'] } }

  it('is copied for each request, and for each item of a list', async () => {
    for (let request = 0; request < 2; request++) {
      const one = new Noted({ inputData: {} })
      expect(await one.isValid()).toBe(true)
      expect(one.validatedData).toMatchObject(FRESH)
    }
    const many = new Noted({ inputData: [{}, {}], many: true })
    expect(await many.isValid()).toBe(true)
    expect(many.validatedData).toMatchObject([FRESH, FRESH])
    expect(many.validatedData[0].deep).not.toBe(many.validatedData[1].deep)
    expect(made.toISOString()).toBe('2024-01-02T00:00:00.000Z')
  })

  it('is what it was where it is an instance of a class, or what a function makes', () => {
    const raw = Model.raw('now()')
    expect(new StringField({ default: raw }).defaultFor({})).toBe(raw)
    const list: unknown[] = []
    expect(new JSONField({ default: () => list }).defaultFor({})).toBe(list)
    expect(new HiddenField({ default: new CurrentUserDefault() }).defaultFor({ user: { id: 7 } })).toBe(7)
  })

  it('is an error where a function makes a promise of it', () => {
    const later = async () => 'x'
    for (const made of [later, { resolve: later }, () => Promise.reject(new Error('x'))]) {
      expect(() => new StringField({ default: made }).defaultFor({})).toThrow('a default is a promise')
    }
  })
})

describe('a serializer', () => {
  it('gives names that nobody can change for others, and takes null for no object', async () => {
    const serializer = new BookSerializer({ obj: null, inputData: { title: 'a' } })
    serializer.getFieldNames().length = 0
    expect(new BookSerializer().getFieldNames()).not.toEqual([])
    expect(serializer.obj).toBeUndefined()
    expect(() => serializer.data).toThrow('data needs an object')
  })

  it('is told of a list for an object, of one object for a list, and of what was not awaited', async () => {
    const make = (options: object) => () => new BookSerializer(options)
    expect(make({ obj: [] })).toThrow('BookSerializer: obj is a list; give many: true')
    expect(make({ obj: {}, many: true })).toThrow('obj is no list; leave out many: true, or give a list')
    expect(make({ obj: Book.query(), many: true })).toThrow('obj is a promise; await it')
    expect(make({ inputData: Promise.resolve({}) })).toThrow('inputData is a promise; await it')
    expect(make({ data: {} })).toThrow('BookSerializer: data is no option; give inputData: data')
    expect(make({ instance: {} })).toThrow('instance is no option; give obj: instance')
  })

  it('refuses a value that leads back to itself', async () => {
    const meta: Record<string, unknown> = {}
    meta['self'] = [meta]
    const serializer = new BookSerializer({ inputData: { title: meta } })
    expect(await serializer.isValid()).toBe(false)
    expect(serializer.errors).toEqual({ title: ['Not a valid string.'] })
  })

  it('asks for at least one item of a list, where it is told to', async () => {
    class Chosen extends Serializer {
      static override declaredFields: DeclaredFields = {
        kinds: new MultipleChoiceField({ choices: ['a'], allowEmpty: false }),
        parts: new NestedSerializer(AuthorSerializer, { many: true, allowEmpty: false }),
        tags: new PrimaryKeyRelatedField({ queryset: Tag, many: true, allowEmpty: false }),
      }
    }
    const empty = new Chosen({ inputData: { kinds: [], parts: [], tags: [] } })
    const message = ['Ensure this field has at least 1 item.']
    expect(await empty.isValid()).toBe(false)
    expect(empty.errors).toEqual({ kinds: message, parts: message, tags: message })
    const { kinds, parts, tags } = Chosen.declaredFields
    for (const field of [kinds, parts, tags]) expect(field?.schema()).toMatchObject({ type: 'array', minItems: 1 })
  })
})
