import Router from '@koa/router'
import type Koa from 'koa'
import { beforeEach, describe, expect, it } from 'vitest'
import {
  APIRouter,
  type Authentications,
  and,
  BasePermission,
  type Context,
  CurrentUserDefault,
  GenericAPIView,
  HiddenField,
  IsAdminUser,
  IsAuthenticated,
  IsAuthenticatedOrReadOnly,
  ModelPermission,
  ModelViewSet,
  NotFound,
  not,
  ObjectPermission,
  or,
  type Permissions,
  TokenAuthentication,
  ViewSet,
} from '../../lib/index.js'
import { authentication, checkObjectPermissions, errors, permissions } from '../../plugins/index.js'
import { type Client, serveApp } from '../support/client.js'
import { undescribed } from '../support/contract.js'
import { countQueries } from '../support/database.js'
import { Book, BookSerializer, database, useLibrary } from '../support/library.js'
import { runsAsRole } from '../support/roles.js'
import { surfaces } from '../support/surfaces.js'

const users: Record<string, object> = {
  alice: { id: 1, permissions: ['view_books', 'add_books', 'change_books', 'delete_books'] },
  bob: { id: '2', permissions: new Set(['view_books']) },
  staff: { id: 3, is_staff: true, hasPermission: async (name: string) => name !== 'delete_books' },
}

class TokenAuth extends TokenAuthentication {
  override getUserForToken(token: string) {
    return users[token]
  }
}

type Actor = 'anon' | 'alice' | 'bob' | 'staff'
const actors: Actor[] = ['anon', 'alice', 'bob', 'staff']
const as = (actor: Actor): Record<string, string> => (actor === 'anon' ? {} : { Authorization: `Token ${actor}` })

useLibrary()
beforeEach(async () => {
  // 1 is Ada's, who is alice; 2 is Ben's, who is bob; 3 is nobody's
  await Book.query().insert([
    { title: 'One', author_id: 1 },
    { title: 'Two', author_id: 2 },
    { title: 'Three', author_id: null },
  ])
})

/** The books of the library under these rules: as a view set, and written by hand with the plugins. */
const shelves: Record<string, (rules: Permissions) => Promise<Client>> = {
  async 'a view set'(rules) {
    class Books extends ModelViewSet<Book> {
      static override model = Book
      static override serializerClass = BookSerializer
      static override authenticationClasses: Authentications = [TokenAuth]
      static override permissionClasses: Permissions = rules
    }
    const api = new APIRouter().register('books', Books)
    await api.prepare()
    return serveApp(api.routes())
  },

  async 'a hand-written route'(rules) {
    const find = async (ctx: Koa.Context): Promise<Book> => {
      const book = await Book.query().findById(Number(ctx['params'].id))
      if (!book) throw new NotFound()
      await checkObjectPermissions(ctx, book)
      return book
    }
    const router = new Router()
    router.use(authentication(TokenAuth) as never, permissions(...rules) as never)
    router.get('/books', async (ctx) => {
      ctx.body = await Book.query()
    })
    router.post('/books', async (ctx) => {
      ctx.body = await Book.query().insert({ title: 'x' })
      ctx.status = 201
    })
    router.get('/books/:id', async (ctx) => {
      ctx.body = await find(ctx)
    })
    router.patch('/books/:id', async (ctx) => {
      ctx.body = await (await find(ctx)).$query().patchAndFetch({ title: 'x' })
    })
    router.put('/books/:id', async (ctx) => {
      ctx.body = await (await find(ctx)).$query().patchAndFetch({ title: 'x' })
    })
    router.delete('/books/:id', async (ctx) => {
      await (await find(ctx)).$query().delete()
      ctx.status = 204
    })
    return serveApp(errors(), router.routes() as Koa.Middleware)
  },
}

