/** The settings of the service: secrets from the environment or from code, and never a fallback (spec section 4.7; wire format, section 1). */
import { ConfigurationError } from './errors.js'

/** What `configure()` takes. Each secret has at least 16 characters and is taken as it is, not trimmed. */
export interface Settings {
  /** Signs what clients hand back to us; the same on all nodes. @default the environment variable SERVICE_SECRET_KEY */
  readonly secretKey?: string | undefined
  /** Used in its place for cursors. @default the environment variable SERVICE_CURSOR_SECRET, else the secret key */
  readonly cursorSecret?: string | undefined
  /**
   * Keep the SQL of lists as named prepared statements on each connection. False behind a pooler that hands out
   * connections by transaction (PgBouncer).
   * @default true
   */
  readonly preparedStatements?: boolean | undefined
}

const MINIMUM_LENGTH = 16

const variables = { secretKey: 'SERVICE_SECRET_KEY', cursorSecret: 'SERVICE_CURSOR_SECRET' } as const

let configured: Settings = {}

/**
 * Sets the settings in code, in place of all that an earlier call has set. What is left out comes from the environment.
 * Changing a secret makes outstanding cursors invalid.
 * @example configure({ secretKey: await vault.read('api/secret-key') })
 * @throws ConfigurationError for a secret under 16 characters
 */
export function configure(settings: Settings): void {
  for (const name of ['secretKey', 'cursorSecret'] as const) checkLength(settings[name], `configure({ ${name} })`)
  configured = { ...settings }
}

/**
 * The secret key, looked up anew at each call.
 * @throws ConfigurationError when it is missing or too short
 */
export function getSecretKey(): string {
  const secret = read('secretKey')
  if (secret !== undefined) return secret
  throw new ConfigurationError(
    `${variables.secretKey} is not set: give the environment variable or configure({ secretKey }) at least ` +
      `${MINIMUM_LENGTH} random characters, the same on all nodes`,
  )
}

/**
 * The secret of both kinds of cursor: the cursor secret where there is one, else the secret key.
 * @throws ConfigurationError when it is missing or too short
 */
export function getCursorSecret(): string {
  return read('cursorSecret') ?? getSecretKey()
}

/** Whether statements are prepared by name. */
export function preparesStatements(): boolean {
  return configured.preparedStatements ?? true
}

function read(name: keyof typeof variables): string | undefined {
  return configured[name] ?? checkLength(process.env[variables[name]], variables[name])
}

function checkLength(secret: string | undefined, where: string): string | undefined {
  if (secret === undefined || secret.length >= MINIMUM_LENGTH) return secret
  throw new ConfigurationError(
    `${where} has ${secret.length} characters: make it at least ${MINIMUM_LENGTH} random characters, the same on all nodes`,
  )
}
