/** Events of changes, one answer after the other. It is loaded when a program first asks for changes. */
import type { RequestOptions } from './options.js'
import type { ClientError, Failure, Result } from './result.js'
import { serverEvents } from './server-events.js'

/**
 * What a stream of changes tells: `open`, once it can be heard, where what came before the first one is not told; `change`, of
 * an object that has changed or is gone; and `reset`, where too much was missed to be told, so that the list is to be read again.
 */
export type ChangeEvent<Key = number | string> =
  | {
      readonly event: 'open'
      /** Of `open`: true where it goes on behind the last event, and nothing was missed. */
      readonly resumed: boolean
      readonly id?: undefined
    }
  | { readonly event: 'reset'; readonly id?: undefined }
  | {
      readonly event: 'change'
      /** Of `change`: what the API calls such objects. */
      readonly resource: string
      /** Of `change`: the object's key. */
      readonly id: Key
      /** Of `change`: where the stream is; `changes({ position })` goes on behind it. */
      readonly position: string
    }

/** What is asked of changes. */
export interface ChangesOptions extends RequestOptions {
  /** The `position` of an event, behind which they begin. @default now */
  readonly position?: string | undefined
}

const EVENT_STREAM = 'text/event-stream'
/** The shortest and the longest time until it is asked anew, in milliseconds. */
const WAIT = { least: 100, most: 30_000 }
/** What `setTimeout` can wait; more would be no time at all. */
const MOST_WAIT = 2 ** 31 - 1
/** How long nothing may be heard: a server says each 15 seconds how far it is. A connection that is lost may say nothing for ever. */
const MOST_SILENCE = 45_000
/** What another try may mend. */
const PASSING: ReadonlySet<string> = new Set(['throttled', 'unavailable', 'failed', 'timeout', 'unreachable'])

/** Asks for a stream. */
type Open = (query: undefined, options: RequestOptions & { readonly isStream: true }) => Promise<Result<unknown>>

/** Where a listener is. */
interface Place {
  /** The id of the last event. */
  last: string
  /** Milliseconds to wait before the next stream. */
  retry: number
  /** How often it was asked since anything was heard. */
  tries: number
}

/** The events of a stream, and of those that are opened when it ends. @throws what is made of a failure that nothing can follow */
export async function* changeEvents(
  open: Open,
  // given, for this file to bring nothing that is there already
  MadeError: typeof ClientError,
  { position = '', ...options }: ChangesOptions = {},
): AsyncGenerator<ChangeEvent, void> {
  const { signal } = options
  const place: Place = { last: position, retry: 1_000, tries: 0 }
  for (; !signal?.aborted; place.tries++) {
    const { last } = place
    const headers = { accept: EVENT_STREAM, ...options.headers, ...(last && { 'last-event-id': last }) }
    const result = await open(undefined, { ...options, headers, isStream: true })
    if (result.ok) {
      const end = yield* eventsIn(result as unknown as Response, place, signal)
      if (end) throw new MadeError(end)
    } else if (result.kind === 'aborted') return
    else if (!PASSING.has(result.kind)) throw new MadeError(result)
    const after = Math.min(Math.max(place.retry, WAIT.least) * 2 ** place.tries, WAIT.most)
    // not all who have lost a server come back at the same time
    await wait(1_000 * (result.ok ? 0 : (result.retryAfter ?? 0)) + after * (0.5 + Math.random()), signal)
  }
}

/** The events of one answer, until it ends or is lost. @returns a failure where it is no stream of events */
async function* eventsIn(
  { body, status, headers }: Response,
  place: Place,
  signal: AbortSignal | undefined,
): AsyncGenerator<ChangeEvent, Failure | undefined> {
  const reader = body?.getReader()
  const stop = () => void reader?.cancel().catch(() => {})
  signal?.addEventListener('abort', stop)
  try {
    if (!reader || !headers.get('content-type')?.startsWith(EVENT_STREAM)) return unreadable(status, headers)
    yield { event: 'open', resumed: place.last !== '' }
    for await (const { event, data, id, retry } of serverEvents(chunksOf(reader, stop), place.last)) {
      if (signal?.aborted) break
      Object.assign(place, { last: id, retry: retry ?? place.retry, tries: 0 })
      if (event === 'reset') yield { event }
      else if (event === 'message' && data !== undefined) yield { ...changed(data), event: 'change' }
    }
    return undefined
  } catch (cause) {
    return unreadable(status, headers, cause)
  } finally {
    signal?.removeEventListener('abort', stop)
    stop()
  }
}

const changed = (data: string) =>
  JSON.parse(data) as { readonly resource: string; readonly id: number | string; readonly position: string }

async function* chunksOf(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  stop: () => void,
): AsyncGenerator<Uint8Array> {
  for (;;) {
    const timer = setTimeout(stop, MOST_SILENCE)
    // who has lost a stream goes on by the next one
    const { value } = await reader.read().catch(() => ENDED)
    clearTimeout(timer)
    if (!value) return
    yield value
  }
}

const ENDED = { value: undefined }

function unreadable(status: number, headers: Headers, cause?: unknown): Failure {
  const detail = 'the answer is no stream of changes'
  return { ok: false, kind: 'unreadable', status, detail, errors: {}, retryAfter: undefined, headers, cause }
}

async function wait(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  if (signal?.aborted) return
  await new Promise<void>((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, Math.min(milliseconds, MOST_WAIT))
    signal?.addEventListener('abort', end)
  })
}
