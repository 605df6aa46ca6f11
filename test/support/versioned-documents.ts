/** Documents with versions, served by a process of its own for the tests of optimistic concurrency: `PORT`, `DATABASE_URL`. */
import knexLibrary from 'knex'
import Koa from 'koa'
import { Model } from 'objection'
import { APIRouter, ModelSerializer, ModelViewSet } from '../../lib/index.js'

const knex = knexLibrary({
  client: 'pg',
  connection: { connectionString: process.env['DATABASE_URL'] as string },
  pool: { min: 0, max: 5 },
})
Model.knex(knex)

class Document extends Model {
  static override tableName = 'documents'
}

class DocumentSerializer extends ModelSerializer<Document> {
  static override model = Document
  static override fields = ['id', 'title', 'updated_at']
  static override readOnlyFields = ['updated_at']
}

class Documents extends ModelViewSet<Document> {
  static override model = Document
  static override serializerClass = DocumentSerializer
  static override concurrency = 'updated_at'
}

const api = new APIRouter({ prefix: '/api' }).register('documents', Documents)
await api.prepare()
new Koa().use(api.routes()).listen(Number(process.env['PORT']), '127.0.0.1')
