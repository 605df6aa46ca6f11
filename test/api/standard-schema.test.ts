/** Schemas of zod, valibot, arktype and Joi stand where validators and inputs of actions do. */
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import Joi from 'joi'
import {
  APIRouter,
  APIView,
  ArrayField,
  action,
  ConfigurationError,
  listAction,
  ModelSerializer,
  modelSerializer,
  modelViewSet,
  NestedSerializer,
  objectAction,
  Serializer,
  StringField,
  UploadedFile,
  ValidationError,
} from 'koa-viewsets'
import { formatExplanations } from 'koa-viewsets/tools'
import * as v from 'valibot'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { type Client, serving } from '../support/client.js'
import { Author, database, Book as LibraryBook, useLibrary } from '../support/library.js'
import { MULTIPART, multipart } from '../support/multipart.js'
import { lint } from '../support/redocly.js'

useLibrary({
  sql: `
    alter table books add pages int, add tags text[], add starts date, add ends date;
    insert into books (title, pages, starts, ends) values ('One', 10, '2026-01-01', '2026-12-31');`,
  keep: true,
})

class Book extends LibraryBook {
  declare pages: number | null
  declare tags: string[] | null
  declare starts: string | null
  declare ends: string | null
}

/** The same of each library: a name of two letters and more, made lower case, copies at shops, and nothing else. */
const zodOrder = z.object({
  name: z.string().min(2).toLowerCase(),
  copies: z
    .array(z.object({ shop: z.string(), count: z.number().int() }))
    .max(3)
    .optional(),
})
const valibotOrder = toStandardJsonSchema(
  v.object({
    name: v.pipe(v.string(), v.minLength(2), v.toLowerCase()),
    copies: v.optional(
      v.pipe(v.array(v.object({ shop: v.string(), count: v.pipe(v.number(), v.integer()) })), v.maxLength(3)),
    ),
  }),
)
const arktypeOrder = type({
  '+': 'delete',
  name: type('string >= 2').pipe((name) => name.toLowerCase()),
  'copies?': type({ shop: 'string', count: 'number.integer' }).array().atMostLength(3),
})

const joiOrder = Joi.object({
  name: Joi.string().min(2).lowercase().required(),
  copies: Joi.array()
    .items(Joi.object({ shop: Joi.string().required(), count: Joi.number().integer().required() }))
    .max(3),
}).prefs({ abortEarly: false, stripUnknown: true })

const checked: string[] = []
const waits = z.object({
  name: z.string().refine(async (name) => {
    await Promise.resolve()
    checked.push(name)
    if (name === 'breaks') throw new Error('the checker is broken')
    if (name === 'refuses') throw new ValidationError({ name: ['Not this one.'] })
    return name !== 'taken'
  }, 'Taken.'),
})
interface Tree {
  name: string
  below: Tree[]
}
const tree: z.ZodType<Tree> = z.lazy(() => z.object({ name: z.string(), below: z.array(tree) }))

class AuthorSerializer extends modelSerializer(Author, { fields: ['id', 'name'] }) {}
class BookSerializer extends modelSerializer(Book, {
  fields: ['id', 'title', 'pages', 'tags', 'starts', 'ends'],
  declaredFields: {
    tags: new ArrayField({
      child: new StringField({
        validators: [
          z
            .string()
            .regex(/^[a-z]+$/, 'Small letters only.')
            .max(5),
        ],
      }),
      required: false,
      validators: [z.array(z.string()).transform((tags) => [...new Set(tags)])],
    }),
    author: new NestedSerializer(AuthorSerializer, {
      required: false,
      allowNull: true,
      validators: [z.object({ name: z.string().min(3) })],
    }),
  },
  extraKwargs: {
    title: {
      validators: [z.string().trim().min(2), v.pipe(v.string(), v.regex(/^[^!]*$/, 'No shouting.')), noNumbers],
    },
    pages: { validators: [type('number < 5000')] },
  },
  validators: [
    z
      .object({ starts: z.string().nullish(), ends: z.string().nullish() })
      .refine(({ starts, ends }) => !starts || !ends || starts <= ends, {
        path: ['ends'],
        message: 'Ends before it starts.',
      }),
  ],
}) {}

