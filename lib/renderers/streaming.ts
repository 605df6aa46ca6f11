/** What a renderer must do to write a list while it is read (promise G3). */
import type { BaseRenderer } from './renderer.js'

/** A portion of a list. */
export interface StreamedRows {
  /** How many rows there are. */
  readonly length: number
  /** A row as JSON. */
  json(index: number): string
  /** A row as the cells of a table, in the order of the columns; not quoted yet. */
  cells(index: number): readonly string[]
}

/** A renderer that needs no more than a portion of a list at a time. */
export interface StreamingRenderer extends BaseRenderer {
  /** What stands before the rows. */
  begin(columns: readonly string[]): string
  /** A portion; `first` for the one after the beginning. */
  writeRows(rows: StreamedRows, first: boolean): string
  /** What stands after the rows. */
  end(): string
}

export function canStream(renderer: BaseRenderer): renderer is StreamingRenderer {
  const { begin, writeRows, end } = renderer as Partial<StreamingRenderer>
  return [begin, writeRows, end].every((method) => typeof method === 'function')
}

/** Calls `write` for each row of a portion. */
export function mapRows<T>({ length }: StreamedRows, write: (index: number) => T): T[] {
  return Array.from({ length }, (_, index) => write(index))
}
