/** The errors an application meets: answers for the client, and mistakes of the programmer. */

import { firstFew, joined, withCode } from './given-codes.js'
import { quote } from './quote.js'
import { isError } from './realms.js'
import { isOpaque, tagOf } from './records.js'

/** Messages by field; a nested serializer's messages are a map of the same shape, a list's are keyed by position. */
export interface ErrorMessages {
  [field: string]: string[] | ErrorMessages
}

/** What an application may say is wrong: a message, a list of them, or a map of such by field, at any depth. */
export type GivenErrors = string | readonly string[] | { readonly [field: string]: GivenErrors }

/** The most mistakes of one list that an answer names (promise R10). */
export const MOST_MESSAGES = 100

/** The number of messages in a list or a map of them. */
export function countMessages(messages: readonly string[] | ErrorMessages): number {
  if (Array.isArray(messages)) return messages.length
  return Object.values(messages).reduce((sum, inner) => sum + countMessages(inner), 0)
}

/** The most messages of an answer, and their characters with the names that they stand under. */
const MOST_TOLD = 500
const MOST_CHARACTERS = 65_536

/** The errors, cut behind the most messages and characters of an answer: the bounds of lists within lists multiply. */
export function boundedErrors(errors: ErrorMessages): ErrorMessages {
  return fits(errors, new Room()) ? errors : firstOf(errors, new Room())
}

/** How many messages and characters an answer still has room for. */
class Room {
  #messages = MOST_TOLD
  #characters = MOST_CHARACTERS

  /** Takes a message, or a name that messages stand under, off the room. @returns false where it does not fit */
  takes(text: string, isMessage: boolean): boolean {
    if (isMessage) this.#messages--
    this.#characters -= String(text).length
    return this.#messages >= (isMessage ? 0 : 1) && this.#characters >= 0
  }
}

function fits(errors: readonly string[] | ErrorMessages, room: Room): boolean {
  if (isMessageList(errors)) return errors.every((message) => room.takes(message, true))
  return Object.entries(errors).every(([name, inner]) => room.takes(name, false) && fits(inner, room))
}

function firstOf(errors: ErrorMessages, room: Room): ErrorMessages {
  const first: [string, string[] | ErrorMessages][] = []
  for (const [name, inner] of Object.entries(errors)) {
    if (!room.takes(name, false)) break
    const kept = Array.isArray(inner) ? firstFew(inner, (message) => room.takes(message, true)) : firstOf(inner, room)
    if (Object.keys(kept).length > 0) first.push([name, kept])
  }
  return Object.fromEntries(first)
}

/** Options of an `ApiError`. */
export interface ApiErrorOptions {
  /** Messages by field, sent as `errors`. */
  errors?: ErrorMessages
  /** Response headers that belong to the answer, such as `Retry-After`. */
  headers?: Record<string, string>
  /**
   * What programs know it by, where codes are asked for: a word of small letters, digits and `_`.
   * @default the code of its `detail` in docs/reference/error-codes.md, else that of its status, such as `conflict`
   */
  code?: string
  /** Further members of the body, after `detail`, `status` and `errors`. */
  members?: Readonly<Record<string, unknown>>
  /** What happened underneath, for the log; never shown to a client. */
  cause?: unknown
}

/**
 * An answer for the client, rendered as `{detail, status}` and, if given, `errors`.
 * `status`, `expose` and `headers` are those Koa itself understands, so it also answers well where no part of ours catches it.
 */
export class ApiError extends Error {
  override readonly name: string = 'ApiError'
  /** The HTTP status. */
  readonly status: number
  /** The sentence for the client. */
  readonly detail: string
  /** What programs know it by, if it says one itself. */
  readonly code: string | undefined
  readonly errors: ErrorMessages | undefined
  readonly headers: Record<string, string>
  readonly members: Readonly<Record<string, unknown>> | undefined
  /** Whether Koa shows the message; true below 500. */
  readonly expose: boolean
  /** What happened underneath: of what the database has refused, PostgreSQL's error. */
  declare readonly cause?: unknown

