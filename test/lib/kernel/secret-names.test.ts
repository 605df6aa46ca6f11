import { expect, it } from 'vitest'
import { isSecretName } from '../../../lib/kernel/secret-names.js'

it.each(['password', 'password_hash', 'apiToken', 'APISecret', 'salt', 'api_key', 'PrivateKey', 'access_keys', 'totp'])(
  '%s sounds like a secret',
  (name) => expect(isSecretName(name)).toBe(true),
)

it.each([
  'hashtag',
  'tokens',
  'key',
  'api',
  'monkey',
  'primary_key',
  'secretary',
  'salted',
  'passwordless',
  'constructor',
])('%s does not', (name) => expect(isSecretName(name)).toBe(false))
