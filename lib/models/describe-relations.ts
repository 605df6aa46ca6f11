/** The relations that a model declares in its `relationMappings`. */

import type { Relation } from 'objection'
import { ConfigurationError } from '../kernel/errors.js'
import type { JoinTable, RelationDescription } from './model-description.js'
import { columnName, type ModelClass, modelName, relationKind } from './objection.js'
import { deletionOf } from './soft-deletes.js'

/** The relations of a model, by name. @throws {ConfigurationError} one has no ends */
export function describeRelations(model: ModelClass): Map<string, RelationDescription> {
  return new Map(
    relationsOf(model).map((relation) => {
      checkMade(model, relation)
      const kind = relationKind(model, relation)
      const description: RelationDescription = {
        name: relation.name,
        kind,
        model: relation.relatedModelClass,
        narrowed: hasOwnQuery(model, relation.name),
        deletedBy: deletedColumnOf(relation.relatedModelClass),
        single: kind !== 'has-many' && kind !== 'many-to-many',
        ownerProperties: relation.ownerProp.props,
        relatedProperties: relation.relatedProp.props,
        through: kind === 'many-to-many' || kind === 'has-one-through' ? describeJoin(model, relation) : undefined,
        beforeInsert: mappingOf(model, relation.name).beforeInsert,
      }
      return [relation.name, description]
    }),
  )
}

/** @throws {ConfigurationError} what Objection says of a mapping */
function relationsOf(model: ModelClass): readonly Relation[] {
  try {
    return Object.values(model.getRelations())
  } catch (error) {
    throw new ConfigurationError((error as Error).message, { cause: error })
  }
}

/** Whoever asks Objection again for a relation that it has refused gets it without what is missing. */
function checkMade(model: ModelClass, relation: Relation): void {
  const ends = ['ownerProp', 'relatedProp', 'relatedModelClass'] as const
  const joined = ['joinTableOwnerProp', 'joinTableRelatedProp'] as const
  const needed = [...ends, ...(mappingOf(model, relation.name).join?.through ? joined : [])]
  if (needed.every((name) => relation[name])) return
  throw new ConfigurationError(
    `${modelName(model)}.relationMappings.${relation.name}: join does not lead from a column of "${model.tableName}" to one of the related model`,
  )
}

function deletedColumnOf(model: ModelClass): string | undefined {
  const property = deletionOf(model)
  return property === undefined ? undefined : columnName(model, property)
}

/** True when a relation's mapping has a query of its own. */
function hasOwnQuery(model: ModelClass, name: string): boolean {
  const { modify, filter } = mappingOf(model, name)
  return modify !== undefined || filter !== undefined
}

function describeJoin(model: ModelClass, relation: Relation): JoinTable {
  const { modify, filter, beforeInsert, modelClass } = mappingOf(model, relation.name).join?.through ?? {}
  const narrowed = modify !== undefined || filter !== undefined
  return {
    // bound as the owner is, which may be bound later
    get model() {
      return relation.joinModelClass
    },
    ownerProperties: relation.joinTableOwnerProp.props,
    relatedProperties: relation.joinTableRelatedProp.props,
    narrowed,
    isPlain: !narrowed && beforeInsert === undefined,
    isBare: modelClass === undefined,
    extras: new Map(extrasOf(relation).map(({ aliasProp, joinTableProp }) => [aliasProp, joinTableProp])),
  }
}

interface Extra {
  readonly aliasProp: string
  readonly joinTableProp: string
  readonly joinTableCol: string
}

/** Objection's declarations leave them out. */
export function extrasOf(relation: Relation): readonly Extra[] {
  return (relation as Relation & { readonly joinTableExtras: readonly Extra[] }).joinTableExtras
}

/** What may be said of a relation, or of its join table. */
interface Mapping {
  readonly modify?: unknown
  readonly filter?: unknown
  readonly beforeInsert?: RelationDescription['beforeInsert']
  readonly modelClass?: unknown
  readonly join?: { readonly from?: unknown; readonly to?: unknown; readonly through?: Mapping }
}

/** The mapping of a relation, as the model declares it. */
export function mappingOf(model: ModelClass, name: string): Mapping {
  const mappings: unknown = model.relationMappings
  const all: unknown = typeof mappings === 'function' ? mappings.call(model) : mappings
  return (all as Readonly<Record<string, Mapping>> | undefined)?.[name] ?? {}
}

/** True for a relation from columns to columns, and not by what stands within JSON (`ref('books.meta:author')`). */
export function isJoinedByColumns(model: ModelClass, name: string): boolean {
  const { join } = mappingOf(model, name)
  return [join?.from, join?.to].flat().every((end) => typeof end === 'string' && !end.includes(':'))
}
