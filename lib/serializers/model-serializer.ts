/** A serializer whose fields come from a model, and which creates and updates its rows. */

import type { Model } from 'objection'
import type { SerializerContext, SerializerField } from '../fields/field.js'
import { described, exclusiveTo } from '../kernel/declarations.js'
import { ConfigurationError } from '../kernel/errors.js'
import { pascalCase } from '../kernel/naming.js'
import { buildModel, isExpression } from '../models/build-model.js'
import { boundKnex, describeModel } from '../models/describe-model.js'
import type { RelationDescription } from '../models/model-description.js'
import { isModelClass, type ModelClass, modelName } from '../models/objection.js'
import type { Queryable } from '../postgres/pg-types.js'
import { loadRelations } from '../queryset/load-relations.js'
import type { FieldsDescription, SerializerPlan, WriteEntry } from './contract.js'
import { tooManyNested } from './count-nested.js'
import { declaredFieldsOf } from './declared-fields.js'
import { freshRows } from './fresh-row.js'
import { checkNames, type ExtraKwargs, type FieldNames, generateFields } from './generate-fields.js'
import { NestedSerializer } from './nested-serializer.js'
import { serializerPlan } from './plan.js'
import { placeError } from './refused-item.js'
import { schemaNameOf } from './schema-name.js'
import { Serializer, type ValidityOptions } from './serializer.js'
import { splitWrites } from './split-writes.js'
import { under } from './under.js'
import { inOwnTerms, type WriteItem } from './write-own-rows.js'
import { changeOf, insertRows, type RowChange, updateRows, updatesRows } from './write-rows.js'
import { toItems, writeTree } from './write-tree.js'

export type { ExtraKwargs, FieldNames } from './generate-fields.js'

/** What may stand between validated data and the row. */
const WRITING = ['create', 'update', 'validate'] as const

/**
 * Fields generated from an Objection model: types, lengths, nullability and defaults are those of its `jsonSchema` and of
 * the database. Declared fields stand before generated ones of the same name.
 * @example
 * class BookSerializer extends ModelSerializer<Book> {
 *   static override model = Book
 *   static override fields = ['id', 'title', 'price', 'author_id']
 *   static override extraKwargs = { title: { minLength: 2 } }
 * }
 */
// biome-ignore lint/suspicious/noExplicitAny: shapes that nobody has told
export class ModelSerializer<M extends Model = Model, Shown = any, Taken = any> extends Serializer<M, Shown, Taken> {
  /** The model. */
  static model: ModelClass | null = null
  /** Field names, or `__all__`. Declared fields need not be listed. */
  static fields: FieldNames = []
  /** Fields that are shown and never written. */
  static readOnlyFields: readonly string[] = []
  /** Options for generated fields, by name. */
  static extraKwargs: ExtraKwargs = {}
  /** Levels of related objects shown beside their foreign keys. @default 0 */
  static depth = 0

  /** @internal */
  static override describeFields(): FieldsDescription {
    const model = describeModel(this.modelClass())
    const overrides =
      this.validators.length > 0 ||
      WRITING.some((method) => this.prototype[method] !== ModelSerializer.prototype[method])
    this.checkFields()
    const nest = (relation: RelationDescription) => nestedField(this, relation)
    const fields = generateFields(this, { model, declared: declaredFieldsOf(this), nest })
    return { fields, model, writesRows: !overrides }
  }

  /** @internal */
  static override readOnlyFieldNames(): readonly string[] {
    return this.readOnlyFields
  }

  /** The model. @throws {ConfigurationError} it is not set */
  static modelClass(): ModelClass {
    if (!isModelClass(this.model)) {
      throw new ConfigurationError(`${this.name}: set static model to an Objection model`)
    }
    return this.model
  }

  /** @internal Checks what needs no database. @throws {ConfigurationError} `fields`, or another static, names nothing */
  static override checkFields(): void {
    this.modelClass()
    const declared = declaredFieldsOf(this)
    if (this.fields.length === 0 && declared.size === 0) {
      throw new ConfigurationError(`${this.name}: set static fields to a list of names, or to '__all__'`)
    }
    checkNames(this, declared)
  }

  /** @internal No code of the application looks at what is written: who shows it reads what is related to it. */
  leavesRelated = false

