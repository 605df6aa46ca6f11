/** One set of policies on everything that can carry them: what holds on one must hold on all. */
import Router from '@koa/router'
import type Koa from 'koa'
import {
  APIRouter,
  APIView,
  type Authentications,
  type Context,
  type Permissions,
  type Versioning,
  ViewSet,
} from '../../lib/index.js'
import { authentication, errors, permissions, versioning } from '../../plugins/index.js'
import { type Client, serveApp } from './client.js'

export interface Guards {
  readonly versioning?: Versioning
  readonly authentication?: Authentications
  readonly permissions?: Permissions
  /** Middleware of the app, such as a session's. */
  readonly before?: readonly Koa.Middleware[]
}

export type Surface = (guards: Guards) => Promise<Client>

/** What the handler saw of the request. */
function seen(ctx: Context): unknown {
  const { user = null, auth = null, version = null } = ctx.state
  return { user, auth, version }
}

/** GET, POST and DELETE on `/things` and `/v2/things`, answered with user, auth and version. */
export const surfaces: Readonly<Record<string, Surface>> = {
  async 'a view set'(guards) {
    class Things extends ViewSet {
      static override versioningClass: Versioning = guards.versioning ?? null
      static override authenticationClasses: Authentications = guards.authentication ?? []
      static override permissionClasses: Permissions = guards.permissions ?? []
      list() {
        return seen(this.ctx)
      }
      create() {
        return seen(this.ctx)
      }
    }
    const routers = ['', '/v2'].map((prefix) => new APIRouter({ prefix }).register('things', Things, 'thing'))
    return serveApp(...(guards.before ?? []), ...routers.map((router) => router.routes()))
  },

  async "a view on the app's own router"(guards) {
    class Things extends APIView {
      static override versioningClass: Versioning = guards.versioning ?? null
      static override authenticationClasses: Authentications = guards.authentication ?? []
      static override permissionClasses: Permissions = guards.permissions ?? []
      get() {
        return seen(this.ctx)
      }
      post() {
        return seen(this.ctx)
      }
    }
    const router = new Router()
    for (const path of ['/things', '/v2/things']) router.all(path, Things.asView() as never)
    return serveApp(...(guards.before ?? []), router.routes() as Koa.Middleware)
  },

  async 'a hand-written route'(guards) {
    const router = new Router()
    const steps = [
      ...(guards.versioning ? [versioning(guards.versioning)] : []),
      ...(guards.authentication ? [authentication(...guards.authentication)] : []),
      ...(guards.permissions ? [permissions(...guards.permissions)] : []),
      (ctx: Koa.Context) => {
        ctx.body = seen(ctx)
      },
    ]
    for (const path of ['/things', '/v2/things']) {
      router.register(path, ['get', 'head', 'post', 'options'], steps as never)
    }
    return serveApp(errors(), ...(guards.before ?? []), router.routes() as Koa.Middleware)
  },
}
