/** Filters by fields: `?price__lt=10&author__name=Ada` (promises C1 to C8). */

import type { IDContext } from '../ids/codec.js'
import { type ErrorMessages, ValidationError } from '../kernel/errors.js'
import { oncePer } from '../kernel/once-per.js'
import { takeOptions, takesOptions } from '../kernel/option-kinds.js'
import type { AnyQueryBuilder } from '../models/objection.js'
import type { SqlPart } from '../queryset/keyset.js'
import { type FieldPath, PathStart } from './field-path.js'
import {
  BaseFilter,
  type FilterPart,
  type FilterView,
  lastValueOf,
  type ParameterDescription,
  type QueryParameters,
} from './filter.js'
import { LOOKUPS, type Lookup, Operand } from './lookups.js'
import { externalPath, resolvePaths, SEPARATOR } from './resolve-paths.js'

/** Options of `FieldFilter`. */
export interface FieldFilterOptions {
  /** The most filters in a request. @default 50 */
  readonly maxFilters?: number
}

/** What a parameter asks for, once its text was read. */
interface Condition {
  /** The filter's place among the others: the same parameters in another order are the same SQL. */
  readonly position: number
  readonly shape: string
  readonly values: readonly unknown[]
  /** The SQL is known only once the query is built. */
  readonly narrowed: boolean
  /** Costs the database as much as a search. */
  readonly expensive: boolean
  where(start: PathStart): SqlPart
}

/** A parameter, and where it stands among the others. */
type Place = Readonly<{ name: string; position: number }>

/** A parameter that filters, settled before any request. */
interface Filter {
  readonly description: ParameterDescription
  /** @throws ValidationError the text stands for no value */
  read(text: string, caller: IDContext): Condition
}

interface Compiled {
  readonly filters: ReadonlyMap<string, Filter>
  /** The lookups of each declared field. */
  readonly fields: ReadonlyMap<string, readonly string[]>
  readonly longestField: number
}

/**
 * Filters by the view's `filtersetFields`: properties of the model, or of related models (`author__country__name`).
 * A parameter is a field, or a field with a lookup: `exact`, `iexact`, `gt`, `gte`, `lt`, `lte`, `contains`,
 * `icontains`, `startswith`, `istartswith`, `endswith`, `iendswith`, `in` and `range` (separated by commas), `isnull`
 * (`true` or `false`). Values are read by the column's type; a wrong one is 400. Columns of JSON or lists have `isnull`.
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
    const asked = this.#read(query, compiled(view), caller)
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
    return [...compiled(view).filters.values()].map(({ description }) => description)
  }

  override check(view: FilterView): void {
    compiled(view)
  }

  #read(query: QueryParameters, { filters, fields, longestField }: Compiled, caller: IDContext): readonly Condition[] {
    const found: Condition[] = []
    let errors: ErrorMessages | undefined
    let count = 0
    for (const name of Object.keys(query)) {
      const filter = filters.get(name)
      const field = filter ? undefined : declaredField(name, fields, longestField)
      if (!filter && field === undefined) continue
      if (++count > this.maxFilters) throw new ValidationError(`Give at most ${this.maxFilters} filters.`)
      if (!filter) {
        // what a client calls a lookup is repeated only where it is a plain word
        const key = PLAIN.test(name) ? name : (field as string)
        errors ??= {}
        errors[key] = [`Unknown lookup. Use one of: ${(fields.get(field as string) as string[]).join(', ')}.`]
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

/** The declared field of a parameter whose lookup it does not have. */
function declaredField(name: string, fields: Compiled['fields'], longest: number): string | undefined {
  if (fields.has(name)) return name
  let end = name.indexOf(SEPARATOR)
  while (end > -1 && end <= longest) {
    const field = name.slice(0, end)
    if (fields.has(field)) return field
    end = name.indexOf(SEPARATOR, end + 1)
  }
  return undefined
}

const compiled = oncePer((view: FilterView): Compiled => {
  const paths = resolvePaths(`${view.name}: filtersetFields`, view.model, view.filtersetFields)
  const fields = new Map<string, readonly string[]>()
  const filters = new Map<string, Filter>()
  const add = (name: string, filter: (place: Place) => Filter) => {
    if (!filters.has(name)) filters.set(name, filter({ name, position: filters.size }))
  }
  const operands = paths.map((named) => {
    const external = externalPath(`${view.name}: filtersetFields`, view.model, named)
    const path = external?.path ?? named
    // a key that is stored elsewhere is present where the foreign key itself is
    return { path, present: named, operand: new Operand(path.column, external?.ids) }
  })
  // first the fields alone: a property may be called like another one's lookup
  for (const { path, operand } of operands) {
    const exact = LOOKUPS.get('exact') as Lookup
    if (operand.comparable) add(path.name, (place) => compareBy(place, exact, path, operand))
  }
  for (const { path, present, operand } of operands) {
    const lookups = [...LOOKUPS].filter(([, lookup]) => operand.takes(lookup))
    for (const [suffix, lookup] of lookups) {
      add(path.name + SEPARATOR + suffix, (place) => compareBy(place, lookup, path, operand))
    }
    add(path.name + SEPARATOR + IS_NULL, (place) => isNull(place, present))
    fields.set(path.name, [...lookups.map(([suffix]) => suffix), IS_NULL])
  }
  return { filters, fields, longestField: Math.max(0, ...paths.map(({ name }) => name.length)) }
})

function compareBy({ name, position }: Place, lookup: Lookup, path: FieldPath, operand: Operand): Filter {
  const sql = lookup.sql(operand)
  const { narrowed } = path
  return {
    description: { name, description: `${path.name} ${lookup.description}.`, ...lookup.parameter(operand) },
    read(text, caller) {
      const values = lookup.values(text, operand, caller)
      return {
        position,
        shape: name,
        values,
        narrowed,
        expensive: lookup.isPattern === true,
        where: (start) => path.where(start, (reference) => ({ sql, bindings: [reference, ...values] })),
      }
    },
  }
}

const IS_NULL = 'isnull'

/** Of a related field `true` says that no related object has a value, so that it is always the opposite of `false`. */
function isNull({ name, position }: Place, path: FieldPath): Filter {
  const condition = (start: PathStart, nothing: boolean): SqlPart => {
    const isNothing = nothing && !path.related
    const { sql, bindings } = path.where(start, (reference) => ({
      sql: isNothing ? '?? is null' : '?? is not null',
      bindings: [reference],
    }))
    return { sql: nothing && path.related ? `not ${sql}` : sql, bindings }
  }
  return {
    description: {
      name,
      description: `${path.name} has no value (true), or has one (false).`,
      schema: { type: 'boolean' },
    },
    read(text) {
      if (text !== 'true' && text !== 'false') throw new ValidationError('Must be true or false.')
      return {
        position,
        shape: `${name}=${text}`,
        values: [],
        narrowed: path.narrowed,
        expensive: false,
        where: (start) => condition(start, text === 'true'),
      }
    },
  }
}
