/**
 * Tells the package's own methods of views from those that an application has put in their place. Asked before requests: what
 * a request needs to know of it, its `Resource` says.
 */

const methods = new WeakSet<object>()
const names = new Set<string>()

type Methods = Readonly<Record<string, object>>

/** Names methods of a class of ours. @param own by default all that the class itself has */
export function markBuiltIn(prototype: object, ...own: readonly string[]): void {
  for (const name of own.length > 0 ? own : methodsOf(prototype)) {
    methods.add((prototype as Methods)[name] as object)
    names.add(name)
  }
}

function methodsOf(prototype: object): readonly string[] {
  const own = Object.entries(Object.getOwnPropertyDescriptors(prototype))
  return own.flatMap(([name, { value }]) => (typeof value === 'function' && name !== 'constructor' ? [name] : []))
}

/** True when the view has all of these methods, and none was overridden by the application. */
export function isBuiltIn(view: object, ...asked: readonly string[]): boolean {
  return overridden(view, ...asked) === undefined
}

/** The first of these methods that the application has overridden; undefined where all are ours. */
export function overridden(view: object, ...asked: readonly string[]): string | undefined {
  return asked.find((name) => !methods.has((view as Methods)[name] as object))
}

/** The package's own method of this name, below what the application has put over it. */
export function builtInMethod(view: object, name: string): ((...args: unknown[]) => unknown) | undefined {
  let owner: object | null = view
  while (owner && !isBuiltIn(owner, name)) owner = Object.getPrototypeOf(owner) as object | null
  return owner ? ((owner as Methods)[name] as (...args: unknown[]) => unknown) : undefined
}

/** The names of all methods of a view that come with the package. */
export function builtInMethods(view: object): ReadonlySet<string> {
  return new Set([...names].filter((name) => isBuiltIn(view, name)))
}

/** True for a method that comes with the package. */
export function isOurs(method: object): boolean {
  return methods.has(method)
}
