/** Resources of `init`: what clients see of a table, and what they may do. */
import { notAKey } from '../../fields/object-key.js'
import {
  isPowerName,
  isSecretName,
  isSessionKey,
  type KnownTable,
  ownerOf,
  tableKindOf,
  tenantOf,
} from '../../kernel/telling-names.js'
import { hidesMember } from '../../models/build-model.js'
import type { FoundRelation } from '../../models/foreign-key-relations.js'
import type { SchemaTable } from '../../models/schema-tables.js'
import type { DescribedModel, ModelProperty } from '../schema/describe-schema.js'

/** Which actions a view set has: all, those that read, or those of the list. */
export type Actions = 'all' | 'read' | 'list'

/** A relation to a table that has a model. */
export interface ResourceRelation {
  readonly relation: FoundRelation
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
  readonly powers: readonly string[]
  /** Columns that a new row must have, and that no client gives. */
  readonly demanded: readonly string[]
  /** Columns that clients may filter by. */
  readonly filters: readonly string[]
  /** Columns that clients may search. */
  readonly searched: readonly string[]
  /** Columns that clients may order by. */
  readonly ordered: readonly string[]
  /** What may say which rows are whose, for rules; all of it guessed by names. */
  readonly whose: { readonly owner?: string; readonly tenant?: string; readonly isSelf: boolean }
}

/** Query parameters of a list that mean something else. */
const PARAMETERS = new Set(['page', 'page_size', 'fields', 'expand', 'format', 'version', 'ordering', 'search'])
const FILTERED = new Set(['bool', 'enum'])
const TEXTS = new Set(['text', 'varchar', 'citext'])
const MOST_SEARCHED = 4
/** Texts by which somebody looks for a row. */
const TITLE = /(?:^|_)(?:name|title|subject|label|slug|username|login|email|summary|description|sku|reference)$/i
const SORTED = new Set([
  ...['int2', 'int4', 'int8', 'numeric', 'float4', 'float8', 'date', 'timestamp', 'timestamptz', 'money'],
])

/** Those of the models of which clients see a column. */
export function describeResources(models: readonly DescribedModel[]): readonly Resource[] {
  const secrets = secretColumns(models)
  const seen = models.filter((model) => model.properties.some(({ name }) => secrets.get(model)?.has(name) === false))
  const byTable = new Map(seen.map((model) => [model.table, model]))
  return seen.map((model) => describeResource(model, byTable, secrets.get(model) as ReadonlySet<string>))
}

function describeResource(
  model: DescribedModel,
  models: ReadonlyMap<SchemaTable, DescribedModel>,
  secret: ReadonlySet<string>,
): Resource {
  const { table, key, properties } = model
  const fields = properties.filter(({ name }) => !secret.has(name))
  const relations = model.relations.flatMap((relation): ResourceRelation[] => {
    const target = models.get(relation.target)
    return target ? [{ relation, target }] : []
  })
  const kind = kindOf(model)
  const { actions, limit } = actionsOf(model, kind, secret)
  const equated = properties.filter(({ column }) => column.isEquated)
  const foreign = new Set(relations.flatMap(({ relation }) => (relation.kind === 'belongs-to' ? relation.own : [])))
  const leadsToPower = (name: string) =>
    relations.some(
      ({ relation, target }) =>
        relation.kind === 'belongs-to' && relation.own.includes(name) && kindOf(target).isOfPower,
    )
  const powers = fields
    .filter(({ name, isReadonly }) => !isReadonly && !key.includes(name))
    .filter((one) => isPowerName(named(one), kind) || leadsToPower(one.name))
    .map(({ name }) => name)
  const isGiven = (column: string) => fields.some(({ name }) => name === column) && !powers.includes(column)
  const demanded = table.catalogue.columns.filter(
    ({ column, notNull, hasDefault, generated }) => notNull && !hasDefault && !generated && !isGiven(column),
  )
  const searched = fields.filter((one) => TEXTS.has(one.column.type) && TITLE.test(one.name)).slice(0, MOST_SEARCHED)
  const isSorted = ({ name, column }: ModelProperty) => SORTED.has(column.type) && !foreign.has(name)
  const columns = fields.map(named)
  const [owner, tenant] = kind.isOfUsers ? [undefined, tenantOf(columns)] : [ownerOf(columns), tenantOf(columns)]
  return {
    model,
    idColumn: key.length > 0 ? key : equated.map(({ name }) => name),
    actions,
    limit,
    relations,
    fields,
    secrets: [...secret],
    powers,
    demanded: actions === 'all' ? demanded.map(({ column }) => column) : [],
    filters: fields.filter((property) => isFiltered(property, foreign)).map(({ name }) => name),
    searched: searched.filter(isTerm).map(({ name }) => name),
    ordered: fields.filter((one) => isTerm(one) && (isSorted(one) || searched.includes(one))).map(({ name }) => name),
    whose: {
      ...(owner !== undefined && { owner }),
      ...(tenant !== undefined && { tenant }),
      isSelf: kind.isOfUsers && key.length === 1,
    },
  }
}

