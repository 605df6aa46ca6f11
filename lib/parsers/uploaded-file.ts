/** A file that a client has sent, on the server's disk until the request is over (promises F8 and F10). */
import { createReadStream } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { ConfigurationError } from '../kernel/errors.js'

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
  return cutBytes(extension === '' ? text : text.slice(0, dot), room) + extension
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
