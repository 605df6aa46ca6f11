import { Model, type RelationMapping, type RelationMappings } from 'objection'
import { beforeAll, describe, expect, it } from 'vitest'
import {
  CurrentUserDefault,
  IntegerField,
  ModelSerializer,
  NestedSerializer,
  PrimaryKeyRelatedField,
  SerializerMethodField,
  StringField,
} from '../../../lib/index.js'
import { prepareModels } from '../../../lib/models/describe-model.js'
import { insertObstacle } from '../../../lib/rows/inserter.js'
import { decideRows } from '../../../lib/rows/row-plan.js'
import { updateObstacle } from '../../../lib/rows/row-update.js'
import type { SerializerClass } from '../../../lib/serializers/contract.js'
import { Author as LibraryAuthor, useLibrary } from '../../support/library.js'

class Author extends LibraryAuthor {
  get shout(): string {
    return ''
  }
}
class Watched extends Author {
  override $afterFind(): void {}
}
class Queried extends Author {
  static override query(...given: never[]) {
    return super.query(...given)
  }
}
interface Narrowed {
  where(column: string, value: string): unknown
  groupBy(column: string): unknown
}
class Book extends Model {
  static override tableName = 'books'
  static override modifiers = {
    titled: (query: Narrowed) => void query.where('title', 'x'),
    busy: (query: Narrowed) => void query.groupBy('title'),
    failing: () => {
      throw new Error('there is no request')
    },
  }
  static override relationMappings: RelationMappings = {
    author: belongsTo(Author),
    watched: belongsTo(Watched),
    queried: belongsTo(Queried),
    sequels: hasMany(() => Book),
    chosen: { ...hasMany(() => Book), modify: (query: Narrowed) => query.where('title', 'x') },
    grouped: { ...hasMany(() => Book), modify: (query: Narrowed) => query.groupBy('id') },
    parsed: hasMany(() => Parsing),
    printed_with: { ...hasMany(() => Book), join: { from: 'books.printed', to: 'books.printed' } },
    titled: { ...hasMany(() => Book), join: { from: 'books.id', to: 'books.title' } },
    narrow: {
      ...belongsTo(Author),
      modify: (query: { where(column: string, value: string): unknown }) => query.where('name', 'x'),
    },
  }
  get shout(): string {
    return ''
  }
}
class Parsing extends Book {
  override $parseDatabaseJson(json: object) {
    return json
  }
}
class Accessed extends Book {
  get title(): string {
    return ''
  }
}

function hasMany(modelClass: () => typeof Model): RelationMapping<Model> {
  return { relation: Model.HasManyRelation, modelClass, join: { from: 'books.id', to: 'books.prequel_id' } }
}

function belongsTo(modelClass: typeof Model) {
  return { relation: Model.BelongsToOneRelation, modelClass, join: { from: 'books.author_id', to: 'authors.id' } }
}

useLibrary({ sql: 'alter table books add prequel_id int references books, add printed date', keep: true })
beforeAll(() => prepareModels([Author, Watched, Queried, Book, Parsing, Accessed]))

class AuthorSerializer extends ModelSerializer<Author> {
  static override model = Author
  static override fields: readonly string[] = ['id', 'name']
}

/** A serializer of books with one field, or of another model. */
function showing(declared: object, model: typeof Model = Book): SerializerClass {
  class BookSerializer extends ModelSerializer {
    static override model = model
    static override fields = ['id', ...Object.keys(declared)]
    static override declaredFields = declared as never
    getShown(): string {
      return ''
    }
  }
  return BookSerializer
}

class Loud extends StringField {
  override toRepresentation(value: string) {
    return value.toUpperCase()
  }
}

const nested = (model: typeof Model, options: object, declared: object = {}) => {
  class Nested extends ModelSerializer {
    static override model = model
    static override fields = ['id', ...Object.keys(declared)]
    static override declaredFields = declared as never
    getShown(): string {
      return ''
    }
  }
  return new NestedSerializer(Nested as never, { readOnly: true, ...options })
}

