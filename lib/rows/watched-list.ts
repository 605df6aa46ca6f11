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

export class WatchedList implements ListSource {
  /** True once rows were read or counted. */
  hasRows = false
  readonly name: string
  readonly model: ListSource['model']
  readonly order: ListSource['order']
  readonly parameters: ReadonlySet<string>
  readonly shown: ReadonlySet<string>
  readonly hidesKeys: boolean
  readonly #list: ListSource

  constructor(list: ListSource) {
    this.name = list.name
    this.model = list.model
    this.order = list.order
    this.parameters = list.parameters
    this.shown = list.shown
    this.hidesKeys = list.hidesKeys === true
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
