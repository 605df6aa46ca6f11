/** A list of keys is a set: a link that somebody else makes while it is written is one of it. */
import knexLibrary, { type Knex } from 'knex'
import { type DeclaredFields, PrimaryKeyRelatedField, SlugRelatedField } from 'koa-viewsets'
import { knexSnakeCaseMappers, Model } from 'objection'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Client } from '../support/client.js'
import { database, Genre, useLibrary } from '../support/library.js'
import { routerOf, serializerOf, serveRouter, tableOf, viewOf } from '../support/views.js'
import { whileHeld } from '../support/waiting.js'

/** Join tables, by what PostgreSQL lets be there once. */
const JOINS = {
  keyed: 'book_id int references books, tag_id int references genres, primary key (book_id, tag_id)',
  turned: 'book_id int references books, tag_id int references genres, n int, primary key (tag_id, book_id)',
  numbered:
    'id int generated always as identity primary key, book_id int references books, tag_id int references genres, unique (book_id, tag_id)',
  // what a link breaks else is told
  single: 'book_id int references books, tag_id int references genres, primary key (book_id, tag_id), unique (tag_id)',
  late: 'book_id int references books, tag_id int references genres, unique (book_id, tag_id) deferrable',
  secured: 'book_id int references books, tag_id int references genres, primary key (book_id, tag_id)',
} as const
type Join = keyof typeof JOINS

useLibrary({
  sql: `
    alter table genres add unique (name);
    insert into genres (name) values ('tag 1'), ('tag 2'), ('tag 3');
    ${Object.entries(JOINS)
      .map(([name, columns]) => `create table ${name} (${columns});`)
      .join('\n')}
    alter table secured enable row level security;`,
  rows: "insert into books (title) values ('One'), ('Two')",
})

class Link extends Model {}
class CountedLink extends Model {
  override $afterInsert() {
    counted++
  }
}
let counted = 0

function models(join: Join, link?: typeof Model) {
  const through = { from: `${join}.book_id`, to: `${join}.tag_id` }
  const modelClass = link && Object.assign(class extends link {}, { tableName: join, idColumn: ['book_id', 'tag_id'] })
  const Book = tableOf('books', {
    relationMappings: {
      tags: {
        relation: Model.ManyToManyRelation,
        modelClass: Genre,
        join: { from: 'books.id', through: { ...through, ...(modelClass && { modelClass }) }, to: 'genres.id' },
      },
    },
  })
  return Book
}

async function served(join: Join, link?: typeof Model): Promise<Client> {
  const Book = models(join, link)
  const tags: Record<string, DeclaredFields> = {
    keys: { tags: new PrimaryKeyRelatedField({ queryset: Genre, many: true }) },
    slugs: { tags: new SlugRelatedField({ queryset: Genre, slugField: 'name', many: true }) },
  }
  const views = Object.entries(tags).map(([name, declared]) => {
    return [name, viewOf(Book, serializerOf(Book, ['id', 'title', 'tags'], declared))] as const
  })
  return serveRouter(routerOf(Object.fromEntries(views)))
}

/** What is answered to a request that finds another about to make the same link. */
const meanwhile = (join: Join, link: object, request: () => ReturnType<Client['send']>) =>
  whileHeld(database.knex, (other) => other(join).insert(link), request)

const linksOf = async (join: Join) => {
  const rows = await database.knex(join).select('book_id', 'tag_id').orderBy(['book_id', 'tag_id'])
  return rows.map(({ book_id, tag_id }) => `${book_id}-${tag_id}`)
}

const patch = ({ send }: Client) => send('PATCH', '/keys/1', { tags: [1, 2] })
const REQUESTS: Readonly<Record<string, (client: Client) => ReturnType<Client['send']>>> = {
  PATCH: patch,
  PUT: ({ send }) => send('PUT', '/keys/1', { id: 1, title: 'new', tags: [2, 1] }),
  'a bulk PATCH': ({ send }) => send('PATCH', '/keys/bulk', [{ id: 2 }, { id: 1, tags: [1, 2] }]),
  'a PATCH of slugs': ({ send }) => send('PATCH', '/slugs/1', { tags: ['tag 1', 'tag 2'] }),
}

describe.each<[Join, typeof Model | undefined]>([
  ['keyed', undefined],
  ['turned', undefined],
  ['numbered', undefined],
  ['keyed', Link],
  ['numbered', Link],
])('the join table %s (of the class %o)', (join, link) => {
  it.each(Object.entries(REQUESTS))('%s takes a link that is there meanwhile', async (_, request) => {
    const client = await served(join, link)
    const answer = await meanwhile(join, { book_id: 1, tag_id: 1 }, () => request(client))
    expect(answer.text).toMatch(/"id":1.*"tags":\[(?:1,2|"tag 1","tag 2")\]/)
    expect(answer.status).toBe(200)
    expect(await linksOf(join)).toEqual(['1-1', '1-2'])
  })
})

describe('a join table that is named in camel case', () => {
  it('by the mappers of knex takes a link that is there meanwhile', async () => {
    const knex = knexLibrary({
      client: 'pg',
      connection: database.connection as Knex.PgConnectionConfig,
      ...knexSnakeCaseMappers(),
    })
    onTestFinished(() => knex.destroy())
    const Tag = tableOf('genres')
    const through = { from: 'numbered.bookId', to: 'numbered.tagId' }
    const tags = {
      relation: Model.ManyToManyRelation,
      modelClass: Tag,
      join: { from: 'books.id', through, to: 'genres.id' },
    }
    const Book = tableOf('books', { relationMappings: { tags } })
    for (const model of [Book, Tag]) model.knex(knex)
    const declared = { tags: new PrimaryKeyRelatedField({ queryset: Tag, many: true }) }
    const client = await serveRouter(routerOf({ keys: viewOf(Book, serializerOf(Book, ['id', 'tags'], declared)) }))
    const answer = await meanwhile('numbered', { book_id: 1, tag_id: 1 }, () => patch(client))
    expect(JSON.parse(answer.text)).toEqual({ id: 1, tags: [1, 2] })
    expect(await linksOf('numbered')).toEqual(['1-1', '1-2'])
  })
})

describe('what is no link that was asked for is refused as before:', () => {
  const messages = { tags: { non_field_errors: ['This field must be unique.'] } }
  const REFUSED = { detail: 'Validation failed', status: 400, errors: messages }

  it('a tag that only one book may have', async () => {
    const client = await served('single')
    const answer = await meanwhile('single', { book_id: 2, tag_id: 1 }, () => patch(client))
    expect(JSON.parse(answer.text)).toEqual(REFUSED)
    expect(await linksOf('single')).toEqual(['2-1'])
  })

  it.each<[what: string, join: Join, link: typeof Model | undefined]>([
    ['a key that is checked later', 'late', undefined],
    ['a table whose policies may hide the link', 'secured', undefined],
    ['a class that counts its rows', 'keyed', CountedLink],
  ])('%s', async (_, join, link) => {
    const client = await served(join, link)
    const answer = await meanwhile(join, { book_id: 1, tag_id: 1 }, () => patch(client))
    expect(JSON.parse(answer.text)).toEqual(REFUSED)
    expect(await linksOf(join)).toEqual(['1-1'])
    expect(counted).toBe(0)
  })
})
