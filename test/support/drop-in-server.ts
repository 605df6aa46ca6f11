/**
 * Bookshops that run already, each put together in another way, and one API that is added to all of them. The test
 * starts this file in an application's folder, once with `import` and once with `require`, and hands it the packages.
 */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { bodyParser } from '@koa/bodyparser'
import type cors from '@koa/cors'
import type { Router } from '@koa/router'
import type { knex } from 'knex'
import type Koa from 'koa'
import type { koaBody } from 'koa-body'
import type compose from 'koa-compose'
import type compress from 'koa-compress'
import type helmet from 'koa-helmet'
import type jwt from 'koa-jwt'
import type passport from 'koa-passport'
import type pino from 'koa-pino-logger'
import type qs from 'koa-qs'
import type ratelimit from 'koa-ratelimit'
import type * as viewsets from 'koa-viewsets'
import type * as plugins from 'koa-viewsets/plugins'
import type { Model } from 'objection'
import type { ClientConfig } from 'pg'

/** What an application has imported, or required. */
export interface Packages {
  readonly viewsets: typeof viewsets
  readonly plugins: typeof plugins
  readonly koas: Readonly<Record<KoaName, typeof Koa>>
  readonly Router: typeof Router
  readonly mount: (prefix: string, middleware: Koa.Middleware) => Koa.Middleware
  readonly koaBody: typeof koaBody
  readonly bodyParser: typeof bodyParser
  readonly knex: typeof knex
  readonly Model: typeof Model
  readonly habits: {
    readonly compose: typeof compose
    readonly compress: typeof compress
    readonly cors: typeof cors
    readonly helmet: typeof helmet
    readonly jwt: typeof jwt
    readonly passport: typeof passport
    readonly pino: typeof pino
    readonly qs: typeof qs
    readonly ratelimit: typeof ratelimit
  }
}

export type KoaName = 'Koa 2' | 'Koa 3'
export type ParserName = 'no parser' | 'koa-body' | '@koa/bodyparser'
export type MountName = 'app.use()' | 'koa-mount' | 'a nested @koa/router' | 'a @koa/router with a prefix'

export type HabitName = 'no other middleware' | 'the usual middleware'

/** How a bookshop is put together. */
interface Choice {
  readonly koa: KoaName
  readonly parser: ParserName
  readonly mount: MountName
  readonly habit: HabitName
}

/** One bookshop: with the API, and without. */
export interface Shop extends Choice {
  /** Where the API's root is. */
  readonly base: string
  readonly port: number
  readonly portWithoutApi: number
}

/** Adds an API with the prefix `/api/v1` to an app, and says where its root is. */
type Mount = (app: Koa, api: viewsets.APIRouter, packages: Packages) => string

const MOUNTS: Readonly<Record<MountName, Mount>> = {
  'app.use()'(app, api) {
    app.use(api.routes())
    return '/api/v1'
  },
  'koa-mount'(app, api, { mount }) {
    app.use(mount('/mounted', api.routes()))
    return '/mounted/api/v1'
  },
  'a nested @koa/router'(app, api, { Router }) {
    const inner = new Router()
    api.mount(inner, { namespace: 'v1' })
    const outer = new Router()
    outer.get('/outer/hours', (ctx) => {
      ctx.body = 'from 9 to 5'
    })
    outer.use('/outer', inner.routes())
    app.use(outer.routes() as Koa.Middleware)
    return '/outer/api/v1'
  },
  'a @koa/router with a prefix'(app, api, { Router }) {
    const router = new Router({ prefix: '/shop' })
    api.mount(router)
    app.use(router.routes() as Koa.Middleware)
    return '/shop/api/v1'
  },
}

const PARSERS: Readonly<Record<ParserName, (packages: Packages) => Koa.Middleware | undefined>> = {
  'no parser': () => undefined,
  'koa-body': ({ koaBody }) => koaBody({ multipart: true }),
  '@koa/bodyparser': ({ bodyParser }) => bodyParser(),
}

/** Puts the middleware that many apps have before all else. */
function addHabits(
  app: Koa,
  { compose, compress, cors, helmet, jwt, passport, pino, qs, ratelimit }: Packages['habits'],
) {
  qs(app, 'extended')
  const limits = { driver: 'memory', db: new Map(), max: 10_000, duration: 60_000, disableHeader: true } as const
  app.use(pino({ redact: ['req.headers.authorization'] }, { write() {} }))
  app.use(compose([helmet(), cors({ credentials: true }), compress(), ratelimit(limits)]))
  app.use(passport.initialize()).use(jwt({ secret: 'a secret of the shop', passthrough: true }))
}

/** Starts all bookshops on ports of their own, and tells the process that started this one. */
export async function serveShops(packages: Packages): Promise<void> {
  const connection = JSON.parse(process.env['CONNECTION'] as string) as ClientConfig
  packages.Model.knex(packages.knex({ client: 'pg', connection: connection as object, pool: { min: 0, max: 4 } }))
  const api = createApi(packages)
  await api.prepare()
  const shops: Shop[] = []
  for (const koa of Object.keys(packages.koas) as KoaName[]) {
    const choices: Choice[] = [{ koa, parser: 'koa-body', mount: 'koa-mount', habit: 'the usual middleware' }]
    for (const parser of Object.keys(PARSERS) as ParserName[]) {
      for (const mount of Object.keys(MOUNTS) as MountName[]) {
        choices.push({ koa, parser, mount, habit: 'no other middleware' })
      }
    }
    for (const choice of choices) {
      const { app, base } = createShop(packages, choice, api)
      const without = createShop(packages, choice, undefined)
      shops.push({ ...choice, base, port: await listen(app), portWithoutApi: await listen(without.app) })
    }
  }
  process.once('disconnect', () => process.exit())
  process.send?.(shops)
}