function noNumbers(title: string): void {
  if (/\d/.test(title)) throw new ValidationError('No numbers.')
}

class Decorated extends APIView {
  @action({ methods: ['POST'], inputSerializer: zodOrder })
  async orders(data: z.output<typeof zodOrder>) {
    return data
  }
}
const echo = (_book: Book, data: unknown) => data
const BookViewSet = modelViewSet(Book, {
  serializerClass: BookSerializer,
  actions: {
    zod: objectAction({ methods: ['POST'], input: zodOrder }, echo),
    valibot: objectAction({ methods: ['POST'], input: valibotOrder }, echo),
    arktype: objectAction({ methods: ['POST'], input: arktypeOrder }, echo),
    joi: objectAction({ methods: ['POST'], input: joiOrder }, echo),
    strict: listAction({ methods: ['POST'], input: z.strictObject({ name: z.string() }) }, (data) => data),
    loose: listAction({ methods: ['POST'], input: z.looseObject({ name: z.string() }) }, (data) => data),
    names: listAction({ methods: ['POST'], input: z.array(z.string()).min(1) }, (data) => data),
    waits: listAction({ methods: ['POST'], input: waits }, (data) => data),
    tree: listAction({ methods: ['POST'], input: tree }, (data) => data),
    plain: listAction(
      { methods: ['POST'], input: v.object({ name: v.string(), many: v.optional(v.array(v.string())) }) },
      (data) => data,
    ),
    dated: listAction(
      { methods: ['POST'], input: z.object({ on: z.iso.date().transform((day) => new Date(day)) }) },
      ({ on }) => ({
        year: on.getUTCFullYear(),
      }),
    ),
    form: listAction(
      {
        methods: ['POST'],
        input: z.object({
          count: z.number().min(1),
          open: z.boolean().optional(),
          tags: z.array(z.string()).optional(),
          sizes: z.array(z.number()).optional(),
          pages: z.number().nullable().optional(),
          file: z.instanceof(UploadedFile).optional(),
        }),
      },
      ({ file, ...data }) => ({ ...data, ...(file && { file: [file.filename, file.size] }) }),
    ),
    small: listAction({ methods: ['POST'], input: z.unknown(), maxNestedObjects: 3 }, () => 'taken'),
  },
})

let client: Client
const api = new APIRouter({ prefix: '/api' }).register('books', BookViewSet)

beforeAll(async () => {
  await api.prepare()
  client = await serving(api.routes())
})
afterAll(async () => {
  await client.close()
})

const post = (path: string, body: unknown) => client.send('POST', `/api/books/${path}`, body)
const errorsOf = async (path: string, body: unknown) => {
  const response = await post(path, body)
  expect(response.status).toBe(400)
  return response.json.errors
}

