/** Ids as texts. */

/** An id as text, since a bigint column gives `"7"` where a token gives 7; undefined for what is no id. */
export function idText(id: unknown): string | undefined {
  if (typeof id === 'string') return id === '' ? undefined : id
  return typeof id === 'bigint' || Number.isSafeInteger(id) ? String(id) : undefined
}
