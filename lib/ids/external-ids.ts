/** External ids of a model: what its objects are called outside. */
import { ConfigurationError } from '../kernel/errors.js'
import { readModelSchema } from '../kernel/json-schema.js'
import { didYouMean } from '../kernel/near-miss.js'
import { oncePer } from '../kernel/once-per.js'
import { describeModel, ownerAt } from '../models/describe-model.js'
import {
  type Column,
  type ModelDescription,
  type RelationDescription,
  relationOfKey,
} from '../models/model-description.js'
import { type ModelClass, modelName, primaryKeyOf, propertyName } from '../models/objection.js'
import type { EncodeContext, IDCodec, IDContext, IDValue } from './codec.js'
import { EncodedCodec, RawCodec, SignedCodec, StoredCodec } from './codecs.js'
import type { IDSettings } from './id-config.js'
import { randomId, Uuid7 } from './new-public-id.js'

/** A model with external ids, as the mixins make it; recognised by this method, whatever copy of the package made it. */
export interface IdentifiedModel {
  /**
   * `IDSettings`, which declarations of an application's own models need not name.
   * @throws {ConfigurationError} the configuration is wrong
   */
  describeIds(): object
}

/** The column of stored ids. */
const PUBLIC_ID = 'public_id'
/** Longer strings are no ids, and are not looked at (promise R10). */
const LONGEST = 8_192
const BITS: ReadonlyMap<string, number> = new Map([
  ['int2', 16],
  ['int4', 32],
  ['int8', 64],
])
const STORED_TYPES = new Set(['text', 'varchar', 'uuid'])

/** Null where there are none, which is found faster than undefined: requests ask often. */
const idsOf = oncePer((model: ModelClass): ExternalIds | null => {
  const { describeIds } = model as Partial<IdentifiedModel>
  return typeof describeIds === 'function' ? new ExternalIds(model, describeIds.call(model) as IDSettings) : null
})

/** The external ids of a model; undefined for a model whose objects go by their primary key. @throws {ConfigurationError} */
export function externalIds(model: ModelClass): ExternalIds | undefined {
  return idsOf(model) ?? undefined
}

/** Writes and reads the ids of a model's objects. */
export class ExternalIds {
  readonly model: ModelClass
  /** The ids are what the column `public_id` holds, not made of the primary key. */
  readonly stored: boolean
  /** Ids differ from user to user. */
  readonly perUser: boolean
  /** An object has another id later: they expire. */
  readonly expire: boolean
  /** Clients never see the primary key; else ids are its decimal digits. */
  readonly hidesKeys: boolean
  /** They do not tell what they are made of. */
  readonly conceal: boolean
  readonly #codec: IDCodec
  readonly #make: (() => string) | undefined
  #known: { readonly description: ModelDescription; readonly property: string } | undefined

  constructor(model: ModelClass, settings: IDSettings) {
    this.model = model
    this.stored = settings.kind === 'random' || settings.kind === 'uuid7'
    this.hidesKeys = settings.kind !== 'raw'
    this.conceal = this.hidesKeys && !this.stored
    this.#codec = this.#codecOf(settings)
    this.perUser = this.#codec.perUser
    this.expire = settings.kind === 'signed' && settings.expiresIn !== undefined
    this.#make = this.#makerOf(settings)
  }

  /** The property that ids are made of: the primary key, or `public_id` under the model's own name for it. */
  get property(): string {
    const description = describeModel(this.model)
    if (this.#known?.description !== description) this.#known = { description, property: this.#find(description) }
    return this.#known.property
  }

  /** The column of that property. @throws {ConfigurationError} there is none */
  get column(): Column {
    const column = describeModel(this.model).columns.get(this.property)
    if (column) return column
    throw new ConfigurationError(
      `${modelName(this.model)}: has no column "${this.property}" to make external ids of${didYouMean(this.property, describeModel(this.model).columns.keys()) || '; add it'}`,
    )
  }

  /** True for the properties that stand for the object itself: the primary key, and what ids are made of. */
  names(property: string): boolean {
    return property === this.property || primaryKeyOf(this.model).includes(property)
  }

  /**
   * The id of an object.
   * @param value its primary key, or its stored `public_id`
   * @throws {AuthenticationFailed} ids are per user, and there is none
   * @throws {TypeError} the value can have no id
   */
  encode(value: IDValue, context: EncodeContext = {}): string {
    return this.#codec.encode(value, context)
  }

  /** The ids that an object had before keys were replaced. Of ids that are for everybody, and do not expire. */
  former(value: IDValue): readonly string[] {
    return this.#codec.former?.(value) ?? []
  }

  /**
   * What a column must hold to have this id; undefined for anything that is no id of this model for this caller and now.
   * Tells nothing of whether there is such an object.
   */
  decode(text: unknown, context: IDContext = {}): number | string | undefined {
    if (typeof text !== 'string' || text === '' || text.length > LONGEST) return undefined
    const value = this.#codec.decode(text, context)
    return value === undefined || this.stored || this.#fits(value) ? value : undefined
  }

  /** Gives a new object its stored id, unless it has one or the database gives it. */
  fill(object: Record<string, unknown>): void {
    if (!this.#make) return
    const { property } = this
    if (object[property] !== undefined && object[property] !== null) return
    if (describeModel(this.model).columns.get(property)?.hasDefault !== true) object[property] = this.#make()
  }

  /** Checks what the catalogue says. @throws {ConfigurationError} every mistake, one a line */
  check(): void {
    const { name } = this.model
    const mistakes = this.stored ? this.#storedMistakes() : this.#keyMistakes()
    if (primaryKeyOf(this.model).length !== 1) mistakes.unshift('external ids need a primary key of one column')
    if (mistakes.length > 0) throw new ConfigurationError(mistakes.map((mistake) => `${name}: ${mistake}`).join('\n'))
  }

  #find({ columns, primaryKey }: ModelDescription): string {
    if (!this.stored) return primaryKey[0] as string
    const column = [...columns.values()].find(({ nativeName }) => nativeName === PUBLIC_ID)
    return column?.property ?? propertyName(this.model, PUBLIC_ID)
  }

  #keyMistakes(): string[] {
    const { columns } = describeModel(this.model)
    const column = columns.get(this.property)
    if (column && BITS.has(column.type)) return []
    const type = column?.sqlType ?? column?.type ?? 'no column'
    return [`external ids are made of an integer key, and "${this.property}" is ${type}; use mode 'random'`]
  }

