/** What TypeScript knows of versioning, authentication and permissions, and what it refuses. Checked by `tsc`, never run. */
import {
  AllowAny,
  APIView,
  type Authentications,
  and,
  BasePermission,
  HasScope,
  HeaderVersioning,
  IsAdminUser,
  IsAuthenticated,
  JSONParser,
  ModelPermission,
  not,
  ObjectPermission,
  or,
  type Permissions,
  QueryParamVersioning,
  SessionAuthentication,
  TokenAuthentication,
  URLPathVersioning,
  type Versioning,
} from 'koa-viewsets'
import { APIKeyAuthentication, type APIKeyCredentials, generateApiKey } from 'koa-viewsets/api-keys'
import { authentication, permissions, versioning } from 'koa-viewsets/plugins'
import { Model } from 'objection'

class Book extends Model {
  static override tableName = 'books'
}
class TokenAuth extends TokenAuthentication {
  override async getUserForToken(token: string) {
    return token === '' ? null : { id: 1 }
  }
}
class Bearer extends TokenAuth {
  override readonly keyword = 'Bearer'
  override readonly challenge = 'Bearer'
}
class Versions extends URLPathVersioning {
  override readonly allowedVersions = ['1', '2']
  override readonly versions = { '1': { sunset: '2026-12-31', successor: '/api/v2' } }
}

/** Lists take classes and instances; the alias types leave subclasses free. */
class Base extends APIView {
  static override permissionClasses: Permissions = [IsAuthenticated]
  static override authenticationClasses: Authentications = [
    TokenAuth,
    Bearer,
    SessionAuthentication,
    APIKeyAuthentication,
  ]
  static override versioningClass: Versioning = Versions
}
export class Sub extends Base {
  static override permissionClasses = [
    or(IsAdminUser, and(new ObjectPermission({ ownerField: 'author_id' }), not(new HasScope('a', 'b')))),
    new ModelPermission({ model: Book }),
  ]
  static override authenticationClasses = [
    new APIKeyAuthentication({ getUserForKey: (key: APIKeyCredentials) => key.user_id }),
  ]
  static override versioningClass = new QueryParamVersioning({ defaultVersion: '2', allowedVersions: ['1', '2'] })
}
authentication(TokenAuth, new SessionAuthentication({ getUser: async () => ({ id: 1 }) }))
permissions(AllowAny, not(IsAuthenticated))
versioning(HeaderVersioning)
versioning(
  new HeaderVersioning({ versions: { '1.0': { deprecated: new Date(), goneAfterSunset: true, sunset: new Date() } } }),
)
void generateApiKey({ userId: 7, name: 'x', scopes: ['a'], expiresAt: new Date(), prefix: 'shop' })

// @ts-expect-error a permission is no scheme
authentication(IsAuthenticated)
// @ts-expect-error a scheme is no permission
permissions(TokenAuth)
// @ts-expect-error a list is no permission
permissions([IsAuthenticated])
// @ts-expect-error a scheme is no versioning
versioning(TokenAuth)
// @ts-expect-error one of them
versioning(HeaderVersioning, HeaderVersioning)
// @ts-expect-error it needs scopes, so it stands as an instance
permissions(HasScope)
// @ts-expect-error it needs a scope
new HasScope()
// @ts-expect-error a list is no scope
new HasScope(['read:books'])
// @ts-expect-error an option that does not exist
new ObjectPermission({ owner: 'author_id' })
// @ts-expect-error a model has a table
new ModelPermission({ model: {} })
// @ts-expect-error a parser is no permission
and(IsAuthenticated, JSONParser)
// @ts-expect-error one at a time
not(IsAuthenticated, IsAdminUser)
// @ts-expect-error an option that does not exist
new TokenAuthentication({ getUser: () => null })
// @ts-expect-error an option that does not exist
new SessionAuthentication({ getUserForToken: () => null })
// @ts-expect-error names of origins
new SessionAuthentication({ trustedOrigins: 'https://app.test' })
// @ts-expect-error an option that does not exist
new URLPathVersioning({ allowed: ['1'] })
// @ts-expect-error versions are texts
new URLPathVersioning({ allowedVersions: [1] })
// @ts-expect-error an option that does not exist
new URLPathVersioning({ versions: { '1': { sunst: '2026-01-01' } } })
// @ts-expect-error a key is somebody's
void generateApiKey({ name: 'x' })
// @ts-expect-error the key is not for everybody to choose
void generateApiKey({ userId: 1, key: 'x' })

export class Misspelt extends APIView {
  // @ts-expect-error a static that does not exist
  static override permissionClass = [IsAuthenticated]
}
// @ts-expect-error schemes are no permissions
export class Mixed extends APIView {
  static override permissionClasses = [SessionAuthentication]
}
export class Answers extends BasePermission {
  // @ts-expect-error a permission answers true or false
  override hasPermission(): string {
    return 'yes'
  }
}
export class Tokens extends TokenAuthentication {
  // @ts-expect-error a token is a text
  override getUserForToken(token: number): unknown {
    return token
  }
}
