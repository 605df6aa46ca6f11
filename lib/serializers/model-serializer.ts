/** A serializer whose fields come from a model, and which creates and updates its rows. */

import type { Model } from 'objection'
import type { SerializerContext, SerializerField } from '../fields/field.js'
import { described, exclusiveTo } from '../kernel/declarations.js'
import { ConfigurationError } from '../kernel/errors.js'
import { pascalCase } from '../kernel/naming.js'
import { isRecord } from '../kernel/records.js'
import { boundKnex, describeModel } from '../models/describe-model.js'
import type { RelationDescription } from '../models/model-description.js'
import { isModelClass, type ModelClass, modelName } from '../models/objection.js'
import { areOfOneTable } from '../models/one-table.js'
import type { Queryable } from '../postgres/pg-types.js'
import { loadRelations } from '../queryset/load-relations.js'
import { visibleRowsIn } from '../queryset/visible-rows.js'
import type { FieldsDescription, SerializerPlan, WriteEntry } from './contract.js'
import { declaredFieldsOf } from './declared-fields.js'
import { freshWritten } from './fresh-row.js'
import { checkDeclaredNames, type ExtraKwargs, type FieldNames, generateFields } from './generate-fields.js'
import { NestedSerializer } from './nested-serializer.js'
import { serializerPlan } from './plan.js'
import { schemaNameOf } from './schema-name.js'
import { Serializer } from './serializer.js'
import type { WriteItem } from './write-own-rows.js'
import { toItems, writeTree } from './write-tree.js'
import { writeOneByOne } from './written-items.js'

export type { ExtraKwargs, FieldNames } from './generate-fields.js'

/** What may stand between validated data and the row. */
const WRITING = ['create', 'update', 'validate'] as const

