/** The only place that writes an error to the client: the JSON envelope and what a 401 asks for (wire format, section 6). */

import { STATUS_CODES } from 'node:http'
import { ApiError, boundedErrors, ClientGone, NotFound, ServiceUnavailable } from '../kernel/errors.js'
import { errorLine, escapeControls, quote } from '../kernel/quote.js'
import { isError } from '../kernel/realms.js'
import { setting } from '../kernel/settings.js'
import { settled } from '../kernel/settled.js'
import { warnOnce } from '../kernel/warn-once.js'
import { isValidationGap, toApiError } from '../postgres/database-errors.js'
import { requestSubject } from '../postgres/failed-statement.js'
import { isTimeout } from '../postgres/guarded.js'
import { nativeError } from '../postgres/native-error.js'
import { type Context, isSafeMethod, isTargetError, isWritable, RequestSlot } from './context.js'
import { PROBLEM_TYPE, prefersProblem, problemOf } from './problem.js'
import { isGone } from './response-end.js'
import { shownDetail, shownErrors, type ToldDetail } from './shown-errors.js'

/** What of an error reaches the client. */
interface Answer extends ToldDetail {
  readonly headers: Readonly<Record<string, unknown>>
  readonly members?: Readonly<Record<string, unknown>> | undefined
}

/** What can name a challenge, such as `Token realm="api"`. */
interface Challenger {
  readonly challenge?: string
}

const CHALLENGERS = new RequestSlot<readonly Challenger[]>('the schemes that were tried')

const UNHANDLED: Answer = { status: 500, detail: 'Internal server error', headers: {} }

const CLIENT_CLOSED_REQUEST = 499

/** Headers that describe the answer the handler had begun, not the error. */
const ENTITY_HEADERS = [
  'Accept-Ranges',
  'Content-Disposition',
  'Content-Encoding',
  'Content-Language',
  'Content-Length',
  'Content-Location',
  'Content-Range',
  'Content-Type',
  'ETag',
  'Expires',
  'Idempotency-Replayed',
  'Last-Modified',
  'Location',
  'Preference-Applied',
  'Trailer',
  'Transfer-Encoding',
]

/** Headers that an error never brings: those of clients of HTTP have all headers of the answer that they are about. */
const OF_ANOTHER_BODY: ReadonlySet<string> = new Set([
  'content-encoding',
  'content-length',
  'etag',
  'last-modified',
  'trailer',
  'transfer-encoding',
])

/**
 * Answers with `{detail, status}` and, if there are any, `errors`, with `code` and `codes` beside them where `errorCodes` is set; or as
 * a problem (RFC 9457) where `problemDetails` is set and the client asks for one. Headers set by earlier middleware stay.
 *
 * - An `ApiError` is shown as it is.
 * - An error of other middleware with a `status` of 4xx keeps it, and its message if `expose` is true (as http-errors has it),
 *   but for one of the operating system.
 * - What Koa throws since the request's target is no URL is a 404.
 * - Anything else is a 500 that says nothing.
 * - A `ClientGone` is answered by nothing: the status of 499 is for the application's log only.
 *
 * A 400 for a value that PostgreSQL has refused, and no field before it, is reported by one warning for each kind of them.
 * A status of 5xx is reported by one `error` event of the app, with the error and its `cause`; a 4xx is not.
 * Once the headers are sent nothing is written: the error is reported and the connection closed.
 * @param challenge `WWW-Authenticate` of a 401 that brings none itself; by default that of the schemes that were tried
 */
export function answerError(ctx: Context, error: unknown, challenge?: string): void {
  if (error instanceof ClientGone || isAbandoned(ctx, error)) {
    // for the application's log: nginx says it so
    ctx.status = CLIENT_CLOSED_REQUEST
    return
  }
  if (ctx.headerSent) {
    // An answer that is not complete must not look complete.
    if (!ctx.res.writableEnded) ctx.res.destroy()
    ctx.respond = false
    reportError(ctx, error)
    return
  }
  const answer = answerFor(isTargetError(ctx, error) ? new NotFound() : error)
  if (error instanceof ApiError && isValidationGap(error)) warnOfGap(ctx, error.cause as Error)
  if (isWritable(ctx)) write(ctx, answer, challenge)
  if (answer.status >= 500) reportError(ctx, error)
}

