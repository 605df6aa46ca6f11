/** Checks that no query parameters of a list have one name (promise I23). */

import { FieldFilter } from '../../filters/field-filter.js'
import type { BaseFilter, ParameterDescription } from '../../filters/filter.js'
import { ConfigurationError } from '../../kernel/errors.js'
import type { BaseVersioning } from '../../versioning/versioning.js'
import type { GenericViewClass } from '../generic-view-class.js'
import { resourceOf } from '../resource.js'

interface Reader {
  readonly policy: object
  readonly parameter: ParameterDescription
}

/**
 * A parameter that two policies read would act twice: a page asked for would be a value filtered by, too. What the view's
 * own code reads is its own affair.
 * @throws {ConfigurationError} naming view, parameter and both policies
 */
export function checkParameters(view: GenericViewClass, versioning: BaseVersioning | undefined): void {
  const filterSettings = resourceOf(view).filterSettings
  const { paginator } = resourceOf(view)
  const readers = [
    ...filterSettings.backends.flatMap((policy) => readersOf(policy, policy.parameters(filterSettings))),
    ...(paginator ? readersOf(paginator, paginator.parameters()) : []),
    ...(versioning ? readersOf(versioning, versioning.parameters()) : []),
  ]
  const known = new Map<string, Reader>()
  for (const reader of readers) {
    const { name } = reader.parameter
    const other = known.get(name)
    if (other && !meanTheSame(filterSettings.backends, other, reader)) {
      const [one, two] = [other, reader].map(({ policy }) => policy.constructor.name)
      const owners = other.policy === reader.policy ? `${one} for two purposes` : `${one} and by ${two}`
      throw new ConfigurationError(
        `${view.name}: the query parameter "${name}" is read by ${owners}; rename it for one, or leave it out of filtersetFields`,
      )
    }
    known.set(name, reader)
  }
}

function readersOf(policy: object, parameters: readonly ParameterDescription[]): readonly Reader[] {
  return parameters.map((parameter) => ({ policy, parameter }))
}

/** Searching and ranking by one string is what two backends are for; a filter by a column is always something else. */
function meanTheSame(backends: readonly BaseFilter[], one: Reader, other: Reader): boolean {
  const policies = [one.policy, other.policy]
  return (
    policies.every((policy) => !(policy instanceof FieldFilter) && backends.includes(policy as BaseFilter)) &&
    JSON.stringify(one.parameter.schema) === JSON.stringify(other.parameter.schema)
  )
}
