/** Hidden and virtual attributes of a model (objection-visibility, `$formatJson`). */

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

/** True for a model whose instances become JSON in a way of its own, but for that of objection-visibility. */
export function formatsJson(model: ModelClass): boolean {
  const { hidden, visible } = model as Visible
  const base = baseModel(model)
  let overrides = 0
  for (let one: object = model; one !== base; one = Object.getPrototypeOf(one) as object) {
    const { prototype } = one as { readonly prototype: object }
    if (Object.hasOwn(prototype, '$formatJson')) overrides++
  }
  return overrides > (isNames(hidden) || isNames(visible) ? 1 : 0)
}

function isNames(value: unknown): value is readonly string[] {
  return Array.isArray(value)
}
