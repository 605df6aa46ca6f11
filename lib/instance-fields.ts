/** Finds `permissionClasses = […]` that was written without `static`: on instances nobody reads it. */
import { ConfigurationError } from './errors.js'

/** A class whose statics describe it. */
type Described = abstract new () => object

/** The statics that classes of ours are described by. */
const attributes = new Set<string>()
const checked = new WeakSet<object>()

/** Makes the statics of a class known, and returns it. */
export function described<Class extends object>(made: Class): Class {
  for (const name of Object.keys(made)) attributes.add(name)
  return made
}

/** Checks what the constructor of a class sets; once. @throws {ConfigurationError} it is what a static should say */
export function refuseInstanceFields(owner: Described): void {
  if (checked.has(owner)) return
  for (const name of namesSet(owner)) {
    if (!attributes.has(name) || !(name in owner) || name in owner.prototype) continue
    throw new ConfigurationError(
      `${owner.name}: ${name} is set on instances, where nobody reads it; write static ${name} = …`,
    )
  }
  checked.add(owner)
}

/** What instances are made with. A constructor that needs a request is left to that. */
function namesSet(owner: Described): readonly string[] {
  try {
    return Object.keys(new (owner as new () => object)())
  } catch {
    return []
  }
}
