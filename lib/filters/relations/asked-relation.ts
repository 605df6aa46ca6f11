/** The relations that groups of filters may ask about, settled before any request. */

import { oncePer } from '../../kernel/once-per.js'
import type { FilterRelation, FilterSettings } from '../filter.js'
import type { Group } from '../parse-group.js'
import { stepThrough } from '../resolve-paths.js'
import type { RelationStep } from '../step.js'

/** A relation that groups may ask about. */
export interface AskedRelation {
  readonly step: RelationStep
  readonly relation: FilterRelation
}

/** What the groups of a view may ask about, by name. @throws {ConfigurationError} a relation is not joined by columns */
export const askedRelationsOf = oncePer(
  ({ name, model, relations = NONE }: FilterSettings): ReadonlyMap<string, AskedRelation> => {
    const asked = new Map<string, AskedRelation>()
    for (const [property, relation] of relations) {
      asked.set(property, {
        relation,
        step: stepThrough(`${name}: filterRelations`, model, property),
      })
    }
    return asked
  },
)

const NONE: ReadonlyMap<string, FilterRelation> = new Map()

/** The relations that a group asks about, at any depth: of those that may be. */
export function relationsIn(group: Group, settings: FilterSettings): ReadonlySet<FilterRelation> {
  const found = new Set<FilterRelation>()
  const collect = (part: Group, owner: FilterSettings): void => {
    if (part.kind === 'leaf') return
    if (part.kind !== 'any' && part.kind !== 'count') {
      for (const one of part.parts) collect(one, owner)
      return
    }
    const relation = owner.relations?.get(part.relation)
    if (!relation) return
    found.add(relation)
    if (part.kind === 'any' && part.part) collect(part.part, relation.related)
  }
  collect(group, settings)
  return found
}
