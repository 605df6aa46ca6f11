/** The generation of what was read from disk: `refresh()` begins another. */

let generation = 0

/** Grows with each `refresh()`: what was kept under another number is out of date. */
export function currentGeneration(): number {
  return generation
}

/** Makes manifests and versions be read anew when they are next asked for. */
export function refresh(): void {
  generation++
}