  /** @throws ConfigurationError `detail`, or one of `errors`, is no text, or `code` no word */
  constructor(status: number, detail: string, options: ApiErrorOptions = {}) {
    if (typeof detail !== 'string') throw new ConfigurationError(`ApiError: detail is ${quote(detail)}; give a text`)
    super(detail, options.cause === undefined ? undefined : { cause: options.cause })
    this.status = status
    this.detail = detail
    this.code = options.code
    if (this.code !== undefined) checkCode(this.code, 'ApiError')
    this.errors = options.errors && byField(toMessages(options.errors))
    this.headers = options.headers ?? {}
    this.members = options.members
    this.expose = status < 500
  }
}

/**
 * 400: the input is not valid.
 * @example throw new ValidationError('Too short.')                    // of a field inside its hook, else of no field
 * @example throw new ValidationError({ title: ['Already taken.'] }, { code: 'taken' })
 */
export class ValidationError extends ApiError {
  override readonly name: string = 'ValidationError'
  /** The messages, by field; those of no field under `non_field_errors`. */
  declare readonly errors: ErrorMessages

  /** @param options.code what programs know its messages by: a word such as `taken`, in small letters. @default 'invalid' */
  constructor(errors: GivenErrors, options: { detail?: string; cause?: unknown; code?: string } = {}) {
    const { code } = options
    if (code !== undefined) checkCode(code, 'ValidationError')
    const messages = toMessages(errors)
    const told = byField(code === undefined ? messages : coded(messages, code))
    super(400, options.detail ?? 'Validation failed', { errors: told, cause: options.cause })
  }

  /** The errors of a field whose validation threw this: a list of messages, or a map of them for a nested object. */
  get messages(): string[] | ErrorMessages {
    const keys = Object.keys(this.errors)
    const own = this.errors['non_field_errors']
    return keys.length === 1 && Array.isArray(own) ? own : this.errors
  }
}

/** 400: the request cannot be read at all (`Malformed JSON`, a wrong parameter). */
export class BadRequest extends ApiError {
  override readonly name: string = 'BadRequest'
  constructor(detail: string, options?: ApiErrorOptions) {
    super(400, detail, options)
  }
}

/** 401: missing or invalid credentials. `challenge` becomes `WWW-Authenticate`. */
export class AuthenticationFailed extends ApiError {
  override readonly name: string = 'AuthenticationFailed'
  constructor(detail = 'Authentication required', challenge?: string) {
    super(401, detail, challenge === undefined ? {} : { headers: { 'WWW-Authenticate': challenge } })
  }
}

/** 403: the caller is known and may not do this. */
export class PermissionDenied extends ApiError {
  override readonly name: string = 'PermissionDenied'
  constructor(detail = 'Permission denied', options?: ApiErrorOptions) {
    super(403, detail, options)
  }
}

/** 404: there is no such object, or not for this caller. */
export class NotFound extends ApiError {
  override readonly name: string = 'NotFound'
  constructor(detail = 'Not found', options?: ApiErrorOptions) {
    super(404, detail, options)
  }
}

/** 405: the path is known and does not take this method. `allowed` becomes `Allow` (RFC 9110 section 15.5.6). */
export class MethodNotAllowed extends ApiError {
  override readonly name: string = 'MethodNotAllowed'
  constructor(method: string, allowed: readonly string[]) {
    super(405, `Method ${method} not allowed`, { headers: { Allow: allowed.join(', ') } })
  }
}

/** 409: the request does not fit the state of the object. */
export class Conflict extends ApiError {
  override readonly name: string = 'Conflict'
  constructor(detail: string, options?: ApiErrorOptions) {
    super(409, detail, options)
  }
}

