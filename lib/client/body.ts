/** Bodies of requests: JSON, or a form where there are files. */

interface Body {
  readonly body: NonNullable<RequestInit['body']> | null
  readonly type: Readonly<Record<string, string>>
}

/** @throws {TypeError} the data is no JSON, or holds files where a form has none */
export function bodyOf(data: unknown): Body {
  if (data === undefined) return { body: null, type: {} }
  if (data instanceof FormData) return { body: data, type: {} }
  const entries: [string, unknown][] = Array.isArray(data) ? [] : Object.entries(data ?? {})
  if (!entries.some(([, value]) => itemsOf(value).some(isFile))) {
    return { body: JSON.stringify(data, withoutFiles), type: { 'content-type': 'application/json' } }
  }
  const form = new FormData()
  for (const [name, value] of entries) {
    if (value === undefined) continue
    for (const item of itemsOf(value)) form.append(name, isFile(item) ? item : formText(item))
  }
  return { body: form, type: {} }
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
