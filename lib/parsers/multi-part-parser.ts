/** Reads `multipart/form-data`: fields and files (promises F5–F10, F13 and F16). */
import { isUtf8 } from 'node:buffer'
import { tmpdir } from 'node:os'
import type { Context } from '../http/context.js'
import { ConfigurationError } from '../kernel/errors.js'
import { takeOptions, takesOptions } from '../kernel/option-kinds.js'
import { ignoreRejection } from '../kernel/realms.js'
import { isRecord } from '../kernel/records.js'
import { isTurnOver, nextTurn } from '../kernel/turns.js'
import { acceptFields, FormFields, stepsOf } from './form-parser.js'
import { type AppsFile, appsFiles, mapFiles } from './left-files.js'
import { isBoundary, MultipartReader, malformed, type PartHeader } from './multipart-reader.js'
import { type AskedForm, checkData, type MediaType, type ParsedBody, type Parser } from './parser.js'
import { GrowingBuffer, openBody, toReadError } from './read-body.js'
import { UploadedFile, type UploadLimits, Uploads } from './uploads.js'

/** Options of `MultiPartParser`: limits of the body, of its files and of its fields. */
export interface MultiPartParserOptions {
  /**
   * The most bytes of one file.
   * @default twice the largest `maxSize` of the view's serializer; 20_971_520 where it has no file field
   */
  readonly fileLimit?: number
  /** The most files. @default 10 */
  readonly files?: number
  /** The most bytes of all files together. @default 52_428_800, or what one may have where that is more */
  readonly totalLimit?: number
  /**
   * The names of files that are kept though no field of the view asks for them, or `all`.
   * @default [], but in `contentNegotiation()` all
   */
  readonly keptFiles?: readonly string[] | 'all'
  /** How many bytes one compressed byte may stand for, on the whole; the first 65,536 bytes are free. @default 100 */
  readonly ratio?: number
  /** The most bytes of all values that are no files. @default 1_048_576 */
  readonly limit?: number
  /** The most values, files included. @default 1000 */
  readonly fields?: number
  /** The most levels of brackets in a name. @default 5 */
  readonly depth?: number
  /** The most values and names in strings that are JSON. @default 100_000 */
  readonly nodes?: number
  /** The most bytes of a part's header. @default 16_384 */
  readonly headerLimit?: number
  /** The folder for files until the request is over. @default os.tmpdir() */
  readonly directory?: string
}

const MALFORMED = malformed().detail
/** What one file may have where no field of the view says. */
const LARGEST_FILE = 20 * 1024 * 1024
const LARGEST_TOTAL = 50 * 1024 * 1024

/**
 * Reads forms with files. A part with a file name is an `UploadedFile`, all others are strings in UTF-8; so is JSON
 * (`Content-Type: application/json`) that no file field asks for. Files lie in a
 * temporary folder, readable by this process's user alone, and are removed when the request is over, whatever its outcome.
 * A file that no field of the view asks for is thrown away as it arrives.
 *
 * Answers 400 `Malformed multipart body`, 400 beyond `headerLimit`, `depth` or `nodes`, 413 beyond all other limits, 415 without
 * a boundary, and 503 when the disk is full. Names that reach for a prototype are dropped.
 * @example static override parserClasses = [JSONParser, new MultiPartParser({ fileLimit: 100 * 1024 * 1024 })]
 */
export class MultiPartParser implements Parser {
  readonly mediaTypes: readonly string[] = ['multipart/form-data']
  readonly fileLimit: number | undefined
  readonly files: number
  readonly totalLimit: number | undefined
  readonly keptFiles: readonly string[] | 'all'
  readonly limit: number
  readonly ratio: number
  readonly fields: number
  readonly depth: number
  readonly nodes: number
  readonly headerLimit: number
  readonly directory: string

  /** @throws {ConfigurationError} an option is wrong */
  constructor(options: MultiPartParserOptions = {}) {
    takeOptions(this, options)
    this.fileLimit = options.fileLimit
    this.files = options.files ?? 10
    this.totalLimit = options.totalLimit
    this.keptFiles = options.keptFiles ?? []
    this.limit = options.limit ?? 1024 * 1024
    this.ratio = options.ratio ?? 100
    this.fields = options.fields ?? 1000
    this.depth = options.depth ?? 5
    this.nodes = options.nodes ?? 100_000
    this.headerLimit = options.headerLimit ?? 16 * 1024
    this.directory = options.directory ?? tmpdir()
    if (this.keptFiles !== 'all' && !Array.isArray(this.keptFiles)) {
      throw new ConfigurationError(`${this.constructor.name}: keptFiles must be a list of names, or 'all'`)
    }
  }

  reads({ parameters }: MediaType): boolean {
    return isBoundary(parameters['boundary'])
  }

