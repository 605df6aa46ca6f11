/** What the querysets and filter backends of an application say, in lists, objects and writes. */
import {
  BaseFilter,
  BulkModelViewSet,
  type DeclaredFields,
  FieldFilter,
  FullTextSearchFilter,
  NestedSerializer,
  OrderingFilter,
  PageNumberPagination,
  SearchFilter,
  SearchRankOrderingFilter,
  SerializerMethodField,
} from 'koa-viewsets'
import { count } from 'koa-viewsets/views'
import { raw } from 'objection'
import { describe, expect, it } from 'vitest'
import type { AnyQueryBuilder } from '../../lib/models/objection.js'
import type { Client } from '../support/client.js'
import {
  Author,
  ascending,
  Book,
  BookSerializer,
  BookView,
  database,
  IDS,
  other,
  type Queryset,
  querying,
  Review,
  serveQueryset,
  throughInstances,
  useReviewedBooks,
  walk,
} from '../support/reviewed-books.js'
import { runsAsRole } from '../support/roles.js'
import { type SerializerClass, serializerOf, serveViews, viewOf } from '../support/views.js'

useReviewedBooks({ withOther: true })

/** The same of a queryset that only requests change. What prepare() says of one that nothing hides goes to `told`. */
async function serveHidden(
  change: (query: Queryset) => unknown,
  serving: (change: (query: Queryset) => unknown) => Promise<Client>,
  told: RegExp,
): Promise<Client> {
  await expect(serving(change)).rejects.toThrow(told)
  let isHidden = true
  const client = await serving((query) => (isHidden ? query : change(query)))
  isHidden = false
  return client
}

const redact = (result: unknown) => {
  for (const row of [result].flat() as Book[]) row.secret = 'redacted'
  return result
}

