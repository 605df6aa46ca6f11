/** Statements of querysets that an application makes of values of the request: kept for all requests that call the same, whatever their values. */

import type { Context } from 'koa-viewsets'
import type { QueryBuilder, Transaction } from 'objection'
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import {
  APIRouter,
  BaseAuthentication,
  CursorPagination,
  configure,
  FieldFilter,
  ModelViewSet,
  OrderingFilter,
  PageNumberPagination,
  type Pagination,
  type SoftDelete,
} from '../../lib/index.js'
import { rule } from '../../lib/rules/index.js'
import { type Client, serving } from '../support/client.js'
import { Author, Book, BookSerializer, database, useLibrary } from '../support/library.js'
import { seededRandom } from '../support/seeded-random.js'

useLibrary({
  sql: 'alter table books add deleted_at timestamptz',
  rows: `
    delete from authors; alter sequence authors_id_seq restart;
    insert into authors (name) select 'author ' || n from generate_series(1, 6) n;
    insert into books (title, n, author_id, deleted_at)
      select 'book ' || n % 10, n, nullif(n % 7, 0), case when n % 9 = 0 then now() end from generate_series(1, 40) n`,
})
configure({ secretKey: 'a secret of these tests' })

type Books = QueryBuilder<Book>
type Call = (query: Books, v: number, w: number) => Books

/** What applications call on a query. */
const CALLS: readonly Call[] = [
  (query, v) => query.where('n', '>', v),
  (query, v) => query.where({ author_id: v % 7 || null }),
  (query, v, w) => query.where({ author_id: v % 7, n: w }),
  (query, v) => (v % 2 ? query.where('author_id', null) : query.where('author_id', v % 7)),
  (query, v, w) => query.where((inner) => void inner.where('n', '<', v).orWhere('author_id', w % 7)).whereNot('n', v),
  (query, v, w) => query.where('n', '<', v).orWhere('author_id', w % 7),
  (query, v) =>
    query.whereIn(
      'n',
      Array.from({ length: v % 4 }, (_, index) => v + index),
    ),
  (query, v, w) => query.whereRaw('n % 3 = ? or ?? = ?', [v % 3, 'author_id', w % 7]),
  (query, v) => query.whereRaw('n <> ?', v),
  (query, v, w) => query.whereBetween('n', [v, v + (w % 15)]).whereNotNull('author_id'),
  (query, v, w) => query.whereNull('author_id').orWhereNotIn('n', [v, w]),
  (query, v, w) =>
    query.andWhere(
      (inner) =>
        void inner
          .where({ n: v })
          .orWhere((more) => void more.where('author_id', '>', w % 7).whereLike('title', `%${v % 10}`)),
    ),
  (query, v) => query.where('n', '>=', v).where('author_id', '<=', v),
  (query, v) => query.modify((inner) => void inner.where('n', '!=', v)),
  (query, v) => query.whereColumn('n', '>', 'author_id').where('title', `book ${v % 10}`),
  (query, v, w) =>
    query
      .where('n', '>', v)
      .orWhere('title', 'like', `%${w % 10}`)
      .orWhere('n', v),
  (query, v) => query.where('n', '<', v).orderBy('title', 'desc'),
  // SQL that is known only once it is built
  (query, v) => query.whereExists(Book.relatedQuery('author').where('id', '>', v % 7)),
  (query, v) => query.where('n', '>', Book.raw('? - 1', [v])),
  (query, v) =>
    query.whereIn(
      'author_id',
      Author.query()
        .select('id')
        .where('id', '<', v % 7),
    ),
  (query, v) => query.onBuild((built) => void built.where('n', '>', v)),
]
/** Of which a statement is compiled for each request. */
const BUILT = 4

interface Asked {
  readonly calls: readonly number[]
  readonly v: number
  readonly w: number
  /** What a rule lets the caller see. */
  readonly most: number
}

const called = (query: Books, { calls, v, w }: Asked) =>
  calls.reduce((narrowed, call) => (CALLS[call] as Call)(narrowed, v, w), query)
