/** Query dialects: lists as clients of other APIs ask for them, read as the parameters of the view set. */
import { ORDERING } from '../aggregates/read-asked.js'
import { type ParameterDescription, type QueryParameters, readNamed } from '../filters/filter.js'
import { ValidationError } from '../kernel/errors.js'
import { parseJson } from '../kernel/parse-json.js'
import { isRecord } from '../kernel/records.js'
import type { LimitOffsetPagination } from '../pagination/limit-offset-pagination.js'
import { parameterText } from './steps/parameter-text.js'

/** Of `ra-data-simple-rest`; of json-server, `@refinedev/simple-rest` and `ra-data-json-server`. */
export type QueryDialect = 'simple-rest' | 'json-server'

/** The names that the view set has for what is asked. */
export interface OwnNames {
  /** The parameters of filter backends. */
  readonly filters: ReadonlySet<string>
  readonly search: string
  readonly paginator: Pick<LimitOffsetPagination, 'limitQueryParam' | 'offsetQueryParam' | 'maxLimit'>
}

/** What a request asks in a dialect. */
interface Asked {
  /** Terms of the order, such as `-title`. */
  readonly order: readonly string[] | undefined
  /** The position of the first object, and of the one behind the last. */
  readonly slice: readonly [start: number, end: number] | undefined
  readonly filters: Readonly<Record<string, unknown>>
  /** Parameters that are none of the dialect's. */
  readonly others: QueryParameters
}

interface Dialect {
  readonly parameters: readonly ParameterDescription[]
  /** @throws ValidationError */
  read(query: QueryParameters, names: OwnNames): Asked
}

const text = (name: string, description: string) => ({ name, description, schema: { type: 'string' } })
const position = (name: string, description: string) => ({ name, description, schema: { type: 'integer', minimum: 0 } })

export const DIALECTS: Readonly<Record<QueryDialect, Dialect>> = {
  'simple-rest': {
    parameters: [
      text('sort', 'A field and a direction: `["title","ASC"]`.'),
      text('range', 'The positions of the first and the last object: `[0,9]`.'),
      text('filter', 'An object of filters, as parameters have them; a list is any of its values: `{"id":[1,2]}`.'),
    ],
    read({ sort, range, filter, ...others }) {
      const order = jsonOf('sort', sort, isSort)
      const slice = jsonOf('range', range, isRange)
      return {
        order: order && [termOf(order[0], order[1])],
        slice: slice && [slice[0], slice[1] + 1],
        filters: jsonOf('filter', filter, isRecord) ?? {},
        others,
      }
    },
  },
  'json-server': {
    parameters: [
      position('_start', 'The position of the first object.'),
      position('_end', 'The position behind the last object.'),
      text('_sort', 'Fields to order by, commas between.'),
      text('_order', 'Their directions, `asc` or `desc`, commas between.'),
    ],
    read({ _start, _end, _sort, _order, ...rest }, names) {
      const directions = lastOf(_order)?.split(',') ?? []
      const entries = Object.entries(rest).map(([name, value]) => {
        const own = ownFilter(name, value, names)
        const isList = own !== undefined && names.filters.has(severalOf(own))
        return { name, own, value: isList || own === undefined ? value : lastOf(value) }
      })
      return {
        order: lastOf(_sort)
          ?.split(',')
          .map((field, index) => termOf(field, directions[index] ?? 'asc')),
        slice: sliceOf(lastOf(_start), lastOf(_end)),
        filters: Object.fromEntries(entries.flatMap(({ own, value }) => (own === undefined ? [] : [[own, value]]))),
        others: Object.fromEntries(
          entries.filter(({ own }) => own === undefined).map(({ name, value }) => [name, value]),
        ),
      }
    },
  },
}

/**
 * The same in the parameters of the view set. Where the dialect asks for no slice, it is as many objects as there may be; what a
 * link to another page says in our own parameters goes before it.
 * @throws ValidationError
 */
export function readDialect(dialect: QueryDialect, query: QueryParameters, names: OwnNames): QueryParameters {
  const { order, slice, filters, others } = DIALECTS[dialect].read(query, names)
  const { limitQueryParam, offsetQueryParam, maxLimit } = names.paginator
  const asked: Record<string, QueryParameters[string]> = Object.create(null)
  for (const name of Object.keys(filters)) addFilter(asked, filters, name, { names, around: '' })
  if (order) asked[ORDERING] = order.join(',')
  if (slice) asked[offsetQueryParam] = String(slice[0])
  const isAsked = Object.keys(asked).length > 0
  if (isAsked) asked[limitQueryParam] = String(slice ? slice[1] - slice[0] : maxLimit)
  return Object.assign(asked, others)
}

