/** Fields that stand for related objects by a key: PrimaryKeyRelatedField and SlugRelatedField. */

import { type ExternalIds, externalIds } from '../ids/external-ids.js'
import { ConfigurationError, ValidationError } from '../kernel/errors.js'
import { didYouMean } from '../kernel/near-miss.js'
import { takesOptions } from '../kernel/option-kinds.js'
import { ignoreRejection } from '../kernel/realms.js'
import { exactValue } from '../models/database-text.js'
import { describeModel, oncePerCatalogue } from '../models/describe-model.js'
import type { Column } from '../models/model-description.js'
import {
  type AnyQueryBuilder,
  columnName,
  isModelClass,
  isModelQuery,
  type ModelClass,
  modelName,
} from '../models/objection.js'
import { areOfOneTable } from '../models/one-table.js'
import { deletionOf } from '../models/soft-deletes.js'
import type { Queryable } from '../postgres/pg-types.js'
import { groupConditions } from '../queryset/group-conditions.js'
import { readColumns } from '../queryset/read-columns.js'
import { type CanonicalKey, namesOfValues } from '../queryset/same-keys.js'
import { type Leading, leaveOutUnseen, visibleRowsIn } from '../queryset/visible-rows.js'
import { whereAnyKey } from '../queryset/where-keys.js'
import type { CompositeKey } from './composite-key.js'
import { ExternalIdField } from './external-id-field.js'
import {
  type FieldOptions,
  type FieldSchema,
  type RelatedQueryset,
  type SerializerContext,
  SerializerField,
} from './field.js'
import { fieldForColumn } from './field-for-column.js'
import { readItems, readJson } from './json-text.js'
import { notAKey, rareKey, shortKey } from './object-key.js'
import { checkNotEmpty } from './options.js'

export interface RelatedFieldOptions extends FieldOptions {
  /** The objects that may be chosen: a model, or a function that returns a query and may look at the request. */
  readonly queryset?: RelatedQueryset
  /** A list of keys, for relations that lead to many objects. @default false */
  readonly many?: boolean
  /** An empty list is accepted, with `many`. @default true */
  readonly allowEmpty?: boolean
  /**
   * The serializer that shows the object, or the list, in place of its key. A client sends keys; a shown object that is sent
   * back counts as its key, so that the serializer must show that. @default the key is shown
   * @example author: new PrimaryKeyRelatedField({ queryset: Author, shownBy: AuthorSerializer })
   */
  readonly shownBy?: ShowingClass
}

/** A serializer class. */
export interface ShowingClass {
  new (options?: never): { readonly data: unknown }
  readonly name: string
  describeFields(): { readonly fields: ReadonlyMap<string, unknown> }
}

/** Found in place of an object where there are several. */
export const AMBIGUOUS = Symbol('several objects')

/** @internal The key of an object. */
export type Key = number | string

/** @internal Which objects are looked up for a field. */
export interface Chosen {
  /** The related property that is stored, where the relation says. */
  readonly property?: string | undefined
  /** The relation that leads to them. */
  readonly leading?: Leading | undefined
}

/** What writes the keys of a model. */
interface DescribedKey {
  readonly model: ModelClass
  readonly ids: ExternalIds | undefined
  readonly column: Column
  readonly field: SerializerField
}

type KeyOrKeys<Options> = Options extends { many: true } ? Key[] : Key

/**
 * The base of fields that stand for a related object by one of its properties.
 * Checking that objects exist is not done value by value: the serializer collects the keys of all items and asks once (`find`).
 */
export abstract class RelatedField<Options extends RelatedFieldOptions = RelatedFieldOptions> extends SerializerField<
  KeyOrKeys<Options>,
  Options & RelatedFieldOptions
