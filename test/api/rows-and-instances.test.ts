/** Answers are the same from rows, from instances and from PostgreSQL, and keep no connection. */
import type { Knex } from 'knex'
import { ChoiceField, JSONField, MultipleChoiceField, NestedSerializer } from 'koa-viewsets'
import { type JSONSchema, knexSnakeCaseMappers, Model } from 'objection'
import { describe, expect, it } from 'vitest'
import { serveApp } from '../support/client.js'
import { undescribed } from '../support/contract.js'
import {
  BookView,
  database,
  poolOf,
  type Queryset,
  querying,
  throughInstances,
  useReviewedBooks,
} from '../support/reviewed-books.js'
import { routerOf, serializerOf, serveViews, viewOf } from '../support/views.js'

useReviewedBooks()

function usedConnections(knex: Knex): number {
  return knex.client.pool.numUsed()
}

describe('[P14 E22] the answer is the same from rows, instances and PostgreSQL', () => {
  it('where knex maps the names', async () => {
    const knex = poolOf(knexSnakeCaseMappers())
    class Writer extends Model {
      static override tableName = 'authors'
    }
    class Person extends Model {
      static override tableName = 'people'
      static override relationMappings = () => ({
        author: {
          relation: Model.BelongsToOneRelation,
          modelClass: Writer,
          join: { from: 'people.authorId', to: 'authors.id' },
        },
      })
    }
    Writer.knex(knex)
    Person.knex(knex)
    try {
      const serializer = serializerOf(Person, ['id', 'firstName', 'authorId'], {
        writtenBy: new NestedSerializer(serializerOf(Writer, ['id', 'name']), { readOnly: true, source: 'author' }),
      })
      const client = await serveViews({
        rows: viewOf(Person, serializer),
        native: viewOf(Person, serializer, { useNativeJson: true }),
        instances: viewOf(Person, throughInstances(serializer)),
      })
      const person = { id: 1, firstName: 'n1', authorId: 1, writtenBy: { id: 1, name: 'Ada' } }
      for (const path of ['/rows', '/native', '/instances']) {
        expect((await client.get(`${path}/1`)).json).toEqual(person)
        expect((await client.get(path)).json[0]).toEqual(person)
      }
    } finally {
      await knex.destroy()
    }
  })

  it('where the model has an accessor', async () => {
    class Starred extends Model {
      static override tableName = 'books'
      #title = ''

      get title(): string {
        return `** ${this.#title}`
      }

      set title(value: string) {
        this.#title = value
      }
    }
    const serializer = serializerOf(Starred, ['id', 'title'])
    const first = (query: Queryset) => query.where('id', 1)
    const client = await serveViews({
      rows: querying(viewOf(Starred, serializer), first),
      native: querying(viewOf(Starred, serializer, { useNativeJson: true }), first),
      instances: querying(viewOf(Starred, throughInstances(serializer)), first),
    })
    for (const path of ['/rows', '/native', '/instances']) {
      expect((await client.get(path)).json).toEqual([{ id: 1, title: '** title 1' }])
      expect((await client.get(`${path}/1`)).json).toEqual({ id: 1, title: '** title 1' })
    }
  })

  it('where a text column keeps JSON', async () => {
    class Configured extends Model {
      static override tableName = 'books'
      static override jsonAttributes = ['settings']
    }
    const serializer = serializerOf(Configured, ['id'], { settings: new JSONField({ required: false }) })
    const client = await serveViews({
      rows: viewOf(Configured, serializer),
      native: viewOf(Configured, serializer, { useNativeJson: true }),
      instances: viewOf(Configured, throughInstances(serializer)),
    })
    for (const path of ['/rows', '/native', '/instances']) {
      expect((await client.get(`${path}/1`)).json).toEqual({ id: 1, settings: { a: 1 } })
      expect((await client.get(path)).json).toContainEqual({ id: 1, settings: { a: 1 } })
      expect((await client.send('PATCH', `${path}/1`, {})).json).toEqual({ id: 1, settings: { a: 1 } })
      const { status, json } = await client.send('POST', path, { settings: { b: [1, null] } })
      expect({ status, json }).toMatchObject({ status: 201, json: { settings: { b: [1, null] } } })
      expect((await client.get(`${path}/${json.id}`)).json).toEqual(json)
    }
  })

  it('where a text column keeps JSON that no field is declared for', async () => {
    await database.knex.raw(
      'create table sketches (id serial primary key, meta text, tags varchar(9) check (length(tags) < 9) not null)',
    )
    const properties = { meta: { type: ['object', 'null'] }, tags: { type: 'array' } }
    class Named extends Model {
      static override tableName = 'sketches'
      static override jsonAttributes = ['meta', 'tags']
    }
    class Described extends Model {
      static override tableName = 'sketches'
      static override jsonSchema = { type: 'object', properties } as JSONSchema
    }
    for (const model of [Named, Described]) {
      const client = await serveViews({ sketches: viewOf(model, serializerOf(model, ['id', 'meta', 'tags'])) })
      const { status, json } = await client.send('POST', '/sketches', { meta: { a: 1.5 }, tags: ['x'] })
      expect({ status, json }).toMatchObject({ status: 201, json: { meta: { a: 1.5 }, tags: ['x'] } })
      expect((await client.send('PUT', `/sketches/${json.id}`, json)).json).toEqual(json)
      const changed = await client.send('PATCH', `/sketches/${json.id}`, { meta: null, tags: [] })
      expect(changed.json).toEqual({ id: json.id, meta: null, tags: [] })
      expect((await client.get('/sketches')).json).toContainEqual(changed.json)
      expect((await client.send('PATCH', `/sketches/${json.id}`, { tags: ['too long'] })).status).toBe(400)
    }
  })
})

