/** Maps of what is made once, and of what belongs together. */

/** A map, or one of limited size. */
interface Kept<K, V> {
  get(key: K): V | undefined
  set(key: K, value: V): unknown
}

/** What a map holds for a key; where it holds nothing, what `make` makes, which is kept. */
export function getOrInsert<K, V extends {} | null>(map: Kept<K, V>, key: K, make: () => V): V {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}

/** Items by their keys, in the order in which these come first. */
export function groupBy<K, T>(items: Iterable<T>, keyOf: (item: T, index: number) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>()
  let index = 0
  for (const item of items) getOrInsert(groups, keyOf(item, index++), () => []).push(item)
  return groups
}
