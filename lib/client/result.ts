/** What a client gets for a request: data, or an error as a value. */

/** Why there is no data. */
export type FailureKind =
  /** 400: the input is wrong; `errors` says where. */
  | 'invalid'
  /** 401: the caller is not known. */
  | 'unauthenticated'
  /** 403 */
  | 'forbidden'
  /** 404 */
  | 'missing'
  /** 409 */
  | 'conflict'
  /** 412: the object is another version than `ifMatch` names. */
  | 'changed'
  /** 429; `retryAfter` says when to try again. */
  | 'throttled'
  /** 503; `retryAfter` says when to try again. */
  | 'unavailable'
  /** Any other status of 400 to 499. */
  | 'refused'
  /** Any other status of 500 and above. */
  | 'failed'
  /** A redirect: the API has none, so something else has answered. */
  | 'redirected'
  /** The answer is no JSON: a page of a proxy, or cut off. */
  | 'unreadable'
  /** No answer within the timeout. */
  | 'timeout'
  /** The caller's signal has ended the request. */
  | 'aborted'
  /** The server cannot be reached. */
  | 'unreachable'

/** Messages by field; of nested objects and lists by field or position again. */
export type FieldErrors<Input = unknown> = {
  readonly [Field in (Input extends object ? keyof Input & string : string) | 'non_field_errors']?: Messages
}

/** Messages of one field, or of what is nested in it. */
export type Messages = readonly string[] | { readonly [key: string]: Messages }

/** An answer that has brought no data. */
export interface Failure<Input = unknown> {
  readonly ok: false
  readonly kind: FailureKind
  /** The status of the answer; 0 where there was none. */
  readonly status: number
  /** A sentence for people. */
  readonly detail: string
  /** What is wrong with the fields of the input; empty for other errors. */
  readonly errors: FieldErrors<Input>
  /** Seconds after which to try again, where the server says so. */
  readonly retryAfter: number | undefined
  readonly headers: Headers | undefined
  readonly data?: undefined
}

/** An answer with its data. */
export interface Success<Data> {
  readonly ok: true
  readonly status: number
  readonly data: Data
  /** The version of the object, for `ifMatch`; null where the answer has none. */
  readonly etag: string | null
  readonly headers: Headers
}

/** What every request comes to; nothing is thrown. */
export type Result<Data, Input = unknown> = Success<Data> | Failure<Input>

/** A failure in the midst of an iteration, which has no other way to tell. */
export class ClientError extends Error {
  readonly failure: Failure

  constructor(failure: Failure) {
    super(failure.detail)
    this.name = 'ClientError'
    this.failure = failure
  }
}

const KINDS: Readonly<Record<number, FailureKind>> = {
  400: 'invalid',
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'missing',
  409: 'conflict',
  412: 'changed',
  429: 'throttled',
  503: 'unavailable',
}

/** A failure without an answer, or with one that is no answer of the API. */
export function failure(kind: FailureKind, detail: string, response?: Response): Failure {
  return {
    ok: false,
    kind,
    status: response?.status ?? 0,
    detail,
    errors: {},
    retryAfter: secondsOf(response),
    headers: response?.headers,
  }
}

/** The result of an answer, whatever it is. */
export async function resultOf(response: Response): Promise<Result<never>> {
  const { status, headers } = response
  if (response.type === 'opaqueredirect' || (status >= 300 && status < 400 && status !== 304)) {
    return failure('redirected', `redirected to ${headers.get('location') ?? 'another address'}`, response)
  }
  let body: unknown
  try {
    const text = await response.text()
    body = text === '' ? undefined : JSON.parse(text)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    if (status < 500 || KINDS[status] === undefined) return failure('unreadable', 'the answer is no JSON', response)
  }
  if (response.ok || status === 304) {
    return { ok: true, status, data: body as never, etag: headers.get('etag'), headers }
  }
  const { detail, errors } = (body ?? {}) as { detail?: unknown; errors?: unknown }
  const kind = KINDS[status] ?? (status >= 500 ? 'failed' : 'refused')
  return {
    ...failure(kind, typeof detail === 'string' ? detail : response.statusText, response),
    errors: typeof errors === 'object' && errors !== null ? errors : {},
  }
}

/** `Retry-After` in seconds, given as such or as a date (RFC 9110 section 10.2.3). */
function secondsOf(response: Response | undefined): number | undefined {
  const text = response?.headers.get('retry-after') ?? ''
  if (text === '') return undefined
  const seconds = /^\d+$/.test(text) ? Number(text) : Math.ceil((Date.parse(text) - Date.now()) / 1000)
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds)
}
