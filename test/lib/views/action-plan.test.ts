/** What is decided of an action before any request, as values: no database is asked. */

import {
  AllowAny,
  APIRouter,
  ArrayField,
  BaseRenderer,
  BulkModelViewSet,
  JSONRenderer,
  ModelSerializer,
  NestedSerializer,
  ObjectPermission,
  type SerializerField,
  SerializerMethodField,
  StringField,
} from 'koa-viewsets'
import { Model } from 'objection'
import { expect, it } from 'vitest'
import { type GenericPlan, planOf } from '../../../lib/views/action-plan.js'
import type { RowAnswer } from '../../../lib/views/overrides.js'
import { describeTable } from '../../support/described.js'

class Author extends Model {
  static override tableName = 'authors'
}
class Book extends Model {
  static override tableName = 'books'
  static override relationMappings = () => ({
    author: {
      relation: Model.BelongsToOneRelation,
      modelClass: Author,
      join: { from: 'books.author_id', to: 'authors.id' },
    },
  })
}
describeTable(Author, { id: 'int4', name: 'text' })
describeTable(Book, { id: 'int4', title: 'text', author_id: 'int4?' })

class AuthorSerializer extends ModelSerializer<Author> {
  static override model = Author
  static override fields = ['id', 'name']
}
class BookSerializer extends ModelSerializer<Book> {
  static override model = Book
  static override fields = ['id', 'title']
}
class Labelled extends BookSerializer {
  static override declaredFields = { label: new SerializerMethodField<string>() }
  getLabel(): string {
    return 'label'
  }
}
class WritesAuthor extends BookSerializer {
  static override declaredFields = { author: new NestedSerializer(AuthorSerializer) }
}
class Books extends BulkModelViewSet<Book> {
  static override model = Book
  static override serializerClass: typeof BookSerializer = BookSerializer
}
type ViewSet = typeof Books

const books = (statics: object = {}): ViewSet => Object.assign(class View extends Books {}, statics)
const planned = (view: ViewSet, action: string) =>
  planOf({ view, action, actions: { get: 'list', post: 'create' } }) as GenericPlan

class ListsItself extends Books {
  override async list(): Promise<unknown> {
    return super.list()
  }
}
class Performs extends Books {
  override async performCreate(): Promise<unknown> {
    return undefined
  }
}

const owned = { permissionClasses: [new ObjectPermission({ ownerField: 'author_id' })] }

it.each<[string, ViewSet, RowAnswer, string]>([
  ['rows, where all of them is ours', books(), 'list', 'rows'],
  ['JSON of PostgreSQL, where that was asked for', books({ useNativeJson: true }), 'list', 'native'],
  [
    'instances for a method of the serializer',
    books({ serializerClass: Labelled }),
    'list',
    'instances: Labelled.label: it is computed by getLabel()',
  ],
  ['instances for an action of the application', ListsItself, 'list', 'instances: ListsItself overrides list()'],
  ['rows for its objects, all the same', ListsItself, 'retrieve', 'rows'],
  ['rows for lists, whoever owns the objects', books(owned), 'list', 'rows'],
  [
    'instances for what a permission looks at',
    books(owned),
    'retrieve',
    'instances: ObjectPermission is asked about each object',
  ],
  [
    'instances for a serializer of another table',
    books({ serializerClass: AuthorSerializer }),
    'list',
    'instances: AuthorSerializer is of another model than View',
  ],
])('reads %s', (_, view, answer, way) => {
  const reading = planned(view, answer).readings(answer).of(view.serializerClass)
  expect(reading.because === null ? reading.way : `${reading.way}: ${reading.because}`).toBe(way)
})

it.each<[string, ViewSet, string, string]>([
  ['by one statement', books(), 'create', 'statement'],
  ['several by one statement', books(), 'bulkCreate', 'statement'],
  [
    'by the serializer, where it takes nested objects',
    books({ serializerClass: WritesAuthor }),
    'create',
    'serializer: WritesAuthor.author: it takes nested objects',
  ],
  ['by a hook of the application', Performs, 'create', 'serializer: Performs overrides performCreate()'],
  ['by a statement that tells versions of rows apart', books({ concurrency: 'title' }), 'create', 'statement'],
  ['in no way of ours for an action of its own', books(), 'publish', "serializer: publish() is the application's own"],
])('inserts %s', (_, view, action, way) => {
  const { inserting } = planned(view, action)
  expect(inserting.because === null ? inserting.way : `${inserting.way}: ${inserting.because}`).toBe(way)
})

class Secured extends Model {
  static override tableName = 'secured'
}
class Viewed extends Model {
  static override tableName = 'viewed'
}
class Hooked extends Model {
  static override tableName = 'hooked'
  override $beforeUpdate(): void {}
  override $beforeDelete(): void {}
}
class Counted extends Model {
  static override tableName = 'counted'
  override $afterUpdate(): void {}
}
const COLUMNS = { id: 'int4', title: 'text' } as const
describeTable(Secured, COLUMNS, { secured: true })
describeTable(Viewed, COLUMNS, { isView: true, lockable: false })
for (const model of [Hooked, Counted]) describeTable(model, COLUMNS)

