/** SQL texts, the names they are prepared under on each connection, and what their errors say of names and connections. */

import { createHash } from 'node:crypto'
import { warnOnce } from '../kernel/warn-once.js'
import { isPassedOn } from './native-error.js'

/** A SQL text in PostgreSQL's notation, and the name it is prepared under. */
export interface Statement {
  readonly text: string
  /** Undefined: sent without a name. */
  name: string | undefined
}

/** Named statements, all view sets together: each costs memory on every connection, and clients choose the shapes. */
const MOST_NAMES = 500
/** A named statement met a migration, which may have given a column another type, or a pooler that gave it another connection. */
const STALE = new Set(['0A000', '26000', '42P05', '42883'])
/** How PostgreSQL, in each language, begins to say that there is no type, or function, of a number any more. */
const CACHE_LOOKUP_FAILED = 'cache lookup failed'
/** The latter: it is not known there, or is already. */
export const POOLED = new Set(['26000', '42P05'])
const statements = new Map<string, Statement>()

/** The statement of a SQL text; the same text is prepared once for each connection. */
export function statementOf(text: string): Statement {
  let statement = statements.get(text)
  if (!statement) {
    if (statements.size >= MOST_NAMES) return { text, name: undefined }
    // by its text, because another copy of this package may use the same connections
    statement = { text, name: `koa_viewsets_${createHash('sha256').update(text).digest('hex').slice(0, 32)}` }
    statements.set(text, statement)
  }
  return statement
}

/** Every shape of a list fails once in PostgreSQL before it is sent without a name: right, but slow, and noisy in its log. */
export function warnOfPooler(): void {
  warnOnce(
    'KOA_VIEWSETS_POOLER',
    'Named statements do not stay on their connections: a pooler hands these out by transaction. ' +
      'Set PREPARED_STATEMENTS=false, or configure({ preparedStatements: false }).',
  )
}

/** True of the error of a named statement that would do without its name. */
export function isStale(error: unknown): boolean {
  const { code = '', message } = error as Error & { readonly code?: string }
  return STALE.has(code) || (code === 'XX000' && message.startsWith(CACHE_LOOKUP_FAILED))
}

/** True of an error after which the connection is gone. One without a SQLSTATE comes from the connection itself. */
export function isLost(error: unknown): boolean {
  const { code, file } = error as { code?: unknown; file?: unknown }
  if (typeof code !== 'string' || code.length !== 5) return true
  return /^(?:08|57P|25P0[34])/.test(code) && !isPassedOn({ file })
}
