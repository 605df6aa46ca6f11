/** Schemas of zod, valibot and arktype as the output of actions: what clients get, and what becomes of a result that is none. */
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import {
  APIRouter,
  APIView,
  action,
  ConfigurationError,
  CSVRenderer,
  JSONRenderer,
  listAction,
  modelSerializer,
  modelViewSet,
  objectAction,
  PageNumberPagination,
  StringField,
  ValidationError,
} from 'koa-viewsets'
import { createClient } from 'koa-viewsets/client'
import { validateResponse } from 'koa-viewsets/testing'
import * as v from 'valibot'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type Client, serveApp, serving } from '../support/client.js'
import { Book as LibraryBook, useLibrary } from '../support/library.js'
import { lint } from '../support/redocly.js'

useLibrary({
  sql: `
    alter table books add sold bigint not null default 0;
    insert into books (title, sold) values ('One', 1), ('Two', 2), ('Three', 3);`,
  keep: true,
})

class Book extends LibraryBook {
  declare sold: number
}

/** The same of each library: a name that is made upper case, copies at shops, and nothing else. */
const zodShown = z.object({ name: z.string().toUpperCase(), copies: z.array(z.object({ count: z.int() })).optional() })
const valibotShown = toStandardJsonSchema(
  v.object({
    name: v.pipe(v.string(), v.toUpperCase()),
    copies: v.optional(v.array(v.object({ count: v.pipe(v.number(), v.integer()) }))),
  }),
)
const arktypeShown = type({
  '+': 'delete',
  name: type('string')
    .pipe((name) => name.toUpperCase())
    .to('string'),
  'copies?': type({ count: 'number.integer' }).array(),
})

interface Tree {
  name: string
  below: Tree[]
}
const tree: z.ZodType<Tree> = z.lazy(() => z.object({ name: z.string(), below: z.array(tree) }))
const title = z.object({ title: z.string() })

/** What the actions return: whatever a test wants to see refused. */
let returned: unknown
const anything = () => returned as never

class BookSerializer extends modelSerializer(Book, { fields: ['id', 'title', 'sold'] }) {}
class BookViewSet extends modelViewSet(Book, {
  serializerClass: BookSerializer,
  paginationClass: new PageNumberPagination({ pageSize: 2 }),
  rendererClasses: [JSONRenderer, CSVRenderer],
  actions: {
    zod: listAction({ methods: ['GET'], output: zodShown }, anything),
    valibot: listAction({ methods: ['GET'], output: valibotShown }, anything),
    arktype: listAction({ methods: ['GET'], output: arktypeShown }, anything),
    shown: objectAction({ methods: ['GET'], output: title }, (book) => book),
    renamed: objectAction(
      { methods: ['POST'], input: { title: new StringField() }, output: title },
      async function (book, data) {
        await book.$query(this.trx).patch(data)
        return data.title === 'none' ? ({} as never) : data
      },
    ),
    each: listAction({ methods: ['GET'], output: [zodShown] }, anything),
    names: listAction({ methods: ['GET'], output: z.array(z.string()) }, anything),
    maybe: listAction({ methods: ['POST'], output: title.optional(), responses: { 204: 'There is none.' } }, anything),
    tree: listAction({ methods: ['GET'], output: tree }, anything),
    page: listAction(
      { methods: ['GET'], output: z.object({ results: z.array(title.extend({ sold: z.int() })) }) },
      function () {
        return this.getList() as never
      },
    ),
    own: listAction({ methods: ['POST'], output: title }, function () {
      const { status, text } = this.body.data as { status: number; text?: string }
      this.ctx.status = status
      if (text) this.ctx.body = text
      return returned as never
    }),
    dated: listAction(
      { methods: ['GET'], output: z.object({ at: z.date().transform((at) => at.toISOString()) }) },
      () => ({ at: new Date(0) }),
    ),
    throws: listAction(
      {
        methods: ['GET'],
        output: z.string().refine(async () => {
          await Promise.resolve()
          throw new ValidationError({ secret: ['of the server'] })
        }),
      },
      () => 'x',
    ),
    both: listAction({ methods: ['POST'], input: title, output: title }, (data) => data),
  },
}) {
  @action({ methods: ['GET'], outputSerializer: [title] })
  decorated() {
    return this.getQueryset().orderBy('id')
  }
}

