/** Orders of lists by cursor: which are whole, and which are refused. */
import { CursorPagination, OrderingFilter } from 'koa-viewsets'
import { Model } from 'objection'
import { describe, expect, it } from 'vitest'
import {
  ascending,
  Book,
  BookSerializer,
  Duplicate,
  database,
  IDS,
  type Queryset,
  querying,
  throughInstances,
  useReviewedBooks,
  walk,
} from '../support/reviewed-books.js'
import { serializerOf, serveViews, viewOf } from '../support/views.js'

useReviewedBooks()

describe('[P14 C10] a cursor', () => {
  class Scored extends Book {
    static override jsonSchema = {
      type: 'object',
      properties: { title: { type: 'string' }, slug: { type: 'string' }, score: { type: 'integer' } },
    }
  }
  const paged = (model: typeof Model, ...ordering: string[]) =>
    viewOf(model, serializerOf(model, ['id']), { paginationClass: new CursorPagination({ pageSize: 3, ordering }) })

  it.each(['score', '-score', 'slug', '-slug'])(
    'shows each row once over a column with NULLs that its jsonSchema calls never null: %s',
    async (ordering) => {
      const view = querying(paged(Scored, ordering), (query) => query.where('id', '<=', 10))
      const client = await serveViews({ books: view })
      expect(ascending(await walk(client, '/books'))).toEqual(IDS)
    },
  )

  it('shows each row once over a unique index that is not valid', async () => {
    const building = database.knex.raw('create unique index concurrently duplicates_code on duplicates (code)')
    await expect(building).rejects.toThrow('could not create unique index')
    const client = await serveViews({ duplicates: paged(Duplicate, 'code') })
    expect(ascending(await walk(client, '/duplicates'))).toEqual(Array.from({ length: 20 }, (_, index) => index + 1))
  })

  it.each<[string, (query: Queryset) => unknown]>([
    ['graphs', (query) => query.where('id', '<=', 10).withGraphFetched('author')],
    ['an alias', (query) => query.alias('b').where('b.id', '<=', 10)],
    ['DISTINCT', (query) => query.where('books.id', '<=', 10).leftJoinRelated('reviews').distinct('books.*')],
  ])('goes through all pages of a queryset with %s', async (_, change) => {
    const attributes = { paginationClass: new CursorPagination({ pageSize: 3, ordering: ['score', '-id'] }) }
    const client = await serveViews({
      rows: querying(viewOf(Book, BookSerializer, attributes), change),
      instances: querying(viewOf(Book, throughInstances(BookSerializer), attributes), change),
    })
    const rows = await walk(client, '/rows')
    expect(ascending(rows)).toEqual(IDS)
    expect(await walk(client, '/instances')).toEqual(rows)
  })
})

describe('[C10] A list by cursor', () => {
  it('is refused where nothing tells rows apart that are alike in its order', async () => {
    await database.knex.raw('create view made_books as select slug, title, made, score from books')
    class MadeBook extends Model {
      static override tableName = 'made_books'
    }
    const serializer = serializerOf(MadeBook, ['slug', 'title'])
    const byScore = { lookupField: 'slug', paginationClass: new CursorPagination({ ordering: '-score' }) }
    await expect(serveViews({ made: viewOf(MadeBook, serializer, byScore) })).rejects.toThrow(
      'View: nothing tells rows of MadeBook apart that are alike in an order of the list, as there is no column "id"; ' +
        'set static idColumn of the model to what does, or order by a unique column',
    )
    await database.knex.raw('create table keyless (code text unique not null, title text)')
    class Keyless extends Model {
      static override tableName = 'keyless'
    }
    for (const [ordering, orderingFields] of [
      ['title', ['code']],
      ['code', ['title']],
    ] as const) {
      const statics = {
        lookupField: 'code',
        paginationClass: new CursorPagination({ ordering }),
        filterBackends: [OrderingFilter],
        orderingFields,
      }
      const keyless = viewOf(Keyless, serializerOf(Keyless, ['code', 'title']), statics)
      await expect(serveViews({ keyless })).rejects.toThrow('View: nothing tells rows of Keyless apart')
    }
    class Keyed extends MadeBook {
      static override idColumn = 'title'
    }
    const keyed = serializerOf(Keyed, ['slug', 'title'])
    const client = await serveViews({ made: viewOf(Keyed, keyed, byScore) })
    expect((await client.get('/made?page_size=3')).json.results).toHaveLength(3)
  })
})
