/** One transaction with other libraries: they write by the client of a request, and view sets within transactions of theirs. */
import { drizzle } from 'drizzle-orm/node-postgres'
import { integer, pgTable, serial, text } from 'drizzle-orm/pg-core'
import {
  APIRouter,
  afterCommit,
  ConfigurationError,
  modelSerializer,
  modelViewSet,
  type PgClient,
  withClient,
} from 'koa-viewsets'
import { errors } from 'koa-viewsets/plugins'
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Client, serving } from '../support/client.js'
import { Book, database, useLibrary } from '../support/library.js'
import { runsAsRole } from '../support/roles.js'

class BookSerializer extends modelSerializer(Book, { fields: ['id', 'title'] }) {}
const audits = pgTable('audits', { id: serial('id').primaryKey(), book: integer('book'), note: text('note').notNull() })
interface Tables {
  audits: { id: number; book: number | null; note: string }
}

/** A Kysely that works on one client. */
function kyselyOn(client: PgClient): Kysely<Tables> {
  const lent = { query: (text: string, values: readonly unknown[]) => client.query(text, values), release() {} }
  return new Kysely({
    dialect: new PostgresDialect({ pool: { connect: async () => lent, end: async () => {} } as never }),
  })
}

const OTHERS: Readonly<Record<string, (client: PgClient) => Promise<unknown>>> = {
  'taken back': async (client) => {
    const db = drizzle(client as pg.PoolClient)
    const failing = db.transaction(async (tx) => {
      await tx.insert(audits).values({ note: 'undone' })
      await tx.transaction((inner) => inner.insert(audits).values({ note: 'undone, too' }))
      // a function that begins one by itself
      await db.transaction((other) => other.rollback()).catch(() => undefined)
      throw new Error('theirs')
    })
    await failing.catch(() => undefined)
    await db.transaction((tx) => tx.insert(audits).values({ note: 'kept' }))
  },
  commit: (client) => client.query('commit'),
  '/* of a /* tool */ */ COMMIT': (client) => client.query('/* of a /* tool */ */ COMMIT'),
  'commit after a quote': (client) => client.query(`--'\n;commit--'`),
  'prepare transaction': (client) => client.query(`prepare transaction 'theirs'`),
  several: (client) => client.query(`begin; insert into audits (note) values ('lost'); commit`),
  'words in quotes': (client) =>
    client.query(`
      create function pg_temp.own(n int) returns int begin atomic select 1; select case n when 1 then 2 end; end;
      do $theirs$ begin perform 1; end $theirs$;
      insert into audits (note) values (E'\\'; commit; ''begin'), ('; end') /* ; abort; /* */ ; commit */`),
  rollback: (client) => client.query(' ROLLBACK'),
  'start transaction read only': (client) =>
    kyselyOn(client)
      .transaction()
      .setAccessMode('read only')
      .execute((trx) =>
        trx
          .insertInto('audits')
          .values({ note: 'written' } as never)
          .execute(),
      ),
  'begin isolation level serializable': (client) => client.query('begin isolation level serializable'),
  kept: async (client) => {
    kept[0] = client
  },
}
const kept: PgClient[] = []
const WRITERS: Readonly<Record<string, (client: PgClient, book: number | null, note: string) => Promise<unknown>>> = {
  drizzle: (client, book, note) =>
    drizzle(client as pg.PoolClient)
      .insert(audits)
      .values({ book, note }),
  kysely: (client, book, note) =>
    kyselyOn(client)
      .insertInto('audits')
      .values({ book, note } as never)
      .execute(),
  'transaction() of drizzle': (client, book, note) =>
    drizzle(client as pg.PoolClient).transaction((tx) => tx.insert(audits).values({ book, note })),
  'transaction() of kysely': (client, book, note) =>
    kyselyOn(client)
      .transaction()
      .execute((trx) =>
        trx
          .insertInto('audits')
          .values({ book, note } as never)
          .execute(),
      ),
  pg: (client, book, note) => client.query('insert into audits (book, note) values ($1, $2)', [book, note]),
}