describe.each(['zod', 'valibot', 'arktype', 'joi'])('an action whose input is a schema of %s', (library) => {
  it('gets what the schema makes of the body, without keys that it drops', async () => {
    const body = { name: 'ADA', copies: [{ shop: 'x', count: 1 }], more: 1 }
    const { status, json } = await post(`1/${library}`, body)
    expect([status, json]).toEqual([200, { name: 'ada', copies: [{ shop: 'x', count: 1 }] }])
  })

  it('is not called for a wrong one, whose issues stand at their names and positions', async () => {
    const errors = await errorsOf(`1/${library}`, {
      name: 'A',
      copies: [
        { shop: 'x', count: 1 },
        { shop: 2, count: 1.5 },
      ],
    })
    expect(errors).toEqual({
      name: [expect.any(String)],
      copies: { 1: { shop: [expect.any(String)], count: [expect.any(String)] } },
    })
  })

  it('has its issues about a list beside those of its items', async () => {
    const errors = await errorsOf(`1/${library}`, { name: 'Ada', copies: Array(4).fill({ shop: 'x', count: 1 }) })
    expect(errors).toEqual({ copies: [expect.any(String)] })
  })

  it.each([[[]], ['text'], [7], [null], [{}]])('refuses %j', async (body) => {
    const { status, json } = await post(`1/${library}`, body)
    expect(status).toBe(400)
    expect(json).toMatchObject({ status: 400, detail: expect.any(String) })
  })

  it('describes its body by its JSON Schema', () => {
    const name = `Book${library.charAt(0).toUpperCase()}${library.slice(1)}Input`
    const operation: any = api.getSchema().paths[`/api/books/{id}/${library}`]?.['post']
    const { content } = operation.requestBody
    expect(content['application/json'].schema).toEqual({ $ref: `#/components/schemas/${name}` })
    expect(content).toHaveProperty('multipart/form-data')
    expect(api.getSchema().components.schemas[name]).toMatchObject({
      type: 'object',
      properties: {
        name: { type: 'string', minLength: 2 },
        copies: { type: 'array', maxItems: 3, items: { properties: { shop: { type: 'string' } } } },
      },
      required: ['name'],
    })
  })

  it('tells the fields by OPTIONS, and the schema by explain()', async () => {
    const { json } = await client.send('OPTIONS', `/api/books/1/${library}`)
    expect(json.actions.fields).toMatchObject({
      name: { type: 'string', required: true, read_only: false, min_length: 2 },
      copies: { type: 'array', required: false, max_length: 3 },
    })
    const [explained] = await api.explain(`book-${library}`)
    expect(explained?.input).toBe(`${library} schema`)
    expect(formatExplanations([explained!])).toContain(`${library} schema`)
  })
})