  async parse(ctx: Context, { parameters }: MediaType, asked?: AskedForm): Promise<ParsedBody> {
    const limits = uploadLimits(this, asked)
    const { stream, check, release } = openBody(ctx, { limit: largest(this, limits), ratio: this.ratio })
    const uploads = new Uploads(limits)
    const chunks = stream.iterator({ destroyOnReturn: false })
    try {
      const reader = new MultipartReader(checked(chunks, check), {
        boundary: parameters['boundary'] as string,
        headerLimit: this.headerLimit,
      })
      const form = new FormFields(this, asked?.objects)
      const texts = { left: this.limit }
      for (let part = await reader.next(); part; part = await reader.next()) {
        const isFile = part.filename !== undefined && !isJsonText(part, limits)
        const value = isFile ? await uploads.take(part, reader.content()) : await readText(reader.content(), texts)
        if (value !== undefined) form.add(part.name, value)
        // parts that have arrived together are read without a wait
        if (isTurnOver()) await nextTurn()
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

  accept(ctx: Context, body: unknown, asked?: AskedForm): ParsedBody {
    checkData(body)
    const limits = uploadLimits(this, asked)
    const apps = appsFiles(ctx)
    if (apps.length > 0) {
      if (asked) refuseLost(apps, limits)
      return { data: acceptFields([body ?? {}], this, asked), textual: true }
    }
    const uploads = new Uploads(limits)
    const { files } = ctx.request as { files?: unknown }
    const taken = takeFiles(files, uploads)
    // the plugin's own has them in the body, too
    const texts = isRecord(body)
      ? Object.fromEntries(Object.entries(body).filter(([name]) => !Object.hasOwn(taken, name)))
      : body
    try {
      return parsed(acceptFields([texts ?? {}, taken], this, asked), uploads)
    } catch (error) {
      ignoreRejection(uploads.remove())
      throw error
    }
  }
}

takesOptions<MultiPartParserOptions>(MultiPartParser, {
  fileLimit: 'size',
  files: 'size',
  totalLimit: 'size',
  keptFiles: 'any',
  ratio: 'size',
  limit: 'size',
  fields: 'size',
  depth: 'size',
  nodes: 'size',
  headerLimit: 'size',
  directory: 'name',
})

function uploadLimits(parser: MultiPartParser, asked?: AskedForm): UploadLimits {
  const { directory, files, keptFiles } = parser
  // files up to twice the largest upload are read, so that the field can name its limit to the client
  const fileLimit = parser.fileLimit ?? (asked?.largest === undefined ? LARGEST_FILE : 2 * asked.largest)
  const totalLimit = parser.totalLimit ?? Math.max(LARGEST_TOTAL, fileLimit)
  const all = asked === undefined || asked.files === 'all' || keptFiles === 'all'
  const kept = all ? 'all' : new Set([...asked.files, ...keptFiles])
  const fieldName = (name: string) => nameOfField(stepsOf(name, asked?.objects))
  return { directory, files, fileLimit, totalLimit, kept, fieldName }
}

function nameOfField([first, ...steps]: readonly string[]): string {
  return [first, ...steps.filter((step) => !/^\d*$/.test(step)).map((step) => `[${step}]`)].join('')
}

/** More bytes than these cannot be within the other limits. */
function largest({ limit, fields, headerLimit }: MultiPartParser, { totalLimit }: UploadLimits): number {
  return limit + totalLimit + fields * headerLimit
}

/** The body, with its files by name. */
function parsed(data: Record<string, unknown>, uploads: Uploads): ParsedBody {
  const files: Record<string, UploadedFile | UploadedFile[]> = {}
  for (const [name, value] of Object.entries(data)) {
    if (isKept(value)) files[name] = value
    else if (Array.isArray(value)) {
      const several = value.filter(isKept)
      if (several.length > 0) files[name] = several
    }
  }
  return { data, textual: true, files, dispose: () => uploads.remove() }
}

function isKept(value: unknown): value is UploadedFile {
  return value instanceof UploadedFile && value.isKept
}

/** True of JSON that is no upload: no file field asks for it, or a script has made it (a Blob has this name in a form). */
function isJsonText({ name, filename, mediaType }: PartHeader, { kept, fieldName }: UploadLimits): boolean {
  if (mediaType !== 'application/json') return false
  return kept === 'all' ? filename === 'blob' : !kept.has(fieldName(name))
}

/** @throws ApiError 413 the strings of a request are too long together, 400 it is not UTF-8 */
async function readText(content: AsyncIterable<Buffer>, texts: { left: number }): Promise<string> {
  const text = new GrowingBuffer(texts.left)
  for await (const piece of content) text.add(piece)
  texts.left -= text.length
  if (!isUtf8(text.bytes())) throw malformed()
  return text.bytes().toString('utf8')
}

/** The chunks of a body, while it does not swell too far. */
async function* checked(
  chunks: AsyncIterator<Buffer>,
  check: ((bytes: number) => void) | undefined,
): AsyncGenerator<Buffer, void> {
  let bytes = 0
  for (let next = await chunks.next(); !next.done; next = await chunks.next()) {
    bytes += next.value.length
    check?.(bytes)
    yield next.value
  }
}

/** @throws Error a file that is asked for is the application's already */
function refuseLost(files: readonly AppsFile[], { kept, fieldName }: UploadLimits): void {
  if (!files.some(({ fieldname }) => kept === 'all' || kept.has(fieldName(fieldname)))) return
  throw new Error('Something has taken a file of the request, as multer does; leave multipart bodies here to the API')
}

/** The files of the application's own parser; from here on they are removed with the request. */
function takeFiles(files: unknown, uploads: Uploads): Record<string, unknown> {
  return mapFiles(files, (file) => uploads.add(file))
}