/** What each actor gets, in the order of `actors`. */
type Row = [method: string, path: string, expected: [anon: number, alice: number, bob: number, staff: number]]
const openReading: Row[] = [
  ['GET', '/books', [200, 200, 200, 200]],
  ['HEAD', '/books', [200, 200, 200, 200]],
  ['GET', '/books/1', [200, 200, 200, 200]],
]
const tables: [string, Permissions, Row[]][] = [
  [
    'none',
    [],
    [...openReading, ['POST', '/books', [201, 201, 201, 201]], ['DELETE', '/books/1', [204, 204, 204, 204]]],
  ],
  [
    'IsAuthenticated',
    [IsAuthenticated],
    [
      ['GET', '/books', [401, 200, 200, 200]],
      ['HEAD', '/books', [401, 200, 200, 200]],
      ['GET', '/books/1', [401, 200, 200, 200]],
      ['GET', '/books/9', [401, 404, 404, 404]],
      ['POST', '/books', [401, 201, 201, 201]],
      ['PUT', '/books/1', [401, 200, 200, 200]],
      ['DELETE', '/books/1', [401, 204, 204, 204]],
    ],
  ],
  [
    'IsAdminUser',
    [IsAdminUser],
    [
      ['GET', '/books', [401, 403, 403, 200]],
      ['DELETE', '/books/1', [401, 403, 403, 204]],
    ],
  ],
  [
    'IsAuthenticatedOrReadOnly',
    [IsAuthenticatedOrReadOnly],
    [
      ...openReading,
      ['POST', '/books', [401, 201, 201, 201]],
      ['PATCH', '/books/1', [401, 200, 200, 200]],
      ['DELETE', '/books/1', [401, 204, 204, 204]],
    ],
  ],
  [
    'ModelPermission',
    [new ModelPermission({ model: Book })],
    [
      ['GET', '/books', [401, 200, 200, 200]],
      ['HEAD', '/books', [401, 200, 200, 200]],
      ['POST', '/books', [401, 201, 403, 201]],
      ['PUT', '/books/1', [401, 200, 403, 200]],
      ['PATCH', '/books/1', [401, 200, 403, 200]],
      ['DELETE', '/books/1', [401, 204, 403, 403]],
    ],
  ],
  [
    'ObjectPermission',
    [new ObjectPermission({ ownerField: 'author_id' })],
    [
      ['GET', '/books', [200, 200, 200, 200]],
      ['GET', '/books/1', [401, 200, 403, 403]],
      ['HEAD', '/books/1', [401, 200, 403, 403]],
      ['PATCH', '/books/1', [401, 200, 403, 403]],
      ['PATCH', '/books/2', [401, 403, 200, 403]],
      ['PUT', '/books/2', [401, 403, 200, 403]],
      ['PATCH', '/books/3', [401, 403, 403, 403]],
      ['DELETE', '/books/1', [401, 204, 403, 403]],
      ['GET', '/books/9', [404, 404, 404, 404]],
    ],
  ],
  [
    'or(IsAdminUser, ObjectPermission)',
    [or(IsAdminUser, new ObjectPermission({ ownerField: 'author_id' }))],
    [
      ['GET', '/books', [200, 200, 200, 200]],
      ['DELETE', '/books/1', [401, 204, 403, 204]],
      ['DELETE', '/books/2', [401, 403, 204, 204]],
      ['DELETE', '/books/3', [401, 403, 403, 204]],
    ],
  ],
  [
    'and(IsAuthenticated, or(IsAdminUser, not(ObjectPermission)))',
    [and(IsAuthenticated, or(IsAdminUser, not(new ObjectPermission({ ownerField: 'author_id' }))))],
    [
      ['GET', '/books', [401, 200, 200, 200]],
      ['PATCH', '/books/1', [401, 403, 200, 200]],
      ['PATCH', '/books/3', [401, 200, 200, 200]],
    ],
  ],
  ['not(IsAuthenticated)', [not(IsAuthenticated)], [['GET', '/books/1', [200, 403, 403, 403]]]],
]

// what is written by hand asks the database by itself
const kinds = Object.entries(shelves).filter(([name]) => name === 'a view set' || !runsAsRole())

