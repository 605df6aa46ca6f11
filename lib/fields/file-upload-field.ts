/** Files and images (promises F5, F10, F11 and F13). */

import { Readable } from 'node:stream'
import { ValidationError } from '../kernel/errors.js'
import { takesOptions } from '../kernel/option-kinds.js'
import { quote } from '../kernel/quote.js'
import { settled } from '../kernel/settled.js'
import { cleanFilename, UploadedFile } from '../parsers/uploads.js'
import { ArrayField } from './array-field.js'
import { type FieldOptions, type FieldSchema, SerializerField } from './field.js'
import { type ClosedOptions, optionError } from './options.js'
import type { StorableFile, UploadStorage } from './upload-storage.js'

/** Options of `FileUploadField`, besides those of all fields. */
export interface FileUploadFieldOptions extends FieldOptions {
  /** The storage of the files. Without one the validated value is the file itself, for code that keeps it. */
  readonly storage?: UploadStorage
  /** The most bytes. @default 10_485_760 */
  readonly maxSize?: number
  /** Extensions that are taken, without the dot. @default those of the specification's table */
  readonly allowedExtensions?: readonly string[]
  /** Leave a file in its storage when another takes its place, or its object is deleted. @default false */
  readonly keepsReplaced?: boolean
}

/** Options of `ImageUploadField`, besides those of `FileUploadField`. */
export interface ImageUploadFieldOptions extends FileUploadFieldOptions {
  /** Compare the first bytes with the signature of the extension's format. @default true */
  readonly verifyMagicBytes?: boolean
}

const FILES = ['jpg', 'jpeg', 'png', 'gif', 'webp', 'bmp', 'svg', 'pdf', 'txt', 'csv', 'json', 'xml', 'zip']
const EXTENSION = /^[a-z0-9]{1,16}$/

const JPEG = [Buffer.from([0xff, 0xd8, 0xff])]

/** How a file of a format begins, by extension. */
const SIGNATURES: ReadonlyMap<string, readonly Buffer[]> = new Map([
  ['png', [Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])]],
  ['jpg', JPEG],
  ['jpeg', JPEG],
  ['gif', [Buffer.from('GIF87a'), Buffer.from('GIF89a')]],
  ['webp', [Buffer.from('RIFF')]],
  ['bmp', [Buffer.from('BM')]],
  ['svg', [Buffer.from('<?xml'), Buffer.from('<svg')]],
])
const LONGEST_SIGNATURE = 8

const MEDIA_TYPES: ReadonlyMap<string, string> = new Map([
  ['png', 'image/png'],
  ['jpg', 'image/jpeg'],
  ['jpeg', 'image/jpeg'],
  ['gif', 'image/gif'],
  ['webp', 'image/webp'],
  ['bmp', 'image/bmp'],
  ['svg', 'image/svg+xml'],
  ['pdf', 'application/pdf'],
  ['txt', 'text/plain'],
  ['csv', 'text/csv'],
  ['json', 'application/json'],
  ['xml', 'application/xml'],
  ['zip', 'application/zip'],
])

/** The media type of an extension, whatever a client says of a file. */
export function mediaTypeOf(extension: string): string {
  return MEDIA_TYPES.get(extension) ?? 'application/octet-stream'
}

/** A file that has passed the checks of its field, until it is kept. */
export class CheckedFile implements StorableFile {
  readonly filename: string
  readonly extension: string
  readonly mediaType: string
  readonly size: number
  readonly #source: UploadedFile | Uint8Array

  constructor(source: UploadedFile | Uint8Array, filename: string, extension: string) {
    this.filename = filename
    this.extension = extension
    this.mediaType = mediaTypeOf(extension)
    this.size = source instanceof UploadedFile ? source.size : source.byteLength
    this.#source = source
  }

