/** Ids as texts. */

/** A UUID in its 8-4-4-4-12 form, in any case. */
export const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** An id as text, since a bigint column gives `"7"` where a token gives 7; undefined for what is no id. */
export function idText(id: unknown): string | undefined {
  if (typeof id === 'string') return id === '' ? undefined : id
  return typeof id === 'bigint' || Number.isSafeInteger(id) ? String(id) : undefined
}
