/** Description of a view's lists for paginators. */

import type { ListSource } from '../pagination/list-source.js'

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
