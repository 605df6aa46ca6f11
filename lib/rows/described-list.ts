/** Description of a view's lists for paginators. */

import { ValidationError } from '../kernel/errors.js'
import type { ListSource, Slice } from '../pagination/list-source.js'
import { INVALID } from '../postgres/constraint-errors.js'

/** Members that all lists of a view share. */
export type ListDescription = Pick<ListSource, 'name' | 'parameters' | 'shown' | 'hidesKeys'>

/** The base of lists of a view. */
export abstract class DescribedList {
  readonly name: string
  readonly model: ListSource['model']
  readonly order: ListSource['order']
  readonly parameters: ReadonlySet<string>
  readonly shown: ReadonlySet<string>
  readonly hidesKeys: boolean

  constructor(description: ListDescription, model: ListSource['model'], order: ListSource['order']) {
    this.name = description.name
    this.model = model
    this.order = order
    this.parameters = description.parameters
    this.shown = description.shown
    this.hidesKeys = description.hidesKeys === true
  }
}

/** @throws ValidationError no list has such a slice, as of numbers of a client that a paginator has not checked: SQL would take another for it */
export function checkSlice({ limit, offset = 0 }: Slice): void {
  if (!isCount(offset) || !(isCount(limit) || limit === Number.POSITIVE_INFINITY)) throw new ValidationError(INVALID)
}

/** How many rows there are, by those that a slice has; undefined where these do not say, as where none is left behind an offset. */
export function countedBy(found: number, { limit, offset = 0 }: Pick<Slice, 'limit' | 'offset'>): number | undefined {
  const before = Number(offset)
  return found < limit && (found > 0 || before === 0) ? before + found : undefined
}

/** In JavaScript it may be the text of a query, which SQL takes, too. */
function isCount(given: number): boolean {
  const number = Number(given)
  return Number.isSafeInteger(number) && number >= 0
}
