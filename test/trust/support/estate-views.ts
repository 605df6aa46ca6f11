/** View sets over the estate: any shape of queryset, on any level, with any permissions. */

import type { Knex } from 'knex'
import type Koa from 'koa'
import {
  action,
  BulkModelViewSet,
  type DeclaredFields,
  ModelSerializer,
  type ModelViewSet,
  NestedViewSetMixin,
  PrimaryKeyRelatedField,
} from 'koa-viewsets'
import type { RuleCaller } from 'koa-viewsets/rules'
import { Model, type TransactionOrKnex } from 'objection'
import { belowOf, LEVELS, type Level, parentOf } from './estate.js'
import { caller, type Place, type Shape } from './shapes.js'
import { FORMER_NAMES } from './statics.js'
import { type Condition, toRule } from './visibility.js'

export type ViewSetClass = typeof ModelViewSet<Model>
export type ModelClass = typeof Model

export class Person extends Model {
  static override tableName = 'people'
}
export class Label extends Model {
  static override tableName = 'labels'
}
const GRANTS = Object.fromEntries(
  LEVELS.map((level) => [
    level,
    class extends Model {
      static override tableName = `${level}_grants`
      static override idColumn = ['row_id', 'person_id']
    },
  ]),
) as unknown as Record<Level, ModelClass>

/** The models of all levels. */
export type Models = Readonly<Record<Level, ModelClass>>

const relationsOf = (level: Level, models: Models, below?: Level) => ({
  ...(below && {
    children: {
      relation: Model.HasManyRelation,
      modelClass: models[below],
      join: { from: `${level}.id`, to: `${below}.parent_id` },
    },
  }),
  parent: {
    relation: Model.BelongsToOneRelation,
    modelClass: models[parentOf(level)],
    join: { from: `${level}.parent_id`, to: `${parentOf(level)}.id` },
  },
  grants: {
    relation: Model.HasManyRelation,
    modelClass: GRANTS[level],
    join: { from: `${level}.id`, to: `${level}_grants.row_id` },
  },
  owner: {
    relation: Model.BelongsToOneRelation,
    modelClass: Person,
    join: { from: `${level}.owner_id`, to: 'people.id' },
  },
  ...(level === 'papers' && {
    labels: {
      relation: Model.ManyToManyRelation,
      modelClass: Label,
      join: {
        from: 'papers.id',
        through: { from: 'papers_labels.row_id', to: 'papers_labels.label_id' },
        to: 'labels.id',
      },
    },
  }),
})

interface Made {
  readonly baseOf: (level: Level) => ModelClass
  /** A relation leads to the objects below, too. */
  readonly hasChildren: boolean
}

/** A model for each level, of a base that may give its objects other ids. */
function makeModels({ baseOf, hasChildren }: Made): Models {
  const models: Models = Object.fromEntries(
    LEVELS.map((level) => [
      level,
      class extends baseOf(level) {
        static override tableName = level
        static override relationMappings = () => relationsOf(level, models, hasChildren ? belowOf(level) : undefined)
      },
    ]),
  ) as unknown as Models
  return models
}

/** The plain model of a level. */
export const MODELS = makeModels({ baseOf: () => Model, hasChildren: false })

/** Models of an application alone, of which its view sets may say what holds for all others of the process. */
export function ownModels(baseOf: (level: Level) => ModelClass): Models {
  const models = makeModels({ baseOf, hasChildren: true })
  for (const model of Object.values(models)) model.knex(MODELS.folders.knex())
  return models
}

/** Binds all models to a database. */
export function bindModels(knex: Knex): void {
  for (const model of [Person, Label, ...Object.values(GRANTS), ...Object.values(MODELS)]) model.knex(knex)
}

/** Takes the caller from `X-User`: the id of a person, with `staff` after it for one of the staff. */
export const asCaller: Koa.Middleware = (ctx, next) => {
  const [id, kind] = ctx.get('X-User').split(' ')
  if (!id) return caller.run(null, next)
  ctx.state['user'] = { id: Number(id), is_staff: kind === 'staff' }
  return caller.run(Number(id), next)
}

let count = 0

export interface ViewOptions extends Place {
  readonly shape: Shape
  readonly statics?: object
  /** Fields of the serializer. */
  readonly declared?: DeclaredFields
  /** A written row may be one that the queryset does not show. */
  readonly mayLeave?: boolean
  /** Methods of the serializer, for method fields. */
  readonly methods?: object
  /** Writes by the application's own code. */
  readonly hooks?: boolean
  /** A planted fault: the action writes what it has read without holding it. */
  readonly careless?: boolean
  /** @default MODELS */
  readonly models?: Models
  /** What the class extends besides. */
  readonly mixedIn?: (base: typeof Base) => typeof Base
  /** Fields of version 1 that are called otherwise in later ones. */
  readonly former?: DeclaredFields
}

