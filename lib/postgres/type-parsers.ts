/**
 * Parsers of values: pg's standard ones, by which statements of ours are read, and those that the application has set
 * (`pg.types.setTypeParser()`, or `types` of a connection), which make what its own code sees.
 */
// @ts-expect-error the package has no types of its table
import textParsers from 'pg-types/lib/textParsers.js'
import { clientOf, connectionOptionsOf, nativeSql, type Queryable, type TypeParsers } from './pg-types.js'
import { readsRawRows, runAsPg, type StatementClient } from './run-statement.js'

type Parse = (text: string) => unknown

const standard = new Map<number, Parse>()
const table: { init(register: (oid: number, parse: Parse) => void): void } = textParsers
table.init((oid, parse) => void standard.set(oid, parse))

const asText: Parse = (text) => text

/** pg's standard parsers, whatever the application has set. */
export const standardTypes: TypeParsers = { getTypeParser: (oid) => standard.get(oid) ?? asText }

/** The parsers of the application's own queries. */
export function ownTypes(knex: Queryable): TypeParsers {
  const client = clientOf(knex)
  return connectionOptionsOf(client)?.types ?? (client.driver as { readonly types: TypeParsers }).types
}

/** Cache of the parsers of types, as they were when last looked up. */
const found = new Map<number, { readonly parse: Parse; readonly isOwn: boolean }>()

/** True where the parser of a type is the application's, and not pg's standard one, of which there may be several copies. */
export function hasOwnParser(types: TypeParsers, oid: number): boolean {
  const parse = types.getTypeParser(oid, 'text')
  const known = found.get(oid)
  if (known?.parse === parse) return known.isOwn
  const isOwn = isOwnParser(types, oid, parse)
  found.set(oid, { parse, isOwn })
  return isOwn
}

function isOwnParser(types: TypeParsers, oid: number, parse: Parse): boolean {
  const known = standard.get(oid)
  if (parse === known) return false
  // what pg does with types that it does not know
  if (!known) return parse !== types.getTypeParser(0, 'text')
  // it binds `JSON.parse` anew in each copy
  if (JSON_TYPES.has(oid) && String(parse).includes('[native code]')) return parse('[0]') === '[0]'
  return String(parse) !== String(known)
}

const JSON_TYPES = new Set([114, 3802])

/** Runs a statement of ours, by knex, and reads it by the standard parsers. */
export async function runRaw<Answer = { readonly rows: readonly Record<string, unknown>[] }>(
  knex: Queryable,
  sql: string,
  bindings: object = [],
): Promise<Answer> {
  return (await knex.raw(sql, bindings as never).options({ types: standardTypes })) as Answer
}

/** The rows of such a statement. @param recipient whoever waits for them: it is stopped once they are gone */
export async function readRows<Row = Record<string, unknown>>(
  knex: Queryable,
  sql: string,
  bindings: object = [],
  recipient?: StatementClient,
): Promise<readonly Row[]> {
  if (recipient && readsRawRows(knex)) {
    const { text, values } = nativeSql(knex.raw(sql, bindings as never))
    return (await runAsPg(knex, text, values, standardTypes, recipient)).rows as readonly Row[]
  }
  const { rows } = await runRaw<{ readonly rows: readonly Row[] }>(knex, sql, bindings)
  return rows
}
