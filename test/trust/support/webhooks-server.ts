/** The app of the runs about webhooks, in a process that is killed. PORT and DATABASE_URL say where. */
import knexLibrary from 'knex'
import Koa from 'koa'
import {
  APIRouter,
  BulkModelViewSet,
  type DeclaredFields,
  ModelSerializer,
  NestedSerializer,
  type SerializerClass,
} from 'koa-viewsets'
import { ChangesMixin } from 'koa-viewsets/changes'
import { WebhookDispatcher, WebhookEndpointViewSet } from 'koa-viewsets/webhooks'
import { Model } from 'objection'

const { PORT, DATABASE_URL, TIMEOUT_SECONDS = '2' } = process.env
const knex = knexLibrary({
  client: 'pg',
  connection: { connectionString: DATABASE_URL as string },
  pool: { min: 0, max: 12 },
})
Model.knex(knex)

class Review extends Model {
  static override tableName = 'reviews'
}
class Book extends Model {
  static override tableName = 'books'
  static override relationMappings = () => ({
    reviews: { relation: Model.HasManyRelation, modelClass: Review, join: { from: 'books.id', to: 'reviews.book_id' } },
  })
}
class ReviewSerializer extends ModelSerializer<Review> {
  static override model = Review
  static override fields = ['id', 'text']
}
class BookSerializer extends ModelSerializer<Book> {
  static override model = Book
  static override fields = ['id', 'title', 'price']
  static override declaredFields: DeclaredFields = {
    reviews: new NestedSerializer(ReviewSerializer, { many: true, required: false }),
  }
}
class FlatSerializer extends ModelSerializer<Book> {
  static override model = Book
  static override fields = ['id', 'title', 'price']
}
class Books extends ChangesMixin(BulkModelViewSet<Book>) {
  static override model = Book
  static override serializerClass: SerializerClass = BookSerializer
}
class FlatBooks extends Books {
  static override serializerClass: SerializerClass = FlatSerializer
}
class Hooks extends WebhookEndpointViewSet {
  static override events = ['book.*']
  static override receivers = { allowHttp: true, allowedAddresses: ['127.0.0.1'] }
}

const api = new APIRouter()
  .register('books', Books)
  .register('flat', FlatBooks, 'flat')
  .register('hooks', Hooks, 'hook')
await api.prepare()
const dispatcher = new WebhookDispatcher({
  knex,
  api,
  findOwner: (id) => ({ id }),
  timeoutSeconds: Number(TIMEOUT_SECONDS),
  onError: () => {},
})
await dispatcher.start()
const app = new Koa()
app.on('error', () => {})
app.use(api.routes())
app.listen(Number(PORT), '127.0.0.1', () => process.send?.('ready'))
