/** Keys of conditions: what has one text is one statement. */

import { emptyListOf } from '../kernel/once-per.js'
import type { SqlPart } from './sql-part.js'

/** The conditions of a list or an object, by their SQL: what has one text is one statement. */
export interface ConditionKey {
  readonly text: string
  /** The values that the conditions bind, in order. */
  readonly values: readonly unknown[]
  /** So many of them, the first ones, are those of a query that an application takes part in. @default 0 */
  readonly begun?: number | undefined
}

const NO_VALUES = emptyListOf<unknown>('')
/** Cache key of no conditions. */
export const WHOLE_TABLE: ConditionKey = { text: '', values: NO_VALUES }

/** The key of conditions; undefined where the SQL of one is known only once it is built: it binds a query. */
export function conditionKey(conditions: readonly SqlPart[]): ConditionKey | undefined {
  if (conditions.length === 0) return WHOLE_TABLE
  let text = ''
  const values: unknown[] = []
  for (const { sql, bindings } of conditions) {
    text += `|${sql}`
    let mark = 0
    for (let at = nextMark(sql, 0); at !== -1; at = nextMark(sql, at + 1)) {
      const binding = bindings[mark++]
      if (sql[at + 1] === '?') {
        text += `|${String(binding)}`
        at++
      } else if (isQuery(binding)) return undefined
      else values.push(binding)
    }
  }
  return { text, values }
}

/** The condition with other values; its names stay. */
export function mapValues({ sql, bindings }: SqlPart, change: (value: unknown) => unknown): SqlPart {
  const changed: unknown[] = []
  for (let at = nextMark(sql, 0); at !== -1; at = nextMark(sql, at + 1)) {
    const binding = bindings[changed.length]
    const isName = sql[at + 1] === '?'
    changed.push(isName ? binding : change(binding))
    if (isName) at++
  }
  return { sql, bindings: changed }
}

/** Before a question mark that binds neither a name nor a value. */
const ESCAPE = '\\'

/** Offset of the next placeholder of a name (`??`) or a value; -1 for none. */
function nextMark(sql: string, from: number): number {
  let at = sql.indexOf('?', from)
  while (at > 0 && sql[at - 1] === ESCAPE) at = sql.indexOf('?', at + 1)
  return at
}

function isQuery(value: unknown): boolean {
  return typeof value === 'object' && value !== null && ('toKnexQuery' in value || 'toSQL' in value)
}

/** A condition, and its key. */
export interface KeyedCondition extends SqlPart {
  readonly key: ConditionKey
  /** The application's: it may have another text for each request, and statements with it are not kept. */
  readonly isVaried?: boolean
}

/** True for a condition of ours on columns of the row and nothing else. */
export function readsOwnRow({ sql }: Pick<SqlPart, 'sql'>): boolean {
  return !/\bselect\b/i.test(sql)
}
