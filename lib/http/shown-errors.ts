/** The messages of an error as its client gets them: the application's in place of the package's, and the code of each. */

import { codeOfStatus, type DetailCode, knownDetail } from '../kernel/details.js'
import type { ErrorMessages } from '../kernel/errors.js'
import { codesOf, givenCode } from '../kernel/given-codes.js'
import type { Messages, MessageText } from '../kernel/message-settings.js'
import { filled, type KnownMessage, knownMessage, type MessageCode } from '../kernel/messages.js'
import { setting } from '../kernel/settings.js'
import type { Context } from './context.js'

/** Messages in the shape that they have; codes in the same. */
export interface ShownErrors {
  readonly errors: ErrorMessages
  /** Undefined where nobody wants them. */
  readonly codes: ErrorMessages | undefined
}

export interface ShownErrorOptions {
  /** Tell the codes, too, whatever the setting says. */
  readonly withCodes: boolean
  /** Gets what a function of the application throws; the package's own sentence is shown then. */
  readonly report: (error: unknown) => void
}

/** The messages of an error, and their codes, as the client gets them. */
export function shownErrors(
  ctx: Context,
  errors: ErrorMessages,
  { withCodes, report }: ShownErrorOptions,
): ShownErrors {
  const messages = setting('messages')
  const codes = withCodes || setting('errorCodes') ? mapped(errors, codesOf) : undefined
  if (messages === undefined) return { errors, codes }
  return { errors: mapped(errors, (list) => replaced(ctx, list, messages, report)), codes }
}

/** The parts of an error that its `detail` and `code` are made of. */
export interface ToldDetail {
  readonly status: number
  readonly detail: string
  /** What the application calls it. */
  readonly code?: string | undefined
  readonly errors?: ErrorMessages | undefined
}

/** The `detail` of an error, and its code where somebody wants that. */
export interface ShownDetail {
  readonly detail: string
  readonly code: string | undefined
}

/** The `detail` and `code` that the client gets. A `detail` with a code of the application's is its own sentence, and stays. */
export function shownDetail(ctx: Context, error: ToldDetail, options: ShownErrorOptions): ShownDetail {
  const { status, detail, code, errors } = error
  const messages = setting('messages')
  const isAsked = options.withCodes || setting('errorCodes') === true
  if (!isAsked && messages === undefined) return { detail, code: undefined }
  const known = code === undefined ? knownDetail(detail) : undefined
  return {
    detail: known && messages ? told(ctx, detail, known, { messages, report: options.report }) : detail,
    code: isAsked ? (code ?? known?.code ?? (errors ? codeOfInput(status) : codeOfStatus(status))) : undefined,
  }
}

/** A map of the same shape. */
function mapped(errors: ErrorMessages, each: (messages: readonly string[]) => string[]): ErrorMessages {
  const entries = Object.entries(errors).map(([name, inner]) => [
    name,
    Array.isArray(inner) ? each(inner) : mapped(inner, each),
  ])
  return Object.fromEntries(entries) as ErrorMessages
}

/** Messages with the application's texts in place of the package's. One with a code of the application's stays as it is. */
function replaced(
  ctx: Context,
  list: readonly string[],
  messages: Messages,
  report: (error: unknown) => void,
): string[] {
  return list.map((text, index) => {
    const known = givenCode(list, index) === undefined ? knownMessage(text) : undefined
    return known ? told(ctx, text, known, { messages, report }) : text
  })
}

/** A `detail` of the application's that has messages beside it. */
function codeOfInput(status: number): string {
  return status === 400 ? 'validation_failed' : codeOfStatus(status)
}

type Known = KnownMessage<MessageCode | DetailCode>

/** The application's text in place of a sentence of the package; that sentence where there is none, or its function fails. */
function told(
  ctx: Context,
  text: string,
  known: Known,
  { messages, report }: { readonly messages: Messages; readonly report: (error: unknown) => void },
): string {
  const own = messages[known.code]
  if (own === undefined) return text
  try {
    return written(own, known, ctx)
  } catch (error) {
    report(error)
    return text
  }
}

function written(own: MessageText, { code, params }: Known, ctx: Context): string {
  if (typeof own === 'string') return filled(own, params)
  const text: unknown = own(params, ctx)
  if (typeof text === 'string') return text
  throw new TypeError(`configure({ messages }): the message for "${code}" is no text`)
}
