/** The versions of rows that are to be deleted and cannot be held: only a row that is still the one that was read goes. */

const MARKS = new WeakMap<object, string>()

/** Remembers the version of the row that an object was read from, as `xmin` tells it. */
export function rememberMark(object: object, mark: string): void {
  MARKS.set(object, mark)
}

/** That version; undefined for an object whose row is held. */
export function markOf(object: object): string | undefined {
  return MARKS.get(object)
}
