/** The contract of permissions. */

import type { Context } from '../http/context.js'
import { described } from '../kernel/declarations.js'

/** What a permission may know of a view's class, before any request. */
export interface GuardedViewClass {
  /** The class's name, for messages to the programmer. */
  readonly name: string
  /** The model of a generic view. @throws {ConfigurationError} it has none */
  modelClass?(): { readonly tableName: string }
}

/** What a permission may know of the view it guards. */
export interface GuardedView {
  /** The action that is asked for, such as `list` or `partialUpdate`; on a hand-written route the method, `get`. */
  readonly action: string
  /** The class of a generic view. */
  readonly viewClass?: GuardedViewClass
}

/**
 * A rule of who may do what. Immutable and shared by all requests. Only `true` lets pass; what it throws is answered as an
 * error, never as a yes.
 * @example
 * class IsEditor extends BasePermission {
 *   override hasPermission(ctx: Context) { return ctx.state.user?.role === 'editor' }
 * }
 */
export abstract class BasePermission {
  /** Whether the request may go on at all. */
  hasPermission(_ctx: Context, _view: GuardedView): boolean | Promise<boolean> {
    return true
  }

  /** Whether the request may work on this object. It does not filter lists: `getQueryset()` does. */
  hasObjectPermission(_ctx: Context, _view: GuardedView, _object: object): boolean | Promise<boolean> {
    return true
  }

  /** True when it looks at objects. Where no permission of a view does, an object is read without an instance of it. */
  guardsObjects(): boolean {
    return this.hasObjectPermission !== BasePermission.prototype.hasObjectPermission
  }

  /** The scopes that the request's credentials would have to have, where it has refused them for these; none otherwise. */
  missingScopes(_ctx: Context): readonly string[] {
    return []
  }

  /** Checks what it needs of a view that it stands on, before any request. @throws {ConfigurationError} */
  check(_view: GuardedViewClass): void {}

  /**
   * Whether anonymous callers may pass with this method (in upper case), for OpenAPI; undefined where that depends on the request.
   * Objects are not asked about.
   */
  admitsAnonymous(_method: string): boolean | undefined {
    return this.hasPermission === BasePermission.prototype.hasPermission ? true : undefined
  }
}

described(BasePermission)

/** No restriction. */
export class AllowAny extends BasePermission {
  // not inherited: its opposite lets nobody pass
  override hasPermission(): boolean {
    return true
  }

  override admitsAnonymous(): boolean {
    return true
  }
}
