/** Serializers on real tables. */
import Koa from 'koa'
import {
  APIRouter,
  ArrayField,
  ConfigurationError,
  CurrentUserDefault,
  DateField,
  DateTimeField,
  type DeclaredFields,
  describeModel,
  HiddenField,
  IntegerField,
  ModelSerializer,
  ModelViewSet,
  NestedSerializer,
  PrimaryKeyRelatedField,
  prepareModels,
  ReadOnlyField,
  Serializer,
  type SerializerClass,
  SerializerMethodField,
  SlugRelatedField,
  StringField,
  ValidationError,
} from 'koa-viewsets'
import { Model, type RelationMappings } from 'objection'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { countQueries, createDatabase, type TestDatabase } from '../support/database.js'
import { serve, type TestServer } from '../support/server.js'

const schema = `
  create table countries (id int generated always as identity primary key, code char(4) not null unique, name text not null);
  create table authors (
    id int generated always as identity primary key,
    name text not null unique,
    bio text not null default '',
    secret text not null default 'hush',
    owner_id int,
    country_id int references countries
  );
  create table books (
    id int generated always as identity primary key,
    title varchar(20) not null,
    isbn text unique,
    n int,
    meta jsonb,
    is_admin boolean not null default false,
    owner_id int not null default 0,
    secret text not null default 'hush',
    author_id int references authors
  );
  create table covers (id int generated always as identity primary key, color text not null, book_id int unique references books);
  create table reviews (
    id int generated always as identity primary key,
    stars int not null constraint stars_range check (stars + 0 between 1 and 5),
    text text not null default '',
    book_id int not null references books,
    critic_id int references authors,
    unique (book_id, text)
  );
  create table sheets (id int primary key);
  create table lines (sheet_id int references sheets, position int, text text, primary key (sheet_id, position));
  create table notes (id uuid primary key default gen_random_uuid(), sheet_id int references sheets, text text);
  insert into sheets values (1), (2);
  insert into lines values (1, 1, 'one'), (1, 2, 'two'), (2, 1, 'other');
  create table tags (id int generated always as identity primary key, slug text not null unique);
  create table books_tags (book_id int not null references books, tag_id int not null references tags, primary key (book_id, tag_id));
`

class Country extends Model {
  static override tableName = 'countries'
  declare id: number
  declare name: string
}
class Author extends Model {
  static override tableName = 'authors'
  static override get relationMappings(): RelationMappings {
    return {
      country: {
        relation: Model.BelongsToOneRelation,
        modelClass: Country,
        join: { from: 'authors.country_id', to: 'countries.id' },
      },
    }
  }
  // names every column, so that `secret` can be told to be write-only
  static override jsonSchema = {
    type: 'object',
    properties: {
      id: { type: 'integer' },
      name: { type: 'string', title: 'Full name' },
      bio: { type: 'string' },
      secret: { type: 'string', writeOnly: true },
      country_id: { type: ['integer', 'null'] },
    },
  }
  declare id: number
  declare name: string
  declare bio: string
  declare country?: Country | null
}
class Book extends Model {
  static override tableName = 'books'
  static override get virtualAttributes() {
    return ['shout']
  }
  static override get relationMappings(): RelationMappings {
    return {
      author: {
        relation: Model.BelongsToOneRelation,
        modelClass: Author,
        join: { from: 'books.author_id', to: 'authors.id' },
      },
      cover: { relation: Model.HasOneRelation, modelClass: Cover, join: { from: 'books.id', to: 'covers.book_id' } },
      reviews: {
        relation: Model.HasManyRelation,
        modelClass: Review,
        join: { from: 'books.id', to: 'reviews.book_id' },
      },
      tags: {
        relation: Model.ManyToManyRelation,
        modelClass: Tag,
        join: { from: 'books.id', through: { from: 'books_tags.book_id', to: 'books_tags.tag_id' }, to: 'tags.id' },
      },
    }
  }
  get shout() {
    return this.title.toUpperCase()
  }
  declare id: number
  declare title: string
  declare isbn: string | null
  declare n: number | null
  declare meta: unknown
  declare author_id: number | null
  declare author?: Author | null
  declare reviews?: Review[]
  declare tags?: Tag[]
}
class Cover extends Model {
  static override tableName = 'covers'
  declare id: number
  declare color: string
}
class Review extends Model {
  static override tableName = 'reviews'
  static override get relationMappings(): RelationMappings {
    return {
      critic: {
        relation: Model.BelongsToOneRelation,
        modelClass: Author,
        join: { from: 'reviews.critic_id', to: 'authors.id' },
      },
    }
  }
  declare id: number
  declare stars: number
  declare text: string
}
class SheetLine extends Model {
  static override tableName = 'lines'
  static override idColumn = ['sheet_id', 'position']
}
class Note extends Model {
  static override tableName = 'notes'
}
class Sheet extends Model {
  static override tableName = 'sheets'
  static override get relationMappings(): RelationMappings {
    return {
      lines: {
        relation: Model.HasManyRelation,
        modelClass: SheetLine,
        join: { from: 'sheets.id', to: 'lines.sheet_id' },
      },
      notes: { relation: Model.HasManyRelation, modelClass: Note, join: { from: 'sheets.id', to: 'notes.sheet_id' } },
    }
  }
}
class Tag extends Model {
  static override tableName = 'tags'
  declare id: number
  declare slug: string
}
const MODELS = [Country, Author, Book, Cover, Note, Review, Sheet, SheetLine, Tag]

