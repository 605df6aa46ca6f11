/** Books with an author, a cover, reviews and tags, their serializers, and what validates and saves by them. */
import { ModelSerializer, NestedSerializer, type Serializer, ValidationError } from 'koa-viewsets'
import { prepareModels } from 'koa-viewsets/tools'
import { Model, type RelationMappings } from 'objection'
import { afterAll, beforeAll, beforeEach, expect } from 'vitest'
import { createDatabase, type TestDatabase } from './database.js'

export let database: TestDatabase

export const schema = `
  create table countries (id int generated always as identity primary key, code char(4) not null unique, name text not null);
  create table authors (
    id int generated always as identity primary key,
    name text not null unique,
    bio text not null default '',
    secret text not null default 'hush',
    owner_id int,
    country_id int references countries
  );
  create table books (
    id int generated always as identity primary key,
    title varchar(20) not null,
    isbn text unique,
    n int,
    meta jsonb,
    is_admin boolean not null default false,
    owner_id int not null default 0,
    secret text not null default 'hush',
    author_id int references authors
  );
  create table covers (id int generated always as identity primary key, color text not null, book_id int unique references books);
  create table reviews (
    id int generated always as identity primary key,
    stars int not null constraint stars_range check (stars + 0 between 1 and 5),
    text text not null default '',
    book_id int not null references books,
    critic_id int references authors,
    unique (book_id, text)
  );
  create table sheets (id int primary key);
  create table lines (sheet_id int references sheets, position int, text text, primary key (sheet_id, position));
  create table notes (id uuid primary key default gen_random_uuid(), sheet_id int references sheets, text text);
  insert into sheets values (1), (2);
  insert into lines values (1, 1, 'one'), (1, 2, 'two'), (2, 1, 'other');
  create table tags (id int generated always as identity primary key, slug text not null unique);
  create table books_tags (book_id int not null references books, tag_id int not null references tags, primary key (book_id, tag_id));
`

export class Country extends Model {
  static override tableName = 'countries'
  declare id: number
  declare name: string
}

export class Author extends Model {
  static override tableName = 'authors'
  static override get relationMappings(): RelationMappings {
    return {
      country: {
        relation: Model.BelongsToOneRelation,
        modelClass: Country,
        join: { from: 'authors.country_id', to: 'countries.id' },
      },
    }
  }
  // names every column, so that `secret` can be told to be write-only
  static override jsonSchema = {
    type: 'object',
    properties: {
      id: { type: 'integer' },
      name: { type: 'string', title: 'Full name' },
      bio: { type: 'string' },
      secret: { type: 'string', writeOnly: true },
      country_id: { type: ['integer', 'null'] },
    },
  }
  declare id: number
  declare name: string
  declare bio: string
  declare country?: Country | null
}

export class Book extends Model {
  static override tableName = 'books'
  static override get virtualAttributes() {
    return ['shout']
  }
  static override get relationMappings(): RelationMappings {
    return {
      author: {
        relation: Model.BelongsToOneRelation,
        modelClass: Author,
        join: { from: 'books.author_id', to: 'authors.id' },
      },
      cover: { relation: Model.HasOneRelation, modelClass: Cover, join: { from: 'books.id', to: 'covers.book_id' } },
      reviews: {
        relation: Model.HasManyRelation,
        modelClass: Review,
        join: { from: 'books.id', to: 'reviews.book_id' },
      },
      tags: {
        relation: Model.ManyToManyRelation,
        modelClass: Tag,
        join: { from: 'books.id', through: { from: 'books_tags.book_id', to: 'books_tags.tag_id' }, to: 'tags.id' },
      },
    }
  }
  get shout() {
    return this.title.toUpperCase()
  }
  declare id: number
  declare title: string
  declare isbn: string | null
  declare n: number | null
  declare meta: unknown
  declare author_id: number | null
  declare author?: Author | null
  declare reviews?: Review[]
  declare tags?: Tag[]
}

export class Cover extends Model {
  static override tableName = 'covers'
  declare id: number
  declare color: string
}

export class Review extends Model {
  static override tableName = 'reviews'
  static override get relationMappings(): RelationMappings {
    return {
      critic: {
        relation: Model.BelongsToOneRelation,
        modelClass: Author,
        join: { from: 'reviews.critic_id', to: 'authors.id' },
      },
    }
  }
  declare id: number
  declare stars: number
  declare text: string
}

export class SheetLine extends Model {
  static override tableName = 'lines'
  static override idColumn = ['sheet_id', 'position']
}

export class Note extends Model {
  static override tableName = 'notes'
}

export class Sheet extends Model {
  static override tableName = 'sheets'
  static override get relationMappings(): RelationMappings {
    return {
      lines: {
        relation: Model.HasManyRelation,
        modelClass: SheetLine,
        join: { from: 'sheets.id', to: 'lines.sheet_id' },
      },
      notes: { relation: Model.HasManyRelation, modelClass: Note, join: { from: 'sheets.id', to: 'notes.sheet_id' } },
    }
  }
}

