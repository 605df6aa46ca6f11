/** Lists of policies: each a class where its defaults suit, or an instance. */
import { checkDeclarations, checkProperties } from './declarations.js'
import { ConfigurationError } from './errors.js'

/** A policy: a class without required options, or an instance. */
export type Policy<T> = T | (new () => T)

/** A policy that reads its options when it stands in a list: those that a subclass overrides are set by then. */
interface Settling {
  /** May be called several times. @throws {ConfigurationError} an option is wrong; `where` says in which list */
  settle?(where: string): void
}

/** A list of policies. */
export type Policies<T> = readonly Policy<T>[]

/**
 * The instance that an entry stands for.
 * @param has a method that it must have
 * @throws {ConfigurationError} it is no such policy
 */
export function resolvePolicy<T extends object>(where: string, entry: Policy<T>, has: keyof T & string): T {
  const policy: (T & Settling) | undefined = isClass(entry) ? new entry() : entry
  if (typeof policy?.[has] === 'function') {
    checkClass(where, policy)
    policy.settle?.(where)
    return policy
  }
  throw new ConfigurationError(`${where}: has no method ${has}(); give a class or an instance of the right kind`)
}

/** False for an arrow function, and one that is async, such as middleware. */
function isClass<T>(entry: Policy<T>): entry is new () => T {
  return typeof entry === 'function' && entry.prototype !== undefined
}

/** @throws {ConfigurationError} the policy has a method or a property that nobody uses, and is nearly named as one of ours */
function checkClass(where: string, policy: object): void {
  try {
    checkDeclarations(policy.constructor)
    checkProperties(policy)
  } catch (error) {
    throw error instanceof ConfigurationError ? new ConfigurationError(`${where}: ${error.message}`) : error
  }
}

/**
 * The instances that a list stands for, made once when a view is registered.
 * @param has a method that every entry must have
 * @throws {ConfigurationError} an entry is no such policy
 */
export function resolvePolicies<T extends object>(
  where: string,
  list: Policies<T>,
  has: keyof T & string,
): readonly T[] {
  if (!Array.isArray(list)) throw new ConfigurationError(`${where}: give a list`)
  return list.map((entry: Policy<T>, position) => resolvePolicy(`${where}[${position}]`, entry, has))
}
