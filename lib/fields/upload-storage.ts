/** The contract of a place where uploads are kept. */
import type { Readable } from 'node:stream'
import type { StoredFile } from '../http/send-file.js'
import type { UploadedFile } from '../parsers/uploads.js'

/** A file that has passed its field's checks. */
export interface StorableFile {
  /** The file's name for people. Data, never a path. */
  readonly filename: string
  /** In lower case, without the dot; one of those its field allows. */
  readonly extension: string
  /** The media type of the extension, whatever the client says. */
  readonly mediaType: string
  /** The file's length in bytes. */
  readonly size: number
  /** The bytes, from the beginning. */
  stream(): Readable
}

/**
 * Keeps files. An application writes its own for a place of its own.
 * @example
 * const storage: UploadStorage = {
 *   save: async (file) => { … return key },
 *   delete: async (key) => { … },
 *   url: (key) => `https://files.example.org/${key}`,
 * }
 */
export interface UploadStorage {
  /** Keeps a file, under a name of its own making, and returns the key that the database holds. */
  save(file: StorableFile): Promise<string>
  /** Removes a file. One that is not there is no error. */
  delete(key: string): Promise<void>
  /** The URL by which clients find a file. */
  url(key: string): string
  /** A file that is kept; undefined for none. Only `downloadAction()` asks for it. */
  open?(key: string): Promise<StoredFile | undefined>
}

/** Bytes from code, with the name that a client would have given: `Object.assign(buffer, { filename: 'a.png' })`. */
export type NamedBytes = Uint8Array & { readonly filename: string }

/** What a file field takes. */
export type Upload = UploadedFile | NamedBytes
