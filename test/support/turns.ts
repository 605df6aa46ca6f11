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

/** Watches the event loop from now on: returns the milliseconds of its longest turn. */
export function watchTurns(): () => number {
  let longest = 0
  let isOver = false
  let begun = performance.now()
  const watch = () => {
    longest = Math.max(longest, performance.now() - begun)
    begun = performance.now()
    if (!isOver) setImmediate(watch)
  }
  setImmediate(watch)
  return () => {
    isOver = true
    return longest
  }
}
