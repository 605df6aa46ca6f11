/**
 * An API whose spans are printed: DATABASE_URL=postgres://… npx tsx examples/opentelemetry/main.ts
 * It needs a table `books`, whatever its columns.
 */
import { ConsoleSpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node'
import knex from 'knex'
import Koa from 'koa'
import { APIRouter, modelSerializer, modelViewSet, table } from 'koa-viewsets'
import { errors } from 'koa-viewsets/plugins'
import { Model } from 'objection'
import { makeSpans, StoredContexts } from './spans.js'

const contexts = new StoredContexts()
const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(new ConsoleSpanExporter())] })
provider.register({ contextManager: contexts })
makeSpans(contexts)

const { DATABASE_URL, PORT = '3000' } = process.env
if (!DATABASE_URL) throw new Error('DATABASE_URL is missing: postgres://user:password@localhost/database')
Model.knex(knex({ client: 'pg', connection: { connectionString: DATABASE_URL } }))
const Book = table('books')
const BookViewSet = modelViewSet(Book, { serializerClass: modelSerializer(Book, { fields: '__all__' }) })
const api = new APIRouter({ prefix: '/api' }).register('books', BookViewSet)
await api.prepare()
new Koa().use(errors()).use(api.routes()).listen(Number(PORT), '127.0.0.1')
