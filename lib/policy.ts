/** Policies stand in lists, as a class where its defaults suit and as an instance where they don't. */
import { ConfigurationError } from './errors.js'

/** A policy: a class without required options, or an instance. */
export type Policy<T> = T | (new () => T)

/** A list of policies. */
export type Policies<T> = readonly Policy<T>[]

/** The instance that an entry stands for. */
export function resolvePolicy<T extends object>(policy: Policy<T>): T {
  return typeof policy === 'function' ? new policy() : policy
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
  return list.map((entry: Policy<T>, position) => {
    const policy: T | undefined = entry ? resolvePolicy(entry) : undefined
    if (typeof policy?.[has] !== 'function') {
      throw new ConfigurationError(
        `${where}[${position}]: has no method ${has}(); give a class or an instance of the right kind`,
      )
    }
    return policy
  })
}
