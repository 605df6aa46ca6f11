/** What lists of a view say of themselves to paginators. */

import type { ListSource } from '../pagination/list-source.js'

/** What the lists of a view have in common. */
export type ListDescription = Pick<ListSource, 'name' | 'parameters' | 'shown' | 'hidesKeys'>

/** The base of lists of a view. */
export abstract class DescribedList {
  readonly name: string
  readonly model: ListSource['model']
  readonly order: ListSource['order']
  readonly parameters: ReadonlySet<string>
  readonly shown: ReadonlySet<string>
  readonly hidesKeys: boolean

  constructor(list: ListDescription & Pick<ListSource, 'model' | 'order'>) {
    this.name = list.name
    this.model = list.model
    this.order = list.order
    this.parameters = list.parameters
    this.shown = list.shown
    this.hidesKeys = list.hidesKeys === true
  }
}
