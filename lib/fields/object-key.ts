/** The key by which clients name a model's objects, in paths and in bodies: a column, or an external id made of one. */
import { ConfigurationError } from '../errors.js'
import type { IDContext, IDValue } from '../ids/codec.js'
import { type ExternalIds, externalIds } from '../ids/external-ids.js'
import { externalKey } from '../ids/external-key.js'
import { type Column, describeModel } from '../models/describe-model.js'
import type { ModelClass } from '../models/objection.js'
import { parseLookup, parseValue, writeLookup } from './parse-lookup.js'

/** Reads and writes the keys of a model's objects. */
export class ObjectKey {
  /** The column that holds the key: not the primary key where external ids are stored. */
  readonly column: Column
  readonly ids: ExternalIds | undefined

  constructor(column: Column, ids: ExternalIds | undefined) {
    this.column = column
    this.ids = ids
  }

  /** What the column holds for a text of a path; undefined when no row can, so that no query need be sent. */
  fromText(text: string, context: IDContext): unknown {
    return this.ids ? this.ids.decode(text, context) : parseLookup(this.column, text)
  }

  /** The same for a value of a JSON body. */
  fromJson(value: unknown, context: IDContext): unknown {
    return this.ids ? this.ids.decode(value, context) : parseValue(this.column, value)
  }

  /** The key as paths name it, for what the column holds. @throws {AuthenticationFailed} ids are per user, and there is none */
  toText(value: unknown, context: IDContext): unknown {
    if (value === null || value === undefined) return value
    return this.ids ? this.ids.encode(value as IDValue, context) : writeLookup(this.column, value)
  }
}

const keys = new WeakMap<Column, ObjectKey>()

/**
 * The key of a model's objects by one of its properties: the primary key stands for the external id, where there is one,
 * and a foreign key for that of the model it leads to. Undefined when there is no such column.
 * @throws {ConfigurationError} the external id of the other model is stored there
 */
export function objectKey(model: ModelClass, property: string): ObjectKey | undefined {
  const own = externalIds(model)
  const description = describeModel(model)
  const isOwn = own?.names(property) === true
  const column = isOwn ? own.column : description.columns.get(property)
  if (!column) return undefined
  const foreign = isOwn ? undefined : externalKey(description, [property])
  if (foreign && foreign.path.length > 1) {
    throw new ConfigurationError(
      `${model.name}: objects cannot be looked up by "${property}", whose external ids are stored in another table; use another lookupField`,
    )
  }
  const ids = isOwn ? own : foreign?.ids
  let key = keys.get(column)
  if (!key) {
    key = new ObjectKey(column, ids)
    keys.set(column, key)
  }
  return key
}