describe('[P14] A listener of the pool that throws', () => {
  it('keeps no connection', async () => {
    const knex = poolOf({ pool: { min: 0, max: 2 }, acquireConnectionTimeout: 2_000 })
    const view = class extends BookView {
      override getKnex(): Knex {
        return knex
      }
    }
    try {
      const client = await serveViews({ books: view })
      const listener = () => {
        throw new Error('of the listener')
      }
      knex.on('query', listener)
      for (let time = 0; time < 3; time += 1) {
        for (const path of ['/books', '/books/1']) expect((await client.get(path)).status).toBe(500)
        expect(usedConnections(knex)).toBe(0)
      }
      knex.removeListener('query', listener)
      expect((await client.get('/books/1')).status).toBe(200)
    } finally {
      await knex.destroy()
    }
  })
})

describe('[P14] Choices of numbers', () => {
  it('are shown as what they are chosen by, whatever type their column has', async () => {
    await database.knex.raw(`
      create table levels (id serial primary key, large bigint, exact numeric(4, 2), small int, word text, many bigint[]);
      insert into levels (large, exact, small, word, many) values (1, 7, 2, '3', '{1,2}'), (9, 7.5, 9, '9', '{9}')`)
    class Level extends Model {
      static override tableName = 'levels'
    }
    const choices = [0, 1, 2, 3, 7]
    const serializer = serializerOf(Level, ['id', 'large', 'exact', 'small', 'word', 'many'], {
      large: new ChoiceField({ choices }),
      exact: new ChoiceField({ choices }),
      small: new ChoiceField({ choices }),
      word: new ChoiceField({ choices: [3, 'word'] }),
      many: new MultipleChoiceField({ choices }),
    })
    const api = routerOf({
      rows: viewOf(Level, serializer),
      native: viewOf(Level, serializer, { useNativeJson: true }),
      instances: viewOf(Level, throughInstances(serializer)),
    })
    await api.prepare()
    // what is no choice any more is not in the document either
    const client = await serveApp(undescribed(api.routes()))
    const level = { id: 1, large: 1, exact: 7, small: 2, word: 3, many: [1, 2] }
    for (const path of ['/rows', '/native', '/instances']) {
      expect((await client.get(`${path}/1`)).json).toEqual(level)
      expect(await client.send('PUT', `${path}/1`, level)).toMatchObject({ status: 200, json: level })
      // what is no choice any more is shown as it is
      expect((await client.get(path)).json[1]).toMatchObject({ large: '9', exact: '7.50', small: 9, word: '9' })
    }
  })
})