describe('[P14] A queryset of the view', () => {
  it.each<[string, string, (query: Queryset) => unknown]>([
    [
      'selects an expression in the place of a column',
      'masked',
      (query) => query.select('books.id', 'books.title', raw(`'masked'`).as('secret')).where('id', 1),
    ],
    ['changes its rows by runAfter', 'redacted', (query) => query.where('id', 1).runAfter(redact)],
    [
      'changes its rows by a runAfter of its context',
      'redacted',
      (query) => query.where('id', 1).context({ runAfter: redact }),
    ],
  ])('%s, in lists and objects', async (_, secret, change) => {
    const client = await serveQueryset(change)
    const book = { id: 1, title: 'title 1', secret }
    for (const path of ['/rows', '/instances']) {
      expect((await client.get(path)).json).toEqual([book])
      expect((await client.get(`${path}/1`)).json).toEqual(book)
    }
  })

  it('is asked about by what it shows: a column that it computes tells nothing of what is stored', async () => {
    const masked = (query: Queryset) =>
      query.select('books.*', raw('null').as('score'), raw('? as slug', ['hidden'])).whereRaw('title <> ?', ['title 9'])
    const asking = {
      filterBackends: [new FieldFilter({ groupParam: 'filter' }), SearchFilter, OrderingFilter],
      filtersetFields: ['score', 'slug', 'title'],
      searchFields: ['slug'],
      orderingFields: ['score', 'title'],
      facets: ['score'],
    }
    const view = viewOf(Book, serializerOf(Book, ['id', 'slug', 'score']), asking)
    const client = await serveViews({
      rows: querying(view, masked),
      pages: querying(Object.assign(class extends view {}, { paginationClass: PageNumberPagination }), masked),
      named: querying(Object.assign(class extends view {}, { lookupField: 'slug' }), masked),
    })
    const idsOf = async (path: string) => ((await client.get(path)).json as Book[]).map(({ id }) => id)
    const all = [1, 2, 3, 4, 5, 6, 7, 8, 10]
    expect(await idsOf('/rows?score__gte=0')).toEqual([])
    expect(await idsOf('/rows?filter=not(score=2)')).toEqual(all)
    expect(await idsOf('/rows?score__isnull=true')).toEqual(all)
    expect(await idsOf('/rows?slug=s2')).toEqual([])
    expect(await idsOf('/rows?slug=hidden')).toEqual(all)
    expect(await idsOf('/rows?search=s2')).toEqual([])
    expect(await idsOf('/rows?ordering=-score')).toEqual([...all].reverse())
    expect(await idsOf('/rows?title=title+4')).toEqual([4])
    expect((await client.get('/rows/facets')).json).toEqual({
      score: { values: [{ value: null, count: 9 }], has_more: false },
    })
    expect((await client.get('/pages?score__gte=1')).json).toMatchObject({ count: 0, results: [] })
    expect((await client.get('/pages?page_size=2&slug=hidden')).json.count).toBe(9)
    // neither what is stored nor what is shown names an object
    for (const key of ['s2', 'hidden']) expect((await client.get(`/named/${key}`)).status).toBe(404)
    const unnamed = (query: Queryset) => query.select('books.id', raw('score::text'))
    await expect(serveViews({ rows: querying(view, unnamed) })).rejects.toThrow(
      /its queryset selects "score::text" without a name/,
    )
  })

  it('and the mapping of a relation may select other columns than those that join it, or are asked about', async () => {
    class Selecting extends Book {
      static override relationMappings = () => {
        const { author, reviews, verdict, ...others } = Book.relationMappings()
        const texts = (query: AnyQueryBuilder) => void query.select('text')
        return {
          ...others,
          author: { ...author, modify: (query: AnyQueryBuilder) => void query.select('name') },
          reviews: { ...reviews, modify: texts },
          verdict: { ...verdict, modify: (query: AnyQueryBuilder) => void query.modify(texts).orderBy('id') },
        }
      }
    }
    const view = viewOf(Selecting, serializerOf(Selecting, ['id']), {
      filterBackends: [new FieldFilter({ groupParam: 'filter' }), OrderingFilter],
      filtersetFields: [
        'author__name',
        'author__id',
        'reviews__text',
        'reviews__stars',
        'verdict__text',
        'verdict__id',
      ],
      orderingFields: ['author__name'],
      filterRelations: { reviews: () => viewOf(Review, serializerOf(Review, ['id'])) },
      expandable: { asked: count('reviews') },
    })
    const { get } = await serveViews({ rows: querying(view, (query) => query.where('books.id', '<', 6)) })
    const idsOf = async (path: string) => ((await get(path)).json as Book[]).map(({ id }) => id)
    expect(await idsOf('/rows?author__name=Ada')).toEqual([3])
    expect(await idsOf('/rows?author__id=1')).toEqual([3])
    expect(await idsOf('/rows?reviews__text=bad')).toEqual([2, 5])
    expect(await idsOf('/rows?reviews__stars=3')).toEqual([1, 2, 5])
    expect(await idsOf('/rows?verdict__text=good')).toEqual([1, 5])
    expect(await idsOf('/rows?verdict__id=2')).toEqual([2])
    expect(await idsOf('/rows?filter=count(reviews)=3')).toEqual([5])
    expect(await idsOf('/rows?ordering=author__name')).toEqual([3, 1, 4, 2, 5])
    expect((await get('/rows/5?expand=asked')).json).toEqual({ id: 5, asked: 3 })
  })

  it('gives what it selects besides, and in the place of columns, in answers to writes, too', async () => {
    const counted = raw('(select count(*)::int from reviews where book_id = books.id)').as('reviewCount')
    const select = (query: Queryset) => query.select('books.id', 'books.title', raw(`'masked'`).as('secret'), counted)
    class Counted extends serializerOf(Book, ['id', 'title', 'secret']) {
      static override declaredFields: DeclaredFields = { review_count: new SerializerMethodField() }
      getReviewCount({ reviewCount }: { reviewCount: number }): number {
        return reviewCount
      }
    }
    class CountedView extends BulkModelViewSet {
      static override model = Book
      static override serializerClass = Counted
    }
    const client = await serveViews({
      rows: querying(BookView, select),
      counted: querying(CountedView, select),
      // without the request's transaction
      own: class extends CountedView {
        override getQueryset(): Queryset {
          return select(Book.query())
        }
      },
    })
    const row = { id: 1, title: 'title 1', secret: 'masked' }
    expect((await client.send('PATCH', '/rows/1', { title: 'title 1' })).json).toEqual(row)
    const { json } = await client.send('POST', '/rows', { title: 'new', secret: 'own' })
    expect(json).toEqual({ id: json.id, title: 'new', secret: 'masked' })
    await Book.query().deleteById(json.id)
    for (const path of ['/counted', '/own']) {
      const book = { ...row, review_count: 1 }
      const fresh = { title: 'new', secret: 'masked', review_count: 0 }
      expect((await client.get(`${path}/1`)).json).toEqual(book)
      expect((await client.send('PATCH', `${path}/1`, { title: 'title 1' })).json).toEqual(book)
      expect((await client.send('PATCH', `${path}/1`, {})).json).toEqual(book)
      expect((await client.send('PATCH', `${path}/bulk`, [{ id: 1, title: 'title 1' }])).json).toEqual([book])
      const one = (await client.send('POST', path, { title: 'new', secret: 'own' })).json
      expect(one).toEqual({ id: one.id, ...fresh })
      const [first, second] = (await client.send('POST', `${path}/bulk`, [{ title: 'new' }, { title: 'new' }])).json
      expect([first, second]).toEqual([
        { id: first.id, ...fresh },
        { id: second.id, ...fresh },
      ])
      await Book.query().deleteById(one.id)
      await Book.query().findByIds([first.id, second.id]).delete()
    }
  })

  it('takes creates where it computes what paths name objects by', async () => {
    const Named = viewOf(Book, serializerOf(Book, ['id', 'title', 'slug']), { lookupField: 'slug' })
    const select = (query: Queryset) => query.select('books.id', 'books.title', raw('upper(books.slug)').as('slug'))
    const client = await serveViews({ named: querying(Named, select) })
    const { status, json } = await client.send('POST', '/named', { title: 'new', slug: 'own' })
    await Book.query().where('slug', 'own').delete()
    expect([status, json]).toEqual([201, { id: json.id, title: 'new', slug: 'OWN' }])
  })

  it('says nothing of an object of another model, nor before a create of the application has begun', async () => {
    const queryset = (query: Queryset) => query.select('books.*', raw(`'of a book'`).as('name'))
    const AuthorSerializer = serializerOf(Author, ['id', 'name'])
    const order: string[] = []
    class Own extends BookView {
      override getQueryset(): Queryset {
        order.push('queryset')
        return queryset(super.getQueryset())
      }
      override async create(): Promise<unknown> {
        order.push('create')
        return super.create()
      }
    }
    const client = await serveViews({
      others: class extends querying(BookView, queryset) {
        override getSerializerClass(): SerializerClass {
          return this.action === 'create' ? AuthorSerializer : BookSerializer
        }
      },
      own: Own,
    })
    const { status, json } = await client.send('POST', '/others', { id: 4, name: 'Dan' })
    await Author.query().deleteById(4)
    expect([status, json]).toEqual([201, { id: 4, name: 'Dan' }])
    order.length = 0
    const own = await client.send('POST', '/own', { title: 'new' })
    await Book.query().deleteById(own.json.id)
    expect([own.status, order[0]]).toEqual([201, 'create'])
  })

  it('keeps the onBuild of its context, in lists, objects and the rows that updates find', async () => {
    const client = await serveQueryset((query) =>
      query.context({ onBuild: (builder: Queryset) => builder.withSchema('tenant') }),
    )
    for (const path of ['/rows', '/instances']) {
      expect((await client.get(path)).json).toMatchObject([{ id: 1, title: 'tenant 1' }])
      expect((await client.get(`${path}/1`)).json).toMatchObject({ id: 1, title: 'tenant 1' })
    }
    const narrowed = await serveQueryset((query) =>
      query.context({ onBuild: (builder: Queryset) => builder.where('books.id', 2) }),
    )
    for (const path of ['/rows', '/instances']) {
      expect((await narrowed.get(path)).json).toMatchObject([{ id: 2 }])
      expect((await narrowed.get(`${path}/2`)).status).toBe(200)
      expect((await narrowed.get(`${path}/1`)).status).toBe(404)
      expect((await narrowed.send('PATCH', `${path}/2`, { title: 'title 2' })).status).toBe(200)
      expect((await narrowed.send('PATCH', `${path}/1`, { title: 'patched' })).status).toBe(404)
    }
  })

  it.each([
    [true, 201, 200],
    [false, 403, 403],
  ])('where rows may leave it, %s, stores what it does not show', async (mayLeaveQueryset, created, changed) => {
    const view = viewOf(Book, serializerOf(Book, ['id', 'title']), { mayLeaveQueryset })
    const client = await serveViews({ rows: querying(view, (query) => query.whereNot('title', 'left')) })
    expect((await client.send('POST', '/rows', { title: 'left' })).status).toBe(created)
    expect((await client.send('PATCH', '/rows/2', { title: 'left' })).status).toBe(changed)
    expect(await Book.query().where('title', 'left').resultSize()).toBe(mayLeaveQueryset ? 2 : 0)
    await Book.query().where('title', 'left').whereNot('id', 2).delete()
    await database.knex('books').where('id', 2).update({ title: 'title 2' })
  })

  it('that gives more objects than the one that is looked for leads to no other', async () => {
    const first = { id: 1, title: 'title 1' }
    const client = await serveQueryset((query) =>
      query.runAfter((found: unknown) => [Book.fromDatabaseJson(first), ...[found].flat()]),
    )
    for (const path of ['/rows', '/instances']) {
      expect((await client.get(`${path}/2`)).json).toMatchObject({ id: 2, title: 'title 2' })
      expect((await client.get(`${path}/99`)).status).toBe(404)
      expect((await client.send('PATCH', `${path}/99`, { title: 'patched' })).status).toBe(404)
      expect((await client.send('PATCH', `${path}/2`, { title: 'patched' })).status).toBe(500)
      expect(client.reported.splice(0, 1)).toMatchObject([{ message: expect.stringMatching(/of several rows/) }])
    }
  })

  // a role reads in a transaction that cannot write
  it.skipIf(runsAsRole()).each(['forUpdate', 'forNoKeyUpdate', 'forShare', 'forKeyShare'] as const)(
    'that locks its rows by %s() is read and written',
    async (lock) => {
      const client = await serveQueryset((query) => query.where('books.id', '>', 1)[lock]())
      for (const path of ['/rows', '/instances']) {
        expect((await client.get(path)).json.length).toBeGreaterThan(1)
        const id = (await client.send('POST', path, { title: 'new' })).json.id
        for (const method of ['PATCH', 'PUT']) {
          expect((await client.send(method, `${path}/${id}`, { title: method })).json).toMatchObject({ title: method })
        }
        expect((await client.send('DELETE', `${path}/${id}`)).status).toBe(204)
      }
    },
  )

  it('that is a union is a configuration error, because a lookup would narrow its first part only', async () => {
    const change = (query: Queryset) => query.where('id', 1).unionAll(Book.query().where('id', 2))
    const client = await serveHidden(change, serveQueryset, /its queryset is a union/)
    for (const path of ['/rows', '/instances']) {
      for (const [method, own] of [
        ['GET', path],
        ['GET', `${path}/3`],
        ['DELETE', `${path}/3`],
      ] as const) {
        expect((await client.send(method, own)).status).toBe(500)
        expect(client.reported.splice(0, 1)).toMatchObject([{ message: expect.stringMatching(/is a union/) }])
      }
    }
  })

  it.each<[string, (query: Queryset) => Queryset]>([
    [
      'modifyGraph',
      (query) =>
        query
          .withGraphFetched('[author, reviews.book]')
          .modifyGraph('author', (authors) => void authors.where('hidden', false))
          .modifyGraph('reviews', (reviews) => void reviews.where('text', 'good').orderBy('id')),
    ],
    [
      'modifiers',
      (query) =>
        query.withGraphFetched('[author(open), reviews(good).book]').modifiers({
          open: (authors) => void authors.where('hidden', false),
          good: (reviews) => void reviews.where('text', 'good').orderBy('id'),
        }),
    ],
  ])('shows no more of related objects than its graph has loaded: %s', async (_, change) => {
    const authorSerializer = serializerOf(Author, ['id'])
    // the graph ends at the book, the output goes on
    const reviewSerializer = serializerOf(Review, ['text'], {
      book: new NestedSerializer(
        serializerOf(Book, ['id'], { author: new NestedSerializer(authorSerializer, { readOnly: true }) }),
        { readOnly: true },
      ),
    })
    const fields = ['id', 'title', 'author_id']
    const nested = serializerOf(Book, fields, {
      author: new NestedSerializer(authorSerializer, { readOnly: true }),
      reviews: new NestedSerializer(reviewSerializer, { readOnly: true, many: true }),
    })
    const expandable = { author: authorSerializer, reviews: reviewSerializer }
    const narrow = (query: Queryset) => change(query.whereIn('books.id', [1, 2, 5]).orderBy('books.id'))
    const loose = { mayLeaveQueryset: true }
    const client = await serveViews({
      nested: querying(viewOf(Book, nested, loose), narrow),
      expanded: querying(viewOf(Book, serializerOf(Book, fields), { expandable, ...loose }), narrow),
    })
    const good = (id: number, author: number) => ({ text: 'good', book: { id, author: { id: author } } })
    const books = [
      { id: 1, title: 'title 1', author_id: 2, author: null, reviews: [good(1, 2)] },
      { id: 2, title: 'title 2', author_id: 3, author: { id: 3 }, reviews: [] },
      { id: 5, title: 'title 5', author_id: 3, author: { id: 3 }, reviews: [good(5, 3), good(5, 3)] },
    ]
    for (const path of ['/nested', '/expanded']) {
      const list = (await client.get(`${path}?expand=author,reviews`)).json
      expect(list).toEqual(books)
      for (const book of books) {
        const own = `${path}/${book.id}?expand=author,reviews`
        expect((await client.get(own)).json).toEqual(book)
        const { title, author_id } = book
        expect((await client.send('PUT', own, { title, author_id })).json).toEqual(book)
        expect((await client.send('PATCH', own, { title })).json).toEqual(book)
        expect((await client.send('PATCH', own, {})).json).toEqual(book)
      }
      const { status, json } = await client.send('POST', `${path}?expand=author,reviews`, {
        title: 'new',
        author_id: 2,
      })
      await Book.query().deleteById(json.id)
      expect(status).toBe(201)
      expect(json).toEqual({ id: json.id, title: 'new', author_id: 2, author: null, reviews: [] })
    }
  })

  it.each([
    ['of a relation to one', Book, 'author'],
    ['of a relation to many', Book, 'reviews'],
  ])('with a joined graph %s is a configuration error', async (_, model, relation) => {
    const change = (query: Queryset) => query.withGraphJoined(relation)
    const attributes = { filterBackends: [FieldFilter], filtersetFields: ['author__name'] }
    const serving = (hidden: (query: Queryset) => unknown) =>
      serveViews({
        rows: querying(viewOf(model, BookSerializer, attributes), hidden),
        instances: querying(viewOf(model, throughInstances(BookSerializer), attributes), hidden),
      })
    const client = await serveHidden(change, serving, /withGraphJoined/)
    for (const path of ['/rows', '/instances']) {
      for (const own of [path, `${path}/1`, `${path}?author__name=Ada`]) {
        expect((await client.get(own)).status).toBe(500)
        expect(client.reported.splice(0, 1)).toMatchObject([
          { name: 'ConfigurationError', message: expect.stringMatching(/withGraphJoined/) },
        ])
      }
    }
  })

  it('of another schema is not written to, because writes go to the table of the model', async () => {
    for (const change of [
      (query: Queryset) => query.withSchema('tenant'),
      (query: Queryset) => query.context({ onBuild: (builder: Queryset) => builder.withSchema('tenant') }),
    ]) {
      const client = await serveQueryset(change)
      const before = await database.knex('books').where('id', 1)
      for (const path of ['/rows/1', '/instances/1']) {
        expect((await client.get(path)).json).toMatchObject({ title: 'tenant 1' })
        for (const method of ['PATCH', 'DELETE']) {
          expect((await client.send(method, path, { title: 'patched' })).status).toBe(500)
          expect(client.reported.splice(0, 1)).toMatchObject([{ message: expect.stringMatching(/another schema/) }])
        }
      }
      expect(await database.knex('books').where('id', 1)).toEqual(before)
      // the key is free here, and that of another row there
      const theirs = database.knex.withSchema('tenant').table('books')
      await theirs.clone().insert({ id: 90, title: 'tenant 90' })
      for (const path of ['/rows', '/instances', '/rows/bulk', '/instances/bulk']) {
        const book = { id: 90, title: 'new' }
        const { status } = await client.send('POST', path, path.endsWith('bulk') ? [book] : book)
        expect([path, status]).toEqual([path, 500])
        expect(client.reported.splice(0, 1)).toMatchObject([{ message: expect.stringMatching(/another schema/) }])
      }
      await theirs.where('id', 90).delete()
    }
  })

  it.each<[string, (query: Queryset) => unknown]>([
    ['itself', (query) => query.withSchema('tenant')],
    [
      'a hook of its context',
      (query) => query.context({ onBuild: (builder: Queryset) => builder.withSchema('tenant') }),
    ],
  ])('of another schema, by %s, shows the related objects of that schema', async (_, change) => {
    const authorSerializer = serializerOf(Author, ['id', 'name'])
    const nested = serializerOf(Book, ['id'], { author: new NestedSerializer(authorSerializer, { readOnly: true }) })
    const plain = serializerOf(Book, ['id'])
    const client = await serveViews({
      nested: querying(viewOf(Book, nested), change),
      native: querying(viewOf(Book, nested, { useNativeJson: true }), change),
      instances: querying(viewOf(Book, throughInstances(nested)), change),
      expanded: querying(viewOf(Book, plain, { expandable: { author: authorSerializer } }), change),
    })
    const book = { id: 1, author: { id: 1, name: 'Zoe of the tenant' } }
    for (const path of ['/nested', '/native', '/instances', '/expanded']) {
      expect((await client.get(`${path}?expand=author`)).json).toEqual([book])
      expect((await client.get(`${path}/1?expand=author`)).json).toEqual(book)
    }
  })

  it.each<[string, (query: Queryset) => unknown]>([
    ['itself', (query) => query.withSchema('tenant')],
    [
      'a hook of its context',
      (query) => query.context({ onBuild: (builder: Queryset) => builder.withSchema('tenant') }),
    ],
  ])('of another schema, by %s, is filtered and searched by the related objects of that schema', async (_, change) => {
    const searchable = {
      filterBackends: [FieldFilter, SearchFilter],
      filtersetFields: ['author__name', 'visible__name', 'tags__label'],
      searchFields: ['author__name', 'tags__label'],
    }
    const ranked = {
      filterBackends: [FullTextSearchFilter, SearchRankOrderingFilter],
      searchFields: ['title', 'author__name'],
    }
    const client = await serveViews({
      rows: querying(viewOf(Book, BookSerializer, searchable), change),
      instances: querying(viewOf(Book, throughInstances(BookSerializer), searchable), change),
      ranked: querying(viewOf(Book, BookSerializer, ranked), change),
    })
    const count = async (path: string) => ((await client.get(path)).json as unknown[]).length
    for (const path of ['/rows', '/instances']) {
      for (const field of ['author', 'visible']) {
        expect(await count(`${path}?${field}__name__startswith=Zoe`)).toBe(1)
        expect(await count(`${path}?${field}__name__startswith=Cleo`)).toBe(0)
        expect(await count(`${path}?${field}__name__startswith=Ben`)).toBe(0)
      }
      expect(await count(`${path}?tags__label=of%20the%20tenant`)).toBe(1)
      expect(await count(`${path}?tags__label=public`)).toBe(0)
      expect(await count(`${path}?search=zoe`)).toBe(1)
      for (const text of ['public', 'ada', 'ben', 'cleo']) expect(await count(`${path}?search=${text}`)).toBe(0)
    }
    expect(await count('/ranked?search=zoe')).toBe(1)
    for (const text of ['ada', 'ben', 'cleo']) expect(await count(`/ranked?search=${text}`)).toBe(0)
  })

  it('of another database than the request is a configuration error, for reads and writes', async () => {
    const client = await serveQueryset(() => Book.query(other.knex))
    for (const path of ['/rows', '/instances']) {
      const answers = [
        await client.get(path),
        await client.get(`${path}/2`),
        await client.send('PATCH', `${path}/2`, { title: 'patched' }),
      ]
      for (const { status } of answers) {
        expect(status).toBe(500)
        const [error, ...rest] = client.reported.splice(0, 1)
        expect(rest).toEqual([])
        expect(error).toMatchObject({ name: 'ConfigurationError', message: expect.stringMatching(/another database/) })
      }
    }
    expect(client.reported).toEqual([])
    expect(await database.knex('books').where('id', 2).select('title')).toEqual([{ title: 'title 2' }])
    expect(await other.knex('books').where('id', 2).select('title')).toEqual([{ title: 'other 2' }])
  })

  it('has an order of its own, which gives way to one that the client asks for', async () => {
    const attributes = {
      filterBackends: [OrderingFilter],
      orderingFields: ['id', 'score'],
      paginationClass: new PageNumberPagination({ pageSize: 20 }),
    }
    const change = (query: Queryset) => query.where('id', '<=', 10).orderBy('title', 'desc')
    const client = await serveViews({
      rows: querying(viewOf(Book, BookSerializer, attributes), change),
      instances: querying(viewOf(Book, throughInstances(BookSerializer), attributes), change),
    })
    for (const path of ['/rows', '/instances']) {
      expect(await walk(client, path)).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 10, 1])
      expect(await walk(client, `${path}?ordering=id`)).toEqual(IDS)
      expect(await walk(client, `${path}?ordering=-id`)).toEqual(IDS.toReversed())
      expect(await walk(client, `${path}?ordering=title`)).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 10, 1])
    }
  })

  it('with nothing but an order is not taken for none by statements that another view set has made', async () => {
    const view = viewOf(Book, serializerOf(Book, ['id', 'title']))
    const client = await serveViews({ all: view, ordered: querying(view, (query) => query.orderByRaw('lower(title)')) })
    for (const path of ['/all/1', '/ordered/1', '/all/1', '/ordered/1']) {
      const patched = await client.send('PATCH', path, { title: `of ${path}` }, { 'if-match': '*' })
      expect(patched.json).toEqual({ id: 1, title: `of ${path}` })
      await client.send('PATCH', path, { title: 'title 1' }, { 'if-match': '*' })
    }
  })

  it('keeps the order of DISTINCT ON, which says what rows there are', async () => {
    const attributes = { filterBackends: [OrderingFilter], orderingFields: ['id'] }
    const client = await serveViews({
      books: querying(viewOf(Book, BookSerializer, attributes), (query) =>
        query.where('id', '<=', 10).distinctOn('author_id').orderBy('author_id').orderBy('id', 'desc'),
      ),
    })
    for (const path of ['/books', '/books?ordering=id']) {
      expect((await client.get(path)).json).toMatchObject([{ id: 9 }, { id: 10 }, { id: 8 }])
    }
  })

  it('of the class decides the database of the view', async () => {
    const queryset = () => Book.query(other.knex).where('id', 1)
    const client = await serveViews({
      rows: Object.assign(viewOf(Book, BookSerializer), { model: null, queryset }),
      instances: Object.assign(viewOf(Book, throughInstances(BookSerializer)), { model: null, queryset }),
    })
    for (const path of ['/rows', '/instances']) {
      expect((await client.get(path)).json).toMatchObject([{ id: 1, title: 'other 1' }])
      expect((await client.get(`${path}/1`)).json).toMatchObject({ id: 1, title: 'other 1' })
    }
  })
})

