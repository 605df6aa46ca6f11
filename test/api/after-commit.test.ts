/** Work that waits for COMMIT: `afterCommit()` of views, hooks of models and routes of one's own. */

import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import knexOf, { type Knex } from 'knex'
import type Koa from 'koa'
import type { Model, QueryContext } from 'objection'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import {
  APIRouter,
  APIView,
  action,
  afterCommit,
  BulkModelViewSet,
  ConfigurationError,
  type Context,
  ModelSerializer,
  ModelViewSet,
  NestedSerializer,
  type Serializer,
} from '../../lib/index.js'
import { errors, transaction } from '../../plugins/index.js'
import { serveApp } from '../support/client.js'
import { Author, Book, BookSerializer, database, useLibrary } from '../support/library.js'
import { startDatabaseProxy } from '../support/proxy.js'
import { requests, runsAsRole } from '../support/roles.js'
import { serveViews, tableOf } from '../support/views.js'

useLibrary()

/** What was done after commits, and whether the row was there for others by then. */
let done: string[]
beforeEach(() => {
  done = []
})

const titles = () => database.knex('books').orderBy('id').pluck('title') as Promise<string[]>
const note = (text: string) => async () => {
  // what is done after a commit has no role of its request's
  const committed = await requests.exit(async () => (await titles()).length)
  done.push(`${text}, ${committed} committed`)
}
const settled = (expected: string[]) => vi.waitFor(() => expect(done).toEqual(expected))
/** What would come has had its time. */
const nothingComes = async () => {
  await delay(50)
  expect(done).toEqual([])
}

class Books extends BulkModelViewSet<Book> {
  static override model = Book
  static override serializerClass = BookSerializer

  override async performCreate(serializer: Serializer<Book>) {
    this.afterCommit(note('first'))
    await super.performCreate(serializer)
    this.afterCommit(note('second'))
  }

  override async performUpdate(serializer: Serializer<Book>, instance: Book) {
    await super.performUpdate(serializer, instance)
    this.afterCommit(note('update'))
  }

  override async performDestroy(instance: Book) {
    await super.performDestroy(instance)
    this.afterCommit(note('destroy'))
  }
}

