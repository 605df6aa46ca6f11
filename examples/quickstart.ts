// A whole API for a table `books`, whatever its columns: DATABASE_URL=postgres://… npx tsx examples/quickstart.ts
import knex from 'knex'
import Koa from 'koa'
import { APIRouter, ModelSerializer, ModelViewSet, PageNumberPagination } from 'koa-viewsets'
import { errors } from 'koa-viewsets/plugins'
import { Model } from 'objection'

class Book extends Model {
  static override tableName = 'books'
}
class BookSerializer extends ModelSerializer<Book> {
  static override model = Book
  static override fields = '__all__'
}
class BookViewSet extends ModelViewSet<Book> {
  static override model = Book
  static override serializerClass = BookSerializer
  static override paginationClass = PageNumberPagination
}
const { DATABASE_URL = 'postgres:///', PORT = '3000' } = process.env
Model.knex(knex({ client: 'pg', connection: { connectionString: DATABASE_URL } }))
const api = new APIRouter({ prefix: '/api' }).register('books', BookViewSet)
await api.prepare()
new Koa().use(errors()).use(api.routes()).listen(Number(PORT), '127.0.0.1')