class Books extends modelViewSet(Book, { serializerClass: BookSerializer }) {
  override async performCreate(serializer: BookSerializer) {
    const { id } = (await serializer.save()) as unknown as { id: number }
    const way = this.ctx.get('X-Way')
    await (WRITERS[way] ?? OTHERS[way])?.(this.client, id, 'made')
    if (this.ctx.get('X-Fail') === 'throw') throw new Error('no')
    if (this.ctx.get('X-Fail') === 'swallow') await this.client.query('select 1 / 0').catch(() => undefined)
  }
}
class Reading extends Books {
  override async getList() {
    return this.client
  }
}
class Within extends Books {
  override getKnex() {
    return this.ctx.state['trx'] as never
  }
}

useLibrary({
  sql: `
    alter table books add unique (title);
    create table audits (id serial primary key, book int references books, note text not null)`,
  rows: 'truncate audits restart identity',
})

let pool: pg.Pool
let client: Client
beforeAll(async () => {
  pool = new pg.Pool({ ...database.connection, max: 3 })
  const api = new APIRouter()
    .register('books', Books, 'books')
    .register('reading', Reading, 'reading')
    .register('within', Within, 'within')
  await api.prepare()
  const theirs = async (
    ctx: { state: Record<string, unknown>; get(name: string): string; status: number },
    next: () => Promise<void>,
  ) => {
    if (ctx.get('X-Theirs') === '') return next()
    const own = await pool.connect()
    try {
      await drizzle(own).transaction(async (tx) => {
        await tx.insert(audits).values({ note: 'theirs' })
        await withClient(own, async (trx) => {
          ctx.state['trx'] = trx
          afterCommit(trx, () => done.push('committed'))
          await next()
        })
        if (ctx.get('X-Theirs') === 'fail') throw new Error('theirs')
      })
    } finally {
      own.release()
    }
  }
  client = await serving(errors(), theirs as never, api.routes())
})
const done: string[] = []
beforeEach(() => {
  done.length = 0
})
afterAll(async () => {
  await client.close()
  await pool.end()
})

const counts = async () => {
  const [books, notes] = [await database.knex('books').count(), await database.knex('audits').count()]
  return [Number(books[0]?.count), Number(notes[0]?.count)]
}

describe.each(Object.keys(WRITERS))('by this.client of a request, %s', (way) => {
  it('is committed with what the request writes', async () => {
    expect((await client.send('POST', '/books', { title: 'a' }, { 'X-Way': way })).status).toBe(201)
    expect(await counts()).toEqual([1, 1])
    const [note] = await database.knex('audits')
    const [book] = await database.knex('books')
    expect(note).toMatchObject({ book: book.id, note: 'made' })
  })

  it('is undone with it, 100 times of 100', async () => {
    const fails = ['throw', 'swallow']
    const sent = Array.from({ length: 100 }, (_, index) => {
      const headers = { 'X-Way': way, 'X-Fail': fails[index % 2] as string }
      return client.send('POST', '/books', { title: `b${index}` }, headers)
    })
    const statuses = new Set((await Promise.all(sent)).map(({ status }) => status))
    expect([...statuses]).toEqual([500])
    expect(await counts()).toEqual([0, 0])
  })
})

describe('this.client', () => {
  it('has a transaction of theirs as a savepoint, which they roll back alone', async () => {
    const answer = await client.send('POST', '/books', { title: 'a' }, { 'X-Way': 'taken back' })
    expect(answer.status).toBe(201)
    expect(await counts()).toEqual([1, 1])
  })

  it.each([
    ['commit', 'is not theirs to end'],
    ['rollback', 'is not theirs to end'],
    ['/* of a /* tool */ */ COMMIT', 'is not theirs to end'],
    ['commit after a quote', 'is not theirs to end'],
    ['prepare transaction', 'is not theirs to end'],
    ['several', 'is begun and ended by no text of several statements'],
    ['start transaction read only', 'may write'],
    ['begin isolation level serializable', 'has an isolation level of its own'],
  ])('lets nobody end the transaction: %s', async (text, message) => {
    const { length } = client.reported
    expect((await client.send('POST', '/books', { title: 'a' }, { 'X-Way': text })).status).toBe(500)
    expect(String(client.reported.at(length))).toContain(`this.client: the transaction of the request ${message}`)
    expect(await counts()).toEqual([0, 0])
  })

  it('takes words of strings, comments and code for none that end it', async () => {
    const answer = await client.send('POST', '/books', { title: 'a' }, { 'X-Way': 'words in quotes' })
    expect(answer.status).toBe(201)
    expect((await database.knex('audits')).map(({ note }) => note)).toEqual([`'; commit; 'begin`, '; end'])
  })

  it.each([
    ['committed', 201, ''],
    ['taken back', 500, 'throw'],
  ])("sends nothing after the transaction is %s, as the connection is another request's", async (_, status, fail) => {
    expect((await client.send('POST', '/books', { title: 'a' }, { 'X-Fail': fail, 'X-Way': 'kept' })).status).toBe(
      status,
    )
    const late = async () => kept[0]?.query(`insert into audits (note) values ('late')`)
    await expect(late()).rejects.toThrow('this.client: the transaction of the request has ended')
    expect((await counts())[1]).toBe(0)
  })

  it('is an error where there is no transaction', async () => {
    const { length } = client.reported
    expect((await client.get('/reading')).status).toBe(500)
    expect(String(client.reported.at(length))).toContain('Reading.list(): this.client is of the request')
  })
})

