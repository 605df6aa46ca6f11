/**
 * The end of an answer, also where Node tells nothing of it: a response that waits behind another on its connection (HTTP
 * pipelining) does not hear that the connection has ended.
 */
import type { Context } from './context.js'

type Listener = () => void

/** By socket, so that many requests on one connection are one listener. */
const waiting = new WeakMap<object, Set<Listener>>()

/**
 * Calls back once, when the answer is sent or nobody can take it any more.
 * @returns stops waiting
 */
export function whenResponseEnds({ req, res }: Context, listener: Listener): Listener {
  const onSocket = waitingOn(req.socket)
  const stop = () => {
    res.removeListener('close', end)
    onSocket.delete(end)
  }
  const end = () => {
    stop()
    listener()
  }
  res.once('close', end)
  onSocket.add(end)
  return stop
}

/** True when nobody can take the answer any more. */
export function isGone({ req, res }: Context): boolean {
  return res.destroyed || res.closed || req.socket.destroyed
}

function waitingOn(socket: Context['req']['socket']): Set<Listener> {
  let listeners = waiting.get(socket)
  if (!listeners) {
    const made = new Set<Listener>()
    waiting.set(socket, made)
    socket.once('close', () => {
      for (const listener of [...made]) listener()
    })
    listeners = made
  }
  return listeners
}
