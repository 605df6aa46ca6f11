/** Turns of the event loop: long work gives way to other requests now and then. */

/** Milliseconds that work may take of a turn before it gives way. */
const SLICE = 10

/** Node's own, whatever stands in its place while a test mocks timers: a request would wait until the test runs them. */
export const atTurnsEnd = setImmediate

/** When the work of this turn began; undefined where nobody has asked yet. */
let begun: number | undefined

/**
 * True when this turn has worked for long enough, whoever asked in it first. Loops ask after each of their longer steps,
 * or after some hundred of the short ones, and wait for `nextTurn()` then.
 */
export function isTurnOver(): boolean {
  if (hasWorked()) return true
  beginWork()
  return false
}

/** What follows is long, and cannot be divided: who comes after it in this turn may ask `hasWorked()`. */
export function beginWork(): void {
  if (begun !== undefined) return
  begun = performance.now()
  atTurnsEnd(forget)
}

/** True when long work has begun in this turn and taken long enough; for steps of every request, as it asks no clock where none has begun. */
export function hasWorked(): boolean {
  return begun !== undefined && performance.now() - begun > SLICE
}

/** Goes on once the event loop has looked after all else. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => atTurnsEnd(resolve))
}

/** Long work in steps: each yields when something else may have its turn. */
export type Steps<Made> = Generator<undefined, Made>

/** Takes all steps at once. */
export function atOnce<Made>(steps: Steps<Made>): Made {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

/** Takes the steps in turns of the event loop, which other requests have between them. */
export async function inTurns<Made>(steps: Steps<Made>): Promise<Made> {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
    if (isTurnOver()) await nextTurn()
  }
}

function forget(): void {
  begun = undefined
}