describe('objects are written from rows', () => {
  it.each<[string, object]>([
    ['by columns', { title: new StringField() }],
    ['by columns of a foreign key', { name: new StringField({ readOnly: true, source: 'author.name' }) }],
    ['by lists of related objects', { sequels: nested(Book, { many: true, modify: 'titled', limit: 2 }) }],
    ['by lists of keys', { keys: new PrimaryKeyRelatedField({ many: true, readOnly: true, source: 'sequels' }) }],
    ['by lists of a relation over any type that SQL compares', { printed_with: nested(Book, { many: true }) }],
    ['by lists of a relation that chooses some', { chosen: nested(Book, { many: true }) }],
    ['by objects of a foreign key', { author: new NestedSerializer(AuthorSerializer, { readOnly: true }) }],
  ])('%s', (_, declared) => {
    expect(decideRows(showing(declared))).toMatchObject({ because: undefined, plan: { columns: expect.any(Array) } })
  })

  it.each<[string, () => SerializerClass]>([
    ['BookSerializer.shown: it is computed by getShown()', () => showing({ shown: new SerializerMethodField() })],
    ['BookSerializer.shout: it shows what is no column', () => showing({ shout: new StringField({ readOnly: true }) })],
    [
      'BookSerializer.sequels: Nested.shown: it is computed by getShown()',
      () => showing({ sequels: nested(Book, { many: true }, { shown: new SerializerMethodField() }) }),
    ],
    [
      'BookSerializer.sequels: it shows a list with values that PostgreSQL does not write as JSON',
      () => showing({ sequels: nested(Book, { many: true }, { title: new Loud() }) }),
    ],
    [
      'BookSerializer.titled: the relation "titled" joins text to values that are none, which SQL does not compare',
      () => showing({ titled: nested(Book, { many: true }) }),
    ],
    [
      'BookSerializer.grouped: the relation "grouped" does more than to choose and order rows',
      () => showing({ grouped: nested(Book, { many: true }) }),
    ],
    [
      'BookSerializer.parsed: Parsing overrides $parseDatabaseJson()',
      () => showing({ parsed: nested(Parsing, { many: true }) }),
    ],
    [
      'BookSerializer.sequels: the modifier "busy" of Book does more than to choose and order rows',
      () => showing({ sequels: nested(Book, { many: true, modify: 'busy' }) }),
    ],
    [
      'BookSerializer.sequels: the modifier "failing" of Book does more than to choose and order rows',
      () => showing({ sequels: nested(Book, { many: true, modify: 'failing' }) }),
    ],
    [
      'BookSerializer.narrow: the relation "narrow" is narrowed by a query of its own',
      () => showing({ narrow: nested(Author, {}) }),
    ],
    ['BookSerializer.watched: Watched overrides $afterFind()', () => showing({ watched: nested(Watched, {}) })],
    [
      'BookSerializer.queried: Queried has a query() or a QueryBuilder of its own',
      () => showing({ queried: nested(Queried, {}) }),
    ],
    [
      'BookSerializer.loud: its source "author.shout" ends in no column',
      () => showing({ loud: new IntegerField({ readOnly: true, source: 'author.shout' }) }),
    ],
    ['Parsing overrides $parseDatabaseJson()', () => showing({}, Parsing)],
    ['Accessed has an accessor for its column "title"', () => showing({}, Accessed)],
    [
      'BookSerializer writes objects in its own way (toRepresentation or data)',
      () => {
        const base = showing({}) as unknown as typeof ModelSerializer
        class BookSerializer extends base {
          override toRepresentation(instance: never) {
            return super.toRepresentation(instance)
          }
        }
        return BookSerializer
      },
    ],
  ])('but not where %s', (because, serializer) => {
    expect(decideRows(serializer()).because).toBe(because)
  })
})

describe('objects are inserted by one statement', () => {
  class Hooked extends Book {
    override $beforeInsert(): void {}
  }

  /** A serializer of books whose class has more. */
  function having(more: object, declared: object = {}): SerializerClass {
    const made = showing(declared)
    Object.assign(made.prototype, more)
    return made
  }

  it('by columns and foreign keys', () => {
    expect(insertObstacle(showing({ title: new StringField() }))).toBeNull()
  })

  it.each<[string, () => SerializerClass]>([
    ['BookSerializer overrides create()', () => having({ create() {} })],
    ['BookSerializer overrides validate()', () => having({ validate() {} })],
    [
      'BookSerializer.title: it is checked by validateTitle()',
      () => having({ validateTitle() {} }, { title: new StringField() }),
    ],
    [
      'BookSerializer.author: it takes nested objects',
      () => showing({ author: new NestedSerializer(AuthorSerializer) }),
    ],
    ['BookSerializer.shown: it is computed by getShown()', () => showing({ shown: new SerializerMethodField() })],
  ])('but not where %s', (because, serializer) => {
    expect(insertObstacle(serializer())).toBe(because)
  })

  it('but not where hooks of the model run', async () => {
    await prepareModels([Hooked])
    expect(insertObstacle(showing({}, Hooked))).toBe('Hooked has hooks or formatting for its inserts')
  })
})

describe('what is stored is written unseen', () => {
  const withDefault = (made: unknown) => showing({ title: new StringField({ default: made as string }) })

  it('where a default is a value, or the caller', () => {
    for (const made of ['none', new CurrentUserDefault()]) expect(updateObstacle(withDefault(made))).toBeNull()
  })

  it('but not where code of the application computes it', () => {
    for (const made of [() => 'now', { resolve: () => 'now' }]) {
      expect(updateObstacle(withDefault(made))).toBe(
        'BookSerializer.title: code of the application computes its default',
      )
    }
  })
})
