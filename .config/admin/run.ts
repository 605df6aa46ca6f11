/**
 * Admin front ends, tried by their own providers on `examples/admin-front-ends.ts`: `npm run test:admin`. The providers are no
 * dependencies of the project: they are installed here.
 */
import assert from 'node:assert/strict'
import knex from 'knex'
import type { APIRouter } from 'koa-viewsets'
import { createClient } from 'koa-viewsets/client'
import { startPostgres } from '../../examples/support/postgres.js'

const PORT = '25115'
const BOOKS = `create table books (
  id int generated always as identity primary key, title varchar(20) not null, price numeric(6,2), author_id int);
  insert into books (title, price, author_id)
    select 'book ' || lpad(i::text, 2, '0'), i, 1 + i % 3 from generate_series(1, 30) i`

interface Found {
  readonly data: readonly { readonly id: number; readonly title: string }[]
  readonly total?: number
}

/** What a provider does, in the words of react-admin. */
interface Provider {
  getList(asked: {
    page: number
    perPage: number
    field: string
    order: 'ASC' | 'DESC'
    filter: object
  }): Promise<Found>
  getOne(id: number): Promise<{ readonly id: number; readonly title: string }>
  getMany(ids: readonly number[]): Promise<Found>
  getManyReference(target: string, id: number): Promise<Found>
  create(data: object): Promise<{ readonly id: number }>
  update(id: number, data: object): Promise<{ readonly title: string; readonly price: string | null }>
  delete(id: number): Promise<unknown>
  /** The messages by field that the front end's form shows. */
  errorsOf(error: unknown): unknown
}

const titles = ({ data }: Found) => data.map(({ title }) => title)

async function check(name: string, provider: Provider): Promise<void> {
  const page = await provider.getList({ page: 2, perPage: 5, field: 'title', order: 'DESC', filter: {} })
  assert.deepEqual([titles(page)[0], page.data.length, page.total], ['book 25', 5, 30])
  const some = await provider.getList({ page: 1, perPage: 5, field: 'id', order: 'ASC', filter: { author_id: 2 } })
  assert.deepEqual([titles(some)[0], some.total], ['book 01', 10])
  assert.equal((await provider.getOne(7)).title, 'book 07')
  assert.deepEqual(titles(await provider.getMany([3, 5])).sort(), ['book 03', 'book 05'])
  assert.equal((await provider.getManyReference('author_id', 3)).total, 10)
  const { id } = await provider.create({ title: 'new', price: '5.50' })
  const changed = await provider.update(id, { title: 'newer' })
  assert.deepEqual([changed.title, changed.price], ['newer', '5.50'])
  const refused = await provider.create({ title: 'a title that is much too long' }).catch(provider.errorsOf)
  assert.match(String((refused as { title?: unknown }).title), /20/)
  await provider.delete(id)
  await assert.rejects(provider.getOne(id))
  console.log(`${name}: lists, objects, references, writes and errors`)
}

interface ReactAdmin {
  readonly [method: string]: (resource: string, params: object) => Promise<never>
}

/** Both providers of react-admin have its interface. */
function reactAdmin(provider: ReactAdmin): Provider {
  const call = (method: string, params: object): Promise<never> => {
    const made = provider[method]
    assert(made)
    return made('books', params)
  }
  const one = async (method: string, params: object) => ((await call(method, params)) as { data: never }).data
  const paging = { pagination: { page: 1, perPage: 10 }, sort: { field: 'id', order: 'ASC' }, filter: {} }
  return {
    getList: ({ page, perPage, field, order, filter }) =>
      call('getList', { pagination: { page, perPage }, sort: { field, order }, filter }),
    getOne: (id) => one('getOne', { id }),
    getMany: (ids) => call('getMany', { ids }),
    getManyReference: (target, id) => call('getManyReference', { target, id, ...paging }),
    create: (data) => one('create', { data }),
    update: (id, data) => one('update', { id, data, previousData: { id } }),
    delete: (id) => one('delete', { id, previousData: { id } }),
    errorsOf: (error) => (error as { body: { errors: object } }).body.errors,
  }
}

interface Refine {
  readonly [method: string]: (params: object) => Promise<never>
}

