/** `last_used_at` of API keys: gathered, and written beside the requests (wire format, section 9). */

import type { Knex } from 'knex'
import { oncePer } from '../kernel/once-per.js'
import { messageOf, oneLine } from '../kernel/quote.js'

const MINUTE = 60_000
/** How long uses are gathered before they are written, in milliseconds. */
const DELAY = 1000

/** The order of locks is the same for all writers, and who is locked out leaves the write to the other. */
const WRITE = `with used as (
    select k.id, to_timestamp(u.at / 1000) as at
    from koa_viewsets_api_keys k join unnest(?::bigint[], ?::float8[]) as u(id, at) on k.id = u.id
    where k.last_used_at is null or k.last_used_at <= to_timestamp(u.at / 1000) - interval '1 minute'
    order by k.id for update of k skip locked
  )
  update koa_viewsets_api_keys as k set last_used_at = used.at from used where k.id = used.id`

/** Uses of the keys of one database. Never fails: a use that cannot be written is forgotten, and a warning given once. */
export class KeyUsage {
  readonly #knex: Knex
  /** Uses of the last minute, whether they are written or not: so that an outage is not answered by more writes. */
  readonly #noted = new Map<string, number>()
  readonly #pending = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()
  #warned = false

  constructor(knex: Knex) {
    this.#knex = knex
  }

  /** Notes a use, unless the last one was less than a minute ago. Times are Unix milliseconds. */
  note(id: string, at: number, lastWritten: number | undefined): void {
    const last = Math.max(lastWritten ?? Number.NEGATIVE_INFINITY, this.#noted.get(id) ?? Number.NEGATIVE_INFINITY)
    if (at - last < MINUTE) return
    this.#noted.set(id, at)
    this.#pending.set(id, at)
    unwritten.add(this)
    this.#timer ??= setTimeout(() => void this.flush(), DELAY).unref()
  }

  /** Writes what was noted, and waits until it is written. */
  flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#writing = this.#writing.then(() => this.#write())
    return this.#writing
  }

  async #write(): Promise<void> {
    if (this.#pending.size === 0) return
    const uses = [...this.#pending]
    this.#pending.clear()
    const latest = uses.reduce((most, [, at]) => Math.max(most, at), 0)
    for (const [id, at] of this.#noted) if (latest - at >= MINUTE) this.#noted.delete(id)
    try {
      await this.#knex.raw(WRITE, [uses.map(([id]) => id), uses.map(([, at]) => at)])
      this.#warned = false
    } catch (error) {
      this.#warn(error)
    }
    if (this.#pending.size === 0) unwritten.delete(this)
  }

  #warn(error: unknown): void {
    if (this.#warned) return
    this.#warned = true
    process.emitWarning('When API keys were last used could not be written.', {
      code: 'KOA_VIEWSETS_KEY_USAGE',
      detail: oneLine(messageOf(error)),
    })
  }
}

const unwritten = new Set<KeyUsage>()

/** The uses of a database's keys; shared by all that look keys up in it. */
export const keyUsageOf = oncePer((knex: Knex) => new KeyUsage(knex))

/** Writes when API keys were last used, and waits for it; for an application's end. `api.close()` does so by itself. */
export async function flushKeyUsage(): Promise<void> {
  await Promise.all([...unwritten].map((usage) => usage.flush()))
}