describe('[I24] afterCommit() of a view', () => {
  it('is done after COMMIT, in order, for each write', async () => {
    const { send } = await serveViews({ books: Books })
    expect((await send('POST', '/books', { title: 'a' })).status).toBe(201)
    await settled(['first, 1 committed', 'second, 1 committed'])
    done = []
    expect((await send('PATCH', '/books/1', { title: 'b' })).status).toBe(200)
    await settled(['update, 1 committed'])
    done = []
    expect((await send('DELETE', '/books/1')).status).toBe(204)
    await settled(['destroy, 0 committed'])
  })

  it('is done once all items of a bulk request are committed', async () => {
    const { send } = await serveViews({ books: Books })
    expect((await send('POST', '/books/bulk', [{ title: 'a' }, { title: 'b' }])).status).toBe(201)
    await settled(['first', 'second', 'first', 'second'].map((text) => `${text}, 2 committed`))
  })

  it('is not done where the request is refused, however that happens', async () => {
    class Refusing extends Books {
      static override responses = { 409: 'It is so.' }
      override async create() {
        const answer = await super.create()
        if ((answer as Book).title !== 'status') return answer
        this.ctx.status = 409
        this.ctx.remove('Location')
        return { detail: 'It is so.', status: 409 }
      }
      override async performCreate(serializer: Serializer<Book>) {
        await super.performCreate(serializer)
        const { title } = serializer.obj as Book
        if (title === 'thrown') throw new Error('no')
        if (title === 'query') await this.trx?.raw('select 1 / 0').catch(() => {})
      }
    }
    const { send, reported } = await serveViews({ books: Refusing })
    expect((await send('POST', '/books', { title: 'status' })).status).toBe(409)
    expect((await send('POST', '/books', { title: 'thrown' })).status).toBe(500)
    expect((await send('POST', '/books', { title: 'query' })).status).toBe(500)
    expect((await send('POST', '/books/bulk', [{ title: 'a' }, { title: 'b', author_id: 999 }])).status).toBe(400)
    await nothingComes()
    expect(reported).toHaveLength(2)
    expect(await titles()).toEqual([])
  })

  it('is not done where a deferred constraint fails at COMMIT', async () => {
    const Shelf = tableOf('shelves')
    class ShelfSerializer extends ModelSerializer {
      static override model = Shelf
      static override fields = ['id', 'code', 'below_id']
    }
    class Shelves extends ModelViewSet<Model> {
      static override model = Shelf
      static override serializerClass = ShelfSerializer
      override async performCreate(serializer: Serializer<Model>) {
        this.afterCommit(note('shelf'))
        await this.trx?.('shelves').insert({ code: 'x', below_id: 999 })
        return super.performCreate(serializer)
      }
    }
    Shelf.knex(database.knex)
    const { send } = await serveViews({ shelves: Shelves })
    expect((await send('POST', '/shelves', { code: 'a' })).status).toBe(400)
    await nothingComes()
  })

  it('follows its savepoint: dropped with it, kept in its place where the request goes on', async () => {
    class Saving extends Books {
      override async performCreate(serializer: Serializer<Book>) {
        this.afterCommit(note('outer'))
        await this.trx?.transaction(async (inner) => {
          afterCommit(inner, note('inner'))
          await inner.transaction(async (innermost) => afterCommit(innermost, note('innermost')))
        })
        await this.trx
          ?.transaction(async (inner) => {
            afterCommit(inner, note('never'))
            await inner.transaction(async (innermost) => afterCommit(innermost, note('nor that')))
            throw new Error('back')
          })
          .catch(() => {})
        const open = await this.trx?.transaction()
        afterCommit(open, note('nor the third'))
        await open?.rollback()
        await serializer.save()
        this.afterCommit(note('last'))
      }
    }
    const { send } = await serveViews({ books: Saving })
    expect((await send('POST', '/books', { title: 'a' })).status).toBe(201)
    await settled(['outer', 'inner', 'innermost', 'last'].map((text) => `${text}, 1 committed`))
  })

  it('is done once where versions of rows are told apart', async () => {
    await database.knex('books').insert({ title: 'a' })
    class Titled extends ModelSerializer<Book> {
      static override model = Book
      static override fields = ['id', 'title']
    }
    class Versioned extends Books {
      static override serializerClass = Titled as never
      static override concurrency = 'n'
    }
    const { send } = await serveViews({ books: Versioned })
    expect((await send('PATCH', '/books/1', { title: 'b' })).status).toBe(200)
    await settled(['update, 1 committed'])
  })

  it('does not hold up the answer', async () => {
    let release = () => {}
    class Slow extends ModelViewSet<Book> {
      static override model = Book
      static override serializerClass = BookSerializer
      override async performCreate(serializer: Serializer<Book>) {
        this.afterCommit(() => new Promise<void>((resolve) => (release = resolve)))
        this.afterCommit(note('after the slow one'))
        return serializer.save()
      }
    }
    const { send } = await serveViews({ books: Slow })
    expect((await send('POST', '/books', { title: 'a' })).status).toBe(201)
    await nothingComes()
    release()
    await settled(['after the slow one, 1 committed'])
  })

  it('reports an error to the app, and goes on with the next', async () => {
    class Failing extends Books {
      override async performCreate(serializer: Serializer<Book>) {
        this.afterCommit(() => {
          throw new Error('the mail server is away')
        })
        this.afterCommit(() => Promise.reject(new Error('so is the queue')))
        await super.performCreate(serializer)
      }
    }
    const { send, reported } = await serveViews({ books: Failing })
    expect((await send('POST', '/books', { title: 'a' })).status).toBe(201)
    await settled(['first, 1 committed', 'second, 1 committed'])
    expect(reported).toEqual([new Error('the mail server is away'), new Error('so is the queue')])
  })

  it('goes on where a listener of the app throws', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    onTestFinished(() => warned.mockRestore())
    class Failing extends Books {
      override async performCreate(serializer: Serializer<Book>) {
        this.afterCommit(() => {
          throw new Error('away')
        })
        await super.performCreate(serializer)
      }
    }
    const { send, app } = await serveViews({ books: Failing })
    app.on('error', () => {
      throw new Error('so is the log')
    })
    expect((await send('POST', '/books', { title: 'a' })).status).toBe(201)
    await settled(['first, 1 committed', 'second, 1 committed'])
    expect(warned).toHaveBeenCalledWith('A listener of the app\'s "error" event has failed: "Error: so is the log"', {
      code: 'KOA_VIEWSETS_ERROR_LISTENER',
    })
  })

  it('waits for the end of the action where there is no transaction', async () => {
    class Plain extends Books {
      static override atomic = false
      override finalizeResponse() {
        super.finalizeResponse()
        if (this.ctx.get('X-Last')) this.afterCommit(note('last'))
      }
      @action({ methods: ['GET'] })
      async shown() {
        this.afterCommit(note('shown'))
        expect(done).toEqual([])
        return { ok: true }
      }
      @action({ methods: ['POST'] })
      async refused() {
        this.afterCommit(note('refused'))
        this.ctx.status = 409
        return { detail: 'no', status: 409 }
      }
    }
    const { send } = await serveViews({ books: Plain })
    expect((await send('GET', '/books/shown')).status).toBe(200)
    await settled(['shown, 0 committed'])
    done = []
    const last = { 'X-Last': '1' }
    expect((await send('GET', '/books/shown', undefined, last)).status).toBe(200)
    await settled(['shown, 0 committed', 'last, 0 committed'])
    done = []
    expect((await send('GET', '/books', undefined, last)).status).toBe(200)
    await settled(['last, 0 committed'])
    done = []
    expect((await send('POST', '/books/refused', undefined, last)).status).toBe(409)
    await nothingComes()
    expect((await send('POST', '/books', { title: 'a' })).status).toBe(201)
    await settled(['first, 1 committed', 'second, 1 committed'])
  })

  it('is there for views without a model', async () => {
    class Job extends APIView {
      override getKnex() {
        return database.knex
      }
      async post() {
        this.afterCommit(note('job'))
        await this.trx?.('books').insert({ title: 'by hand' })
        return { ok: true }
      }
    }
    const { send } = await serveApp(Job.asView())
    expect((await send('POST', '/')).status).toBe(200)
    await settled(['job, 1 committed'])
  })

  it.skipIf(runsAsRole())(
    'waits for the transaction of the application, in which the request is a savepoint',
    async () => {
      class Joined extends Books {
        static override responses = { 409: 'Undone.' }
        override getKnex(): Knex {
          return this.ctx.state['trx']
        }
      }
      const { send } = await serveViews({ books: Joined }, errors(), transaction(database.knex), async (ctx, next) => {
        await next()
        expect(done).toEqual([])
        if (ctx.get('X-Undo')) ctx.throw(409)
      })
      expect((await send('POST', '/books', { title: 'a' })).status).toBe(201)
      await settled(['first, 1 committed', 'second, 1 committed'])
      done = []
      expect((await send('POST', '/books', { title: 'b' }, { 'X-Undo': '1' })).status).toBe(409)
      await nothingComes()
    },
  )

  it('refuses what is no function, and a transaction that has ended', async () => {
    expect(() => afterCommit(database.knex, 'mail' as never)).toThrow(new TypeError('afterCommit(): give a function'))
    const ended = await database.knex.transaction(async (trx) => trx)
    expect(() => afterCommit(ended, note('late'))).toThrow(
      new Error('afterCommit(): the transaction has ended; await what belongs to it'),
    )
  })
})