class AuthorSerializer extends ModelSerializer<Author> {
  static override model = Author
  static override fields = ['id', 'name', 'bio']
  static override extraKwargs = { bio: { required: true } }
}
class BookSerializer extends ModelSerializer<Book> {
  static override model = Book
  static override fields = ['id', 'title', 'isbn', 'n', 'meta', 'author_id']
}
/** A book whose author is written with it. */
class FullBookSerializer extends ModelSerializer<Book> {
  static override model = Book
  static override fields = ['id', 'title', 'isbn']
  static override declaredFields = {
    author: new NestedSerializer(AuthorSerializer, { required: false, allowNull: true }),
  }
}
class CoverSerializer extends ModelSerializer<Cover> {
  static override model = Cover
  static override fields = ['id', 'color']
}
class ReviewSerializer extends ModelSerializer<Review> {
  static override model = Review
  static override fields = ['id', 'stars', 'text', 'book_id', 'critic_id']
}
class TagSerializer extends ModelSerializer<Tag> {
  static override model = Tag
  static override fields = ['id', 'slug']
}
/** Everything that points to a book. */
class ShelfSerializer extends ModelSerializer<Book> {
  static override model = Book
  static override fields = ['id', 'title']
  static override declaredFields = {
    cover: new NestedSerializer(CoverSerializer, { required: false, allowNull: true }),
    reviews: new NestedSerializer(ReviewSerializer, { many: true, required: false }),
    tags: new NestedSerializer(TagSerializer, { many: true, required: false }),
  }
}
class LineSerializer extends ModelSerializer<SheetLine> {
  static override model = SheetLine
  static override fields = '__all__'
}
class SheetSerializer extends ModelSerializer<Sheet> {
  static override model = Sheet
  static override fields = ['id']
  static override declaredFields = { lines: new NestedSerializer(LineSerializer, { many: true, required: false }) }
}
class NoteSerializer extends ModelSerializer<Note> {
  static override model = Note
  static override fields = ['id', 'text']
}
class NotedSerializer extends ModelSerializer<Sheet> {
  static override model = Sheet
  static override fields = ['id']
  static override declaredFields = { notes: new NestedSerializer(NoteSerializer, { many: true, required: false }) }
}
class TaggedSerializer extends ModelSerializer<Book> {
  static override model = Book
  static override fields = ['id', 'title', 'tags']
}

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase({ schema })
  for (const model of MODELS) model.knex(database.knex)
  await prepareModels(MODELS)
})
afterAll(() => database.drop())
beforeEach(async () => {
  await database.knex.raw(
    'truncate countries, authors, books, covers, reviews, tags, books_tags restart identity cascade',
  )
  await database.knex.raw(`
    insert into countries (code, name) values ('de', 'Germany'), ('fr', 'France');
    insert into authors (name, bio, owner_id, country_id) values ('Ann', 'a', 1, 1), ('Bob', 'b', 2, null);
    insert into books (title, isbn, author_id) values ('One', '111', 1), ('Two', '222', 2);
    insert into tags (slug) values ('red'), ('green'), ('blue');
    insert into books_tags values (1, 1), (1, 2);
    insert into reviews (stars, text, book_id, critic_id) values (5, 'good', 1, 2), (1, 'bad', 1, null), (3, 'other', 2, 1);
    insert into covers (color, book_id) values ('black', 1)`)
})

