/** The relations that a model declares in its `relationMappings`. */
import type { Relation } from 'objection'
import type { JoinTable, RelationDescription } from './model-description.js'
import { type ModelClass, relationKind } from './objection.js'
import { deletionOf } from './soft-deletes.js'

/** The relations of a model, by name. */
export function describeRelations(model: ModelClass): Map<string, RelationDescription> {
  return new Map(
    Object.values(model.getRelations()).map((relation) => {
      const kind = relationKind(model, relation)
      const description: RelationDescription = {
        name: relation.name,
        kind,
        model: relation.relatedModelClass,
        narrowed: isNarrowed(model, relation.name),
        deletedBy: markOf(relation.relatedModelClass),
        single: kind !== 'has-many' && kind !== 'many-to-many',
        ownerProperties: relation.ownerProp.props,
        relatedProperties: relation.relatedProp.props,
        through: kind === 'many-to-many' || kind === 'has-one-through' ? describeJoin(model, relation) : undefined,
      }
      return [relation.name, description]
    }),
  )
}

function markOf(model: ModelClass): string | undefined {
  const property = deletionOf(model)
  return property === undefined ? undefined : model.propertyNameToColumnName(property)
}

/** True when a relation's mapping has a query of its own. */
function isNarrowed(model: ModelClass, name: string): boolean {
  const { modify, filter } = mappingOf(model, name)
  return modify !== undefined || filter !== undefined
}

function describeJoin(model: ModelClass, relation: Relation): JoinTable {
  const { modify, filter, beforeInsert, modelClass } = mappingOf(model, relation.name).join?.through ?? {}
  return {
    model: relation.joinModelClass,
    ownerProperties: relation.joinTableOwnerProp.props,
    relatedProperties: relation.joinTableRelatedProp.props,
    isPlain: modify === undefined && filter === undefined && beforeInsert === undefined,
    isBare: modelClass === undefined,
  }
}

/** What may be said of a relation, or of its join table. */
interface Mapping {
  readonly modify?: unknown
  readonly filter?: unknown
  readonly beforeInsert?: unknown
  readonly modelClass?: unknown
  readonly join?: { readonly through?: Mapping }
}

function mappingOf(model: ModelClass, name: string): Mapping {
  const mappings: unknown = model.relationMappings
  const all: unknown = typeof mappings === 'function' ? mappings.call(model) : mappings
  return (all as Readonly<Record<string, Mapping>> | undefined)?.[name] ?? {}
}
