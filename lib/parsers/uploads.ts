/** The files of one request: on the disk until it is over, or thrown away as they arrive (promises F8, F15). */
import { randomBytes } from 'node:crypto'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ApiError, ServiceUnavailable } from '../kernel/errors.js'
import type { PartHeader } from './multipart-reader.js'
import { tooLarge } from './too-large.js'
import { UploadedFile } from './uploaded-file.js'

/** Full disks and quotas: the client may try again later. */
const FULL: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE'])

/** What the files of one request may be. */
export interface UploadLimits {
  readonly directory: string
  /** The names of those that are kept. */
  readonly kept: ReadonlySet<string> | 'all'
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
    const { files, kept } = this.#limits
    if (++this.#count > files) throw tooLarge()
    const { name, filename = '', mediaType } = part
    const isKept = kept === 'all' || kept.has(name)
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
      await target.close()
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
