/** Books, authors and reviews with querysets, relations and pools that an application may bring. */
import knexLibrary, { type Knex } from 'knex'
import { configure } from 'koa-viewsets'
import { Model, type QueryBuilder } from 'objection'
import { afterAll, beforeAll, beforeEach, expect } from 'vitest'
import type { Client } from './client.js'
import { createDatabase, type TestDatabase } from './database.js'
import { type SerializerClass, serializerOf, serveViews, type ViewSetClass, viewOf } from './views.js'

export let database: TestDatabase
/** A second one, whose books have other titles; only where a test file asks for it. */
export let other: TestDatabase

export const OPTIONAL = Array.from({ length: 12 }, (_, index) => `c${index}`)

export const SCHEMA = `
  create table authors (id int primary key, name text not null, code text, hidden bool not null default false);
  create view visible_authors as select id, name from authors where not hidden;
  insert into authors values (1, 'Ada', 'x', false), (2, 'Ben', 'x', true), (3, 'Cleo', 'y', false);
  create table books (
    id serial primary key, slug text unique, title text not null default 't', secret text, score int,
    author_id int references authors, author_code text, settings text, made timestamptz
  );
  insert into books (id, slug, title, secret, score, author_id, author_code, settings)
    select n, case when n % 2 = 0 then 's' || n end, 'title ' || n, 'secret ' || n, case when n % 3 > 0 then n % 4 end,
      1 + n % 3, case when n % 2 = 0 then 'x' else 'y' end, '{"a": 1}'
    from generate_series(1, 10) n;
  select setval('books_id_seq', 100);
  create table reviews (id serial primary key, book_id int references books, text text);
  insert into reviews (book_id, text) values (1, 'good'), (2, 'bad'), (2, 'bad'), (5, 'good'), (5, 'good'), (5, 'bad');
  create table wide (id serial primary key, ${OPTIONAL.map((name) => `${name} int`).join(', ')});
  create table duplicates (id int primary key, code int not null);
  insert into duplicates select n, n / 4 from generate_series(1, 20) n;
  create table people (id serial primary key, first_name text, author_id int references authors);
  insert into people (first_name, author_id) select 'n' || n, 1 from generate_series(1, 4) n;
  create table owners (id int primary key, name text);
  insert into owners values (1, 'seen'), (2, 'unseen');
  alter table owners enable row level security;
  create policy seen on owners using (id = 1);
  create table notes (id serial primary key, owner_id int references owners);
  create schema tenant;
  create table tenant.books (like public.books including all);
  insert into tenant.books (id, title, secret, author_id) values (1, 'tenant 1', 'secret of the tenant', 1);
  create table tenant.authors (like public.authors including all);
  insert into tenant.authors values (1, 'Zoe of the tenant', 'x', false);
  create table tags (id int primary key, label text);
  create table tagged (book_id int, tag_id int, hidden bool not null default false);
  insert into tags values (1, 'public');
  insert into tagged values (1, 1, false), (2, 1, true);
  create table tenant.tags (like public.tags including all);
  create table tenant.tagged (like public.tagged including all);
  insert into tenant.tags values (2, 'of the tenant');
  insert into tenant.tagged values (1, 2);
`

export const IDS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]

export class Author extends Model {
  static override tableName = 'authors'
}

export class VisibleAuthor extends Model {
  static override tableName = 'visible_authors'
}

export class Review extends Model {
  static override tableName = 'reviews'
  static override relationMappings = () => ({
    book: {
      relation: Model.BelongsToOneRelation,
      modelClass: Book,
      join: { from: 'reviews.book_id', to: 'books.id' },
    },
  })
}

export class Tag extends Model {
  static override tableName = 'tags'
}

export class Book extends Model {
  static override tableName = 'books'
  declare id: number
  declare secret: string | null

  static override relationMappings = () => ({
    author: {
      relation: Model.BelongsToOneRelation,
      modelClass: Author,
      join: { from: 'books.author_id', to: 'authors.id' },
    },
    coded: {
      relation: Model.BelongsToOneRelation,
      modelClass: Author,
      join: { from: 'books.author_code', to: 'authors.code' },
    },
    visible: {
      relation: Model.BelongsToOneRelation,
      modelClass: Author,
      filter: { hidden: false },
      join: { from: 'books.author_id', to: 'authors.id' },
    },
    tags: {
      relation: Model.ManyToManyRelation,
      modelClass: Tag,
      join: { from: 'books.id', through: { from: 'tagged.book_id', to: 'tagged.tag_id' }, to: 'tags.id' },
    },
    reviews: {
      relation: Model.HasManyRelation,
      modelClass: Review,
      join: { from: 'books.id', to: 'reviews.book_id' },
    },
    verdict: {
      relation: Model.HasOneRelation,
      modelClass: Review,
      join: { from: 'books.id', to: 'reviews.book_id' },
    },
  })
}

export class Wide extends Model {
  static override tableName = 'wide'
}

export class Duplicate extends Model {
  static override tableName = 'duplicates'
}

export type Queryset = QueryBuilder<Model>

/** The same output, but through instances: an overridden method needs them. */
export function throughInstances(serializer: SerializerClass): SerializerClass {
  return class extends serializer {
    override toRepresentation(object: Model): unknown {
      return super.toRepresentation(object)
    }
  }
}

/** The view set with a queryset of its own. */
export function querying(view: ViewSetClass, change: (query: Queryset) => unknown): ViewSetClass {
  return class extends view {
    override getQueryset(): Queryset {
      return change(super.getQueryset()) as Queryset
    }
  }
}

export const BookSerializer = serializerOf(Book, ['id', 'title', 'secret'])

export const BookView = viewOf(Book, BookSerializer)

export const InstanceView = viewOf(Book, throughInstances(BookSerializer))

/** Serves the queryset twice: `rows` read raw, `instances` read as objects. */
export function serveQueryset(change: (query: Queryset) => unknown): Promise<Client> {
  return serveViews({ rows: querying(BookView, change), instances: querying(InstanceView, change) })
}

/** The ids on all pages, in the order they come. @throws Error when the pages do not end */
export async function walk(client: Client, path: string): Promise<number[]> {
  const seen: number[] = []
  let url: string | null = path
  for (let page = 0; url !== null; page += 1) {
    if (page === 20) throw new Error(`the pages of ${path} do not end`)
    const { status, json }: { status: number; json: { results: { id: number }[]; next: string | null } } =
      await client.get(url)
    expect(status).toBe(200)
    seen.push(...json.results.map(({ id }) => id))
    url = json.next
  }
  return seen
}

export function ascending(ids: number[]): number[] {
  return ids.toSorted((a, b) => a - b)
}

/** A pool of its own on the database of the test. */
export function poolOf(options: Knex.Config): Knex {
  return knexLibrary({ client: 'pg', connection: { ...database.connection } as Knex.PgConnectionConfig, ...options })
}

/** Creates the database of a test file, and a second one where it needs two. */
export function useReviewedBooks({ withOther = false } = {}): void {
  beforeAll(async () => {
    database = await createDatabase({ schema: SCHEMA })
    if (withOther) other = await createDatabase({ schema: `${SCHEMA} update books set title = 'other ' || id;` })
  })
  beforeEach(() => {
    configure({ secretKey: '0123456789abcdef0123456789abcdef' })
    Model.knex(database.knex)
  })
  afterAll(async () => {
    await database.drop()
    if (withOther) await other.drop()
  })
}
