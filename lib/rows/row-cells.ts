/** Writes rows of raw text as the cells of a table, after the same plan as their JSON (wire format, section 11). */
import { writeDateTime, writeTime } from '../fields/date-time-text.js'
import { parseJson } from '../kernel/parse-json.js'
import { textCell, valueCell } from '../renderers/csv-text.js'
import type { CellKind, CellScope, RowMember, RowPlan } from './row-plan.js'
import { type RawRow, writerOfMember } from './row-writer.js'

/** Writes one row; the cells are those of the plan's members, in order. */
export type CellsWriter = (row: RawRow, scope: CellScope) => string[]

/** Kinds whose cell needs no detour through JSON. */
const CELLS: Readonly<Partial<Record<CellKind, (text: string) => string>>> = {
  number: (text) => text,
  bigint: (text) => text,
  boolean: (text) => (text === 't' ? 'true' : 'false'),
  quoted: textCell,
  text: textCell,
  datetime: (text) => textCell(writeDateTime(text)),
  time: (text) => textCell(writeTime(text)),
}

/** The cells of a plan whose columns begin at `offset`. */
export function cellsWriter(plan: RowPlan, offset: number): CellsWriter {
  const members = plan.object.members.map((member) => memberCell(member, offset))
  return (row, scope) => members.map((write) => write(row, scope))
}

function memberCell(member: RowMember, offset: number): (row: RawRow, scope: CellScope) => string {
  const index = offset + ('nested' in member ? (member.nested.key ?? 0) : member.cell.index)
  const plain = 'cell' in member ? CELLS[member.cell.kind] : undefined
  if (plain) {
    return (row) => {
      const text = row[index] as string | null
      return text === null ? '' : plain(text)
    }
  }
  const write = writerOfMember(member, offset)
  return (row, scope) => (row[index] === null ? '' : valueCell(parseJson(write(row, scope))))
}
