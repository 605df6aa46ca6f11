/** What a router checks of its views, for those that no router has registered (promise I23). */
import { ConfigurationError, ServiceUnavailable } from '../errors.js'
import { refuseInstanceFields } from '../instance-fields.js'
import { actionClass } from './action-options.js'
import { type CheckedClass, checkGeneric, checkLookup, prepareActions, prepareGeneric } from './check-generic.js'
import { prepareModelsOf } from './models-of.js'
import { isStandard } from './standard.js'
import type { ActionMap } from './view.js'

const OF_OBJECTS = ['retrieve', 'update', 'partialUpdate', 'destroy']
const IN_BULK = ['bulkUpdate', 'bulkDestroy']
const READY_MADE = ['list', 'create', 'bulkCreate', ...OF_OBJECTS, ...IN_BULK]
/** Where one of these is the application's own, objects may be found in another way. */
const LOOKUPS = ['getDetail', 'getObject', 'getObjectToWrite']
/** The same of serializers. */
const HOOKS = ['getList', ...LOOKUPS, 'getSerializer', 'getInputSerializer']
const METHODS = new Set(['get', 'post', 'put', 'patch', 'delete'])

const checked = new WeakSet<CheckedClass>()
const preparing = new WeakMap<CheckedClass, Promise<void>>()

/** Checks what needs no database, once for each class. @throws {ConfigurationError} naming class, attribute and fix */
export function checkUnregistered(view: CheckedClass): void {
  if (checked.has(view)) return
  refuseInstanceFields(view)
  checkGeneric(view, { needsSerializer: READY_MADE.some((action) => isStandard(view.prototype, action, ...HOOKS)) })
  checked.add(view)
}

/**
 * Reads the catalogue and checks what it tells, once for each class. What failed is tried again at the next call.
 * @param actions which method answers which HTTP method
 * @throws {ServiceUnavailable} the database does not answer
 * @throws {ConfigurationError} naming class, attribute and fix
 */
export async function prepareUnregistered(view: CheckedClass, actions: ActionMap): Promise<void> {
  const names = Object.values(actions)
  for (const one of new Set(names.map((action) => actionClass(view, action)))) await prepareOnce(one)
  const inPaths = isStandard(view.prototype, ...LOOKUPS) && reaches(view, names, OF_OBJECTS)
  const inBodies = reaches(view, names, IN_BULK)
  if (inPaths || inBodies) checkLookup(view, { inPaths, inBodies })
}

/** True when requests come to one of the ready-made actions, or to a `get()`, `post()` … that may call it. */
function reaches({ prototype }: CheckedClass, names: readonly string[], actions: readonly string[]): boolean {
  const calls = names.some((name) => METHODS.has(name))
  return actions.some((action) => isStandard(prototype, action) && (calls || names.includes(action)))
}

function prepareOnce(view: CheckedClass): Promise<void> {
  let running = preparing.get(view)
  if (!running) {
    running = prepare(view).catch((error: unknown) => {
      preparing.delete(view)
      throw error
    })
    preparing.set(view, running)
  }
  return running
}

async function prepare(view: CheckedClass): Promise<void> {
  await prepareModelsOf(view)
  try {
    prepareActions(view)
    await prepareGeneric(view, undefined)
  } catch (error) {
    throw error instanceof ConfigurationError ? error : new ServiceUnavailable(5, { cause: error })
  }
}
