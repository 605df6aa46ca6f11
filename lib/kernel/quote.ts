/** Rejected values in messages: JSON-encoded, at most 64 characters (promise 1.1.7). */

/** The value as JSON text of at most 64 characters, quotes included. */
export function quote(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(cut(value, 62))
  return cut(JSON.stringify(value) ?? String(value), 64)
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : text.slice(0, length).toWellFormed()
}
