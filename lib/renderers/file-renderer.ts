/** Marks an action that answers with a stored file: it writes its body itself, and errors are JSON as ever. */
import { BaseRenderer } from './renderer.js'

/** Which files an action sends. */
export interface SentFiles {
  /** The property of the model that holds their keys. */
  readonly column: string
  /** The URL that a file is shown by. */
  url(key: string): string
}

/** What an action answers whose body is a file. No path ends in its format, as keys have extensions of their own. */
export class FileRenderer extends BaseRenderer {
  readonly mediaType = '*/*'
  readonly format = 'stored-file'
  readonly contentType = 'application/octet-stream'
  readonly files: SentFiles

  constructor(files: SentFiles) {
    super()
    this.files = files
  }

  render(): string {
    return ''
  }
}
