/** The library with all that a write may break, its serializers, and what validates and saves by them. */
import { ModelSerializer, NestedSerializer, type Serializer, ValidationError } from 'koa-viewsets'
import { prepareModels } from 'koa-viewsets/tools'
import { Model } from 'objection'
import { beforeAll, beforeEach, expect } from 'vitest'
import {
  database,
  Genre,
  Author as LibraryAuthor,
  Book as LibraryBook,
  Review as LibraryReview,
  useLibrary,
} from './library.js'

export { database }

const SCHEMA = `
  create table countries (id int generated always as identity primary key, code char(4) not null unique, name text not null);
  alter table authors
    add unique (name), add bio text not null default '', add secret text not null default 'hush', add owner_id int,
    add country_id int references countries;
  alter table books
    alter title type varchar(20), alter n drop default, add meta jsonb, add is_admin boolean not null default false,
    add owner_id int not null default 0, add secret text not null default 'hush';
  create table covers (id int generated always as identity primary key, color text not null, book_id int unique references books);
  alter table reviews
    alter stars drop default, add constraint stars_range check (stars + 0 between 1 and 5),
    alter text set not null, alter text set default '', add critic_id int references authors, add unique (book_id, text),
    drop constraint reviews_book_id_fkey, add foreign key (book_id) references books;
  alter table genres rename name to slug;
  alter table genres alter slug set not null, add unique (slug);
  alter table books_genres
    drop constraint books_genres_book_id_fkey, add foreign key (book_id) references books,
    drop constraint books_genres_genre_id_fkey, add foreign key (genre_id) references genres;
  create table sheets (id int primary key);
  create table lines (sheet_id int references sheets, position int, text text, primary key (sheet_id, position));
  create table notes (id uuid primary key default gen_random_uuid(), sheet_id int references sheets, text text);
  insert into sheets values (1), (2);
  insert into lines values (1, 1, 'one'), (1, 2, 'two'), (2, 1, 'other');
`

export class Country extends Model {
  static override tableName = 'countries'
  declare id: number
  declare name: string
}

export class Author extends LibraryAuthor {
  static override relationMappings = () => ({
    ...LibraryAuthor.relationMappings(),
    country: {
      relation: Model.BelongsToOneRelation,
      modelClass: Country,
      join: { from: 'authors.country_id', to: 'countries.id' },
    },
  })
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
  declare bio: string
  declare country?: Country | null
}

export class Book extends LibraryBook {
  static override get virtualAttributes() {
    return ['shout']
  }
  static override relationMappings = () => {
    const { author, reviews, genres, ...others } = LibraryBook.relationMappings()
    return {
      ...others,
      author: { ...author, modelClass: Author },
      cover: { relation: Model.HasOneRelation, modelClass: Cover, join: { from: 'books.id', to: 'covers.book_id' } },
      reviews: { ...reviews, modelClass: Review },
      genres,
      tags: { ...genres, modelClass: Tag },
    }
  }
  get shout() {
    return this.title.toUpperCase()
  }
  declare meta: unknown
  declare author?: Author | null
  declare reviews?: Review[]
  declare tags?: Tag[]
}

export class Cover extends Model {
  static override tableName = 'covers'
  declare id: number
  declare color: string
}

export class Review extends LibraryReview {
  static override relationMappings = () => ({
    ...LibraryReview.relationMappings(),
    critic: {
      relation: Model.BelongsToOneRelation,
      modelClass: Author,
      join: { from: 'reviews.critic_id', to: 'authors.id' },
    },
  })
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
  static override get relationMappings() {
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

export class Tag extends Genre {
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
  useLibrary({ sql: SCHEMA, keep: true })
  beforeAll(() => prepareModels(MODELS))
  beforeEach(async () => {
    await database.knex.raw(
      'truncate countries, authors, books, covers, reviews, genres, books_genres restart identity cascade',
    )
    await database.knex.raw(`
      insert into countries (code, name) values ('de', 'Germany'), ('fr', 'France');
      insert into authors (name, bio, owner_id, country_id) values ('Ann', 'a', 1, 1), ('Bob', 'b', 2, null);
      insert into books (title, isbn, author_id) values ('One', '111', 1), ('Two', '222', 2);
      insert into genres (slug) values ('red'), ('green'), ('blue');
      insert into books_genres values (1, 1), (1, 2);
      insert into reviews (stars, text, book_id, critic_id) values (5, 'good', 1, 2), (1, 'bad', 1, null), (3, 'other', 2, 1);
      insert into covers (color, book_id) values ('black', 1)`)
  })
}
