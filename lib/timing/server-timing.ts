/** The header `Server-Timing` (W3C Server Timing): what the steps of a request took. */

import type { Context } from '../http/context.js'
import type { Phase, Timings } from '../kernel/trace.js'

/** In the order of a request, by the names that the header has. */
const METRICS: readonly (readonly [name: string, phase: Phase])[] = [
  ['auth', 'authentication'],
  ['permissions', 'permissions'],
  ['throttle', 'throttles'],
  ['body', 'body'],
  ['action', 'action'],
  ['render', 'render'],
]

/** The value of the header: durations in milliseconds, of the steps that were taken; `db` with the number of statements. */
export function serverTimingValue(timings: Timings, total: number): string {
  const { phases, statements, database } = timings
  const metrics = METRICS.flatMap(([name, phase]) => {
    const milliseconds = phases.get(phase)
    return milliseconds === undefined ? [] : metric(name, milliseconds)
  })
  const db =
    statements > 0 ? [`${metric('db', database)};desc="${statements} statement${statements > 1 ? 's' : ''}"`] : []
  return [...metrics, ...db, metric('total', total)].join(', ')
}

function metric(name: string, milliseconds: number): string {
  return `${name};dur=${Math.max(0, milliseconds).toFixed(1)}`
}

/** Adds the header to what the application has of it. Where the headers are sent already, there is none. */
export function sendServerTiming({ res }: Context, value: string): void {
  if (res.headersSent) return
  const before = res.getHeader('Server-Timing')
  res.setHeader('Server-Timing', before === undefined ? value : `${String(before)}, ${value}`)
}
