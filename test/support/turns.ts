/** Turns of the event loop, as other requests would have had them. */
import { onTestFinished, vi } from 'vitest'

/** Keeps the processor for so many milliseconds. */
export function busyFor(milliseconds: number): void {
  for (const end = performance.now() + milliseconds; performance.now() < end; );
}

/**
 * Until the test ends a look at the clock takes longer than a turn may: work that asks whether its turn is over gives
 * way, as slow work would. Returns how often it was asked, and how often within one turn at most.
 */
export function countSteps(): () => { steps: number; mostOfATurn: number } {
  let time = performance.now()
  let steps = 0
  let ofThisTurn = 0
  let mostOfATurn = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => {
    if (ofThisTurn++ === 0) setImmediate(() => (ofThisTurn = 0))
    steps++
    mostOfATurn = Math.max(mostOfATurn, ofThisTurn)
    time += 20
    return time
  })
  onTestFinished(() => clock.mockRestore())
  return () => ({ steps, mostOfATurn })
}
