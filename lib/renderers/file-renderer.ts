/** Marks an action that answers with a stored file: it writes its body itself, and errors are JSON as ever. */
import { BaseRenderer } from './renderer.js'

/** What an action answers whose body is a file. No path ends in its format, as keys have extensions of their own. */
export class FileRenderer extends BaseRenderer {
  readonly mediaType = '*/*'
  readonly format = 'stored-file'
  readonly contentType = 'application/octet-stream'

  render(): string {
    return ''
  }
}
