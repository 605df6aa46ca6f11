/** What TypeScript knows of the serializers that `modelSerializer()` makes, and what it refuses. Checked by `tsc`, never run. */
import {
  DateField,
  type Generated,
  IDMixin,
  type Input,
  IntegerField,
  modelSerializer,
  NestedSerializer,
  type Output,
  SerializerMethodField,
  StringField,
} from 'koa-viewsets'
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
  declare subtitle: string | null
  declare price: string
  declare pages: Generated<number>
  declare created_at: Generated<Date>
  declare cover?: Buffer
  declare author_id: number
  declare author?: Author
  declare tags?: { label: string }[]
  get shout(): string {
    return this.title.toUpperCase()
  }
  sell(): void {}
}
class Plain extends Model {
  static override tableName = 'plain'
}

class AuthorSerializer extends modelSerializer(Author, { fields: ['id', 'name'] }) {}

class BookSerializer extends modelSerializer(Book, {
  fields: ['id', 'title', 'subtitle', 'price', 'pages', 'created_at', 'cover', 'author_id', 'tags', 'shout', 'label'],
  declaredFields: {
    label: new SerializerMethodField<string>(),
    author: new NestedSerializer(AuthorSerializer, { readOnly: true }),
    editors: new NestedSerializer(AuthorSerializer, { many: true, required: false }),
    secret: new StringField({ writeOnly: true }),
  },
  readOnlyFields: ['created_at'],
  extraKwargs: { title: { minLength: 2 }, price: { required: false } },
}) {
  getLabel(book: Book): string {
    return book.title
  }
}

type AuthorShown = { id: number; name: string }
is<Equal<Output<typeof AuthorSerializer>, AuthorShown>>()
is<Equal<Input<typeof AuthorSerializer>, { name: string }>>()

type BookShown = {
  id: number
  title: string
  subtitle: string | null
  price: string
  pages: number
  created_at: string
  cover: string
  author_id: number
  tags: { label: string }[]
  shout: string
  label: string
  author: AuthorShown
  editors: AuthorShown[]
}
is<Equal<Output<typeof BookSerializer>, BookShown>>()
type BookTaken = {
  title: string
  author_id: number
  secret: string
  subtitle?: string | null
  price?: string
  pages?: number
  cover?: Buffer
  tags?: { label: string }[]
  editors?: { name: string }[]
}
is<Equal<Input<typeof BookSerializer>, BookTaken>>()

const serializer = new BookSerializer()
is<Equal<typeof serializer.data, BookShown>>()
is<Equal<typeof serializer.validatedData, BookTaken>>()
const title: string = serializer.data.title
void title

// @ts-expect-error no such field
void serializer.data.nope
// @ts-expect-error no such column
modelSerializer(Book, { fields: ['titel'] })
// @ts-expect-error a method is no field
modelSerializer(Book, { fields: ['sell'] })
// @ts-expect-error no such column
modelSerializer(Book, { fields: ['title'], readOnlyFields: ['titel'] })
// @ts-expect-error no such column
modelSerializer(Book, { fields: ['title'], extraKwargs: { titl: { minLength: 2 } } })
// @ts-expect-error no option of a text
modelSerializer(Book, { fields: ['title'], extraKwargs: { title: { minLenght: 2 } } })
// @ts-expect-error no option of a number
modelSerializer(Book, { fields: ['pages'], extraKwargs: { pages: { minLength: 2 } } })
// @ts-expect-error nobody reads it
modelSerializer(Book, { feilds: ['title'] })

const All = modelSerializer(Author, { fields: '__all__' })
is<Equal<Output<typeof All>, AuthorShown>>()

class PlainSerializer extends modelSerializer(Plain, {
  fields: ['anything'],
  declaredFields: { size: new IntegerField(), day: new DateField({ allowNull: true }) },
  extraKwargs: { anything: { minLength: 2 } },
}) {}
is<Equal<Output<typeof PlainSerializer>, { anything: unknown; size: number; day: string | null }>>()

class Article extends IDMixin(Model) {
  static override tableName = 'articles'
  declare id: number
  declare title: string
}
class ArticleSerializer extends modelSerializer(Article, { fields: ['id', 'title'] }) {}
is<Equal<Output<typeof ArticleSerializer>, { id: string; title: string }>>()

// a subclass may declare more, as any class
class ShortBookSerializer extends BookSerializer {
  static override fields = ['id', 'title']
}
void ShortBookSerializer

/** A subclass adds fields, replaces them, and names which are shown. */
class LongBookSerializer extends BookSerializer {
  static override fields = [...BookSerializer.fields, 'extra'] as const
  static override declaredFields = {
    extra: new StringField({ required: false }),
    label: new StringField({ readOnly: true }),
  }
}
class SpreadSerializer extends BookSerializer {
  static override declaredFields = { ...BookSerializer.declaredFields, extra: new StringField() }
}
export const added = [LongBookSerializer, SpreadSerializer]
