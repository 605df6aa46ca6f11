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

function itemsOf(value: unknown): readonly unknown[] {
  return [value].flat()
}

function isFile(value: unknown): value is Blob {
  return value instanceof Blob
}

function withoutFiles(name: string, value: unknown): unknown {
  if (isFile(value)) throw new TypeError(`${name}: files stand in no nested object`)
  return value
}

function formText(value: unknown): string {
  if (value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value, withoutFiles)
}
