/** What a model says of its own rows is honoured when a serializer writes them. */
import knex from 'knex'
import { ModelSerializer, type Serializer, SlugRelatedField } from 'koa-viewsets'
import { type ModelDescription, prepareModels } from 'koa-viewsets/tools'
import {
  knexSnakeCaseMappers,
  Model,
  type ModelOptions,
  type Pojo,
  type RelationMappings,
  snakeCaseMappers,
} from 'objection'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildModel, databaseValues, PlainColumn } from '../../../lib/models/build-model.js'
import { describeModel } from '../../../lib/models/describe-model.js'
import { traitsOf } from '../../../lib/models/model-traits.js'
import { createDatabase, type TestDatabase } from '../../support/database.js'

const schema = `
  create table authors (id serial primary key, full_name text not null unique);
  create table books (
    id serial primary key,
    title text,
    slug text,
    price numeric(30,2),
    big bigint,
    meta jsonb,
    plain json,
    tags text[],
    bytes bytea,
    tod time,
    at timestamptz,
    kind text,
    author_id int references authors,
    updated_count int not null default 0
  );
  create table stays (id serial primary key, span interval, at timestamptz, day date);
  create table pairs (first_part int, second_part int, note text, primary key (first_part, second_part));
`

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase({ schema })
})
afterAll(() => database.drop())

/** A serializer of all columns of a model on `books`. */
async function serializerOf(model: typeof Model, statics: object = {}): Promise<typeof Serializer> {
  if (!(model.knex() as unknown)) model.knex(database.knex)
  await prepareModels([model, ...Object.values(model.getRelations()).map((relation) => relation.relatedModelClass)])
  const made = class BookSerializer extends ModelSerializer {}
  return Object.assign(made, { model, fields: '__all__', ...statics }) as never
}
function bookModel(statics: object = {}): typeof Model {
  return Object.assign(class Book extends Model {}, { tableName: 'books' }, statics)
}
async function saved(serializer: typeof Serializer, inputData: object, options: object = {}) {
  const made = new serializer({ inputData, ...options })
  await made.isValid({ raiseException: true })
  await made.save()
  return made.data as Record<string, unknown>
}
const stored = async (id: unknown, sql: string) =>
  (await database.knex.raw(`select ${sql} as value from books where id = ?`, [id as number])).rows[0].value as unknown

const JSON_VALUES = [{ a: [1, null] }, [1, 'a', null], ['a'], [], {}, 'text', '"quoted"', '5', '', 0, 1.5, true, false]

describe('a json column', () => {
  it.each(JSON_VALUES)('of a model that says nothing of it takes %j', async (value) => {
    const serializer = await serializerOf(bookModel())
    const made = await saved(serializer, { meta: value, plain: value })
    expect(made).toMatchObject({ meta: value, plain: value })
    expect(await stored(made['id'], 'meta')).toEqual(value)
    const obj = await serializer.plan.model?.model.query().findById(made['id'] as number)
    expect(await saved(serializer, { meta: value, plain: value }, { obj, partial: true })).toMatchObject({
      meta: value,
      plain: value,
    })
    expect(await stored(made['id'], 'meta')).toEqual(value)
  })

  it.each<[string, object]>([
    ['jsonAttributes', { jsonAttributes: ['meta', 'plain'] }],
    ['a type', { jsonSchema: { type: 'object', properties: { meta: { type: 'array' }, plain: {} } } }],
    [
      'anyOf',
      {
        jsonSchema: {
          type: 'object',
          properties: { meta: { anyOf: [{ type: 'object' }, { type: 'array' }] }, plain: {} },
        },
      },
    ],
    ['no type', { jsonSchema: { type: 'object', properties: { meta: {}, plain: {} } } }],
  ])('told by %s is written once', async (_, statics) => {
    const serializer = await serializerOf(bookModel(statics))
    for (const value of [[1, 'a'], ['a'], []]) {
      const made = await saved(serializer, { meta: value })
      expect(made).toMatchObject({ meta: value })
      expect(await stored(made['id'], 'jsonb_typeof(meta)')).toBe('array')
    }
  })

  it('is NULL for null', async () => {
    const made = await saved(await serializerOf(bookModel()), { meta: null })
    expect(await stored(made['id'], 'meta is null')).toBe(true)
  })
})

