/** Which fields of two serializers show the same by one name: a history shows no other. */
import { Model, type RelationMappings } from 'objection'
import { describe, expect, it } from 'vitest'
import { showsTheSame } from '../../../lib/changes/recorded-names.js'
import {
  type DeclaredFields,
  ModelSerializer,
  NestedSerializer,
  PrimaryKeyRelatedField,
  SerializerMethodField,
  SlugRelatedField,
  StringField,
} from '../../../lib/index.js'
import type { SerializerClass } from '../../../lib/serializers/contract.js'
import { serializerPlan } from '../../../lib/serializers/plan.js'
import { describeTable } from '../../support/described.js'

class Author extends Model {
  static override tableName = 'authors'
}
class Book extends Model {
  static override tableName = 'books'
  static override relationMappings: RelationMappings = {
    author: {
      relation: Model.BelongsToOneRelation,
      modelClass: Author,
      join: { from: 'books.author_id', to: 'authors.id' },
    },
  }
}
describeTable(Author, { id: 'int4', name: 'text', code: 'text' })
describeTable(Book, { id: 'int4', title: 'text', subtitle: 'text', author_id: 'int4?' })

class AuthorSerializer extends ModelSerializer<Author> {
  static override model = Author
  static override fields = ['id', 'name']
}
class Masked extends StringField {
  override toRepresentation(): string {
    return '***'
  }
}

/** The field `shown` of a serializer. */
function shown(field: DeclaredFields[string], more: object = {}) {
  class BookSerializer extends ModelSerializer<Book> {
    static override model = Book
    static override fields = ['id']
    static override declaredFields: DeclaredFields = { shown: field }
  }
  Object.assign(BookSerializer.prototype, more)
  const by: SerializerClass = BookSerializer
  const bound = serializerPlan(by).readable.find(({ name }) => name === 'shown')
  if (!bound) throw new Error('it is not shown')
  return { bound, by }
}

const key = () => new PrimaryKeyRelatedField({ source: 'author', readOnly: true })
const slug = (slugField: string) => new SlugRelatedField({ slugField, source: 'author', readOnly: true })
const text = (source: string) => new StringField({ source })

describe('one name of two serializers', () => {
  it.each([
    ['a column', () => text('title')],
    ['a column of a related object', () => text('author.name')],
    ['a key', key],
    ['a slug', () => slug('code')],
    ['an object', () => new NestedSerializer(AuthorSerializer, { source: 'author' })],
  ])('shows the same: %s', (_, field) => {
    expect(showsTheSame(shown(field()), shown(field()))).toBe(true)
  })

  it.each([
    ['two columns', () => text('title'), () => text('subtitle')],
    ['a column, and one of a related object', () => text('title'), () => text('author.name')],
    ['a key and a slug', key, () => slug('code')],
    ['two slugs', () => slug('name'), () => slug('code')],
    ['a column, and what a class makes of it', () => text('title'), () => new Masked({ source: 'title' })],
    ['a column, and what a method makes', () => text('title'), () => new SerializerMethodField()],
  ])('shows something else: %s', (_, one, other) => {
    const method = { getShown: () => '***' }
    expect(showsTheSame(shown(one()), shown(other(), method))).toBe(false)
    expect(showsTheSame(shown(other(), method), shown(one()))).toBe(false)
  })

  it('shows something else: two methods', () => {
    const method = () => '***'
    const by = (getShown: () => string) => shown(new SerializerMethodField(), { getShown })
    expect(showsTheSame(by(method), by(method))).toBe(true)
    expect(
      showsTheSame(
        by(method),
        by(() => 'open'),
      ),
    ).toBe(false)
  })
})
