/** Filters by fields: `?price__lt=10&author__name=Ada` (spec section 4.8, promises C1 to C8). */
import { type ErrorMessages, ValidationError } from '../errors.js'
import type { IDContext } from '../ids/codec.js'
import type { AnyQueryBuilder } from '../models/objection.js'
import type { SqlPart } from '../queryset/keyset.js'
import { externalPath, type FieldPath, resolvePaths, SEPARATOR } from './field-path.js'
import {
  BaseFilter,
  type FilterPart,
  type FilterView,
  lastValueOf,
  oncePerView,
  type ParameterDescription,
  type QueryParameters,
} from './filter.js'
import { LOOKUPS, type Lookup, Operand } from './lookups.js'

export interface FieldFilterOptions {
  /** The most filters in a request. @default 50 */
  readonly maxFilters?: number
}

/** What a parameter asks for, once its text was read. */
interface Condition {
  readonly shape: string
  readonly values: readonly unknown[]
  /** The SQL is known only once the query is built. */
  readonly narrowed: boolean
  where(table: string): SqlPart
}

/** A parameter that filters, settled before any request. */
interface Filter {
  readonly description: ParameterDescription
  /** Where it stands among the others: the same parameters in another order are the same SQL. */
  readonly position: number
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
  readonly maxFilters: number

  constructor({ maxFilters = 50 }: FieldFilterOptions = {}) {
    super()
    this.maxFilters = maxFilters
  }

  override read(query: QueryParameters, view: FilterView, caller: IDContext = {}): FilterPart | null {
    const asked = this.#read(query, compiled(view), caller)
    if (asked.length === 0) return null
    return {
      shape: asked.some(({ narrowed }) => narrowed) ? null : `filter ${asked.map(({ shape }) => shape).join('&')}`,
      values: asked.flatMap(({ values }) => values),
      apply: (builder) => apply(builder, asked),
    }
  }

  override parameters(view: FilterView): readonly ParameterDescription[] {
    return [...compiled(view).filters.values()].map(({ description }) => description)
  }

  override check(view: FilterView): void {
    compiled(view)
  }

  #read(query: QueryParameters, { filters, fields, longestField }: Compiled, caller: IDContext): readonly Condition[] {
    const found: (readonly [Filter, Condition])[] = []
    const errors: ErrorMessages = {}
    let count = 0
    for (const name of Object.keys(query)) {
      const filter = filters.get(name)
      const field = filter ? undefined : declaredField(name, fields, longestField)
      if (!filter && field === undefined) continue
      if (++count > this.maxFilters) throw new ValidationError(`Give at most ${this.maxFilters} filters.`)
      if (!filter) {
        // what a client calls a lookup is repeated only where it is a plain word
        const key = PLAIN.test(name) ? name : (field as string)
        errors[key] = [`Unknown lookup. Use one of: ${(fields.get(field as string) as string[]).join(', ')}.`]
        continue
      }
      try {
        found.push([filter, filter.read(lastValueOf(query, name) ?? '', caller)])
      } catch (error) {
        if (!(error instanceof ValidationError)) throw error
        errors[name] = error.messages
      }
    }
    if (Object.keys(errors).length > 0) throw new ValidationError(errors)
    return found.sort(([one], [other]) => one.position - other.position).map(([, condition]) => condition)
  }
}

const PLAIN = /^\w{1,64}$/

function apply(query: AnyQueryBuilder, conditions: readonly Condition[]): void {
  const table = query.tableRefFor(query.modelClass())
  for (const condition of conditions) {
    const { sql, bindings } = condition.where(table)
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

const compiled = oncePerView((view): Compiled => {
  const paths = resolvePaths(`${view.name}: filtersetFields`, view.model, view.filtersetFields)
  const fields = new Map<string, readonly string[]>()
  const filters = new Map<string, Filter>()
  const add = (name: string, filter: Omit<Filter, 'position'>) => {
    filters.set(name, { ...filter, position: filters.size })
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
    if (operand.comparable) add(path.name, compareBy(path.name, exact, path, operand))
  }
  for (const { path, present, operand } of operands) {
    const lookups = [...LOOKUPS].filter(([, lookup]) => operand.takes(lookup))
    for (const [suffix, lookup] of lookups) {
      const name = path.name + SEPARATOR + suffix
      if (!filters.has(name)) add(name, compareBy(name, lookup, path, operand))
    }
    const name = path.name + SEPARATOR + IS_NULL
    if (!filters.has(name)) add(name, isNull(name, present))
    fields.set(path.name, [...lookups.map(([suffix]) => suffix), IS_NULL])
  }
  return { filters, fields, longestField: Math.max(0, ...paths.map(({ name }) => name.length)) }
})

function compareBy(name: string, lookup: Lookup, path: FieldPath, operand: Operand): Omit<Filter, 'position'> {
  const sql = lookup.sql(operand)
  const { narrowed } = path
  return {
    description: { name, description: `${path.name} ${lookup.description}.`, ...lookup.parameter(operand) },
    read(text, caller) {
      const values = lookup.values(text, operand, caller)
      return {
        shape: name,
        values,
        narrowed,
        where: (table) => path.where(table, (reference) => ({ sql, bindings: [reference, ...values] })),
      }
    },
  }
}

const IS_NULL = 'isnull'

/** Of a related field `true` says that no related object has a value, so that it is always the opposite of `false`. */
function isNull(name: string, path: FieldPath): Omit<Filter, 'position'> {
  const condition = (table: string, nothing: boolean): SqlPart => {
    const isNothing = nothing && !path.related
    const { sql, bindings } = path.where(table, (reference) => ({
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
        shape: `${name}=${text}`,
        values: [],
        narrowed: path.narrowed,
        where: (table) => condition(table, text === 'true'),
      }
    },
  }
}