/** 415: no parser of the view reads this media type or content coding. */
export class UnsupportedMediaType extends ApiError {
  override readonly name: string = 'UnsupportedMediaType'
  constructor(headers: Record<string, string> = {}) {
    super(415, 'Unsupported media type', { headers })
  }
}

/** 429: a rate limit is used up. `wait` is in seconds, rounded up to a whole number of at least 1. */
export class Throttled extends ApiError {
  override readonly name: string = 'Throttled'
  constructor(wait: number, detail?: string) {
    const seconds = Number.isFinite(wait) ? Math.max(1, Math.ceil(wait)) : 1
    super(429, detail ?? `Request was throttled. Retry after ${seconds} seconds`, {
      headers: { 'Retry-After': String(seconds) },
    })
  }
}

/** 503: the database or another service is away or full. `retryAfter` is in seconds. */
export class ServiceUnavailable extends ApiError {
  override readonly name: string = 'ServiceUnavailable'
  constructor(retryAfter = 1, options: { cause?: unknown } = {}) {
    super(503, 'Service temporarily unavailable', {
      headers: { 'Retry-After': String(retryAfter) },
      cause: options.cause,
    })
  }
}

/**
 * The client went away before its answer was there, so that its statement was not begun, or was stopped. Nobody is answered:
 * neither the client, nor the application's log.
 */
export class ClientGone extends Error {
  override readonly name: string = 'ClientGone'
  constructor() {
    super('the client has gone')
  }
}

/** A mistake in a declaration, found when a view set is registered or prepared. The message names class, attribute and fix. */
export class ConfigurationError extends Error {
  override readonly name: string = 'ConfigurationError'
}

const CODE = /^[a-z][a-z0-9_]{0,63}$/

function checkCode(code: string, where: string): void {
  if (CODE.test(code)) return
  throw new ConfigurationError(`${where}: the code ${JSON.stringify(code)} is no word of small letters, digits and _`)
}

/** The messages, each with this code. */
function coded(messages: string[] | ErrorMessages, code: string): string[] | ErrorMessages {
  if (Array.isArray(messages)) return withCode(messages, code)
  return Object.fromEntries(Object.entries(messages).map(([field, inner]) => [field, coded(inner, code)]))
}

function isMessageList(errors: readonly string[] | object): errors is readonly string[] {
  return Array.isArray(errors)
}

function isTexts(errors: GivenErrors): errors is readonly string[] {
  return Array.isArray(errors) && errors.every((message) => typeof message === 'string')
}

/**
 * Errors in the shape of an answer: a list of messages, or a map of such lists. What a list of other things says of its
 * items stands under their positions, and what JavaScript leaves undefined says nothing.
 * @throws ConfigurationError something among them is no text
 */
function toMessages(errors: GivenErrors): string[] | ErrorMessages {
  if (typeof errors === 'string') return [errors]
  if (typeof errors !== 'object' || (errors as unknown) === null || isError(errors)) throw noText(errors)
  if (isTexts(errors)) return joined(errors)
  if (isOpaque(errors)) throw noText(tagOf(errors))
  const isList = isMessageList(errors)
  const entries = Object.entries(errors)
  // most are in this form already
  if (!isList && entries.every(([, value]) => isTexts(value))) return errors as ErrorMessages
  const told = entries
    .filter(([, value]) => (value as unknown) !== undefined && (value as unknown) !== null)
    .map(([name, value]) => [name, toMessages(value)] as const)
  return Object.fromEntries(isList ? told.filter(([, messages]) => Object.keys(messages).length > 0) : told)
}

function noText(given: unknown): ConfigurationError {
  const named = isError(given) ? given.name : given
  return new ConfigurationError(
    `errors hold ${quote(named)}; give texts, lists of them, or either by the names of fields`,
  )
}

/** Messages of no field under the name that they have in an answer. */
function byField(messages: string[] | ErrorMessages): ErrorMessages {
  return Array.isArray(messages) ? { non_field_errors: messages } : messages
}