/** What writes new rows, and stored ones. */
export const SAVING = {
  insert: ['save', 'create', 'createMany'],
  update: ['save', 'update', 'updateMany'],
} as const

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
    const isOurs = this.validators.length === 0 && overrideOf(this, WRITING) === null
    this.checkFields()
    const nest = (relation: RelationDescription) => nestedField(this, relation)
    const fields = generateFields(this, { model, declared: declaredFieldsOf(this), nest })
    return { fields, model, writesRows: isOurs }
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
    checkDeclaredNames(this, declared)
  }

  /** @internal No code of the application looks at what is written: who shows it reads what is related to it. */
  leavesRelated = false

  get #model(): ModelClass {
    return this.plan.model?.model as ModelClass
  }

  get #knex(): Queryable | undefined {
    return this.context.knex
  }

  /** @internal */
  override async loadTargets(): Promise<void> {
    const objects = this.plan.nesting.length === 0 ? [] : ([this.obj ?? []].flat() as readonly M[])
    if (objects.some((object) => isRecord(object) && !hasNestedTargets(this.plan, object)))
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
    // what rules refuse of a row that was written is taken back
    const isSeveral = items.some(hasRelated) || visibleRowsIn(this.context) !== undefined
    return this.#atomically(isSeveral, async () => {
      const [row] = await writeTree(this, items)
      await this.#loadShown([row as M])
      return row as M
    })
  }

  /** The class creates or updates objects by code of its own. */
  #inOwnWay({ instance }: WriteEntry): boolean {
    return overrideOf(this.constructor, [instance ? 'update' : 'create']) !== null
  }

  /** @internal Writes objects together, but for those that the class creates or updates in its own way. */
  async writeAll(entries: readonly WriteEntry[]): Promise<readonly Model[]> {
    const own = entries.filter((entry) => this.#inOwnWay(entry))
    const others = entries.filter((entry) => !this.#inOwnWay(entry))
    const rows = new Map<WriteEntry, Model>()
    const made = await writeOneByOne(this, this.#model, own)
    for (const [index, entry] of own.entries()) rows.set(entry, made[index] as Model)
    const written = await writeTree(this, toItems(this, others))
    for (const [index, entry] of others.entries()) rows.set(entry, written[index] as Model)
    return entries.map((entry) => rows.get(entry) as Model)
  }

  /** All or nothing, in one statement for each level of objects; what is wrong with an item stands under its position. */
  protected override createMany(items: readonly Record<string, unknown>[]): Promise<M[]> {
    return this.#writeList(items.map((data, position) => ({ data, instance: undefined, path: [position] })))
  }

  /** All or nothing, in one statement for each level of objects; `instances` should be locked in the order of their keys, so that two lists cannot deadlock. */
  protected override updateMany(instances: readonly M[], items: readonly Record<string, unknown>[]): Promise<M[]> {
    return this.#writeList(items.map((data, position) => ({ data, instance: instances[position], path: [position] })))
  }

  async #writeList(entries: readonly WriteEntry[]): Promise<M[]> {
    const [first] = entries
    const isOwn = first !== undefined && this.#inOwnWay(first)
    // a list of new rows is one statement
    const isSeveral =
      isOwn ||
      first?.instance !== undefined ||
      this.plan.nesting.length > 0 ||
      visibleRowsIn(this.context) !== undefined
    return this.#atomically(isSeveral, async () => {
      const rows = await this.writeAll(entries)
      if (isOwn) return [...rows] as M[]
      // what is nested in one item may be another item
      const isStale = entries.length > 1 && nests(this.plan, this.#model)
      return this.#loadShown([...(isStale ? await freshWritten(rows, this) : rows)] as M[])
    })
  }

  /** What is related to objects that were written, for whoever looks at them. */
  async #loadShown(instances: M[]): Promise<M[]> {
    return this.leavesRelated ? instances : this.#reload(instances)
  }

  /** Loads what the output shows of related objects: one query for each relation, however many objects. */
  async #reload(instances: M[]): Promise<M[]> {
    const visible = visibleRowsIn(this.context)
    await loadRelations(this.#model, instances, { relations: this.plan.relations, knex: this.#knex, visible })
    return instances
  }

  /** Several statements are one transaction: the caller's, or one of our own. */
  async #atomically<Result>(isSeveral: boolean, work: () => Promise<Result>): Promise<Result> {
    const knex = this.#knex ?? boundKnex(this.#model)
    if (knex.isTransaction || !isSeveral) return work()
    return knex.transaction((trx) => this.withContext({ ...this.context, knex: trx } satisfies SerializerContext, work))
  }
}

/** That a class has one of these methods in its own way, as a sentence; null where it has none. */
export function overrideOf(
  serializer: { readonly name: string; readonly prototype: object },
  methods: readonly string[],
) {
  const [own, ours] = [serializer.prototype, ModelSerializer.prototype] as unknown as Record<string, unknown>[]
  const method = methods.find((one) => own?.[one] !== ours?.[one])
  return method === undefined ? null : `${serializer.name} overrides ${method}()`
}

/** True for a serializer in which objects of a model are written, however deep. */
function nests({ writable }: SerializerPlan, model: ModelClass): boolean {
  return writable.some(
    ({ field, relation }) =>
      field instanceof NestedSerializer &&
      (areOfOneTable(relation?.model, model) || nests(serializerPlan(field.serializerClass), model)),
  )
}

const OWN = { fields: 'fields', readOnlyFields: 'names', extraKwargs: 'record', depth: 'count' } as const
described(ModelSerializer, { model: 'any', ...OWN })
exclusiveTo('ModelSerializer', 'serializer', OWN)

function hasRelated({ writes }: WriteItem): boolean {
  return writes.hasRelated
}

/** True when all objects that nested data may change are loaded, those of nested objects too. */
function hasNestedTargets(plan: SerializerPlan, object: object): boolean {
  return plan.writable.every(({ field, relation }) => {
    if (!(field instanceof NestedSerializer) || !relation) return true
    const related = (object as Record<string, unknown>)[relation.name]
    if (related === undefined) return false
    const child = serializerPlan(field.serializerClass)
    return (Array.isArray(related) ? related : [related]).every((one) => !isRecord(one) || hasNestedTargets(child, one))
  })
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
