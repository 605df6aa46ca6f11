/** Uploads in an object store, through flydrive 1.3, which the application installs. */
import type { Readable } from 'node:stream'
import type { StorableFile, UploadStorage } from '../fields/upload-storage.js'
import { ConfigurationError } from '../kernel/errors.js'
import { checkKinds } from '../kernel/option-kinds.js'
import { isStorageKey, newKey, urlOf } from './keys.js'

/** The part of flydrive's `Disk` that is used; any object with these methods will do. */
export interface FlydriveDisk {
  /** Stores the stream under the key. */
  putStream(
    key: string,
    contents: Readable,
    options?: { contentType?: string; contentDisposition?: string; contentLength?: number },
  ): Promise<void>
  /** Deletes what is stored under the key. */
  delete(key: string): Promise<void>
}

/** Options of `FlydriveStorage`. */
export interface FlydriveStorageOptions {
  /** What URLs begin with: the address of the bucket or of its CDN. */
  readonly baseUrl: string
  /** What keys begin with, such as `photos/`. @default '' */
  readonly prefix?: string
}

/**
 * Keeps files on a disk of flydrive (S3, GCS, a folder), each under a random name, for download only.
 * @example
 * const disk = new Disk(new S3Driver({ … }))
 * const storage = new FlydriveStorage(disk, { baseUrl: 'https://cdn.example.org', prefix: 'photos/' })
 */
export class FlydriveStorage implements UploadStorage {
  readonly #disk: FlydriveDisk
  readonly #baseUrl: string
  readonly #prefix: string

  /** @throws {ConfigurationError} it is no disk, or an option is missing or wrong */
  constructor(disk: FlydriveDisk, options: FlydriveStorageOptions) {
    checkKinds('FlydriveStorage', options, { kinds: { baseUrl: 'any', prefix: 'text' } })
    const { baseUrl, prefix = '' } = options
    if (typeof disk?.putStream !== 'function')
      throw new ConfigurationError('FlydriveStorage: give it a Disk of flydrive')
    if (typeof baseUrl !== 'string')
      throw new ConfigurationError('FlydriveStorage: set baseUrl to what URLs begin with')
    this.#disk = disk
    this.#baseUrl = baseUrl
    this.#prefix = prefix
  }

  async save(file: StorableFile): Promise<string> {
    const key = `${this.#prefix}${newKey(file.extension)}`
    const content = file.stream()
    // it may fail before the disk listens to it, which finds it failed then; else the process would end
    content.on('error', () => {})
    try {
      await this.#disk.putStream(key, content, {
        contentType: file.mediaType,
        contentDisposition: 'attachment',
        contentLength: file.size,
      })
      return key
    } catch (error) {
      content.destroy()
      // a part of it may be there
      await this.#disk.delete(key).catch(() => {})
      throw error
    }
  }

  async delete(key: string): Promise<void> {
    // only what `save` has named
    if (key.startsWith(this.#prefix) && isStorageKey(key.slice(this.#prefix.length))) await this.#disk.delete(key)
  }

  url(key: string): string {
    return urlOf(this.#baseUrl, key)
  }
}