describe.each(kinds)('on %s', (_name, serve) => {
  describe.each(tables)('%s', (_rules, rules, rows) => {
    it.each(
      rows.flatMap(([method, path, expected]) =>
        actors.map((actor, index) => [actor, method, path, expected[index]] as const),
      ),
    )('[E1 E5 E7 E20] %s %s %s is %s', async (actor, method, path, expected) => {
      const client = await serve(rules)
      const before = await Book.query().orderBy('id')
      const body = ['POST', 'PUT', 'PATCH'].includes(method) ? { title: 'x' } : undefined
      const answer = await client.send(method, path, body, as(actor))
      expect(answer.status).toBe(expected)
      if (answer.status < 400) return
      expect(await Book.query().orderBy('id')).toEqual(before)
      const isAnonymous = answer.status === 401
      expect(answer.headers['www-authenticate']).toBe(isAnonymous ? 'Token realm="api"' : undefined)
      if (method === 'HEAD') return
      const detail = { 401: 'Authentication required', 403: 'Permission denied', 404: 'Not found' }[answer.status]
      expect(answer.text).toBe(`{"detail":"${detail}","status":${answer.status}}`)
    })
  })

  it('[E8] object permissions do not narrow a list', async () => {
    const client = await serve([new ObjectPermission({ ownerField: 'author_id' })])
    expect((await client.get('/books', as('alice'))).json).toHaveLength(3)
  })

  it('[E23] a permission that throws is 500, for requests and for objects', async () => {
    class Broken extends BasePermission {
      override hasPermission({ query }: Context): boolean {
        if (query['break']) throw new Error('select role from users')
        return true
      }
      override hasObjectPermission(): boolean {
        throw new Error('select role from users')
      }
    }
    for (const rules of [[Broken], [or(Broken, IsAdminUser)], [not(Broken)]]) {
      const client = await serve(rules)
      for (const path of ['/books?break=1', '/books/1?break=1']) {
        expect((await client.get(path)).text).toBe('{"detail":"Internal server error","status":500}')
      }
    }
  })

  it.each(['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override'])('[E19] %s does nothing', async (header) => {
    const client = await serve([IsAuthenticatedOrReadOnly])
    const answer = await client.send(
      'POST',
      '/books/1?_method=DELETE',
      { _method: 'DELETE' },
      { ...as('alice'), [header]: 'DELETE' },
    )
    expect([404, 405]).toContain(answer.status)
    expect((await client.get('/books/1?_method=DELETE', { [header]: 'DELETE' })).status).toBe(200)
    expect(await Book.query().resultSize()).toBe(3)
  })
})

describe('the rules that docs/reference/policies.md names', () => {
  it('let nobody create without logging in, and nobody for somebody else', async () => {
    class Owned extends BookSerializer {
      static override schemaName = 'Owned'
      static override declaredFields = { author_id: new HiddenField({ default: new CurrentUserDefault() }) }
    }
    class Books extends ModelViewSet<Book> {
      static override model = Book
      static override serializerClass = Owned
      static override authenticationClasses: Authentications = [TokenAuth]
      static override permissionClasses: Permissions = [
        IsAuthenticated,
        or(IsAdminUser, new ObjectPermission({ ownerField: 'author_id' })),
      ]
    }
    const api = new APIRouter().register('books', Books)
    await api.prepare()
    const { send } = await serveApp(api.routes())
    expect((await send('POST', '/books', { title: 'x', author_id: 2 })).status).toBe(401)
    const { status, json } = await send('POST', '/books', { title: 'x', author_id: 2 }, as('alice'))
    expect([status, await Book.query().findById(json.id)]).toMatchObject([201, { title: 'x', author_id: 1 }])
    expect((await send('PATCH', `/books/${json.id}`, { title: 'y' }, as('bob'))).status).toBe(403)
    expect((await send('PATCH', `/books/${json.id}`, { title: 'y' }, as('staff'))).status).toBe(200)
  })
})

