/** Filters by fields: `?price__lt=10&author__name=Ada` (promises C1 to C8). */

import { type ErrorMessages, ValidationError } from '../kernel/errors.js'
import { takeOptions, takesOptions } from '../kernel/option-kinds.js'
import {
  BaseFilter,
  every,
  type FilterCaller,
  type FilterCondition,
  type FilterRelation,
  type FilterSettings,
  lastValueOf,
  type ParameterDescription,
  type QueryParameters,
} from './filter.js'
import { declaredField, type Filterset, filtersetOf, type ParameterCondition, UnknownLookups } from './filterset.js'
import { placedInBody } from './group-of-json.js'
import { type GroupLimits, LONGEST_GROUP, parseGroup } from './parse-group.js'
import { type ReadGroup, readGroup } from './read-group.js'
import { askedRelationsOf, relationsIn } from './relations/asked-relation.js'
import { subQueriesOf } from './sub-queries.js'

/** Options of `FieldFilter`. */
export interface FieldFilterOptions<Group extends string = string> {
  /** The most filters in a request. @default 50 */
  readonly maxFilters?: number
  /**
   * The parameter that takes groups of conditions, `or(price__lt=10,not(author__name=Ada))`: see
   * docs/reference/filter-language.md. Null for none. @default null
   */
  readonly groupParam?: Group | null
  /** The most `and`, `or`, `not`, `any` and `none` around a condition of a group. @default 5 */
  readonly maxGroupDepth?: number
  /** The most conditions of a group. @default 50 */
  readonly maxGroupConditions?: number
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
export class FieldFilter<Group extends string = never> extends BaseFilter {
  declare readonly asks?: 'filters' | (string extends Group ? never : { readonly [P in Group]?: string })
  /** The most filters of a request. */
  readonly maxFilters: number
  /** The query parameter of groups; null for none. */
  readonly groupParam: Group | null
  readonly #limits: GroupLimits

  constructor(options: FieldFilterOptions<Group> = {}) {
    super()
    takeOptions(this, options)
    const { maxFilters = 50, groupParam = null, maxGroupDepth = 5, maxGroupConditions = 50 } = options
    this.maxFilters = maxFilters
    this.groupParam = groupParam
    this.#limits = {
      maxDepth: maxGroupDepth,
      maxConditions: maxGroupConditions,
    }
  }

  override read(query: QueryParameters, settings: FilterSettings, caller: FilterCaller = {}): FilterCondition | null {
    const filterset = filtersetOf(settings)
    const { groupParam } = this
    const text = groupParam === null ? undefined : lastValueOf(query, groupParam)
    const errors: ErrorMessages = {}
    const asked = this.#read(query, filterset, { caller, errors })
    const group = text === undefined ? undefined : this.#readGroup(text, settings, { query, caller, errors })
    if (Object.keys(errors).length > 0) throw new ValidationError(errors)
    if (asked.length === 0 && !group) return null
    const conditions = group ? [...asked, group] : asked
    return {
      where: (start) => every(conditions.map((condition) => condition.where(start))),
      // clients could write more groups than are worth keeping
      varied: group !== undefined,
      expensive: conditions.some(({ expensive }) => expensive),
      subQueries: subQueriesOf(conditions),
    }
  }

  override askedRelations(query: QueryParameters, settings: FilterSettings): readonly FilterRelation[] {
    const text = this.groupParam === null ? undefined : lastValueOf(query, this.groupParam)
    if (text === undefined || !settings.relations?.size) return []
    try {
      return [...relationsIn(parseGroup(text, this.#limits), settings)]
    } catch (error) {
      // read() says what is wrong
      if (error instanceof ValidationError) return []
      throw error
    }
  }

  override parameters(settings: FilterSettings): readonly ParameterDescription[] {
    const { filters } = filtersetOf(settings)
    const own = [...filters.values()].map(({ description }) => description)
    const relations = [...askedRelationsOf(settings).keys()]
    const isEmpty = filters.size === 0 && relations.length === 0
    return this.groupParam === null || isEmpty ? own : [...own, describeGroup(this.groupParam, relations)]
  }

  override check(settings: FilterSettings): void {
    filtersetOf(settings)
    askedRelationsOf(settings)
  }

  #read(query: QueryParameters, filterset: Filterset, { caller, errors }: Reading): readonly ParameterCondition[] {
    const { filters } = filterset
    const found: ParameterCondition[] = []
    let count = 0
    const lookups = new UnknownLookups()
    for (const name of Object.keys(query)) {
      const filter = filters.get(name)
      const field = filter ? undefined : declaredField(name, filterset)
      if (!filter && field === undefined) continue
      if (++count > this.maxFilters) throw new ValidationError(`Give at most ${this.maxFilters} filters.`)
      if (!filter) {
        // what a client calls a lookup is repeated only where it is a plain word
        const key = PLAIN.test(name) ? name : (field as string)
        errors[key] = [lookups.message(name, field as string, filterset)]
        continue
      }
      try {
        found.push(filter.read(lastValueOf(query, name) ?? '', caller))
      } catch (error) {
        errors[name] = messagesOf(error)
      }
    }
    return found.sort(byPosition)
  }

  #readGroup(
    text: string,
    settings: FilterSettings,
    { query, caller, errors }: Reading & { query: QueryParameters },
  ): ReadGroup | undefined {
    try {
      return readGroup(text, settings, { limits: this.#limits, caller })
    } catch (error) {
      const messages = messagesOf(error)
      errors[this.groupParam as string] = Array.isArray(messages) ? placedInBody(query, messages) : messages
      return undefined
    }
  }
}

takesOptions<FieldFilterOptions>(FieldFilter, {
  maxFilters: 'size',
  groupParam: 'name or null',
  maxGroupDepth: 'size',
  maxGroupConditions: 'size',
})

interface Reading {
  readonly caller: FilterCaller
  /** Where what is wrong is put, by parameter. */
  readonly errors: ErrorMessages
}

/** @throws whatever is no `ValidationError` */
function messagesOf(error: unknown): ValidationError['messages'] {
  if (error instanceof ValidationError) return error.messages
  throw error
}

function describeGroup(name: string, relations: readonly string[]): ParameterDescription {
  const related =
    relations.length === 0
      ? ''
      : ` Of related objects (${relations.join(', ')}): any(relation,…), none(relation,…) with a condition on them or without, count(relation)__gte=1.`
  return {
    name,
    description: `Conditions in groups: and(…,…), or(…,…), not(…). A condition is name=value with the name of another filter; values with spaces, commas, parentheses or quotation marks stand in quotation marks, \\" and \\\\ in them.${related}`,
    schema: { type: 'string', maxLength: LONGEST_GROUP },
  }
}

function byPosition(one: ParameterCondition, other: ParameterCondition): number {
  return one.position - other.position
}

const PLAIN = /^\w{1,64}$/