describe('an array column', () => {
  it('is written as an array where the model does not call it JSON', async () => {
    for (const statics of [
      {},
      { jsonAttributes: ['meta'], jsonSchema: { type: 'object', properties: { tags: { type: 'array' } } } },
    ]) {
      const made = await saved(await serializerOf(bookModel(statics)), { tags: ['a', 'b,"c'] })
      expect(made['tags']).toEqual(['a', 'b,"c'])
    }
  })

  it('[I23] that Objection would write as JSON text is a ConfigurationError, unless it is only shown', async () => {
    const model = bookModel({
      jsonSchema: { type: 'object', properties: { tags: { type: 'array', items: { type: 'string' } } } },
    })
    const serializer = await serializerOf(model)
    expect(() => serializer.plan).toThrow(
      'BookSerializer: field "tags" is the column "tags" of type text[], which Objection would write as JSON text because ' +
        'the jsonSchema of Book says array; set static jsonAttributes of the model to its json columns only',
    )
    const shown = await serializerOf(model, { readOnlyFields: ['tags'], fields: ['id', 'tags'] })
    await database.knex('books').insert({ id: 999, tags: ['a'] })
    const obj = await model.query().findById(999)
    expect(new shown({ obj: obj as object }).data).toEqual({ id: 999, tags: ['a'] })
  })
})

describe('what Objection writes in quotation marks', () => {
  it.each([
    [{ jsonAttributes: ['span'] }, 'jsonAttributes of'],
    [
      { jsonSchema: { properties: { span: { type: ['object', 'string'] } } } },
      'an object or a list in the jsonSchema of',
    ],
  ])('[I23] is a ConfigurationError where PostgreSQL takes none: %j', async (statics, said) => {
    const stay = Object.assign(class Stay extends Model {}, { tableName: 'stays' }, statics)
    const serializer = await serializerOf(stay, { fields: ['span'] })
    expect(() => serializer.plan).toThrow(
      `BookSerializer: ${said} Stay names "span", a column of type interval, ` +
        'which Objection writes as JSON text from 3.1 on, in quotation marks; name its json columns only',
    )
  })

  it('may be a time, which the jsonSchema calls an object as it is a Date in hooks', async () => {
    class Stay extends Model {
      static override tableName = 'stays'
      static override jsonSchema = {
        properties: { at: { type: 'object' }, day: { type: ['object', 'string'] } },
      } as never
      declare at: Date
      override $beforeInsert() {
        this.at = new Date('2020-01-02T03:04:05Z')
      }
    }
    const serializer = await serializerOf(Stay, { fields: ['at', 'day'], readOnlyFields: ['at'] })
    expect(await saved(serializer, { day: '2020-02-03' })).toEqual({ at: '2020-01-02T03:04:05Z', day: '2020-02-03' })
  })
})

describe("the model's own validation", () => {
  const model = () =>
    bookModel({
      jsonSchema: {
        type: 'object',
        required: ['title'],
        properties: {
          title: { type: 'string', pattern: '^[A-Z]' },
          price: { type: 'number', minimum: 0 },
          big: { type: 'integer' },
          bytes: { type: ['string', 'null'] },
          tod: { type: ['string', 'null'], format: 'time' },
          at: { type: ['string', 'null'], format: 'date-time' },
          meta: { type: 'object', properties: { tags: { type: 'array', items: { type: 'string' } } } },
          kind: { type: 'string', default: 'novel' },
        },
      },
    })

  it("refuses by the client's field name, also deep inside a JSON value", async () => {
    const serializer = await serializerOf(model(), {
      fields: ['id', 'heading', 'meta'],
      extraKwargs: { heading: { source: 'title' } },
    })
    await expect(saved(serializer, { heading: 'small' })).rejects.toMatchObject({
      status: 400,
      errors: { heading: ['Invalid value.'] },
    })
    await expect(saved(serializer, { heading: 'A', meta: { tags: [1] } })).rejects.toMatchObject({
      errors: { meta: ['Invalid value.'] },
    })
    const made = new serializer({ inputData: { heading: 'A' } })
    await made.isValid()
    // what the client does not know is not named
    await expect(made.save({ kind: true })).rejects.toMatchObject({ errors: { non_field_errors: ['Invalid value.'] } })
  })

  it('takes decimals and large integers by their digits, bytes and times of day', async () => {
    const serializer = await serializerOf(model())
    const values = {
      title: 'A',
      price: '1234567890123456789012345678.25',
      big: '9007199254740993',
      bytes: '\\x00ff',
      tod: '15:30:00.5',
      at: '2026-03-28T15:30:00.123456Z',
    }
    const made = await saved(serializer, values)
    expect(made).toMatchObject(values)
    expect(await stored(made['id'], 'price::text || big::text')).toBe('1234567890123456789012345678.259007199254740993')
    await expect(saved(serializer, { title: 'A', price: '-1' })).rejects.toMatchObject({ status: 400 })
  })

  it('fills in its defaults on create, and only there', async () => {
    const serializer = await serializerOf(model())
    const made = await saved(serializer, { title: 'A' })
    expect(made['kind']).toBe('novel')
    const obj = await (serializer.plan.model as ModelDescription).model
      .query()
      .patchAndFetchById(made['id'] as number, { kind: 'play' })
    expect(await saved(serializer, { title: 'B' }, { obj })).toMatchObject({ title: 'B', kind: 'play' })
  })
})

