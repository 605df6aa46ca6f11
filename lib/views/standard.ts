/** Tells methods that come with the package from those an application has put in their place. */
import { read } from '../kernel/properties.js'

const standard = new WeakSet<object>()

/** Names methods of a class of ours. */
export function markStandard(prototype: object, ...names: readonly string[]): void {
  for (const name of names) standard.add((prototype as Record<string, object>)[name] as object)
}

/** True when none of these methods was overridden by the application. */
export function isStandard(view: object, ...names: readonly string[]): boolean {
  for (let index = 0; index < names.length; index++) {
    if (!standard.has(read(view as Record<string, object>, names[index] as string))) return false
  }
  return true
}

/** The first of these methods that the application has overridden; undefined where all are ours. */
export function overridden(view: object, ...names: readonly string[]): string | undefined {
  return names.find((name) => !isStandard(view, name))
}

/** True for a method that comes with the package. */
export function isOurs(method: object): boolean {
  return standard.has(method)
}
