/**
 * An app that has its body parser, its session and its routes already, and gets an API beside them.
 *
 * DATABASE_URL=postgres://… npx tsx examples/existing-app.ts
 */
import Router from '@koa/router'
import knex from 'knex'
import Koa from 'koa'
import { koaBody } from 'koa-body'
import session from 'koa-session'
import {
  APIRouter,
  IsAuthenticatedOrReadOnly,
  modelSerializer,
  modelViewSet,
  PageNumberPagination,
  SessionAuthentication,
} from 'koa-viewsets'
import { Model } from 'objection'

const { DATABASE_URL, PORT = '3000' } = process.env
if (!DATABASE_URL) throw new Error('DATABASE_URL is missing: postgres://user:password@localhost/database')

// What was there before.

class Book extends Model {
  static override tableName = 'books'

  declare id: number
  declare title: string
  declare archived: boolean
  declare added_by: string
}
Model.knex(knex({ client: 'pg', connection: { connectionString: DATABASE_URL } }))

const app = new Koa()
app.keys = ['a fixed secret, as this is an example']
app.use(session(app)).use(koaBody())

const router = new Router()
router.get('/', (ctx) => {
  ctx.body = `The bookshop. Its books are at ${String(router.url('v1:book-list'))}`
})
router.post('/login', (ctx) => {
  ctx.session!['name'] = (ctx.request.body as { name: string }).name
  ctx.redirect('/')
})

// What is new: the API, which knows the app's users, and four lines that mount it.

const bySession = new SessionAuthentication({
  getUser: ({ session }) => (session?.['name'] ? { id: session['name'], name: session['name'] } : null),
})

class BookSerializer extends modelSerializer(Book, {
  fields: ['id', 'title', 'added_by'],
  readOnlyFields: ['added_by'],
  extraKwargs: { title: { minLength: 2 } },
}) {}

class BookViewSet extends modelViewSet(Book, {
  serializerClass: BookSerializer,
  authenticationClasses: [bySession],
  permissionClasses: [IsAuthenticatedOrReadOnly],
  paginationClass: new PageNumberPagination({ pageSize: 50 }),
  ordering: ['title'],
}) {
  override getQueryset() {
    return super.getQueryset().where('archived', false)
  }

  override async performCreate(serializer: BookSerializer) {
    return serializer.save({ added_by: this.ctx.state['user'].name })
  }
}

const api = new APIRouter({ prefix: '/api/v1' })
api.register('books', BookViewSet)
await api.prepare()
api.mount(router, { namespace: 'v1' })

// The innermost comes first: the API answers 405 for its own paths, the app for all others.
app.use(router.routes()).use(router.allowedMethods()).use(api.allowedMethods())
app.listen(Number(PORT), '127.0.0.1')