/** True for a statement of a stream or a cursor that was cancelled since nobody waits for it any more. */
function isAbandoned(ctx: Context, error: unknown): boolean {
  return isSafeMethod(ctx.method) && isGone(ctx) && isTimeout(error instanceof ServiceUnavailable ? error.cause : error)
}

function write(ctx: Context, answer: Answer, challenge: string | undefined): void {
  const { status, errors, headers } = answer
  for (const name of ENTITY_HEADERS) ctx.remove(name)
  ctx.status = status
  for (const [name, value] of Object.entries(headers))
    if (!OF_ANOTHER_BODY.has(name.toLowerCase())) setIfValid(ctx, name, value)
  const isProblem = prefersProblem(ctx)
  ctx.set({
    'Cache-Control': 'no-store',
    'Content-Type': isProblem ? PROBLEM_TYPE : 'application/json; charset=utf-8',
    'X-Content-Type-Options': 'nosniff',
  })
  if (status === 401) setMissing(ctx, 'WWW-Authenticate', challenge ?? challengeOf(ctx))
  if (status === 429 || status === 503) setMissing(ctx, 'Retry-After', '1')
  // Koa computes Content-Length from the text, and drops the text itself for HEAD.
  const options = { withCodes: isProblem, report: (error: unknown) => reportError(ctx, error) }
  const shown = errors && shownErrors(ctx, boundedErrors(errors), options)
  const { detail, code } = shownDetail(ctx, answer, options)
  const members = answer.members && writtenMembers(answer.members, options.report)
  const body = isProblem
    ? problemOf(ctx, { status, detail, code, shown, members })
    : shapedError(ctx, { detail, status, code, ...shown, ...members }, options.report)
  ctx.body = JSON.stringify(body)
  ctx.respond = true
}

/** The members where JSON can write them; undefined, with a report, for a bigint or a circle in them. */
function writtenMembers(
  members: Readonly<Record<string, unknown>>,
  report: (error: unknown) => void,
): Readonly<Record<string, unknown>> | undefined {
  try {
    JSON.stringify(members)
    return members
  } catch (error) {
    report(error)
    return undefined
  }
}

/** A header that an error brings. What Node does not take would throw, and leave the client without this answer. */
function setIfValid(ctx: Context, name: string, value: unknown): void {
  if (typeof value !== 'string' && typeof value !== 'number' && !Array.isArray(value)) return
  try {
    ctx.set(name, value as string | string[])
  } catch {
    // the error is answered without it
  }
}

/** A header that RFC 9110 asks for with a status, where neither the error nor an earlier step has set it. */
function setMissing(ctx: Context, name: string, value: string): void {
  if (!ctx.res.hasHeader(name)) ctx.set(name, value)
}

function answerFor(error: unknown): Answer {
  if (error instanceof ApiError) {
    const { status } = error
    const answers = Number.isInteger(status) && status !== 500 && status >= 400 && STATUS_CODES[status] !== undefined
    return answers ? error : UNHANDLED
  }
  if (typeof error !== 'object' || error === null) return UNHANDLED
  const { status, statusCode, expose, message, headers, syscall } = error as Record<string, unknown>
  const code = status ?? statusCode
  if (typeof code !== 'number' || code < 400 || code > 499) return UNHANDLED
  const reason = STATUS_CODES[code]
  if (reason === undefined) return UNHANDLED
  return {
    status: code,
    // that of the system names files: koa-send throws it with a 404
    detail: expose === true && typeof message === 'string' && syscall === undefined ? message : reason,
    headers: headersOf(headers),
  }
}

/**
 * The headers that an error brings. A date is in the whole head of another server's answer alone, as clients of HTTP throw it:
 * of that our client is told how long to wait, and nothing of cookies, connections and policies.
 */
