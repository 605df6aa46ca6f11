/** What the types of factories say exactly: of lists, of parts of objects, of mixins, and of names over relations. Checked by `tsc`, never run. */
import {
  bulkModelViewSet,
  CacheableMixin,
  CreateMixin,
  DestroyMixin,
  genericViewSet,
  type Input,
  ListMixin,
  listAction,
  modelSerializer,
  modelViewSet,
  NestedSerializer,
  nestedViewSet,
  type Output,
  objectAction,
  RetrieveMixin,
  readOnlyModelViewSet,
  SerializerMethodField,
  StringField,
  UpdateMixin,
} from 'koa-viewsets'
import { ListCreateAPIView, modelView } from 'koa-viewsets/views'
import { Model } from 'objection'

type Equal<Left, Right> = (<T>() => T extends Left ? 1 : 2) extends <T>() => T extends Right ? 1 : 2 ? true : false
const is = <_Holds extends true>(): void => undefined

class Publisher extends Model {
  static override tableName = 'publishers'
  declare id: number
  declare name: string
  declare authors?: Author[]
}
class Author extends Model {
  static override tableName = 'authors'
  declare id: number
  declare name: string
  declare publisher?: Publisher
  declare books?: Book[]
}
class Book extends Model {
  static override tableName = 'books'
  declare id: number
  declare title: string
  declare price: string
  declare sold: bigint
  declare published: Date | null
  declare days: Date[]
  declare cover: Uint8Array
  declare readonly checksum: string
  declare author_id: number
  declare author?: Author
  declare co_author?: Author | null
}

class PublisherSerializer extends modelSerializer(Publisher, { fields: ['name'] }) {}
class AuthorSerializer extends modelSerializer(Author, {
  fields: ['id', 'name'],
  declaredFields: { publisher: new NestedSerializer(PublisherSerializer) },
}) {}
class BookSerializer extends modelSerializer(Book, {
  fields: ['id', 'title', 'price', 'sold', 'published', 'days', 'cover', 'checksum'],
  declaredFields: {
    author: new NestedSerializer(AuthorSerializer),
    co_author: new NestedSerializer(AuthorSerializer, { allowNull: true, required: false }),
    code: new StringField({ writeOnly: true }),
  },
  extraKwargs: { title: { readOnly: true }, price: { writeOnly: true } },
}) {}

type AuthorShown = { id: number; name: string; publisher: { name: string } }
type AuthorTaken = { name: string; publisher: { name: string } }
type BookShown = {
  id: number
  title: string
  sold: number | string
  published: string | null
  days: string[]
  cover: string
  checksum: string
  author: AuthorShown
  co_author: AuthorShown | null
}
type BookTaken = {
  price: string
  sold: number | string
  published?: string | null
  days: string[]
  cover: Buffer
  author: AuthorTaken
  code: string
  co_author?: AuthorTaken | null
}
is<Equal<Output<typeof BookSerializer>, BookShown>>()
is<Equal<Input<typeof BookSerializer>, BookTaken>>()

class Books extends modelViewSet(Book, { serializerClass: BookSerializer }) {
  async own() {
    const one = this.getSerializer({ obj: await this.getObject() })
    is<Equal<typeof one.data, BookShown>>()
    is<Equal<typeof one.validatedData, BookTaken>>()
    const list = this.getSerializer({ obj: await this.getQueryset(), many: true })
    is<Equal<typeof list.data, BookShown[]>>()
    is<Equal<typeof list.validatedData, BookTaken[]>>()
    const part = this.getSerializer({ inputData: {}, partial: true })
    is<Equal<typeof part.validatedData, Partial<BookTaken>>>()
    is<Equal<typeof part.data, BookShown>>()
    await list.isValid({ raiseException: true })
  }
}
void Books

class Archive {
  declare archived: boolean
}
const ArchiveMixin = <Base extends new (...args: any[]) => object>(base: Base) =>
  class extends base {
    archive(): Archive {
      return new Archive()
    }
  }
class Mixed extends genericViewSet(Book, {
  serializerClass: BookSerializer,
  mixins: [ListMixin, RetrieveMixin, CacheableMixin, ArchiveMixin],
}) {
  async own() {
    const book = await this.getObject()
    is<Equal<typeof book, Book>>()
    const { data } = this.getSerializer({ obj: book })
    is<Equal<typeof data, BookShown>>()
    is<Equal<ReturnType<typeof this.archive>, Archive>>()
    return [await super.list(), await super.retrieve()]
  }
}
// @ts-expect-error there is no such mixin among them
void Mixed.prototype.create

// what a mixin adds is a method that a class may override, and hooks know the model and the serializer
class Overriding extends genericViewSet(Book, {
  serializerClass: BookSerializer,
  mixins: [ListMixin, CreateMixin, UpdateMixin, DestroyMixin, ArchiveMixin],
}) {
  override async list() {
    return [await super.list()]
  }
  override async performCreate(serializer: BookSerializer) {
    return serializer.save({ price: serializer.validatedData.price })
  }
  override async performUpdate(serializer: BookSerializer, book: Book) {
    return serializer.save({ title: book.title })
  }
  override async destroy() {
    return { success: (await super.destroy()) === undefined }
  }
  override archive() {
    return Object.assign(super.archive(), { archived: true })
  }
}
is<Equal<Parameters<Overriding['performCreate']>, [BookSerializer]>>()
const writing = genericViewSet(Book, { serializerClass: BookSerializer, mixins: [UpdateMixin, DestroyMixin] })
is<Equal<Parameters<typeof writing.prototype.performUpdate>, [BookSerializer, Book]>>()
is<Equal<Parameters<typeof writing.prototype.performDestroy>, [Book]>>()
class Misled extends genericViewSet(Book, { serializerClass: BookSerializer, mixins: [CreateMixin] }) {
  // @ts-expect-error the hook gets no other serializer
  override async performCreate(serializer: { readonly wrong: string }) {
    return serializer.wrong
  }
}
void Misled
const archived = modelViewSet(Book, { serializerClass: BookSerializer, mixins: [ArchiveMixin] })
is<Equal<ReturnType<typeof archived.prototype.archive>, Archive>>()

