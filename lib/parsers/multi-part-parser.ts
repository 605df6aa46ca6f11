/** Reads `multipart/form-data`: fields and files (spec section 4.9; promises F5–F10, F13 and F16). */
import { isUtf8 } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Context } from '../context.js'
import { ServiceUnavailable } from '../errors.js'
import { acceptFields, checkLimits, FormFields } from './form-fields.js'
import { isBoundary, MultipartReader, malformed, type PartHeader } from './multipart-reader.js'
import type { MediaType, ParsedBody, Parser } from './parser.js'
import { openBody, tooLarge, toReadError } from './read-body.js'
import { UploadedFile } from './uploaded-file.js'

export interface MultiPartParserOptions {
  /**
   * The most bytes of one file.
   * @default twice the largest `maxSize` of the view's serializer; 20_971_520 where it has no file field
   */
  readonly fileLimit?: number
  /** The most files. @default 10 */
  readonly files?: number
  /** The most bytes of all values that are no files. @default 1_048_576 */
  readonly limit?: number
  /** The most values, files included. @default 1000 */
  readonly fields?: number
  /** The most levels of brackets in a name. @default 5 */
  readonly depth?: number
  /** The most bytes of a part's header. @default 16_384 */
  readonly headerLimit?: number
  /** The folder for files until the request is over. @default os.tmpdir() */
  readonly directory?: string
}

/** Full disks and quotas: the client may try again later. */
const FULL: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE'])
const MALFORMED = malformed().detail

/**
 * Reads forms with files. A part with a file name is an `UploadedFile`, all others are texts in UTF-8. Files lie in a
 * temporary folder, readable by this process's user alone, and are removed when the request is over, whatever its outcome.
 *
 * Answers 400 `Malformed multipart body`, 400 beyond `headerLimit` or `depth`, 413 beyond all other limits, 415 without
 * a boundary, and 503 when the disk is full. Names that reach for a prototype are dropped.
 * @example static override parserClasses = [JSONParser, new MultiPartParser({ fileLimit: 100 * 1024 * 1024 })]
 */
export class MultiPartParser implements Parser {
  readonly mediaTypes: readonly string[] = ['multipart/form-data']
  readonly fileLimit: number
  readonly files: number
  readonly limit: number
  readonly fields: number
  readonly depth: number
  readonly headerLimit: number
  readonly directory: string
  readonly #options: MultiPartParserOptions

  constructor(options: MultiPartParserOptions = {}) {
    this.#options = options
    this.fileLimit = options.fileLimit ?? 20 * 1024 * 1024
    this.files = options.files ?? 10
    this.limit = options.limit ?? 1024 * 1024
    this.fields = options.fields ?? 1000
    this.depth = options.depth ?? 5
    this.headerLimit = options.headerLimit ?? 16 * 1024
    this.directory = options.directory ?? tmpdir()
    const { fileLimit, files, limit, fields, depth, headerLimit } = this
    checkLimits(this, { fileLimit, files, limit, fields, depth, headerLimit })
  }

