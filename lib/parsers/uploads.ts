/** The files of one request: on the disk until it is over, or thrown away as they arrive (promises F8, F15). */

import { randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { ApiError, ConfigurationError, ServiceUnavailable } from '../kernel/errors.js'
import type { PartHeader } from './multipart-reader.js'
import { tooLarge } from './read-body.js'

export interface UploadedFileOptions {
  /** The file's name as the client gave it. */
  readonly filename: string
  /** The file's media type as the client gave it. */
  readonly mediaType: string
  /** The file's length in bytes. */
  readonly size: number
  /** The path of the file on disk; undefined for one that is not kept. */
  readonly path: string | undefined
}

/** The most bytes of a name that file systems take. */
const LONGEST_NAME = 255
/** Control characters, and those that turn the direction of writing: `photo‮gnp.exe` would look like `photoexe.png`. */
const CONTROLS = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/gu

/**
 * A file of a multipart body. It is removed when the request is over: what is to stay must be copied.
 * Of one that no field of the view asks for only its name and length are known: to read it throws a `ConfigurationError`.
 */
export class UploadedFile {
  /** The file's name for people: no folder, no control character, no leading dot. Data, never a path; may be empty. */
  readonly filename: string
  /** The media type that the client claims. */
  readonly mediaType: string
  /** The file's length in bytes. */
  readonly size: number
  readonly #path: string | undefined

  constructor({ filename, mediaType, size, path }: UploadedFileOptions) {
    this.filename = cleanFilename(filename)
    this.mediaType = mediaType
    this.size = size
    this.#path = path
  }

  /** The path of the file on disk, until the request is over. @throws ConfigurationError it is not kept */
  get path(): string {
    if (this.#path !== undefined) return this.#path
    throw new ConfigurationError(
      'a file of the request was not kept, as no field of the view asks for it: declare a FileUploadField of its name in ' +
        'the serializer of the view or of the action, or name it in new MultiPartParser({ keptFiles })',
    )
  }

  /** False for one that no field of the view asks for. */
  get isKept(): boolean {
    return this.#path !== undefined
  }

  /** The file's first bytes, at most `length`. */
  async head(length: number): Promise<Buffer> {
    const file = await open(this.path, 'r')
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, 0)
      return buffer.subarray(0, bytesRead)
    } finally {
      await file.close()
    }
  }

  /** The file's content. */
  stream(): Readable {
    return createReadStream(this.path)
  }

  /** Removes it. Called when the request is over; a second call does nothing. */
  async remove(): Promise<void> {
    if (this.#path !== undefined) await rm(this.#path, { force: true })
  }

  /** What logs and JSON show of it: not where it lies. */
  toJSON(): object {
    return { filename: this.filename, mediaType: this.mediaType, size: this.size }
  }
}

/**
 * A client's file name as data: the last step of a path, in Unicode's normal form C, without control characters, leading
 * dots and spaces, or those at its end, and of at most 255 bytes, its extension kept.
 * @example cleanFilename('../../.a\0b.png') // 'ab.png'
 */
export function cleanFilename(name: string): string {
  const step = name.normalize('NFC').replace(CONTROLS, '').split(/[/\\]/).at(-1) ?? ''
  const text = trimEnd(step.replace(/^[.\s]+/u, ''))
  if (Buffer.byteLength(text) <= LONGEST_NAME) return text
  const dot = text.lastIndexOf('.')
  const extension = dot > 0 && Buffer.byteLength(text.slice(dot)) <= 32 ? text.slice(dot) : ''
  const room = LONGEST_NAME - Buffer.byteLength(extension)
  return trimEnd(cutBytes(extension === '' ? text : text.slice(0, dot), room)) + extension
}

/** A string without the dots and spaces at its end, which some file systems drop. */
function trimEnd(text: string): string {
  let end = text.length
  while (end > 0 && /[.\s]/u.test(text[end - 1] as string)) end--
  return text.slice(0, end)
}

/** The beginning of a string, of at most this many bytes, no character cut. */
function cutBytes(text: string, bytes: number): string {
  let length = 0
  let result = ''
  for (const character of text) {
    length += Buffer.byteLength(character)
    if (length > bytes) break
    result += character
  }
  return result
}

/** The codes of full disks and quotas: the client may try again later. */
const FULL: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE'])

/** What the files of one request may be. */
export interface UploadLimits {
  readonly directory: string
  /** The names of those that are kept. */
  readonly kept: ReadonlySet<string> | 'all'
  /** The name of a part's field, without positions in lists: `images[file]` for `images[0][file]`. */
  readonly fieldName: (name: string) => string
  readonly files: number
  readonly fileLimit: number
  readonly totalLimit: number
}

/** The files of one request. */
export class Uploads {
  readonly #limits: UploadLimits
  readonly #files: { remove(): Promise<void> }[] = []
  #count = 0
  #bytes = 0

  constructor(limits: UploadLimits) {
    this.#limits = limits
  }

  /** Notes a file that is to be removed when the request is over. */
  add(file: UploadedFile): UploadedFile {
    this.#files.push(file)
    return file
  }

  /** Reads a part, and keeps it if it is asked for; undefined for a file input that nobody has filled in. */
  async take(part: PartHeader, content: AsyncIterable<Buffer>): Promise<UploadedFile | undefined> {
    const { files, kept, fieldName } = this.#limits
    if (++this.#count > files) throw tooLarge()
    const { name, filename = '', mediaType } = part
    const isKept = kept === 'all' || kept.has(fieldName(name))
    const { size, path } = isKept ? await this.#store(content) : { size: await this.#drop(content), path: undefined }
    if (size === 0 && filename === '') return undefined
    return new UploadedFile({ filename, mediaType, size, path })
  }

  /** Writes a part to the disk. */
  async #store(content: AsyncIterable<Buffer>): Promise<{ size: number; path: string }> {
    const path = join(this.#limits.directory, `koa-viewsets-${randomBytes(16).toString('hex')}`)
    const target = await writable(() => open(path, 'wx', 0o600))
    this.#files.push({ remove: () => rm(path, { force: true }) })
    let size = 0
    try {
      for await (const piece of content) {
        size = this.#grown(size, piece)
        await writable(() => writeAll(target, piece))
      }
    } finally {
      // network file systems say here, too, that they are full
      await writable(() => target.close())
    }
    return { size, path }
  }

  /** Throws a part away as it arrives. */
  async #drop(content: AsyncIterable<Buffer>): Promise<number> {
    let size = 0
    for await (const piece of content) size = this.#grown(size, piece)
    return size
  }

  /** The bytes of a file with this piece. @throws ApiError 413 */
  #grown(size: number, piece: Buffer): number {
    const { fileLimit, totalLimit } = this.#limits
    const grown = size + piece.length
    this.#bytes += piece.length
    if (grown > fileLimit) throw tooLarge()
    if (this.#bytes > totalLimit) throw new ApiError(413, `Files have more than ${totalLimit} bytes together`)
    return grown
  }

  /** Removes them all; a second call does nothing. */
  async remove(): Promise<void> {
    await Promise.all(this.#files.splice(0).map((file) => file.remove()))
  }
}

async function writeAll(file: FileHandle, bytes: Buffer): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, at)
    at += bytesWritten
  }
}

/** The 503 for an error of a disk that is full, or of a process that has too many files open; undefined for any other. */
export function diskFull(error: unknown): ServiceUnavailable | undefined {
  const { code } = error as NodeJS.ErrnoException
  return FULL.has(code) ? new ServiceUnavailable(60, { cause: error }) : undefined
}

/** @throws ServiceUnavailable the disk is full; what else goes wrong is the operator's mistake */
async function writable<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw diskFull(error) ?? new StorageFailure('a file of an upload could not be written', { cause: error })
  }
}

/** Answered 500: it is none of the client's doing. */
class StorageFailure extends Error {
  readonly status = 500
}
