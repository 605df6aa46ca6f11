/** A list that remembers whether any of its rows was seen. */

import type {
  CountKind,
  ListPool,
  ListSource,
  RowCursor,
  RowCursorOptions,
  Rows,
  Slice,
} from '../pagination/list-source.js'
import { DescribedList } from './described-list.js'

export class WatchedList extends DescribedList implements ListSource {
  /** True once rows were read or counted. */
  hasRows = false
  readonly #list: ListSource

  constructor(list: ListSource) {
    super(list, list.model, list.order)
    this.#list = list
  }

  get pool(): ListPool {
    return this.#list.pool
  }

  async count(kind?: CountKind, limit?: number): Promise<number> {
    const count = await this.#list.count(kind, limit)
    // an estimate may be of rows that are not there
    if (count > 0 && kind !== 'estimated') this.hasRows = true
    return count
  }

  async read(slice: Slice): Promise<Rows> {
    const rows = await this.#list.read(slice)
    if (rows.length > 0 || (slice.count === 'exact' && (rows.count ?? 0) > 0)) this.hasRows = true
    return rows
  }

  open(options: RowCursorOptions): Promise<RowCursor> {
    return this.#list.open(options)
  }
}
