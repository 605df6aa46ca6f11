/** What TypeScript knows of the view sets that factories make, and what it refuses. Checked by `tsc`, never run. */
import {
  APIRouter,
  bulkModelViewSet,
  CacheableMixin,
  ChoiceField,
  CursorPagination,
  DateField,
  FieldFilter,
  type FilterRelations,
  genericViewSet,
  IntegerField,
  IsAuthenticatedOrReadOnly,
  ListMixin,
  listAction,
  modelSerializer,
  modelViewSet,
  nestedViewSet,
  objectAction,
  PageNumberPagination,
  ReadOnlyModelViewSet,
  type RelatedViewClass,
  readOnlyModelViewSet,
  SerializerMethodField,
} from 'koa-viewsets'
import { ListCreateAPIView, modelView } from 'koa-viewsets/views'
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
  declare price: string
  declare published_on: string | null
  declare meta: { colour?: string } | null
  declare other: unknown
  declare author_id: number
  declare author?: Author
}
class Plain extends Model {
  static override tableName = 'plain'
}

class BookSerializer extends modelSerializer(Book, {
  fields: ['id', 'title', 'label'],
  declaredFields: { label: new SerializerMethodField<string>() },
}) {
  getLabel(book: Book): string {
    return book.title
  }
}

class BookViewSet extends modelViewSet(Book, {
  serializerClass: BookSerializer,
  filterBackends: [FieldFilter],
  filtersetFields: ['price', 'author__name', 'author__country__name'],
  searchFields: ['title', '^author__name'],
  orderingFields: ['price'],
  ordering: ['-id'],
  lookupField: 'id',
  permissionClasses: [IsAuthenticatedOrReadOnly],
  paginationClass: new PageNumberPagination({ pageSize: 50 }),
  mixins: [CacheableMixin],
  cacheMaxAge: 60,
  expandable: { author: modelSerializer(Author, { fields: ['id'] }) },
  actions: {
    publish: objectAction(
      { methods: ['POST'], input: { published_on: new DateField() } },
      async function (book, { published_on }) {
        is<Equal<typeof book, Book>>()
        is<Equal<typeof published_on, string>>()
        await book.$query(this.trx).patch({ published_on })
        return this.getSerializer({ obj: book }).data
      },
    ),
    recent: listAction({ methods: ['GET'] }, async function () {
      return this.getQueryset().limit(3)
    }),
    cheapest: listAction(
      {
        methods: ['GET'],
        queryParameters: { n: new IntegerField({ default: 3 }), on: new DateField({ required: false }) },
      },
      async function (query) {
        is<Equal<typeof query, { n: number; on?: string }>>()
        return this.getQueryset().limit(query.n)
      },
    ),
    price: objectAction(
      {
        methods: ['POST'],
        input: { published_on: new DateField() },
        queryParameters: { kind: new ChoiceField({ choices: ['a', 'b'] }) },
      },
      (book, { published_on }, { kind }) => {
        is<Equal<[typeof book, typeof published_on, typeof kind], [Book, string, 'a' | 'b']>>()
      },
    ),
    described: listAction(
      { methods: ['GET'], queryParameters: [{ name: 'n', description: 'How many.', schema: { type: 'integer' } }] },
      () => 1,
    ),
  },
}) {
  override getQueryset() {
    return super.getQueryset().where('archived', false)
  }

  override async performCreate(serializer: BookSerializer) {
    const title: string = serializer.validatedData.title
    return serializer.save({ shout: title.toUpperCase() })
  }

  async own() {
    const book = await this.getObject()
    is<Equal<typeof book, Book>>()
    const { data } = this.getSerializer({ obj: book })
    is<Equal<typeof data, { id: number; title: string; label: string }>>()
  }
}

class Feed extends BookViewSet {
  static override paginationClass = CursorPagination
}
class Watched extends readOnlyModelViewSet(Author, { serializerClass: modelSerializer(Author, { fields: ['id'] }) }) {}
class Entries extends bulkModelViewSet(Author, { maxBulkSize: 500 }) {}
class Bare extends genericViewSet(Author, { mixins: [ListMixin] }) {}
class Reviews extends nestedViewSet(Book, { parentLookupField: 'author_id' }) {}
class Loose extends modelViewSet(Plain, { filtersetFields: ['anything'], ordering: ['-whatever'] }) {}
new APIRouter()
  .register('books', BookViewSet)
  .register('feed', Feed)
  .register('authors', Watched)
  .register('entries', Entries)
  .register('bare', Bare)
  .register('reviews', Reviews)
  .register('loose', Loose)

class BookList extends modelView(ListCreateAPIView, Book, { serializerClass: BookSerializer, ordering: ['-id'] }) {
  override getQueryset() {
    return super.getQueryset().where('archived', false)
  }

  async own() {
    const book = await this.getObject()
    is<Equal<typeof book, Book>>()
    const { data } = this.getSerializer({ obj: book })
    is<Equal<typeof data, { id: number; title: string; label: string }>>()
  }
}
BookList.asView()

// relations that filters may ask about: of the model, each with a view set; what names each other says the type of its functions
class CountryViewSet extends ReadOnlyModelViewSet<Country> {
  static override model = Country
  static override filterRelations: FilterRelations = { authors: () => AuthorViewSet }
}
class AuthorViewSet extends readOnlyModelViewSet(Author, {
  filterBackends: [new FieldFilter({ groupParam: 'filter' })],
  filterRelations: { books: (): RelatedViewClass => RelatedBookViewSet, country: CountryViewSet },
}) {}
class RelatedBookViewSet extends readOnlyModelViewSet(Book, { filterRelations: { author: AuthorViewSet } }) {}
// @ts-expect-error no relation
modelViewSet(Book, { filterRelations: { autor: AuthorViewSet } })
// @ts-expect-error a column
modelViewSet(Book, { filterRelations: { author: AuthorViewSet, title: AuthorViewSet } })
// @ts-expect-error no view set
modelViewSet(Book, { filterRelations: { author: Author } })
// @ts-expect-error a function of no view set
modelViewSet(Book, { filterRelations: { author: () => Author } })
modelViewSet(Plain, { filterRelations: { anything: AuthorViewSet } })

