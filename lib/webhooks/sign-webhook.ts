/**
 * Secrets and signatures of webhooks, by the symmetric scheme of Standard Webhooks 1.0.0
 * (https://github.com/standard-webhooks/standard-webhooks, spec/standard-webhooks.md, "Signature scheme").
 */
import { createHmac, randomBytes } from 'node:crypto'
import { ConfigurationError } from '../kernel/errors.js'

/** What is signed, and by whom. */
export interface SignedWebhook {
  /** The same for each attempt, by which a receiver knows a message that it has had: visible ASCII without full stops. */
  readonly id: string
  /** When this attempt is made, in Unix seconds. */
  readonly timestamp: number
  /** Exactly the text that is sent. */
  readonly body: string
  /** Secrets as `createSecret()` makes them: one, or while it is being replaced the new and the old one. */
  readonly secrets: readonly string[]
}

const PREFIX = 'whsec_'
/** In bytes; the specification takes 24 to 64. */
const SECRET_BYTES = { made: 32, least: 24, most: 64 }

/** A new secret of 32 random bytes, as receivers are given it. */
export function createSecret(): string {
  return PREFIX + randomBytes(SECRET_BYTES.made).toString('base64')
}

/**
 * The headers that authenticate a webhook: `webhook-id`, `webhook-timestamp`, and `webhook-signature` with one signature for
 * each secret, so that receivers may take up a new secret while the old one is still used.
 * @throws {ConfigurationError} no secret, a malformed one, or an id or timestamp that could be taken for another message's
 */
export function signWebhook({ id, timestamp, body, secrets }: SignedWebhook): Record<string, string> {
  // the parts are joined by full stops: with one in the id, two messages could have the same signature
  if (!/^[!-~]+$/.test(id) || id.includes('.')) {
    throw new ConfigurationError(`webhook: the id ${JSON.stringify(id)} is not visible ASCII without full stops`)
  }
  if (!Number.isSafeInteger(timestamp) || timestamp < 0) {
    throw new ConfigurationError(`webhook: the timestamp ${timestamp} is no whole number of Unix seconds`)
  }
  if (secrets.length === 0) throw new ConfigurationError('webhook: there is no secret to sign it with')
  const content = `${id}.${timestamp}.${body}`
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': secrets.map((secret) => signatureOf(content, keyOf(secret))).join(' '),
  }
}

function signatureOf(content: string, key: Buffer): string {
  return `v1,${createHmac('sha256', key).update(content).digest('base64')}`
}

/** The bytes of a secret. */
function keyOf(secret: string): Buffer {
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
  const isWhole = PREFIX + key.toString('base64') === secret
  if (isWhole && key.length >= SECRET_BYTES.least && key.length <= SECRET_BYTES.most) return key
  // a secret is not shown, not even one that is wrong
  throw new ConfigurationError(
    `webhook: a secret is not ${PREFIX} and the base64 of 24 to 64 bytes, as createSecret() makes it`,
  )
}
