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
  /** 503, and 502 and 504 of a proxy; `retryAfter` may say when to try again. */
  | 'unavailable'
  /** 304: not changed since the version that a header of the caller's names. */
  | 'unchanged'
  /** Any other status of 400 to 499. */
  | 'refused'
  /** Any other status of 500 and above. */
  | 'failed'
  /** A redirect: the API has none, so something else has answered. */
  | 'redirected'
  /** The answer is not what the API sends: a page of a proxy, no JSON or half of it, nothing, a link to another server. */
  | 'unreadable'
  /** Nothing was sent: `headers` has thrown, the data is no JSON, or no path can hold the key; `cause` says why. */
  | 'unsent'
  /** No answer within the timeout. */
  | 'timeout'
  /** The caller's signal has ended the request. */
  | 'aborted'
  /** The server cannot be reached. */
  | 'unreachable'

/** Messages by field, and `non_field_errors` for what belongs to none; of a list by position. */
export type FieldErrors<Input = unknown> = Input extends readonly (infer Item)[]
  ? { readonly [position: number]: FieldErrors<Item>; readonly non_field_errors?: Messages }
  : {
      readonly [Field in (Input extends object ? keyof Input & string : string) | 'non_field_errors']?: Messages
    }

/** Messages of one field, or of what is nested in it. */
export type Messages = string[] | { [key: string]: Messages }

/** An answer that has brought no data. */
export interface Failure<Input = unknown> {
  /** False: the request failed or was refused. */
  readonly ok: false
  /** What kind of failure it is. */
  readonly kind: FailureKind
  /** The status of the answer; 0 where there was none. */
  readonly status: number
  /** A sentence for people. */
  readonly detail: string
  /** What is wrong with the fields of the input; empty for other errors. */
  readonly errors: FieldErrors<Input>
  /** The code of `detail`, which stays the same whatever its words; of servers with `errorCodes`, and in problem details. */
  readonly code?: string | undefined
  /** The codes of `errors`, in the same places, of the same servers. */
  readonly codes?: FieldErrors<Input> | undefined
  /** Seconds after which to try again, where the server says so; at most what `setTimeout` can wait, 24 days. */
  readonly retryAfter: number | undefined
  /** The answer's headers; undefined where there was no answer. */
  readonly headers: Headers | undefined
  /** What was thrown, or the reason of the caller's signal. */
  readonly cause: unknown
  /** Never there; for destructuring before `ok` is looked at. */
  readonly data?: undefined
}

/** An answer with its data. */
export interface Success<Data> {
  /** True: the request was answered with a status below 400. */
  readonly ok: true
  /** The status of the answer. */
  readonly status: number
  /** What the answer shows. */
  readonly data: Data
  /** The version of the object, for `ifMatch`; null where the answer has none. */
  readonly etag: string | null
  /** The answer's headers. */
  readonly headers: Headers
  /** There are none. */
  readonly errors?: undefined
}

/** What every request comes to; nothing is thrown. */
export type Result<Data, Input = unknown> = Success<Data> | Failure<Input>

/** A failure in the midst of an iteration, which has no other way to report it. */
export class ClientError extends Error {
  /** What the call would have returned. */
  declare readonly failure: Failure

  constructor(failure: Failure) {
    super(failure.detail, failure)
    this.name = 'ClientError'
    this.failure = failure
  }
}

const KINDS: Readonly<Record<number, FailureKind>> = {
  304: 'unchanged',
  400: 'invalid',
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'missing',
  409: 'conflict',
  412: 'changed',
  429: 'throttled',
  502: 'unavailable',
  503: 'unavailable',
  504: 'unavailable',
}

/** A failure without an answer, or with one that is no answer of the API. */
export function failure(kind: FailureKind, detail: string, response?: Response, cause?: unknown): Failure {
  return {
    ok: false,
    kind,
    status: response?.status ?? 0,
    detail,
    errors: {},
    retryAfter: secondsOf(response?.headers.get('retry-after') ?? ''),
    headers: response?.headers,
    cause,
  }
}

/**
 * The result of an answer, whatever it is.
 * @param mayBeEmpty what was asked need not answer with anything
 */
export async function resultOf(response: Response, mayBeEmpty?: boolean): Promise<Result<never>> {
  const { ok, status, statusText, headers } = response
  const kind = KINDS[status] ?? (status >= 500 ? 'failed' : status >= 400 ? 'refused' : 'redirected')
  // browsers show redirects without their status
  if (!ok && status < 400) {
    const detail = kind === 'unchanged' ? 'not changed' : `redirected to ${headers.get('location') ?? 'nowhere'}`
    return failure(kind, detail, response)
  }
  const text = await response.text()
  // what has nothing to say says so by its status
  const isEmpty = !text && mayBeEmpty && ok && status > 201
  const body = isEmpty ? undefined : parsed(text, headers.get('content-type') ?? '')
  // all that the API sends are objects and lists, but for what actions of an application's own answer
  if (body === NO_JSON || (ok && !mayBeEmpty && Object(body) !== body)) {
    // what proxies send by themselves, as whatever page, and mean as we do
    return kind === 'throttled' || kind === 'unavailable'
      ? failure(kind, statusText || `status ${status}`, response)
      : failure('unreadable', 'the answer is no JSON', response)
  }
  if (ok) return { ok, status, data: body as never, etag: headers.get('etag'), headers }
  const { detail, code, errors, codes } = Object(body) as Readonly<Record<string, unknown>>
  return {
    ...failure(kind, textOf(detail) ?? statusText, response),
    code: textOf(code),
    errors: fieldsOf(errors) ?? {},
    codes: fieldsOf(codes),
  }
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : undefined)
const fieldsOf = (value: unknown) => (Object(value) === value ? (value as FieldErrors) : undefined)

const NO_JSON = {}

function parsed(text: string, type: string): unknown {
  if (!/^application\/([^;]+\+)?json\b/i.test(type)) return NO_JSON
  try {
    return JSON.parse(text)
  } catch {
    return NO_JSON
  }
}

/** `Retry-After` in seconds, given as such or as a date (RFC 9110 section 10.2.3). */
function secondsOf(text: string): number | undefined {
  const seconds = text.endsWith('GMT')
    ? Math.ceil((Date.parse(text) - Date.now()) / 1000)
    : Number(/^\d+$/.exec(text)?.[0])
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(0, seconds), MOST_SECONDS)
}

/** What `setTimeout` can wait: 31 bits of milliseconds; more would be no time at all. */
export const MOST_SECONDS = 2_147_483
