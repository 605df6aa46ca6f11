// A whole API: DATABASE_URL=postgres://… npx tsx examples/quickstart.ts
import knex from 'knex'
import Koa from 'koa'
import { APIRouter, modelSerializer, modelViewSet, PageNumberPagination } from 'koa-viewsets'
import { errors } from 'koa-viewsets/plugins'
import { Model } from 'objection'

const { DATABASE_URL, PORT = '3000' } = process.env
if (!DATABASE_URL) throw new Error('DATABASE_URL is missing: postgres://user:password@localhost/database')
Model.knex(knex({ client: 'pg', connection: { connectionString: DATABASE_URL } }))

// a model as it is, with nothing of this package in it; where there is none, `const Book = table('books')`
class Book extends Model {
  static override tableName = 'books'
}

const BookViewSet = modelViewSet(Book, {
  serializerClass: modelSerializer(Book, { fields: '__all__' }),
  paginationClass: PageNumberPagination,
})
const api = new APIRouter({ prefix: '/api' }).register('books', BookViewSet)
await api.prepare()
new Koa().use(errors()).use(api.routes()).listen(Number(PORT), '127.0.0.1')
