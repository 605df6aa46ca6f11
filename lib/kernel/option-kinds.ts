/** Options of classes and functions: one that is unknown or of another kind is refused and not ignored. */

import { ConfigurationError } from './errors.js'
import { type Kind, type Kinds, wrongKind } from './kinds.js'
import { didYouMean, nearMiss } from './near-miss.js'
import { isRecord } from './records.js'

const optionsOf = new WeakMap<object, Kinds>()

/**
 * Says what the options of a class are, beside those of the class above it. The compiler sees to it that none is missing.
 * @example takesOptions<StringFieldOptions, FieldOptions>(StringField, { minLength: 'count' })
 */
export function takesOptions<Own extends object = {}, Inherited extends object = {}>(
  made: object,
  kinds: Readonly<Record<Exclude<keyof Own, keyof Inherited>, Kind>>,
): void {
  optionsOf.set(made, { ...kindsOf(Object.getPrototypeOf(made) as object), ...kinds })
}

/** True for a class of ours that has options. */
export function hasOptions(made: object): boolean {
  return optionsOf.has(made)
}

/** The options of a class, those of the classes above it included. */
export function kindsOf(made: object | null): Kinds {
  for (let one = made; one; one = Object.getPrototypeOf(one) as object | null) {
    const kinds = optionsOf.get(one)
    if (kinds) return kinds
  }
  return {}
}

/**
 * Checks options as they were given. A subclass that an application has made may have some of its own: it is warned of
 * what is nearly the name of one of ours.
 * @param where what has the options, for the message
 * @throws {ConfigurationError} one is unknown, or of another kind
 */
export function checkOptions(where: string, made: object, options: unknown): void {
  checkKinds(where, options, { kinds: kindsOf(made), isClosed: optionsOf.has(made) })
}

/** Checks options by a table of names and kinds. @throws {ConfigurationError} */
export function checkKinds(
  where: string,
  options: unknown,
  { kinds, isClosed = true }: { kinds: Kinds; isClosed?: boolean },
): void {
  if (!isRecord(options)) {
    throw new ConfigurationError(`${where}: the options are no object; give { … }`)
  }
  const names = Object.keys(kinds)
  for (const [name, value] of Object.entries(options)) {
    if (Object.hasOwn(kinds, name)) {
      const wrong = value === undefined ? undefined : wrongKind(value, kinds[name] as Kind)
      if (wrong !== undefined) throw new ConfigurationError(`${where}: ${name} ${wrong}`)
    } else if (isClosed || nearMiss(name, names) !== undefined) {
      const fix = didYouMean(name, names) || `; take ${names.length === 0 ? 'none' : `one of ${names.join(', ')}`}`
      throw new ConfigurationError(`${where}: has no option "${name}"${fix}`)
    }
  }
}

/** Checks the options of a constructor, which calls it with them. @throws {ConfigurationError} */
export function takeOptions(made: object, options: unknown): void {
  checkOptions(made.constructor.name, made.constructor, options)
}
