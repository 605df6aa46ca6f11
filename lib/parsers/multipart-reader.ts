/**
 * The parts of a multipart body as they arrive (RFC 2046 section 5.1, RFC 7578).
 *
 * koa-body leaves this to formidable, which a client can end or hold up: a part with `Content-Transfer-Encoding: 7bit` is
 * an unhandled rejection there, the time for a part's header grows with the square of its length, which nothing bounds,
 * and a body that breaks off inside its last delimiter is taken for whole.
 *
 * `@fastify/busboy` 3.2.6 neither fails nor hangs, but is silent: of 34 malformed bodies it takes 23, with parts left out or
 * changed (a header that is cut at its limit, two names, `base64` as it stands, bytes that are not UTF-8), and of 10,000
 * mutated ones 3,995 that this reader refuses. What a client has sent must not be stored in part.
 */

import { isUtf8 } from 'node:buffer'
import { BadRequest } from '../kernel/errors.js'
import { isToken } from '../kernel/kinds.js'

/** What stands before a part's content. */
export interface PartHeader {
  /** The name of the form's field. */
  readonly name: string
  /** The name of the file as it was sent; undefined for a field that is no file. */
  readonly filename: string | undefined
  /** In lower case, without parameters; `text/plain` where nothing is said (RFC 7578 section 4.4). */
  readonly mediaType: string
}

export interface MultipartOptions {
  readonly boundary: string
  /** The most bytes of a part's header, and of what stands before the first part. */
  readonly headerLimit: number
}

