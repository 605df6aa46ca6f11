/** Marks an action that answers with server-sent events, as a text that it goes on with itself. Errors are JSON as ever. */
import { BaseRenderer } from './renderer.js'

/** What an action answers that stays open, and tells what happens. */
export class EventStreamRenderer extends BaseRenderer {
  readonly mediaType = 'text/event-stream'
  readonly format = 'events'
  readonly contentType = 'text/event-stream'

  render(data: unknown): string {
    return String(data)
  }
}

/** True for an action that answers with server-sent events, which may be too many for one caller. */
export function sendsEvents(renderers: readonly BaseRenderer[]): boolean {
  return renderers.some((renderer) => renderer instanceof EventStreamRenderer)
}
