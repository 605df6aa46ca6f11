/** The library with querysets, relations and pools that an application may bring. */
import knexLibrary, { type Knex } from 'knex'
import { configure } from 'koa-viewsets'
import { Model, type QueryBuilder } from 'objection'
import { afterAll, beforeAll, beforeEach, expect } from 'vitest'
import type { Client } from './client.js'
import { createDatabase, type TestDatabase } from './database.js'
import { Author, database, LIBRARY, Book as LibraryBook, Review as LibraryReview, useLibrary } from './library.js'
import { type SerializerClass, serializerOf, serveViews, type ViewSetClass, viewOf } from './views.js'

export { Author, database }
/** A second one, whose books have other titles; only where a test file asks for it. */
export let other: TestDatabase

export const OPTIONAL = Array.from({ length: 12 }, (_, index) => `c${index}`)

const SCHEMA = `
  alter table authors add code text, add hidden bool not null default false;
  create view visible_authors as select id, name from authors where not hidden;
  insert into authors (name) values ('Cleo');
  update authors set code = case when id < 3 then 'x' else 'y' end, hidden = id = 2;
  alter table books
    alter title set default 't', add slug text unique, add secret text, add score int, add author_code text,
    add settings text, add made timestamptz;
  insert into books (id, slug, title, secret, score, author_id, author_code, settings)
    select n, case when n % 2 = 0 then 's' || n end, 'title ' || n, 'secret ' || n, case when n % 3 > 0 then n % 4 end,
      1 + n % 3, case when n % 2 = 0 then 'x' else 'y' end, '{"a": 1}'
    from generate_series(1, 10) n;
  select setval('books_id_seq', 100);
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
  insert into tenant.authors (id, name, code, hidden) values (1, 'Zoe of the tenant', 'x', false);
  create table labels (id int primary key, label text);
  create table tagged (book_id int, tag_id int, hidden bool not null default false);
  insert into labels values (1, 'public');
  insert into tagged values (1, 1, false), (2, 1, true);
  create table tenant.labels (like public.labels including all);
  create table tenant.tagged (like public.tagged including all);
  insert into tenant.labels values (2, 'of the tenant');
  insert into tenant.tagged values (1, 2);
`

export const IDS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]

export class VisibleAuthor extends Model {
  static override tableName = 'visible_authors'
}

export class Tag extends Model {
  static override tableName = 'labels'
}

export class Review extends LibraryReview {
  static override relationMappings = () => {
    const { book } = LibraryReview.relationMappings()
    return { book: { ...book, modelClass: Book } }
  }
}

export class Book extends LibraryBook {
  declare secret: string | null

  static override relationMappings = () => {
    const mappings = LibraryBook.relationMappings()
    return {
      ...mappings,
      coded: { ...mappings.author, join: { from: 'books.author_code', to: 'authors.code' } },
      visible: { ...mappings.author, filter: { hidden: false } },
      tags: {
        relation: Model.ManyToManyRelation,
        modelClass: Tag,
        join: { from: 'books.id', through: { from: 'tagged.book_id', to: 'tagged.tag_id' }, to: 'labels.id' },
      },
      reviews: { ...mappings.reviews, modelClass: Review },
      verdict: { ...mappings.reviews, modelClass: Review, relation: Model.HasOneRelation },
    }
  }
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
  useLibrary({ sql: SCHEMA, keep: true })
  if (withOther) {
    beforeAll(async () => {
      other = await createDatabase({ schema: `${LIBRARY} ${SCHEMA} update books set title = 'other ' || id;` })
    })
    afterAll(() => other.drop())
  }
  beforeEach(() => {
    configure({ secretKey: '0123456789abcdef0123456789abcdef' })
    Model.knex(database.knex)
  })
}
