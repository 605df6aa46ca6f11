/** Models by the name of their table are Objection models like any other. */
import knex from 'knex'
import {
  APIRouter,
  ConfigurationError,
  FieldFilter,
  modelSerializer,
  modelViewSet,
  NestedSerializer,
  OrderingFilter,
  PrimaryKeyRelatedField,
  SearchFilter,
  type TableModel,
  table,
} from 'koa-viewsets'
import { any, rule } from 'koa-viewsets/rules'
import { describeModel, formatExplanations, prepareModels } from 'koa-viewsets/tools'
import { count } from 'koa-viewsets/views'
import { knexSnakeCaseMappers, Model, snakeCaseMappers } from 'objection'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { relateModels } from '../../lib/models/foreign-key-models.js'
import { type Client, serving } from '../support/client.js'
import { createDatabase, type TestDatabase } from '../support/database.js'

const SCHEMA = `
  create table authors (id serial primary key, name text not null);
  create table books (code text primary key, title text not null, author_id int not null references authors);
  create table covers (id serial primary key, colour text not null, book_code text not null unique references books);
  create table tags (id serial primary key, label text not null unique);
  create table book_tags (book_code text references books, tag_id int references tags, primary key (book_code, tag_id));
  insert into authors (name) values ('Ada'), ('Bob');
  insert into books values ('a', 'First', 1), ('b', 'Second', 2);
  insert into covers (colour, book_code) values ('red', 'a');
  insert into tags (label) values ('x'), ('y');
  insert into book_tags values ('a', 1), ('a', 2);`

interface AuthorRow {
  id: number
  name: string
  books?: BookRow[]
}
interface BookRow {
  code: string
  title: string
  author_id: number
}

const authors: TableModel<AuthorRow> = table('authors', {
  relations: { books: { hasMany: () => books, key: 'author_id' } },
})
const covers = table('covers')
const tags = table('public.tags')
const books = table<BookRow>('books', {
  idColumn: 'code',
  relations: {
    author: { belongsTo: () => authors, key: 'author_id' },
    cover: { hasOne: () => covers, key: 'book_code' },
    tags: { manyToMany: () => tags, through: 'book_tags', from: 'book_code', to: 'tag_id' },
  },
})

class BookSerializer extends modelSerializer(books, {
  fields: ['code', 'title', 'author_id'],
  declaredFields: {
    author: new NestedSerializer(modelSerializer(authors, { fields: ['id', 'name'] }), { readOnly: true }),
    cover: new NestedSerializer(modelSerializer(covers, { fields: ['colour'] }), { readOnly: true }),
    tags: new PrimaryKeyRelatedField({ queryset: tags, many: true }),
  },
}) {}
class BookViewSet extends modelViewSet(books, {
  serializerClass: BookSerializer,
  lookupField: 'code',
  ordering: ['code'],
  filterBackends: [FieldFilter],
  filtersetFields: ['title'],
}) {}

let database: TestDatabase
let client: Client

beforeAll(async () => {
  database = await createDatabase({ schema: SCHEMA })
  Model.knex(database.knex)
  const api = new APIRouter().register('books', BookViewSet)
  await api.prepare()
  client = await serving(api.routes())
})
afterAll(async () => {
  await client.close()
  await database.drop()
})

it('is named after what one of its rows is', () => {
  expect([books, authors, tags].map(({ name }) => name)).toEqual(['Book', 'Author', 'Tag'])
})

it('shows columns and relations of each kind', async () => {
  expect((await client.get('/books/a')).json).toEqual({
    code: 'a',
    title: 'First',
    author_id: 1,
    author: { id: 1, name: 'Ada' },
    cover: { colour: 'red' },
    tags: [1, 2],
  })
  expect((await client.get('/books?title=Second')).json).toMatchObject([{ code: 'b', cover: null, tags: [] }])
})

it('writes rows and their relations', async () => {
  const body = { code: 'c', title: 'Third', author_id: 2, tags: [2] }
  expect(await client.send('POST', '/books', body)).toMatchObject({ status: 201, json: { ...body, cover: null } })
  expect(await authors.query().findById(2).withGraphFetched('books')).toMatchObject({
    books: [{ code: 'b' }, { code: 'c' }],
  })
})

it('extends a class of the application', () => {
  class Base extends Model {
    get shout() {
      return 'hey'
    }
  }
  class Book extends table<BookRow>('books', { base: Base }) {}
  expect(new Book()).toMatchObject({ shout: 'hey' })
})