describe('[P14] Filter backends', () => {
  it('keep an OR of the application apart from what comes after it', async () => {
    class OneOrTwo extends BaseFilter {
      override filterQueryset(query: AnyQueryBuilder): AnyQueryBuilder {
        return query.where('id', 1).orWhere('id', 2)
      }
    }
    const filters = {
      filterBackends: [OneOrTwo, FieldFilter, SearchFilter],
      filtersetFields: ['id'],
      searchFields: ['title'],
    }
    const client = await serveViews({
      rows: viewOf(Book, BookSerializer, filters),
      instances: viewOf(Book, throughInstances(BookSerializer), filters),
    })
    for (const path of ['/rows', '/instances']) {
      const ids = async (query: string) => (await client.get(path + query)).json.map(({ id }: { id: number }) => id)
      expect(ascending(await ids(''))).toEqual([1, 2])
      expect(await ids('?id__gt=1')).toEqual([2])
      expect(await ids('?search=title+1')).toEqual([1])
    }
  })

  it.each([SearchFilter, FullTextSearchFilter])(
    '[C13] %o searches a has-one relation that has led to two',
    async (filter) => {
      const searching = { filterBackends: [filter], searchFields: ['verdict__text'] }
      const client = await serveViews({ rows: viewOf(Book, BookSerializer, searching) })
      const { status, json } = await client.get('/rows?search=bad')
      expect(status).toBe(200)
      expect(json).toContainEqual({ id: 2, title: 'title 2', secret: 'secret 2' })
    },
  )

  it('[C15] name a configuration of full-text search that has capitals', async () => {
    await database.knex.raw('create text search configuration "German_x" (copy = german)')
    const searching = { filterBackends: [FullTextSearchFilter], searchFields: ['title'] }
    const client = await serveViews({
      plain: viewOf(Book, BookSerializer, { ...searching, searchConfig: 'German_x' }),
      qualified: viewOf(Book, BookSerializer, { ...searching, searchConfig: 'public.German_x' }),
    })
    for (const path of ['/plain', '/qualified']) {
      expect((await client.get(`${path}?search=title`)).json).toHaveLength(IDS.length)
    }
  })
})
