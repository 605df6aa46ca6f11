/** Turns of the event loop, as other requests would have had them. */

/** Counts the turns from now on. */
export function countTurns(): () => number {
  let turns = 0
  let isOver = false
  const count = () => {
    if (isOver) return
    turns++
    setImmediate(count)
  }
  setImmediate(count)
  return () => {
    isOver = true
    return turns
  }
}

/** Keeps the processor for so many milliseconds. */
export function busyFor(milliseconds: number): void {
  for (const end = performance.now() + milliseconds; performance.now() < end; );
}
