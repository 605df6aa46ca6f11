/** Finds the rows of many keys. */
import type { Column } from '../models/describe-model.js'
import type { AnyQueryBuilder } from '../models/objection.js'

/** Adds the condition that the column has one of the keys: one array parameter, however many they are (promise R3). */
export function whereKeys<Query extends AnyQueryBuilder>(
  query: Query,
  { column, sqlType }: Column,
  keys: readonly unknown[],
): Query {
  const cast = sqlType === undefined ? '?' : `?::${sqlType.replaceAll('?', '\\?')}[]`
  const table = query.tableRefFor(query.modelClass())
  return query.whereRaw(`?? = any(${cast})`, [`${table}.${column}`, [...keys]])
}
