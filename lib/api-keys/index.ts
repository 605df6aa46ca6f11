/** API keys: a system of keys with scopes, kept as hashes, and the authentication by them: `koa-viewsets/api-keys`. */

export {
  APIKey,
  createApiKeysTable,
  type GenerateApiKeyOptions,
  generateApiKey,
  type IssuedApiKey,
  revokeApiKey,
} from './api-key.js'
export {
  APIKeyAuthentication,
  type APIKeyAuthenticationOptions,
  type APIKeyCredentials,
} from './api-key-authentication.js'
export { flushKeyUsage } from './key-usage.js'
