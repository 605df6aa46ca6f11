/** Server-sent events are read as the HTML Living Standard has it, however their bytes are cut. */
import { describe, expect, it } from 'vitest'
import { type ServerEvent, serverEvents } from '../../../lib/client/server-events.js'

async function* cut(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size)
}

const inWhole = Number.POSITIVE_INFINITY
async function read(text: string, size: number): Promise<readonly ServerEvent[]> {
  const events: ServerEvent[] = []
  for await (const one of serverEvents(cut(new TextEncoder().encode(text), size), 'before')) events.push(one)
  return events
}

const event = (said: Partial<ServerEvent>): ServerEvent => ({
  event: 'message',
  data: undefined,
  id: 'before',
  retry: undefined,
  ...said,
})

const CASES: readonly [string, string, readonly ServerEvent[]][] = [
  ['data', 'data: a\n\n', [event({ data: 'a' })]],
  ['lines of data', 'data: YHOO\ndata: +2\ndata:10\n\n', [event({ data: 'YHOO\n+2\n10' })]],
  ['data that is empty', 'data\n\ndata\ndata\n\n', [event({ data: '' }), event({ data: '\n' })]],
  ['one space behind a colon and no more', 'data:a\n\ndata:  a\n\n', [event({ data: 'a' }), event({ data: ' a' })]],
  ['colons in values', 'data: {"a": 1}\n\n', [event({ data: '{"a": 1}' })]],
  ['comments', ': nothing\ndata: a\n:\n\n', [event({ data: 'a' })]],
  ['names of events', 'event: add\ndata: a\n\ndata: b\n\n', [event({ event: 'add', data: 'a' }), event({ data: 'b' })]],
  [
    'an id, which stays',
    'id: 1\ndata: a\n\ndata: b\n\n',
    [event({ data: 'a', id: '1' }), event({ data: 'b', id: '1' })],
  ],
  ['an id without data', 'id: 1\n\n', [event({ id: '1' })]],
  ['an id that is empty', 'id\ndata: a\n\n', [event({ data: 'a', id: '' })]],
  ['an id with U+0000, which is none', 'id: 1\nid: 2\0\ndata: a\n\n', [event({ data: 'a', id: '1' })]],
  ['a time to wait', 'retry: 1500\n\n', [event({ retry: 1500 })]],
  ['a time that is no number', 'retry: 1.5\ndata: a\n\n', [event({ data: 'a' })]],
  ['unknown fields', 'constructor: x\n__proto__: y\nDATA: z\ndata: a\n\n', [event({ data: 'a' })]],
  ['CR', 'data: a\rdata: b\r\rdata: c\r\r', [event({ data: 'a\nb' }), event({ data: 'c' })]],
  ['CRLF', 'data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n', [event({ data: 'a\nb' }), event({ data: 'c' })]],
  ['all ends of lines', 'data: a\r\ndata: b\ndata: c\r\n\r', [event({ data: 'a\nb\nc' })]],
  ['a byte order mark', '\ufeffdata: a\n\ndata: \ufeff\n\n', [event({ data: 'a' }), event({ data: '\ufeff' })]],
  ['characters of several bytes', 'data: é€𝄞\n\n', [event({ data: 'é€𝄞' })]],
  ['no event that is not whole', 'data: a\n\nid: 2\ndata: b\n', [event({ data: 'a' })]],
  ['nothing', '', []],
]

describe.each([inWhole, 1, 2, 3])('in parts of %i bytes', (size) => {
  it.each(CASES)('%s', async (_name, text, events) => {
    expect(await read(text, size)).toEqual(events)
  })
})

it('tells of an event when its line has ended, whatever ends that', async () => {
  async function* parts(): AsyncGenerator<Uint8Array> {
    yield new TextEncoder().encode('data: a\r\r')
    throw new Error('asked for more')
  }
  const { value } = await serverEvents(parts(), '').next()
  expect(value?.data).toBe('a')
})