const over = (model: typeof Model, statics: object = {}): ViewSet => {
  class Serializer extends ModelSerializer {
    static override model = model
    static override fields = ['id', 'title']
  }
  return books({ model, serializerClass: Serializer, ...statics })
}

const showing = (title: SerializerField): ViewSet => {
  class Shows extends BookSerializer {
    static override declaredFields = { title }
  }
  return books({ serializerClass: Shows })
}
class Loud extends StringField {
  override toRepresentation(value: unknown): unknown {
    return String(value).toUpperCase()
  }
}
class Narrowed extends Books {
  override getQueryset() {
    return super.getQueryset().where('title', '<>', '')
  }
}
class Looks extends Books {
  override async checkObjectPermissions(): Promise<void> {}
}
class Stamps extends Books {
  override async performUpdate(): Promise<unknown> {
    return undefined
  }
}
class Loads extends Books {
  override async loadRelated(): Promise<void> {}
}

it.each<[string, ViewSet, 'holding' | 'changing' | 'telling' | 'deleting' | 'before' | 'saved', string, string?]>([
  ['holds a row by one statement', books(), 'holding', 'statement'],
  ['holds by the condition of a queryset', Narrowed, 'holding', 'condition: Narrowed overrides getQueryset()'],
  [
    'holds by the condition of a static queryset',
    books({ queryset: () => Book.query() }),
    'holding',
    'condition: View has a queryset of its own',
  ],
  ['holds by policies', over(Secured), 'holding', 'queryset: "secured" has row level security'],
  ['holds no row of a view', over(Viewed), 'holding', 'none: PostgreSQL locks no rows of "viewed"'],
  [
    'holds by a key that is not unique',
    books({ lookupField: 'title' }),
    'holding',
    'queryset: View: lookupField is not unique',
  ],
  ['changes by one statement', books(), 'changing', 'statement'],
  ['changes by hooks of the model', over(Hooked), 'changing', 'model: Hooked overrides $beforeUpdate()'],
  ['changes by hooks that run afterwards', over(Counted), 'changing', 'model: Counted overrides $afterUpdate()'],
  ['tells by the UPDATE what it has made', books(), 'telling', 'update'],
  ['asks again behind hooks of the model', over(Hooked), 'telling', 'select: Hooked overrides $beforeUpdate()'],
  ['deletes by one statement', books(), 'deleting', 'statement', 'destroy'],
  ['deletes by hooks of the model', over(Hooked), 'deleting', 'model: Hooked overrides $beforeDelete()', 'destroy'],
  ['deletes several by one statement', over(Counted), 'deleting', 'statement', 'bulkDestroy'],
  ['deletes several one by one', over(Hooked), 'deleting', 'model: Hooked overrides $beforeDelete()', 'bulkDestroy'],
  ['deletes by a mark', books({ softDelete: 'title' }), 'deleting', 'mark', 'destroy'],
  ['deletes the row where a mark is purged', books({ softDelete: 'title' }), 'deleting', 'statement', 'purgeDeleted'],
  ['loads nothing before a write that nobody sees', books(), 'before', 'unseen'],
  ['loads before for a permission', books(owned), 'before', 'loaded: ObjectPermission is asked about each object'],
  ['loads before for a check of its own', Looks, 'before', 'loaded: Looks overrides checkObjectPermissions()'],
  ['loads before for a hook', Stamps, 'before', 'loaded: Stamps overrides performUpdate()'],
  [
    'loads before for nested objects',
    books({ serializerClass: WritesAuthor }),
    'before',
    'loaded: WritesAuthor takes nested objects',
  ],
  ['loads before for hooks of the model', over(Hooked), 'before', 'loaded: Hooked has hooks or methods of its own'],
  [
    'loads before a deletion for its hooks',
    over(Hooked),
    'before',
    'loaded: Hooked has hooks or methods of its own',
    'destroy',
  ],
  ['loads nothing once it is saved', books(), 'saved', 'unseen'],
  ['loads what is saved in its own way', Loads, 'saved', 'loaded: Loads overrides loadRelated()'],
  ['loads for an action of its own', books(), 'saved', "loaded: publish() is the application's own", 'publish'],
])('%s', (_, view, what, expected, action = 'partialUpdate') => {
  const { way, because } = planned(view, action).writing[what]
  expect(because === null ? way : `${way}: ${because}`).toBe(expected)
})