const askedIn = (ctx: Context): Asked => JSON.parse(ctx.get('X-Asked') || '{"calls":[],"v":0,"w":0,"most":99}')

class Caller extends BaseAuthentication {
  override authenticate(ctx: Context) {
    return { user: { id: 1, most: askedIn(ctx).most } }
  }
}
class ReadSerializer extends BookSerializer {
  static override readOnlyFields = ['deleted_at']
}
class Own extends ModelViewSet<Book> {
  static override model = Book
  static override serializerClass = ReadSerializer
  static override authenticationClasses = [Caller]
  static override paginationClass: Pagination = new PageNumberPagination({ pageSizeQueryParam: 'page_size' })
  static override filterBackends = [FieldFilter, OrderingFilter]
  static override filtersetFields = ['n', 'author__name']
  static override orderingFields = ['n', 'title', 'author__name']
  override getQueryset() {
    return called(Book.query(this.knex), askedIn(this.ctx))
  }
}
class Kept extends Own {
  static override softDelete: SoftDelete = 'deleted_at'
  override getQueryset() {
    return called(super.getQueryset(), askedIn(this.ctx))
  }
}
/** The conditions that it inherits stand behind its own. */
class Late extends Own {
  static override softDelete: SoftDelete = 'deleted_at'
}
class Native extends Own {
  static override useNativeJson = true
}
/** Its list is narrowed by code of the application's, too, and its objects are not. */
class Filtered extends Own {
  override filterQueryset(query: QueryBuilder<Book>) {
    return super.filterQueryset(query).where('n', '!=', askedIn(this.ctx).w)
  }
}
class Cursors extends Own {
  static override paginationClass = new CursorPagination({ ordering: '-title', pageSize: 7 })
}

const rules = [rule(Book, { read: ({ user }) => ({ n__lte: user?.['most'] }) })]
const paths: readonly { readonly path: string; readonly isKept?: boolean; readonly isRuled?: boolean }[] = [
  { path: '/own' },
  { path: '/kept', isKept: true },
  { path: '/late', isKept: true },
  { path: '/native' },
  { path: '/filtered' },
  { path: '/cursors' },
  { path: '/ruled/own', isRuled: true },
  { path: '/ruled/kept', isKept: true, isRuled: true },
]

let client: Client
beforeAll(async () => {
  const open = new APIRouter()
    .register('own', Own, 'own')
    .register('kept', Kept, 'kept')
    .register('late', Late, 'late')
    .register('native', Native, 'native')
    .register('filtered', Filtered, 'filtered')
    .register('cursors', Cursors, 'cursors')
  const ruled = new APIRouter({ prefix: '/ruled', rules }).register('own', Own, 'own').register('kept', Kept, 'kept')
  await open.prepare()
  await ruled.prepare()
  client = await serving(open.routes(), ruled.routes())
  return () => client.close()
})

const get = (path: string, asked: Asked) => client.send('GET', path, undefined, { 'X-Asked': JSON.stringify(asked) })

/** Ids of all pages of a list. */
async function idsOf(path: string, asked: Asked): Promise<readonly number[]> {
  const ids: number[] = []
  for (let next: string | null = path; next; ) {
    const { status, json } = await get(next, asked)
    expect(status).toBe(200)
    ids.push(...json.results.map(({ id }: { id: number }) => id))
    next = json.next
  }
  return ids
}

interface Row extends Pick<Book, 'id' | 'n'> {
  readonly deleted_at: Date | null
  readonly author_id: number | null
}

async function visible(
  asked: Asked,
  { isKept, isRuled }: { isKept?: boolean; isRuled?: boolean },
  trx?: Transaction,
): Promise<readonly Row[]> {
  const rows = (await called(Book.query(trx), asked).orderBy('id')) as unknown as readonly Row[]
  return rows.filter(({ n, deleted_at }) => !(isKept && deleted_at) && (!isRuled || Number(n) <= asked.most))
}

const ascending = (ids: readonly number[]) => [...ids].sort((one, other) => one - other)

