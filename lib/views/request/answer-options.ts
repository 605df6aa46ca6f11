/** Answers OPTIONS: what a path takes, as far as the caller may use it (promise E16). */
import { withMethod } from '../../http/context.js'
import { ApiError } from '../../kernel/errors.js'
import { ALL_METHODS } from '../../kernel/methods.js'
import { checkPermissions } from '../../permissions/check-permissions.js'
import { actionClass } from '../action-options.js'
import type { ParentViewClass, View } from '../view.js'

/** The methods that take an object, in the order in which one is described. */
const TAKING = ALL_METHODS.filter(({ does }) => does === 'write').map(({ name }) => name.toLowerCase())

/** The body of the answer. It asks no database, unless a permission does. */
export async function answerOptions(view: View): Promise<unknown> {
  view.taking = await permittedView(view)
  return view.options()
}

/** A view of the first of POST, PUT and PATCH that the caller may use on this path, as far as that is not about an object. */
async function permittedView(view: View): Promise<View | undefined> {
  const { actionMap: actions, basename, parents } = view
  for (const method of TAKING) {
    const action = actions[method]
    if (action === undefined) continue
    const viewClass = actionClass(view.constructor as never, action) as ParentViewClass
    const ctx = withMethod(view.ctx, method.toUpperCase())
    const asked = viewClass.open(ctx, { action, actions, basename, parents })
    if (await isPermitted(asked)) return asked
  }
  return undefined
}

async function isPermitted(view: View): Promise<boolean> {
  try {
    await checkPermissions(view.ctx, view, view.policies.permissions)
    return true
  } catch (error) {
    if (error instanceof ApiError && error.status < 500) return false
    throw error
  }
}