it.each([true, false])('keeps the relations of that class, beside its own: %s', (hasOwn) => {
  class Base extends Model {
    static override relationMappings = () => ({
      author: {
        relation: Model.BelongsToOneRelation,
        modelClass: authors,
        join: { from: 'books.author_id', to: 'authors.id' },
      },
    })
  }
  const own = hasOwn ? { relations: { cover: { hasOne: () => covers, key: 'book_code' } } } : {}
  const made = table('books', { idColumn: 'code', base: Base, ...own })
  expect(Object.keys(made.getRelations())).toEqual(['author', ...(hasOwn ? ['cover'] : [])])
  expect(describeModel(made).relations.get('author')).toMatchObject({
    kind: 'belongs-to-one',
    ownerProperties: ['author_id'],
  })
})

it('joins by the column of a key that its base writes otherwise', async () => {
  class Camel extends Model {
    static override columnNameMappers = snakeCaseMappers()
  }
  const Shelf: TableModel<{ shelfNo: number }> = table('shelves', {
    base: Camel,
    idColumn: 'shelf_no',
    relations: { boxes: { hasMany: () => Box, key: 'shelf_no' } },
  })
  const Box: TableModel = table('boxes', {
    base: Camel,
    relations: { shelf: { belongsTo: () => Shelf, key: 'shelf_no' } },
  })
  await database.knex.raw(`
    create table shelves (shelf_no int primary key);
    create table boxes (id int primary key, shelf_no int references shelves);
    insert into shelves values (7); insert into boxes values (1, 7)`)
  expect(await Shelf.query().withGraphFetched('boxes.shelf')).toMatchObject([
    { shelfNo: 7, boxes: [{ id: 1, shelf: { shelfNo: 7 } }] },
  ])
})

it.each<[string, () => unknown, string]>([
  ['no name', () => table(''), "table(): the first argument is a table's name"],
  ['a misspelt option', () => table('books', { idColum: 'x' } as never), 'idColumn'],
  ['a base that is no model', () => table('books', { base: class {} as never }), 'base is no Objection model class'],
  [
    'a relation of no kind',
    () => table('books', { relations: { a: { key: 'x' } as never } }),
    'relations.a: say one of belongsTo',
  ],
  [
    'a relation of two kinds',
    () => table('books', { relations: { a: { belongsTo: () => tags, hasMany: () => tags, key: 'x' } } }),
    'say one of',
  ],
  [
    'a relation without its key',
    () => table('books', { relations: { a: { belongsTo: () => tags } as never } }),
    'relations.a: key is missing',
  ],
  [
    'a relation to a value',
    () => table('books', { relations: { a: { belongsTo: tags, key: 'x' } as never } }).getRelations(),
    'no Objection model class',
  ],
  [
    'a relation by one column to a key of two',
    () =>
      table('books', {
        relations: { tags: { belongsTo: () => table('book_tags', { idColumn: ['book_code', 'tag_id'] }), key: 'x' } },
      }).getRelations(),
    'BookTag has a key of several columns (book_code, tag_id)',
  ],
])('%s is a mistake that is told', (_mistake, make, message) => {
  expect(make).toThrow(ConfigurationError)
  expect(make).toThrow(message)
})

