/** Numbers that look random and are the same for each seed. */

/** Each call gives a whole number from 0 to below what it is given. */
export function seededRandom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}
