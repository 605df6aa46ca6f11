/** Scope permission: the scopes of a key or a token. */
import type { Context } from '../http/context.js'
import { ConfigurationError } from '../kernel/errors.js'
import { BasePermission } from './permission.js'

/**
 * Passes where the credentials have all of these scopes, by `ctx.state.auth.scopes`, an array or a Set: an API key and a JWT
 * bring them. Credentials without scopes, such as a session, are refused.
 * @example static override permissionClasses: Permissions = [new HasScope('read:books')]
 */
export class HasScope extends BasePermission {
  /** The scopes that are asked for; all of them are needed. */
  readonly scopes: readonly string[]

  constructor(...scopes: readonly [string, ...string[]]) {
    super()
    if (scopes.length === 0) throw new ConfigurationError('HasScope: name at least one scope')
    this.scopes = scopes
  }

  override hasPermission(ctx: Context): boolean {
    const held = this.getScopes(ctx)
    return held !== undefined && this.scopes.every((scope) => held.has(scope))
  }

  override missingScopes(ctx: Context): readonly string[] {
    return this.hasPermission(ctx) ? [] : this.scopes
  }

  override admitsAnonymous(): boolean {
    return false
  }

  /** The scopes of a request's credentials; undefined when they have none. Override it to find them elsewhere. */
  getScopes(ctx: Context): ReadonlySet<string> | undefined {
    const scopes: unknown = (ctx.state['auth'] as { scopes?: unknown } | null | undefined)?.scopes
    return Array.isArray(scopes) || scopes instanceof Set ? new Set<string>(scopes) : undefined
  }
}
