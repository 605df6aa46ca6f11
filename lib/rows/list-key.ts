/** Which lists have the same SQL, but for their values. */
import type { FilterPart, FilterView } from '../filters/filter.js'
import { noneOf } from '../kernel/none-of.js'

/** What a request asks of a list whose SQL can be kept: lists of one key are of one text. */
export interface ListKey {
  readonly text: string
  /** The values that the conditions bind, in order. */
  readonly values: readonly unknown[]
  /** The conditions take longer than to keep a row. */
  readonly expensive: boolean
}

const NO_VALUES = noneOf<unknown>('')

/** The key of the list that these filter parts describe. */
export function listKey(view: FilterView, parts: readonly FilterPart[]): ListKey {
  let text = view.name
  let values: readonly unknown[] = NO_VALUES
  let expensive = false
  for (const part of parts) {
    if (part.expensive) expensive = true
    text += `|${part.shape}`
    values = values === NO_VALUES ? part.values : [...values, ...part.values]
  }
  return { text, values, expensive }
}

/** The key under which the length of a list is remembered. */
export function countKey({ text, values }: ListKey): string {
  return `${text}|${values.join('\0')}`
}
