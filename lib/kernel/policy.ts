/** Lists of policies: each a class where its defaults suit, or an instance. */
import { checkDeclarations, checkProperties } from './declarations.js'
import { ConfigurationError } from './errors.js'
import { type Kinds, wrongKind } from './kinds.js'
import { settled } from './settled.js'

/** A policy: a class without required options, or an instance. */
export type Policy<T> = T | (new () => T)

/** A policy that reads its options when it stands in a list: those that a subclass overrides are set by then. */
interface Settling {
  /** May be called several times. @throws {ConfigurationError} an option is wrong; `where` says in which list */
  settle?(where: string): void
}

/** What a policy must have: a method, and perhaps properties. */
type Contract<T> = (keyof T & string) | { readonly method: keyof T & string; readonly properties: Kinds }

/** A list of policies. */
export type Policies<T> = readonly Policy<T>[]

/**
 * The instance that an entry stands for.
 * @param has what it must have
 * @throws {ConfigurationError} it is no such policy
 */
export function resolvePolicy<T extends object>(where: string, entry: Policy<T>, has: Contract<T>): T {
  const policy: (T & Settling) | undefined = isClass(entry) ? new entry() : entry
  const method: keyof T & string = typeof has === 'string' ? has : has.method
  if (typeof policy?.[method] === 'function') {
    checkClass(where, policy)
    if (typeof has !== 'string') checkKindsOf(where, policy, has.properties)
    settled(policy.settle?.(where) as unknown, `${where}: ${policy.constructor.name}: settle() is asynchronous`)
    return policy
  }
  throw new ConfigurationError(`${where}: has no method ${method}(); give a class or an instance of the right kind`)
}

function checkKindsOf(where: string, policy: object, properties: Kinds): void {
  for (const [name, kind] of Object.entries(properties)) {
    const wrong = wrongKind((policy as Record<string, unknown>)[name], kind)
    if (wrong !== undefined) throw new ConfigurationError(`${where}: ${policy.constructor.name}: ${name} ${wrong}`)
  }
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
 * @param has what every entry must have
 * @throws {ConfigurationError} an entry is no such policy
 */
export function resolvePolicies<T extends object>(where: string, list: Policies<T>, has: Contract<T>): readonly T[] {
  if (!Array.isArray(list)) throw new ConfigurationError(`${where}: give a list`)
  return list.map((entry: Policy<T>, position) => resolvePolicy(`${where}[${position}]`, entry, has))
}
