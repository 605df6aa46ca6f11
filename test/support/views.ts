/** Models, serializers and view sets of a test, made by one call each, and how they are serveApp. */
import type Koa from 'koa'
import { APIRouter, BulkModelViewSet, type DeclaredFields, ModelSerializer, type ModelViewSet } from 'koa-viewsets'
import { Model } from 'objection'
import { type Client, serveApp } from './client.js'

export type SerializerClass = typeof ModelSerializer<Model>
export type ViewSetClass = typeof ModelViewSet<Model>

/** A model of a table. */
export function tableOf(tableName: string, statics: object = {}): typeof Model {
  class Row extends Model {}
  return Object.assign(Row, { tableName, ...statics })
}

let count = 0

/** A serializer, with a name of its own in the document. */
export function serializerOf(
  model: typeof Model,
  fields: string[],
  declaredFields: DeclaredFields = {},
): SerializerClass {
  count++
  return class extends ModelSerializer {
    static override schemaName = `Shown${count}`
    static override model = model
    static override fields = fields
    static override declaredFields = declaredFields
  }
}

/** A view set with all routes, those of lists too. */
export function viewOf(model: typeof Model, serializerClass: SerializerClass, statics: object = {}): ViewSetClass {
  class View extends BulkModelViewSet {
    static override model = model
    static override serializerClass = serializerClass
  }
  return Object.assign(View, statics)
}

/** Serves a router until the test ends. */
export async function serveRouter(api: APIRouter, ...before: Koa.Middleware[]): Promise<Client> {
  await api.prepare()
  return serveApp(...before, api.routes())
}

/** A router of view sets, each under its name. */
export function routerOf(
  views: Record<string, ViewSetClass>,
  options: ConstructorParameters<typeof APIRouter>[0] = {},
): APIRouter {
  const api = new APIRouter(options)
  for (const [name, view] of Object.entries(views)) api.register(name, view, name)
  return api
}

/** Serves view sets, each under its name, until the test ends. */
export function serveViews(views: Record<string, ViewSetClass>, ...before: Koa.Middleware[]): Promise<Client> {
  return serveRouter(routerOf(views), ...before)
}

/** Serves view sets under `/api`, each at its path, until the test ends. */
export function serveResources(views: Record<string, Parameters<APIRouter['register']>[1]>): Promise<Client> {
  const api = new APIRouter({ prefix: '/api' })
  for (const [path, view] of Object.entries(views)) api.register(path, view)
  return serveRouter(api)
}
