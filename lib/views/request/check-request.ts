/** What a request that writes is refused for before its transaction takes a connection (promise R5). */
import { NotFound } from '../../kernel/errors.js'
import type { GenericView } from '../generic-view.js'
import { resourceOf } from '../resource.js'
import { bulkItems } from '../steps/bulk-objects.js'
import { keyOnPath } from '../steps/read-object.js'
import { selectionOf } from '../steps/selection.js'
import { requireOwner } from './require-user.js'

/**
 * Checks the keys on the path, the length of a list, and the names of `fields` and `expand`, for actions as they come with
 * the package: what code of the application looks at is its own affair.
 * @throws NotFound a key that no row can have
 * @throws ValidationError, BadRequest no list, one that is too long, or an unknown name
 */
export function checkRequest(view: GenericView): void {
  const { ctx, plan } = view
  const { parents, resource } = plan
  const params = ctx['params'] as Record<string, string> | undefined
  for (const { view: parent, param } of parents) {
    const viewClass = parent as typeof parent & GenericView['viewClass']
    const text = params?.[param]
    const { overrides, lookup, seenBy } = resourceOf(viewClass)
    if (text === undefined || overrides.lookup) continue
    if (lookup.fromText(text, { user: ctx.state['user'], ctx }) === undefined) throw new NotFound()
    if (view.visibleFields && !seenBy(view.visibleFields).namesObjects) throw new NotFound()
  }
  if (!plan.isOurs) return
  selectionOf(view)
  if (plan.isBulk) bulkItems(view)
  if (!plan.hasKey) return
  keyOnPath(view)
  if (resource.namesPerUser) requireOwner(view)
}