describe('a schema as the input of an action', () => {
  it('decides of unknown keys', async () => {
    expect(await errorsOf('strict', { name: 'a', more: 1 })).toEqual({
      non_field_errors: [expect.stringContaining('more')],
    })
    expect((await post('loose', { name: 'a', more: 1 })).json).toEqual({ name: 'a', more: 1 })
  })

  it('may be of a list, which only JSON can be', async () => {
    expect((await post('names', ['a', 'b'])).json).toEqual(['a', 'b'])
    expect(await errorsOf('names', ['a', 2])).toEqual({ 1: [expect.any(String)] })
    const operation: any = api.getSchema().paths['/api/books/names']?.['post']
    expect(Object.keys(operation.requestBody.content)).toEqual(['application/json'])
  })

  it('may be of @action, too', async () => {
    class Orders extends modelViewSet(Book, { serializerClass: BookSerializer }) {
      @action({ methods: ['POST'], inputSerializer: zodOrder })
      async order(data: z.output<typeof zodOrder>) {
        return [data, this.validatedData === data, this.ctx.state['validatedData'] === data]
      }
    }
    const own = new APIRouter().register('orders', Orders)
    const asked = await serving(own.routes())
    expect((await asked.send('POST', '/orders/order', { name: 'ADA' })).json).toEqual([{ name: 'ada' }, true, true])
    await asked.close()
    expect(Decorated.prototype.orders).toBeTypeOf('function')
  })

  it('may make values that JSON does not have', async () => {
    expect((await post('dated', { on: '2026-01-02' })).json).toEqual({ year: 2026 })
    expect(await errorsOf('dated', { on: 'soon' })).toEqual({ on: [expect.any(String)] })
  })

  it('may wait, and is asked once', async () => {
    checked.length = 0
    expect((await post('waits', { name: 'free' })).json).toEqual({ name: 'free' })
    expect(await errorsOf('waits', { name: 'taken' })).toEqual({ name: ['Taken.'] })
    expect(checked).toEqual(['free', 'taken'])
  })

  it('may refuse by a ValidationError, and any other error is a 500 that is reported', async () => {
    expect(await errorsOf('waits', { name: 'refuses' })).toEqual({ name: ['Not this one.'] })
    client.reported.length = 0
    expect((await post('waits', { name: 'breaks' })).status).toBe(500)
    expect(client.reported).toMatchObject([{ message: 'the checker is broken' }])
  })

  it('has its definitions among the components, and an open schema where it says nothing of itself', async () => {
    const document = api.getSchema({ license: { name: 'MIT', identifier: 'MIT' } })
    const { schemas } = document.components
    const text = JSON.stringify(schemas['BookTreeInput'])
    expect(text).toContain('#/components/schemas/BookTreeInput')
    expect(schemas['BookPlainInput']).toEqual({ description: expect.stringContaining('valibot') })
    expect(await lint(document)).toEqual([])
  }, 60_000)

  it('may call its definitions as no URI can', () => {
    const share = z.number().meta({ id: '100% of/it' })
    const input = z.object({ one: share, other: share })
    const split = listAction({ methods: ['POST'], input }, (data) => data)
    const view = modelViewSet(Book, { serializerClass: BookSerializer, actions: { split } })
    const { schemas } = new APIRouter().register('books', view).getSchema().components
    expect(schemas['BookSplitInput']?.['properties']).toMatchObject({
      one: { $ref: '#/components/schemas/BookSplitInput.100__of_it' },
    })
    expect(schemas['BookSplitInput.100__of_it']).toEqual({ type: 'number' })
  })

  it('names two inputs of one name apart', () => {
    const input = { name: new StringField() }
    const send = () => listAction({ methods: ['POST'], input }, (data) => data)
    const one = modelViewSet(Book, { serializerClass: BookSerializer, actions: { send: send() } })
    const other = modelViewSet(Author, { serializerClass: AuthorSerializer, actions: { send: send() } })
    const { schemas } = new APIRouter().register('books', one).register('authors', other).getSchema().components
    expect(Object.keys(schemas)).toEqual(expect.arrayContaining(['BookSendInput', 'AuthorSendInput']))
  })

  it.each(['__proto__', 'constructor', 'prototype'])('is never given a prototype by the key %s', async (key) => {
    const { status } = await client.send(
      'POST',
      '/api/books/loose',
      JSON.parse(`{"name": "a", "${key}": {"polluted": 1}}`),
    )
    expect([200, 400]).toContain(status)
    expect(({} as any).polluted).toBeUndefined()
  })

  it('sees no body of more objects than the view takes', async () => {
    const objects = (count: number) => Array.from({ length: count }, () => ({}))
    expect((await post('small', { list: objects(3) })).status).toBe(200)
    expect(await errorsOf('small', { list: objects(4) })).toEqual({
      non_field_errors: ['A request may hold at most 3 nested objects.'],
    })
    expect(await errorsOf('small', [[[{}, { a: { b: [{}] } }]]])).toHaveProperty('non_field_errors')
    expect((await errorsOf('loose', { name: 'x', list: objects(1001) })).non_field_errors).toHaveLength(1)
  })

  it('tells about a hundred issues of one body', async () => {
    const errors = await errorsOf('names', Array(5000).fill(1))
    expect(Object.keys(errors)).toHaveLength(100)
  })
})

