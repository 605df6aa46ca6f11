/** What writes store: of rows without values, and of objects that share columns, rows or nested objects. */
import { modelSerializer, NestedSerializer } from 'koa-viewsets'
import { Model } from 'objection'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { serveViews, tableOf, viewOf } from '../support/views.js'

const SCHEMA = `
  create table authors (id int generated always as identity primary key, name text default 'x');
  create table posts (id int generated always as identity primary key, title text, author_id int references authors);
  create table tags (id int generated always as identity primary key, label text default 'l', post_id int references posts);
`

let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase({ schema: SCHEMA })
  Model.knex(database.knex)
})
afterAll(() => database.drop())

const Author = tableOf('authors')
const Tag = tableOf('tags')
const Post = tableOf('posts', {
  relationMappings: () => ({
    tags: { relation: Model.HasManyRelation, modelClass: Tag, join: { from: 'posts.id', to: 'tags.post_id' } },
    author: {
      relation: Model.BelongsToOneRelation,
      modelClass: Author,
      join: { from: 'posts.author_id', to: 'authors.id' },
    },
  }),
})

describe('rows that set no column', () => {
  const optional = { required: false }
  const AuthorSerializer = modelSerializer(Author, { fields: ['id', 'name'], extraKwargs: { name: optional } })
  const TagSerializer = modelSerializer(Tag, { fields: ['id', 'label'], extraKwargs: { label: optional } })
  const PostSerializer = modelSerializer(Post, {
    fields: ['id', 'title', 'tags', 'author'],
    declaredFields: {
      tags: new NestedSerializer(TagSerializer, { many: true, required: false }),
      author: new NestedSerializer(AuthorSerializer, { required: false, allowNull: true }),
    },
  })
  class Hooked extends Tag {
    override $beforeInsert() {
      Object.assign(this, { label: 'hook' })
    }
  }
  const HookedSerializer = modelSerializer(Hooked, { fields: ['id', 'label'], extraKwargs: { label: optional } })
  const views = {
    posts: viewOf(Post, PostSerializer),
    tags: viewOf(Tag, TagSerializer),
    hooked: viewOf(Hooked, HookedSerializer),
  }

  beforeEach(() => database.knex.raw('truncate authors, posts, tags restart identity cascade'))

  it.each([1, 2, 3])('are inserted together, %i of them: nested, in bulk, as rows and as instances', async (count) => {
    const client = await serveViews(views)
    const empty = Array.from({ length: count }, () => ({}))
    const labels = (label: string) => empty.map(() => expect.objectContaining({ label }))
    const nested = await client.send('POST', '/posts', { title: 'a', tags: empty })
    expect(nested).toMatchObject({ status: 201, json: { tags: labels('l') } })
    const pointed = await client.send(
      'POST',
      '/posts/bulk',
      empty.map(() => ({ author: {} })),
    )
    expect(pointed).toMatchObject({ status: 201, json: empty.map(() => ({ author: { name: 'x' } })) })
    expect(await client.send('POST', '/posts/bulk', empty)).toMatchObject({
      status: 201,
      json: empty.map(() => ({ tags: [] })),
    })
    expect(await client.send('POST', '/tags/bulk', empty)).toMatchObject({ status: 201, json: labels('l') })
    expect(await client.send('POST', '/hooked/bulk', empty)).toMatchObject({ status: 201, json: labels('hook') })
    const { rows } = await database.knex.raw('select id from tags')
    expect(new Set(rows.map(({ id }: { id: number }) => id)).size).toBe(3 * count)
  })
})
