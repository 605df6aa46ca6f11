/** Lists without items. */

/**
 * A list without items that is to V8 of the same kind as one with such an item. `[]` is one of small integers, and code that
 * was compiled for it is thrown away when a list of other things comes: with the first filter each step of a list.
 * @param item anything that such lists hold; it is not kept
 * @example const NO_TEXTS = noneOf('')
 */
export function noneOf<T>(item: T): readonly T[] {
  return [item].slice(1)
}
