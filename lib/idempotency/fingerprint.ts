/** What of a request must be the same for the same answer. */

import { createHash, type Hash } from 'node:crypto'
import { type Context, splitTarget } from '../http/context.js'
import { isContainer, Numeral, numeralAt } from '../kernel/json-numerals.js'
import { frame } from '../kernel/signing.js'
import { UploadedFile } from '../parsers/uploads.js'

/**
 * SHA-256 of path, query, API version and body. The body counts by what it says: members in any order, numbers as they were
 * written, forms without the boundary that is another each time. A file counts by its bytes and names; one that is not kept,
 * as no field asks for it, by its names and length.
 */
export async function fingerprintOf(ctx: Context, body: unknown): Promise<Buffer> {
  const { path, search } = splitTarget(ctx.originalUrl)
  const hash = createHash('sha256').update(frame(path, search, String(ctx.state['version'] ?? '')))
  const files: UploadedFile[] = []
  hash.update(canonical(body, files))
  for (const file of files) await addFile(hash, file)
  return hash.digest()
}

async function addFile(hash: Hash, file: UploadedFile): Promise<void> {
  const { filename, mediaType, size } = file
  hash.update(frame(filename, mediaType, String(size)))
  if (!file.isKept) return
  for await (const piece of file.stream()) hash.update(piece as Buffer)
}

/** JSON with members in the order of their names. Files are numbered, and noted. */
function canonical(value: unknown, files: UploadedFile[]): string {
  if (value instanceof UploadedFile) return `<file ${files.push(value)}>`
  if (value instanceof Uint8Array) return `<bytes ${createHash('sha256').update(value).digest('hex')}>`
  if (value instanceof Numeral) return value.text
  if (!isContainer(value)) return JSON.stringify(value) ?? 'null'
  const member = (key: string | number) => numeralAt(value, key) ?? canonical(value[key], files)
  if (Array.isArray(value)) return `[${value.map((_, index) => member(index)).join()}]`
  if (typeof value['toJSON'] === 'function' && Object.keys(value).length === 0) return JSON.stringify(value)
  const names = Object.keys(value).sort()
  return `{${names.map((name) => `${JSON.stringify(name)}:${member(name)}`).join()}}`
}
