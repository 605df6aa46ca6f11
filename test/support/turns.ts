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

/** The microseconds that the process has worked: other processes on the machine do not lengthen them. */
export function workedTime(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}

/** Watches the event loop from now on: returns the microseconds of work of its longest turn. */
export function watchTurns(): () => number {
  let longest = 0
  let isOver = false
  let begun = workedTime()
  const watch = () => {
    longest = Math.max(longest, workedTime() - begun)
    begun = workedTime()
    if (!isOver) setImmediate(watch)
  }
  setImmediate(watch)
  return () => {
    isOver = true
    return longest
  }
}
