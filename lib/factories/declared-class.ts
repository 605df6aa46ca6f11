/** Makes a class of what a factory was given: its statics, checked. */
import { checkStatic, staticKinds } from '../kernel/declarations.js'
import { ConfigurationError } from '../kernel/errors.js'
import { didYouMean } from '../kernel/near-miss.js'
import { isModelClass, type ModelClass } from '../models/objection.js'

export interface DeclaredClass {
  /** What the factory was called with, for messages: `modelSerializer(Book)`. */
  readonly where: string
  /** What the class is called until a subclass has a name of its own. */
  readonly name: string
}

/**
 * Gives a class the statics that were declared, and returns it.
 * @param made a class that nobody else has
 * @throws {ConfigurationError} a name that the class does not read, or a value of a wrong kind
 */
export function declareStatics<Class extends object>(
  made: Class,
  { where, name }: DeclaredClass,
  statics: object,
): Class {
  checkSpec(where, statics)
  const kinds = staticKinds(made)
  Object.defineProperty(made, 'name', { value: name, configurable: true })
  for (const [key, value] of Object.entries(statics)) {
    if (value === undefined) continue
    if (!Object.hasOwn(kinds, key) || key === 'model') {
      throw new ConfigurationError(`${where}: nobody reads "${key}"${didYouMean(key, Object.keys(kinds))}`)
    }
    checkStatic(where, made, key, value)
    Object.defineProperty(made, key, { value, writable: true, enumerable: true, configurable: true })
  }
  return made
}

/** The model that a factory was given. @throws {ConfigurationError} it is none */
export function givenModel(factory: string, model: unknown): ModelClass {
  if (isModelClass(model)) return model
  throw new ConfigurationError(`${factory}(): the first argument is an Objection model class, or table('name')`)
}

/** @throws {ConfigurationError} a factory was given nothing to declare */
export function checkSpec(where: string, spec: unknown): void {
  if (typeof spec === 'object' && spec !== null) return
  throw new ConfigurationError(`${where}: the second argument is what the class declares: an object`)
}