let server: Client
const router = new APIRouter({ prefix: '/api' }).register('books', BookViewSet)
const document = () => router.getSchema({ license: { name: 'MIT', identifier: 'MIT' } })

beforeAll(async () => {
  await router.prepare()
  server = await serving(router.routes())
})
afterAll(() => server.close())
beforeEach(() => {
  server.reported.length = 0
})

const get = async (path: string, value?: unknown) => {
  returned = value
  return server.get(`/api/books/${path}`)
}
/** The one event of a fault that no client hears of. */
const expectFault = ({ status, json }: { status: number; json: unknown }, message: string) => {
  expect([status, json]).toEqual([500, { detail: 'Internal server error', status: 500 }])
  expect(server.reported).toMatchObject([{ message }])
  return (server.reported[0] as Error).cause
}

describe.each(['zod', 'valibot', 'arktype'])('an output by a schema of %s', (library) => {
  it('is what the schema makes of the result, without keys that it drops', async () => {
    const { status, json } = await get(library, { name: 'Ada', copies: [{ count: 1 }], password: 'x' })
    expect([status, json]).toEqual([200, { name: 'ADA', copies: [{ count: 1 }] }])
  })

  it('is a fault of the server where the result is none, by the place and without a value', async () => {
    const answer = await get(library, { name: 'secret-7', copies: [{ count: 1 }, { count: 'secret-8' }] })
    const cause = expectFault(
      answer,
      `BookViewSet.${library}() returned what the schema of its output refuses: copies.1.count`,
    )
    expect(cause).toMatchObject([{ message: expect.any(String) }])
    expect(answer.text).not.toContain('secret')
  })

  it.each([undefined, null, 7, 'text', [], {}])('is a fault for %j', async (value) => {
    expect((await get(library, value)).status).toBe(500)
    expect(server.reported).toHaveLength(1)
  })

  it('stands in the document, which answers are held to', async () => {
    const name = { zod: 'BookZodOutput', valibot: 'BookValibotOutput', arktype: 'BookArktypeOutput' }[library] as string
    const operation: any = document().paths[`/api/books/${library}`]?.['get']
    expect(operation.responses['200'].content['application/json'].schema).toEqual({
      $ref: `#/components/schemas/${name}`,
    })
    expect(operation.responses).not.toHaveProperty('204')
    expect(document().components.schemas[name]).toMatchObject({
      type: 'object',
      properties: { name: { type: 'string' }, copies: { items: { properties: { count: { type: 'integer' } } } } },
      required: ['name'],
    })
    const headers = { 'content-type': 'application/json; charset=utf-8', 'x-content-type-options': 'nosniff' }
    const of = (body: unknown) =>
      validateResponse(document(), { method: 'GET', path: `/api/books/${library}`, status: 200, headers, body })
    expect(of({ name: 'ADA' })).toEqual([])
    expect(of({ name: 7 })).not.toEqual([])
    expect(of({})).not.toEqual([])
  })
})

