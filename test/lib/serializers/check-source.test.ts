import { type Model, ref } from 'objection'
import { beforeAll, describe, expect, it } from 'vitest'
import { ReadOnlyField } from '../../../lib/fields/own-value-fields.js'
import { prepareModels } from '../../../lib/models/describe-model.js'
import { ModelSerializer } from '../../../lib/serializers/model-serializer.js'
import { Serializer } from '../../../lib/serializers/serializer.js'
import { Author as LibraryAuthor, Book as LibraryBook, useLibrary } from '../../support/library.js'

useLibrary({
  sql: `
    alter table authors add "constructor" text;
    alter table books add meta jsonb;
    update authors set "constructor" = 'Babbage' where id = 1;
    insert into books (author_id, title, meta) values (1, 'Notes', '{"a":[{"b":9007199254740993}],"toString":"own"}');`,
  keep: true,
})

class Author extends LibraryAuthor {
  static override virtualAttributes = ['greeting', 'selected']
  get initial() {
    return { letter: this.name[0] }
  }
  greeting() {
    return `I am ${this.name}`
  }
  secret() {
    return 'nothing to show'
  }
}
class Book extends LibraryBook {
  static override relationMappings = () => {
    const mappings = LibraryBook.relationMappings()
    const author = { ...mappings.author, modelClass: Author }
    const join = { from: ref('books.meta:author').castInt() as never, to: 'authors.id' }
    return { ...mappings, author, byMeta: { ...author, join } }
  }
}

function serializerFor(source: string) {
  return class BookSerializer extends ModelSerializer<Model> {
    static override model = Book
    static override declaredFields = { shown: new ReadOnlyField({ source }) }
  }
}

beforeAll(() => prepareModels([Book, Author]))

/** What a field with the source shows of the book. */
async function shown(source: string): Promise<unknown> {
  const serializer = serializerFor(source)
  const obj = await Book.query().findById(1).withGraphFetched('author.books')
  return new serializer({ obj: obj as Model }).data.shown
}

it.each([
  ['title', 'Notes'],
  ['author.name', 'Ada'],
  ['author.constructor', 'Babbage'],
  ['author.initial.letter', 'A'],
  ['author.initial.toString', null],
  ['author.greeting', 'I am Ada'],
  ['author.books.length', 1],
  ['author.books.0.title', 'Notes'],
  ['meta.toString', 'own'],
  ['meta.constructor', null],
  ['meta.__proto__', null],
  ['meta.a.hasOwnProperty', null],
  ['meta.a.0.b', 9007199254740992],
  ['meta.a.0.valueOf', null],
  ['title.length', 5],
  ['title.trim', null],
])('reads %s', async (source, expected) => {
  const value = await shown(source)
  expect(typeof value === 'object' && value !== null ? Number(value) : value).toBe(expected)
})

it.each([
  ['author.nmae', 'Author has no column, relation or attribute "nmae"'],
  ['author.books.0.titel', undefined],
  ['author.books.title', 'field "shown" asks a list for "title": Author.books leads to many objects'],
  ['author.selected', undefined],
  ['author.secret', '"secret" is a method of Author; make it a getter'],
  ['author.$id', '"$id" is a method of Author'],
  ['author.toString', 'Author has no column, relation or attribute "toString"'],
  ['author.__proto__', 'Author has no column, relation or attribute "__proto__"'],
  ['author.hasOwnProperty', 'no column, relation or attribute "hasOwnProperty"'],
  ['byMeta.name', 'shows what "byMeta" of Book leads to, which is not joined by columns'],
  ['nothing', 'Book has no column, relation or attribute "nothing"'],
  ['constructor', '"constructor" is a method of Book'],
  ['__proto__', 'Book has no column, relation or attribute "__proto__"'],
])('checks %s before any request', (source, message) => {
  const plan = () => serializerFor(source).plan
  if (message === undefined) expect(plan).not.toThrow()
  else expect(plan).toThrow(message)
})

describe('of objects that are no models', () => {
  class Point {
    readonly x = 1
    get length() {
      return 5
    }
    describe() {
      return 'a point'
    }
  }
  class PointSerializer extends Serializer {
    static override declaredFields = Object.fromEntries(
      ['x', 'length', 'describe', 'constructor', 'toString', '__proto__', 'missing'].map((source, index) => [
        `f${index}`,
        new ReadOnlyField({ source }),
      ]),
    )
  }

  it('shows properties of their own and getters, and nothing that all objects have', () => {
    const { data } = new PointSerializer({ obj: new Point() })
    expect(Object.values(data)).toEqual([1, 5, null, null, null, null, null])
  })

  it('shows such names where they are their own', () => {
    const obj = JSON.parse('{"constructor":1,"toString":2,"__proto__":3}') as object
    expect(Object.values(new PointSerializer({ obj }).data)).toEqual([null, null, null, 1, 2, 3, null])
  })
})