describe('a view set', () => {
  async function library(rules: Permissions): Promise<Client> {
    class Books extends ModelViewSet<Book> {
      static override model = Book
      static override serializerClass = BookSerializer
      static override authenticationClasses: Authentications = [TokenAuth]
      static override permissionClasses: Permissions = rules
    }
    const api = new APIRouter({ prefix: '/api' }).register('books', Books)
    await api.prepare()
    return serveApp(api.routes())
  }

  it("ModelPermission takes the view's model, of static model or of static queryset", async () => {
    const { get, send } = await library([ModelPermission])
    expect((await get('/api/books', as('bob'))).status).toBe(200)
    expect((await send('DELETE', '/api/books/1', undefined, as('bob'))).status).toBe(403)
    class Books extends ModelViewSet<Book> {
      static override queryset = () => Book.query().where('id', '<', 3)
      static override serializerClass = BookSerializer
      static override authenticationClasses: Authentications = [TokenAuth]
      static override permissionClasses: Permissions = [and(IsAuthenticated, not(not(ModelPermission)))]
    }
    const api = new APIRouter().register('books', Books)
    await api.prepare()
    const client = await serveApp(api.routes())
    expect((await client.get('/books', as('bob'))).json).toHaveLength(2)
    expect((await client.send('DELETE', '/books/1', undefined, as('bob'))).status).toBe(403)
    expect((await client.send('DELETE', '/books/1', undefined, as('alice'))).status).toBe(204)
  })

  it('[E23] ModelPermission on a view without a model is a ConfigurationError at registration', () => {
    class Report extends ViewSet {
      static override permissionClasses: Permissions = [or(IsAdminUser, ModelPermission)]
      list() {}
    }
    const message = /^Report: ModelPermission needs a model/
    expect(() => new APIRouter().register('report', Report, 'report')).toThrow(message)
    expect(() => Report.asView({ get: 'list' })).toThrow(message)
    class Bare extends GenericAPIView {
      static override permissionClasses: Permissions = [ModelPermission]
      get() {}
    }
    expect(() => Bare.asView()).toThrow(/^Bare: set static model/)
    expect(() => permissions(ModelPermission)).toThrow(/^permissions\(\): ModelPermission needs a model/)
  })

  it('[E10] an action asks the permissions of the object it gets', async () => {
    class Books extends ModelViewSet<Book> {
      static override model = Book
      static override serializerClass = BookSerializer
      static override authenticationClasses: Authentications = [TokenAuth]
      static override permissionClasses: Permissions = [new ObjectPermission({ ownerField: 'author_id' })]
      override async partialUpdate() {
        const book = await this.getObject()
        return { published: book.title }
      }
    }
    const api = new APIRouter().register('books', Books)
    await api.prepare()
    const client = await serveApp(undescribed(api.routes()))
    expect((await client.send('PATCH', '/books/1', {}, as('alice'))).json).toEqual({ published: 'One' })
    expect((await client.send('PATCH', '/books/1', {}, as('bob'))).status).toBe(403)
    expect((await client.send('PATCH', '/books/1', {})).status).toBe(401)
  })

  it('[E16] OPTIONS is checked like reading, without an object', async () => {
    const { send } = await library([IsAuthenticated, new ObjectPermission({ ownerField: 'author_id' })])
    expect((await send('OPTIONS', '/api/books')).status).toBe(401)
    expect(await countQueries(database.knex, () => send('OPTIONS', '/api/books/1', undefined, as('bob')))).toEqual([])
  })

  it('[E21] there is no second way in', async () => {
    const { get } = await library([IsAuthenticated])
    const paths = ['/api//books', '/api/books/./1', '/API/books', '/api/books;x=1', '/api/%2e%2e/books', '/api/Books']
    const others = [
      '/api/books.json',
      '/api/books.csv',
      '/api/books/',
      '/api/books/1.json',
      '/api/books?x=1',
      '/api/b%6Foks',
    ]
    for (const path of [...paths, ...others]) expect([401, 404]).toContain((await get(path)).status)
    for (const path of paths) expect((await get(path, as('alice'))).status).toBe(404)
  })

  it('[E5] is 404 before it is 401: an object that is not there has no owner', async () => {
    const { get } = await library([new ObjectPermission({ ownerField: 'author_id' })])
    expect((await get('/api/books/9')).text).toBe('{"detail":"Not found","status":404}')
  })

  it('rules that do not look at objects leave a detail its one plain row', async () => {
    const sqlOf = async (rules: Permissions) => {
      const { get } = await library(rules)
      await get('/api/books/1', as('alice'))
      const texts = await countQueries(database.knex, () => get('/api/books/1', as('alice')))
      expect(texts).toHaveLength(1)
      return texts[0]
    }
    const plain = await sqlOf([])
    expect(await sqlOf([or(IsAdminUser, and(IsAuthenticated, not(not(IsAuthenticatedOrReadOnly))))])).toBe(plain)
    expect(await sqlOf([ModelPermission])).toBe(plain)
    const instance = await sqlOf([new ObjectPermission({ ownerField: 'author_id' })])
    expect(instance).not.toBe(plain)
    expect(await sqlOf([or(IsAdminUser, new ObjectPermission({ ownerField: 'author_id' }))])).toBe(instance)
    class Own extends IsAuthenticated {
      override hasObjectPermission = () => true
    }
    expect(await sqlOf([not(not(and(Own, IsAuthenticated)))])).toBe(instance)
  })
})

