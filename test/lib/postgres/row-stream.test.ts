/** Rows read from PostgreSQL's bytes, compared with what pg's own parser makes of them. */
import { EventEmitter } from 'node:events'
import fc from 'fast-check'
import { Connection } from 'pg'
import { describe, expect, it } from 'vitest'
import { PAGE_FORMAT, type RawPage, type RawRow, rowStreamOf, TEXTS } from '../../../lib/postgres/row-stream.js'

const BIND_COMPLETE = Buffer.from([0x32, 0, 0, 0, 4])
const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49])

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

function message(type: string, body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body])
}

function dataRow(row: RawRow): Buffer {
  const cells = row.flatMap((cell) => {
    const bytes = cell === null ? undefined : Buffer.from(cell)
    return bytes ? [int32(bytes.length), bytes] : [int32(-1)]
  })
  return message('D', Buffer.concat([Buffer.from([row.length >> 8, row.length & 255]), ...cells]))
}

const complete = (rows: number) => message('C', Buffer.from(`SELECT ${rows}\0`))
const notice = (text: string) => message('N', Buffer.from(`SNOTICE\0M${text}\0\0`))
const notification = (payload: string) => message('A', Buffer.concat([int32(7), Buffer.from(`c\0${payload}\0`)]))

function answer(rows: readonly RawRow[], between: Buffer = Buffer.alloc(0)): Buffer {
  return Buffer.concat([BIND_COMPLETE, ...rows.flatMap((row) => [dataRow(row), between]), complete(rows.length), READY])
}

/** A connection's stream with pg's parser behind it, and what has come out at both ends. */
function connect() {
  const stream = new EventEmitter()
  const names: string[] = []
  const rows: RawRow[] = []
  const pages: RawPage[] = []
  let own = 0
  const sink = {
    addRow(bytes: Buffer, start: number, end: number) {
      own++
      rows.push(TEXTS.read(bytes, start, end))
      pages.push(PAGE_FORMAT.read(bytes, start, end))
    },
    addPieces(pieces: readonly Buffer[]) {
      own++
      rows.push(TEXTS.readPieces(pieces))
      pages.push(PAGE_FORMAT.readPieces(pieces))
    },
  }
  const connection = new Connection({ stream: stream as never })
  connection.on('message', (received: { name: string; fields?: RawRow }) => {
    names.push(received.name)
    if (received.name === 'dataRow') rows.push(received.fields as RawRow)
    if (received.name === 'readyForQuery') rowStream?.end(sink)
  })
  ;(connection as unknown as { attachListeners(stream: unknown): void }).attachListeners(stream)
  const rowStream = rowStreamOf(stream)
  return {
    stream,
    rows,
    pages,
    names,
    rowStream,
    begin: () => rowStream?.begin(sink),
    end: () => rowStream?.end(sink),
    own: () => own,
  }
}

function cut(bytes: Buffer, at: readonly number[]): Buffer[] {
  const places = [...new Set(at.map((place) => place % bytes.length))].sort((a, b) => a - b)
  return [0, ...places].map((place, index) => bytes.subarray(place, places[index]))
}

function spell({ json }: RawPage): string {
  return Buffer.concat(json.map((piece) => Buffer.from(piece))).toString()
}

const cell = fc.oneof(
  fc.constant(null),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.string({ maxLength: 400 }),
  fc.constantFrom(
    '',
    'é',
    '\u0080',
    '\u00ff',
    'ÿþ',
    '漢字',
    '😀',
    'a'.repeat(127),
    'b'.repeat(128),
    'c'.repeat(40_000),
  ),
)

