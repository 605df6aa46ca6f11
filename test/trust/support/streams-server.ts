/** The app of the runs about streams of changes, in a process that is killed. */
import type Koa from 'koa'
import { APIRouter, BulkModelViewSet, ModelSerializer, type SerializerClass, type SoftDelete } from 'koa-viewsets'
import { ChangeStreamMixin, type ChangeStreamOptions, ChangesMixin } from 'koa-viewsets/changes'
import { any, rule, sql } from 'koa-viewsets/rules'
import { Model } from 'objection'
import { bindModels, serve, silentApp } from './served.js'

bindModels()

interface User {
  readonly id: number
  readonly tenant: string
}

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
class BookSerializer extends ModelSerializer<Book> {
  static override model = Book
  static override fields = ['id', 'title', 'n', 'author_id', 'tenant', 'deleted_at']
  static override readOnlyFields = ['deleted_at']
}
class Books extends ChangeStreamMixin(ChangesMixin(BulkModelViewSet<Book>)) {
  static override model = Book
  static override serializerClass: SerializerClass = BookSerializer
  static override changeStream: ChangeStreamOptions = { perCaller: 2_000, seconds: 3_600 }
}
const userOf = ({ ctx }: { readonly ctx: Koa.Context }) => ctx.state['user'] as User

// who sees what, as `isSeen()` of the run has it
class Own extends Books {
  override getQueryset() {
    return Book.query(this.knex).where('author_id', userOf(this).id).orWhere('tenant', userOf(this).tenant)
  }
}
class Written extends Books {
  override getQueryset() {
    return Book.query(this.knex).whereRaw('n > 50 and author_id = ?', [userOf(this).id])
  }
}
class Related extends Books {
  override getQueryset() {
    return Book.query(this.knex).whereExists(Book.relatedQuery('author').where('name', userOf(this).tenant))
  }
}
class Kept extends Books {
  static override softDelete: SoftDelete = 'deleted_at'
  override getQueryset() {
    return Book.query(this.knex).where('tenant', userOf(this).tenant)
  }
}
class Ruled extends Books {}

const open = new APIRouter()
  .register('books', Books)
  .register('own', Own, 'own')
  .register('written', Written, 'written')
  .register('related', Related, 'related')
  .register('kept', Kept, 'kept')
const columns = rule(Book, {
  read: ({ user }) => ({ and: [{ tenant: user?.['tenant'] }, { not: { author_id: user?.id } }] }),
})
const related = rule(Book, { read: ({ user }) => any('author', { name: user?.['tenant'] }) })
const written = rule(Book, { read: ({ user }) => sql`n < 10 and tenant = ${user?.['tenant']}` })
const ruled = Object.entries({ columns, related, written }).map(([name, own]) =>
  new APIRouter({ prefix: `/by-${name}`, rules: [own] }).register('books', Ruled, `by-${name}`),
)

const app = silentApp()
app.use((ctx, next) => {
  const id = ctx.get('X-User')
  if (id) ctx.state['user'] = { id: Number(id), tenant: ctx.get('X-Tenant') } satisfies User
  return next()
})
for (const router of [open, ...ruled]) {
  await router.prepare()
  app.use(router.routes())
}
serve(app, 4_096)
