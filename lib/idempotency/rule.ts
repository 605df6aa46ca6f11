/** Idempotency keys: what views and routes declare of them, and the key of a request, with whose it is (draft-ietf-httpapi-idempotency-key-header-07, section 2.1). */
import { tellingText, userKey } from '../http/caller.js'
import { type Context, isSafeMethod } from '../http/context.js'
import { headerLines } from '../http/header-lines.js'
import { AuthenticationFailed, BadRequest, ConfigurationError } from '../kernel/errors.js'
import { ALL_METHODS } from '../kernel/methods.js'
import { firstTime } from '../kernel/once-per.js'
import { quote } from '../kernel/quote.js'

/** Whether requests that write may bring an `Idempotency-Key`; `required` refuses POST and PATCH without one. */
export type Idempotent = boolean | 'required'

/** What tells callers apart, in place of `ctx.state.user.id`: a text for each; undefined or null for nobody. */
export type IdempotencyScope = ((ctx: Context) => string | null | undefined | Promise<string | null | undefined>) | null

/** What a view or a route declares. */
export interface IdempotencyRule {
  /** What declares it, for messages. */
  readonly owner: string
  readonly isRequired: boolean
  readonly scope: NonNullable<IdempotencyScope> | undefined
}

/** A key, and whose it is. */
export interface CallersKey {
  readonly key: string
  readonly caller: string
  /** The application itself tells callers apart. */
  readonly isScoped: boolean
}

/** The rule of these options; undefined where there is none. @throws {ConfigurationError} one is of another kind */
export function idempotencyRule(
  owner: string,
  idempotent: Idempotent,
  scope: IdempotencyScope = null,
): IdempotencyRule | undefined {
  if (typeof idempotent !== 'boolean' && idempotent !== 'required') {
    throw new ConfigurationError(`${owner}: idempotent is ${quote(idempotent)}; give true, false or 'required'`)
  }
  if (scope !== null && typeof scope !== 'function') {
    throw new ConfigurationError(`${owner}: idempotencyScope is ${quote(scope)}; give a function of the request`)
  }
  if (idempotent === false) return undefined
  return { owner, isRequired: idempotent === 'required', scope: scope ?? undefined }
}

/** Methods that may be sent again as they are (RFC 9110 section 9.2.2). */
const REPEATABLE = new Set(ALL_METHODS.filter(({ isIdempotent }) => isIdempotent).map(({ name }) => name))

/**
 * The key of a request that writes; undefined where it brings none. Asked for after authentication.
 * @throws {BadRequest} it is missing where it is required, or malformed
 * @throws {AuthenticationFailed} nobody tells whose key it is
 */
export async function callersKey(ctx: Context, rule: IdempotencyRule): Promise<CallersKey | undefined> {
  if (isSafeMethod(ctx.method)) return undefined
  const key = idempotencyKeyOf(ctx)
  if (key === undefined) {
    if (rule.isRequired && needsKey(ctx.method)) throw new BadRequest('Idempotency-Key is required')
    return undefined
  }
  const what = `${rule.owner}: the scope of its idempotency keys`
  const caller = rule.scope ? tellingText(await rule.scope(ctx), what) : userKey(ctx)
  if (caller !== undefined) return { key, caller, isScoped: rule.scope !== undefined }
  warnOf(rule)
  throw new AuthenticationFailed()
}

/** True of a method that does something else each time it is sent: POST and PATCH. */
export function needsKey(method: string): boolean {
  return !REPEATABLE.has(method)
}

const isFirst = firstTime()

/** The key of one caller must never be another's. */
function warnOf(rule: IdempotencyRule): void {
  if (!isFirst(rule)) return
  process.emitWarning(
    `${rule.owner}: a request with an Idempotency-Key has no ctx.state.user with an id, and is answered 401: ` +
      'authenticate it, or tell callers apart by idempotencyScope.',
    { code: 'KOA_VIEWSETS_IDEMPOTENCY' },
  )
}

const HEADER = 'idempotency-key'
const LONGEST = 255

/** A String of RFC 9651, section 3.3.3, with parameters, which mean nothing here. */
const QUOTED = /^"(?<text>(?:[ !#-[\]-~]|\\["\\])*)"(?: *;[ -~]*)?$/
/** As most clients send it: without quotes. */
const BARE = /^[\w!#$%&'*+./:=@^`|~-]+$/

/**
 * The key, quotes taken off, so that `"abc"` and `abc` are one; undefined where the request has none.
 * @throws {BadRequest} it comes twice, is empty, longer than 255 characters, or neither a string nor a word
 */
function idempotencyKeyOf({ req }: Context): string | undefined {
  const value = req.headers[HEADER]
  if (value === undefined) return undefined
  // Node joins what comes twice
  if (headerLines(req, HEADER).length > 1) throw new BadRequest('Idempotency-Key must be sent once')
  const key = read(String(value).trim())
  if (key === undefined || key === '') throw new BadRequest('Malformed Idempotency-Key')
  if (key.length > LONGEST) throw new BadRequest(`Idempotency-Key has more than ${LONGEST} characters`)
  return key
}

function read(value: string): string | undefined {
  if (BARE.test(value)) return value
  return QUOTED.exec(value)?.groups?.['text']?.replace(/\\(.)/g, '$1')
}
