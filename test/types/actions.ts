/** What TypeScript knows of actions, nested view sets and bulk hooks, and what it refuses. Checked by `tsc`, never run. */
import {
  APIRouter,
  action,
  BulkModelViewSet,
  BulkUpdateMixin,
  type Input,
  IntegerField,
  ModelSerializer,
  ModelViewSet,
  NestedRouter,
  NestedViewSetMixin,
  PageNumberPagination,
  Serializer,
  StringField,
} from 'koa-viewsets'
import { Model, type QueryBuilder } from 'objection'

class Book extends Model {
  static override tableName = 'books'
  declare id: number
  declare title: string
}

class BookSerializer extends ModelSerializer<Book> {
  static override model = Book
  static override fields = ['id', 'title']
}

class RenameInput extends Serializer {
  static override declaredFields = { title: new StringField(), n: new IntegerField({ required: false }) }
}

class BookViewSet extends ModelViewSet<Book> {
  static override model = Book
  static override serializerClass = BookSerializer

  @action({ methods: ['GET'], paginationClass: PageNumberPagination, serializerClass: BookSerializer })
  recent() {
    return this.getList()
  }

  @action({ methods: ['POST'], detail: true, inputSerializer: RenameInput })
  rename(data: Input<typeof RenameInput>) {
    return data.title.length + (data.n ?? 0)
  }

  /** It need not look at the data, and may look at a part of it. */
  @action({ methods: ['POST'], detail: true, inputSerializer: RenameInput })
  touch() {}

  @action({ methods: ['POST'], detail: true, inputSerializer: RenameInput })
  title(data: { title: string }) {
    return data.title
  }

  /** Of a model's fields the serializer does not know the types. */
  @action({ methods: ['POST'], inputSerializer: BookSerializer })
  copy(data: { title: string }) {
    return data.title
  }

  // @ts-expect-error: the title is a text
  @action({ methods: ['POST'], inputSerializer: RenameInput })
  wrongType(data: { title: number }) {
    return data
  }

  // @ts-expect-error: the serializer has no such field
  @action({ methods: ['POST'], inputSerializer: RenameInput })
  wrongField(data: { title: string; pages: number }) {
    return data
  }

  // @ts-expect-error: without an input serializer there is no data
  @action({ methods: ['POST'] })
  noInput(data: { title: string }) {
    return data
  }

  // @ts-expect-error: methods are required
  @action({ detail: true })
  noMethods() {}

  // @ts-expect-error: a misspelt option
  @action({ methods: ['GET'], urlpath: 'x' })
  misspelt() {}

  // @ts-expect-error: no permission
  @action({ methods: ['GET'], permissionClasses: [PageNumberPagination] })
  wrongPolicy() {}

  // @ts-expect-error: a serializer's instance is no class
  @action({ methods: ['POST'], inputSerializer: new RenameInput() })
  wrongSerializer() {}

  // @ts-expect-error: a field is no method
  @action({ methods: ['GET'] })
  field = 1

  plain(data: Input<typeof RenameInput>) {
    return data
  }
}

// plain calls and legacy decorators
action({ methods: ['POST'], inputSerializer: RenameInput })(BookViewSet.prototype.plain)
action({ methods: ['POST'], inputSerializer: RenameInput })(BookViewSet.prototype, 'plain', {
  value: BookViewSet.prototype.plain,
})
// @ts-expect-error: without an input serializer there is no data
action({ methods: ['POST'] })(BookViewSet.prototype.plain)

class Nested extends NestedViewSetMixin(BulkModelViewSet<Book>) {
  static override model = Book
  static override serializerClass = BookSerializer
  static override parentLookupField = 'author_id'
  static override maxBulkSize = 10

  override getQueryset(): QueryBuilder<Book> {
    return super.getQueryset().where('title', 'x')
  }

  override async getObject(): Promise<Book> {
    const book = await super.getObject()
    return book.title === 'x' ? book : book
  }

  override performBulkCreate(serializer: Serializer<Book>): Promise<unknown> {
    return serializer.save({ n: 1 })
  }

  override async performBulkUpdate(serializer: Serializer<Book>, books: readonly Book[]): Promise<unknown> {
    return [books.map(({ title }) => title), await serializer.save()]
  }

  override async performBulkDestroy(books: readonly Book[]): Promise<unknown> {
    return books.map(({ title }) => title)
  }
}

// @ts-expect-error: the maximum is a number
class Wrong extends BulkUpdateMixin(ModelViewSet<Book>) {
  static override maxBulkSize = 'many'
}

const api = new APIRouter().register('books', BookViewSet)
const nested = new NestedRouter(api, 'books', { lookup: 'book_id', lookupType: 'int' }).register('parts', Nested)
new NestedRouter(nested, 'parts', { lookup: 'part_id' }).register('wrong', Wrong)
// @ts-expect-error: lookup is required
new NestedRouter(api, 'books', {})
// @ts-expect-error: no such type
new NestedRouter(api, 'books', { lookup: 'book_id', lookupType: 'float' })
// @ts-expect-error: a misspelt option
new NestedRouter(api, 'books', { lookup: 'book_id', lookuptype: 'int' })