describe('withClient()', () => {
  it.skipIf(runsAsRole())('has a view set work within their transaction, and waits for its end', async () => {
    const made = await client.send('POST', '/within', { title: 'a' }, { 'X-Theirs': 'yes', 'X-Way': 'pg' })
    expect(made).toMatchObject({ status: 201, json: { title: 'a' } })
    expect(await counts()).toEqual([1, 2])
    await expect.poll(() => done).toEqual(['committed'])
  })

  it('has theirs and ours undone together, 100 times of 100', async () => {
    for (let index = 0; index < 100; index++) {
      const answer = client.send('POST', '/within', { title: `b${index}` }, { 'X-Theirs': 'fail', 'X-Way': 'kysely' })
      expect((await answer).status).toBe(500)
    }
    expect(await counts()).toEqual([0, 0])
    expect(done).toEqual([])
  })

  it('takes back what its own work has written, and leaves theirs', async () => {
    const own = await pool.connect()
    await own.query('begin')
    await own.query("insert into audits (note) values ('theirs')")
    const failing = withClient(own, async (trx) => {
      const serializer = new BookSerializer({ inputData: { title: 'a' }, context: { knex: trx } })
      await serializer.isValid({ raiseException: true })
      await serializer.save()
      throw new Error('no')
    })
    await expect(failing).rejects.toThrow('no')
    const saved = await withClient(own, async (trx) => {
      const serializer = new BookSerializer({ inputData: { title: 'b' }, context: { knex: trx } })
      await serializer.isValid({ raiseException: true })
      return serializer.save()
    })
    expect(saved.title).toBe('b')
    await own.query('commit')
    own.release()
    expect(await counts()).toEqual([1, 1])
  })

  it('takes back no work of others that is begun at once, within it and beside it', async () => {
    const own = await pool.connect()
    await own.query('begin')
    const write = (note: string, fails: boolean) =>
      withClient(own, async (trx) => {
        await trx('audits').insert({ note })
        for (let statement = 0; statement < 9 && fails; statement++) await trx.raw('select 1')
        if (fails) throw new Error(note)
      })
    const both = (note: string) => Promise.allSettled([write(`${note} lost`, true), write(`${note} kept`, false)])
    await withClient(own, () => both('within'))
    const beside = await both('beside')
    expect(beside.map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
    await own.query('commit')
    own.release()
    const { rows } = await pool.query<{ note: string }>('select note from audits order by note')
    expect(rows.map(({ note }) => note)).toEqual(['beside kept', 'within kept'])
  })

  it.each(['commit; select 1', 'savepoint theirs; rollback to theirs; commit; select 1'])(
    'knows what became of it by one text of several statements: %s',
    async (sql) => {
      const own = await pool.connect()
      await own.query('begin')
      await withClient(own, async (trx) => afterCommit(trx, () => done.push('committed')))
      await own.query(sql)
      own.release()
      await expect.poll(() => done).toEqual(['committed'])
    },
  )

  it('needs a transaction', async () => {
    const own = await pool.connect()
    await expect(withClient(own, async () => undefined)).rejects.toThrow(ConfigurationError)
    own.release()
    expect(own.listenerCount('error')).toBeLessThan(3)
  })
})