/** A filter as `FieldFilter` reads it: a path has `__` between its parts, several values are those of `in`, or of `nin`, null is `isnull`. */
function addFilter(
  asked: Record<string, QueryParameters[string]>,
  container: Readonly<Record<string, unknown>>,
  name: string,
  { names, around }: { readonly names: OwnNames; readonly around: string },
): void {
  const path = name.replaceAll('.', '__')
  const value = container[name]
  if (isRecord(value)) {
    for (const part of Object.keys(value)) addFilter(asked, value, part, { names, around: `${around}${path}__` })
    return
  }
  const own = around + path
  const isText = own === 'q' && !names.filters.has(own)
  if (value === null) asked[`${own}__isnull`] = 'true'
  else if (Array.isArray(value)) {
    const several = takesSeveral(own, names) ? own : severalOf(own)
    // one value may have commas, which a list has between its values
    const isOne = several !== own && value.length === 1 && names.filters.has(own) && String(value[0]).includes(',')
    asked[isOne ? own : several] = textOf(isOne ? value : container, isOne ? '0' : name, several)
  } else asked[isText ? names.search : own] = textOf(container, name, own)
}

/** The filter by several values in place of one. */
function severalOf(name: string): string {
  return name.endsWith('__ne') ? name.replace(/ne$/, 'nin') : `${name}__in`
}

/** True for a filter that takes several values by itself: those of `contains` where the column holds a list, which has no `in`. */
function takesSeveral(name: string, { filters }: OwnNames): boolean {
  const [, path = '', lookup] = /^(.+)__(in|nin|range|contains|overlap|contained_by)$/.exec(name) ?? []
  if (lookup === undefined || !filters.has(name)) return false
  return /^(?:in|nin|range)$/.test(lookup) || !filters.has(`${path}__in`)
}

/** @throws ValidationError */
function textOf(container: object, key: string, name: string): string {
  return readNamed(name, () => parameterText(container, key))
}

/** The filter that a name of json-server stands for, where the view set has it: `price__gte` for `price_gte`; undefined for no other. */
function ownFilter(name: string, value: unknown, { filters }: OwnNames): string | undefined {
  const path = name.replaceAll('.', '__')
  if (Array.isArray(value) && filters.has(severalOf(path))) return path
  if (filters.has(name)) return undefined
  if (path === 'q' || filters.has(path)) return path
  const [, field = '', operator = ''] = /^(.+)_(ne|gte|lte|like)$/.exec(path) ?? []
  const own = `${field}__${operator === 'like' ? 'icontains' : operator}`
  return filters.has(own) ? own : undefined
}

function termOf(field: string, direction: string): string {
  return (direction.toLowerCase() === 'desc' ? '-' : '') + field.replaceAll('.', '__')
}

function sliceOf(start: string | undefined, end: string | undefined): Asked['slice'] {
  if (start === undefined && end === undefined) return undefined
  const range = [Number(start ?? 0), Number(end) - 1]
  if (!isRange(range)) throw new ValidationError({ [end === undefined ? '_end' : '_start']: ['Invalid value.'] })
  return [range[0], range[1] + 1]
}

/** What a parameter says as JSON. @throws ValidationError */
function jsonOf<T>(name: string, value: QueryParameters[string], isRight: (json: unknown) => json is T): T | undefined {
  const given = lastOf(value)
  if (given === undefined) return undefined
  let json: unknown
  try {
    json = parseJson(given)
  } catch {
    json = undefined
  }
  if (isRight(json)) return json
  throw new ValidationError({ [name]: ['Invalid value.'] })
}

function lastOf(value: QueryParameters[string]): string | undefined {
  return typeof value === 'string' ? value : value?.at(-1)
}

function isSort(json: unknown): json is readonly [string, string] {
  return Array.isArray(json) && json.length === 2 && json.every((one) => typeof one === 'string')
}

function isRange(json: unknown): json is readonly [number, number] {
  if (!Array.isArray(json) || json.length !== 2) return false
  const [first, last] = json as unknown[]
  return (
    Number.isSafeInteger(first) &&
    Number.isSafeInteger(last) &&
    (first as number) >= 0 &&
    (last as number) >= (first as number)
  )
}
