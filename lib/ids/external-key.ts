/** External ids at the end of a path of properties, such as `author.country_id`. */
import { describeModel } from '../models/describe-model.js'
import { type ModelDescription, relationOfKey } from '../models/model-description.js'
import { type ExternalIds, externalIds } from './external-ids.js'

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
  const owner = ownerOf(model, path)
  const last = path.at(-1)
  if (!owner || last === undefined || !owner.columns.has(last)) return undefined
  const before = path.slice(0, -1)
  const own = externalIds(owner.model)
  if (own?.names(last)) return { ids: own, path: [...before, own.property] }
  const relation = relationOfKey(owner, last)
  const ids = relation && externalIds(relation.model)
  if (!ids?.names(relation?.relatedProperties[0] as string)) return undefined
  const isHere = relation?.relatedProperties[0] === ids.property
  return { ids, path: isHere ? path : [...before, relation?.name as string, ids.property] }
}

/** The model that the last step of a path is of. */
function ownerOf(model: ModelDescription, path: readonly string[]): ModelDescription | undefined {
  let owner: ModelDescription = model
  for (const step of path.slice(0, -1)) {
    const relation = owner.relations.get(step)
    if (!relation) return undefined
    owner = describeModel(relation.model)
  }
  return owner
}