describe('values without an instance', () => {
  const plainValues = (model: typeof Model, given: object) => {
    const sent = new Map<string, unknown>()
    for (const [property, value] of Object.entries(given)) {
      const column = describeModel(model).columns.get(property)
      if (column && value !== undefined) sent.set(column.column, new PlainColumn(model, column).sent(value))
    }
    return sent
  }
  const values = {
    title: 'A "title"',
    slug: null,
    price: '12.50',
    big: '9007199254740993',
    meta: { a: [1, { b: null }] },
    plain: [1, 'two'],
    tags: ['a', 'b'],
    bytes: Buffer.from([0, 255]),
    at: '2024-05-06T07:08:09.123456Z',
    kind: undefined,
    nothing: 1,
  }

  it('are those that an instance of the model would send', async () => {
    const model = bookModel()
    await serializerOf(model)
    expect(traitsOf(model).plainInput).toBe(true)
    const sent = plainValues(model, values)
    expect(sent).toEqual(databaseValues(model, buildModel(model, values)))
    expect([...sent.keys()]).toEqual(['title', 'slug', 'price', 'big', 'meta', 'plain', 'tags', 'bytes', 'at'])
  })

  it('refuse what Objection would take for a query, as an instance does', async () => {
    const model = bookModel()
    await serializerOf(model)
    for (const make of [plainValues, buildModel]) {
      expect(() => make(model, { meta: { isRawInstance: true } })).toThrow(
        model.createValidationError({} as never).constructor,
      )
    }
  })

  it.each<[string, () => typeof Model]>([
    ['a schema', () => bookModel({ jsonSchema: { type: 'object', properties: {} } })],
    [
      'values of its own',
      () =>
        Object.assign(
          class extends Model {
            kind = 'novel'
          },
          { tableName: 'books' },
        ),
    ],
    [
      'a $parseJson()',
      () =>
        Object.assign(
          class extends Model {
            override $parseJson(json: Pojo) {
              return json
            }
          },
          { tableName: 'books' },
        ),
    ],
    [
      'a $beforeValidate()',
      () =>
        Object.assign(
          class extends Model {
            override $beforeValidate(schema: object) {
              return schema
            }
          },
          { tableName: 'books' },
        ),
    ],
    [
      'a setter of a column',
      () =>
        Object.assign(
          class extends Model {
            set title(_title: string) {}
          },
          { tableName: 'books' },
        ),
    ],
  ])('are not used for a model with %s', async (_name, make) => {
    const model = make()
    await serializerOf(model)
    expect(traitsOf(model).plainInput).toBe(false)
  })
})

describe('hooks of the model', () => {
  class Hooked extends Model {
    static override tableName = 'books'
    declare title: string
    declare slug: string
    declare updated_count: number
    override $parseJson(json: Pojo, options?: ModelOptions): Pojo {
      const parsed = super.$parseJson(json, options)
      return typeof parsed['title'] === 'string'
        ? { ...parsed, title: parsed['title'].trim(), meta: ['parsed'] }
        : parsed
    }
    override $beforeInsert() {
      this.slug = this.title.toLowerCase()
    }
    override $beforeUpdate(options: ModelOptions) {
      this.updated_count = (options.old as Hooked).updated_count + 1
    }
  }

  class Changing extends Hooked {
    override $parseJson(json: Pojo): Pojo {
      if (typeof json['title'] !== 'string') return json
      json['title'] = json['title'].trim()
      json['meta'] = ['parsed']
      return json
    }
  }

  it.each([
    ['run', Hooked],
    ['change what they get', Changing],
  ])('%s, and what they set is stored and shown', async (_, model) => {
    const serializer = await serializerOf(model, { fields: ['id', 'title', 'slug', 'meta', 'updated_count'] })
    const made = await saved(serializer, { title: ' The Title ' })
    expect(made).toMatchObject({ title: 'The Title', slug: 'the title', meta: ['parsed'] })
    const obj = await model.query().findById(made['id'] as number)
    expect(await saved(serializer, { title: 'New' }, { obj, partial: true })).toMatchObject({
      title: 'New',
      updated_count: 1,
    })
  })
})

