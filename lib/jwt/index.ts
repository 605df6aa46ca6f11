/** JSON Web Tokens: `koa-viewsets/jwt`, a door of its own, so that `jose` is only needed by who uses it (docs/reference/jwt.md). */
export type { JWTAlgorithm } from './algorithms.js'
export { JWTAuthentication, type JWTCredentials } from './jwt-authentication.js'
export type { JWTKey } from './key-list.js'
export type { JWTAuthenticationOptions, KeySetOptions } from './options.js'
export type { JWTClaims } from './verify-token.js'
