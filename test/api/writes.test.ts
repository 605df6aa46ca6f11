/** A create and a delete by models and serializers of many kinds. */
import { HiddenField, StringField } from 'koa-viewsets'
import { Model, raw } from 'objection'
import { describe, expect, it } from 'vitest'
import { serveApp } from '../support/client.js'
import { Book, database, OPTIONAL, poolOf, useReviewedBooks, Wide } from '../support/reviewed-books.js'
import { type SerializerClass, serializerOf, serveViews, viewOf } from '../support/views.js'

useReviewedBooks()

describe('[P14] A delete', () => {
  it('answers 403 when the row stays, as where a trigger keeps it', async () => {
    class Kept extends Model {
      static override tableName = 'kept'
    }
    await database.knex.raw(`
      create table kept (id int primary key);
      insert into kept values (1);
      create function keep() returns trigger language plpgsql as 'begin return null; end';
      create trigger keep before delete on kept for each row execute function keep()`)
    const client = await serveViews({ kept: viewOf(Kept, serializerOf(Kept, ['id'])) })
    expect((await client.send('DELETE', '/kept/1')).status).toBe(403)
    expect((await client.send('DELETE', '/kept/bulk', [1])).status).toBe(403)
    expect((await client.get('/kept/1')).status).toBe(200)
    class Mine extends viewOf(Kept, serializerOf(Kept, ['id'])) {
      override async getObject(): Promise<any> {
        return this.getQueryset().findById(1)
      }
    }
    const mine = await serveApp(Mine.asView({ delete: 'destroy' }) as never)
    expect((await mine.send('DELETE', '/mine')).status).toBe(403)
  })

  it('may be a soft one', async () => {
    class Soft extends Model {
      static override tableName = 'soft'
      declare gone: boolean
    }
    class SoftView extends viewOf(Soft, serializerOf(Soft, ['id'])) {
      override getQueryset(): any {
        return super.getQueryset().where('gone', false)
      }
      override async performDestroy(instance: Soft) {
        return instance.$query(this.trx).patch({ gone: true })
      }
    }
    await database.knex.raw('create table soft (id int primary key, gone bool not null default false)')
    await database.knex('soft').insert({ id: 1 })
    const client = await serveViews({ soft: SoftView })
    expect((await client.send('DELETE', '/soft/1')).status).toBe(204)
    expect((await client.send('DELETE', '/soft/1')).status).toBe(404)
    expect(await database.knex('soft')).toEqual([{ id: 1, gone: true }])
  })
})

describe('[P14] A create', () => {
  /** The serializer, and one whose hook keeps it from inserting by one statement. */
  const ways = (serializer: SerializerClass) => ({
    rows: viewOf(Book, serializer),
    hooked: viewOf(
      Book,
      class extends serializer {
        override validate(values: Record<string, unknown>) {
          return values
        }
      },
    ),
  })

  it.each<[string, () => unknown]>([
    ['Objection', () => raw('now()')],
    ['knex', () => database.knex.raw('now()')],
    ['knex.fn', () => database.knex.fn.now()],
  ])('stores a default that is an expression of %s', async (_, value) => {
    const made = new HiddenField({ default: value })
    const client = await serveViews(ways(serializerOf(Book, ['id', 'title'], { made })))
    for (const path of ['/rows', '/hooked']) {
      const { status, json } = await client.send('POST', path, { title: 'made' })
      expect(status).toBe(201)
      const [row] = await database.knex('books').where('id', json.id).select('made')
      expect(Math.abs(Date.now() - row.made)).toBeLessThan(60_000)
    }
  })

  it('leaves no row when its answer cannot be written', async () => {
    class Failing extends StringField {
      override toRepresentation(): unknown {
        throw new Error('it fails')
      }
    }
    const client = await serveViews(ways(serializerOf(Book, ['id'], { title: new Failing() })))
    for (const path of ['/rows', '/hooked']) {
      expect((await client.send('POST', path, { title: 'ghost' })).status).toBe(500)
    }
    expect(await database.knex('books').where('title', 'ghost')).toEqual([])
  })

  it('gives the Location of its own view where views share a serializer', async () => {
    const serializer = serializerOf(Book, ['id', 'slug', 'title'])
    const client = await serveViews({
      ids: viewOf(Book, serializer),
      slugs: viewOf(Book, serializer, { lookupField: 'slug' }),
    })
    const first = await client.send('POST', '/ids', { slug: 'first' })
    expect(first.headers.location).toMatch(new RegExp(`/ids/${first.json.id}$`))
    const second = await client.send('POST', '/slugs', { slug: 'second' })
    expect(second.headers.location).toMatch(/\/slugs\/second$/)
    const third = await client.send('POST', '/ids', { slug: 'third' })
    expect(third.headers.location).toMatch(new RegExp(`/ids/${third.json.id}$`))
  })

  it('keeps at most 500 statements, whatever columns clients leave out', { timeout: 60_000 }, async () => {
    const knex = poolOf({ pool: { min: 0, max: 1 } })
    Wide.knex(knex)
    // The texts of inserts that are kept anywhere, by the map that keeps them.
    const kept = new Map<Map<unknown, unknown>, number>()
    const { set } = Map.prototype
    Map.prototype.set = function (key, value) {
      const result = set.call(this, key, value)
      if (this !== kept && /^insert\b/i.test(String(key))) set.call(kept, this, this.size)
      return result
    }
    try {
      const client = await serveViews({ wide: viewOf(Wide, serializerOf(Wide, ['id', ...OPTIONAL])) })
      for (let shape = 0; shape < 700; shape += 1) {
        const names = OPTIONAL.filter((__, index) => shape & (2 ** index))
        const { status } = await client.send('POST', '/wide', Object.fromEntries(names.map((name) => [name, shape])))
        expect(status).toBe(201)
      }
      for (const size of kept.values()) expect(size).toBeLessThanOrEqual(500)
      const { rows } = await knex.raw('select name from pg_prepared_statements')
      expect(rows.length).toBeLessThanOrEqual(500)
      expect((await database.knex('wide').count())[0]).toEqual({ count: '700' })
    } finally {
      Map.prototype.set = set
      await knex.destroy()
    }
  })
})
