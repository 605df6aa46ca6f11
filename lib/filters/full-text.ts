/** The SQL of full-text search, for the filter and for the ranking (promises C12, C13, C15). */

import { checkedText } from '../fields/string-field.js'
import { BadRequest, ConfigurationError, ValidationError } from '../kernel/errors.js'
import { didYouMean } from '../kernel/near-miss.js'
import { oncePer } from '../kernel/once-per.js'
import type { Queryable } from '../postgres/pg-types.js'
import { readRows } from '../postgres/type-parsers.js'
import { joinSql, type SqlPart } from '../queryset/sql-part.js'
import type { FieldPath, PathStart } from './field-path.js'
import {
  type FilterSettings,
  lastValueOf,
  type ParameterDescription,
  type QueryParameters,
  readNamed,
} from './filter.js'
import { refuseHiddenKeys, resolvePaths } from './resolve-paths.js'
import { withoutPrefix } from './search-filter.js'
import { textReference } from './text-match.js'

/** PostgreSQL's reader of a query, by `searchType`. */
const READERS: ReadonlyMap<string, string> = new Map([
  ['plain', 'plainto_tsquery'],
  ['phrase', 'phraseto_tsquery'],
  ['raw', 'to_tsquery'],
  ['websearch', 'websearch_to_tsquery'],
])

/** What `to_tsvector` gets of a row: more could exceed what a tsvector holds, which is an error of the whole list. */
const MOST_CHARACTERS = 250_000

/** The most characters of a search, all that a URL can hold: PostgreSQL goes into each word, and takes seconds for those of a longer one, and its stack. */
const LONGEST_SEARCH = 16_384

/** Operators behind each other that PostgreSQL's reader takes; a few more are an internal error of its own. */
const MOST_OPERATORS = 24
const HYPHENS = new RegExp(`[^\\p{L}\\p{N}"]{${MOST_OPERATORS},}`, 'gu')
const NEGATIONS = new RegExp(`(?:!\\s*){${MOST_OPERATORS}}`)
/** Parentheses that a raw query may open: the reader goes into each, and its stack has an end. */
const MOST_PARENTHESES = 500

/** The type of columns that are made for being searched. */
const VECTOR = 'tsvector'

/** Options of `FullTextSearchFilter` and `SearchRankOrderingFilter`. */
export interface FullTextOptions {
  /** Milliseconds that a search may take. @default 5000 */
  readonly statementTimeout?: number
}

/** A full-text search over the fields of a view. */
interface AskedSearch {
  /** The condition that a row matches. */
  readonly matches: (start: PathStart) => SqlPart
  /** How well a row matches. */
  readonly rank: (start: PathStart) => SqlPart
}

/** The full-text search of a view; null when it has no search fields. */
export const fullTextOf = oncePer((settings: FilterSettings): { search: ((text: string) => AskedSearch) | null } => {
  const reader = readerOf(settings.name, settings.searchType)
  const names = settings.searchFields.map(withoutPrefix)
  const paths = resolvePaths(`${settings.name}: searchFields`, settings.model, names)
  refuseHiddenKeys(`${settings.name}: searchFields`, settings.model, paths)
  const many = paths.find((path) => !path.single)
  if (many) {
    throw new ConfigurationError(
      `${settings.name}: searchFields names "${many.name}", which leads to many objects; full-text search takes fields of ` +
        'the model and of relations to one object',
    )
  }
  if (paths.length === 0) return { search: null }
  const config = asName(settings.searchConfig)
  const document = (start: PathStart): SqlPart => vectorOf(start, paths, config)
  const query = (text: string): SqlPart => ({ sql: `${reader}(?::regconfig, ?)`, bindings: [config, text] })
  return {
    search: (text) => ({
      matches: (start) => combine(document(start), ' @@ ', query(text)),
      rank: (start) => {
        const { sql, bindings } = combine(document(start), ', ', query(text))
        return { sql: `ts_rank(${sql})`, bindings }
      },
    }),
  }
})

/** What PostgreSQL reads as this name: it takes capitals for small letters where they have no quotes. */
function asName(name: string): string {
  const quoted = (part: string) => (/^[a-z_][a-z0-9_]*$/.test(part) ? part : `"${part.replaceAll('"', '""')}"`)
  return name.split('.').map(quoted).join('.')
}

/**
 * What a client searches for; null where it asks for nothing.
 * @throws ValidationError, BadRequest it cannot be read
 */
