/** An answer that is still to be rendered: `contentNegotiation()` does so last, and a plugin inside it may ask for it first. */
import type { Context } from './context.js'
import { RequestSlot } from './request-slot.js'

const RENDER = new RequestSlot<() => void>('renders the body of the answer')

/** Remembers how the body will be rendered. It is done again at the end, so what is rendered must stay as it is. */
export function setPendingRender(ctx: Context, render: () => void): void {
  RENDER.set(ctx, render)
}

/** Renders the body now, if it is to be rendered at all. */
export function renderPending(ctx: Context): void {
  RENDER.get(ctx)?.()
}
