/** Permissions made of others: what `and`, `or` and `not` give back (promise E7). */
import type { Context } from '../http/context.js'
import { ConfigurationError } from '../kernel/errors.js'
import { type Policies, type Policy, resolvePolicies, resolvePolicy } from '../kernel/policy.js'
import { BasePermission, type GuardedView, type GuardedViewClass } from './permission.js'

/** Passes where all pass. @example and(IsAuthenticated, new HasScope('read:books')) */
export function and(...permissions: Policies<BasePermission>): BasePermission {
  return new And(operandsOf('and()', permissions))
}

/**
 * Passes where one passes. An object may be worked on when one and the same permission lets both the request and the
 * object pass: what one says of the request is never mixed with what another says of the object.
 * @example [IsAuthenticated, or(IsAdminUser, new ObjectPermission({ ownerField: 'author_id' }))]
 */
export function or(...permissions: Policies<BasePermission>): BasePermission {
  return new Or(operandsOf('or()', permissions))
}

/**
 * Passes where the permission refuses. What it says of requests and what it says of objects are each turned round; where it
 * says nothing of one of them, that one stays open. `not(and(a, b))` is `or(not(a), not(b))`, and the other way round.
 * @example not(IsAuthenticated)
 */
export function not(permission: Policy<BasePermission>): BasePermission {
  return negate(resolvePolicy('not()', permission, 'hasPermission'))
}

function negate(permission: BasePermission): BasePermission {
  if (permission instanceof And) return new Or(permission.operands.map(negate))
  if (permission instanceof Or) return new And(permission.operands.map(negate))
  return permission instanceof Not ? permission.operand : new Not(permission)
}

function operandsOf(where: string, permissions: Policies<BasePermission>): readonly BasePermission[] {
  if (permissions.length === 0) throw new ConfigurationError(`${where}: give at least one permission`)
  return resolvePolicies(where, permissions, 'hasPermission')
}

abstract class Composed extends BasePermission {
  readonly operands: readonly BasePermission[]

  constructor(operands: readonly BasePermission[]) {
    super()
    this.operands = operands
  }

  override guardsObjects(): boolean {
    return this.operands.some((operand) => operand.guardsObjects())
  }

  override check(view: GuardedViewClass): void {
    for (const operand of this.operands) operand.check(view)
  }
}

class And extends Composed {
  override async hasPermission(ctx: Context, view: GuardedView): Promise<boolean> {
    for (const operand of this.operands) {
      if ((await operand.hasPermission(ctx, view)) !== true) return false
    }
    return true
  }

  override async hasObjectPermission(ctx: Context, view: GuardedView, object: object): Promise<boolean> {
    for (const operand of this.operands) {
      if ((await operand.hasObjectPermission(ctx, view, object)) !== true) return false
    }
    return true
  }

  override missingScopes(ctx: Context): readonly string[] {
    return [...new Set(this.operands.flatMap((operand) => operand.missingScopes(ctx)))]
  }

  override admitsAnonymous(method: string): boolean | undefined {
    const told = this.operands.map((operand) => operand.admitsAnonymous(method))
    return told.includes(false) ? false : told.includes(undefined) ? undefined : true
  }
}

class Or extends Composed {
  override async hasPermission(ctx: Context, view: GuardedView): Promise<boolean> {
    for (const operand of this.operands) {
      if ((await operand.hasPermission(ctx, view)) === true) return true
    }
    return false
  }

  override async hasObjectPermission(ctx: Context, view: GuardedView, object: object): Promise<boolean> {
    for (const operand of this.operands) {
      if ((await operand.hasPermission(ctx, view)) !== true) continue
      if ((await operand.hasObjectPermission(ctx, view, object)) === true) return true
    }
    return false
  }

  override admitsAnonymous(method: string): boolean | undefined {
    const told = this.operands.map((operand) => operand.admitsAnonymous(method))
    return told.includes(true) ? true : told.includes(undefined) ? undefined : false
  }
}

/** Only a plain `false` turns into a yes: a permission that answers anything else keeps closed what is made of it. */
class Not extends BasePermission {
  readonly operand: BasePermission
  readonly #guardsRequests: boolean

  constructor(operand: BasePermission) {
    super()
    this.operand = operand
    this.#guardsRequests = operand.hasPermission !== BasePermission.prototype.hasPermission
  }

  override async hasPermission(ctx: Context, view: GuardedView): Promise<boolean> {
    return !this.#guardsRequests || (await this.operand.hasPermission(ctx, view)) === false
  }

  override async hasObjectPermission(ctx: Context, view: GuardedView, object: object): Promise<boolean> {
    return !this.guardsObjects() || (await this.operand.hasObjectPermission(ctx, view, object)) === false
  }

  override admitsAnonymous(method: string): boolean | undefined {
    const told = this.#guardsRequests ? this.operand.admitsAnonymous(method) : false
    return told === undefined ? undefined : !told
  }

  override guardsObjects(): boolean {
    return this.operand.guardsObjects()
  }

  override check(view: GuardedViewClass): void {
    this.operand.check(view)
  }
}

/** `or(IsAdminUser, ObjectPermission)`: the class of a permission, or of those that it is made of. */
export function permissionName(permission: BasePermission): string {
  const { name } = permission.constructor
  if (permission instanceof Composed)
    return `${name.toLowerCase()}(${permission.operands.map(permissionName).join(', ')})`
  return permission instanceof Not ? `not(${permissionName(permission.operand)})` : name
}