  #storedMistakes(): string[] {
    const { property } = this
    const column = describeModel(this.model).columns.get(property)
    if (!column) return [`external ids are stored, and there is no column "${PUBLIC_ID}"; add one of type text or uuid`]
    const mistakes: string[] = []
    if (!STORED_TYPES.has(column.type)) {
      mistakes.push(`"${property}" is ${column.sqlType ?? column.type}; make it text or uuid`)
    }
    if (!column.unique) mistakes.push(`"${property}" is not unique; add a unique constraint`)
    const width = this.#make && column.type === 'varchar' && !column.hasDefault ? this.#make().length : 0
    if (column.maxLength !== undefined && column.maxLength < width) {
      mistakes.push(`"${property}" holds ${column.maxLength} characters and ids have ${width}; make it longer`)
    }
    if (!column.hasDefault && readModelSchema(this.model.jsonSchema).required.has(property)) {
      mistakes.push(
        `the jsonSchema requires "${property}", which is filled in after it was checked; take it out of required`,
      )
    }
    return mistakes
  }

  #codecOf(settings: IDSettings): IDCodec {
    switch (settings.kind) {
      case 'signed':
        return new SignedCodec({ ...settings, table: this.model.tableName })
      case 'encoded':
        return new EncodedCodec(settings)
      case 'raw':
        return new RawCodec()
      case 'random':
        return new StoredCodec(() => this.#isUuid)
      case 'uuid7':
        return new StoredCodec(() => true)
    }
  }

  #makerOf(settings: IDSettings): (() => string) | undefined {
    if (settings.kind === 'uuid7') return () => uuid7.next()
    if (settings.kind !== 'random') return undefined
    return () => (this.#isUuid ? crypto.randomUUID() : randomId(settings.alphabet))
  }

  get #isUuid(): boolean {
    return describeModel(this.model).columns.get(this.property)?.type === 'uuid'
  }

  /** True for a key that the column can hold: nothing else need be looked up (promise B1). */
  #fits(value: number | string): boolean {
    const { columns, prepared } = describeModel(this.model)
    const bits = prepared ? BITS.get(columns.get(this.property)?.type ?? '') : undefined
    const integer = BigInt(value)
    return bits === undefined || BigInt.asIntN(bits, integer) === integer
  }
}

/** One for the process, so that ids never decrease in it. */
const uuid7 = new Uuid7()

/** A key that clients see as an external id. */
export interface ExternalKey {
  readonly ids: ExternalIds
  /** The path to the value that the id is made of: it may be stored in the related object only. */
  readonly path: readonly string[]
}

/**
 * The external key at the end of a path, such as `id`, `author_id` or `author.country_id`; undefined where it ends in
 * anything else. The relation of a foreign key must be declared.
 */
export function externalKey(model: ModelDescription, path: readonly string[]): ExternalKey | undefined {
  const owner = ownerAt(model, path)
  const last = path.at(-1)
  if (!owner || last === undefined || !owner.columns.has(last)) return undefined
  const before = path.slice(0, -1)
  const own = externalIds(owner.model)
  if (own?.names(last)) return { ids: own, path: [...before, own.property] }
  const foreign = foreignOf(owner, last)
  if (!foreign) return undefined
  const { relation, related, ids } = foreign
  return { ids, path: related === ids.property ? path : [...before, relation.name, ids.property] }
}

interface ForeignKey {
  readonly relation: RelationDescription
  /** The property that it leads to. */
  readonly related: string
  readonly ids: ExternalIds
}

/** True for a relation whose foreign key leads to what external ids stand for. */
export function leadsToIds({ model, relatedProperties: [related = ''] }: RelationDescription): boolean {
  return externalIds(model)?.names(related) === true
}

/** A foreign key, or one column of several, that leads to what external ids stand for. */
function foreignOf(owner: ModelDescription, property: string): ForeignKey | undefined {
  const alone = relationOfKey(owner, property, leadsToIds)
  for (const relation of alone ? [alone] : owner.relations.values()) {
    const { kind, model, ownerProperties, relatedProperties } = relation
    const related = kind === 'belongs-to-one' ? relatedProperties[ownerProperties.indexOf(property)] : undefined
    const ids = related === undefined ? undefined : externalIds(model)
    if (related !== undefined && ids?.names(related)) return { relation, related, ids }
  }
  return undefined
}
