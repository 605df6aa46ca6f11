/** What can be wrong with the aggregates and facets of a view before any request (promise I23). */
import { ConfigurationError } from '../../kernel/errors.js'
import type { BaseVersioning } from '../../versioning/versioning.js'
import { isNoOrder, ownParameters, pagingParameters } from '../action-parameters.js'
import { answers } from '../actions.js'
import { aggregatesOf, declaresAggregates, isAggregating } from '../aggregates.js'
import type { GenericViewClass } from '../generic-view-class.js'
import { orders, resourceOf } from '../resource.js'

/**
 * Checks what a class declares against the catalogue, and that no parameter of it is read for another purpose.
 * @throws {ConfigurationError} naming class, attribute and fix
 */
export function checkAggregates(view: GenericViewClass, versioning: BaseVersioning | undefined): void {
  if (!isAggregating(view) || !declaresAggregates(view)) return
  void aggregatesOf(resourceOf(view))
  const { filterSettings } = resourceOf(view)
  const taken = [
    ...filterSettings.backends.flatMap((backend) => {
      const parameters = backend.parameters(filterSettings)
      return orders(backend) ? parameters.filter(isNoOrder) : parameters
    }),
    ...(versioning?.parameters() ?? []),
  ]
  for (const action of ['aggregate', 'facets']) {
    if (!answers(view, action)) continue
    const own = [...ownParameters(resourceOf(view), action), ...pagingParameters(resourceOf(view), action)].map(
      ({ name }) => name,
    )
    const twice = own.find((name, index) => own.indexOf(name) < index || taken.some((other) => other.name === name))
    if (twice === undefined) continue
    throw new ConfigurationError(
      `${view.name}: the query parameter "${twice}" is read by ${action}() and for another purpose; rename it there, or leave it out of filtersetFields`,
    )
  }
}
