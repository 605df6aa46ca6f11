/** What TypeScript knows of related objects that a client asks for by `?expand=`, and what it refuses. Checked by `tsc`, never run. */
import {
  APIRouter,
  CursorPagination,
  IsAdminUser,
  modelSerializer,
  modelViewSet,
  NestedSerializer,
  PageNumberPagination,
  PrimaryKeyRelatedField,
} from 'koa-viewsets'
import { createClient } from 'koa-viewsets/client'
import { Model } from 'objection'

type Equal<Left, Right> = (<T>() => T extends Left ? 1 : 2) extends <T>() => T extends Right ? 1 : 2 ? true : false
const is = <_Holds extends true>(): void => undefined

class Country extends Model {
  static override tableName = 'countries'
  declare id: number
  declare name: string
}
class Author extends Model {
  static override tableName = 'authors'
  declare id: number
  declare name: string
  declare country?: Country
  declare books?: Book[]
}
class Book extends Model {
  static override tableName = 'books'
  declare id: number
  declare title: string
  declare author?: Author
  declare editor?: Author
  declare reviewer?: Author | null
  declare reviews?: Review[]
}
class Review extends Model {
  static override tableName = 'reviews'
  declare stars: number
  declare book?: Book
}

class CountrySerializer extends modelSerializer(Country, { fields: ['name'] }) {}
class AuthorSerializer extends modelSerializer(Author, { fields: ['id', 'name'] }) {}
class NameSerializer extends modelSerializer(Author, { fields: ['name'] }) {}
class ReviewSerializer extends modelSerializer(Review, { fields: ['stars'] }) {}
class BookSerializer extends modelSerializer(Book, {
  fields: ['id', 'title'],
  declaredFields: {
    author: new PrimaryKeyRelatedField({ queryset: () => Author.query() }),
    editor: new NestedSerializer(AuthorSerializer, { readOnly: true }),
    reviewer: new NestedSerializer(AuthorSerializer, { readOnly: true, allowNull: true }),
  },
}) {}
class BookViewSet extends modelViewSet(Book, {
  serializerClass: BookSerializer,
  paginationClass: PageNumberPagination,
  expandable: {
    author: AuthorSerializer,
    'author.country': CountrySerializer,
    'author.books': modelSerializer(Book, { fields: ['title'] }),
    editor: NameSerializer,
    'reviewer.country': CountrySerializer,
    reviews: ReviewSerializer,
  },
}) {}
class Feed extends BookViewSet {
  static override paginationClass = CursorPagination
  static override expandable = { author: NameSerializer }
}
class Deleting extends BookViewSet {
  static override statuses = { destroy: 200 } as const
  static override softDelete = { column: 'deleted_at', permissionClasses: [IsAdminUser] }
}
class Bare extends BookViewSet {
  static override expandable = {}
}

const router = new APIRouter()
  .register('books', BookViewSet)
  .register('feed', Feed, 'feed')
  .register('bare', Bare, 'bare')
  .register('deleting', Deleting, 'deleting')

type AuthorShown = { id: number; name: string }
type CountryShown = { name: string }

export async function use(): Promise<void> {
  const api = createClient<typeof router>('http://localhost')

  const plain = await api.books.retrieve(1)
  if (plain.ok) is<Equal<typeof plain.data.editor, AuthorShown>>()

  // in place of a key, one object, which a row may not have
  const one = await api.books.retrieve(1, { expand: ['author'] })
  if (one.ok) {
    is<
      Equal<
        typeof one.data,
        { id: number; title: string; editor: AuthorShown; reviewer: AuthorShown | null; author: AuthorShown | null }
      >
    >()
    // @ts-expect-error a row may have none
    void one.data.author.name
  }
  const list = await api.books.list({ page: 2, expand: 'reviews', fields: ['id'] })
  if (list.ok) is<Equal<(typeof list.data.results)[number], { id: number; reviews: { stars: number }[] }>>()

  // in place of a nested field: as its serializer in `expandable` shows it, and null only where the field may be
  const editor = await api.books.retrieve(1, { expand: 'editor', fields: 'title' })
  if (editor.ok) is<Equal<typeof editor.data, { title: string; editor: { name: string } }>>()

  // a path, behind a relation of `expandable` or behind a nested field; the objects on it are whole
  const deep = await api.books.retrieve(1, { expand: ['author.country', 'author.books'], fields: ['id'] })
  if (deep.ok) {
    is<
      Equal<
        typeof deep.data,
        {
          id: number
          author: { id: number; name: string; country: CountryShown | null; books: { title: string }[] } | null
        }
      >
    >()
  }
  const nested = await api.books.retrieve(1, { expand: ['reviewer.country', 'author'], fields: ['id'] })
  if (nested.ok) {
    is<Equal<typeof nested.data.reviewer, { id: number; name: string; country: CountryShown | null } | null>>()
    is<Equal<typeof nested.data.author, AuthorShown | null>>()
  }

  // all methods that answer with objects
  for await (const { author } of api.books.all({ expand: 'author' })) is<Equal<typeof author, AuthorShown | null>>()
  for await (const { next, results } of api.feed.pages({ expand: ['author'], fields: ['id'] })) {
    is<Equal<typeof next, string | null>>()
    is<Equal<typeof results, { id: number; author: { name: string } | null }[]>>()
  }
  const title = { title: 'x', author: 1 }
  const made = await api.books.create(title, { query: { expand: ['author'], fields: ['id'] } })
  if (made.ok) is<Equal<typeof made.data, { id: number; author: AuthorShown | null }>>()
  const changed = await api.books.partialUpdate(1, title, { query: { expand: ['reviews'] } })
  if (changed.ok) is<Equal<typeof changed.data.reviews, { stars: number }[]>>()
  const deleted = await api.deleting.destroy(1, { query: { expand: ['author'], fields: ['id'] } })
  if (deleted.ok) is<Equal<typeof deleted.data, { id: number; author: AuthorShown | null }>>()
  const restored = await api.deleting.restoreDeleted(1, { query: { fields: ['id'] } })
  if (restored.ok) is<Equal<typeof restored.data, { id: number }>>()
  const gone = await api.books.destroy(1)
  if (gone.ok) is<Equal<typeof gone.data, undefined>>()

  // @ts-expect-error no such name
  await api.books.retrieve(1, { expand: ['autor'] })
  // @ts-expect-error no such path
  await api.books.list({ expand: ['author.publisher'] })
  // @ts-expect-error a relation that nobody may ask for
  await api.books.list({ expand: 'reviewer' })
  // @ts-expect-error a name of another view set
  void api.feed.all({ expand: ['reviews'] })
  // @ts-expect-error nothing can be asked for
  await api.bare.retrieve(1, { expand: ['author'] })
  // @ts-expect-error no such name
  await api.books.create(title, { query: { expand: ['autor'] } })
}