describe('fields of the class', () => {
  class Initial extends Model {
    static override tableName = 'books'
    title = 'untitled'
    meta: unknown = { pages: [] }
    override $parseJson(json: Pojo): Pojo {
      return json['title'] === 'all' ? { ...json, meta: { pages: [1] } } : json
    }
  }

  it('are values of new objects, and change no others', async () => {
    const serializer = await serializerOf(Initial, { fields: ['id', 'title', 'meta'] })
    const made = await saved(serializer, {})
    expect(made).toMatchObject({ title: 'untitled', meta: { pages: [] } })
    const change = async (data: Record<string, unknown>, partial: boolean) => {
      const obj = await Initial.query().findById(made['id'] as number)
      return saved(serializer, data, { obj, partial })
    }
    expect(await change({ title: 'A', meta: { pages: [2] } }, true)).toMatchObject({ title: 'A', meta: { pages: [2] } })
    expect(await change({ title: 'B' }, true)).toMatchObject({ title: 'B', meta: { pages: [2] } })
    expect(await change({ title: 'C' }, false)).toMatchObject({ title: 'C', meta: { pages: [2] } })
    expect(await change({ meta: { pages: [] } }, true)).toMatchObject({ title: 'C', meta: { pages: [] } })
    expect(await change({ title: 'all' }, true)).toMatchObject({ title: 'all', meta: { pages: [1] } })
  })
})

describe('mappers', () => {
  function camelModels() {
    const Author = Object.assign(class Author extends Model {}, { tableName: 'authors' })
    const Book = Object.assign(class Book extends Model {}, {
      tableName: 'books',
      relationMappings: (): RelationMappings => ({
        author: {
          relation: Model.BelongsToOneRelation,
          modelClass: Author,
          join: { from: 'books.authorId', to: 'authors.id' },
        },
      }),
    })
    return { Author, Book }
  }

  it('snakeCaseMappers() and knexSnakeCaseMappers() give one API', async () => {
    const db = knex({ client: 'pg', connection: { ...database.connection } as object, ...knexSnakeCaseMappers() })
    try {
      for (const kind of ['model', 'knex']) {
        const { Author, Book } = camelModels()
        if (kind === 'model') {
          for (const model of [Author, Book]) Object.assign(model, { columnNameMappers: snakeCaseMappers() })
          Object.assign(Book, {
            relationMappings: {
              author: {
                relation: Model.BelongsToOneRelation,
                modelClass: Author,
                join: { from: 'books.author_id', to: 'authors.id' },
              },
            },
          })
        }
        for (const model of [Author, Book]) model.knex(kind === 'model' ? database.knex : db)
        const authors = await serializerOf(Author)
        const author = await saved(authors, { fullName: `Ann ${kind}` })
        expect(author).toEqual({ id: expect.any(Number), fullName: `Ann ${kind}` })
        await expect(saved(authors, { fullName: `Ann ${kind}` })).rejects.toMatchObject({
          errors: { fullName: ['This field must be unique.'] },
        })
        const books = await serializerOf(Book, {
          fields: ['id', 'authorId', 'updatedCount'],
          declaredFields: {
            author: new SlugRelatedField({ queryset: Author, slugField: 'fullName', required: false, readOnly: true }),
          },
        })
        const made = await saved(books, { authorId: author['id'], updatedCount: 3 })
        expect(made).toMatchObject({ authorId: author['id'], author: `Ann ${kind}`, updatedCount: 3 })
        const obj = await Book.query().findById(made['id'] as number)
        expect(await saved(books, { updatedCount: 4 }, { obj, partial: true })).toMatchObject({ updatedCount: 4 })
        const extra = new books({ inputData: { updatedCount: 5 } })
        await extra.isValid()
        await expect(extra.save({ updatedCount: null })).rejects.toMatchObject({
          errors: { updatedCount: ['This field may not be null.'] },
        })
      }
    } finally {
      await db.destroy()
    }
  })
})

describe('a key of several columns', () => {
  it('is written with the row, and the row changed by it', async () => {
    const Pair = Object.assign(class Pair extends Model {}, {
      tableName: 'pairs',
      idColumn: ['first_part', 'second_part'],
    })
    const serializer = await serializerOf(Pair)
    const row = { first_part: 1, second_part: 2, note: 'x' }
    expect(await saved(serializer, row)).toEqual(row)
    await expect(saved(serializer, row)).rejects.toMatchObject({
      errors: { non_field_errors: ['The fields first_part, second_part must make a unique set.'] },
    })
    const obj = await Pair.query().findById([1, 2])
    expect(await saved(serializer, { note: 'y' }, { obj, partial: true })).toEqual({ ...row, note: 'y' })
  })
})