/** An app with errors, headers, a 404 and routes of its own, before the API and after it. */
function createShop(packages: Packages, { koa, parser, mount, habit }: Choice, api?: viewsets.APIRouter) {
  const app = new packages.koas[koa]()
  app.on('error', () => {})
  if (habit === 'the usual middleware') addHabits(app, packages.habits)
  app.use(async (ctx, next) => {
    ctx.set('X-Shop', 'Zazie & Momo')
    try {
      await next()
    } catch (error) {
      const { status = 500, message } = error as { status?: number; message: string }
      ctx.status = status
      ctx.body = `The shop is sorry: ${message}`
    }
    if (ctx.status === 404 && (ctx.body === undefined || ctx.body === null)) {
      ctx.status = 404
      ctx.body = `The shop has no ${ctx.path}`
    }
  })
  const parse = PARSERS[parser](packages)
  if (parse) app.use(parse)
  const before = new packages.Router()
  before.get('/', (ctx) => {
    ctx.cookies.set('visit', '1')
    ctx.set({ 'Cache-Control': 'max-age=60', ETag: '"home"' })
    ctx.type = 'html'
    ctx.body = '<h1>Books</h1>'
  })
  before.get('/boom', () => {
    throw new Error('the shelf fell down')
  })
  before.get('/teapot', (ctx) => ctx.throw(418, 'no coffee'))
  before.post('/echo', echo)
  app.use(before.routes() as Koa.Middleware).use(before.allowedMethods() as Koa.Middleware)
  const base = api ? MOUNTS[mount](app, api, packages) : ''
  if (api) app.use(staffRoute(packages))
  const after = new packages.Router()
  after.post('/after', echo)
  after.get('/after', (ctx) => {
    ctx.body = { params: ctx.params, query: ctx.query, state: ctx.state, route: ctx._matchedRoute as unknown }
  })
  app.use(after.routes() as Koa.Middleware).use(after.allowedMethods() as Koa.Middleware)
  // of several, the innermost answers first
  if (api) app.use(api.allowedMethods())
  return { app, base }
}

/** A route that is written by hand and guarded as a view is. */
function staffRoute({ viewsets, plugins, Router }: Packages): Koa.Middleware {
  const router = new Router()
  router.get('/staff', plugins.permissions(viewsets.IsAuthenticated), (ctx) => {
    ctx.body = 'at work'
  })
  return router.routes() as Koa.Middleware
}

/** Answers with the body as the app's parser, or nobody, has read it. */
async function echo(ctx: Koa.Context): Promise<void> {
  const { body } = ctx.request as { body?: unknown }
  const chunks: Buffer[] = []
  if (body === undefined) for await (const chunk of ctx.req) chunks.push(chunk as Buffer)
  ctx.body = { parsed: body, raw: Buffer.concat(chunks).toString() }
}

async function listen(app: Koa): Promise<number> {
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

function createApi({ viewsets, Model }: Packages): viewsets.APIRouter {
  const { action, APIRouter, BulkModelViewSet, CSVRenderer, DateField, JSONRenderer, ModelSerializer } = viewsets
  const { ModelViewSet, NestedRouter, NestedViewSetMixin, PageNumberPagination, ReadOnlyModelViewSet, Serializer } =
    viewsets

  class Author extends Model {
    static override tableName = 'authors'
  }

  class Book extends Model {
    static override tableName = 'books'
    static override relationMappings = () => ({
      author: {
        relation: Model.BelongsToOneRelation,
        modelClass: Author,
        join: { from: 'books.author_id', to: 'authors.id' },
      },
    })
  }

  class AuthorSerializer extends ModelSerializer<Author> {
    static override model = Author
    static override fields = '__all__'
  }

  class BookSerializer extends ModelSerializer<Book> {
    static override model = Book
    static override fields = ['id', 'title', 'published_on', 'author_id']
    static override readOnlyFields = ['published_on']
  }

  class PublishInput extends Serializer {
    static override declaredFields = { published_on: new DateField() }
  }

  class AuthorViewSet extends ReadOnlyModelViewSet<Author> {
    static override model = Author
    static override serializerClass = AuthorSerializer
  }

  class BookViewSet extends BulkModelViewSet<Book> {
    static override description = 'The books of the shop.'
    static override model = Book
    static override serializerClass = BookSerializer
    static override rendererClasses = [JSONRenderer, CSVRenderer]
    static override paginationClass = new PageNumberPagination({ pageSize: 2 })

    @action({ methods: ['POST'], detail: true, inputSerializer: PublishInput })
    async publish({ published_on }: { published_on: string }) {
      const book = await this.getObject()
      await book.$query(this.trx).patch({ published_on } as object)
      return this.getSerializer({ obj: await this.getObject() }).data
    }
  }

  class AuthorBooks extends NestedViewSetMixin(ModelViewSet<Book>) {
    static override model = Book
    static override serializerClass = BookSerializer
    static override parentLookupField = 'author_id'
    static override paginationClass = new PageNumberPagination({ pageSize: 1 })
  }

  const api = new APIRouter({ prefix: '/api/v1' })
  api.register('books', BookViewSet)
  api.register('authors', AuthorViewSet)
  new NestedRouter(api, 'authors', { lookup: 'author_id' }).register('books', AuthorBooks, 'author-book')
  return api
}
