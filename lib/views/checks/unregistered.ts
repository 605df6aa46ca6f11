/** What a router checks of its views, for those that no router has registered (promise I23). */

import { checkDeclarations } from '../../kernel/declarations.js'
import { ConfigurationError, ServiceUnavailable } from '../../kernel/errors.js'
import { oncePerUntilFailed } from '../../kernel/once-per.js'
import { type RuleSet, type Rules, ruleSetOf } from '../../rules/rule-set.js'
import { actionClass } from '../action-options.js'
import { actionNamed, changesMany, isDetail } from '../actions.js'
import { isBuiltIn } from '../built-in.js'
import { hasModel } from '../generic-view-class.js'
import type { ActionMap } from '../view.js'
import { checkVersionSecret } from './check-concurrency.js'
import { type CheckedClass, checkGeneric, checkLookup, prepareGeneric } from './check-generic.js'
import { checkWrites } from './check-writes.js'
import { modelsOf, prepareModelsOf, prepareRules } from './models-of.js'
import { checkActions, prepareActions } from './prepare-serializers.js'

/** Methods by which an application may find objects in its own way. */
const LOOKUPS = ['getDetail', 'getObject', 'getObjectToWrite']
/** Methods of an application after which an action may need no serializer. */
const HOOKS = ['getList', ...LOOKUPS, 'getSerializer', 'getInputSerializer']

/**
 * Checks what needs no database. A method of the application's own may need neither model nor serializer.
 * @param actions which method answers which HTTP method
 * @throws {ConfigurationError} naming class, attribute and fix
 */
export function checkUnregistered(view: CheckedClass, actions: ActionMap): void {
  checkDeclarations(view, Object.values(actions))
  checkActions(view)
  if (!hasModel(view) && !reaches(view, actions, isOurs)) return
  checkGeneric(view, { needsSerializer: isBuiltIn(view.prototype, ...HOOKS) && reaches(view, actions, isOurs) })
}

/**
 * Reads the catalogue and checks the view against it, once for each class. What failed is tried again at the next call.
 * @param actions which method answers which HTTP method
 * @param given the rules of the route
 * @throws {ServiceUnavailable} the database does not answer
 * @throws {ConfigurationError} naming class, attribute and fix
 */
export async function prepareUnregistered(
  view: CheckedClass,
  actions: ActionMap,
  given: Rules | RuleSet | undefined,
): Promise<void> {
  for (const one of new Set(Object.values(actions).map((action) => actionClass(view, action)))) await prepareOnce(one)
  const inPaths = isBuiltIn(view.prototype, ...LOOKUPS) && reaches(view, actions, isDetail)
  const inBodies = reaches(view, actions, changesMany)
  if (inPaths || inBodies) checkLookup(view, { inPaths, inBodies })
  if (hasModel(view)) checkWrites(view, Object.values(actions))
  if (!given) return
  const rules = ruleSetOf(given)
  await prepareRules(rules)
  await rules.check(modelsOf(view))
  if (hasModel(view)) checkVersionSecret(view, rules)
}

const isOurs = (action: string) => actionNamed(action) !== undefined

/** True when requests come to one of such actions as it comes with the package. */
function reaches({ prototype }: CheckedClass, actions: ActionMap, such: (action: string) => boolean): boolean {
  return Object.values(actions).some((action) => such(action) && isBuiltIn(prototype, action))
}

const prepareOnce = oncePerUntilFailed(async (view: CheckedClass): Promise<void> => {
  await prepareModelsOf(view)
  try {
    prepareActions(view)
    if (hasModel(view)) await prepareGeneric(view, undefined)
  } catch (error) {
    throw error instanceof ConfigurationError ? error : new ServiceUnavailable(5, { cause: error })
  }
})
