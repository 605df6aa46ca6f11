/** The SQL of a row plan: of lists, pages and counts, and of writes that return what they have written. */
import { ModelSerializer, NestedSerializer, SlugRelatedField } from 'koa-viewsets'
import type { QueryBuilder } from 'objection'
import { beforeAll, describe, expect, it } from 'vitest'
import { describeModel, prepareModels } from '../../../lib/models/describe-model.js'
import type { Column } from '../../../lib/models/model-description.js'
import type { Queryable } from '../../../lib/postgres/pg-types.js'
import { totalOrder } from '../../../lib/queryset/total-order.js'
import { decideRows } from '../../../lib/rows/row-plan.js'
import type { RowPlan } from '../../../lib/rows/row-shape.js'
import { compileRows, type RowSelection } from '../../../lib/rows/row-sql.js'
import { compileInsert, compileInserts, compileListInsert, listColumns } from '../../../lib/rows/write-sql.js'
import type { SerializerClass } from '../../../lib/serializers/contract.js'
import { Author, AuthorSerializer, Book, database, useLibrary } from '../../support/library.js'

useLibrary()
beforeAll(() => prepareModels([Author, Book]))

class Titles extends ModelSerializer<Book> {
  static override model = Book
  static override fields: readonly string[] = ['id', 'title']
}
class WithAuthor extends Titles {
  static override declaredFields = { author: new NestedSerializer(AuthorSerializer, { readOnly: true }) }
}
class ByName extends Titles {
  static override fields = ['id', 'by']
  static override declaredFields = {
    by: new SlugRelatedField({ source: 'author', slugField: 'name', queryset: () => Author.query() }),
  }
}
const planOf = (serializer: unknown) => decideRows(serializer as SerializerClass).plan as RowPlan
const titles = () => totalOrder(describeModel(Book), [{ property: 'title', descending: true }])

/** A list without an order, a page or a count. */
function selection(serializer: unknown, options: Partial<RowSelection> = {}): RowSelection {
  return {
    plan: planOf(serializer),
    model: describeModel(Book),
    order: [],
    backwards: false,
    positions: undefined,
    limit: undefined,
    offset: 0,
    counting: undefined,
    ...options,
  }
}
const count = (change: (query: QueryBuilder<Book>) => unknown = (query) => query) =>
  change(Book.query().count()) as never

let prepared = 0
/** The statement without its quotes, once PostgreSQL has parsed it. */
async function plain({ text }: { text: string }): Promise<string> {
  await database.knex.raw(`prepare of_test_${prepared++} as ${text}`)
  return text.replaceAll('"', '')
}

const SHOWN = 'select books.id as c0, books.title as c1'
const PAGE = `${SHOWN}, books.title as o0, books.id as o1`

describe('a list', () => {
  it.each<[string, unknown, () => Partial<RowSelection>, string]>([
    ['has the columns of the plan', Titles, () => ({}), 'select books.id as c0, books.title as c1 from books'],
    [
      'has its page in the text, but for what changes from page to page',
      Titles,
      () => ({ order: titles(), limit: 25, offset: 50 }),
      'select books.id as c0, books.title as c1 from books order by books.title desc, books.id desc limit 25 offset $1',
    ],
    [
      'has positions as strings, and is read backwards',
      Titles,
      () => ({ order: titles(), backwards: true, positions: titles(), limit: 25 }),
      'select books.title::text as p0, books.id::text as p1, books.id as c0, books.title as c1 from books ' +
        'order by books.title asc, books.id asc limit 25',
    ],
    [
      'joins to its page what is related, and is sorted again',
      WithAuthor,
      () => ({ order: titles(), limit: 25 }),
      `select list.c0, list.c1, j1.id, j1.name from (${PAGE}, books.author_id as k1_0 from books ` +
        'order by books.title desc, books.id desc limit 25) as list left join authors as j1 on j1.id = list.k1_0 ' +
        'order by list.o0 desc, list.o1 desc',
    ],
    [
      'joins for one column of what is related',
      ByName,
      () => ({}),
      'select list.c0, j1.name from (select books.id as c0, books.author_id as k1_0 from books) as list ' +
        'left join authors as j1 on j1.id = list.k1_0',
    ],
    [
      'is counted beside its page',
      Titles,
      () => ({ order: titles(), limit: 25, counting: { query: count(), upTo: undefined } }),
      `select (select count(*) from books), list.c0, list.c1 from (${SHOWN} from books ` +
        'order by books.title desc, books.id desc limit 25) as list',
    ],
    [
      'that is narrowed is counted where its page is full',
      Titles,
      () => ({
        order: titles(),
        limit: 25,
        counting: { query: count((query) => query.where('n', 1)), upTo: undefined },
      }),
      `with koa_viewsets_page as materialized (${SHOWN} from books order by books.title desc, books.id desc limit 25) ` +
        'select case when (select count(*) from koa_viewsets_page) >= 25 then (select count(*) from books where n = $1) end, ' +
        'list.c0, list.c1 from koa_viewsets_page as list',
    ],
    [
      'that may be short is read once',
      Titles,
      () => ({ order: titles(), limit: 25, offset: 25, counting: { query: count(), upTo: 500 } }),
      `with koa_viewsets_found as materialized (${PAGE} from books), ` +
        'koa_viewsets_counted as (select count(*) from (select 1 from koa_viewsets_found limit 501) as f) ' +
        'select (select count from koa_viewsets_counted), list.c0, list.c1 from (select * from koa_viewsets_found ' +
        'where (select count from koa_viewsets_counted) <= 500 order by o0 desc, o1 desc limit 25 offset $1) as list',
    ],
  ])('%s', async (_, serializer, options, sql) => {
    expect(await plain(compileRows(Book.query() as never, selection(serializer, options())))).toBe(sql)
  })
})