describe('a form for a schema', () => {
  const form = (path: string, body: string) =>
    sendRaw(path, body, { 'Content-Type': 'application/x-www-form-urlencoded' })
  const sendRaw = async (path: string, body: string | Buffer, headers: Record<string, string>) => {
    const response = await fetch(`http://127.0.0.1:${client.port}/api/books/${path}`, {
      method: 'POST',
      headers,
      body: body as string,
    })
    return { status: response.status, json: (await response.json()) as any }
  }

  it('has its texts read as the JSON Schema says', async () => {
    expect((await form('form', 'count=2&open=on&tags=a&sizes=1&sizes=2&pages=')).json).toEqual({
      count: 2,
      open: true,
      tags: ['a'],
      sizes: [1, 2],
      pages: null,
    })
  })

  it('leaves what it cannot read to the schema', async () => {
    const { status, json } = await form('form', 'count=many&open=perhaps&sizes=x')
    expect(status).toBe(400)
    expect(Object.keys(json.errors)).toEqual(['count', 'open', 'sizes'])
  })

  it('gives texts as they are where there is no JSON Schema, a list for a name that is repeated', async () => {
    expect((await form('plain', 'name=7&many=a&many=b')).json).toEqual({ name: '7', many: ['a', 'b'] })
  })

  it('brings files', async () => {
    const body = multipart(
      { name: 'count', content: '1' },
      { name: 'file', filename: 'a.txt', type: 'text/plain', content: 'abc' },
    )
    expect((await sendRaw('form', body, MULTIPART)).json).toEqual({ count: 1, file: ['a.txt', 3] })
  })

  it('keeps no file of a name that is none of a file', async () => {
    const body = multipart({ name: 'count', filename: 'a.txt', type: 'text/plain', content: 'abc' })
    expect((await sendRaw('form', body, MULTIPART)).json.errors).toEqual({ count: [expect.any(String)] })
  })
})