export function askedSearch(query: QueryParameters, settings: FilterSettings): AskedSearch | null {
  const { search } = fullTextOf(settings)
  const text = search && searchText(query, settings)
  return search && text !== null ? search(text) : null
}

function searchText(query: QueryParameters, settings: FilterSettings): string | null {
  const text = lastValueOf(query, settings.searchParam)
  if (text === undefined || text.trim() === '') return null
  readNamed(settings.searchParam, () => {
    if (text.length > LONGEST_SEARCH) throw new ValidationError(`Give at most ${LONGEST_SEARCH} characters.`)
    checkedText(text)
  })
  if (settings.searchType === 'raw' && isTooDeep(text)) throw new BadRequest('Invalid search query.')
  return settings.searchType === 'websearch' ? text.replace(HYPHENS, ' ') : text
}

function isTooDeep(text: string): boolean {
  return NEGATIONS.test(text) || text.split('(').length - 1 > MOST_PARENTHESES
}

/** @throws {ConfigurationError} `searchType` is none of those that PostgreSQL reads */
export function readerOf(name: string, searchType: string): string {
  const reader = READERS.get(searchType)
  if (reader !== undefined) return reader
  throw new ConfigurationError(
    `${name}: searchType "${searchType}" is unknown${didYouMean(searchType, READERS.keys()) || `; set it to one of ${[...READERS.keys()].join(', ')}`}`,
  )
}

/** Checks fields, type and configuration. @throws {ConfigurationError} */
export async function checkFullText(settings: FilterSettings, knex: Queryable | undefined): Promise<void> {
  fullTextOf(settings)
  if (!knex) return
  const rows = await readRows<Configuration>(knex, CONFIGURATIONS)
  const { searchConfig } = settings
  if (rows.some(({ name, qualified, visible }) => qualified === searchConfig || (visible && name === searchConfig))) {
    return
  }
  const names = [...new Set(rows.map(({ name, qualified, visible }) => (visible ? name : qualified)))].sort()
  const fix = didYouMean(searchConfig, names) || `; use one of ${names.join(', ')}`
  throw new ConfigurationError(
    `${settings.name}: searchConfig "${searchConfig}" is no text search configuration of the database${fix}`,
  )
}

interface Configuration {
  readonly name: string
  readonly qualified: string
  readonly visible: boolean
}

const CONFIGURATIONS = `
  select cfgname as name, nspname || '.' || cfgname as qualified, pg_ts_config_is_visible(c.oid) as visible
  from pg_ts_config c join pg_namespace n on n.oid = c.cfgnamespace`

export function searchParameter({ searchParam }: FilterSettings): ParameterDescription {
  return { name: searchParam, description: 'Words to search for.', schema: { type: 'string' } }
}

/** What is searched of a row: its columns of type `tsvector` as they are, and all other fields as one document. */
function vectorOf(start: PathStart, paths: readonly FieldPath[], config: string): SqlPart {
  const isVector = ({ column }: FieldPath) => column.type === VECTOR
  const texts = paths.filter((path) => !isVector(path))
  const vectors = paths
    .filter(isVector)
    .map((path) => path.value(start, (reference) => ({ sql: '??', bindings: [reference] })))
  // by itself as an index has it
  if (texts.length === 0 && vectors.length === 1) return vectors[0] as SqlPart
  const parts = vectors.map(({ sql, bindings }) => ({ sql: `coalesce(${sql}, '')`, bindings }))
  if (texts.length > 0) {
    const { sql, bindings } = documentOf(start, texts)
    parts.push({ sql: `to_tsvector(?::regconfig, ${sql})`, bindings: [config, ...bindings] })
  }
  const { sql, bindings } = joinSql(parts, ' || ')
  return { sql: parts.length === 1 ? sql : `(${sql})`, bindings }
}

/** The fields of a row as one string, as an index must have it to be used. */
function documentOf(start: PathStart, paths: readonly FieldPath[]): SqlPart {
  const values = paths.map((path) => {
    const { sql, bindings } = path.value(start, (reference) => ({
      sql: textReference(path.column),
      bindings: [reference],
    }))
    return { sql: `coalesce(${sql}, '')`, bindings }
  })
  const { sql, bindings } = joinSql(values, " || ' ' || ")
  return { sql: `left(${sql}, ${MOST_CHARACTERS})`, bindings }
}

function combine(one: SqlPart, between: string, other: SqlPart): SqlPart {
  return { sql: one.sql + between + other.sql, bindings: [...one.bindings, ...other.bindings] }
}