  get #model(): ModelClass {
    return this.plan.model?.model as ModelClass
  }

  get #knex(): Queryable | undefined {
    return this.context.knex
  }

  override isValid(options: ValidityOptions = {}): Promise<boolean> {
    const needsNone = this.obj === undefined || tooManyNested(this, this.inputData, this.many) !== undefined
    return needsNone ? super.isValid(options) : this.#loadTargets().then(() => super.isValid(options))
  }

  /** Nested data is checked against the objects it would change, so they must be loaded. */
  async #loadTargets(): Promise<void> {
    const objects = [this.obj ?? []].flat() as readonly M[]
    if (objects.some((object) => isObject(object) && !hasNestedTargets(this.plan, object)))
      await this.#reload([...objects])
  }

  /** Inserts a row, with its nested objects and many-to-many relations, and returns it as the database has it. */
  override create(data: Record<string, unknown>): Promise<M> {
    return this.#writeOne({ data, instance: undefined, path: [] })
  }

  /** Writes the given fields of a row, with its nested objects and many-to-many relations. @throws {NotFound} the row is gone */
  override update(instance: M, data: Record<string, unknown>): Promise<M> {
    return this.#writeOne({ data, instance, path: [] })
  }

  async #writeOne(entry: WriteEntry): Promise<M> {
    const items = toItems(this, [entry])
    return this.#atomically(items.some(hasRelated), async () => {
      const [row] = await writeTree(this, items)
      await this.#loadShown([row as M])
      return row as M
    })
  }

  /** @internal Writes objects together, but for those that the class creates or updates in its own way. */
  async writeAll(entries: readonly WriteEntry[]): Promise<readonly Model[]> {
    const own = ModelSerializer.prototype
    const inOwnWay = ({ instance }: WriteEntry) => (instance ? this.update !== own.update : this.create !== own.create)
    const rows = new Map<WriteEntry, Model>()
    for (const entry of entries.filter(inOwnWay)) {
      const { instance, data, path } = entry
      rows.set(entry, await under(path, () => (instance ? this.update(instance as M, data) : this.create(data))))
    }
    const others = entries.filter((entry) => !rows.has(entry))
    const written = await writeTree(this, toItems(this, others))
    for (const [index, entry] of others.entries()) rows.set(entry, written[index] as Model)
    return entries.map((entry) => rows.get(entry) as Model)
  }

  /** All or nothing, in one statement for each level of objects; what is wrong with an item stands under its position. */
  protected override async createMany(items: readonly Record<string, unknown>[]): Promise<M[]> {
    if (this.create !== ModelSerializer.prototype.create) {
      return this.#atomically(items.length > 1, () => oneByOne(items, (item) => this.create(item)))
    }
    const writes = items.map((item) => splitWrites(this, item))
    if (writes.some(({ hasRelated }) => hasRelated)) {
      return this.#writeTogether(items.map((data, position) => ({ data, instance: undefined, path: [position] })))
    }
    const rows: Model[] = []
    for (const [position, { columns }] of writes.entries()) {
      const data = items[position] as Record<string, unknown>
      rows.push(await under([position], () => this.#inOwnTerms(data, () => buildModel(this.#model, columns))))
    }
    const created = await this.#atOnce(items, {
      all: (trx) => insertRows(this.#model, rows, trx),
      one: (item, trx) => this.withContext({ ...this.context, knex: trx }, async () => this.create(item as never)),
    })
    return this.#loadShown(created as M[])
  }

  /** All or nothing, in one statement for each level of objects; `instances` should be locked in the order of their keys, so that two lists cannot deadlock. */
  protected override async updateMany(
    instances: readonly M[],
    items: readonly Record<string, unknown>[],
  ): Promise<M[]> {
    const each = () =>
      this.#atomically(items.length > 1, () =>
        oneByOne(items, (item, position) => this.update(instances[position] as M, item)),
      )
    if (this.update !== ModelSerializer.prototype.update) return each()
    const knex = this.#knex ?? boundKnex(this.#model)
    const writes = items.map((item) => splitWrites(this, item))
    if (writes.some(({ hasRelated }) => hasRelated)) {
      return this.#writeTogether(
        items.map((data, position) => ({ data, instance: instances[position], path: [position] })),
      )
    }
    if (!updatesRows(this.#model, knex)) return each()
    const changes: RowChange[] = []
    for (const [position, write] of writes.entries()) {
      const data = items[position] as Record<string, unknown>
      const instance = instances[position] as M
      const change = () => changeOf(this.#model, instance, write, knex)
      changes.push(await under([position], () => this.#inOwnTerms(data, change)))
    }
    if (changes.some(({ values }) => [...values.values()].some(isExpression))) return each()
    const updated = await this.#atOnce(items, {
      all: (trx) => updateRows(this.#model, changes, trx),
      one: (item, trx, position) =>
        this.withContext({ ...this.context, knex: trx }, async () => this.update(instances[position] as M, item)),
    })
    return this.#loadShown(updated as M[])
  }

  /** Writes a list by one statement; when the database refuses it, it is found out which item it means. */
  async #atOnce<Item>(
    items: readonly Item[],
    write: {
      all: (trx: Queryable) => Promise<readonly Model[]>
      one: (item: Item, trx: Queryable, position: number) => Promise<unknown>
    },
  ): Promise<readonly Model[]> {
    if (items.length === 0) return []
    const knex = this.#knex ?? boundKnex(this.#model)
    try {
      // inside the caller's transaction this is a savepoint: a refusal leaves it usable
      return await knex.transaction((trx) => write.all(trx))
    } catch (error) {
      throw await placeError(error, { items, knex, view: this.context.view, write: write.one })
    }
  }

  async #writeTogether(entries: readonly WriteEntry[]): Promise<M[]> {
    return this.#atomically(true, async () => {
      const rows = await this.writeAll(entries)
      // what is nested in one item may be another item
      const isStale = entries.length > 1 && nests(this.plan, this.#model)
      return this.#loadShown([...(isStale ? await freshRows(rows, this) : rows)] as M[])
    })
  }

  /** What is related to objects that were written, for whoever looks at them. */
  async #loadShown(instances: M[]): Promise<M[]> {
    return this.leavesRelated ? instances : this.#reload(instances)
  }

  /** Loads what the output shows of related objects: one query for each relation, however many objects. */
  async #reload(instances: M[]): Promise<M[]> {
    await loadRelations(this.#model, instances, { relations: this.plan.relations, knex: this.#knex })
    return instances
  }

  /** What the database or the model refuses of the object's own row, reported by the names of the client's fields. */
  async #inOwnTerms<Row>(data: Record<string, unknown>, work: () => Promise<Row> | Row): Promise<Row> {
    try {
      return await work()
    } catch (error) {
      throw inOwnTerms(this, data, error)
    }
  }

  /** Several statements are one transaction: the caller's, or one of our own. */
  async #atomically<Result>(isSeveral: boolean, work: () => Promise<Result>): Promise<Result> {
    const knex = this.#knex ?? boundKnex(this.#model)
    if (knex.isTransaction || !isSeveral) return work()
    return knex.transaction((trx) => this.withContext({ ...this.context, knex: trx } satisfies SerializerContext, work))
  }
}