// each factory infers the object and the input of its actions
const rename = { methods: ['POST'], input: { name: new StringField() } } as const
readOnlyModelViewSet(Author, {
  actions: {
    rename: objectAction(rename, (author, { name }) => is<Equal<[typeof author, typeof name], [Author, string]>>()),
  },
})
bulkModelViewSet(Author, {
  actions: {
    rename: objectAction(rename, (author, { name }) => is<Equal<[typeof author, typeof name], [Author, string]>>()),
  },
})
genericViewSet(Author, {
  actions: {
    rename: objectAction(rename, (author, { name }) => is<Equal<[typeof author, typeof name], [Author, string]>>()),
  },
})
nestedViewSet(Book, {
  parentLookupField: 'author_id',
  actions: { first: listAction(rename, ({ name }) => is<Equal<typeof name, string>>()) },
})

// names over relations are checked to their end, also where models lead to each other
modelViewSet(Book, { filtersetFields: ['author__name', 'author__publisher__name', 'author__books__title'] })
modelViewSet(Book, {
  filtersetFields: ['author__publisher__authors__name', 'author__books__author__books__author__name'],
})
// over 16 relations at most
modelViewSet(Book, {
  filtersetFields: [
    'author__books__author__books__author__books__author__books__author__books__author__books__title',
    'author__books__author__books__author__books__author__books__author__books__author__books__author__books__author__books__title',
  ],
  searchFields: [
    '^author__books__author__books__author__books__author__books__author__books__author__books__author__books__author__books__title',
  ],
})
modelViewSet(Book, {
  // @ts-expect-error no such column behind twelve relations
  filtersetFields: ['author__books__author__books__author__books__author__books__author__books__author__books__titel'],
})
modelViewSet(Book, {
  // @ts-expect-error seventeen relations
  filtersetFields: [
    'author__books__author__books__author__books__author__books__author__books__author__books__author__books__author__books__author__name',
  ],
})
modelViewSet(Book, {
  // @ts-expect-error seventeen relations
  searchFields: [
    '^author__books__author__books__author__books__author__books__author__books__author__books__author__books__author__books__author__name',
  ],
})
// @ts-expect-error no such column behind five relations
modelViewSet(Book, { filtersetFields: ['author__books__author__books__author__nam'] })
modelViewSet(Book, { expandable: { author: AuthorSerializer, 'author.publisher': PublisherSerializer } })
// @ts-expect-error no such column behind two relations
modelViewSet(Book, { filtersetFields: ['author__publisher__nam'] })
// @ts-expect-error no such relation behind one
modelViewSet(Book, { filtersetFields: ['author__publishr__name'] })
// @ts-expect-error no such relation of the relation
modelViewSet(Book, { expandable: { 'author.publishr': PublisherSerializer } })

// @ts-expect-error no such column
readOnlyModelViewSet(Author, { ordering: ['nam'] })
// @ts-expect-error nobody reads it
readOnlyModelViewSet(Author, { serializer: AuthorSerializer })
// @ts-expect-error no such column
genericViewSet(Author, { filtersetFields: ['nam'] })
// @ts-expect-error nobody reads it
genericViewSet(Author, { mixin: [ListMixin] })
// @ts-expect-error no such column
bulkModelViewSet(Author, { searchFields: ['^nam'] })
// @ts-expect-error sizes are numbers
bulkModelViewSet(Author, { maxBulkSize: '5' })
// @ts-expect-error no such column
nestedViewSet(Book, { parentLookupField: 'author_id', orderingFields: ['titel'] })
// @ts-expect-error no such relation
modelView(ListCreateAPIView, Book, { filtersetFields: ['autor__name'] })
// @ts-expect-error nobody reads it
modelView(ListCreateAPIView, Book, { serialiserClass: BookSerializer })
// @ts-expect-error a serializer's instance is no class
modelViewSet(Book, { serializerClass: new BookSerializer() })
// @ts-expect-error no mixin
modelViewSet(Book, { mixins: ['CacheableMixin'] })

// what a declared field shows is null where its property may be; one of another source or of a method says so itself
class PairSerializer extends modelSerializer(Book, {
  fields: ['author', 'co_author', 'published', 'cover'],
  declaredFields: {
    author: new NestedSerializer(AuthorSerializer, { readOnly: true }),
    co_author: new NestedSerializer(AuthorSerializer, { readOnly: true }),
    published: new StringField({ source: 'title' }),
    cover: new SerializerMethodField<number>(),
  },
}) {
  getCover(): number {
    return 1
  }
}
is<
  Equal<
    Output<typeof PairSerializer>,
    { author: AuthorShown; co_author: AuthorShown | null; published: string; cover: number }
  >
>()