describe('querysets of an application', () => {
  it.each([1, 2])('choose the rows that they choose without the package (seed %i)', async (seed) => {
    const random = seededRandom(seed)
    const below = (most: number) => random(most)
    for (let run = 0; run < 25; run++) {
      const calls = Array.from({ length: 1 + below(3) }, () => below(CALLS.length))
      const asked = () => ({ calls, v: below(42), w: below(42), most: below(45) })
      const where = paths[below(paths.length)] as (typeof paths)[number]
      // one who finds no statement, and some who find that of another
      for (const one of [asked(), asked(), asked()]) {
        const rows = await visible(one, where)
        const { path } = where
        const isListed = ({ n }: Row) => path !== '/filtered' || Number(n) !== one.w
        const listed = rows.filter(isListed)
        const ids = listed.map(({ id }) => Number(id))
        const query = path === '/cursors' ? '' : '?page_size=9'
        const found = await idsOf(path + query, one)
        // cursors have an order of their own
        if (path === '/cursors') expect(ascending(found)).toEqual(ascending(ids))
        else expect(found).toEqual(ids)
        const author = 1 + below(6)
        const filtered = await idsOf(`${path}?author__name=author%20${author}&ordering=-n`, one)
        const written = ids.filter((_, index) => listed[index]?.author_id === author)
        expect(filtered).toEqual(ascending(written).reverse())
        const id = 1 + below(40)
        expect((await get(`${path}/${id}`, one)).status).toBe(rows.some((row) => Number(row.id) === id) ? 200 : 404)
      }
    }
  })

  it.each([1])('decide which rows are written, and what these may become (seed %i)', async (seed) => {
    const random = seededRandom(seed)
    const paths = ['/own', '/kept', '/late', '/ruled/own']
    const statuses = new Set<number>()
    for (let run = 0; run < 30; run++) {
      const calls = Array.from({ length: 1 + random(2) }, () => random(CALLS.length - 1))
      const path = paths[random(paths.length)] as string
      const where = { isKept: path === '/kept' || path === '/late', isRuled: path === '/ruled/own' }
      for (let caller = 0; caller < 3; caller++) {
        const asked = { calls, v: random(42), w: random(42), most: 20 + random(25) }
        const [id, n] = [1 + random(40), random(45)]
        const isThere = async () => (await visible(asked, where)).some((row) => Number(row.id) === id)
        const before = await isThere()
        const trx = await Book.startTransaction()
        await Book.query(trx).findById(id).patch({ n })
        const after = (await visible(asked, where, trx)).some((row) => Number(row.id) === id)
        await trx.rollback()
        const old = await Book.query().findById(id)
        const headers = { 'X-Asked': JSON.stringify(asked) }
        const { status } = await client.send('PATCH', `${path}/${id}`, { n }, headers)
        expect({ path, asked, id, n, status }).toEqual({
          path,
          asked,
          id,
          n,
          status: before ? (after ? 200 : 403) : 404,
        })
        statuses.add(status)
        const stored = await Book.query().findById(id)
        expect(stored?.n).toBe(status === 200 ? n : old?.n)
        await Book.query()
          .findById(id)
          .patch({ n: old?.n as number })
      }
    }
    expect(ascending([...statuses])).toEqual([200, 403, 404])
  })

  it('are compiled once, where they compare columns with values', async () => {
    const built = vi.spyOn(database.knex.client, 'queryCompiler')
    onTestFinished(() => built.mockRestore())
    for (const path of ['/own', '/kept', '/native', '/filtered', '/ruled/own', '/own/7']) {
      for (let call = 0; call < CALLS.length; call++) {
        const ask = (v: number, w: number) => get(path, { calls: [call], v, w, most: 90 })
        await ask(5, 12)
        built.mockClear()
        await ask(9, 20)
        const isBuilt = call >= CALLS.length - BUILT
        expect({ path, call, isBuilt: built.mock.calls.length > 0 }).toEqual({ path, call, isBuilt })
      }
    }
  })
})
