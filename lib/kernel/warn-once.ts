/** Warnings of the process that are told once: each is about the application or its database, and requests repeat what it is about. */

/** They name tables, columns and routes, so that there are few; a flood of them tells no more. */
const MOST = 200

const told = new Set<string>()

/** Emits a warning, unless the same text was told before. */
export function warnOnce(code: string, text: string): void {
  if (told.has(text) || told.size >= MOST) return
  told.add(text)
  process.emitWarning(text, { code })
}
