/** Maps: values that are made when they are first needed, and groups. */

/** A map, or one of limited size. */
interface Kept<K, V> {
  get(key: K): V | undefined
  set(key: K, value: V): unknown
}

/** The map's value for a key; a missing one is made by `make`, and kept. */
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
