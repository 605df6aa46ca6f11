/** View sets that meet in one request know its caller by the same schemes: user 1 of one is not user 1 of another. */

import type { BaseAuthentication } from '../../authentication/authentication.js'
import { ConfigurationError } from '../../kernel/errors.js'
import type { Policies, Policy } from '../../kernel/policy.js'
import { type ActionClass, classesOf } from '../action-options.js'

/** A view class, as far as it says who may be its caller. */
export type KnowingClass = ActionClass &
  (new () => object) & { readonly authenticationClasses: Policies<BaseAuthentication> }

/**
 * @param where what has the two meet, for messages
 * @param other answers with the objects that the view's request asks about, for a caller that the view's schemes have found
 * @throws {ConfigurationError} their schemes know other users
 */
export function checkCallers(where: string, view: KnowingClass, other: KnowingClass): void {
  const theirs = kindsOf(other.authenticationClasses)
  for (const { authenticationClasses } of classesOf(view)) {
    const own = kindsOf(authenticationClasses)
    // one that knows nobody takes nobody for its own, and finds nobody for the other
    if (own.size === 0 || theirs.size === 0 || isSame(own, theirs)) continue
    throw new ConfigurationError(
      `${where}: ${view.name} knows its callers by other authenticationClasses than ${other.name}, so that a user of one would pass for the user of the other who has the same id; give both the same`,
    )
  }
}

/** Whose users a list of schemes knows. */
function kindsOf(schemes: Policies<BaseAuthentication>): ReadonlySet<unknown> {
  return new Set(schemes.map(kindOf))
}

function kindOf(entry: Policy<BaseAuthentication>): unknown {
  const scheme = typeof entry === 'function' ? new entry() : entry
  return scheme.userKind ?? entry
}

function isSame(one: ReadonlySet<unknown>, other: ReadonlySet<unknown>): boolean {
  return one.size === other.size && [...one].every((kind) => other.has(kind))
}
