/** Hidden and virtual attributes of a model (objection-visibility, `$formatJson`, `toJSON`). */

import { baseModel } from './model-traits.js'
import type { ModelClass } from './objection.js'

/** The statics of objection-visibility. */
interface Visible {
  readonly hidden?: unknown
  readonly visible?: unknown
}

/** The names among these that the model shows: those in its `visible` where it has that, without those in its `hidden`. */
export function visibleNames(model: ModelClass, names: readonly string[]): readonly string[] {
  const { hidden, visible } = model as Visible
  const shown = isNames(visible) ? names.filter((name) => visible.includes(name)) : names
  return isNames(hidden) ? shown.filter((name) => !hidden.includes(name)) : shown
}

/** What makes JSON of instances. */
const JSON_METHODS = ['$formatJson', '$toJson', 'toJSON']

/** The method by which instances of a model become JSON in a way of its own, but for that of objection-visibility. */
export function jsonMethodOf(model: ModelClass): string | undefined {
  const { hidden, visible } = model as Visible
  const base = baseModel(model)
  const own: string[] = []
  for (let one: object = model; one !== base; one = Object.getPrototypeOf(one) as object) {
    const { prototype } = one as { readonly prototype: object }
    own.push(...JSON_METHODS.filter((method) => Object.hasOwn(prototype, method)))
  }
  // that of the plugin is the first, or the only one
  const plugin = isNames(hidden) || isNames(visible) ? own.indexOf('$formatJson') : -1
  return own.find((_, index) => index !== plugin)
}

function isNames(value: unknown): value is readonly string[] {
  return Array.isArray(value)
}