> {
  #key: DescribedKey | undefined
  /** The model of the queryset, or that a queryset function was found to be of. */
  #model: ModelClass | undefined
  readonly #keyOf = oncePerCatalogue((model: ModelClass) => this.#describeKey(model))

  /** The property of the related model by which a client names an object. */
  protected abstract keyProperty(model: ModelClass): string
  /** @internal A key that was read, as it is shown. */
  protected keyText(key: unknown): string {
    return String(typeof key === 'object' && key !== null ? this.toRepresentation(key, {}) : key)
  }

  /** The message for a key that leads nowhere. */
  abstract notFoundMessage(key: unknown): string

  get many(): boolean {
    return this.options.many === true
  }

  /** @internal The property of the related model that is stored: its primary key, or what the foreign key points to. */
  storedProperty(model: ModelClass): string {
    return describeModel(model).primaryKey[0] as string
  }

  /** @internal The property of the related model that is shown. */
  shownProperty(model: ModelClass): string {
    const property = this.keyProperty(model)
    const ids = externalIds(model)
    return ids?.names(property) ? ids.property : property
  }

  /** @internal What writes the keys of a model that are several columns; undefined where one column names an object. */
  compositeOf(_model: ModelClass): CompositeKey | undefined {
    return undefined
  }

  /** @internal The external ids that stand for the keys of a model; undefined where the keys themselves do. */
  idsOf(model: ModelClass): ExternalIds | undefined {
    const ids = externalIds(model)
    return ids?.names(this.keyProperty(model)) ? ids : undefined
  }

  /**
   * The keys of an input value, checked for type: external ids stay the strings that were given. With `many` a list,
   * otherwise one key. @throws {ValidationError}
   */
  override toInternalValue(value: unknown, context: SerializerContext): KeyOrKeys<Options> {
    const keyField = this.#keyField(context)
    const column = this.#key?.column
    const read = (key: unknown) =>
      (column && rareKey(column, key)) ?? keyField.toInternalValue(column ? shortKey(column, key) : key, context)
    if (!this.many) return read(value) as KeyOrKeys<Options>
    if (!Array.isArray(value)) throw new ValidationError('Expected a list of items.')
    checkNotEmpty(value, this.options)
    const keys = value.map((key) => {
      if (key === null || key === undefined) throw new ValidationError('This field may not be null.')
      return read(key)
    })
    return [...new Set(keys)] as KeyOrKeys<Options>
  }

  override fromNumeral(text: string): unknown {
    const model = this.relatedModel()
    return model ? this.keyFieldOf(model).fromNumeral(text) : super.fromNumeral(text)
  }

  override fromText(text: string): unknown {
    return this.many ? readJson(text) : this.#keyFromText(text)
  }

  override get takesEmptyText(): boolean {
    return this.many
  }

  override fromTexts(values: readonly unknown[]): unknown {
    return this.many ? readItems(values, (text) => this.#keyFromText(text)) : super.fromTexts(values)
  }

  /** The key of one related object as it is shown, also with `many`; one of several columns is the text that paths have. */
  override toRepresentation(value: unknown, context: SerializerContext): unknown {
    const model = this.relatedModel(context)
    if (model && this.compositeOf(model)) return value
    // without a queryset the relation has said which model it is
    const key = model ? this.keyFieldOf(model) : this.#key?.field
    return key ? key.toRepresentation(value, context) : value
  }

  /** @internal True for a class that writes keys in its own way. */
  get hasOwnOutput(): boolean {
    return this.toRepresentation !== RelatedField.prototype.toRepresentation
  }

  override schema(): FieldSchema {
    const model = this.relatedModel()
    return this.schemaOf(model ? this.keyFieldOf(model).schema() : {})
  }

  /** @internal What a key, or a list of them, looks like. */
  schemaOf(key: FieldSchema): FieldSchema {
    if (!this.many) return key
    return { type: 'array', items: key, ...(this.options.allowEmpty === false && { minItems: 1 }) }
  }

  /**
   * @internal Looks up keys in one query: for each the value that is stored, `AMBIGUOUS` where several objects have it, or
   * undefined.
   */
  async find(keys: readonly unknown[], context: SerializerContext, chosen: Chosen = {}): Promise<readonly unknown[]> {
    const model = this.relatedModel(context)
    const ids = model && this.idsOf(model)
    if (!ids) return this.#findStored(keys, context, chosen)
    const values = keys.map((key) => ids.decode(key, context))
    const given = values.filter((value) => value !== undefined)
    const stored = given.length > 0 ? await this.#findStored(given, context, chosen) : []
    let position = 0
    return values.map((value) => (value === undefined ? undefined : stored[position++]))
  }

  async #findStored(keys: readonly unknown[], context: SerializerContext, { property, leading }: Chosen) {
    const query = this.#chosen(context, { property, leading })
    const model = query.modelClass() as ModelClass
    const storedProperty = property ?? this.storedProperty(model)
    const stored = describeModel(model).columns.get(storedProperty)
    const { column } = this.#keyOf(model)
    if (!stored) throw new ConfigurationError(`${modelName(model)}: has no property "${storedProperty}"`)
    const { rows, names } = await rowsOfKeys(query, keys, { stored, key: column })
    const values = rows.map((row) => exactValue(row.stored))
    const knex = query.knex() as Queryable
    const storedNames = stored === column ? names.slice(keys.length) : await namesOfValues(stored, values, knex)
    const found = new Map<CanonicalKey, number | typeof AMBIGUOUS>()
    for (const [index] of rows.entries()) {
      const name = names[keys.length + index] as CanonicalKey
      const known = found.get(name)
      const isSame = known === undefined || (known !== AMBIGUOUS && storedNames[known] === storedNames[index])
      found.set(name, isSame ? index : AMBIGUOUS)
    }
    return keys.map((_, index) => {
      const position = found.get(names[index] as CanonicalKey)
      return typeof position === 'number' ? values[position] : position
    })
  }

  /**
   * @internal The stored keys among these whose objects are in the queryset, and seen by the caller.
   * @param column the related column that is stored
   */
  async seen(
    keys: readonly unknown[],
    context: SerializerContext,
    { column, leading }: { readonly column: Column; readonly leading: Leading | undefined },
  ): Promise<readonly unknown[]> {
    const { names } = await rowsOfKeys(this.#chosen(context, { property: column.property, leading }), keys, {
      key: column,
    })
    const found = new Set(names.slice(keys.length))
    return keys.filter((_, index) => found.has(names[index] as CanonicalKey))
  }

  /** @internal The column of the keys that clients give; undefined before the model is known. */
  get keyColumn(): Column | undefined {
    return this.#key?.column
  }

  /** The objects that may be chosen, without those that are deleted, and those that the caller does not see. */
  #chosen(context: SerializerContext, { property = '', leading }: Chosen): AnyQueryBuilder {
    const query = groupConditions(this.query(context))
    const model = query.modelClass() as ModelClass
    const visible = visibleRowsIn(context)
    const own = areOfOneTable(leading?.model, model) ? leading : undefined
    leaveOutUnseen(query, visible?.related(own ?? { owner: model, relation: '', model }))
    const led = leading && !own ? visible?.related(leading) : undefined
    if (leading && led) {
      const rows = leading.model.query().select(columnName(leading.model, property))
      leaveOutUnseen(rows, led)
      void query.whereIn(`${query.tableRefFor(model)}.${columnName(model, property)}`, rows)
    }
    const deleted = deletionOf(model)
    if (deleted === undefined) return query
    return query.whereNull(`${query.tableRefFor(model)}.${columnName(model, deleted)}`)
  }

  /** A fresh query over the objects that may be chosen. */
  protected query(context: SerializerContext): AnyQueryBuilder {
    const { queryset } = this.options
    if (queryset === undefined) throw withoutQueryset(this)
    const { knex } = context
    if (isModelClass(queryset)) return queryset.query(knex)
    const made = queryset(context)
    if (!isModelQuery(made)) throw notAQuery(this, made)
    // the function may give one query to all requests
    const query = made.clone()
    const own = query.knex() as Queryable | undefined
    return knex && !own?.isTransaction ? query.transacting(knex as never) : query
  }

  /**
   * @internal The model of the related objects; undefined for a field without queryset, and for a queryset function that only
   * a request can answer, before the first one.
   */
  relatedModel(context?: SerializerContext): ModelClass | undefined {
    const { queryset } = this.options
    if (this.#model || queryset === undefined) return this.#model
    if (isModelClass(queryset)) this.#model = queryset
    else {
      const query = context ? queryset(context) : withoutRequest(queryset)
      if (query !== undefined && !isModelQuery(query)) throw notAQuery(this, query)
      this.#model = query?.modelClass() as ModelClass | undefined
    }
    return this.#model
  }

  /** @internal The field that reads and writes the keys of a model. */
  keyFieldOf(model: ModelClass): SerializerField {
    return this.#keyOf(model).field
  }

  #keyFromText(text: string): unknown {
    const model = this.relatedModel()
    if (!model) return text
    const { column, field } = this.#keyOf(model)
    return rareKey(column, text) ?? field.fromText(text)
  }

  #keyField(context: SerializerContext): SerializerField {
    const model = this.relatedModel(context)
    if (!model) throw withoutQueryset(this)
    return this.keyFieldOf(model)
  }

  #describeKey(model: ModelClass): DescribedKey {
    const column = describeModel(model).columns.get(this.shownProperty(model))
    if (!column) {
      throw new ConfigurationError(
        `${this.constructor.name}: ${modelName(model)} has no property "${this.keyProperty(model)}"${didYouMean(this.keyProperty(model), describeModel(model).columns.keys()) || '; correct slugField or queryset'}`,
      )
    }
    if (this.#key?.column !== column) {
      const unfit = notAKey(column)
      if (unfit !== undefined) {
        throw new ConfigurationError(
          `${this.constructor.name}: "${column.property}" of ${modelName(model)} ${unfit}; correct slugField or queryset`,
        )
      }
      const ids = this.idsOf(model)
      const key = { model, ids, column, field: ids ? new ExternalIdField(ids) : fieldForColumn(column, {}) }
      if (this.#key) this.#refuseShared(this.#key, key)
      this.#key = key
    }
    return this.#key
  }

  /** A `toRepresentation()` of its own is given values, and not told of which model they are. */
  #refuseShared(one: DescribedKey, other: DescribedKey): void {
    const isShared = this.hasOwnOutput && this.options.queryset === undefined
    if (!isShared || !(one.ids || other.ids) || areOfOneTable(one.model, other.model)) return
    throw new ConfigurationError(
      `${this.constructor.name}: writes keys of ${modelName(one.model)} and of ${modelName(other.model)}, one of which has external ids; make a field for each`,
    )
  }
}