type Made = InstanceType<typeof Serializer<any>>
const make = (serializer: unknown, options: object): Made => new (serializer as typeof Serializer)(options)

/** The errors of an input; undefined when it is valid. */
async function refused(serializer: unknown, inputData: unknown, options: object = {}) {
  const made = make(serializer, { inputData, ...options })
  return (await made.isValid()) ? undefined : made.errors
}
/** Validates and saves; the output. */
async function saved(serializer: unknown, inputData: unknown, options: object = {}) {
  const made = make(serializer, { inputData, ...options })
  await made.isValid({ raiseException: true })
  await made.save()
  return made.data
}
async function failure(work: Promise<unknown>): Promise<ValidationError> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(ValidationError)
  return error as ValidationError
}
const rows = (table: string) => database.knex(table).orderBy('id')
const book = (id = 1) => Book.query().findById(id).throwIfNotFound()

/** A subclass with other statics. */
function variant<S extends new (...args: any[]) => object>(base: S, statics: object): S {
  const made = class extends base {}
  Object.defineProperty(made, 'name', { value: 'VariantSerializer' })
  return Object.assign(made, statics)
}

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
    expect(await saved(Own, [{ name: 'x' }, { name: 'y' }], { many: true })).toEqual([
      { name: 'created x' },
      { name: 'created y' },
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
      'select "authors".* from',
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
    expect([await rows('books'), await rows('authors'), await rows('tags')].map((all) => all.length)).toEqual([2, 2, 3])
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
        { reviews: [{ id: 1 }, { id: 3, stars: 1 }, { text: 'x' }] },
        { obj: await book(), partial: true },
      ),
    ).toEqual({
      reviews: { 1: { id: ['Invalid pk "3" - object does not exist.'] }, 2: { stars: ['This field is required.'] } },
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
    expect(await database.knex('books_tags').where({ book_id: 1 })).toEqual([])
    expect(await refused(TaggedSerializer, { title: 'x', tags: [1, 98, 99] })).toEqual({
      tags: ['Invalid pk "98" - object does not exist.', 'Invalid pk "99" - object does not exist.'],
    })
    for (const wrong of [1, '1', {}, [null], ['1'], [[1]], [true]]) {
      expect(Object.keys((await refused(TaggedSerializer, { title: 'x', tags: wrong })) ?? {})).toEqual(['tags'])
    }
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
    await database.knex.raw(`insert into tags (slug) select 't' || n from generate_series(1, 40000) n`)
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
      await database.knex('books_tags').delete()
      await Promise.all([write([1, 2]), write([3])])
      const stored = (await database.knex('books_tags').where({ book_id: 1 }).orderBy('tag_id')).map(
        ({ tag_id }) => tag_id,
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
      'fields names "titel", which is no column, relation or attribute of Book; correct the name, or declare the field',
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
      'field "x" has no source: Book has no column, relation or attribute "x"; correct the name, set option source, or list in its static virtualAttributes what the queryset selects',
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
    const slug = related(new SlugRelatedField({ queryset: Author, slugField: 'nom' }))
    expect(plan(slug)).toThrow('SlugRelatedField: Author has no property "nom"; correct slugField or queryset')
  })

  it('a serializer nested in itself', () => {
    class Node extends Tag {
      static override get relationMappings(): RelationMappings {
        return {
          self: { relation: Model.BelongsToOneRelation, modelClass: Node, join: { from: 'tags.id', to: 'tags.id' } },
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