  /** Files up to twice the largest upload are read, so that the field can tell the client its limit. */
  fitting(largestUpload: number): MultiPartParser {
    if (this.#options.fileLimit !== undefined || this.constructor !== MultiPartParser) return this
    return new MultiPartParser({ ...this.#options, fileLimit: 2 * largestUpload })
  }

  reads({ parameters }: MediaType): boolean {
    return isBoundary(parameters['boundary'])
  }

  async parse(ctx: Context, { parameters }: MediaType): Promise<ParsedBody> {
    const { stream, release } = openBody(ctx, this.#largest)
    const uploads = new Uploads(this)
    const chunks = stream.iterator({ destroyOnReturn: false })
    try {
      const reader = new MultipartReader(chunks, {
        boundary: parameters['boundary'] as string,
        headerLimit: this.headerLimit,
      })
      const form = new FormFields<string | UploadedFile>(this)
      const room = { bytes: this.limit }
      for (let part = await reader.next(); part; part = await reader.next()) {
        const value =
          part.filename === undefined
            ? await readText(reader.content(), room)
            : await uploads.store(part, reader.content())
        if (value !== undefined) form.add(part.name, value)
      }
      return parsed(form.data, uploads)
    } catch (error) {
      await uploads.remove()
      throw toReadError(ctx, error, MALFORMED)
    } finally {
      await chunks.return?.()
      release()
    }
  }

  accept(ctx: Context, body: unknown): ParsedBody {
    const uploads = new Uploads(this)
    const { files } = ctx.request as { files?: unknown }
    const taken = takeFiles(files, uploads)
    return parsed({ ...acceptFields(body ?? {}, this), ...acceptFields(taken, this) }, uploads)
  }

  /** More than this cannot be within the other limits. */
  get #largest(): number {
    return this.limit + this.files * this.fileLimit + this.fields * this.headerLimit
  }
}

/** The files of one request. */
class Uploads {
  readonly #limits: MultiPartParser
  readonly #files: { remove(): Promise<void> }[] = []
  #count = 0

  constructor(limits: MultiPartParser) {
    this.#limits = limits
  }

  /** Notes a file that is to be removed when the request is over. */
  add(file: UploadedFile): UploadedFile {
    this.#files.push(file)
    return file
  }

  /** Writes a part to the disk; undefined for a file input that nobody has filled in. */
  async store({ filename = '', mediaType }: PartHeader, content: AsyncIterable<Buffer>) {
    const { fileLimit, files, directory } = this.#limits
    if (++this.#count > files) throw tooLarge()
    const path = join(directory, `koa-viewsets-${randomBytes(16).toString('hex')}`)
    const target = await writable(() => open(path, 'wx', 0o600))
    this.#files.push({ remove: () => rm(path, { force: true }) })
    let size = 0
    try {
      for await (const piece of content) {
        size += piece.length
        if (size > fileLimit) throw tooLarge()
        await writable(() => writeAll(target, piece))
      }
    } finally {
      await target.close()
    }
    if (size === 0 && filename === '') return undefined
    return new UploadedFile({ filename, mediaType, size, path })
  }

  /** Removes them all; a second call does nothing. */
  async remove(): Promise<void> {
    await Promise.all(this.#files.splice(0).map((file) => file.remove()))
  }
}

/** The body, with its files by name. */
function parsed(data: Record<string, unknown>, uploads: Uploads): ParsedBody {
  const files: Record<string, UploadedFile | UploadedFile[]> = {}
  for (const [name, value] of Object.entries(data)) {
    if (value instanceof UploadedFile) files[name] = value
    else if (Array.isArray(value)) {
      const several = value.filter((item) => item instanceof UploadedFile)
      if (several.length > 0) files[name] = several
    }
  }
  return { data, textual: true, files, dispose: () => uploads.remove() }
}

/** @throws ApiError 413 the texts of a request are too long together, 400 it is not UTF-8 */
async function readText(content: AsyncIterable<Buffer>, room: { bytes: number }): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of content) {
    room.bytes -= piece.length
    if (room.bytes < 0) throw tooLarge()
    pieces.push(piece)
  }
  const bytes = Buffer.concat(pieces)
  if (!isUtf8(bytes)) throw malformed()
  return bytes.toString('utf8')
}

async function writeAll(file: FileHandle, bytes: Buffer): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, at)
    at += bytesWritten
  }
}

/** @throws ServiceUnavailable the disk is full; what else goes wrong is the operator's mistake */
async function writable<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (FULL.has((error as NodeJS.ErrnoException).code)) throw new ServiceUnavailable(60, { cause: error })
    throw new StorageFailure('a file of an upload could not be written', { cause: error })
  }
}

/** Answered 500: it is none of the client's doing. */
class StorageFailure extends Error {
  readonly status = 500
}

/** A file as koa-body, that is formidable, leaves it in `ctx.request.files`. */
interface ForeignFile {
  readonly filepath: string
  readonly originalFilename?: unknown
  readonly mimetype?: unknown
  readonly size?: unknown
}

/** The files of the application's own parser; from here on they are removed with the request. */
function takeFiles(files: unknown, uploads: Uploads): Record<string, unknown> {
  if (typeof files !== 'object' || files === null) return {}
  const take = (file: unknown): unknown => {
    if (Array.isArray(file)) return file.map(take)
    if (file instanceof UploadedFile) return uploads.add(file)
    return isForeignFile(file) ? uploads.add(fromForeign(file)) : file
  }
  return Object.fromEntries(Object.entries(files).map(([name, file]) => [name, take(file)]))
}

function isForeignFile(file: unknown): file is ForeignFile {
  return typeof (file as { filepath?: unknown } | null | undefined)?.filepath === 'string'
}

function fromForeign({ filepath, originalFilename, mimetype, size }: ForeignFile): UploadedFile {
  return new UploadedFile({
    filename: typeof originalFilename === 'string' ? originalFilename : '',
    mediaType: typeof mimetype === 'string' ? mimetype : 'application/octet-stream',
    size: typeof size === 'number' ? size : 0,
    path: filepath,
  })
}