const CRLF = Buffer.from('\r\n')
const HEADER_END = Buffer.from('\r\n\r\n')
const HYPHEN = 0x2d
/** RFC 2046: 1 to 70 of these, the last of them no space. */
const BOUNDARY = /^[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]$/
const PARAMETER = /;[ \t]*([!#$%&'*+\-.^_`|~0-9A-Za-z]+)=(?:"((?:[^"\\]|\\.)*)"|([!#$%&'*+\-.^_`|~0-9A-Za-z]+))[ \t]*/y
/** These leave the bytes as they are. */
const PLAIN_ENCODINGS: ReadonlySet<string> = new Set(['7bit', '8bit', 'binary'])
const CHARSETS: ReadonlySet<string> = new Set(['utf-8', 'utf8', 'us-ascii'])

/** True for a boundary that RFC 2046 allows. */
export function isBoundary(text: string | undefined): text is string {
  return text !== undefined && BOUNDARY.test(text)
}

/** 400. The answer shows nothing of the input. */
export function malformed(cause?: unknown): BadRequest {
  return new BadRequest('Malformed multipart body', cause === undefined ? {} : { cause })
}

/** Reads parts one after the other. It holds no more than a chunk and a header. */
export class MultipartReader {
  readonly #chunks: AsyncIterator<Buffer>
  readonly #delimiter: Buffer
  readonly #headerLimit: number
  /** What has arrived and is not read. The line break that stands before every delimiter is put before the first, too. */
  #rest: Buffer = CRLF
  #started = false

  constructor(chunks: AsyncIterator<Buffer>, { boundary, headerLimit }: MultipartOptions) {
    this.#chunks = chunks
    this.#delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1')
    this.#headerLimit = headerLimit
  }

  /** The header of the next part; undefined after the last. The content of the one before must have been read. @throws BadRequest */
  async next(): Promise<PartHeader | undefined> {
    if (!this.#started) {
      this.#started = true
      // what stands before the first delimiter means nothing
      await this.#until(this.#delimiter)
    }
    while (this.#rest.length < 2) await this.#more()
    if (this.#rest[0] === HYPHEN && this.#rest[1] === HYPHEN) return undefined
    const padding = await this.#until(CRLF)
    if (padding.some((byte) => byte !== 0x20 && byte !== 0x09)) throw malformed()
    return readHeader(await this.#until(HEADER_END))
  }

  /** The content of the part, piece by piece. @throws BadRequest the body ends before it */
  async *content(): AsyncGenerator<Buffer, void, undefined> {
    const delimiter = this.#delimiter
    for (;;) {
      const at = this.#rest.indexOf(delimiter)
      if (at >= 0) {
        if (at > 0) yield this.#rest.subarray(0, at)
        this.#rest = this.#rest.subarray(at + delimiter.length)
        return
      }
      const certain = this.#rest.length - delimiter.length + 1
      if (certain > 0) {
        yield this.#rest.subarray(0, certain)
        this.#rest = this.#rest.subarray(certain)
      }
      await this.#more()
    }
  }

  /** What stands before a mark, which is read too. @throws BadRequest it is longer than a header may be */
  async #until(mark: Buffer): Promise<Buffer> {
    let from = 0
    for (;;) {
      const at = this.#rest.indexOf(mark, from)
      if (at > this.#headerLimit || (at < 0 && this.#rest.length > this.#headerLimit + mark.length)) throw malformed()
      if (at >= 0) {
        const before = this.#rest.subarray(0, at)
        this.#rest = this.#rest.subarray(at + mark.length)
        return before
      }
      from = Math.max(0, this.#rest.length - mark.length + 1)
      await this.#more()
    }
  }

  /** @throws BadRequest the body has ended */
  async #more(): Promise<void> {
    const { done, value } = await this.#chunks.next()
    if (done) throw malformed()
    this.#rest = this.#rest.length === 0 ? value : Buffer.concat([this.#rest, value])
  }
}

function readHeader(bytes: Buffer): PartHeader {
  if (!isUtf8(bytes)) throw malformed()
  const headers = new Map<string, string>()
  for (const line of bytes.toString('utf8').split('\r\n')) {
    const colon = line.indexOf(':')
    const name = line.slice(0, Math.max(0, colon)).toLowerCase()
    if (!isToken(name) || /[\r\n\0]/.test(line) || headers.has(name)) throw malformed()
    headers.set(name, line.slice(colon + 1).trim())
  }
  if (!PLAIN_ENCODINGS.has((headers.get('content-transfer-encoding') ?? '8bit').toLowerCase())) throw malformed()
  const [mediaType, typeParameters] = readParameters(headers.get('content-type') ?? 'text/plain')
  const charset = typeParameters.get('charset')?.toLowerCase()
  if (charset !== undefined && !CHARSETS.has(charset) && mediaType.startsWith('text/')) throw malformed()
  const [disposition, parameters] = readParameters(headers.get('content-disposition') ?? '')
  const name = parameters.get('name')
  if (disposition !== 'form-data' || name === undefined) throw malformed()
  return { name, filename: parameters.get('filename') ?? readExtended(parameters.get('filename*')), mediaType }
}

/** A value with parameters, `form-data; name="a"`, in one pass. @throws BadRequest it has another form, or a parameter twice */
function readParameters(text: string): [value: string, parameters: Map<string, string>] {
  const parameters = new Map<string, string>()
  const first = text.indexOf(';')
  if (first < 0) return [text.trim().toLowerCase(), parameters]
  const end = text.trimEnd().replace(/;$/, '').length
  let at = first
  while (at < end) {
    PARAMETER.lastIndex = at
    const match = PARAMETER.exec(text)
    if (!match) throw malformed()
    const [whole, name = '', quoted, token] = match
    const key = name.toLowerCase()
    if (parameters.has(key)) throw malformed()
    // browsers write a quotation mark as %22, others escape it; any other backslash is part of a path of Windows
    parameters.set(key, token ?? (quoted ?? '').replace(/\\(["\\])/g, '$1').replaceAll('%22', '"'))
    at += whole.length
  }
  return [text.slice(0, first).trim().toLowerCase(), parameters]
}

/** `UTF-8''b%C3%BCcher.png` (RFC 8187), which some clients write in place of `filename`. */
function readExtended(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const match = /^utf-8'[^']*'(.*)$/i.exec(text)
  if (!match) throw malformed()
  try {
    return decodeURIComponent(match[1] as string)
  } catch (cause) {
    throw malformed(cause)
  }
}
