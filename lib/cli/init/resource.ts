/** Resources of `init`: what clients see of a table, and what they may do. */
import { notAKey } from '../../fields/object-key.js'
import { isSecretName } from '../../kernel/secret-names.js'
import type { DescribedModel, ModelProperty } from '../schema/describe-schema.js'
import type { TableRelation } from '../schema/find-relations.js'
import type { SchemaTable } from '../schema/read-schema.js'

/** Which actions a view set has: all, those that read, or those of the list. */
export type Actions = 'all' | 'read' | 'list'

/** A relation to a table that has a model. */
export interface ResourceRelation {
  readonly relation: TableRelation
  readonly target: DescribedModel
}

export interface Resource {
  readonly model: DescribedModel
  /** The columns by which the model distinguishes its rows. */
  readonly idColumn: readonly string[]
  readonly actions: Actions
  /** Why there are no more actions: a sentence without its subject; undefined where there are all. */
  readonly limit: string | undefined
  readonly relations: readonly ResourceRelation[]
  readonly fields: readonly ModelProperty[]
  /** Columns that no client sees. */
  readonly secrets: readonly string[]
  /** Columns that say who may do more, which no client writes. */
  readonly privileges: readonly string[]
  /** Columns that a new row must have, and that no client gives. */
  readonly demanded: readonly string[]
  /** Columns that clients may filter by. */
  readonly filters: readonly string[]
}

/** Query parameters of a list that mean something else. */
const PARAMETERS = new Set(['page', 'page_size', 'fields', 'expand', 'format', 'version'])
/** Such as `IsAdminUser` asks. */
const PRIVILEGE = /^(is_?)?(staff|admin|administrator|super_?user|root)$/i
const FILTERED = new Set(['bool', 'enum'])

export function describeResource(model: DescribedModel, models: ReadonlyMap<SchemaTable, DescribedModel>): Resource {
  const { table, key, properties } = model
  const secrets = properties.filter(({ name }) => isSecretName(name) && !key.includes(name)).map(({ name }) => name)
  const fields = properties.filter(({ name }) => !secrets.includes(name))
  const relations = model.relations.flatMap((relation): ResourceRelation[] => {
    const target = models.get(relation.target)
    return target ? [{ relation, target }] : []
  })
  const { actions, limit } = actionsOf(model)
  const ordered = properties.filter(({ column }) => column.isEquated)
  const demanded = table.catalogue.columns.filter(
    ({ column, notNull, hasDefault, generated }) =>
      notNull && !hasDefault && !generated && !fields.some(({ name }) => name === column),
  )
  return {
    model,
    idColumn: key.length > 0 ? key : ordered.map(({ name }) => name),
    actions,
    limit,
    relations,
    fields,
    secrets,
    privileges: fields.filter(isPrivilege).map(({ name }) => name),
    demanded: actions === 'read' || actions === 'list' ? [] : demanded.map(({ column }) => column),
    filters: fields.filter((property) => isFiltered(property, relations)).map(({ name }) => name),
  }
}

function isPrivilege({ name, column: { type } }: ModelProperty): boolean {
  return type === 'bool' && PRIVILEGE.test(name)
}

/** A key that is unknown is part of no path. */
function actionsOf({ table, key, properties, leftOut }: DescribedModel): Pick<Resource, 'actions' | 'limit'> {
  const { kind, catalogue } = table
  if (key.length === 0) {
    return { actions: 'list', limit: `nothing tells the rows of this ${kind} apart, so there is a list of them only` }
  }
  for (const { name, column } of properties) {
    if (!key.includes(name) || notAKey(column) === undefined) continue
    return { actions: 'list', limit: `no path can name a key of type ${column.sqlType}, so there is a list only` }
  }
  if (kind !== 'table') return { actions: 'read', limit: `it is a ${kind}, which is only read` }
  const { insert, update, delete: deletes } = catalogue.takes
  if (!insert || !update || !deletes) return { actions: 'read', limit: 'it does not take all statements that write' }
  if (leftOut.some(({ name }) => name === 'constructor' || name === '__proto__')) {
    return { actions: 'read', limit: 'instances cannot hold one of its columns, so it is only read' }
  }
  return { actions: 'all', limit: undefined }
}

/** Foreign keys, and columns of few values. */
function isFiltered({ name, column }: ModelProperty, relations: readonly ResourceRelation[]): boolean {
  if (PARAMETERS.has(name) || name.includes('__')) return false
  const isKey = relations.some(({ relation }) => relation.kind === 'belongs-to' && relation.own.includes(name))
  return isKey || FILTERED.has(column.type)
}
