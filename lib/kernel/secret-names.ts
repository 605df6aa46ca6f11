/** Names that sound like secrets (promise A10). */
import { snakeCase } from './naming.js'

/** Words that are secrets wherever they stand in a name. */
const WORDS = new Set([
  ...['password', 'passwd', 'pwd', 'passphrase', 'passcode', 'secret', 'token', 'hash', 'salt', 'apikey'],
  ...['credential', 'credentials', 'otp', 'totp'],
])
/** Words that make a secret of a `key` behind them. */
const KEYS = new Set(['api', 'private', 'secret', 'access', 'signing', 'encryption'])

/** True for `password_hash`, `apiToken` and `private_key`, not for `hashtag` or `key`. */
export function isSecretName(name: string): boolean {
  const words = snakeCase(name).split('_')
  return words.some((word, at) => WORDS.has(word) || (/^keys?$/.test(word) && KEYS.has(words[at - 1] ?? '')))
}
