/** Compact JSON (wire format, section 6). */
import { BaseRenderer } from './renderer.js'

/** Renders JSON, as `application/json` and for the suffix `.json`. */
export class JSONRenderer extends BaseRenderer {
  readonly mediaType = 'application/json'
  readonly format = 'json'
  readonly contentType = 'application/json; charset=utf-8'

  render(data: unknown): string {
    return JSON.stringify(data)
  }
}