describe('an insert', () => {
  const knex = () => database.knex as unknown as Queryable
  const row = (values: object) => new Map<string, unknown>(Object.entries(values))
  const one = (serializer: unknown, values: object) => {
    const model = describeModel(Book)
    const key = [model.columns.get('isbn') as Column]
    return compileInsert(knex(), { asked: [], plan: planOf(serializer), model, key, values: row(values) })
  }
  const JOINED = 'left join authors as j1 on j1.id = list.k1_0'

  it.each<[string, unknown, object, string]>([
    [
      'returns the key of its path, then the columns of the plan',
      Titles,
      { title: 'a', n: 1 },
      'insert into books (title, n) values ($1, $2) returning isbn as key0, id as c0, title as c1',
    ],
    [
      'of nothing leaves all to the defaults',
      Titles,
      {},
      'insert into books default values returning isbn as key0, id as c0, title as c1',
    ],
    [
      'is joined to what it leads to',
      WithAuthor,
      { title: 'a' },
      'with koa_viewsets_written as (insert into books (title) values ($1) ' +
        'returning isbn as key0, id as c0, title as c1, author_id as k1_0) ' +
        `select list.key0, list.c0, list.c1, j1.id, j1.name from koa_viewsets_written as list ${JOINED}`,
    ],
  ])('%s', async (_, serializer, values, sql) => {
    const compiled = one(serializer, values)
    expect(await plain(compiled)).toBe(sql)
    expect(compiled.values).toEqual(Object.values(values))
  })

  const even = () => [row({ title: 'a', n: 1 }), row({ title: 'b', n: 2 })]
  const uneven = () => [row({ title: 'a', n: 1 }), row({ title: 'b' })]

  it('of several rows with one set of columns has a list for each column', async () => {
    const model = describeModel(Book)
    const text = compileListInsert(knex(), { plan: planOf(WithAuthor), model, rows: even() })
    expect(await plain({ text })).toBe(
      'with koa_viewsets_written as (insert into books (title, n) select * from unnest($1::text[], $2::integer[]) ' +
        'returning id as c0, title as c1, author_id as k1_0) select list.c0, list.c1, j1.id, j1.name ' +
        'from (select row_number() over () as ordinal, i.* from koa_viewsets_written as i) as list ' +
        `${JOINED} order by list.ordinal`,
    )
  })

  it('of several rows with other columns each leaves out what a row lacks', async () => {
    const model = describeModel(Book)
    const compiled = compileInserts(knex(), { plan: planOf(Titles), model, rows: uneven() })
    expect(await plain(compiled)).toBe(
      'insert into books (title, n) values ($1, $2), ($3, default) returning id as c0, title as c1',
    )
    expect(compiled.values).toEqual(['a', 1, 'b'])
  })

  it.each<[string, () => Map<string, unknown>[], readonly string[] | undefined]>([
    ['has lists, in the order of the table', () => [row({ n: 1, title: 'a' })], ['title', 'n']],
    ['has none where a row lacks a value', uneven, undefined],
    ['has none without rows', () => [], undefined],
    ['has none without values', () => [row({})], undefined],
    ['has none for what is no column', () => [row({ title: 'a', other: 1 })], undefined],
  ])('%s', (_, rows, columns) => {
    expect(listColumns({ model: describeModel(Book), rows: rows() })?.map(({ column }) => column)).toEqual(columns)
  })
})
