/** What a view class decides before any request: how objects are read and inserted and why, in which order, and by which key. */

import * as main from 'koa-viewsets'
import {
  AllowAny,
  APIRouter,
  BasePermission,
  BulkModelViewSet,
  CursorPagination,
  ModelSerializer,
  NestedSerializer,
  ObjectPermission,
  OrderingFilter,
  or,
  PageNumberPagination,
  SerializerMethodField,
} from 'koa-viewsets'
import * as views from 'koa-viewsets/views'
import { beforeAll, describe, expect, it } from 'vitest'
import { OUR_FILTERS } from '../../../lib/filters/our-filters.js'
import { prepareModels } from '../../../lib/models/describe-model.js'
import { resourceOf } from '../../../lib/views/resource.js'
import {
  Author,
  AuthorSerializer,
  Book,
  BookSerializer,
  Tag,
  TagSerializer,
  useLibrary,
} from '../../support/library.js'
import { type ViewSetClass, viewOf } from '../../support/views.js'

useLibrary()
beforeAll(() => prepareModels([Author, Book, Tag]))

const books = (statics: object = {}) => viewOf(Book, BookSerializer, statics)
const showing = (serializerClass: unknown) => books({ serializerClass })

/** A view set with a method of its own, which does what ours does. */
function overriding(method: keyof BulkModelViewSet): ViewSetClass {
  const ours = BulkModelViewSet.prototype[method] as () => unknown
  class Own extends BulkModelViewSet<Book> {
    static override model = Book
    static override serializerClass = BookSerializer
  }
  Object.defineProperty(Own.prototype, method, {
    value(this: BulkModelViewSet, ...given: []) {
      return ours.apply(this, given)
    },
  })
  return Own
}

class Labelled extends BookSerializer {
  static override declaredFields = { label: new SerializerMethodField<string>() }
  getLabel(): string {
    return 'label'
  }
}
class ShowsAuthor extends BookSerializer {
  static override declaredFields = { author: new NestedSerializer(AuthorSerializer, { readOnly: true }) }
}
class WritesAuthor extends BookSerializer {
  static override declaredFields = { author: new NestedSerializer(AuthorSerializer) }
}
class Shelving extends ModelSerializer<Author> {
  static override model = Author
  static override fields = ['id', 'name']
  static override declaredFields = { books: new NestedSerializer(BookSerializer, { many: true, readOnly: true }) }
}
class Checking extends BookSerializer {
  override validate(values: Record<string, unknown>): Record<string, unknown> {
    return values
  }
}
class CheckingTitle extends BookSerializer {
  validateTitle(title: string): string {
    return title
  }
}
class Drawing extends BookSerializer {
  override toRepresentation(book: Book): unknown {
    return super.toRepresentation(book)
  }
}
class Owned extends BasePermission {
  override hasObjectPermission(): boolean {
    return true
  }
}

/** How a view set lists, shows and creates, and why: `explain()` calls nothing that needs a request. */
async function waysOf(view: ViewSetClass): Promise<unknown[]> {
  const explained = await new APIRouter().register('books', view, 'book').explain('book')
  return ['list', 'retrieve', 'create', 'bulkCreate'].map((action) => {
    const { reading, insert } = explained.find(({ answeredBy }) => answeredBy.endsWith(`.${action}`)) ?? {}
    const because = reading?.because ?? insert?.because
    const way = reading?.from ?? insert?.by ?? 'on request'
    return because === undefined ? way : `${way}: ${because}`
  })
}

const ROWS = ['rows', 'rows']
const STATEMENT = ['statement', 'statement']
const instances = (because: string) => [`instances: ${because}`, `instances: ${because}`]
const serializer = (because: string) => [`serializer: ${because}`, `serializer: ${because}`]

