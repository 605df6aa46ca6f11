/** Background work of requests, tracked so that the end of a process can wait for it. */

import { setTimeout as delay } from 'node:timers/promises'

const pending = new Set<Promise<unknown>>()

/** Remembers work until it is done. It must not fail. */
export function track(work: Promise<unknown>): void {
  pending.add(work)
  void work.finally(() => pending.delete(work))
}

/** Waits until all such work of the process is done, at most so many milliseconds. */
export async function pendingWorkEnded(timeout: number): Promise<void> {
  const stop = new AbortController()
  const late = delay(timeout, undefined, { signal: stop.signal, ref: false }).catch(() => {})
  const ended = (async () => {
    // one may begin while another ends
    while (pending.size > 0) await Promise.all(pending)
  })()
  await Promise.race([ended, late])
  stop.abort()
}
