/** Finds the rows of many keys. */
import type { Column } from '../models/describe-model.js'
import type { AnyQueryBuilder } from '../models/objection.js'

/** Adds the condition that the column has one of the keys: one array parameter, however many they are (promise R3). */
export function whereKeys<Query extends AnyQueryBuilder>(query: Query, key: Column, keys: readonly unknown[]): Query {
  const table = query.tableRefFor(query.modelClass())
  return query.whereRaw(`?? = any(${arrayCast(key)})`, [`${table}.${key.column}`, [...keys]])
}

/** The place of a list of values of the column's type. */
export function arrayCast({ sqlType }: Column): string {
  return sqlType === undefined ? '?' : `?::${sqlType.replaceAll('?', '\\?')}[]`
}
