/** Answers what is thrown by the middleware after it, so that every error of the app has one form. */
import { answerError } from '../lib/http/answer-error.js'
import { isUnanswered, type Middleware } from '../lib/http/context.js'
import { toParserError } from '../lib/http/parser-errors.js'
import { NotFound } from '../lib/kernel/errors.js'
import { toApiError } from '../lib/postgres/database-errors.js'
import { requestSubject } from '../lib/postgres/failed-statement.js'

/**
 * Turns errors into `{detail, status}` as JSON, and the app's own unanswered 404 too. Mount it first, before a parser of
 * the app's: what koa-body, @koa/bodyparser and @koa/multer refuse is then answered as our own parsers would.
 * Only a 5xx reaches `app.on('error')`.
 * @example app.use(errors())
 */
export function errors(): Middleware {
  return async function answerErrors(ctx, next) {
    try {
      await next()
      if (isUnanswered(ctx)) answerError(ctx, new NotFound())
    } catch (error) {
      answerError(ctx, toApiError(error, requestSubject(ctx.method)) ?? toParserError(error, ctx) ?? error)
    }
  }
}
