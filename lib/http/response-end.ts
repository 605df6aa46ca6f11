/**
 * The end of an answer and its rendering before, also where Node reports nothing of it: a response that waits behind another on its connection (HTTP
 * pipelining) does not hear that the connection has ended.
 */

import { oncePer } from '../kernel/once-per.js'
import { type Context, RequestSlot } from './context.js'

type Listener = () => void

/** What a request came by. Adapters of cloud functions have a stub in its place, which emits nothing. */
interface Watched {
  once?(event: 'close', listener: Listener): unknown
}

/** By socket, so that many requests on one connection are one listener. */
const waitingOn = oncePer((socket: Watched) => {
  const listeners = new Set<Listener>()
  socket.once?.('close', () => {
    for (const listener of [...listeners]) listener()
  })
  return listeners
})

/** Calls back once, when the connection of a request has ended. @returns stops waiting */
export function whenConnectionEnds({ socket }: Context['req'], listener: Listener): Listener {
  const onSocket = waitingOn(socket)
  onSocket.add(listener)
  return () => void onSocket.delete(listener)
}

/** A response that no server has made, as those of adapters, may have no `close`; one whose client has gone has no `finish`. */
const ENDS = ['finish', 'close'] as const

/**
 * Calls back once, when the answer is sent or nobody can take it any more.
 * @returns stops waiting
 */
export function whenResponseEnds({ req, res }: Context, listener: Listener): Listener {
  const onSocket = waitingOn(req.socket)
  const stop = () => {
    for (const event of ENDS) res.removeListener(event, end)
    onSocket.delete(end)
  }
  const end = () => {
    stop()
    listener()
  }
  for (const event of ENDS) res.once(event, end)
  onSocket.add(end)
  return stop
}

/** Like `whenResponseEnds()`, but calls the listener at once where the answer has ended already. */
export function atResponseEnd(ctx: Context, listener: Listener): void {
  if (isGone(ctx)) listener()
  else whenResponseEnds(ctx, listener)
}

/** True when nobody can take the answer any more. */
export function isGone({ req, res }: Context): boolean {
  return res.destroyed || res.closed || req.socket.destroyed
}

/** True when all of an answer that has ended was sent. Where a connection of HTTP/1 broke under it, Node calls it finished as well. */
export function isSentWhole({ req, res }: Context): boolean {
  const { httpVersionMajor, socket } = req
  const isBroken = httpVersionMajor !== 2 && (socket.destroyed || Boolean(socket.errored))
  return res.writableFinished && !isBroken
}

const RENDER = new RequestSlot<() => void>('renders the body of the answer')

/** Remembers how the body will be rendered. It is done again at the end, so what is rendered must stay as it is. */
export function setPendingRender(ctx: Context, render: () => void): void {
  RENDER.set(ctx, render)
}

/** Renders the body now, if it is to be rendered at all. */
export function renderPending(ctx: Context): void {
  RENDER.get(ctx)?.()
}