function headersOf(headers: unknown): Readonly<Record<string, unknown>> {
  // those of `fetch` have no members
  const isFetched = Object.prototype.toString.call(headers) === '[object Headers]'
  const given = isFetched ? Object.fromEntries(headers as Headers) : headers
  const entries = typeof given === 'object' ? Object.entries(given ?? {}) : []
  const isAnswer = entries.some(([name]) => name.toLowerCase() === 'date')
  return Object.fromEntries(isAnswer ? entries.filter(([name]) => name.toLowerCase() === 'retry-after') : entries)
}

/** A value that only PostgreSQL has refused: reported once for each kind of them and each route, and never shown. */
function warnOfGap(ctx: Context, cause: Error): void {
  const { code, routine } = nativeError(cause)
  const route: unknown = ctx['_matchedRoute']
  const where = `${ctx.method} ${typeof route === 'string' ? route : ''}`.trimEnd()
  const gap = `SQLSTATE ${String(code)} of ${String(routine)}, ${where}`
  warnOnce(
    'KOA_VIEWSETS_VALIDATION_GAP',
    `PostgreSQL refused a value that no field had refused (${gap}): give its field a stricter class, or a validator.`,
  )
}

/** Reports an error by the `error` event of the app. A listener that throws is no fault of the request, and ends no process. */
export function reportError(ctx: Context, error: unknown): void {
  // Without a listener, which Koa adds when it serves, the event itself would throw.
  if (ctx.app.listenerCount('error') === 0) return
  try {
    ctx.app.emit('error', isError(error) ? error : new Error(`non-error thrown: ${escapeControls(quote(error))}`), ctx)
  } catch (failure) {
    process.emitWarning(`A listener of the app's "error" event has failed: "${errorLine(failure)}"`, {
      code: 'KOA_VIEWSETS_ERROR_LISTENER',
    })
  }
}

/** Remembers the schemes that a step tries (RFC 9110 section 11.6.1), so that whoever answers 401 later, on whatever route, names their challenges. */
export function rememberChallengers(ctx: Context, schemes: readonly Challenger[]): void {
  const before = CHALLENGERS.get(ctx)
  CHALLENGERS.set(ctx, before ? [...before, ...schemes] : schemes)
}

/** The value of `WWW-Authenticate`: the challenges of all schemes tried so far, each once; a session where none has one. */
function challengeOf(ctx: Context): string {
  const schemes = CHALLENGERS.get(ctx) ?? []
  const challenges = new Set(schemes.flatMap(({ challenge }) => challenge ?? []))
  return challenges.size > 0 ? [...challenges].join(', ') : 'Session realm="api"'
}

/**
 * Runs one step of a request for a plugin. True when the step has passed; false when it threw and the error was answered as JSON, so that nothing more is to be
 * done. Errors of the middleware after the plugin are not its concern: call `next()` outside.
 * @param challenge the value of `WWW-Authenticate` for a 401 that brings none
 * @example if (await runStep(ctx, () => checkThrottles(ctx, view, throttles))) await next()
 */
export async function runStep(ctx: Context, step: () => void | Promise<void>, challenge?: string): Promise<boolean> {
  try {
    await step()
    return true
  } catch (error) {
    answerError(ctx, toApiError(error, requestSubject(ctx.method)) ?? error, challenge)
    return false
  }
}

/** The body of an error; the package's own where the application says none. */
function shapedError(ctx: Context, body: Readonly<Record<string, unknown>>, report: (error: unknown) => void): unknown {
  const shape = setting('errorShape')
  if (!shape) return body
  try {
    const shaped = settled(shape.body(body as never, ctx), 'configure({ errorShape }): body() has returned a promise')
    if (typeof shaped === 'object' && shaped !== null && JSON.stringify(shaped) !== undefined) return shaped
    report(new Error('configure({ errorShape }): body() has returned no object'))
  } catch (error) {
    report(error)
  }
  return body
}