describe("relations: 'foreign keys'", () => {
  const LIBRARY = `
    create schema trade;
    create table trade.publishers (code text primary key, name text not null, country text not null);
    create table authors (id serial primary key, name text not null, books int, mentor_id int references authors);
    create table books (id serial primary key, title text not null, author_id int not null references authors,
      editor_id int references authors, publisher_code text references trade.publishers);
    create table covers (id serial primary key, colour text not null, book_id int not null unique references books);
    create table tags (id serial primary key, label text not null unique);
    create table book_tags (book_id int references books, tag_id int references tags, primary key (book_id, tag_id));
    create table editions (book_id int references books, number int, note text, primary key (book_id, number));
    create table copies (id serial primary key, book_id int, number int, shelf text not null,
      foreign key (book_id, number) references editions);
    insert into trade.publishers values ('p', 'Press', 'DE');
    insert into authors (name, mentor_id) values ('Ada', null), ('Bob', 1);
    insert into books (title, author_id, editor_id, publisher_code) values ('First', 1, 2, 'p'), ('Second', 2, null, null);
    insert into covers (colour, book_id) values ('red', 1);
    insert into tags (label) values ('x'), ('y');
    insert into book_tags values (1, 1), (1, 2);
    insert into editions values (1, 1, 'new');
    insert into copies (book_id, number, shelf) values (1, 1, 'A'), (1, 1, 'B');`
  const REFLECTED = { relations: 'foreign keys' } as const

  let library: TestDatabase
  class Base extends Model {}
  beforeAll(async () => {
    library = await createDatabase({ schema: LIBRARY })
    Base.knex(library.knex)
  })
  afterAll(() => library.drop())

  /** The tables with their relations by hand, under the names that foreign keys give them. */
  function byHand() {
    const base = Base
    const publishers = table('trade.publishers', { base, idColumn: 'code' })
    const authors: TableModel = table('authors', {
      base,
      relations: {
        mentor: { belongsTo: () => authors, key: 'mentor_id' },
        authors_by_mentor: { hasMany: () => authors, key: 'mentor_id' },
        books_by_author: { hasMany: () => books, key: 'author_id' },
        books_by_editor: { hasMany: () => books, key: 'editor_id' },
      },
    })
    const tags = table('tags', { base })
    const covers = table('covers', { base })
    const copies = table('copies', { base })
    class Edition extends Base {
      static override tableName = 'editions'
      static override idColumn = ['book_id', 'number']
      static override relationMappings = () => ({
        copies: {
          relation: Model.HasManyRelation,
          modelClass: copies as unknown as typeof Model,
          join: { from: ['editions.book_id', 'editions.number'], to: ['copies.book_id', 'copies.number'] },
        },
      })
    }
    const books: TableModel = table('books', {
      base,
      relations: {
        author: { belongsTo: () => authors, key: 'author_id' },
        editor: { belongsTo: () => authors, key: 'editor_id' },
        publisher: { belongsTo: () => publishers, key: 'publisher_code' },
        cover: { hasOne: () => covers, key: 'book_id' },
        editions: { hasMany: () => Edition, key: 'book_id' },
        tags: { manyToMany: () => tags, through: 'book_tags', from: 'book_id', to: 'tag_id' },
      },
    })
    return { authors, books, tags, covers, copies, editions: Edition as unknown as TableModel }
  }

  function byForeignKeys(): ReturnType<typeof byHand> {
    const made = (name: string, idColumn: string | string[] = 'id') =>
      table(name, { base: Base, idColumn, ...REFLECTED })
    const editions = made('editions', ['book_id', 'number'])
    return {
      authors: made('authors'),
      books: made('books'),
      tags: made('tags'),
      covers: made('covers'),
      copies: made('copies'),
      editions,
    }
  }

  /** An API with what relations are for. */
  function apiOf({ authors, books, tags, covers, copies, editions }: ReturnType<typeof byHand>) {
    const named = { fields: ['id', 'name'], declaredFields: {} }
    class AuthorSerializer extends modelSerializer(authors, named) {}
    class TitleSerializer extends modelSerializer(books, { fields: ['title'] }) {}
    class CopySerializer extends modelSerializer(copies, { fields: ['id', 'shelf'] }) {}
    class EditionSerializer extends modelSerializer(editions, {
      fields: ['number', 'note'],
      declaredFields: { copies: new NestedSerializer(CopySerializer, { many: true }) },
    }) {}
    class BookSerializer extends modelSerializer(books, {
      fields: ['id', 'title', 'author', 'editor_id', 'tags'],
      declaredFields: {
        author: new PrimaryKeyRelatedField({ queryset: authors, shownBy: AuthorSerializer }),
        cover: new NestedSerializer(modelSerializer(covers, { fields: ['id', 'colour'] }), { required: false }),
        editions: new NestedSerializer(EditionSerializer, { many: true, required: false }),
      },
    }) {}
    class BookViewSet extends modelViewSet(books, {
      serializerClass: BookSerializer,
      filterBackends: [new FieldFilter({ groupParam: 'filter' }), OrderingFilter, SearchFilter],
      filtersetFields: ['publisher__country', 'author__mentor__name', 'tags__label'],
      filterRelations: { tags: () => TagViewSet },
      orderingFields: ['id', 'author__name'],
      ordering: ['id'],
      searchFields: ['editor__name'],
      expandable: { editor: AuthorSerializer, tags_count: count('tags') },
    }) {}
    class TagViewSet extends modelViewSet(tags, {
      serializerClass: modelSerializer(tags, { fields: ['id', 'label'] }),
      filterBackends: [FieldFilter],
      filtersetFields: ['label'],
      ordering: ['id'],
    }) {}
    class MentoredSerializer extends modelSerializer(authors, {
      fields: ['id', 'name'],
      declaredFields: {
        mentor: new NestedSerializer(AuthorSerializer, { readOnly: true }),
        books_by_editor: new NestedSerializer(TitleSerializer, { many: true, readOnly: true }),
      },
    }) {}
    class AuthorViewSet extends modelViewSet(authors, { serializerClass: MentoredSerializer, ordering: ['id'] }) {}
    const seen = { or: [any('tags', { label: 'x' }), { author__mentor__name: 'Ada' }, { title: 'Third' }] }
    return new APIRouter({ rules: [rule(books, { read: seen })] })
      .register('books', BookViewSet)
      .register('authors', AuthorViewSet)
      .register('tags', TagViewSet)
  }

  const documentOf = async (api: APIRouter) => {
    await api.prepare()
    return api.getSchema({ title: 'Library', version: '1' })
  }

  async function answersOf(api: APIRouter) {
    await api.prepare()
    const served = await serving(api.routes())
    const answers: [string, number, unknown][] = []
    for (const path of [
      '/books?expand=editor,tags_count',
      '/books/1',
      '/books?publisher__country=DE',
      '/books?author__mentor__name=Ada&ordering=-author__name',
      '/books?search=bob',
      `/books?filter=${encodeURIComponent('any(tags,label=y)')}`,
      '/authors',
    ]) {
      const { status, text } = await served.get(path)
      answers.push([path, status, text])
    }
    const body = {
      title: 'Third',
      author: 2,
      editor_id: null,
      tags: [2],
      cover: { colour: 'blue' },
      editions: [{ number: 4, note: null, copies: [{ shelf: 'C' }] }],
    }
    for (const [method, path, sent] of [
      ['POST', '/books', body],
      ['POST', '/books', { ...body, author: 99, tags: [98] }],
    ] as const) {
      const { status, json } = await served.send(method, path, sent)
      answers.push([method, status, json])
    }
    await served.close()
    return answers
  }

  it('lead to no class of another database', async () => {
    const elsewhere = table('authors')
    const books = table('books', { base: Base, ...REFLECTED })
    await relateModels([elsewhere, books])
    const author = books.getRelations()['author']?.relatedModelClass
    expect([author?.tableName, author?.knex() === library.knex]).toEqual(['authors', true])
  })

  it('are as those by hand: explained, answered and written', async () => {
    const hand = apiOf(byHand())
    const reflected = apiOf(byForeignKeys())
    expect(await documentOf(reflected)).toEqual(await documentOf(hand))
    const explained = async (api: APIRouter) => (await api.explain()).map((one) => ({ ...one, foreignKeys: undefined }))
    expect(await explained(reflected)).toEqual(await explained(hand))
    const reset = () =>
      library.knex.raw(
        'delete from copies where id > 2; delete from editions where number = 4; delete from covers where id > 1; delete from book_tags where book_id > 2; delete from books where id > 2; alter sequence books_id_seq restart with 3; alter sequence covers_id_seq restart with 2; alter sequence copies_id_seq restart with 3',
      )
    const expected = await answersOf(hand)
    await reset()
    expect(await answersOf(reflected)).toEqual(expected)
    await reset()
    const statuses = expected.map(([, status]) => status)
    expect(statuses).toEqual([200, 200, 200, 200, 200, 200, 200, 201, 400])
    expect(expected[7]).toMatchObject(['POST', 201, { title: 'Third', editions: [{ copies: [{ shelf: 'C' }] }] }])
  })

  it('are told by explain(), under the names that `init` writes', async () => {
    const [list] = await apiOf(byForeignKeys()).explain('author-list')
    expect(list?.foreignKeys).toEqual([
      'mentor: Author by mentor_id',
      'authors_by_mentor: Author by authors.mentor_id',
      'books_by_author: Book by books.author_id',
      'books_by_editor: Book by books.editor_id',
    ])
    const [books] = await apiOf(byForeignKeys()).explain('book-list')
    expect(books && formatExplanations([books])).toContain(
      '  foreign keys author: Author by author_id, editor: Author by editor_id, publisher: Publisher by publisher_code, ' +
        'cover: Cover by covers.book_id, editions: Edition by editions.book_id, tags: Tag by book_tags\n',
    )
  })

  it('lead to the classes that the API has, and stand in those below the table', async () => {
    class Author extends Base {
      static override tableName = 'authors'
    }
    class Edition extends table('editions', { base: Base, idColumn: ['book_id', 'number'], ...REFLECTED }) {}
    class Book extends table('books', { base: Base, ...REFLECTED }) {}
    const books = modelViewSet(Book, { serializerClass: modelSerializer(Book, { fields: ['id'] }) })
    const authors = modelViewSet(Author, { serializerClass: modelSerializer(Author, { fields: ['id'] }) })
    await new APIRouter({ rules: [rule(Edition, {})] }).register('books', books).register('authors', authors).prepare()
    const related = (model: typeof Model, name: string) => model.getRelation(name).relatedModelClass
    expect(related(Book as never, 'author')).toBe(Author)
    expect(related(Book as never, 'editions')).toBe(Edition)
    expect(related(Edition as never, 'book')).toBe(Book)
    // what nothing of the API names is made, with relations of its own
    expect(related(related(Book as never, 'tags'), 'books')).toBe(Book)
    expect(related(Edition as never, 'copies').getRelations()).toHaveProperty('edition')
  })

  it("are there after an insert that came before prepare(), and for queries of one's own", async () => {
    const Tag = table('tags', { base: Base, ...REFLECTED })
    await Tag.query().insert({ label: 'z' } as never)
    await Tag.query().delete().where('label', 'z')
    await prepareModels([Tag])
    expect(Object.keys(Tag.getRelations())).toEqual(['books'])
    expect(await Tag.query().findById(1).withGraphFetched('books')).toMatchObject({ books: [{ title: 'First' }] })
    expect([...describeModel(Tag).relations.keys()]).toEqual(['books'])
  })

  it('take no table for one that joins two, whose one key has two columns', async () => {
    const two = await createDatabase({
      schema: `
        create table editions (book int, number int, primary key (book, number));
        create table reprints (book int, number int, primary key (book, number),
          foreign key (book, number) references editions, foreign key (book, number) references editions on delete cascade)`,
    })
    onTestFinished(() => two.drop())
    class Other extends Model {}
    Other.knex(two.knex)
    const [Edition, Reprint] = ['editions', 'reprints'].map((name) =>
      table(name, { base: Other, idColumn: ['book', 'number'], ...REFLECTED }),
    )
    await prepareModels([Edition, Reprint] as never)
    expect([Edition, Reprint].map((model) => Object.keys(model?.getRelations() ?? {}))).toEqual([
      ['reprint'],
      ['edition'],
    ])
  })

  it('are written as mappers write columns, and leave the names of columns and accessors alone', async () => {
    class Camel extends Base {
      static override columnNameMappers = snakeCaseMappers()
      get publisher() {
        return 'its own'
      }
    }
    const Book = table('books', { base: Camel, ...REFLECTED })
    const Author = table('authors', { base: Camel, ...REFLECTED })
    await prepareModels([Book, Author])
    expect(Object.keys(Author.getRelations())).toEqual(['mentor', 'authorsByMentor', 'booksByAuthor', 'booksByEditor'])
    expect(Object.keys(Book.getRelations())).toContain('publisherRow')
    const mapped = knex({ client: 'pg', connection: library.connection as never, ...knexSnakeCaseMappers() })
    onTestFinished(() => mapped.destroy())
    class Mapped extends Model {}
    Mapped.knex(mapped)
    const Tag = table('tags', { base: Mapped, ...REFLECTED })
    const Written = table('authors', { base: Mapped, ...REFLECTED })
    await prepareModels([Tag, Written])
    expect(Object.keys(Written.getRelations())).toEqual(['mentor', 'authorsByMentor', 'booksByAuthor', 'booksByEditor'])
    expect(await Tag.query().findById(1).withGraphFetched('books.author')).toMatchObject({
      books: [{ title: 'First', authorId: 1, author: { name: 'Ada' } }],
    })
  })

  it.each<[string, () => unknown, string]>([
    [
      'another word',
      () => table('books', { relations: 'all' as never }),
      "neither an object of relations nor 'foreign keys'",
    ],
    [
      'a relation that no foreign key makes',
      () => {
        const Book = table('books', { base: Base, ...REFLECTED })
        const serializerClass = modelSerializer(Book, {
          fields: ['id'],
          declaredFields: { writer: new NestedSerializer(modelSerializer(table('authors'), { fields: ['id'] })) },
        })
        return new APIRouter().register('books', modelViewSet(Book, { serializerClass })).prepare()
      },
      'Book has no column, relation or attribute "writer"',
    ],
    [
      'a path with a name that is nearly one',
      () => {
        const Book = table('books', { base: Base, ...REFLECTED })
        const serializerClass = modelSerializer(Book, { fields: ['id'] })
        const statics = { serializerClass, filterBackends: [FieldFilter], filtersetFields: ['publishr__name'] }
        return new APIRouter().register('books', modelViewSet(Book, statics)).prepare()
      },
      'did you mean "publisher"',
    ],
    [
      'a table that there is not',
      () => prepareModels([table('boks', { base: Base, ...REFLECTED })] as never),
      'table "boks" does not exist',
    ],
  ])('%s is a mistake that prepare() tells', async (_mistake, make, message) => {
    const failing = async () => make()
    await expect(failing()).rejects.toThrow(ConfigurationError)
    await expect(failing()).rejects.toThrow(message)
  })
})
