/** The contract of permissions (spec section 5). */
import type { Context } from '../context.js'

/** What a permission may know of the view it guards. */
export interface GuardedView {
  /** The action that is asked for, such as `list` or `partialUpdate`. */
  readonly action: string
}

/** A rule of who may do what. Immutable and shared by all requests. */
export abstract class BasePermission {
  /** Whether the request may go on at all. */
  hasPermission(_ctx: Context, _view: GuardedView): boolean | Promise<boolean> {
    return true
  }

  /** Whether the request may work on this object. It does not filter lists: `getQueryset()` does. */
  hasObjectPermission(_ctx: Context, _view: GuardedView, _object: object): boolean | Promise<boolean> {
    return true
  }
}

/** No restriction. */
export class AllowAny extends BasePermission {}
