/** API keys: their table, their model, and how they are issued (wire format, section 9). */

import { createHash, randomBytes } from 'node:crypto'
import type { Knex } from 'knex'
import { Model } from 'objection'
import { ConfigurationError } from '../kernel/errors.js'
import { idText } from '../kernel/id-text.js'
import type { Kind } from '../kernel/kinds.js'
import { checkKinds } from '../kernel/option-kinds.js'
import { encodeBase64Url } from '../kernel/signing.js'
import { createTable } from '../postgres/create-table.js'

/** Options of `generateApiKey()`. */
export interface GenerateApiKeyOptions {
  /** Whose key it is. */
  readonly userId: string | number | bigint
  /** What it is for, in the owner's words. @default '' */
  readonly name?: string
  /** What its holder may do with it, as `HasScope` asks for. @default [] */
  readonly scopes?: readonly string[]
  /** When it ends. @default never */
  readonly expiresAt?: Date | null
  /** What the key begins with: up to 16 lower-case letters and digits, a letter first. @default 'api' */
  readonly prefix?: string
}

/** A key as it is handed out, once. */
export interface IssuedApiKey {
  /** The key itself. It is not stored: whoever loses it needs another. */
  readonly key: string
  /** The primary key of its row. */
  readonly id: string
  /** The key's first characters, by which people recognise it in a list. */
  readonly keyPrefix: string
}

const TABLE = 'koa_viewsets_api_keys'
const PREFIX = /^[a-z][a-z0-9]{0,15}$/
/** What a key looks like: prefix and 32 bytes. */
const KEY = /^[a-z][a-z0-9]{0,15}_[A-Za-z0-9_-]{43}$/
/** The first characters that are shown, and how many behind the prefix, however long it is. */
const SHOWN_CHARACTERS = 12
const SHOWN_OF_BYTES = 4

/**
 * The table of API keys, for lists and for administration. It never holds a key, only its hash, which is no declared property:
 * no serializer shows or takes it. Keys are made by `generateApiKey()`.
 */
export class APIKey extends Model {
  static override tableName = TABLE
  static override jsonSchema = {
    type: 'object',
    properties: {
      id: { readOnly: true },
      key_prefix: { readOnly: true },
      name: { type: 'string' },
      user_id: { readOnly: true },
      scopes: { readOnly: true },
      is_active: { type: 'boolean' },
      expires_at: {},
      last_used_at: { readOnly: true },
      created_at: { readOnly: true },
    },
  }
  /** The primary key, a bigint as text. */
  declare id: string
  /** The first characters of the key. */
  declare key_prefix: string
  /** What it is for. */
  declare name: string
  /** Whose key it is, as text. */
  declare user_id: string
  /** What its holder may do with it. */
  declare scopes: string[]
  /** False once the key was revoked. */
  declare is_active: boolean
  /** When it ends; null for a key that does not. */
  declare expires_at: Date | null
  /** Written at most once a minute. */
  declare last_used_at: Date | null
  /** When it was issued. */
  declare created_at: Date
}

/**
 * Creates the table of API keys where it does not exist yet, whoever else does so at the same time. For a migration or the
 * start of an application. Only its owner may read and write it, whatever default privileges say.
 * @example export const up = (knex: Knex) => createApiKeysTable(knex)
 */
export async function createApiKeysTable(knex: Knex = apiKeyKnex()): Promise<void> {
  await createTable(knex, TABLE, (trx) =>
    trx.raw(`
      CREATE TABLE IF NOT EXISTS ${TABLE} (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        key_hash text NOT NULL UNIQUE CHECK (key_hash ~ '^[0-9a-f]{64}$'),
        key_prefix text NOT NULL,
        name text NOT NULL DEFAULT '',
        user_id text NOT NULL,
        scopes text[] NOT NULL DEFAULT '{}',
        is_active boolean NOT NULL DEFAULT true,
        expires_at timestamptz,
        last_used_at timestamptz,
        created_at timestamptz NOT NULL DEFAULT now()
      )`),
  )
}

const KINDS = {
  userId: 'any',
  name: 'text',
  scopes: 'names',
  expiresAt: 'any',
  prefix: 'text',
} as const satisfies Record<keyof GenerateApiKeyOptions, Kind>

/**
 * Issues a key and stores its hash. The key is returned here and never again.
 * @param knex where the table is; the one that `APIKey` is bound to by default
 * @throws {ConfigurationError} an option is unknown, or of another kind
 * @throws TypeError an option is wrong
 * @example const { key } = await generateApiKey({ userId: 7, name: 'Import', scopes: ['read:books'] })
 */
export async function generateApiKey(options: GenerateApiKeyOptions, knex: Knex = apiKeyKnex()): Promise<IssuedApiKey> {
  checkKinds('generateApiKey()', options, { kinds: KINDS })
  const { userId, name = '', scopes = [], expiresAt = null, prefix = 'api' } = options
  if (!PREFIX.test(prefix)) {
    throw new TypeError('generateApiKey(): prefix takes 1 to 16 lower-case letters and digits, a letter first')
  }
  const user_id = idText(userId)
  // `undefined` as a text would be somebody, and the same one for all
  if (user_id === undefined) throw new TypeError('generateApiKey(): userId is no id')
  if (!scopes.every((scope) => /^[!-~]+$/.test(scope))) {
    throw new TypeError('generateApiKey(): a scope takes visible ASCII characters, without spaces')
  }
  if (expiresAt && !(expiresAt instanceof Date && !Number.isNaN(expiresAt.getTime())))
    throw new TypeError('generateApiKey(): expiresAt is no date')
  const key = writeKey(prefix, randomBytes(32))
  const keyPrefix = key.slice(0, Math.max(SHOWN_CHARACTERS, `${prefix}_`.length + SHOWN_OF_BYTES))
  const { rows } = await knex.raw<{ rows: { id: string }[] }>(
    `insert into ${TABLE} (key_hash, key_prefix, name, user_id, scopes, expires_at)
     values (?, ?, ?, ?, ?::text[], ?::timestamptz) returning id::text as id`,
    [hashToken(key), keyPrefix, name, user_id, [...scopes], expiresAt?.toISOString() ?? null],
  )
  const [{ id }] = rows as [{ id: string }]
  return { key, id, keyPrefix }
}

/** Ends a key at once. @returns false when there is no such key, or it had ended before */
export async function revokeApiKey(id: string | number | bigint, knex: Knex = apiKeyKnex()): Promise<boolean> {
  const { rows } = await knex.raw<{ rows: unknown[] }>(
    `update ${TABLE} set is_active = false where id::text = ? and is_active returning 1 as revoked`,
    [String(id)],
  )
  return rows.length > 0
}

/**
 * What a secret is stored and looked up as: SHA-256 in hex. It suffices for long random secrets such as keys and tokens, not
 * for passwords.
 */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

/** A key of these bytes. */
export function writeKey(prefix: string, bytes: Uint8Array): string {
  return `${prefix}_${encodeBase64Url(bytes)}`
}

/** True for a string that can be a key. */
export function isAPIKey(text: string): boolean {
  return KEY.test(text)
}

/** The knex that `APIKey` is bound to. @throws {ConfigurationError} none */
export function apiKeyKnex(): Knex {
  const knex = APIKey.knex() as Knex | undefined
  if (knex) return knex
  throw new ConfigurationError('APIKey is bound to no database; call APIKey.knex(knex), or give knex')
}
