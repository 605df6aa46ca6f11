/** Models, serializers and view sets of a test, made by one call each. */
import { BulkModelViewSet, type DeclaredFields, ModelSerializer, type ModelViewSet } from 'koa-viewsets'
import { Model } from 'objection'

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