function refine(provider: Refine): Provider {
  const call = (method: string, params: object): Promise<never> => {
    const made = provider[method]
    assert(made)
    return made({ resource: 'books', ...params })
  }
  const one = async (method: string, params: object) => ((await call(method, params)) as { data: never }).data
  const equal = (field: string, value: unknown) => ({ field, operator: 'eq', value })
  return {
    getList: ({ page, perPage, field, order, filter }) =>
      call('getList', {
        pagination: { currentPage: page, pageSize: perPage },
        sorters: [{ field, order: order.toLowerCase() }],
        filters: Object.entries(filter).map(([name, value]) => equal(name, value)),
      }),
    getOne: (id) => one('getOne', { id }),
    getMany: (ids) => call('getMany', { ids }),
    getManyReference: (target, id) => call('getList', { filters: [equal(target, id)] }),
    create: (variables) => one('create', { variables }),
    update: (id, variables) => one('update', { id, variables }),
    delete: (id) => one('deleteOne', { id }),
    errorsOf: (error) => (error as { response: { data: { errors: object } } }).response.data.errors,
  }
}

interface Mutation {
  readonly key: number
  readonly changes: object
}
interface Collection {
  readonly size: number
  preload(): Promise<void>
  update(key: number, change: (book: { title: string }) => void): { isPersisted: { promise: Promise<unknown> } }
  cleanup(): Promise<void>
}

/** A collection of TanStack DB over the typed client: what it shows, changes, and takes back where that is refused. */
async function checkCollection(base: string): Promise<void> {
  const [{ createCollection }, { queryCollectionOptions }, { QueryClient }] = (await Promise.all(
    ['@tanstack/db', '@tanstack/query-db-collection', '@tanstack/query-core'].map((name) => import(name)),
  )) as [
    { createCollection: (options: unknown) => Collection },
    { queryCollectionOptions: (options: object) => unknown },
    { QueryClient: new () => object },
  ]
  const client = createClient<APIRouter<{ books: never }>>(base) as unknown as {
    books: {
      all(): AsyncIterable<{ id: number }>
      partialUpdate(key: number, data: object): Promise<{ ok: boolean; errors?: object }>
    }
  }
  const queryFn = async () => {
    const books: unknown[] = []
    for await (const book of client.books.all()) books.push(book)
    return books
  }
  const onUpdate = async ({ transaction }: { transaction: { mutations: readonly Mutation[] } }) => {
    for (const { key, changes } of transaction.mutations) {
      const result = await client.books.partialUpdate(key, changes)
      if (!result.ok) throw new Error(JSON.stringify(result.errors))
    }
    return { refetch: false }
  }
  const options = {
    queryKey: ['books'],
    queryFn,
    queryClient: new QueryClient(),
    getKey: ({ id }: { id: number }) => id,
    onUpdate,
  }
  const books = createCollection(queryCollectionOptions(options))
  await books.preload()
  assert.equal(books.size, 30)
  const change = (title: string) =>
    books.update(7, (book) => {
      book.title = title
    }).isPersisted.promise
  await change('seven')
  await assert.rejects(change('a title that is much too long'), /20/)
  await books.cleanup()
  console.log('@tanstack/query-db-collection: lists, changes and errors')
}

const postgres = await startPostgres()
const { host, port, user, password } = postgres.connection as Record<string, string>
process.env['DATABASE_URL'] =
  `postgres://${user}:${encodeURIComponent(password ?? '')}@${encodeURIComponent(host ?? '')}:${port}/postgres`
process.env['PORT'] = PORT
const database = knex({ client: 'pg', connection: { ...postgres.connection, database: 'postgres' } })
try {
  await database.raw(BOOKS)
  await import('../../examples/admin-front-ends.js')
  const base = `http://127.0.0.1:${PORT}`
  const load = async (name: string) => (await import(name)) as { default: never }
  const { fetchUtils } = (await import('ra-core' as string)) as { fetchUtils: { fetchJson: unknown } }
  const simple = (await load('ra-data-simple-rest')).default as (...options: unknown[]) => ReactAdmin
  await check('ra-data-simple-rest', reactAdmin(simple(`${base}/react-admin`, fetchUtils.fetchJson, 'X-Total-Count')))
  const django = (await load('ra-data-django-rest-framework')).default as (base: string) => ReactAdmin
  await check('ra-data-django-rest-framework', reactAdmin(django(`${base}/django`)))
  const refined = (await load('@refinedev/simple-rest')).default as (base: string) => Refine
  await check('@refinedev/simple-rest', refine(refined(`${base}/refine`)))
  await checkCollection(`${base}/django`)
} finally {
  await database.destroy()
  await postgres.stop()
}
process.exit()
