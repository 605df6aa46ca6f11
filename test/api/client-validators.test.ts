/** A typed client sends what schemas among validators take, and the server works on what they make of it. */
import {
  APIRouter,
  DateField,
  listAction,
  modelSerializer,
  modelViewSet,
  NestedSerializer,
  StringField,
} from 'koa-viewsets'
import { createClient } from 'koa-viewsets/client'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { type Client, serving } from '../support/client.js'
import { Author, Book as LibraryBook, useLibrary } from '../support/library.js'

useLibrary({ sql: 'alter table books add pages int not null, add kind text not null, add sold date', keep: true })

class Book extends LibraryBook {
  declare pages: number
  declare kind: string
  declare sold: string | null
}

const length = z
  .string()
  .regex(/^\d+ pages$/, 'Say "12 pages".')
  .transform((text) => Number.parseInt(text, 10))
const kind = z.enum(['novel', 'essay']).transform((name) => ({ novel: 'N', essay: 'E' })[name])
const day = z.iso.date().transform((text) => new Date(`${text}T12:00:00`))

class AuthorSerializer extends modelSerializer(Author, {
  fields: ['id', 'name'],
  extraKwargs: { name: { validators: [z.enum(['Ada', 'Bob']).transform((name) => ({ Ada: 'A.', Bob: 'B.' })[name])] } },
}) {}
class BookSerializer extends modelSerializer(Book, {
  fields: ['id', 'title', 'kind', 'sold'],
  declaredFields: {
    pages: new StringField({ validators: [length] }),
    author: new NestedSerializer(AuthorSerializer, { required: false, allowNull: true }),
  },
  extraKwargs: { kind: { validators: [kind] } },
  validators: [z.object({ sold: day.nullable().optional() })],
}) {
  override create(data: Record<string, unknown>) {
    made.push(data)
    return super.create(data)
  }
}

/** What the serializer has validated. */
const made: Record<string, unknown>[] = []
const router = new APIRouter().register(
  'books',
  modelViewSet(Book, {
    serializerClass: BookSerializer,
    actions: {
      remaining: listAction({ methods: ['POST'], input: { until: new DateField({ validators: [day] }) } }, (data) => ({
        year: data.until.getFullYear(),
      })),
    },
  }),
)

let server: Client
let api: ReturnType<typeof createClient<typeof router>>

beforeAll(async () => {
  await router.prepare()
  server = await serving(router.routes())
  api = createClient<typeof router>(`http://127.0.0.1:${server.port}`)
})
afterAll(() => server.close())

it('creates and changes an object by what the schemas take', async () => {
  const given = { title: 'One', pages: '12 pages', kind: 'novel', sold: '2026-01-02', author: { name: 'Ada' } } as const
  const one = await api.books.create(given)
  expect(one).toMatchObject({
    status: 201,
    data: { title: 'One', pages: '12', kind: 'N', sold: '2026-01-02', author: { name: 'A.' } },
  })
  expect(made).toEqual([{ title: 'One', pages: 12, kind: 'N', sold: expect.any(Date), author: { name: 'A.' } }])
  if (!one.ok) throw new Error(one.detail)
  expect(await api.books.partialUpdate(one.data.id, { pages: '7 pages', sold: null })).toMatchObject({
    status: 200,
    data: { pages: '7', kind: 'N', sold: null },
  })
})

it('has what they refuse under the names of the fields', async () => {
  const refused = await api.books.create({ title: 'Two', pages: '13', kind: 'essay' })
  expect(refused.ok ? undefined : refused.errors.pages).toEqual(['Say "12 pages".'])
  // @ts-expect-error what the schema makes of it
  expect(await api.books.create({ title: 'Two', pages: 13, kind: 'essay' })).toMatchObject({ kind: 'invalid' })
  // @ts-expect-error another word than those that the schema takes
  const other = await api.books.create({ title: 'Two', pages: '1 pages', kind: 'N' })
  expect(other.ok ? undefined : Object.keys(other.errors)).toEqual(['kind'])
})

it('calls an action by what the schemas of its fields take', async () => {
  expect(await api.books.call('POST', 'remaining', { until: '2027-03-04' })).toMatchObject({ data: { year: 2027 } })
  // @ts-expect-error what the schema makes of it
  await api.books.call('POST', 'remaining', { until: new Date() })
})