  stream(): Readable {
    return this.#source instanceof UploadedFile
      ? this.#source.stream()
      : Readable.from([Buffer.from(this.#source)], { objectMode: false })
  }

  /** The file's first bytes, at most `length`. */
  async head(length: number): Promise<Buffer> {
    return this.#source instanceof UploadedFile ? this.#source.head(length) : Buffer.from(this.#source.slice(0, length))
  }
}

/**
 * An upload: a part of a multipart body, or from code bytes with a `filename`. The database holds the key that `storage`
 * gives; the output is its URL. A write that is rolled back removes the file again; a file that another has replaced,
 * or whose object was deleted, is removed once that is committed.
 * @throws ConfigurationError a limit is no whole number above 0, or an extension is not made of letters and digits
 * @example contract: new FileUploadField({ storage, maxSize: 5 * 1024 * 1024, allowedExtensions: ['pdf'] })
 */
export class FileUploadField<const Options extends FileUploadFieldOptions = {}> extends SerializerField<
  StorableFile,
  Options & FileUploadFieldOptions
> {
  readonly maxSize: number
  readonly allowedExtensions: readonly string[]

  constructor(
    options: ClosedOptions<Options, FileUploadFieldOptions> = {} as ClosedOptions<Options, FileUploadFieldOptions>,
  ) {
    super(options)
    this.maxSize = options.maxSize ?? 10 * 1024 * 1024
    const given = options.allowedExtensions ?? this.defaultExtensions
    this.allowedExtensions = given.map((extension) => extension.toLowerCase())
    if (!Number.isSafeInteger(this.maxSize) || this.maxSize < 1) {
      throw optionError(this, `maxSize is ${this.maxSize}; give a whole number of at least 1`)
    }
    const wrong = this.allowedExtensions.find((extension) => !EXTENSION.test(extension))
    if (wrong !== undefined || given.length === 0) {
      throw optionError(this, `allowedExtensions must be letters and digits without the dot, such as 'pdf'`)
    }
  }

  /** The extensions that are taken where the options name none. */
  protected get defaultExtensions(): readonly string[] {
    return FILES
  }

  override get takesFiles(): boolean {
    return true
  }

  /** The storage of the files. */
  get storage(): UploadStorage | undefined {
    return this.options.storage
  }

  override toInternalValue(value: unknown): StorableFile | Promise<StorableFile> {
    return this.check(value)
  }

  /** Checks a value from input. @throws ValidationError it is no file, too large, empty, or of another extension */
  protected check(value: unknown): CheckedFile {
    if (!(value instanceof UploadedFile || isNamedBytes(value))) throw new ValidationError('No file uploaded.')
    const filename = value instanceof UploadedFile ? value.filename : cleanFilename(value.filename)
    const dot = filename.lastIndexOf('.')
    const extension = dot > 0 ? filename.slice(dot + 1).toLowerCase() : ''
    if (!this.allowedExtensions.includes(extension)) {
      throw new ValidationError(`File extension ${quote(extension)} is not allowed.`)
    }
    const file = new CheckedFile(value, filename, extension)
    if (file.size > this.maxSize) throw new ValidationError(`File too large: at most ${this.maxSize} bytes.`)
    if (file.size === 0) throw new ValidationError('The file is empty.')
    return file
  }

  override toRepresentation(value: unknown): unknown {
    const { storage } = this.options
    if (!storage || typeof value !== 'string' || value === '') return value
    return settled(storage.url(value), 'url() of a storage has returned a promise; give the URL at once')
  }

  /** @internal True for the URL of a stored file, or a list of them. A storage may sign it anew each time that it is shown. */
  areUrls(given: unknown, stored: unknown): boolean {
    if (Array.isArray(given) && Array.isArray(stored)) {
      return given.length === stored.length && given.every((url, index) => this.areUrls(url, stored[index]))
    }
    if (typeof given !== 'string' || typeof stored !== 'string' || stored === '') return given === stored
    const shown = String(this.toRepresentation(stored))
    const [path = ''] = given.split('?', 1)
    // the signature is in the query, where the file's name is not
    return shown === given || (shown.startsWith(`${path}?`) && decoded(path).endsWith(stored))
  }

  override schema(): FieldSchema {
    return { type: 'string', format: 'uri-reference' }
  }

  /** JSON Schema of the value in a multipart body. */
  override inputSchema(): FieldSchema {
    return { type: 'string', format: 'binary', contentMediaType: 'application/octet-stream' }
  }
}

takesOptions<FileUploadFieldOptions, FieldOptions>(FileUploadField, {
  storage: 'record',
  maxSize: 'any',
  allowedExtensions: 'names',
  keepsReplaced: 'boolean',
})

/**
 * An image. Its first bytes must be those of its extension's format; it is never decoded.
 * @throws ConfigurationError an allowed extension has no signature to compare with
 * @example photo: new ImageUploadField({ storage, maxSize: 5 * 1024 * 1024, allowedExtensions: ['jpg', 'png'] })
 */
export class ImageUploadField<const Options extends ImageUploadFieldOptions = {}> extends FileUploadField<
  Options & ImageUploadFieldOptions
> {
  readonly verifyMagicBytes: boolean

  constructor(
    options: ClosedOptions<Options, ImageUploadFieldOptions> = {} as ClosedOptions<Options, ImageUploadFieldOptions>,
  ) {
    super(options)
    this.verifyMagicBytes = options.verifyMagicBytes ?? true
    const unknown = this.allowedExtensions.find((extension) => !SIGNATURES.has(extension))
    if (this.verifyMagicBytes && unknown !== undefined) {
      throw optionError(
        this,
        `has no signature for "${unknown}"; take it from allowedExtensions, or use FileUploadField`,
      )
    }
  }

  protected override get defaultExtensions(): readonly string[] {
    return [...SIGNATURES.keys()]
  }

  override async toInternalValue(value: unknown): Promise<StorableFile> {
    const file = this.check(value)
    if (this.verifyMagicBytes) {
      const head = await file.head(LONGEST_SIGNATURE)
      const known = SIGNATURES.get(file.extension) ?? []
      if (!known.some((signature) => head.subarray(0, signature.length).equals(signature))) {
        throw new ValidationError('The content does not match the extension.')
      }
    }
    return file
  }
}

takesOptions<ImageUploadFieldOptions, FileUploadFieldOptions>(ImageUploadField, { verifyMagicBytes: 'boolean' })

function decoded(url: string): string {
  try {
    return decodeURIComponent(url)
  } catch {
    return url
  }
}

function isNamedBytes(value: unknown): value is Uint8Array & { filename: string } {
  return value instanceof Uint8Array && typeof (value as { filename?: unknown }).filename === 'string'
}

/** The field of a file, or of a list of files. */
export function uploadField(field: SerializerField): FileUploadField | undefined {
  const own: unknown = field instanceof ArrayField ? field.options.child : field
  return own instanceof FileUploadField ? own : undefined
}
