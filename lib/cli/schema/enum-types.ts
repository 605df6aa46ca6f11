/** The types that a database has made of lists of strings. */

import type { CatalogueColumn } from '../../models/catalogue.js'
import type { Names } from '../../models/relation-names.js'
import { enumNamesOf } from './names.js'

/** A type that the database has made of a list of strings. */
export interface EnumType {
  readonly name: string
  readonly labels: readonly string[]
}

/** The enums of a schema, each with a name of its own. */
export class EnumTypes {
  readonly #names: Names
  readonly #types = new Map<string, EnumType>()

  constructor(names: Names) {
    this.#names = names
  }

  /** In the order of their names. */
  get all(): readonly EnumType[] {
    return [...this.#types.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** The name of the type of a column with labels. */
  nameOf({ sqlType, labels = [] }: CatalogueColumn): string {
    const key = sqlType.replace(/(?:\[\])+$/, '')
    let found = this.#types.get(key)
    if (!found) {
      found = { name: this.#names.claim(...enumNamesOf(key.replaceAll('"', ''))), labels }
      this.#types.set(key, found)
    }
    return found.name
  }
}