function named({ name, column }: ModelProperty) {
  return { name, type: column.type === 'array' ? 'text' : column.type }
}

function kindOf({ table, properties }: DescribedModel): KnownTable {
  return tableKindOf(table.name, properties.map(named))
}

/** The columns of each model that sound like secrets, and the foreign keys that hold them. */
function secretColumns(models: readonly DescribedModel[]): ReadonlyMap<DescribedModel, ReadonlySet<string>> {
  const found = new Map(
    models.map((model) => {
      const about = { table: model.table.name, columns: model.properties.map(named) }
      const kind = kindOf(model)
      const isSecret = (one: ModelProperty) =>
        isSecretName(named(one), kind) || (model.key.includes(one.name) && isSessionKey(named(one), about))
      return [model, new Set(model.properties.filter(isSecret).map(({ name }) => name))]
    }),
  )
  const ofTable = new Map(models.map((model) => [model.table, found.get(model) as ReadonlySet<string>]))
  let size: number
  const count = () => [...found.values()].reduce((sum, names) => sum + names.size, 0)
  do {
    size = count()
    for (const [{ relations }, own] of found) {
      for (const relation of relations) {
        if (relation.kind !== 'belongs-to') continue
        const other = ofTable.get(relation.target)
        for (const [at, name] of relation.own.entries()) if (other?.has(relation.other[at] as string)) own.add(name)
      }
    }
  } while (count() > size)
  return found
}

/** A key that is unknown, or a secret, is part of no path. */
function actionsOf(
  { table, key, properties, leftOut }: DescribedModel,
  { isOfSecrets, isOfPower }: KnownTable,
  secret: ReadonlySet<string>,
): Pick<Resource, 'actions' | 'limit'> {
  const { kind, catalogue } = table
  if (key.length === 0) {
    return { actions: 'list', limit: `nothing tells the rows of this ${kind} apart, so there is a list of them only` }
  }
  if (key.some((name) => secret.has(name))) {
    return {
      actions: 'list',
      limit: 'its key sounds like a secret, which no path should have, so there is a list only',
    }
  }
  for (const { name, column } of properties) {
    if (!key.includes(name) || notAKey(column) === undefined) continue
    return { actions: 'list', limit: `no path can name a key of type ${column.sqlType}, so there is a list only` }
  }
  if (kind !== 'table') return { actions: 'read', limit: `it is a ${kind}, which is only read` }
  const { insert, update, delete: deletes } = catalogue.takes
  if (!insert || !update || !deletes) return { actions: 'read', limit: 'it does not take all statements that write' }
  if (leftOut.some(({ name }) => name === '__proto__' || hidesMember(name))) {
    return { actions: 'read', limit: 'instances cannot hold one of its columns, so it is only read' }
  }
  if (isOfSecrets) return { actions: 'read', limit: 'its rows sound like what lets somebody in, so it is only read' }
  if (isOfPower) return { actions: 'read', limit: 'its rows sound like who may do what, so it is only read' }
  return { actions: 'all', limit: undefined }
}

/** Foreign keys, and columns of few values. */
function isFiltered(property: ModelProperty, foreign: ReadonlySet<string>): boolean {
  return isNamed(property) && (foreign.has(property.name) || FILTERED.has(property.column.type))
}

/** True for what can be the name of a parameter. */
function isNamed({ name }: ModelProperty): boolean {
  return !PARAMETERS.has(name) && !name.includes('__')
}

/** True for what can be a term of an order, or stand behind the prefix of a search. */
function isTerm({ name }: ModelProperty): boolean {
  return /^\p{ID_Start}\p{ID_Continue}*$/u.test(name) && !name.includes('__')
}
