/** What is computed of a list, as a document describes it (wire format, section 13). */
import type { Figure } from '../aggregates/figure.js'
import { orNull } from '../fields/or-null.js'
import type { PageDescription } from '../pagination/pagination.js'
import { paginatorOf } from '../views/action-parameters.js'
import { aggregatesOf, isAggregating } from '../views/aggregates.js'
import { GenericAPIView } from '../views/generic-api-view.js'
import { hasModel } from '../views/generic-view-class.js'
import { resourceOf } from '../views/resource.js'
import { outputValue, shownValue } from './field-schema.js'
import type { DescribedOperation } from './subject.js'
import type { Schema } from './types.js'

/** One object of all objects together, or a page of groups. */
export function aggregateSchema({ view }: DescribedOperation): Schema | undefined {
  const { viewClass } = view as GenericAPIView
  if (!isAggregating(viewClass)) return undefined
  const { plan, paginator } = aggregatesOf(resourceOf(viewClass))
  // of some callers rules may leave none
  const fewest = view.plan.rules?.fields.isEmpty === false ? 0 : 1
  const whole = rowOf([...plan.aggregates.values()], fewest)
  if (plan.groups.size === 0) return whole
  const group = rowOf([...plan.groups.values(), ...plan.aggregates.values()], fewest)
  const groups = paginator ? (paginator.describePage(group)?.schema ?? {}) : { type: 'array', items: group }
  return { anyOf: [whole, groups] }
}

/** The values of each facet, and how many objects have each. */
export function facetsSchema({ view }: DescribedOperation): Schema | undefined {
  const { viewClass } = view as GenericAPIView
  if (!isAggregating(viewClass)) return undefined
  const facets = [...aggregatesOf(resourceOf(viewClass)).plan.facets.values()]
  const properties = Object.fromEntries(
    facets.map(({ figure }) => [figure.name, facetOf(shownSchema(figure), viewClass.maxFacetValues)]),
  )
  const fewest = view.plan.rules?.fields.isEmpty === false ? 0 : 1
  return { type: 'object', properties, minProperties: fewest, additionalProperties: false }
}

function facetOf(value: Schema, most: number): Schema {
  const properties = { value, count: { type: 'integer', minimum: 1 } }
  const items = { type: 'object', properties, required: ['value', 'count'], additionalProperties: false }
  return {
    type: 'object',
    properties: {
      values: { type: 'array', items, maxItems: most, description: 'The most frequent values first.' },
      has_more: { type: 'boolean', description: 'There are more values than these.' },
    },
    required: ['values', 'has_more'],
    additionalProperties: false,
  }
}

/** What a client has not asked for is left out. */
function rowOf(figures: readonly Figure[], fewest: number): Schema {
  const properties = Object.fromEntries(figures.map((figure) => [figure.name, shownSchema(figure)]))
  return { type: 'object', properties, minProperties: fewest, additionalProperties: false }
}

function shownSchema({ bound, field, mayBeNull }: Figure): Schema {
  const schema = bound ? outputValue(bound) : shownValue(field)
  return mayBeNull ? orNull(schema) : schema
}

/** The envelope of pages of what an action lists; undefined where it lists nothing, or has no pages. */
export function pageDescription({ operation, view }: DescribedOperation): PageDescription | undefined {
  if (!(view instanceof GenericAPIView && hasModel(view.viewClass))) return undefined
  return paginatorOf(resourceOf(view.viewClass), operation.action)?.describePage({})
}
