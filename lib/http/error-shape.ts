/** The shape of errors as an application has it (`configure({ errorShape })`). */

import { setting } from '../kernel/settings.js'
import type { Context } from './context.js'

/** The body of an error; the package's own where the application says none. */
export function shapedError(
  ctx: Context,
  body: Readonly<Record<string, unknown>>,
  report: (error: unknown) => void,
): unknown {
  const shape = setting('errorShape')
  if (!shape) return body
  try {
    const shaped = shape.body(body as never, ctx)
    if (typeof shaped === 'object' && shaped !== null && JSON.stringify(shaped) !== undefined) return shaped
    report(new Error('configure({ errorShape }): body() has returned no object'))
  } catch (error) {
    report(error)
  }
  return body
}
