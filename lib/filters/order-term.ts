/** Reads declared orders: columns of the model, and of the one object that relations lead to (`-author__name`). */

import { createHash } from 'node:crypto'
import { ConfigurationError } from '../kernel/errors.js'
import { describeModel } from '../models/describe-model.js'
import type { ModelDescription } from '../models/model-description.js'
import { type AnyQueryBuilder, modelName } from '../models/objection.js'
import { isJoinable, type OrderTerm, parseOrderTerm, type RelatedTerm, VALUE } from '../queryset/total-order.js'
import { type FieldPath, PathStart } from './field-path.js'
import { resolvePaths, SEPARATOR } from './resolve-paths.js'

/**
 * A declared name as a term. A name of neither a column nor a path is a term of a column that there is not.
 * @param where the class and attribute that declare it, for the message
 * @throws {ConfigurationError} a path leads nowhere, or to more than one object
 */
export function declaredTerm(where: string, model: ModelDescription, text: string): OrderTerm {
  const term = parseOrderTerm(text)
  const { property } = term
  if (model.columns.has(property) || !property.includes(SEPARATOR)) return term
  const [path] = resolvePaths(where, model, [property])
  return { ...term, related: relatedTerm(where, model, path as FieldPath) }
}

function relatedTerm(where: string, model: ModelDescription, path: FieldPath): RelatedTerm {
  const isOne = refuseMany(where, model, path)
  const column = { ...path.column, property: path.name, holdsNull: true, unique: false }
  const { narrowed, subQueries } = path
  const lookUp = (query: AnyQueryBuilder) =>
    path.value(PathStart.of(query), (reference) => ({ sql: '??', bindings: [reference] }))
  if (narrowed || !isOne) return { column, narrowed, subQueries, value: lookUp, join: undefined }
  const alias = joinName(path.name)
  return {
    column,
    narrowed,
    subQueries,
    value: (query) => (isJoinable(query) ? { sql: '??', bindings: [`${alias}.${VALUE}`] } : lookUp(query)),
    join: (query) => path.join(PathStart.of(query), { alias, value: VALUE }),
  }
}

/** PostgreSQL cuts names at 63 bytes. */
const LONGEST_NAME = 40

function joinName(path: string): string {
  const isShort = Buffer.byteLength(path) <= LONGEST_NAME
  return `order ${isShort ? path : createHash('sha256').update(path).digest('hex').slice(0, LONGEST_NAME)}`
}

/**
 * A to-many relation has no single value to order by.
 * @returns true where the database itself sees to it that there is one, not the model alone
 * @throws {ConfigurationError}
 */
function refuseMany(where: string, model: ModelDescription, { name, properties }: FieldPath): boolean {
  let owner = model
  let isSure = true
  for (const step of properties.slice(0, -1)) {
    const relation = owner.relations.get(step)
    if (!relation) return false
    const related = describeModel(relation.model)
    const isOne = relation.single && relation.through === undefined && isUnique(related, relation.relatedProperties)
    if (!isOne) {
      throw new ConfigurationError(
        `${where} names "${name}": "${step}" of ${modelName(owner.model)} may lead to several objects, as no primary key and no unique constraint of ${modelName(related.model)} says otherwise; order by columns of one`,
      )
    }
    isSure &&= !related.hasHeirs && hasKey(related.uniqueKeys, relation.relatedProperties)
    owner = related
  }
  return isSure
}

function isUnique({ primaryKey, uniqueKeys }: ModelDescription, properties: readonly string[]): boolean {
  return hasKey([primaryKey, ...uniqueKeys], properties)
}

function hasKey(keys: readonly (readonly string[])[], properties: readonly string[]): boolean {
  return keys.some((key) => key.length > 0 && key.every((one) => properties.includes(one)))
}
