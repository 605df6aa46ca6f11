/** What TypeScript knows of tokens, and what it refuses. Checked by `tsc`, never run. */
import type { KeyObject } from 'node:crypto'
import { APIView, type Authentications, type Context, HasScope, type Permissions } from 'koa-viewsets'
import { JWTAuthentication, type JWTClaims, type JWTCredentials, type JWTKey } from 'koa-viewsets/jwt'
import { authentication } from 'koa-viewsets/plugins'

declare const publicKey: KeyObject
const common = { issuer: 'https://id.test', audience: ['a', 'b'] } as const
const jwksUri = 'https://id.test/keys'

/** A subclass stands in lists as a class, the class itself as an instance with options. */
class ByToken extends JWTAuthentication {
  constructor() {
    super({ ...common, algorithms: ['RS256'], jwksUri, keySet: { maxAgeSeconds: 300 } })
  }
  override async getUser({ sub, exp }: JWTClaims, ctx: Context) {
    const end: number = exp
    return ctx.secure && end > 0 ? { id: sub } : null
  }
  override getScopes(claims: JWTClaims): readonly string[] {
    const roles: unknown = claims['roles']
    return Array.isArray(roles) ? roles.map(String) : super.getScopes(claims)
  }
}
const byKey = new JWTAuthentication({
  ...common,
  algorithms: ['ES256'],
  key: publicKey,
  getUser: ({ sub }) => ({ sub }),
})
const keys: readonly JWTKey[] = ['a secret', new Uint8Array(32), publicKey, { kty: 'oct', k: 'AAAA' }]
const bySecret = new JWTAuthentication({ ...common, algorithms: ['HS256'], key: keys, typ: 'at+jwt' })

class Things extends APIView {
  static override authenticationClasses: Authentications = [ByToken, byKey, bySecret]
  static override permissionClasses: Permissions = [new HasScope('read:things')]
  get() {
    const { claims, scopes } = this.ctx.state['auth'] as JWTCredentials
    const issuer: string = claims.iss
    return { issuer, scopes }
  }
}
authentication(ByToken, byKey)
Things.asView()

// @ts-expect-error it cannot verify anything without options
authentication(JWTAuthentication)
// @ts-expect-error algorithms are required
new JWTAuthentication({ ...common, jwksUri })
// @ts-expect-error none is no algorithm
new JWTAuthentication({ ...common, algorithms: ['none'], jwksUri })
// @ts-expect-error an audience is required
new JWTAuthentication({ issuer: 'https://id.test', algorithms: ['RS256'], jwksUri })
// @ts-expect-error neither keys nor their address
new JWTAuthentication({ ...common, algorithms: ['RS256'] })
// @ts-expect-error both
new JWTAuthentication({ ...common, algorithms: ['RS256'], jwksUri, key: publicKey })
// @ts-expect-error keys of one's own are not fetched
new JWTAuthentication({ ...common, algorithms: ['RS256'], key: publicKey, keySet: {} })
// @ts-expect-error a misspelt option
new JWTAuthentication({ ...common, algorithms: ['RS256'], jwksUri, clockTolerence: 5 })