describe('[I24] afterCommit() of a hook of a model', () => {
  class Welcomed extends Book {
    override $afterInsert({ transaction: trx }: QueryContext) {
      afterCommit(trx, note(`welcome ${this.title}`))
    }
  }
  class WelcomedSerializer extends ModelSerializer<Welcomed> {
    static override model = Welcomed
    static override fields = ['id', 'title', 'author_id']
  }
  class AuthorSerializer extends ModelSerializer<Author> {
    static override model = class Writing extends Author {
      static override relationMappings = () => ({
        books: { ...Author.relationMappings().books, modelClass: Welcomed },
      })
    }
    static override fields = ['id', 'name', 'books']
    static override declaredFields = { books: new NestedSerializer(WelcomedSerializer, { many: true }) }
  }
  class WelcomedBooks extends BulkModelViewSet<Welcomed> {
    static override model = Welcomed
    static override serializerClass = WelcomedSerializer
  }
  class Authors extends ModelViewSet<Author> {
    static override model = AuthorSerializer.model
    static override serializerClass = AuthorSerializer
  }

  it('is done after the COMMIT of the request, of a single row, a list, and nested rows', async () => {
    const { send } = await serveViews({ books: WelcomedBooks, authors: Authors })
    expect((await send('POST', '/books', { title: 'a' })).status).toBe(201)
    await settled(['welcome a, 1 committed'])
    done = []
    expect((await send('POST', '/books/bulk', [{ title: 'b' }, { title: 'c' }])).status).toBe(201)
    await settled(['welcome b, 3 committed', 'welcome c, 3 committed'])
    done = []
    expect((await send('POST', '/authors', { name: 'Cleo', books: [{ title: 'd' }, { title: 'e' }] })).status).toBe(201)
    await settled(['welcome d, 5 committed', 'welcome e, 5 committed'])
    done = []
    expect((await send('POST', '/books/bulk', [{ title: 'f' }, { title: 'g', author_id: 999 }])).status).toBe(400)
    await nothingComes()
  })

  it('is done at once outside of a transaction, and its errors are a warning', async () => {
    await Welcomed.query().insert({ title: 'alone' })
    await settled(['welcome alone, 1 committed'])
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    onTestFinished(() => warned.mockRestore())
    afterCommit(database.knex, () => {
      throw new Error('away\nFAKE LINE')
    })
    await vi.waitFor(() => expect(warned).toHaveBeenCalledOnce())
    expect(warned).toHaveBeenCalledWith('Work after a commit has failed: "Error: away\\nFAKE LINE"', {
      code: 'KOA_VIEWSETS_AFTER_COMMIT',
    })
  })

  it("is not done where PostgreSQL answers COMMIT of the application's own transaction by ROLLBACK", async () => {
    await Book.transaction(async (trx) => {
      await Welcomed.query(trx).insert({ title: 'lost' })
      await trx.raw('select 1 / 0').catch(() => {})
    })
    expect(await titles()).toEqual([])
    await nothingComes()
  })

  it('is done for a transaction that is committed by hand, and not for one that is rolled back', async () => {
    const kept = await Book.startTransaction()
    await Welcomed.query(kept).insert({ title: 'kept' })
    await kept.commit()
    await settled(['welcome kept, 1 committed'])
    done = []
    const lost = await Book.startTransaction()
    await Welcomed.query(lost).insert({ title: 'lost' })
    await lost.rollback()
    await nothingComes()
  })
})

