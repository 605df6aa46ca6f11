/** Searches fields for terms: `?search=brown "lazy dog"` (promises C5, C8, C11, C17). */

import { checkedText, counted } from '../fields/string-field.js'
import { BadRequest, ValidationError } from '../kernel/errors.js'
import { oncePer } from '../kernel/once-per.js'
import { takeOptions, takesOptions } from '../kernel/option-kinds.js'
import type { FieldPath } from './field-path.js'
import {
  BaseFilter,
  every,
  type FilterCondition,
  type FilterSettings,
  lastValueOf,
  type ParameterDescription,
  type QueryParameters,
  readNamed,
} from './filter.js'
import { judgePattern } from './regex-guard.js'
import { refuseHiddenKeys, resolvePaths } from './resolve-paths.js'
import { anyOf, type CostedCondition, onPath, subQueriesOf } from './sub-queries.js'
import { cutText, escapeLike, matchedSql, splitTerms } from './text-match.js'

/** Options of `SearchFilter`. */
export interface SearchFilterOptions {
  /** The most terms in a search. @default 32 */
  readonly maxTerms?: number
  /** Characters at which a term is cut. @default 200 */
  readonly maxTermLength?: number
  /** Characters at which a regular expression is cut. @default 100 */
  readonly maxPatternLength?: number
  /** Milliseconds that a statement of a search by regular expression may take; one that takes longer is 400. @default 1000 */
  readonly statementTimeout?: number
}

/** A way to look for a term in a column. */
interface Match {
  /** SQL with `??` for the column, as the reference gives it, and `?` for the value. */
  sql(reference: string): string
  value(term: string): string
}

const MATCHES = {
  contains: { sql: (reference) => `${reference} ilike ?`, value: (term) => `%${escapeLike(term)}%` },
  startsWith: { sql: (reference) => `${reference} ilike ?`, value: (term) => `${escapeLike(term)}%` },
  exact: { sql: (reference) => `lower(${reference}) = lower(?)`, value: (term) => term },
  pattern: { sql: (reference) => `${reference} ~* ?`, value: (term) => term },
} satisfies Record<string, Match>

/** What a prefix of a search field selects. */
const PREFIXES: ReadonlyMap<string, keyof typeof MATCHES> = new Map([
  ['^', 'startsWith'],
  ['=', 'exact'],
  ['$', 'pattern'],
])

interface SearchField {
  readonly path: FieldPath
  readonly match: keyof typeof MATCHES
}

/** A term in one field. */
interface Part {
  readonly field: SearchField
  readonly match: Match
  readonly value: string
}

/**
 * Searches the view's `searchFields` for the terms of the parameter `search`, or of what `searchParam` names. White space separates terms, double
 * quotes make a phrase. All terms must be found, each in one of the fields, in any case. A prefix of a field's name
 * says how: none anywhere in the text, `^` at its start, `=` the whole text, `$` a regular expression of PostgreSQL.
 * Expressions that no search needs are searched as plain text; those that take too long are 400.
 * @example
 * static override filterBackends = [SearchFilter]
 * static override searchFields = ['title', '=isbn', 'author__name']
 */
export class SearchFilter extends BaseFilter {
  declare readonly asks?: 'search'
  readonly maxTerms: number
  readonly maxTermLength: number
  readonly maxPatternLength: number
  readonly statementTimeout: number

  constructor(options: SearchFilterOptions = {}) {
    super()
    takeOptions(this, options)
    const { maxTerms = 32, maxTermLength = 200, maxPatternLength = 100, statementTimeout = 1_000 } = options
    this.maxTerms = maxTerms
    this.maxTermLength = maxTermLength
    this.maxPatternLength = maxPatternLength
    this.statementTimeout = statementTimeout
  }

  override read(query: QueryParameters, settings: FilterSettings): FilterCondition | null {
    const text = lastValueOf(query, settings.searchParam)
    if (text === undefined) return null
    const fields = searched(settings)
    if (fields.length === 0) return null
    const terms = this.#terms(text, settings.searchParam)
    if (terms.length === 0) return null
    const parts = terms.map((term) => fields.map((field) => this.#part(field, term, settings.searchParam)))
    const hasPatterns = parts.some((found) => found.some(({ match }) => match === MATCHES.pattern))
    const conditions = parts.map((found) => anyOf(found.map(conditionOf)))
    return {
      where: (start) => every(conditions.map((condition) => condition.where(start))),
      subQueries: subQueriesOf(conditions),
      guarded: hasPatterns ? this.statementTimeout : undefined,
      exceeded: hasPatterns ? () => this.#tooSlow(settings.searchParam) : undefined,
      expensive: true,
    }
  }

  override parameters(settings: FilterSettings): readonly ParameterDescription[] {
    if (settings.searchFields.length === 0) return []
    return [{ name: settings.searchParam, description: 'Terms that must all be found.', schema: { type: 'string' } }]
  }

  override check(settings: FilterSettings): void {
    searched(settings)
  }

  #terms(text: string, parameter: string): readonly string[] {
    const terms = splitTerms(text, { most: this.maxTerms + 1, length: this.maxTermLength })
    if (terms.length > this.maxTerms) {
      throw new ValidationError({ [parameter]: [`Give at most ${this.maxTerms} terms.`] })
    }
    return readNamed(parameter, () => terms.map(checkedText))
  }

  #tooSlow(parameter: string): ValidationError {
    return new ValidationError({ [parameter]: [slow(this.statementTimeout)] })
  }

  #part(field: SearchField, term: string, parameter: string): Part {
    if (field.match !== 'pattern') return partOf(field, MATCHES[field.match], term)
    const pattern = cutText(term, this.maxPatternLength)
    const judgement = judgePattern(pattern)
    if (judgement === 'invalid') throw new BadRequest('Invalid search pattern.')
    if (judgement === 'expensive') throw this.#tooSlow(parameter)
    return judgement === 'safe' ? partOf(field, MATCHES.pattern, pattern) : partOf(field, MATCHES.contains, term)
  }
}

takesOptions<SearchFilterOptions>(SearchFilter, {
  maxTerms: 'size',
  maxTermLength: 'size',
  maxPatternLength: 'size',
  statementTimeout: 'size',
})

function slow(milliseconds: number): string {
  return `This pattern takes longer than ${counted(milliseconds / 1_000, 'second')}: make it simpler.`
}

/** What a view searches, settled before any request. */
const searched = oncePer((settings: FilterSettings): readonly SearchField[] => {
  const matches = settings.searchFields.map((name) => PREFIXES.get(name.charAt(0)) ?? 'contains')
  const paths = resolvePaths(`${settings.name}: searchFields`, settings.model, settings.searchFields.map(withoutPrefix))
  refuseHiddenKeys(`${settings.name}: searchFields`, settings.model, paths)
  return paths.map((path, index) => ({ path, match: matches[index] as keyof typeof MATCHES }))
})

/** The name of a search field without what says how it is matched. */
export function withoutPrefix(name: string): string {
  return PREFIXES.has(name.charAt(0)) ? name.slice(1) : name
}

function partOf(field: SearchField, match: Match, term: string): Part {
  return { field, match, value: match.value(term) }
}

function conditionOf({ field: { path }, match, value }: Part): CostedCondition {
  return onPath(path, (reference) => ({ sql: match.sql(matchedSql(path.column)), bindings: [reference, value] }))
}
