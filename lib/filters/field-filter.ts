/** Filters by fields: `?price__lt=10&author__name=Ada` (promises C1 to C8). */

import type { IDContext } from '../ids/codec.js'
import { type ErrorMessages, ValidationError } from '../kernel/errors.js'
import { takeOptions, takesOptions } from '../kernel/option-kinds.js'
import type { AnyQueryBuilder } from '../models/objection.js'
import { PathStart } from './field-path.js'
import {
  BaseFilter,
  type FilterPart,
  type FilterView,
  lastValueOf,
  type ParameterDescription,
  type QueryParameters,
} from './filter.js'
import { type Condition, declaredField, type Filterset, filtersetOf, unknownLookup } from './filterset.js'

/** Options of `FieldFilter`. */
export interface FieldFilterOptions {
  /** The most filters in a request. @default 50 */
  readonly maxFilters?: number
}

/**
 * Filters by the view's `filtersetFields`: properties of the model, or of related models (`author__country__name`).
 * A parameter is a field, or a field with a lookup behind `__`, such as `gte`, `ne`, `in`, `icontains`, `isnull`; all of them are on
 * docs/reference/filter-language.md. Values are read by the column's type; a wrong one is 400. A name may also lead to a key of
 * a column of JSON (`meta__colour`).
 * Keys of models with external ids are read as such, with `exact` and `in`: one that leads nowhere matches nothing.
 * A related condition holds when one related object meets it; `isnull=true` when none has a value.
 * @example
 * static override filterBackends = [FieldFilter]
 * static override filtersetFields = ['price', 'author_id', 'author__name']
 */
export class FieldFilter extends BaseFilter {
  declare readonly asks?: 'filters'
  readonly maxFilters: number

  constructor(options: FieldFilterOptions = {}) {
    super()
    takeOptions(this, options)
    this.maxFilters = options.maxFilters ?? 50
  }

  override read(query: QueryParameters, view: FilterView, caller: IDContext = {}): FilterPart | null {
    const asked = this.#read(query, filtersetOf(view), caller)
    if (asked.length === 0) return null
    let shape: string | null = 'filter'
    let expensive = false
    const values: unknown[] = []
    for (const condition of asked) {
      shape = shape === null || condition.narrowed ? null : `${shape} ${condition.shape}`
      values.push(...condition.values)
      if (condition.expensive) expensive = true
    }
    return { shape, values, guarded: undefined, expensive, apply: (builder) => apply(builder, asked) }
  }

  override parameters(view: FilterView): readonly ParameterDescription[] {
    return [...filtersetOf(view).filters.values()].map(({ description }) => description)
  }

  override check(view: FilterView): void {
    filtersetOf(view)
  }

  #read(query: QueryParameters, filterset: Filterset, caller: IDContext): readonly Condition[] {
    const { filters } = filterset
    const found: Condition[] = []
    let errors: ErrorMessages | undefined
    let count = 0
    for (const name of Object.keys(query)) {
      const filter = filters.get(name)
      const field = filter ? undefined : declaredField(name, filterset)
      if (!filter && field === undefined) continue
      if (++count > this.maxFilters) throw new ValidationError(`Give at most ${this.maxFilters} filters.`)
      if (!filter) {
        // what a client calls a lookup is repeated only where it is a plain word
        const key = PLAIN.test(name) ? name : (field as string)
        errors ??= {}
        errors[key] = [unknownLookup(filterset, field as string)]
        continue
      }
      try {
        found.push(filter.read(lastValueOf(query, name) ?? '', caller))
      } catch (error) {
        if (!(error instanceof ValidationError)) throw error
        errors ??= {}
        errors[name] = error.messages
      }
    }
    if (errors) throw new ValidationError(errors)
    return found.sort(byPosition)
  }
}

takesOptions<FieldFilterOptions>(FieldFilter, { maxFilters: 'size' })

function byPosition(one: Condition, other: Condition): number {
  return one.position - other.position
}

const PLAIN = /^\w{1,64}$/

function apply(query: AnyQueryBuilder, conditions: readonly Condition[]): void {
  const start = new PathStart(query)
  for (const condition of conditions) {
    const { sql, bindings } = condition.where(start)
    void query.whereRaw(sql, bindings)
  }
}