// orders over relations to one object
modelViewSet(Book, {
  orderingFields: ['title', 'author__name', 'author__country__name'],
  ordering: ['-author__name', 'id'],
})
modelViewSet(Plain, { orderingFields: ['anything__goes'], ordering: ['-anything__goes'] })
// @ts-expect-error to many
modelViewSet(Author, { orderingFields: ['books__title'] })
// @ts-expect-error to many, behind one
modelViewSet(Book, { orderingFields: ['author__books__title'] })
// @ts-expect-error no such column of the relation
modelViewSet(Book, { orderingFields: ['author__nam'] })
// @ts-expect-error a relation is no column
modelViewSet(Book, { orderingFields: ['author'] })
// @ts-expect-error no such column of the relation
modelViewSet(Book, { ordering: ['-author__country__nam'] })
// @ts-expect-error clients turn an order themselves
modelViewSet(Book, { orderingFields: ['-author__name'] })

// @ts-expect-error no such column
modelView(ListCreateAPIView, Book, { ordering: ['-nope'] })
// @ts-expect-error no such relation
modelViewSet(Book, { filtersetFields: ['autor__name'] })
// @ts-expect-error no such column of the relation
modelViewSet(Book, { filtersetFields: ['author__nam'] })
// @ts-expect-error no such column of the relation's relation
modelViewSet(Book, { filtersetFields: ['author__country__nam'] })
// @ts-expect-error no such relation of the relation
modelViewSet(Book, { filtersetFields: ['author__contry__name'] })
// @ts-expect-error no such column at the end of a way through all models, and back
modelViewSet(Book, { filtersetFields: ['author__books__author__books__titel'] })
modelViewSet(Book, { filtersetFields: ['author__books__author__books__title'] })
modelViewSet(Book, { filtersetFields: ['meta__colour', 'other__a__b', 'author__books__meta__colour'] })
// @ts-expect-error a text has no keys
modelViewSet(Book, { filtersetFields: ['title__colour'] })
// @ts-expect-error a text behind relations has no keys
modelViewSet(Book, { filtersetFields: ['author__books__title__colour'] })
// @ts-expect-error keys are not searched
modelViewSet(Book, { searchFields: ['meta__colour'] })
// @ts-expect-error a relation is no column
modelViewSet(Book, { filtersetFields: ['author'] })
// @ts-expect-error a relation is no column
modelViewSet(Book, { filtersetFields: ['author__country'] })
// @ts-expect-error no such column
modelViewSet(Book, { ordering: ['-nope'] })
// @ts-expect-error no such column
modelViewSet(Book, { orderingFields: ['nope'] })
// @ts-expect-error no such column
modelViewSet(Book, { searchFields: ['^nope'] })
// @ts-expect-error no such column
modelViewSet(Book, { lookupField: 'slug' })
// @ts-expect-error no such relation
modelViewSet(Book, { expandable: { autor: BookSerializer } })
// @ts-expect-error no such relation of the relation
modelViewSet(Book, { expandable: { 'author.contry': BookSerializer } })
modelViewSet(Book, { expandable: { 'author.books.author': modelSerializer(Author, { fields: ['id'] }) } })
// @ts-expect-error no such column of the relation
modelViewSet(Book, { searchFields: ['title', '^author__nam'] })
// @ts-expect-error nobody reads it
modelViewSet(Book, { pagination: PageNumberPagination })
// @ts-expect-error no such property
nestedViewSet(Book, { parentLookupField: 'autor_id' })
// @ts-expect-error a nested view set names its key
nestedViewSet(Book, {})
objectAction<BookViewSet, { on: DateField }>({ methods: ['POST'], input: { on: new DateField() } }, (book, data) => {
  // @ts-expect-error no such property
  void book.titel
  // @ts-expect-error no such field
  void data.wrong
})

class WrongLabel extends modelSerializer(Book, {
  fields: ['id'],
  declaredFields: { label: new SerializerMethodField<string>() },
}) {
  getLabel(book: Book): number {
    return book.id
  }
}
// @ts-expect-error getLabel() returns another type than the field says
modelViewSet(Book, { serializerClass: WrongLabel })
class NoLabel extends modelSerializer(Book, {
  fields: ['id'],
  declaredFields: { label: new SerializerMethodField<string>() },
}) {}
// @ts-expect-error there is no getLabel()
modelViewSet(Book, { serializerClass: NoLabel })

/** Another model's serializer would write the other model's rows. */
class AuthorSerializer extends modelSerializer(Author, { fields: ['id', 'name'] }) {}
class LeadAuthor extends Author {
  declare led: number
}
modelViewSet(LeadAuthor, { serializerClass: AuthorSerializer })
modelViewSet(Plain, { serializerClass: modelSerializer(Plain, { fields: ['id'] }) })
// @ts-expect-error it is of Author
modelViewSet(Book, { serializerClass: AuthorSerializer })
// @ts-expect-error it is of Author
genericViewSet(Book, { serializerClass: AuthorSerializer, mixins: [ListMixin] })
// @ts-expect-error it is of Book
nestedViewSet(Author, { serializerClass: BookSerializer, parentLookupField: 'id' })
