/** Why something goes a slower way, as `explain()` says it: all reasons, so that it is seen what would have to go. */

const BETWEEN = '; '

/** Reasons as one text, each once; null where there is none. Each may be several, as this has made of them. */
export function reasonOf(reasons: Iterable<string | null | undefined>): string | null {
  const found = new Set([...reasons].flatMap((one) => one?.split(BETWEEN) ?? []))
  return found.size === 0 ? null : [...found].join(BETWEEN)
}