describe('an output by a schema', () => {
  it('shows of a model what the schema names', async () => {
    expect((await get('1/shown')).json).toEqual({ title: 'One' })
    expect((await get('decorated')).json).toEqual([{ title: 'One' }, { title: 'Two' }, { title: 'Three' }])
  })

  it('in brackets is of each item of a list', async () => {
    expect((await get('each', [{ name: 'a' }, { name: 'b' }])).json).toEqual([{ name: 'A' }, { name: 'B' }])
    const schema: any = (document().paths['/api/books/each'] as any).get.responses['200'].content['application/json']
      .schema
    expect(schema).toEqual({ type: 'array', items: { $ref: expect.stringMatching(/Output$/) } })
    expectFault(
      await get('each', [{ name: 'a' }, { name: 1 }]),
      'BookViewSet.each() returned what the schema of its output refuses: 1.name',
    )
  })

  it('in brackets refuses what is no list', async () => {
    expectFault(
      await get('each', { name: 'a' }),
      'BookViewSet.each() returned what the schema of its output refuses: the whole of it',
    )
  })

  it('names five places of many, on one line', async () => {
    const many = Array.from({ length: 50 }, () => 1)
    expectFault(
      await get('names', many),
      'BookViewSet.names() returned what the schema of its output refuses: 0, 1, 2, 3, 4 and 45 more',
    )
  })

  it('sees rows of a list as the values that they are', async () => {
    const { json } = await get('page')
    expect(json).toEqual({
      results: [
        { title: 'One', sold: 1 },
        { title: 'Two', sold: 2 },
      ],
    })
  })

  it('is written in other formats, too', async () => {
    const { text } = await get('names.csv', ['a'])
    expect(text).toContain('a')
    expect((await get('each.csv', [{ name: 'a', more: 1 }])).text).toBe('name\r\nA\r\n')
  })

  it('may make of values what JSON has', async () => {
    expect((await get('dated')).json).toEqual({ at: '1970-01-01T00:00:00.000Z' })
  })

  it('may be nothing, where the schema takes that', async () => {
    returned = undefined
    expect((await server.send('POST', '/api/books/maybe')).status).toBe(204)
    returned = { title: 'x', more: 1 }
    expect((await server.send('POST', '/api/books/maybe')).json).toEqual({ title: 'x' })
  })

  it('takes what was written back where it is a fault', async () => {
    const rename = (to: string) => server.send('POST', '/api/books/2/renamed', { title: to })
    expect((await rename('none')).status).toBe(500)
    expect(await Book.query().findById(2)).toMatchObject({ title: 'Two' })
    expect((await rename('New')).json).toEqual({ title: 'New' })
    expect(await Book.query().findById(2)).toMatchObject({ title: 'New' })
  })

  it('is not of answers that the action writes or refuses itself', async () => {
    const own = (body: object) => server.send('POST', '/api/books/own', body)
    returned = undefined
    expect((await own({ status: 409 })).status).toBe(409)
    expect(await own({ status: 200, text: 'as it is' })).toMatchObject({ status: 200, text: 'as it is' })
    returned = { title: 'made', more: 1 }
    expect(await own({ status: 201 })).toMatchObject({ status: 201, json: { title: 'made' } })
    expect(server.reported).toEqual([])
    returned = undefined
    expect((await own({ status: 204 })).status).toBe(500)
  })

  it('is a fault where its code throws, also an error for clients', async () => {
    const cause = expectFault(await get('throws'), 'BookViewSet.throws(): the schema of its output threw an error')
    expect(cause).toBeInstanceOf(ValidationError)
  })

  it('has a name of its own where it is the input, too, and its definitions among the components', async () => {
    const { schemas } = document().components
    expect(Object.keys(schemas)).toEqual(expect.arrayContaining(['BookBothInput', 'BookShownOutput', 'BookTreeOutput']))
    expect(JSON.stringify(schemas['BookTreeOutput'])).toContain('#/components/schemas/BookTreeOutput')
    expect(await lint(document())).toEqual([])
  }, 60_000)

  it('types and brings the answer of a typed client', async () => {
    const api = createClient<typeof router>(`http://127.0.0.1:${server.port}/api`)
    const dated = await api.books.call('GET', 'dated')
    const at: string | undefined = dated.ok ? dated.data.at : undefined
    expect(at).toBe('1970-01-01T00:00:00.000Z')
    returned = { name: 1 }
    expect(await api.books.call('GET', 'zod')).toMatchObject({ ok: false, kind: 'failed', status: 500, errors: {} })
  })

  it('is of views without a model, too', async () => {
    class Reports extends APIView {
      @action({ methods: ['GET'], outputSerializer: title })
      latest() {
        return returned as { title: string }
      }
    }
    const client = await serveApp(new APIRouter().register('reports', Reports, 'report').routes())
    returned = { title: 'x', more: 1 }
    expect((await client.get('/reports/latest')).json).toEqual({ title: 'x' })
    returned = {}
    expect((await client.get('/reports/latest')).status).toBe(500)
    expect(client.reported).toMatchObject([{ message: expect.stringContaining('Reports.latest() returned') }])
  })

  it.each([['text'], [{ parse() {} }], [{ '~standard': { version: 2 } }], [[7]]])('is none: %j', (output) => {
    const own = listAction({ methods: ['GET'], output: output as any }, () => 1)
    const view = modelViewSet(Book, { serializerClass: BookSerializer, actions: { own } as any })
    expect(() => new APIRouter().register('books', view)).toThrow(ConfigurationError)
  })
})