/** A serializer of a level's rows. */
function serializerOf(
  model: ModelClass,
  { level, declared, methods }: ViewOptions,
  former?: DeclaredFields,
): typeof ModelSerializer<Model> {
  count++
  class Shown extends ModelSerializer {
    static override schemaName = `Estate${count}`
    static override model = model
    static override fields = ['id', 'parent_id', 'owner_id', 'open', 'archived', 'n', 'title'].filter(
      (name) => !former || FORMER_NAMES[name] === undefined,
    )
    static override declaredFields: DeclaredFields = {
      ...(level === 'papers' && {
        labels: new PrimaryKeyRelatedField({ queryset: Label, many: true, required: false }),
      }),
      ...declared,
      ...former,
    }
  }
  Object.assign(Shown.prototype, methods)
  return Shown
}

/** The model of a shape, with the column that the shape adds. */
function modelOf({ level, shape, condition, models = MODELS }: ViewOptions): ModelClass {
  const plain = models[level]
  const { column } = shape
  if (column === undefined) return shape.model?.(plain, { level, condition }) ?? plain
  return class extends plain {
    static override virtualAttributes = [column as string]
  }
}

/** Which rows of a level a rule says who may write: what is left out is as who sees it. */
export type Writes = Partial<Record<'create' | 'update' | 'delete', Condition>>

/** What the API's rules say of the rows of a level. */
export function rowRules({ condition }: Place, writes: Writes = {}) {
  const conditions: Writes & { read: Condition } = { ...writes, read: condition }
  return Object.fromEntries(
    Object.entries(conditions).map(([use, one]) => [
      use,
      ({ user }: RuleCaller) => toRule(one, (user as { id: number } | undefined)?.id ?? null),
    ]),
  )
}

class Base extends NestedViewSetMixin(BulkModelViewSet) {}

/** A view set with all routes and an action of its own, `bump`, that reads an object to write it. */
export function viewOf(options: ViewOptions): ViewSetClass {
  const { level, shape, condition, mayLeave = false, statics = {}, hooks = false, careless = false } = options
  const place = { level, condition }
  const rowModel = modelOf(options)
  const serializer = serializerOf(rowModel, options)
  class View extends (options.mixedIn?.(Base) ?? Base) {
    static override model = rowModel
    static override serializerClass = serializer
    static override parentLookupField = 'parent_id'
    static override mayLeaveQueryset = mayLeave

    async bump() {
      const found = careless ? await this.getObject() : await this.getObjectToWrite()
      const object = found as Model & { n: number | null }
      const n = (object.n ?? 0) + 1
      await ownWrite(options, object, this.trx).patch({ n } as object)
      return { n }
    }
  }
  action({ methods: ['POST'], detail: true })(View.prototype.bump)
  if (options.former) {
    const former = serializerOf(rowModel, options, options.former)
    View.prototype.getSerializerClass = function getSerializerClass(this: View) {
      return this.ctx.state['version'] === '1' ? former : serializer
    }
  }
  const { narrow } = shape
  if (narrow) {
    // a view that overrides nothing has ways of its own
    View.prototype.getQueryset = function getQueryset(this: View) {
      return narrow(Base.prototype.getQueryset.call(this), place, caller.getStore() ?? null) as never
    }
  }
  if (shape.queryset) Object.assign(View, { queryset: shape.queryset(rowModel, place) })
  return Object.assign(hooks ? hookedView(View as never, options) : View, statics)
}

/** The same with writes of the application's own: an update that counts, and a destroy that keeps the row. */
function hookedView(base: ViewSetClass, options: ViewOptions): ViewSetClass {
  return class extends base {
    override performUpdate(serializer: never, instance: never) {
      const { n } = instance as { n: number | null }
      return (serializer as { save(values: object): Promise<unknown> }).save({ n: (n ?? 0) + 10 })
    }
    override async performDestroy(instance: never) {
      return ownWrite(options, instance, this.trx).patch({ archived: true } as object)
    }
  }
}

/** A query by which the application itself writes an object. */
function ownWrite({ shape, level, models = MODELS }: ViewOptions, object: Model, trx: TransactionOrKnex | undefined) {
  if (!shape.touchesWrites) return object.$query(trx)
  return models[level].query(trx).findById((object as Model & { id: number }).id)
}
