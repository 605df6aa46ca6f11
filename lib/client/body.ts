/** Bodies of requests: JSON, or a form where there are files. */

/**
 * JSON as a string, a form, or null for nothing.
 * @throws {TypeError} the data is no JSON, or holds files where a form has none
 */
export function bodyOf(data: unknown): string | FormData | null {
  if (data === undefined || data instanceof FormData) return data ?? null
  const entries: [string, unknown][] = Array.isArray(data) ? [] : Object.entries(data ?? {})
  if (!entries.some(([, value]) => itemsOf(value).some(isFile))) return JSON.stringify(data, withoutFiles)
  const form = new FormData()
  for (const [name, value] of entries) {
    if (value === undefined) continue
    for (const item of itemsOf(value)) form.append(name, isFile(item) ? item : formText(item))
  }
  return form
}

const itemsOf = (value: unknown): readonly unknown[] => [value].flat()

const isFile = (value: unknown): value is Blob => value instanceof Blob

function withoutFiles(name: string, value: unknown): unknown {
  if (isFile(value)) throw new TypeError(`${name}: files stand in no nested object`)
  return value
}

const formText = (value: unknown): string =>
  value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value, withoutFiles)
