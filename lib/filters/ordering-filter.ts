/** Orders a list as the client asks: `?ordering=-price,author__name` (promise C9). */

import { ConfigurationError, ValidationError } from '../kernel/errors.js'
import { didYouMean } from '../kernel/near-miss.js'
import { oncePer, RecentMap } from '../kernel/once-per.js'
import { takeOptions, takesOptions } from '../kernel/option-kinds.js'
import { modelName } from '../models/objection.js'
import type { OrderTerm } from '../queryset/total-order.js'
import {
  BaseFilter,
  type FilterSettings,
  lastValueOf,
  type ParameterDescription,
  type QueryParameters,
} from './filter.js'
import { declaredTerm } from './resolve-paths.js'

/** Options of `OrderingFilter`. */
export interface OrderingFilterOptions {
  /** The most terms of an order. @default 10 */
  readonly maxTerms?: number
}

/**
 * Orders by the view's `orderingFields`, columns of the model or of the one object that relations lead to, in the parameter
 * `ordering`, separated by commas; `-` before a name turns its order. Other names are ignored; when none is left the view's
 * `ordering` counts.
 * @example
 * static override filterBackends = [OrderingFilter]
 * static override orderingFields = ['price', 'title', 'author__name']
 * static override ordering = ['-created_at']
 */
export class OrderingFilter extends BaseFilter {
  declare readonly asks?: 'ordering'
  readonly maxTerms: number
  /** What clients have asked for last, by its text: one order is one object, and so is what others keep of it. */
  readonly #asked = oncePer<FilterSettings, RecentMap<readonly OrderTerm[]>>(() => new RecentMap(64))

  constructor(options: OrderingFilterOptions = {}) {
    super()
    takeOptions(this, options)
    this.maxTerms = options.maxTerms ?? 10
  }

  override ordering(query: QueryParameters, settings: FilterSettings): readonly OrderTerm[] | null {
    const text = lastValueOf(query, PARAMETER)
    if (text === undefined) return null
    const asked = this.#asked(settings)
    const known = asked.get(text)
    if (known) return known
    const terms = this.#terms(text, settings)
    if (terms && text.length <= LONGEST_TEXT) asked.set(text, terms)
    return terms
  }

  #terms(text: string, settings: FilterSettings): readonly OrderTerm[] | null {
    const names = text.split(',').filter((name) => name.trim() !== '')
    if (names.length > this.maxTerms) {
      throw new ValidationError({ [PARAMETER]: [`Give at most ${this.maxTerms} terms.`] })
    }
    const allowed = allowedTerms(settings)
    const terms = new Map<string, OrderTerm>()
    for (const name of names) {
      const term = allowed.get(name.trim())
      if (term && !terms.has(term.property)) terms.set(term.property, term)
    }
    return terms.size > 0 ? [...terms.values()] : null
  }

  override parameters(settings: FilterSettings): readonly ParameterDescription[] {
    const terms = [...allowedTerms(settings).keys()]
    if (terms.length === 0) return []
    return [
      {
        name: PARAMETER,
        description: 'Fields to order by; a hyphen turns the order.',
        schema: { type: 'array', items: { type: 'string', enum: terms } },
        explode: false,
        ignoresUnknown: true,
      },
    ]
  }

  override check(settings: FilterSettings): void {
    const { name, model, orderingFields } = settings
    const allowed = allowedTerms(settings)
    const unknown: string[] = []
    for (const field of orderingFields) {
      const column = allowed.get(field)?.related?.column ?? model.columns.get(field)
      if (!column) unknown.push(field)
      else if (!column.isOrdered) {
        throw new ConfigurationError(
          `${name}: orderingFields names "${field}" of type ${column.sqlType}, whose values have no order; leave it out`,
        )
      }
    }
    if (unknown.length === 0) return
    const [first = ''] = unknown
    const near = first.startsWith('-') ? '' : didYouMean(first, model.columns.keys())
    throw new ConfigurationError(
      `${name}: orderingFields names ${unknown.map((one) => `"${one}"`).join(', ')}, which is no column of ${modelName(model.model)}${near || '; name its own columns, or paths to columns of one related object, without "-"'}`,
    )
  }
}

takesOptions<OrderingFilterOptions>(OrderingFilter, { maxTerms: 'size' })

const PARAMETER = 'ordering'
/** What clients have sent is not kept where it is longer. */
const LONGEST_TEXT = 128

/** The terms a client may ask for, by their strings. */
const allowedTerms = oncePer(({ name, model, orderingFields }: FilterSettings): ReadonlyMap<string, OrderTerm> => {
  const texts = orderingFields.flatMap((field) => [field, `-${field}`])
  return new Map(texts.map((text) => [text, declaredTerm(`${name}: orderingFields`, model, text)]))
})