export class Tag extends Model {
  static override tableName = 'tags'
  declare id: number
  declare slug: string
}

export const MODELS = [Country, Author, Book, Cover, Note, Review, Sheet, SheetLine, Tag]

export class AuthorSerializer extends ModelSerializer<Author> {
  static override model = Author
  static override fields = ['id', 'name', 'bio']
  static override extraKwargs = { bio: { required: true } }
}

export class BookSerializer extends ModelSerializer<Book> {
  static override model = Book
  static override fields = ['id', 'title', 'isbn', 'n', 'meta', 'author_id']
}

/** A book whose author is written with it. */
export class FullBookSerializer extends ModelSerializer<Book> {
  static override model = Book
  static override fields = ['id', 'title', 'isbn']
  static override declaredFields = {
    author: new NestedSerializer(AuthorSerializer, { required: false, allowNull: true }),
  }
}

export class CoverSerializer extends ModelSerializer<Cover> {
  static override model = Cover
  static override fields = ['id', 'color']
}

export class ReviewSerializer extends ModelSerializer<Review> {
  static override model = Review
  static override fields = ['id', 'stars', 'text', 'book_id', 'critic_id']
}

export class TagSerializer extends ModelSerializer<Tag> {
  static override model = Tag
  static override fields = ['id', 'slug']
}

/** Everything that points to a book. */
export class ShelfSerializer extends ModelSerializer<Book> {
  static override model = Book
  static override fields = ['id', 'title']
  static override declaredFields = {
    cover: new NestedSerializer(CoverSerializer, { required: false, allowNull: true }),
    reviews: new NestedSerializer(ReviewSerializer, { many: true, required: false }),
    tags: new NestedSerializer(TagSerializer, { many: true, required: false }),
  }
}

export class LineSerializer extends ModelSerializer<SheetLine> {
  static override model = SheetLine
  static override fields = '__all__'
}

export class SheetSerializer extends ModelSerializer<Sheet> {
  static override model = Sheet
  static override fields = ['id']
  static override declaredFields = { lines: new NestedSerializer(LineSerializer, { many: true, required: false }) }
}

export class NoteSerializer extends ModelSerializer<Note> {
  static override model = Note
  static override fields = ['id', 'text']
}

export class NotedSerializer extends ModelSerializer<Sheet> {
  static override model = Sheet
  static override fields = ['id']
  static override declaredFields = { notes: new NestedSerializer(NoteSerializer, { many: true, required: false }) }
}

export class TaggedSerializer extends ModelSerializer<Book> {
  static override model = Book
  static override fields = ['id', 'title', 'tags']
}

export type Made = InstanceType<typeof Serializer<any>>

export const make = (serializer: unknown, options: object): Made => new (serializer as typeof Serializer)(options)

/** The errors of an input; undefined when it is valid. */
export async function refused(serializer: unknown, inputData: unknown, options: object = {}) {
  const made = make(serializer, { inputData, ...options })
  return (await made.isValid()) ? undefined : made.errors
}

/** Validates and saves; the output. */
export async function saved(serializer: unknown, inputData: unknown, options: object = {}) {
  const made = make(serializer, { inputData, ...options })
  await made.isValid({ raiseException: true })
  await made.save()
  return made.data
}

export async function failure(work: Promise<unknown>): Promise<ValidationError> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(ValidationError)
  return error as ValidationError
}

export const rows = (table: string) => database.knex(table).orderBy('id')

export const book = (id = 1) => Book.query().findById(id).throwIfNotFound()

/** A subclass with other statics. */
export function variant<S extends new (...args: any[]) => object>(base: S, statics: object): S {
  const made = class extends base {}
  Object.defineProperty(made, 'name', { value: 'VariantSerializer' })
  return Object.assign(made, statics)
}

/** Makes the database of a test file, and fills it before each test. */
export function useBooks(): void {
  beforeAll(async () => {
    database = await createDatabase({ schema })
    for (const model of MODELS) model.knex(database.knex)
    await prepareModels(MODELS)
  })
  afterAll(() => database.drop())
  beforeEach(async () => {
    await database.knex.raw(
      'truncate countries, authors, books, covers, reviews, tags, books_tags restart identity cascade',
    )
    await database.knex.raw(`
      insert into countries (code, name) values ('de', 'Germany'), ('fr', 'France');
      insert into authors (name, bio, owner_id, country_id) values ('Ann', 'a', 1, 1), ('Bob', 'b', 2, null);
      insert into books (title, isbn, author_id) values ('One', '111', 1), ('Two', '222', 2);
      insert into tags (slug) values ('red'), ('green'), ('blue');
      insert into books_tags values (1, 1), (1, 2);
      insert into reviews (stars, text, book_id, critic_id) values (5, 'good', 1, 2), (1, 'bad', 1, null), (3, 'other', 2, 1);
      insert into covers (color, book_id) values ('black', 1)`)
  })
}
