/** Calls a tool: as a request to the API, by the same way as any other, and its answer as a result. */

import { answerError } from '../http/answer-error.js'
import type { Context } from '../http/context.js'
import { askedContext, askInProcess, type InProcessAnswer } from '../http/in-process.js'
import { ValidationError } from '../kernel/errors.js'
import { Caller } from './permitted-tools.js'
import type { CallOptions } from './request-of-call.js'
import { requestOfCall } from './request-of-call.js'
import { failureOf, resultOf, type ToolResult } from './result.js'
import type { CalledOperation, Tool } from './tool.js'
import { ACTION, ONLY } from './tools-of.js'

export interface Calling extends CallOptions {
  /** What answers the API's paths. */
  readonly answer: (ctx: Context, next: () => Promise<unknown>) => unknown
  readonly maxResultBytes: number
}

/** What came of a call: a result, and how the request was answered. */
export interface Called {
  readonly result: ToolResult
  readonly status: number
  /** The challenges of a 401 or 403; empty for none. */
  readonly challenge: string
}

/** Calls a tool with these arguments. What is wrong with them is a result, too, for the agent to mend. */
export async function callTool(
  outer: Context,
  tool: Tool,
  given: Readonly<Record<string, unknown>>,
  calling: Calling,
): Promise<Called> {
  const { call, rest } = chosen(tool, given)
  const answer = await ask(outer, tool, { call, rest }, calling)
  const isFailed = answer.status >= 400 || typeof answer.body !== 'string' || call === undefined
  const result = isFailed ? failureOf(answer, call, calling.maxResultBytes) : resultOf(answer, call)
  return { result, status: answer.status, challenge: answer.header('WWW-Authenticate') }
}

interface Chosen {
  readonly call: CalledOperation | undefined
  readonly rest: Readonly<Record<string, unknown>>
}

/** The operation that the arguments choose, and what is left of them. */
function chosen({ calls }: Tool, given: Readonly<Record<string, unknown>>): Chosen {
  const only = calls.get(ONLY)
  if (only) return { call: only, rest: given }
  const { [ACTION]: action, ...rest } = given
  return { call: typeof action === 'string' ? calls.get(action) : undefined, rest }
}

async function ask(outer: Context, tool: Tool, { call, rest }: Chosen, calling: Calling): Promise<InProcessAnswer> {
  let asked: ReturnType<typeof requestOfCall>
  try {
    if (!call) throw new ValidationError({ [ACTION]: ['Choose one of the actions that the tool lists.'] })
    asked = requestOfCall(call, rest, calling)
  } catch (error) {
    // told as the API itself tells what is wrong
    const ctx = askedContext(outer, { method: 'GET', url: outer.path })
    return askInProcess(
      ctx,
      async () => answerError(ctx, (await refusalOf(outer, call ? [call] : tool.calls.values())) ?? error),
      calling.maxResultBytes,
    )
  }
  return askInProcess(askedContext(outer, asked), calling.answer, calling.maxResultBytes)
}

/** Who may not call the tool is not told what is wrong with the arguments. */
async function refusalOf(outer: Context, calls: Iterable<CalledOperation>): Promise<unknown> {
  try {
    return await new Caller(outer).refusal(calls)
  } catch (error) {
    return error
  }
}