describe.skipIf(runsAsRole())('ctx.afterCommit() of transaction()', () => {
  const served = (handler: (ctx: Context) => Promise<void>) =>
    serveApp(errors(), transaction(database.knex), (ctx: Koa.Context) => handler(ctx))

  it('is done after COMMIT, and an error in it is reported', async () => {
    const { send, reported } = await served(async (ctx) => {
      ctx['afterCommit'](note('route'))
      ctx['afterCommit'](() => Promise.reject(new Error('away')))
      await ctx.state['trx']('books').insert({ title: 'a' })
      ctx.body = { ok: true }
    })
    expect((await send('POST', '/')).status).toBe(200)
    await settled(['route, 1 committed'])
    await vi.waitFor(() => expect(reported).toEqual([new Error('away')]))
  })

  it('is not done for a refusal, and is gone behind the transaction', async () => {
    const seen: unknown[] = []
    const look = async (ctx: Koa.Context, next: Koa.Next) => {
      await next().finally(() => seen.push(ctx['afterCommit']))
    }
    const handle = async (ctx: Koa.Context) => {
      ctx['afterCommit'](note('refused'))
      ctx.throw(409)
    }
    const { send } = await serveApp(errors(), look, transaction(database.knex), handle)
    expect((await send('POST', '/')).status).toBe(409)
    await nothingComes()
    expect(seen).toEqual([undefined])
  })
})

