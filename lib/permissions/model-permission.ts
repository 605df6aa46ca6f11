/** Model permissions: `view_books`, `change_books` and the like, by table and method. */

import { type Context, isAnonymous } from '../http/context.js'
import { described } from '../kernel/declarations.js'
import { ConfigurationError } from '../kernel/errors.js'
import { oncePer } from '../kernel/once-per.js'
import { takeOptions, takesOptions } from '../kernel/option-kinds.js'
import { BasePermission, type GuardedView, type GuardedViewClass } from './permission.js'

/** Options of `ModelPermission`. */
export interface ModelPermissionOptions {
  /** The model whose table counts. @default the view's model */
  readonly model?: { readonly tableName: string }
}

/** What must be held for each method. */
const VERBS: Readonly<Record<string, string>> = {
  GET: 'view',
  HEAD: 'view',
  OPTIONS: 'view',
  QUERY: 'view',
  POST: 'add',
  PUT: 'change',
  PATCH: 'change',
  DELETE: 'delete',
}

/**
 * GET, HEAD, OPTIONS and QUERY need the permission `view_<table>`, POST `add_<table>`, PUT and PATCH `change_<table>`, DELETE
 * `delete_<table>`. A user holds it when `user.hasPermission(name)` gives true, also asynchronously; a user without such a
 * method, when `user.permissions`, an array or a Set, has it. Any other user is refused.
 * @example static override permissionClasses: Permissions = [ModelPermission]
 * @example router.get('/report', permissions(new ModelPermission({ model: Book })), handler)
 */
export class ModelPermission extends BasePermission {
  readonly #model: ModelPermissionOptions['model']
  /** A view with a queryset would make a query each time it is asked for its model. */
  readonly #tables = oncePer((view: GuardedViewClass) => this.#findTable(view))

  constructor(options: ModelPermissionOptions = {}) {
    super()
    takeOptions(this, options)
    this.#model = options.model
  }

  override async hasPermission(ctx: Context, view: GuardedView): Promise<boolean> {
    const name = this.permissionName(ctx, this.#tableOf(view.viewClass))
    return name !== undefined && holds(ctx.state['user'], name)
  }

  /** The permission that a request needs; undefined refuses it. */
  permissionName(ctx: Context, table: string): string | undefined {
    const verb = VERBS[ctx.method]
    return verb && `${verb}_${table}`
  }

  override admitsAnonymous(): boolean {
    return false
  }

  override check(view: GuardedViewClass): void {
    this.#tableOf(view)
  }

  #tableOf(view: GuardedViewClass | undefined): string {
    return view ? this.#tables(view) : this.#findTable(view)
  }

  #findTable(view: GuardedViewClass | undefined): string {
    const model = this.#model ?? view?.modelClass?.()
    if (model) return model.tableName
    throw new ConfigurationError(
      `${view?.name ?? 'a view'}: ModelPermission needs a model; set static model, or give new ModelPermission({ model })`,
    )
  }
}

takesOptions<ModelPermissionOptions>(ModelPermission, { model: 'any' })

described(ModelPermission)

async function holds(user: unknown, name: string): Promise<boolean> {
  if (isAnonymous(user) || typeof user !== 'object') return false
  const holder = user as { hasPermission?: (name: string) => unknown; permissions?: unknown }
  if (typeof holder.hasPermission === 'function') return (await holder.hasPermission(name)) === true
  const { permissions } = holder
  return Array.isArray(permissions) ? permissions.includes(name) : permissions instanceof Set && permissions.has(name)
}
