/** Holds what an action returns to the schema of another library that it declares as its output. */
import type { Context } from '../../http/context.js'
import { oneLine } from '../../kernel/quote.js'
import { askSchema, type SchemaIssue, type StandardSchema } from '../../kernel/standard-schema.js'
import { isTurnOver, nextTurn } from '../../kernel/turns.js'
import type { AnswerSchema } from '../action-options.js'
import type { View } from '../view.js'

/** Places of a value that a message names. */
const MOST_PLACES = 5

/**
 * What the schema makes of an action's result, which is what the client gets. It is not asked of an answer that the action
 * has written itself into `ctx.body`, nor of one with a status of 300 and above.
 * @throws Error what was returned is not what the schema takes: a fault of the server, and nothing for its client
 */
export async function checkedAnswer(view: View, answer: AnswerSchema, data: unknown): Promise<unknown> {
  if (!isOfSchema(view.ctx, data)) return data
  const where = `${view.constructor.name}.${view.plan.action}()`
  if (!answer.isList) return ask(where, answer.schema, data, [])
  if (!Array.isArray(data)) throw mismatch(where, [{ message: 'The output is declared as a list.' }])
  const made: unknown[] = []
  for (const [index, item] of data.entries()) {
    made.push(await ask(where, answer.schema, item, [index]))
    if (isTurnOver()) await nextTurn()
  }
  return made
}

function isOfSchema(ctx: Context, data: unknown): boolean {
  if (ctx.respond === false || ctx.res.headersSent || ctx.res.statusCode >= 300) return false
  return data !== undefined || ctx.body === undefined || ctx.body === null
}

async function ask(where: string, schema: StandardSchema, value: unknown, path: readonly number[]): Promise<unknown> {
  let result: Awaited<ReturnType<typeof askSchema>>
  try {
    result = await askSchema(schema, value)
  } catch (error) {
    // one for a client is about what that has sent
    throw new Error(`${where}: the schema of its output threw an error`, { cause: error })
  }
  if (!result.issues) return result.value
  throw mismatch(
    where,
    result.issues.map((issue) => ({ ...issue, message: issue.message, path: [...path, ...(issue.path ?? [])] })),
  )
}

/** Names the places, and no values: they may be anybody's. What the library says of them is the `cause`. */
function mismatch(where: string, issues: readonly SchemaIssue[]): Error {
  const places = [...new Set(issues.map(placeOf))]
  const named = places.slice(0, MOST_PLACES).join(', ')
  const more = places.length > MOST_PLACES ? ` and ${places.length - MOST_PLACES} more` : ''
  return new Error(`${where} returned what the schema of its output refuses: ${named}${more}`, { cause: issues })
}

/** `copies.0.count` */
function placeOf({ path = [] }: SchemaIssue): string {
  const steps = path.map((step) => oneLine(String(typeof step === 'object' ? step.key : step)))
  return steps.length > 0 ? steps.join('.') : 'the whole of it'
}
