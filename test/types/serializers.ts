/** What TypeScript knows of serializers, and what it refuses. Checked by `tsc`, never run. */
import {
  ArrayField,
  BigIntegerField,
  BinaryField,
  BooleanField,
  ChoiceField,
  CurrentUserDefault,
  DateTimeField,
  DecimalField,
  type DeclaredFields,
  type ExtraKwargs,
  type FieldNames,
  FileUploadField,
  HiddenField,
  ImageUploadField,
  type Input,
  IntegerField,
  JSONField,
  ModelSerializer,
  NestedSerializer,
  type Output,
  PrimaryKeyRelatedField,
  ReadOnlyField,
  Serializer,
  type SerializerClass,
  SerializerField,
  SerializerMethodField,
  SlugRelatedField,
  type StorableFile,
  StringField,
} from 'koa-viewsets'
import { Model } from 'objection'

type Equal<Left, Right> = (<T>() => T extends Left ? 1 : 2) extends <T>() => T extends Right ? 1 : 2 ? true : false
const is = <_Holds extends true>(): void => undefined

class Author extends Model {
  static override tableName = 'authors'
  declare id: number
  declare name: string
}
class Book extends Model {
  static override tableName = 'books'
  declare id: number
  declare title: string
}

class AuthorSerializer extends ModelSerializer<Author> {
  static override model = Author
  static override declaredFields = {
    name: new StringField(),
    born: new DateTimeField({ required: false }),
  }
}

class BookSerializer extends ModelSerializer<Book> {
  static override model = Book
  static override fields = ['id', 'title']
  static override declaredFields = {
    title: new StringField({ minLength: 2 }),
    subtitle: new StringField({ required: false, allowNull: true }),
    pages: new IntegerField({ default: 1 }),
    isbn: new BigIntegerField({ allowNull: true }),
    price: new DecimalField({ readOnly: true }),
    password: new StringField({ writeOnly: true }),
    status: new ChoiceField({ choices: ['draft', 'open'], default: 'draft' }),
    tags: new ArrayField({ child: new StringField() }),
    cover: new BinaryField(),
    meta: new JSONField({ required: false }),
    any: new SerializerField({ required: false }),
    open: new BooleanField(),
    shown: new ReadOnlyField({ source: 'author.name' }),
    owner_id: new HiddenField({ default: new CurrentUserDefault() }),
    author: new NestedSerializer(AuthorSerializer),
    editor: new NestedSerializer(AuthorSerializer, { readOnly: true, allowNull: true }),
    critics: new NestedSerializer(AuthorSerializer, { many: true, required: false }),
    author_id: new PrimaryKeyRelatedField({ queryset: Author }),
    tag_ids: new PrimaryKeyRelatedField({
      queryset: (context) => Author.query().where('id', Number(context.user)),
      many: true,
    }),
    country: new SlugRelatedField({ queryset: Author, slugField: 'name' }),
    full_label: new SerializerMethodField(),
    count: new SerializerMethodField({ methodName: 'howMany' }),
  }
  getFullLabel(book: Book): string {
    return book.title
  }
  howMany(_book: Book): number {
    return 1
  }
}

type AuthorIn = { name: string; born?: string }
type AuthorOut = { name: string; born: string }
type Expected = {
  title: string
  isbn: number | string | null
  password: string
  tags: string[]
  cover: Buffer
  open: boolean
  author: AuthorIn
  author_id: number | string
  tag_ids: (number | string)[]
  country: number | string
  subtitle?: string | null
  pages?: number
  status?: 'draft' | 'open'
  meta?: unknown
  any?: unknown
  owner_id?: unknown
  critics?: AuthorIn[]
}
is<Equal<Input<typeof BookSerializer>, Expected>>()

type Shown = {
  title: string
  subtitle: string | null
  pages: number
  isbn: number | string | null
  price: string
  status: 'draft' | 'open'
  tags: string[]
  cover: string
  meta: unknown
  any: unknown
  open: boolean
  shown: unknown
  author: AuthorOut
  editor: AuthorOut | null
  critics: AuthorOut[]
  author_id: number | string
  tag_ids: (number | string)[]
  country: number | string
  full_label: string
  count: number
}
is<Equal<Output<typeof BookSerializer>, Shown>>()

/** The input of an action is typed by its serializer. */
export function publish(data: Input<typeof AuthorSerializer>): string {
  // @ts-expect-error not a field
  void data.nom
  return data.born ?? data.name
}

/** Every serializer class is one, whatever its model. */
export const classes: readonly SerializerClass[] = [Serializer, ModelSerializer, AuthorSerializer, BookSerializer]

/** The alias types leave subclasses free. */
class Base extends ModelSerializer<Book> {
  static override fields: FieldNames = ['title']
  static override extraKwargs: ExtraKwargs = { title: { minLength: 2 } }
  static override declaredFields: DeclaredFields = { title: new StringField() }
}
export class Sub extends Base {
  static override fields = '__all__'
  static override extraKwargs = { pages: { minValue: 1 } }
  static override declaredFields = { pages: new IntegerField(), author: new NestedSerializer(AuthorSerializer) }
}

// @ts-expect-error an option that does not exist
new NestedSerializer(AuthorSerializer, { meny: true })
// @ts-expect-error an option that does not exist
new NestedSerializer(AuthorSerializer, { readOnly: true, meny: true })
// @ts-expect-error a model is no serializer
new NestedSerializer(Author)
// @ts-expect-error an option that does not exist
new PrimaryKeyRelatedField({ queryset: Author, slugField: 'name' })
// @ts-expect-error a serializer is no queryset
new PrimaryKeyRelatedField({ queryset: AuthorSerializer })
// @ts-expect-error an asynchronous function would run the query
new PrimaryKeyRelatedField({ queryset: async () => Author.query() })
// @ts-expect-error slugField is needed
new SlugRelatedField({ queryset: Author })
// @ts-expect-error an option that does not exist
new SlugRelatedField({ queryset: Author, slugField: 'name', slug: 'name' })
// @ts-expect-error an option that does not exist
new SerializerMethodField({ method: 'getLabel' })
// @ts-expect-error an option that does not exist
new BookSerializer({ inputdata: {} })
// @ts-expect-error an object of another model
new BookSerializer({ obj: new Author() })

export class Misspelt extends ModelSerializer<Book> {
  // @ts-expect-error a static that does not exist
  static override readOnlyField = ['id']
}
// @ts-expect-error names, not fields
export class WrongFields extends ModelSerializer<Book> {
  static override fields = [new StringField()]
}
// @ts-expect-error an option that does not exist
export class WrongOption extends ModelSerializer<Book> {
  static override extraKwargs = { title: { minLenght: 2 } }
}
// @ts-expect-error a class is no field
export class WrongField extends ModelSerializer<Book> {
  static override declaredFields = { title: StringField }
}
// @ts-expect-error levels are a number
export class WrongDepth extends ModelSerializer<Book> {
  static override depth = '1'
}

class UploadSerializer extends Serializer {
  static override declaredFields = {
    image: new ImageUploadField({ verifyMagicBytes: false, required: false }),
    paper: new FileUploadField({ maxSize: 5, allowNull: true }),
  }
}
is<Equal<Input<typeof UploadSerializer>, { image?: StorableFile; paper: StorableFile | null }>>()
is<Equal<Output<typeof UploadSerializer>, { image: string; paper: string | null }>>()
// @ts-expect-error no such option
new FileUploadField({ maxsize: 5 })
// @ts-expect-error only images have signatures
new FileUploadField({ verifyMagicBytes: false })
