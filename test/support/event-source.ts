/** A client of server-sent events, as browsers have one (HTML Living Standard, section 9.2), that keeps what it hears. */
import http from 'node:http'
import { onTestFinished } from 'vitest'

export interface HeardEvent {
  readonly event: string
  readonly data: any
}

export interface EventSource {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly events: readonly HeardEvent[]
  /** What it would send as `Last-Event-ID`. */
  readonly lastId: string
  readonly isOpen: boolean
  /** How long it would wait before it connects again, in milliseconds. */
  readonly retry: number
  /** Waits for so many events. @throws they do not come */
  hear(count: number): Promise<readonly HeardEvent[]>
  /** Waits for the end. */
  ended(): Promise<void>
  close(): void
}

/** Opens a stream, until the test ends that calls it. */
export async function openEvents(
  port: number,
  path: string,
  headers: http.OutgoingHttpHeaders = {},
): Promise<EventSource> {
  const accept = { Accept: 'text/event-stream' }
  const request = http.get({ host: '127.0.0.1', port, path, agent: false, headers: { ...accept, ...headers } })
  const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
    request.once('response', resolve).once('error', reject)
  })
  request.on('error', () => {})
  const heard = new Heard(response)
  const source: EventSource = {
    status: response.statusCode ?? 0,
    headers: response.headers,
    get events() {
      return heard.events
    },
    get lastId() {
      return heard.lastId
    },
    get retry() {
      return heard.retry
    },
    get isOpen() {
      return !heard.isEnded
    },
    hear: (count) => heard.until(() => heard.events.length >= count).then(() => heard.events),
    ended: () => heard.until(() => heard.isEnded),
    close: () => void request.destroy(),
  }
  onTestFinished(() => source.close())
  return source
}

class Heard {
  readonly events: HeardEvent[] = []
  lastId = ''
  isEnded = false
  retry = 0
  #text = ''
  #told: () => void = () => {}

  constructor(response: http.IncomingMessage) {
    const end = () => {
      this.isEnded = true
      this.#told()
    }
    response.setEncoding('utf8').on('data', (text: string) => this.#read(text))
    response.once('close', end).once('error', end)
  }

  async until(isTrue: () => boolean): Promise<void> {
    const late = Date.now() + 10_000
    while (!isTrue()) {
      if (Date.now() > late) throw new Error(`heard only ${JSON.stringify(this.events)}`)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 100)
        this.#told = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
  }

  #read(text: string): void {
    const parts = (this.#text + text).split('\n\n')
    this.#text = parts.pop() ?? ''
    for (const part of parts) {
      const lines = new Map(part.split('\n').map((line) => line.split(/: (.*)/, 2) as [string, string]))
      const data = lines.get('data')
      this.retry = Number(lines.get('retry') ?? this.retry)
      this.lastId = lines.get('id') ?? this.lastId
      if (data !== undefined) this.events.push({ event: lines.get('event') ?? 'message', data: JSON.parse(data) })
    }
    this.#told()
  }
}
