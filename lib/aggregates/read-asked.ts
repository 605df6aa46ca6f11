/** Query parameters of aggregates and facets: `?group_by=country_id&aggregate=total&ordering=-total`. */
import { lastValueOf, type ParameterDescription, type QueryParameters } from '../filters/filter.js'
import { type ErrorMessages, ValidationError } from '../kernel/errors.js'
import { unknownAmong } from '../kernel/unknown-names.js'
import type { AggregatePlan, Facet } from './aggregate-plan.js'
import type { Figure } from './figure.js'

/** The parameters of aggregates. */
const GROUP_BY = 'group_by'
const AGGREGATE = 'aggregate'
export const ORDERING = 'ordering'
/** That of facets. */
const FACET = 'facet'

const REPEATED = 'Name each only once.'

/** A term of an order: the place of a column among those that are selected. */
export interface FigureOrder {
  readonly position: number
  readonly descending: boolean
}

/** Which values a request wants: those that it groups by, then those of each group. */
export interface AskedFigures {
  /** How many of the figures the objects are grouped by; with none there is one group, of all objects. */
  readonly groups: number
  readonly figures: readonly Figure[]
  /** It is total: all groups are in it. */
  readonly order: readonly FigureOrder[]
}

/** @throws ValidationError naming the parameters */
export function readFigures(query: QueryParameters, plan: AggregatePlan): AskedFigures {
  const errors: ErrorMessages = {}
  const groups = readNames(query, GROUP_BY, plan.groups, errors) ?? []
  const values = readNames(query, AGGREGATE, plan.aggregates, errors) ?? [...plan.aggregates.values()]
  const figures = [...groups, ...values]
  const order = readOrder(query, figures, errors)
  if (Object.keys(errors).length > 0) throw new ValidationError(errors)
  const ordered = new Set(order.map(({ position }) => position))
  const ties = groups.flatMap((_, position) => (ordered.has(position) ? [] : [{ position, descending: false }]))
  return { groups: groups.length, figures, order: [...order, ...ties] }
}

/** All that may be asked of a view, in one: for `explain()`. */
export function allFigures({ groups, aggregates }: AggregatePlan): AskedFigures {
  const order = [...groups.keys()].map((_, position) => ({ position, descending: false }))
  return { groups: groups.size, figures: [...groups.values(), ...aggregates.values()], order }
}

/** @throws ValidationError naming the parameter */
export function readFacets(query: QueryParameters, plan: AggregatePlan): readonly Facet[] {
  const errors: ErrorMessages = {}
  const facets = readNames(query, FACET, plan.facets, errors) ?? [...plan.facets.values()]
  if (Object.keys(errors).length > 0) throw new ValidationError(errors)
  return facets
}

/** The values that a parameter names, in its order; undefined where it is not there. What is wrong is put into `errors`. */
function readNames<T>(
  query: QueryParameters,
  parameter: string,
  known: ReadonlyMap<string, T>,
  errors: ErrorMessages,
): T[] | undefined {
  const names = namesIn(query, parameter, known.size)
  if (!names) return undefined
  const found = names.flatMap((name) => known.get(name) ?? [])
  const unknown = unknownAmong(names, known.keys())
  if (unknown !== undefined) errors[parameter] = [unknown]
  else if (new Set(names).size < names.length) errors[parameter] = [REPEATED]
  return found
}

function readOrder(query: QueryParameters, figures: readonly Figure[], errors: ErrorMessages): readonly FigureOrder[] {
  const positions = new Map(figures.map(({ name }, position) => [name, position]))
  const terms = (namesIn(query, ORDERING, figures.length) ?? []).map((term) => {
    const descending = term.startsWith('-')
    const name = descending ? term.slice(1) : term
    return { name, position: positions.get(name), descending }
  })
  const known = terms.filter((term): term is FigureOrder & { name: string } => term.position !== undefined)
  const unknown = unknownAmong(
    terms.map(({ name }) => name),
    positions.keys(),
  )
  if (unknown !== undefined) errors[ORDERING] = [unknown]
  else if (new Set(known.map(({ position }) => position)).size < known.length) errors[ORDERING] = [REPEATED]
  return known
}

/** The names between commas. One more than there can be is enough to find one that is wrong. */
function namesIn(query: QueryParameters, parameter: string, most: number): string[] | undefined {
  return lastValueOf(query, parameter)
    ?.split(',', most + 1)
    .map((name) => name.trim())
}

/** The parameters of aggregates. */
export function figureParameters({ groups, aggregates }: AggregatePlan): readonly ParameterDescription[] {
  const names = [...groups.keys(), ...aggregates.keys()]
  const terms = names.flatMap((name) => [name, `-${name}`])
  const grouping = list(GROUP_BY, 'What objects are grouped by; without it there is one group of all.', [
    ...groups.keys(),
  ])
  return [
    ...(groups.size > 0 ? [grouping] : []),
    list(AGGREGATE, 'What is computed of each group; without it all there is.', [...aggregates.keys()]),
    list(ORDERING, 'What of that the groups are ordered by; a hyphen turns the order.', terms),
  ]
}

/** The parameter of facets. */
export function facetParameters({ facets }: AggregatePlan): readonly ParameterDescription[] {
  return [list(FACET, 'What objects are counted by; without it all there is.', [...facets.keys()])]
}

function list(name: string, description: string, values: readonly string[]): ParameterDescription {
  const schema = { type: 'array', items: { type: 'string', enum: values }, minItems: 1, uniqueItems: true }
  return { name, description, schema, explode: false }
}
