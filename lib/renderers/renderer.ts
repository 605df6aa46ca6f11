/** The contract of a renderer: data as a response body of one media type. */
import { described } from '../kernel/declarations.js'

/** What a renderer may know of the answer besides its data. */
export interface RenderContext {
  /** What the answer is of: the first part of the route's name, or the view's class name. */
  readonly basename?: string | undefined
}

/** Turns data into text. Immutable and shared by all requests. */
export abstract class BaseRenderer {
  /** The media type it is asked for by, without parameters. */
  abstract readonly mediaType: string
  /** The path suffix it is asked for by, without the dot. */
  abstract readonly format: string
  /** The value of `Content-Type`. */
  abstract readonly contentType: string
  /** True where of a page only its `results` are written, so that the client gets no link and no cursor. @default false */
  readonly resultsOnly: boolean = false
  /** The whole body. */
  abstract render(data: unknown, context: RenderContext): string | Buffer

  /** Headers besides `Content-Type`. @default none */
  headers(_context: RenderContext): Readonly<Record<string, string>> | undefined {
    return undefined
  }
}

described(BaseRenderer)
