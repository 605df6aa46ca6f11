/** Aggregates and facets of a view: what clients may ask of all objects together, decided once of what its class declares. */

import type { FilterSettings } from '../filters/filter.js'
import { filtersetOf } from '../filters/filterset.js'
import { SEPARATOR } from '../filters/resolve-paths.js'
import { externalKey } from '../ids/external-ids.js'
import { ConfigurationError } from '../kernel/errors.js'
import { quote } from '../kernel/quote.js'
import { modelName } from '../models/objection.js'
import type { SerializerPlan } from '../serializers/contract.js'
import { Aggregate, type AggregateName } from './aggregate.js'
import { Figure } from './figure.js'
import { COUNTING, FUNCTIONS } from './functions.js'
import { type Declaring, fieldPathOf, groupFigure, holdsNull, refuseHidden, shownAs } from './group-figure.js'

/** What a view class declares of its aggregates and facets. */
export interface AggregateDeclarations {
  readonly aggregates: Readonly<Record<string, unknown>>
  readonly groupBy: readonly string[]
  readonly facets: readonly string[]
}

/** A value by which objects are counted, under all filters but its own. */
export interface Facet {
  readonly figure: Figure
  /** The parameters that filter by the same column, which count for all facets but this one. */
  readonly own: ReadonlySet<string>
}

/** What clients may ask, by name. */
export class AggregatePlan {
  readonly aggregates: ReadonlyMap<string, Figure>
  readonly groups: ReadonlyMap<string, Figure>
  readonly facets: ReadonlyMap<string, Facet>

  /**
   * @param view what filter backends know of the class
   * @param serializer what the view's serializer shows; undefined where that depends on the request
   * @throws {ConfigurationError} every mistake, one a line
   */
  constructor(settings: FilterSettings, declared: AggregateDeclarations, serializer: SerializerPlan | undefined) {
    const { name, model } = settings
    const mistakes: string[] = []
    const collect = <T>(work: () => T): T[] => {
      try {
        return [work()]
      } catch (error) {
        if (!(error instanceof ConfigurationError)) throw error
        mistakes.push(error.message)
        return []
      }
    }
    const at = (attribute: string): Declaring => ({ where: `${name}: ${attribute}`, model, serializer })
    const groups = declared.groupBy.flatMap((group) => collect(() => groupFigure(named(at('groupBy'), group), group)))
    const figures = Object.entries(declared.aggregates).flatMap(([key, value]) =>
      collect(() => aggregateFigure(named(at(`aggregates.${key}`), key), key, value)),
    )
    const facets = declared.facets.flatMap((facet) =>
      collect(() => {
        const figure = groupFigure(named(at('facets'), facet), facet)
        return { figure, own: ownFilters(settings, figure) }
      }),
    )
    this.groups = new Map(groups.map((figure) => [figure.name, figure]))
    this.aggregates = new Map(figures.map((figure) => [figure.name, figure]))
    this.facets = new Map(facets.map((facet) => [facet.figure.name, facet]))
    for (const key of this.aggregates.keys()) {
      if (this.groups.has(key)) mistakes.push(`${name}: aggregates.${key} has the name of one of groupBy; rename it`)
    }
    if (groups.length > 0 && Object.keys(declared.aggregates).length === 0) {
      mistakes.push(`${name}: groupBy needs static aggregates, such as { objects: count() }`)
    }
    if (mistakes.length > 0) throw new ConfigurationError(mistakes.join('\n'))
  }
}

/** Names stand in a list with commas between, `-` before them in an order. @throws {ConfigurationError} */
function named(declaring: Declaring, name: string): Declaring {
  if (NAME.test(name) && name !== '__proto__') return declaring
  throw new ConfigurationError(
    `${declaring.where}: the name ${quote(name)} cannot stand in a query; take letters, digits and "_"`,
  )
}

const NAME = /^[\p{L}\p{M}\p{N}_]+$/u

function aggregateFigure(declaring: Declaring, name: string, declared: unknown): Figure {
  const { where, model } = declaring
  if (!(declared instanceof Aggregate)) {
    throw new ConfigurationError(`${where} is ${quote(declared)}; write count(), sum('price') or the like`)
  }
  if (declared.path === null) return new Figure({ name, ...COUNTING })
  if (declared.function === 'count') {
    throw new ConfigurationError(
      `${where} is count("${declared.path}"), the number of related objects of one object, which is for expandable; write count()`,
    )
  }
  const { function: called, path: column } = declared as Aggregate<Exclude<AggregateName, 'count'>, string>
  const { sql, result, takes, mayBeNull, counts } = FUNCTIONS[called]
  const path = fieldPathOf(declaring, column)
  refuseHidden(declaring, path)
  const key = externalKey(model, path.properties)
  if (key?.ids.hidesKeys && !counts) {
    throw new ConfigurationError(
      `${where} names "${column}", a key that ${modelName(key.ids.model)} hides behind external ids; count it by countDistinct()`,
    )
  }
  const { type, sqlType } = path.column
  const found = result(path.column)
  if (!found) {
    throw new ConfigurationError(`${where}: ${called}("${column}") is of type ${sqlType ?? type}; it takes ${takes}`)
  }
  const shown = found === 'same' ? shownAs(declaring, path) : found
  return new Figure({ name, path, ...shown, mayBeNull: mayBeNull || (found === 'same' && holdsNull(path)), wrap: sql })
}

/** The parameters that filter by the column of a facet: the column's name, and that with each of its lookups. */
function ownFilters(settings: FilterSettings, { name, column = name }: Figure): ReadonlySet<string> {
  const { fields } = filtersetOf(settings)
  const lookups = (fields.get(column) ?? []).map((lookup) => column + SEPARATOR + lookup)
  // a property may be called like another one's lookup
  return new Set([name, column, ...lookups.filter((lookup) => !fields.has(lookup))])
}
