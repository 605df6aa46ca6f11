/** What a view's `filtersetFields` let clients ask: each parameter, how its text is read, and the SQL it stands for. */

import type { IDContext } from '../ids/codec.js'
import { ValidationError } from '../kernel/errors.js'
import { getOrInsert } from '../kernel/maps.js'
import { oncePer } from '../kernel/once-per.js'
import { UnknownNames } from '../kernel/unknown-names.js'
import { nullTest } from '../models/model-description.js'
import type { FieldPath } from './field-path.js'
import type { FilterSettings, ParameterDescription } from './filter.js'
import { LONGEST_PATTERN, LOOKUPS, type Lookup, Operand } from './lookups.js'
import { lookupsOf } from './lookups-of.js'
import { externalPath, resolvePaths, SEPARATOR } from './resolve-paths.js'
import { type CostedCondition, onPath } from './sub-queries.js'
import { cutText } from './text-match.js'

/** What a parameter asks for, once its text was read. */
export interface ParameterCondition extends CostedCondition {
  /** The filter's place among the others: the same parameters in another order are the same SQL. */
  readonly position: number
  /** Costs the database as much as a search. */
  readonly expensive: boolean
}

/** A parameter, and where it stands among the others. */
type Place = Readonly<{ name: string; position: number }>

/** A parameter that filters, settled before any request. */
export interface Filter {
  readonly description: ParameterDescription
  /** @throws ValidationError the text stands for no value */
  read(text: string, caller: IDContext): ParameterCondition
}

/** All that clients may ask of a view's columns. */
export interface Filterset {
  readonly filters: ReadonlyMap<string, Filter>
  /** The lookups of each declared field. */
  readonly fields: ReadonlyMap<string, readonly string[]>
  readonly longestField: number
}

/** The declared field of a parameter whose lookup it does not have. */
export function declaredField(name: string, { fields, longestField: longest }: Filterset): string | undefined {
  if (fields.has(name)) return name
  let end = name.indexOf(SEPARATOR)
  while (end > -1 && end <= longest) {
    const field = name.slice(0, end)
    if (fields.has(field)) return field
    end = name.indexOf(SEPARATOR, end + 1)
  }
  return undefined
}

/** What a client is told of lookups that fields do not have: what there are of each field once. */
export class UnknownLookups {
  readonly #told = new Map<string, UnknownNames>()

  /** @param name the parameter, of a declared field and a lookup */
  message(name: string, field: string, { fields }: Filterset): string {
    const unknown = getOrInsert(this.#told, field, () => new UnknownNames('lookup'))
    const lookup = name.slice(field.length + SEPARATOR.length)
    // one that other columns have is not misspelt
    return unknown.message(LOOKUPS.has(lookup) ? '' : lookup, () => fields.get(field) as readonly string[])
  }
}

/** What a view's clients may ask, the same for as long as its catalogue is. @throws {ConfigurationError} */
export const filtersetOf = oncePer((settings: FilterSettings): Filterset => {
  const paths = resolvePaths(`${settings.name}: filtersetFields`, settings.model, settings.filtersetFields, {
    keys: true,
  })
  const fields = new Map<string, readonly string[]>()
  const filters = new Map<string, Filter>()
  const add = (name: string, filter: (place: Place) => Filter) => {
    if (!filters.has(name)) filters.set(name, filter({ name, position: filters.size }))
  }
  const operands = paths.map((named) => {
    const external = externalPath(`${settings.name}: filtersetFields`, settings.model, named)
    const path = external?.path ?? named
    // a key that is stored elsewhere is present where the foreign key itself is
    return { path, present: named, operand: new Operand(path.column, { ids: external?.ids, isKey: path.isKey }) }
  })
  // first the fields alone: a property may be called like another one's lookup
  for (const { path, operand } of operands) {
    const exact = LOOKUPS.get('exact') as Lookup
    if (operand.comparable) add(path.name, (place) => compareBy(place, exact, path, operand))
  }
  for (const { path, present, operand } of operands) {
    const lookups = lookupsOf(operand)
    for (const [suffix, lookup] of lookups) {
      add(path.name + SEPARATOR + suffix, (place) => compareBy(place, lookup, path, operand))
    }
    add(path.name + SEPARATOR + IS_NULL, (place) => isNull(place, present))
    fields.set(path.name, [...lookups.map(([suffix]) => suffix), IS_NULL])
  }
  return { filters, fields, longestField: Math.max(0, ...paths.map(({ name }) => name.length)) }
})

function compareBy({ name, position }: Place, lookup: Lookup, path: FieldPath, operand: Operand): Filter {
  const { related, target } = path
  // a value of a column is named once
  const found = lookup.sql(operand).replace('??', () => target)
  const sql = lookup.negated && !related ? `(${found}) is not true` : found
  const isOpposite = lookup.negated === true && related
  return {
    description: { name, description: `${path.name} ${lookup.description}.`, ...lookup.parameter(operand) },
    read(text, caller) {
      if (lookup.isPattern && cutText(text, LONGEST_PATTERN) !== text)
        throw new ValidationError(`Give at most ${LONGEST_PATTERN} characters.`)
      const values = lookup.values(text, operand, caller)
      const asked = onPath(path, (reference) => ({ sql, bindings: [reference, ...values] }))
      return {
        position,
        expensive: lookup.isPattern === true,
        ...(isOpposite ? opposite(asked) : asked),
      }
    },
  }
}

function opposite({ subQueries, where }: CostedCondition): CostedCondition {
  return {
    subQueries,
    where(start) {
      const { sql, bindings } = where(start)
      return { sql: `not ${sql}`, bindings }
    },
  }
}

const IS_NULL = 'isnull'

/**
 * SQL with `??` for the column's name that it has no value, or has one. Of a related field nothing says that no related object
 * has a value, so that it is always the opposite of the other.
 */
export function nullCondition({ column, related, target }: FieldPath, nothing: boolean) {
  const isOpposite = nothing && related
  return { sql: `${target} ${nullTest(column, !nothing || isOpposite)}`, isOpposite }
}

function isNull({ name, position }: Place, path: FieldPath): Filter {
  const condition = (nothing: boolean): CostedCondition => {
    const { sql, isOpposite } = nullCondition(path, nothing)
    const asked = onPath(path, (reference) => ({ sql, bindings: [reference] }))
    return isOpposite ? opposite(asked) : asked
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
        expensive: false,
        ...condition(text === 'true'),
      }
    },
  }
}