takesOptions<RelatedFieldOptions, FieldOptions>(RelatedField, {
  queryset: 'function',
  many: 'boolean',
  allowEmpty: 'boolean',
  shownBy: 'function',
})

/** Columns of the rows that have one of these keys; the names that the keys, and then those of the rows, have in common. */
async function rowsOfKeys<Name extends string>(
  query: AnyQueryBuilder,
  keys: readonly unknown[],
  columns: Readonly<Record<Name | 'key', Column>>,
) {
  const wanted = keys.map((key) => [key])
  const rows = await readColumns(whereAnyKey(query, [columns.key], wanted), columns)
  const values = [...keys, ...rows.map(({ key }) => exactValue(key))]
  return { rows, names: await namesOfValues(columns.key, values, query.knex() as Queryable) }
}

/** The query of a function that may look at the request, asked without one. */
function withoutRequest(queryset: (context: SerializerContext) => AnyQueryBuilder): AnyQueryBuilder | undefined {
  try {
    return queryset({})
  } catch {
    return undefined
  }
}

function withoutQueryset(field: object): ConfigurationError {
  return new ConfigurationError(`${field.constructor.name}: set option queryset, or make the field read-only`)
}

function notAQuery(field: object, returned: unknown): ConfigurationError {
  // what a promise rejects with would end the process
  ignoreRejection(returned)
  return new ConfigurationError(
    `${field.constructor.name}: the function of option queryset must return a query; do not make it async`,
  )
}
