/** Keys of conditions: what has one text is one statement. */

import { emptyListOf } from '../kernel/once-per.js'
import type { SqlPart } from './keyset.js'

/** The conditions of a list or an object, by their SQL: what has one text is one statement. */
export interface ConditionKey {
  readonly text: string
  /** The values that the conditions bind, in order. */
  readonly values: readonly unknown[]
}

const NO_VALUES = emptyListOf<unknown>('')
const WHOLE_TABLE: ConditionKey = { text: '', values: NO_VALUES }

/** The key of conditions; undefined where the SQL of one is known only once it is built: it binds a query. */
export function conditionKey(conditions: readonly SqlPart[]): ConditionKey | undefined {
  if (conditions.length === 0) return WHOLE_TABLE
  let text = ''
  const values: unknown[] = []
  for (const { sql, bindings } of conditions) {
    text += `|${sql}`
    let mark = 0
    for (const [found] of sql.matchAll(MARKS)) {
      if (found === ESCAPED) continue
      const binding = bindings[mark++]
      if (found === '??') text += `|${String(binding)}`
      else if (isQuery(binding)) return undefined
      else values.push(binding)
    }
  }
  return { text, values }
}

/** Where SQL in knex's notation binds a name or a value, and question marks that are none. */
const MARKS = /\\\?|\?\??/g
const ESCAPED = '\\?'

function isQuery(value: unknown): boolean {
  return typeof value === 'object' && value !== null && ('toKnexQuery' in value || 'toSQL' in value)
}