it.each<[string, ViewSet, string, string?]>([
  ['changes an object without holding it', books(), 'statement'],
  ['deletes an object without holding it', books(), 'statement', 'destroy'],
  ['changes one with a list', showing(new ArrayField({ child: new StringField() })), 'statement'],
  [
    'holds one of whose values a field of the application writes some',
    showing(new ArrayField({ child: new Loud() })),
    'transaction: what it shows is written by code of fields',
  ],
  ['changes one that is not deleted', books({ softDelete: 'title' }), 'statement'],
  ['changes one of its queryset', Narrowed, 'statement'],
  ['holds it for a permission', books(owned), 'transaction: ObjectPermission is asked about each object'],
  [
    'holds it for several reasons',
    books({ ...owned, concurrency: 'title', serializerClass: WritesAuthor }),
    'transaction: View has versions of its rows; ObjectPermission is asked about each object; WritesAuthor.author: it takes nested objects',
  ],
  ['holds it for a hook', Stamps, 'transaction: Stamps overrides performUpdate()'],
  ['holds it for hooks of the model', over(Hooked), 'transaction: Hooked overrides $beforeUpdate()'],
  ['holds it for policies', over(Secured), 'transaction: "secured" has row level security'],
  ['holds it where it is a row of a view', over(Viewed), 'transaction: PostgreSQL locks no rows of "viewed"'],
  ['holds it for a mark', books({ softDelete: 'title' }), 'transaction: it marks what it deletes', 'destroy'],
  ['holds it for its version', books({ concurrency: 'title' }), 'transaction: View has versions of its rows'],
  [
    'holds it for nested objects',
    books({ serializerClass: WritesAuthor }),
    'transaction: WritesAuthor.author: it takes nested objects',
  ],
  [
    'holds it for its answer',
    books({ statuses: { destroy: 200 } }),
    'transaction: it shows what it deletes',
    'destroy',
  ],
  ['holds many', books(), 'transaction: bulkUpdate() writes in its own way', 'bulkUpdate'],
  ['leaves an action of its own alone', books(), 'transaction: publish() writes in its own way', 'publish'],
])('%s', (_, view, expected, action = 'partialUpdate') => {
  const { way, because } = planned(view, action).writing
  expect(because === null ? way : `${way}: ${because}`).toBe(expected)
})

it('knows what rules are asked of the rows that an action names', () => {
  expect(planned(books(), 'partialUpdate').writing.does).toBe('update')
  expect(planned(books(), 'bulkDestroy').writing.does).toBe('delete')
  expect(planned(books(), 'restoreDeleted').writing.does).toBe('delete')
})

it('knows what of a request is checked before a transaction begins', () => {
  const checks = (view: ViewSet, action: string) => {
    const { isOurs, isBulk, hasKey } = planned(view, action)
    return { isOurs, isBulk, hasKey }
  }
  expect(checks(Books, 'partialUpdate')).toEqual({ isOurs: true, isBulk: false, hasKey: true })
  expect(checks(Books, 'bulkUpdate')).toEqual({ isOurs: true, isBulk: true, hasKey: false })
  expect(checks(Books, 'publish')).toEqual({ isOurs: false, isBulk: false, hasKey: false })
  expect(checks(ListsItself, 'list')).toEqual({ isOurs: false, isBulk: false, hasKey: false })
})

it('is one object for each action of a route, with the statics of the action', () => {
  class Lines extends BaseRenderer {
    override readonly mediaType = 'text/plain'
    override readonly contentType = 'text/plain'
    override readonly format = 'txt'
    override render(): string {
      return ''
    }
  }
  class Exporting extends Books {
    static override permissionClasses = [AllowAny]
    static override rendererClasses = [JSONRenderer, Lines]
  }
  const route = { view: Exporting, action: 'list', actions: { get: 'list', post: 'create' }, basename: 'book' }
  const plan = planOf(route)
  expect(planOf(route)).toBe(plan)
  expect([...plan.formats]).toEqual(['json', 'txt'])
  expect(plan.beside('post')?.action).toBe('create')
  expect(plan.beside('post')).toBe(plan.beside('post'))
  expect(plan.beside('patch')).toBeUndefined()
})

it('leads to the plan of the view set that it is nested in', () => {
  const parents = [{ view: books(owned), basename: 'book', param: 'book_id' }]
  const nested = planOf({ view: Books, action: 'list', actions: { get: 'list' }, parents })
  expect(nested.parent?.action).toBe('retrieve')
  expect(nested.parent?.isPlain).toBe(false)
  expect(nested.parent?.objectGuard.policies.permissions).toHaveLength(1)
  expect(planned(Books, 'list').parent).toBeUndefined()
})

it('is what a router has of each of its operations', () => {
  const api = new APIRouter().register('books', Books, 'book')
  const routes = api.endpoints.flatMap(({ operations }) => [...operations.values()].map(({ route }) => route))
  expect(routes.map(({ action }) => action)).toContain('partialUpdate')
  for (const route of routes) expect(planOf(route).action).toBe(route.action)
})
