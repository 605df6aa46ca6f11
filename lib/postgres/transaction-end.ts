/** Callbacks at the end of a transaction: once the outermost one is committed, or rolled back. */

import type { Knex } from 'knex'
import { oncePer } from '../kernel/once-per.js'
import { isInDoubt } from './database-errors.js'
import { track } from './pending-work.js'
import type { Queryable } from './pg-types.js'

/** Callbacks for the end of a transaction; they may not throw. Neither is called where COMMIT got no answer. */
export interface EndWork {
  /** All is committed, what stood around the transaction included. */
  readonly committed: () => unknown
  /** It, or one around it, was rolled back. */
  readonly rolledBack?: () => unknown
}

interface Waiting extends EndWork {
  /** The one that it was said in: a savepoint may be rolled back while those around it are committed. */
  readonly trx: Knex.Transaction
}

/** True in a transaction, whose end can be waited for. */
export function isTransaction(knex: Queryable | undefined): knex is Knex.Transaction {
  return knex?.isTransaction === true
}

/**
 * Calls back when the outermost transaction has ended: in the order in which it was asked to, one after the other. The end
 * of the transaction waits for none of it.
 */
export function whenEnded(trx: Knex.Transaction, work: EndWork): void {
  let outermost = trx
  endOf(trx)
  while (outermost.parentTransaction) {
    outermost = outermost.parentTransaction
    endOf(outermost)
  }
  const { waiting } = endOf(outermost)
  waiting.push({ ...work, trx })
  if (waiting.length > 1) return
  const end = async (isCommitted: boolean) => {
    const undone = !isCommitted || (await isUndone(outermost))
    for (const one of waiting.splice(0)) {
      await (undone || (await isUndone(one.trx)) ? one.rolledBack?.() : one.committed())
    }
  }
  outermost.executionPromise.then(
    () => track(end(true)),
    (error) => {
      if (endOf(outermost).answer && isInDoubt(error)) waiting.length = 0
      else track(end(false))
    },
  )
}

/** End of a transaction, watched from the first call on. */
interface End {
  /** Callbacks that wait for the outermost transaction. */
  readonly waiting: Waiting[]
  isUndone: boolean
  /** Command tag of the answer to COMMIT. */
  answer: Promise<unknown> | undefined
}

/** knex's answer to a statement of its own. */
interface Ended {
  readonly response?: { readonly command?: unknown }
}

/** True when it, or one around it, was rolled back. */
async function isUndone(trx: Knex.Transaction): Promise<boolean> {
  for (let one: Knex.Transaction | undefined = trx; one; one = one.parentTransaction) {
    const end = endOf(one)
    // PostgreSQL answers COMMIT so where a statement has failed, and reports no error
    if (end.isUndone || (await end.answer) === 'ROLLBACK') return true
  }
  return false
}

const endOf = oncePer((trx: Knex.Transaction): End => {
  const end: End = { waiting: [], isUndone: false, answer: undefined }
  const rollback = trx.rollback.bind(trx)
  const commit = trx.commit.bind(trx)
  Object.assign(trx, {
    // knex fulfils the promise of one that was rolled back for no error
    rollback: (error?: unknown) => {
      // after the end it changes nothing
      if (!trx.isCompleted()) end.isUndone = true
      return rollback(error)
    },
    commit: (value?: unknown) => {
      const answered = commit(value) as unknown as Promise<Ended | undefined>
      end.answer ??= answered.then(
        (answer) => answer?.response?.command,
        () => undefined,
      )
      return answered
    },
  })
  trx.executionPromise.catch(() => {
    end.isUndone = true
  })
  return end
})
