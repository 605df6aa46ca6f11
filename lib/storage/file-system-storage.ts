/** Uploads as files of a folder (promises F10, F12 and F15). */
import { createReadStream } from 'node:fs'
import { mkdir, open, rm, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { StorableFile, UploadStorage } from '../fields/upload-storage.js'
import type { StoredFile } from '../http/send-file.js'
import { ConfigurationError } from '../kernel/errors.js'
import { checkKinds } from '../kernel/option-kinds.js'
import { diskFull } from '../parsers/uploads.js'
import { isStorageKey, newKey, urlOf } from './keys.js'

/** Options of `FileSystemStorage`. */
export interface FileSystemStorageOptions {
  /** The folder. It is made when the first file is kept. Never one that code runs from. */
  readonly root: string
  /** What URLs begin with: `https://files.example.org`, or `/files`. */
  readonly baseUrl: string
  /** The permissions of a file. @default 0o644 */
  readonly mode?: number
}

/**
 * Keeps files in a folder, each under a random name and its extension.
 *
 * `downloadAction()` sends them to those who may read their rows. Other ways are the application's affair: from another origin than the API, or with
 * `Content-Disposition: attachment`, `X-Content-Type-Options: nosniff` and `Content-Security-Policy: sandbox`: what
 * strangers have sent may hold script, SVG above all.
 * @example const storage = new FileSystemStorage({ root: '/var/lib/library/files', baseUrl: 'https://files.example.org' })
 */
export class FileSystemStorage implements UploadStorage {
  readonly root: string
  readonly #baseUrl: string
  readonly #mode: number

  /** @throws {ConfigurationError} an option is missing or wrong */
  constructor(options: FileSystemStorageOptions) {
    checkKinds('FileSystemStorage', options, { kinds: { root: 'any', baseUrl: 'any', mode: 'count' } })
    const { root, baseUrl, mode = 0o644 } = options
    if (typeof root !== 'string' || root === '') throw new ConfigurationError('FileSystemStorage: set root to a folder')
    if (typeof baseUrl !== 'string')
      throw new ConfigurationError('FileSystemStorage: set baseUrl to what URLs begin with')
    this.root = resolve(root)
    this.#baseUrl = baseUrl
    this.#mode = mode
  }

  /** @throws ServiceUnavailable the disk is full; what was written is removed */
  async save(file: StorableFile): Promise<string> {
    const key = newKey(file.extension)
    const path = join(this.root, key)
    try {
      await mkdir(this.root, { recursive: true })
      // opened first: one that is opened while the file already fails would come after it was removed
      const handle = await open(path, 'wx', this.#mode)
      try {
        await pipeline(file.stream(), handle.createWriteStream())
      } finally {
        // of a file that has no stream nobody else closes it
        await handle.close()
      }
      return key
    } catch (error) {
      await rm(path, { force: true })
      throw diskFull(error) ?? error
    }
  }

  /** Removes a file; a key that is none of ours is left alone. */
  async delete(key: string): Promise<void> {
    if (isStorageKey(key)) await rm(join(this.root, key), { force: true })
  }

  /** A file, for `downloadAction()`; undefined for a key that is none of ours, or that no file has. */
  async open(key: string): Promise<StoredFile | undefined> {
    if (!isStorageKey(key)) return undefined
    const path = join(this.root, key)
    const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
      throw error
    })
    if (!found?.isFile()) return undefined
    return { size: found.size, modified: found.mtime, stream: (range) => createReadStream(path, range) }
  }

  url(key: string): string {
    return urlOf(this.#baseUrl, key)
  }
}
