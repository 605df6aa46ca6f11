/** Reads server-sent events (HTML Living Standard, section 9.2.6). */

/** What stands between two empty lines. */
export interface ServerEvent {
  /** `message` where nothing else was said. */
  readonly event: string
  /** Undefined where there is none, as of what only says how far the server is. */
  readonly data: string | undefined
  /** The last id that was named. */
  readonly id: string
  /** Milliseconds to wait before connecting again, where they were named. */
  readonly retry: number | undefined
}

interface Fields {
  [name: string]: string | undefined
  id?: string
  event?: string
  data?: string
  retry?: string
}

/** What values must be like; others are left out. */
const VALID: ReadonlyMap<string, RegExp> = new Map([
  ['id', /^[^\0]*$/],
  ['retry', /^\d+$/],
])

/** The events of a stream of bytes. An event that is not whole at its end is none. @param last the id before the first event */
export async function* serverEvents(
  chunks: AsyncIterable<Uint8Array>,
  last: string,
): AsyncGenerator<ServerEvent, undefined> {
  let id = last
  let fields: Fields = {}
  for await (const line of linesOf(chunks)) {
    if (line !== '') {
      const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? []
      if (VALID.get(name)?.test(value) === false) continue
      fields[name] = name === 'data' && fields.data !== undefined ? `${fields.data}\n${value}` : value
      continue
    }
    id = fields.id ?? id
    const { event, data, retry } = fields
    yield { event: event || 'message', data, id, retry: retry === undefined ? undefined : Number(retry) }
    fields = {}
  }
}

/** Lines end with CR, LF, or both; the last one with nothing is left out. */
async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder()
  let rest = ''
  let isReturn = false
  for await (const chunk of chunks) {
    const text = decoder.decode(chunk, { stream: true })
    // a part of a character, as yet
    if (text === '') continue
    // the second half of a CRLF
    const lines = (rest + (isReturn ? text.replace(/^\n/, '') : text)).split(/\r\n|[\r\n]/)
    isReturn = text.endsWith('\r')
    rest = lines.pop() ?? ''
    yield* lines
  }
}
