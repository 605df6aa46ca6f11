/** Bodies of requests: JSON, or a form where there are files. */

/**
 * JSON as a string, a form, or null for nothing.
 * @throws {TypeError} the data is no JSON, or holds files where a form has none
 */
export function bodyOf(data: unknown): string | FormData | null {
  if (data === undefined || data instanceof FormData) return data ?? null
  const entries: [string, unknown][] = Array.isArray(data) ? [] : Object.entries(data ?? {})
  if (!entries.some(([, value]) => hasFiles(value))) return JSON.stringify(data, withoutFiles)
  const form = new FormData()
  for (const [name, value] of entries) {
    if (value === undefined) continue
    // a list without files is one text: an empty one would be missing, and an only item may look like a list
    for (const item of [value].flat(+hasFiles(value))) form.append(name, isFile(item) ? item : textOf(item ?? ''))
  }
  return form
}

const hasFiles = (value: unknown): boolean => [value].flat().some(isFile)

const isFile = (value: unknown): value is Blob => value instanceof Blob

function withoutFiles(name: string, value: unknown): unknown {
  if (isFile(value)) throw new TypeError(`${name}: no files in nested objects`)
  return value
}

/** A value where all is text, in a form or a query: what is a text in JSON, such as a date, is that text, and an object JSON. */
export function textOf(value: unknown): string {
  if (Object(value) !== value) return String(value)
  const json = JSON.stringify(value, withoutFiles)
  return json[0] === '"' ? (JSON.parse(json) as string) : json
}