describe('a view set lists, shows, creates and creates several', () => {
  it.each<[string, ViewSetClass, unknown[]]>([
    ['by rows and statements', books(), [...ROWS, ...STATEMENT]],
    ['in JSON of PostgreSQL', books({ useNativeJson: true }), ['native', 'native', ...STATEMENT]],
    ['with objects that a key leads to', showing(ShowsAuthor), [...ROWS, ...STATEMENT]],
    [
      'with what a method computes',
      showing(Labelled),
      [
        ...instances('Labelled.label: it is computed by getLabel()'),
        ...serializer('Labelled.label: it is computed by getLabel()'),
      ],
    ],
    [
      'with lists of others',
      viewOf(Author, Shelving),
      [...ROWS, ...serializer('Shelving shows lists, or numbers, of related objects')],
    ],
    [
      'with a representation of its own',
      showing(Drawing),
      [
        ...instances('Drawing writes objects in its own way (toRepresentation or data)'),
        ...serializer('Drawing writes objects in its own way (toRepresentation or data)'),
      ],
    ],
    [
      'with objects that are written with it',
      showing(WritesAuthor),
      [...ROWS, ...serializer('WritesAuthor.author: it takes nested objects')],
    ],
    ['checked by a hook', showing(Checking), [...ROWS, ...serializer('Checking overrides validate()')]],
    [
      'checked by a hook of a field',
      showing(CheckingTitle),
      [...ROWS, ...serializer('CheckingTitle.title: it is checked by validateTitle()')],
    ],
    [
      'for the owner',
      books({ permissionClasses: [new ObjectPermission({ ownerField: 'author_id' })] }),
      ['rows', 'instances: ObjectPermission is asked about each object', ...STATEMENT],
    ],
    [
      'for whom one of two rules lets in',
      books({ permissionClasses: [or(AllowAny, Owned)] }),
      ['rows', 'instances: or(AllowAny, Owned) is asked about each object', ...STATEMENT],
    ],
  ])('%s', async (_, view, ways) => {
    expect(await waysOf(view)).toEqual(ways)
  })

  const own = (method: string) => `Own overrides ${method}()`
  it.each<[keyof BulkModelViewSet, unknown[]]>([
    ['getQueryset', [...ROWS, 'on request', 'on request']],
    ['filterQueryset', [...ROWS, ...STATEMENT]],
    ['getObject', ['rows', `instances: ${own('getObject')}`, ...STATEMENT]],
    ['checkObjectPermissions', ['rows', `instances: ${own('checkObjectPermissions')}`, ...STATEMENT]],
    ['getSerializer', [...instances(own('getSerializer')), ...serializer(own('getSerializer'))]],
    ['loadRelated', [...instances(own('loadRelated')), ...serializer(own('loadRelated'))]],
    ['getInputSerializer', [...ROWS, 'on request', 'on request']],
    ['list', [`instances: ${own('list')}`, 'rows', ...STATEMENT]],
    ['getList', [`instances: ${own('getList')}`, 'rows', ...STATEMENT]],
    ['retrieve', ['rows', `instances: ${own('retrieve')}`, ...STATEMENT]],
    ['getDetail', ['rows', `instances: ${own('getDetail')}`, ...STATEMENT]],
    ['create', [...ROWS, `serializer: ${own('create')}`, 'statement']],
    ['bulkCreate', [...ROWS, 'statement', `serializer: ${own('bulkCreate')}`]],
    ['performCreate', [...ROWS, ...serializer(own('performCreate'))]],
    ['performUpdate', [...ROWS, ...STATEMENT]],
    ['performDestroy', [...ROWS, ...STATEMENT]],
  ])('where it overrides %s()', async (method, ways) => {
    expect(await waysOf(overriding(method))).toEqual(ways)
  })
})

describe('the order of a list', () => {
  const cursor = (ordering: string) => new CursorPagination({ ordering })
  const paged = PageNumberPagination
  it.each<[string, object, string]>([
    ['is that of the key', {}, 'id'],
    ['is the declared one, and the key behind it', { ordering: ['-title'] }, '-title -id'],
    ['goes on behind a unique column that may be NULL', { ordering: ['isbn'] }, 'isbn id'],
    ['is declared in pages, too', { ordering: ['n'], paginationClass: paged }, 'n id'],
    ["is the cursor's", { ordering: ['title'], paginationClass: cursor('-n') }, '-n -id'],
    [
      'is the declared one where clients may choose it',
      { ordering: ['title'], paginationClass: cursor('-n'), filterBackends: [OrderingFilter] },
      'title id',
    ],
    [
      "is the cursor's where none is declared",
      { paginationClass: cursor('n'), filterBackends: [OrderingFilter] },
      'n id',
    ],
  ])('%s', (_, statics, order) => {
    const terms = resourceOf(books(statics)).defaultOrder
    expect(terms.map(({ property, descending }) => `${descending ? '-' : ''}${property}`).join(' ')).toBe(order)
  })
})

it('knows every filter backend of the package as one that does nothing without its parameter', () => {
  const exported = Object.values({ ...main, ...views }) as { prototype?: unknown }[]
  const backends = exported.filter(({ prototype }) => prototype instanceof main.BaseFilter)
  expect(backends.length).toBeGreaterThan(4)
  expect(backends.filter((backend) => !OUR_FILTERS.has(backend))).toEqual([])
})

describe('the key that paths name objects by', () => {
  const tags = (statics: object = {}) => viewOf(Tag, TagSerializer, statics)
  it.each<[string, ViewSetClass, string]>([
    ['is id', books(), 'id'],
    ['is the primary key, whatever its name', tags(), 'slug'],
    ['is the lookupField', books({ lookupField: 'isbn' }), 'isbn'],
  ])('%s', (_, view, property) => {
    expect(resourceOf(view).lookup.name).toBe(property)
  })

  it('is refused where it is no column', () => {
    const resource = resourceOf(books({ lookupField: 'nothing' }))
    expect(() => resource.lookup).toThrow('lookupField "nothing" is no column of Book')
  })
})

describe('the columns of a version', () => {
  it.each<[string, object, readonly string[]]>([
    ['are none', {}, []],
    ['are the key, and the one that tells versions apart', { concurrency: 'n' }, ['id', 'n']],
    ['are the key, and all that are named', { concurrency: ['n', 'title'] }, ['id', 'n', 'title']],
  ])('%s', (_, statics, properties) => {
    expect(resourceOf(books(statics)).versionTerms.map(({ property }) => property)).toEqual(properties)
  })
})
