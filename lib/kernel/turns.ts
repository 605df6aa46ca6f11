/** Turns of the event loop: long work gives way to other requests now and then. */

/** Milliseconds that work may take of a turn before it gives way. */
const SLICE = 10

/** When the work of this turn began; undefined where nobody has asked yet. */
let begun: number | undefined

/**
 * True when this turn has worked for long enough, whoever asked in it first. Loops ask after each of their longer steps,
 * or after some hundred of the short ones, and wait for `nextTurn()` then.
 */
export function isTurnOver(): boolean {
  const now = performance.now()
  if (begun === undefined) {
    begun = now
    setImmediate(forget)
    return false
  }
  return now - begun > SLICE
}

/** Goes on once the event loop has looked after all else. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function forget(): void {
  begun = undefined
}
