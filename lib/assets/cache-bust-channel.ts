/** LISTEN and NOTIFY for all processes of an application, whose version is to be computed again (wire format, section 8). */
import type { Knex } from 'knex'
import { NotificationChannel, notify } from '../postgres/notification-channel.js'
import { refreshAppVersion } from './app-version.js'

const CHANNEL = 'koa_viewsets_cache_bust'

/**
 * The PostgreSQL channel `koa_viewsets_cache_bust`. `listen()` keeps one connection of its own, beside knex's pool, until
 * `close()`; when it is lost, it is opened anew and the version computed again, in case something was missed.
 *
 * The knex must reach PostgreSQL itself: through a pooler that shares connections, notifications get lost. Give a second
 * knex for it where the application's own goes through one.
 * @example
 * const channel = new CacheBustChannel(knex)
 * await channel.listen()
 * app.use(cacheBust({ channel }))
 * process.on('SIGTERM', () => channel.close())
 */
export class CacheBustChannel {
  readonly #knex: Knex
  readonly #channel: NotificationChannel

  constructor(knex: Knex) {
    this.#knex = knex
    this.#channel = new NotificationChannel(knex, {
      name: 'CacheBustChannel',
      channel: CHANNEL,
      notified: refreshAppVersion,
      lost: () => {
        process.emitWarning('The cache-bust channel has lost its connection to PostgreSQL and connects anew.', {
          code: 'KOA_VIEWSETS_CACHE_BUST',
        })
      },
    })
  }

  /**
   * Begins to listen.
   * @throws ConfigurationError a pooler stands between
   */
  listen(): Promise<void> {
    return this.#channel.listen()
  }

  /** Tells all processes that listen; through any connection of the pool. */
  publish(): Promise<void> {
    return notify(this.#knex, CHANNEL)
  }

  /** Stops listening and closes the connection. */
  close(): Promise<void> {
    return this.#channel.close()
  }
}
