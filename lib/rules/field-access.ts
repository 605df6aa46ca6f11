/** Which fields rules let a caller read and write, as one value for all callers of whom the same holds. */

import { RecentMap } from '../kernel/once-per.js'
import type { ModelClass } from '../models/objection.js'
import type { Extent, FieldAccess, Mask, VisibleFields } from '../queryset/visible-fields.js'
import type { FieldUse } from '../queryset/visible-rows.js'
import type { FieldRule, ModelRule, RuleCondition } from './rule.js'

/** Fields by name, of tables by name. */
type Fields = ReadonlyMap<string, ReadonlyMap<string, FieldAccess>>

/** How often the same is not said once more: callers differ by their roles. */
const MOST_KINDS_OF_CALLERS = 200

/** @internal All that rules say of fields. */
export class FieldRules {
  readonly #rules: readonly ModelRule[]
  readonly #known = new RecentMap<TableFields>(MOST_KINDS_OF_CALLERS)

  constructor(rules: Iterable<ModelRule>) {
    this.#rules = [...rules].filter(({ options }) => Object.keys(options.fields ?? {}).length > 0)
  }

  /** There are none. */
  get isEmpty(): boolean {
    return this.#rules.length === 0
  }

  /** What holds for whoever asks: what only some may do, or of some rows, is `some`. */
  get described(): VisibleFields | undefined {
    return this.access((condition) => (typeof condition === 'boolean' ? (condition ? 'all' : 'none') : 'some'))
  }

  /** What a caller may do who may do all that anybody may. */
  get most(): VisibleFields | undefined {
    return this.access((condition) => (condition === false ? 'none' : 'all'))
  }

  /**
   * What a caller may do with fields; undefined where that is all.
   * @param extentOf of which rows the condition of a field holds
   */
  access(extentOf: (condition: RuleCondition, field: NamedField, use: FieldUse) => Extent): VisibleFields | undefined {
    const fields: [string, [string, FieldAccess][]][] = []
    let key = ''
    for (const { model, options } of this.#rules) {
      const own: [string, FieldAccess][] = []
      for (const [name, one] of Object.entries(options.fields ?? {})) {
        const field = { model, name }
        const read = extentOf(one.read ?? true, field, 'read')
        const write = one.write === undefined ? read : extentOf(one.write, field, 'write')
        key += read.charAt(0) + write.charAt(0)
        if (read !== 'all' || write !== 'all') own.push([name, { read, write, mask: maskOf(one) }])
      }
      if (own.length > 0) fields.push([model.tableName, own])
    }
    if (fields.length === 0) return undefined
    let known = this.#known.get(key)
    if (!known) {
      known = new TableFields(new Map(fields.map(([table, own]) => [table, new Map(own)])))
      this.#known.set(key, known)
    }
    return known
  }
}

/** A field by its name. */
export interface NamedField {
  readonly model: ModelClass
  readonly name: string
}

class TableFields implements VisibleFields {
  readonly #fields: Fields

  constructor(fields: Fields) {
    this.#fields = fields
  }

  of({ tableName }: ModelClass, property: string): FieldAccess | undefined {
    return this.#fields.get(tableName)?.get(property)
  }
}

function maskOf({ mask }: FieldRule): Mask | undefined {
  if (mask === undefined) return undefined
  if (typeof mask !== 'function') return () => mask
  return (value) => (value === null ? null : mask(value))
}
