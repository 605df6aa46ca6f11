/** Tells serializers that write objects field by field from those that change how the whole is written. */
import { Serializer } from './serializer.js'

/** True when neither `toRepresentation` nor `data` is the application's own. */
export function writesByPlan(prototype: object): boolean {
  return (
    prototype instanceof Serializer &&
    prototype.toRepresentation === Serializer.prototype.toRepresentation &&
    ownerOfData(prototype) === Serializer.prototype
  )
}

/** The prototype that has the getter `data`. */
function ownerOfData(prototype: object | null): object | null {
  let owner = prototype
  while (owner && !Object.hasOwn(owner, 'data')) owner = Object.getPrototypeOf(owner) as object | null
  return owner
}