describe('permissions() and checkObjectPermissions()', () => {
  it('[E23] without permissions() before it an object is not to be had', async () => {
    const client = await serveApp(errors(), async (ctx) => {
      await checkObjectPermissions(ctx, {})
      ctx.body = 'in'
    })
    expect((await client.get('/')).status).toBe(500)
    expect(String(client.reported[0])).toMatch(
      /ConfigurationError: checkObjectPermissions\(\): the route has no permissions/,
    )
  })

  it('all rules on the way count, those of the app too', async () => {
    const book = { owner_id: 1 }
    const login: Koa.Middleware = async (ctx, next) => {
      ctx.state['user'] = users[ctx.get('X-User')]
      await next()
    }
    const client = await serveApp(
      errors(),
      login,
      permissions(ObjectPermission),
      permissions(IsAuthenticated),
      async (ctx) => {
        await checkObjectPermissions(ctx, book)
        ctx.body = 'in'
      },
    )
    expect((await client.get('/', { 'X-User': 'alice' })).text).toBe('in')
    expect((await client.get('/', { 'X-User': 'bob' })).status).toBe(403)
    expect((await client.get('/')).status).toBe(401)
  })

  it('without authentication() a session is asked for', async () => {
    const client = await serveApp(permissions(IsAuthenticated))
    expect((await client.get('/')).headers['www-authenticate']).toBe('Session realm="api"')
  })

  it('a permission is told the action: the method, HEAD as get', async () => {
    const actions: string[] = []
    class Recorder extends BasePermission {
      override hasPermission(_ctx: Context, view: { action: string }) {
        actions.push(view.action)
        return true
      }
    }
    const client = await serveApp(permissions(Recorder), (ctx) => {
      ctx.body = 'in'
    })
    for (const method of ['GET', 'HEAD', 'POST', 'DELETE']) await client.send(method, '/')
    expect(actions).toEqual(['get', 'get', 'post', 'delete'])
  })
})

describe.each(Object.entries(surfaces))('on %s', (_name, serve) => {
  it.each([
    ['a class that is no permission', Map],
    ['an object that is no permission', {}],
  ])('[I23] %s is refused when it is put into a list', async (_case, rule) => {
    await expect(serve({ permissions: [IsAuthenticated, rule as never] })).rejects.toThrow(
      /\[1\]: has no method hasPermission\(\)/,
    )
  })
})
