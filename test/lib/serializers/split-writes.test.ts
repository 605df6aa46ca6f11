/** Where validated data is written: the object's own row, what it points to before it, what points to it behind it. */
import {
  ConfigurationError,
  ModelSerializer,
  NestedSerializer,
  PrimaryKeyRelatedField,
  SerializerMethodField,
  StringField,
} from 'koa-viewsets'
import { describe, expect, it } from 'vitest'
import { propertyOf, splitWrites } from '../../../lib/serializers/split-writes.js'
import {
  Author,
  Book,
  BookSerializer,
  FullBookSerializer,
  ShelfSerializer,
  TaggedSerializer,
  useBooks,
} from '../../support/written-books.js'

useBooks()

/** Its fields are not called as the columns that they are written to. */
class Renamed extends ModelSerializer<Book> {
  static override model = Book
  static override fields = ['id']
  static override declaredFields = {
    name: new StringField({ source: 'title' }),
    writer: new PrimaryKeyRelatedField({ source: 'author', queryset: () => Author.query() }),
    loud: new SerializerMethodField<string>(),
  }
  getLoud({ title }: Book): string {
    return title.toUpperCase()
  }
}
/** Creates what its nested objects stand for itself. */
class Loose extends ModelSerializer<Book> {
  static override model = Book
  static override fields = ['title']
  static override declaredFields = { meta: new NestedSerializer(BookSerializer) }
  override async create(): Promise<Book> {
    return new Book()
  }
  override async update(book: Book): Promise<Book> {
    return book
  }
}

type SerializerClass = typeof ModelSerializer<Book>
const split = (serializer: unknown, data: object) =>
  splitWrites(new (serializer as SerializerClass)() as never, data as Record<string, unknown>)

describe('validated data', () => {
  it.each<[string, unknown, object, object]>([
    ['of columns is the row', BookSerializer, { title: 'a', n: null }, { columns: { title: 'a', n: null } }],
    ['of other names is the row, too', Renamed, { name: 'a', writer: 2 }, { columns: { title: 'a', author_id: 2 } }],
    [
      'that save() adds may name columns that are no fields',
      BookSerializer,
      { owner_id: 7 },
      { columns: { owner_id: 7 } },
    ],
    [
      'of what the row points to is written before it',
      FullBookSerializer,
      { title: 'a', author: { name: 'Cy' } },
      { columns: { title: 'a' }, before: [['author', { name: 'Cy' }]] },
    ],
    [
      'of nothing to point to is written before it',
      FullBookSerializer,
      { author: null },
      { columns: {}, before: [['author', null]] },
    ],
    [
      'of what points to the row is written behind it',
      ShelfSerializer,
      { title: 'a', reviews: [{ stars: 1 }], cover: { color: 'red' }, tags: [] },
      {
        columns: { title: 'a' },
        after: [
          ['reviews', [{ stars: 1 }]],
          ['cover', { color: 'red' }],
          ['tags', []],
        ],
      },
    ],
    [
      'of keys is a set',
      TaggedSerializer,
      { title: 'a', tags: [1, 2] },
      { columns: { title: 'a' }, sets: [['tags', [1, 2]]] },
    ],
  ])('%s', (_, serializer, data, expected) => {
    const { columns, before, after, sets, hasRelated } = split(serializer, data)
    const named = (writes: typeof before) => writes.map(({ bound, value }) => [bound.name, value])
    const parts = { before: named(before), after: named(after), sets: sets.map(({ name, keys }) => [name, keys]) }
    expect({ columns, ...parts }).toEqual({ before: [], after: [], sets: [], ...expected })
    expect(hasRelated).toBe(Object.values(parts).flat().length > 0)
  })

  it.each<[string, unknown, object, string]>([
    [
      'is neither a field nor a column',
      BookSerializer,
      { nothing: 1 },
      'cannot write "nothing": it is neither a field nor a column',
    ],
    ['is computed', Renamed, { loud: 'A' }, 'cannot write "loud": it is neither a field nor a column of the model'],
    [
      'is nested without a relation',
      Loose,
      { meta: { title: 'a' } },
      'cannot write "meta": it is nested without a relation of the model; override create() and update()',
    ],
  ])('is refused where it %s', (_, serializer, data, message) => {
    expect(() => split(serializer, data)).toThrow(ConfigurationError)
    expect(() => split(serializer, data)).toThrow(message)
  })

  it.each([
    ['title', 'title'],
    ['name', 'title'],
    ['writer', 'author_id'],
    ['is_admin', 'is_admin'],
  ])('called %s is stored in %s', (name, property) => {
    expect(propertyOf(new Renamed() as never, name)).toBe(property)
  })
})
