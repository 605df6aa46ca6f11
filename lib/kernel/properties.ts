/** Reads and writes objects of whatever shape. */

/**
 * A property of a view, of a view class, or of what an application has put together.
 *
 * To V8 the objects of each view class have a shape of their own, and code that it has compiled for some shapes is thrown
 * away when another comes: the first request for the next view set would send each step of a request back to the
 * interpreter. This one place sees so many names and shapes that it is never compiled for some of them.
 */
export function read<T extends object, K extends keyof T>(from: T, name: K): T[K]
export function read(from: object, name: 'constructor'): unknown
export function read(from: object, name: string): unknown {
  return (from as Readonly<Record<string, unknown>>)[name]
}

/** Sets a property of a view; in one place for the same reason. */
export function write<T extends object, K extends keyof T>(to: T, name: K, value: T[K]): void {
  to[name] = value
}
