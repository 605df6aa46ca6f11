/** API key authentication: keys in the `X-API-Key` header (wire format, section 9). */

import type { Knex } from 'knex'
import { BaseAuthentication, type Credentials, type SecurityScheme } from '../authentication/authentication.js'
import { type Context, isAnonymous } from '../http/context.js'
import { described } from '../kernel/declarations.js'
import { AuthenticationFailed } from '../kernel/errors.js'
import { takeOptions, takesOptions } from '../kernel/option-kinds.js'
import { runStatement, statementOf } from '../postgres/run-statement.js'
import { APIKey, apiKeyKnex, hashToken, isAPIKey } from './api-key.js'
import { keyUsageOf } from './key-usage.js'

/** What `ctx.state.auth` says of a caller's key. */
export interface APIKeyCredentials {
  /** What the caller was known by. */
  readonly scheme: 'ApiKey'
  /** The primary key of the key's row. */
  readonly id: string
  /** What the key is for, in its owner's words. */
  readonly name: string
  /** Whose key it is, as text. */
  readonly user_id: string
  /** What the key lets its holder do. */
  readonly scopes: readonly string[]
  /** ISO 8601; null for a key that does not end. */
  readonly expires_at: string | null
}

/** Options of `APIKeyAuthentication`. */
export interface APIKeyAuthenticationOptions {
  /** The user of a key; null or undefined when there is none any more. @default { id: user_id } */
  readonly getUserForKey?: (key: APIKeyCredentials, ctx: Context) => unknown
  /** The database of the table. @default the one that APIKey is bound to */
  readonly knex?: Knex
  /** The clock by which keys expire, in Unix milliseconds. @default Date.now */
  readonly now?: () => number
}

/** All as text, so that no type parser of the application changes it; times in Unix milliseconds. */
const COLUMNS = `id::text, name, user_id, to_json(scopes)::text as scopes, is_active::text as active,
  (extract(epoch from expires_at) * 1000)::text as expires, (extract(epoch from last_used_at) * 1000)::text as used`
const FIND = `select ${COLUMNS} from koa_viewsets_api_keys where key_hash = $1`

type KeyRow = [
  id: string,
  name: string,
  user_id: string,
  scopes: string,
  active: string,
  expires: string | null,
  used: string | null,
]

/**
 * Reads `X-API-Key` and looks the key up by its hash, in one query. A key that is unknown, malformed, revoked or expired is
 * 401 `Invalid API key`, and nothing says which. Its scopes are in `ctx.state.auth.scopes`, for `HasScope`.
 *
 * When a key was last used is written at most once a minute, after the request; `flushKeyUsage()` waits for it.
 * @example
 * APIKey.knex(knex)
 * await createApiKeysTable()
 * static override authenticationClasses: Authentications = [APIKeyAuthentication]
 * @example new APIKeyAuthentication({ getUserForKey: (key) => User.query().findById(key.user_id) })
 */
export class APIKeyAuthentication extends BaseAuthentication {
  override readonly challenge: string = 'ApiKey realm="api"'
  override readonly vary: string = 'X-API-Key'
  override readonly openapi: SecurityScheme = {
    name: 'ApiKeyAuth',
    definition: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
  }
  readonly #options: APIKeyAuthenticationOptions

  constructor(options: APIKeyAuthenticationOptions = {}) {
    super()
    takeOptions(this, options)
    this.#options = options
  }

  /** The user of a key, also asynchronously; null or undefined when there is none any more. */
  getUserForKey(key: APIKeyCredentials, ctx: Context): unknown {
    const { getUserForKey } = this.#options
    return getUserForKey ? getUserForKey(key, ctx) : { id: key.user_id }
  }

  async authenticate(ctx: Context): Promise<Credentials | null> {
    const text = ctx.headers['x-api-key']
    if (text === undefined) return null
    if (typeof text !== 'string' || !isAPIKey(text)) throw failure()
    const { knex = apiKeyKnex(), now = Date.now } = this.#options
    const [row] = await runStatement(knex, statementOf(FIND), [hashToken(text)])
    const at = now()
    if (!row) throw failure()
    const [id, name, user_id, scopes, active, expires, used] = row as KeyRow
    if (active !== 'true' || (expires !== null && Number(expires) <= at)) throw failure()
    const auth: APIKeyCredentials = {
      scheme: 'ApiKey',
      id,
      name,
      user_id,
      scopes: JSON.parse(scopes) as string[],
      expires_at: isoTime(expires),
    }
    const user = await this.getUserForKey(auth, ctx)
    if (isAnonymous(user)) throw failure()
    keyUsageOf(knex).note(id, at, used === null ? undefined : Number(used))
    return { user, auth }
  }

  /** Writes when keys were last used. */
  override async close(): Promise<void> {
    const knex = this.#options.knex ?? (APIKey.knex() as Knex | undefined)
    if (knex) await keyUsageOf(knex).flush()
  }
}

takesOptions<APIKeyAuthenticationOptions>(APIKeyAuthentication, {
  getUserForKey: 'function',
  knex: 'any',
  now: 'function',
})

described(APIKeyAuthentication)

/** Null for a key that does not end, also for one that ends at `infinity`. */
function isoTime(milliseconds: string | null): string | null {
  const time = new Date(milliseconds === null ? Number.NaN : Number(milliseconds))
  return Number.isNaN(time.getTime()) ? null : time.toISOString()
}

function failure(): AuthenticationFailed {
  return new AuthenticationFailed('Invalid API key')
}
