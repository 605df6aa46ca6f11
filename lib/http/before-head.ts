/** What is done as the head of an answer leaves, whoever sends it. */
import type { Context } from './context.js'

/** Does the work just before. */
export function beforeHead({ res }: Pick<Context, 'res'>, work: () => void): void {
  const writeHead = res.writeHead.bind(res) as (...values: unknown[]) => typeof res
  // a constant first: V8 puts a function that is written right into a property with what is to stay, and with it the request
  const workAndWrite = (...values: unknown[]) => {
    work()
    return writeHead(...values)
  }
  res.writeHead = workAndWrite
}
