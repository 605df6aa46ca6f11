/**
 * An API whose clients know another wire than the package's own: names of parameters, pages, answers, and a join table.
 *
 * DATABASE_URL=postgres://… npx tsx examples/known-clients.ts
 */
import knex from 'knex'
import Koa from 'koa'
import {
  APIRouter,
  ApiError,
  BaseFilter,
  BasePagination,
  Conflict,
  type Context,
  FieldFilter,
  genericViewSet,
  ListMixin,
  type ListSource,
  type Middleware,
  modelSerializer,
  modelViewSet,
  NestedRouter,
  NotFound,
  OrderingFilter,
  objectAction,
  type PageRequest,
} from 'koa-viewsets'
import { type AnyQueryBuilder, Model } from 'objection'

const { DATABASE_URL, PORT = '3000' } = process.env
if (!DATABASE_URL) throw new Error('DATABASE_URL is missing: postgres://user:password@localhost/database')
Model.knex(knex({ client: 'pg', connection: { connectionString: DATABASE_URL } }))

class Review extends Model {
  static override tableName = 'reviews'

  declare id: number
  declare book_id: number
}

class Genre extends Model {
  static override tableName = 'genres'

  declare id: number
  declare name: string
}

class Book extends Model {
  static override tableName = 'books'

  declare id: number
  declare title: string
  declare price: string | null
  declare genres?: Genre[]
  declare reviews?: Review[]

  static override relationMappings = () => ({
    genres: {
      relation: Model.ManyToManyRelation,
      modelClass: Genre,
      join: {
        from: 'books.id',
        through: { from: 'books_genres.book_id', to: 'books_genres.genre_id' },
        to: 'genres.id',
      },
    },
    reviews: { relation: Model.HasManyRelation, modelClass: Review, join: { from: 'books.id', to: 'reviews.book_id' } },
  })
}

const NAMES = new Map([
  ['select', 'fields'],
  ['orderBy', 'ordering'],
])

/** `?price:gt=10&select=title` as `?price__gt=10&fields=title`. */
const renameParameters: Middleware = (ctx, next) => {
  const renamed = Object.entries(ctx.query).map(([name, value]) => [NAMES.get(name) ?? name.replace(':', '__'), value])
  ctx.query = Object.fromEntries(renamed)
  return next()
}

class ReviewedFilter extends BaseFilter {
  override filterQueryset(query: AnyQueryBuilder, { query: { reviewed } }: Context) {
    return reviewed === undefined ? query : query.whereExists(Book.relatedQuery('reviews'))
  }

  override parameters() {
    return [{ name: 'reviewed', description: 'Only books with reviews.', schema: { type: 'boolean' } }]
  }
}

/** A number from 1 on that a client has sent; `usual` for anything else. */
const numberOr = (usual: number, text: unknown) => (/^[1-9]\d{0,5}$/.test(String(text)) ? Number(text) : usual)

class NumberedPages extends BasePagination {
  override parameters() {
    const schema = { type: 'integer', minimum: 1 }
    return [
      { name: 'page', description: 'The number of the page.', schema },
      { name: 'per_page', description: 'Objects on a page, at most 100.', schema },
    ]
  }

  override async paginate(source: ListSource, { query }: PageRequest) {
    const page = numberOr(1, query['page'])
    const per_page = Math.min(numberOr(10, query['per_page']), 100)
    const rows = await source.read({ limit: per_page, offset: (page - 1) * per_page })
    const total_count = await source.count()
    return { metadata: { page, per_page, total_count }, data: rows.results(0, rows.length) }
  }
}

class BookSerializer extends modelSerializer(Book, { fields: ['id', 'title', 'price'] }) {}

class GenreSerializer extends modelSerializer(Genre, { fields: ['id', 'name'] }) {}

class KnownBookViewSet extends modelViewSet(Book, { serializerClass: BookSerializer }) {
  override async partialUpdate() {
    await super.partialUpdate()
    return { success: true }
  }

  override toError(error: unknown) {
    const isTaken = error instanceof ApiError && (error.cause as { code?: unknown } | undefined)?.code === '23505'
    return isTaken ? new Conflict('There is such a book already.') : error
  }
}

class ListedBookViewSet extends KnownBookViewSet {
  static override filterBackends = [FieldFilter, OrderingFilter, ReviewedFilter]
  static override filtersetFields = ['title', 'price']
  static override orderingFields = ['title', 'price']
  static override paginationClass = NumberedPages
}

const addGenre = objectAction({ methods: ['POST'], urlPath: 'genres/{genre:int}' }, async function (book: Book) {
  const genre = await this.getRelatedQueryset('genres').findById(this.ctx.params.genre)
  if (!genre) throw new NotFound()
  await book.$relatedQuery('genres', this.trx).relate(genre.$id())
})

const removeGenre = objectAction({ methods: ['DELETE'], urlPath: 'genres/{genre:int}' }, async function (book: Book) {
  const genres = book.$relatedQuery('genres', this.trx)
  const removed = await genres.unrelate().where('genres.id', this.ctx.params.genre)
  if (removed === 0) throw new NotFound()
})

class ShelvedBookViewSet extends modelViewSet(Book, {
  serializerClass: BookSerializer,
  actions: { addGenre, removeGenre },
}) {}

class BookGenreViewSet extends genericViewSet(Genre, { mixins: [ListMixin], serializerClass: GenreSerializer }) {
  override getQueryset() {
    const genres = Book.relatedQuery('genres').for(this.ctx.params.book_id)
    return super.getQueryset().whereIn('genres.id', genres.select('genres.id'))
  }
}

const api = new APIRouter({ prefix: '/api' })
  .register('books', ListedBookViewSet)
  .register('catalogue', ShelvedBookViewSet, 'catalogue')
new NestedRouter(api, 'catalogue', { lookup: 'book_id' }).register('genres', BookGenreViewSet)
await api.prepare()

new Koa().use(renameParameters).use(api.routes()).listen(Number(PORT), '127.0.0.1')
