/** A list that remembers whether any of its rows was seen. */
import type { CountKind, ListSource, Rows, Slice } from '../pagination/pagination.js'

export interface WatchedList extends ListSource {
  /** True once rows were read or counted. */
  readonly hasRows: boolean
}

/** The same list, watched. */
export function watch(list: ListSource): WatchedList {
  let hasRows = false
  return {
    get hasRows() {
      return hasRows
    },
    name: list.name,
    model: list.model,
    order: list.order,
    parameters: list.parameters,
    shown: list.shown,
    hidesKeys: list.hidesKeys === true,
    get pool() {
      return list.pool
    },
    async count(kind?: CountKind, limit?: number): Promise<number> {
      const count = await list.count(kind, limit)
      // an estimate may be of rows that are not there
      if (count > 0 && kind !== 'estimated') hasRows = true
      return count
    },
    async read(slice: Slice): Promise<Rows> {
      const rows = await list.read(slice)
      if (rows.length > 0) hasRows = true
      return rows
    },
    open: (options) => list.open(options),
  }
}
