/** Keeps what is made of models, serializers and views for as long as the catalogue is the same. */
import { catalogueRevision } from './describe-model.js'

/** The function `make`, called once for each key, and again after a catalogue was read. What it throws is not kept. */
export function oncePerCatalogue<K extends object, T>(make: (key: K) => T): (key: K) => T {
  const made = new WeakMap<K, { revision: number; value: T }>()
  return (key) => {
    const known = made.get(key)
    if (known?.revision === catalogueRevision()) return known.value
    const value = make(key)
    made.set(key, { revision: catalogueRevision(), value })
    return value
  }
}