describe('[I24] while things break', () => {
  it('is done for a client that has gone, as its row is committed', async () => {
    let begun = () => {}
    const began = new Promise<void>((resolve) => (begun = resolve))
    class Waiting extends Books {
      override async performCreate(serializer: Serializer<Book>) {
        begun()
        await delay(100)
        await super.performCreate(serializer)
      }
    }
    const { port } = await serveViews({ books: Waiting })
    const body = JSON.stringify({ title: 'a' })
    const socket = connect(port, '127.0.0.1')
    socket.write(
      `POST /books HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    await began
    socket.destroy()
    await settled(['first, 1 committed', 'second, 1 committed'])
  })

  it('is done once for each row of requests that deadlock, and for none that was refused', async () => {
    await database.knex('books').insert([{ title: 'a' }, { title: 'b' }])
    let both = 0
    const meet = async () => {
      both++
      await vi.waitFor(() => expect(both).toBe(2))
    }
    class Crossing extends Books {
      override async performUpdate(serializer: Serializer<Book>, instance: Book) {
        this.afterCommit(note(`book ${instance.id}`))
        await meet()
        await this.trx?.('books')
          .where('id', 3 - instance.id)
          .update({ n: 5 })
        await serializer.save()
      }
    }
    const { send } = await serveViews({ books: Crossing })
    const answers = await Promise.all([1, 2].map((id) => send('PATCH', `/books/${id}`, { title: `t${id}` })))
    const statuses = answers.map(({ status }) => status)
    expect(new Set(statuses)).toEqual(new Set([200, 503]))
    const won = statuses.indexOf(200) + 1
    await settled([`book ${won}, 2 committed`])
  })

  it.skipIf(runsAsRole())(
    'is not done where the connection is lost between COMMIT and its answer, though the row is there',
    async () => {
      const { proxy, through } = await startDatabaseProxy(database.connection)
      onTestFinished(() => proxy.remove())
      const pool = knexOf({ client: 'pg', connection: through as Knex.PgConnectionConfig })
      onTestFinished(() => pool.destroy())
      class Cut extends Books {
        override getKnex() {
          return pool
        }
        override async performCreate(serializer: Serializer<Book>) {
          await super.performCreate(serializer)
          this.trx?.on('query', ({ sql }: { sql: string }) => {
            // COMMIT arrives, and its answer is late for a connection that is cut
            if (sql !== 'COMMIT;') return
            proxy.delay(300)
            setTimeout(() => void proxy.cut(), 100)
          })
        }
      }
      const { send } = await serveViews({ books: Cut })
      expect((await send('POST', '/books', { title: 'a' })).status).toBe(503)
      expect(await titles()).toEqual(['a'])
      await nothingComes()
    },
  )
})

describe('api.close()', () => {
  const apiOf = async (work: () => unknown, options = {}) => {
    class Closing extends ModelViewSet<Book> {
      static override model = Book
      static override serializerClass = BookSerializer
      override async performCreate(serializer: Serializer<Book>) {
        this.afterCommit(work)
        return serializer.save()
      }
    }
    const api = new APIRouter(options).register('books', Closing)
    await api.prepare()
    const { send } = await serveApp(api.routes())
    expect((await send('POST', '/books', { title: 'a' })).status).toBe(201)
    return api
  }

  it('waits for what is done after commits', async () => {
    const api = await apiOf(async () => {
      await delay(100)
      done.push('done')
    })
    await api.close()
    expect(done).toEqual(['done'])
  })

  it('waits for all that one transaction has asked for', async () => {
    class Several extends ModelViewSet<Book> {
      static override model = Book
      static override serializerClass = BookSerializer
      override async performCreate(serializer: Serializer<Book>) {
        for (const text of ['first', 'second', 'third']) {
          this.afterCommit(async () => {
            await delay(30)
            done.push(text)
          })
        }
        return serializer.save()
      }
    }
    const api = new APIRouter().register('books', Several)
    await api.prepare()
    const { send } = await serveApp(api.routes())
    expect((await send('POST', '/books', { title: 'a' })).status).toBe(201)
    await api.close()
    expect(done).toEqual(['first', 'second', 'third'])
  })

  it('waits no longer than closeTimeout', async () => {
    let release = () => {}
    const api = await apiOf(() => new Promise<void>((resolve) => (release = resolve)), { closeTimeout: 50 })
    onTestFinished(() => release())
    await api.close()
    expect(done).toEqual([])
  })

  it('[I23] refuses a closeTimeout that is none', () => {
    expect(() => new APIRouter({ closeTimeout: -1 })).toThrow(ConfigurationError)
  })
})