describe('rows from the bytes of a connection', () => {
  it('are those that pg reads, wherever the bytes are cut and whatever else comes in between', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(cell, { maxLength: 6 }), { maxLength: 12 }),
        fc.array(fc.nat(100_000), { maxLength: 8 }),
        fc.constantFrom(Buffer.alloc(0), notice('grüße'), notification('x'.repeat(300))),
        (rows, places, between) => {
          const { stream, rows: read, names, begin } = connect()
          for (let query = 0; query < 2; query++) {
            begin()
            for (const chunk of cut(answer(rows, between), places)) stream.emit('data', chunk)
          }
          expect(read).toEqual([...rows, ...rows])
          const others = names.filter((name) => name !== 'dataRow')
          expect(others.filter((name) => name === 'readyForQuery')).toHaveLength(2)
          expect(others.filter((name) => name === 'bindComplete')).toHaveLength(2)
        },
      ),
      { numRuns: 500 },
    )
  })

  it('are read without pg where they come whole', () => {
    const { stream, begin, own, names } = connect()
    begin()
    stream.emit(
      'data',
      answer([
        ['1', null],
        ['é', ''],
      ]),
    )
    expect(own()).toBe(2)
    expect(names).toEqual(['bindComplete', 'commandComplete', 'readyForQuery'])
  })

  it.each([1, 7, 8192])('are read without pg where they come in pieces of %i bytes behind their headers', (size) => {
    const { stream, begin, own, rows, names } = connect()
    const wanted = [
      ['1', 'é'.repeat(9000)],
      ['2', null],
    ]
    const bytes = answer(wanted)
    const start = BIND_COMPLETE.length + 5
    begin()
    stream.emit('data', bytes.subarray(0, start))
    const end = start + dataRow(wanted[0] as RawRow).length - 5
    for (let at = start; at < end; at += size) stream.emit('data', bytes.subarray(at, Math.min(end, at + size)))
    stream.emit('data', bytes.subarray(end))
    expect(own()).toBe(2)
    expect(rows).toEqual(wanted)
    expect(names).toEqual(['bindComplete', 'commandComplete', 'readyForQuery'])
  })

  it('end in bytes where they are pages', () => {
    fc.assert(
      fc.property(fc.array(cell, { minLength: 1, maxLength: 4 }), fc.array(fc.nat(100_000)), (row, places) => {
        const { stream, begin, pages } = connect()
        const bytes = answer([row])
        const start = BIND_COMPLETE.length + 5
        begin()
        const [first = bytes, ...others] = cut(bytes.subarray(start), places)
        stream.emit('data', Buffer.concat([bytes.subarray(0, start), first]))
        for (const chunk of others) stream.emit('data', chunk)
        const json = row.at(-1) ?? null
        const texts = row.slice(0, -1)
        expect(pages.map((page) => ({ ...page, json: spell(page) }))).toEqual([{ texts, json: json ?? '' }])
        expect(PAGE_FORMAT.ofTexts(row)).toEqual({ texts, json: json === null ? [] : [json] })
      }),
    )
  })

  it('are no messages where their query has ended in the middle of one', () => {
    fc.assert(
      fc.property(cell, fc.nat(100_000), fc.array(fc.nat(100_000), { maxLength: 4 }), (value, place, places) => {
        const { stream, begin, end, names } = connect()
        const bytes = answer([[value, 'D\0\0\0\u0004T\0\0']])
        const start = BIND_COMPLETE.length
        // within the row, behind its header
        const at = start + 5 + (place % dataRow([value, 'D\0\0\0\u0004T\0\0']).subarray(6).length)
        begin()
        stream.emit('data', bytes.subarray(0, at))
        end()
        for (const chunk of cut(bytes.subarray(at), places)) stream.emit('data', chunk)
        expect(names).toEqual(['bindComplete', 'commandComplete', 'readyForQuery'])
      }),
    )
  })

  it('are left to pg when they are not of the query that is running', () => {
    const { stream, own, rows } = connect()
    stream.emit('data', answer([['1']]))
    expect([own(), rows]).toEqual([0, [['1']]])
  })

  it('are left to pg when the answer begins inside another message', () => {
    const { stream, begin, own, rows, names } = connect()
    const other = notification('a long payload')
    stream.emit('data', other.subarray(0, 12))
    begin()
    stream.emit('data', Buffer.concat([other.subarray(12), answer([['1'], ['2']])]))
    expect([own(), rows]).toEqual([0, [['1'], ['2']]])
    expect(names).toEqual(['notification', 'bindComplete', 'dataRow', 'dataRow', 'commandComplete', 'readyForQuery'])
  })

  it('are left to pg where someone else listens, too', () => {
    const stream = new EventEmitter()
    stream.on('data', () => {})
    stream.on('data', () => {})
    expect(rowStreamOf(stream)).toBeUndefined()
    expect(stream.listenerCount('data')).toBe(2)
  })

  it('have one reader for each connection', () => {
    const { stream, rowStream } = connect()
    expect(rowStreamOf(stream)).toBe(rowStream)
    expect(stream.listenerCount('data')).toBe(1)
  })
})