/** True for a serializer in which objects of a model are written, however deep. */
function nests({ writable }: SerializerPlan, model: Pick<ModelClass, 'tableName'>): boolean {
  return writable.some(
    ({ field, relation }) =>
      field instanceof NestedSerializer &&
      (relation?.model.tableName === model.tableName || nests(serializerPlan(field.serializerClass), model)),
  )
}

const OWN = { fields: 'fields', readOnlyFields: 'names', extraKwargs: 'record', depth: 'count' } as const
described(ModelSerializer, { model: 'any', ...OWN })
exclusiveTo('ModelSerializer', 'serializer', OWN)

function hasRelated({ writes }: WriteItem): boolean {
  return writes.hasRelated
}

/** Does the work for each item; what is wrong with it stands under its position. */
async function oneByOne<Item, Result>(
  items: readonly Item[],
  work: (item: Item, position: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  for (const [position, item] of items.entries()) {
    results.push(await under([position], () => work(item, position)))
  }
  return results
}

/** True when all objects that nested data may change are loaded, those of nested objects too. */
function hasNestedTargets(plan: SerializerPlan, object: object): boolean {
  return plan.writable.every(({ field, relation }) => {
    if (!(field instanceof NestedSerializer) || !relation) return true
    const related = (object as Record<string, unknown>)[relation.name]
    if (related === undefined) return false
    const child = serializerPlan(field.serializerClass)
    return (Array.isArray(related) ? related : [related]).every((one) => !isObject(one) || hasNestedTargets(child, one))
  })
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Related objects with the related model's declared columns, one level less deep. */
function nestedField(serializer: typeof ModelSerializer, relation: RelationDescription): SerializerField {
  const generated = class extends ModelSerializer {
    static override model = relation.model
    static override fields: FieldNames = '__all__'
    static override depth = serializer.depth - 1
  }
  Object.defineProperty(generated, 'name', { value: `${modelName(relation.model)}Serializer` })
  generated.schemaName = `${schemaNameOf(serializer)}${pascalCase(relation.name)}`
  return new NestedSerializer(generated, {
    readOnly: true,
    many: !relation.single,
    source: relation.name,
  })
}
