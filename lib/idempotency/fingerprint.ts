/** Fingerprints of requests: what must be the same for the same answer. */

import { createHash, type Hash } from 'node:crypto'
import { type Context, splitTarget } from '../http/context.js'
import { BadRequest } from '../kernel/errors.js'
import { isContainer, Numeral, numeralAt } from '../kernel/json-numerals.js'
import { frame } from '../kernel/signing.js'
import { passedByValue } from '../parsers/parser.js'
import { UploadedFile } from '../parsers/uploads.js'

/** Levels of a body that was read by code of the application's, which may have no limit of its own. */
const DEEPEST = 1_000

/** Names that no member of a parsed body has by chance. */
const FILE = '\u0000file'
const BYTES = '\u0000bytes'
const DIGITS = '\u0000digits'

/**
 * SHA-256 of path, query, API version, role and settings, and body. The body counts by what it says: members in any order, numbers as they were
 * written, forms without the boundary that is another each time. A file counts by its bytes and names; one that is not kept,
 * as no field asks for it, by its names and length.
 * @param settings what else must be the same
 * @throws {BadRequest} the body has more than 1,000 levels
 */
export async function fingerprintOf(ctx: Context, body: unknown, settings: readonly string[] = []): Promise<Buffer> {
  if (passedByValue(body, { depth: DEEPEST, nodes: Number.POSITIVE_INFINITY })) {
    throw new BadRequest('Request body is nested too deeply')
  }
  const { path, search } = splitTarget(ctx.originalUrl)
  const version = String(ctx.state['version'] ?? '')
  const hash = createHash('sha256').update(frame(path, search, version, frame(...settings)))
  const files: UploadedFile[] = []
  hash.update(JSON.stringify(ordered(body, files)) ?? '')
  for (const file of files) await addFile(hash, file)
  return hash.digest()
}

async function addFile(hash: Hash, file: UploadedFile): Promise<void> {
  const { filename, mediaType, size } = file
  hash.update(frame(filename, mediaType, String(size)))
  if (!file.isKept) return
  for await (const piece of file.stream()) hash.update(piece as Buffer)
}

/** A copy with members in the order of their names. Files are numbered, and noted; what JSON has no form for has a name. */
function ordered(value: unknown, files: UploadedFile[]): unknown {
  if (!isContainer(value)) return value
  if (Array.isArray(value)) {
    return value.map((item: unknown, index) => textAt(value, index) ?? ordered(item, files))
  }
  if (value instanceof UploadedFile) return { [FILE]: files.push(value) }
  if (value instanceof Uint8Array) return { [BYTES]: createHash('sha256').update(value).digest('hex') }
  if (value instanceof Numeral) return { [DIGITS]: value.text }
  const names = Object.keys(value)
  // a date, or the like
  if (names.length === 0) return value
  const copy: Record<string, unknown> = {}
  for (const name of names.sort()) copy[name] = textAt(value, name) ?? ordered(value[name], files)
  return copy
}

/** A number that JavaScript would round, by its digits. */
function textAt(container: object, key: string | number): unknown {
  const text = numeralAt(container, key)
  return text === undefined ? undefined : { [DIGITS]: text }
}
