/** Books and authors, as the side-by-side benchmark has them, served by ordinary view sets. */
import {
  APIRouter,
  BasePagination,
  CursorPagination,
  FieldFilter,
  type Filters,
  type ListSource,
  ModelSerializer,
  ModelViewSet,
  NestedSerializer,
  OrderingFilter,
  PageNumberPagination,
  type PageRequest,
  type Pagination,
  SearchFilter,
  type ViewSerializer,
} from 'koa-viewsets'
import { Model } from 'objection'

const native = process.env['NATIVE_JSON'] === '1'

export class Author extends Model {
  static override tableName = 'author'
}

export class Book extends Model {
  static override tableName = 'book'
  static override relationMappings = {
    author: {
      relation: Model.BelongsToOneRelation,
      modelClass: Author,
      join: { from: 'book.author_id', to: 'author.id' },
    },
  }
}

class AuthorSerializer extends ModelSerializer<Author> {
  static override model = Author
  static override fields = ['id', 'name', 'country', 'born_on']
}

const COLUMNS = ['id', 'title', 'isbn', 'price', 'published_on', 'created_at', 'rating', 'in_stock']

export class BookSerializer extends ModelSerializer<Book> {
  static override model = Book
  static override fields = [...COLUMNS, 'author_id']
  static override readOnlyFields = ['created_at']
  static override extraKwargs = {
    title: { maxLength: 200, minLength: 1 },
    rating: { minValue: 0, maxValue: 5 },
    price: { minValue: 0 },
  }
}

class BookNestedSerializer extends ModelSerializer<Book> {
  static override model = Book
  static override fields = COLUMNS
  static override declaredFields = { author: new NestedSerializer(AuthorSerializer, { readOnly: true }) }
}

/** A list without an envelope, of at most `?limit=` items. */
export class Plain extends BasePagination {
  readonly #size: number

  constructor(size: number) {
    super()
    this.#size = size
  }

  async paginate(source: ListSource, { query }: PageRequest): Promise<object> {
    const limit = Number(query['limit'] ?? this.#size)
    const rows = await source.read({ limit: Number.isInteger(limit) && limit > 0 ? limit : this.#size })
    return rows.results(0, rows.length) as object
  }
}

export class BookViewSet extends ModelViewSet<Book> {
  static override model = Book
  static override serializerClass: ViewSerializer = BookSerializer
  static override useNativeJson = native
  static override paginationClass: Pagination = PageNumberPagination
  static override filterBackends: Filters = [FieldFilter, SearchFilter, OrderingFilter]
  static override filtersetFields = ['price', 'author_id', 'in_stock']
  static override searchFields = ['title']
  static override orderingFields = ['id', 'price', 'title', 'published_on']
}

class AuthorViewSet extends ModelViewSet<Author> {
  static override model = Author
  static override serializerClass = AuthorSerializer
  static override useNativeJson = native
  static override paginationClass = PageNumberPagination
}

class FirstBooks extends BookViewSet {
  static override paginationClass = new Plain(100)
}

class NestedBooks extends BookViewSet {
  static override serializerClass = BookNestedSerializer
  static override paginationClass = new Plain(25)
}

export class CursorBooks extends BookViewSet {
  static override filterBackends: Filters = []
  static override paginationClass = CursorPagination
}

/** The routes of the side-by-side benchmark. `prepare()` is the caller's. */
export function createBooksApi(): APIRouter {
  const api = new APIRouter()
  api.register('books', BookViewSet)
  api.register('authors', AuthorViewSet)
  api.register('books-100', FirstBooks, 'first-book')
  api.register('books-nested', NestedBooks, 'nested-book')
  api.register('books-cursor', CursorBooks, 'cursor-book')
  return api
}