describe('a schema among validators', () => {
  const create = (body: object) => client.send('POST', '/api/books', { title: 'Fine', ...body })

  it('of a field makes the value that is kept, or says what is wrong with it', async () => {
    expect((await create({ title: '  Trimmed  ' })).json).toMatchObject({ title: 'Trimmed' })
    expect((await create({ title: ' x ' })).json.errors).toEqual({ title: [expect.any(String)] })
    expect((await create({ title: 'Hey!' })).json.errors).toEqual({ title: ['No shouting.'] })
    expect((await create({ title: 'Room 7' })).json.errors).toEqual({ title: ['No numbers.'] })
    expect((await create({ pages: 5000 })).json.errors).toEqual({ pages: [expect.any(String)] })
    expect((await create({ pages: null })).status).toBe(201)
  })

  it('of a list and of its items', async () => {
    expect((await create({ tags: ['a', 'b', 'a'] })).json.tags).toEqual(['a', 'b'])
    expect((await create({ tags: ['a', 'B'] })).json.errors).toEqual({ tags: { 1: ['Small letters only.'] } })
  })

  it('of a nested object leaves it as it is', async () => {
    const { json, status } = await create({ author: { name: 'Ada' } })
    expect(status).toBe(201)
    const changed = await client.send('PATCH', `/api/books/${json.id}`, {
      author: { id: json.author.id, name: 'Ada L.' },
    })
    expect(changed.json.author).toEqual({ id: json.author.id, name: 'Ada L.' })
    const refused = await client.send('PATCH', `/api/books/${json.id}`, { author: { id: json.author.id, name: 'A' } })
    expect(refused.json.errors).toEqual({ author: { name: [expect.any(String)] } })
  })

  it('of a serializer is about several fields, and drops none', async () => {
    const wrong = await create({ starts: '2026-02-01', ends: '2026-01-01' })
    expect(wrong.json.errors).toEqual({ ends: ['Ends before it starts.'] })
    const right = await create({ starts: '2026-01-01', ends: '2026-02-01', pages: 3 })
    expect(right.json).toMatchObject({ starts: '2026-01-01', ends: '2026-02-01', pages: 3 })
  })

  it('of a serializer sees the stored values of what a PATCH leaves', async () => {
    const wrong = await client.send('PATCH', '/api/books/1', { ends: '2025-01-01' })
    expect(wrong.json.errors).toEqual({ ends: ['Ends before it starts.'] })
    expect((await client.send('PATCH', '/api/books/1', { title: 'Other' })).json).toMatchObject({
      title: 'Other',
      ends: '2026-12-31',
    })
  })

  it('of a serializer sees keys that a PATCH leaves as a POST has them', async () => {
    const seen: unknown[] = []
    const serializerClass = modelSerializer(Book, {
      fields: ['id', 'title', 'author_id'],
      validators: [(data: object) => void seen.push(data), z.object({ author_id: z.number() })],
    })
    const own = new APIRouter().register('books', modelViewSet(Book, { serializerClass }), 'own')
    await own.prepare()
    const { send, close } = await serving(own.routes())
    onTestFinished(() => close())
    const [author] = await database.knex('authors').insert({ name: 'Ada' }).returning('id')
    const { json } = await send('POST', '/books', { title: 'One', author_id: author.id })
    expect((await send('PATCH', `/books/${json.id}`, { title: 'Two' })).json).toEqual({ ...json, title: 'Two' })
    expect(seen).toEqual([
      { title: 'One', author_id: author.id },
      { title: 'Two', author_id: author.id },
    ])
  })

  it('lays what it makes of an object over the data', async () => {
    class Range extends Serializer {
      static override declaredFields = { from: new StringField(), to: new StringField({ required: false }) }
      static override validators = [
        z.object({ from: z.string().transform((from) => from.length) }),
        (data: { from: unknown }) => {
          if (data.from === 3) throw new ValidationError({ to: 'Not three.' })
        },
      ]
    }
    const range = new Range({ inputData: { from: 'ab', to: 'x' } })
    await range.isValid({ raiseException: true })
    expect(range.validatedData).toEqual({ from: 2, to: 'x' })
    const three = new Range({ inputData: { from: 'abc' } })
    expect(await three.isValid()).toBe(false)
    expect(three.errors).toEqual({ to: ['Not three.'] })
  })

  it('tells messages of a value and of its parts together', async () => {
    const validators = [
      () => {
        throw new ValidationError('Not today.')
      },
      z.array(z.string().max(1, 'Long.')),
    ]
    class Tags extends Serializer {
      static override declaredFields = { tags: new ArrayField({ child: new StringField(), validators }) }
    }
    const tags = new Tags({ inputData: { tags: ['a', 'bb'] } })
    await tags.isValid()
    expect(tags.errors).toEqual({ tags: { non_field_errors: ['Not today.'], 1: ['Long.'] } })
  })

  it('rises with whatever it throws besides', async () => {
    class Broken extends Serializer {
      static override declaredFields = {
        name: new StringField({
          validators: [
            z.string().transform(() => {
              throw new TypeError('broken')
            }),
          ],
        }),
      }
    }
    await expect(new Broken({ inputData: { name: 'x' } }).isValid()).rejects.toThrow(new TypeError('broken'))
  })

  it('narrows what OpenAPI and OPTIONS say of the field', async () => {
    const { properties }: any = api.getSchema().components.schemas['BookInput']
    expect(properties.title).toMatchObject({ type: 'string', minLength: 2 })
    expect(properties.pages).toMatchObject({ type: ['integer', 'null'], exclusiveMaximum: 5000 })
    expect(properties.tags.items).toMatchObject({ type: 'string', pattern: '^[a-z]+$', maxLength: 5 })
    const { json } = await client.send('OPTIONS', '/api/books')
    expect(json.actions.fields.title).toMatchObject({ min_length: 2 })
  })

  it('makes the insert one by the serializer', async () => {
    const explained = await api.explain()
    const create = explained.find(({ answeredBy }) => answeredBy.endsWith('.create'))
    expect(create?.insert?.because).toContain('validators of whole objects')
  })

  it.each([['no schema'], [{ '~standard': { version: 2, validate: () => ({}) } }], [{ parse() {} }]])(
    'is none: %j',
    (validator) => {
      class Wrong extends ModelSerializer<Book> {
        static override model = Book
        static override fields = ['id', 'title']
        static override validators = [validator] as any
      }
      const view = modelViewSet(Book, { serializerClass: Wrong })
      expect(() => new APIRouter().register('wrong', view)).toThrow(ConfigurationError)
      const field = class extends Serializer {
        static override declaredFields = { title: new StringField({ validators: [validator] as any }) }
      }
      const action = listAction({ methods: ['POST'], input: field }, () => 1)
      const other = modelViewSet(Book, { serializerClass: BookSerializer, actions: { send: action } as any })
      expect(() => new APIRouter().register('wrong', other)).toThrow(/functions, or schemas/)
    },
  )
})
