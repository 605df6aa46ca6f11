/** Hands what a request writes to whoever records changes, in the request's own transaction (`koa-viewsets/changes`). */

import { ConfigurationError } from '../../kernel/errors.js'
import type { Queryable } from '../../postgres/pg-types.js'
import type { RowWrite } from '../../queryset/visible-rows.js'
import type { StatementBeside } from '../../rows/write-sql.js'
import { logWrites, type WriteLog } from '../../serializers/write-log.js'
import type { GenericPlan } from '../action-plan.js'
import type { GenericView } from '../generic-view.js'
import type { View } from '../view.js'

/** @internal The log of one request's transaction. */
export interface RequestLog extends WriteLog {
  /** Records what was written. */
  record(): Promise<void>
}

/** A view class whose writes are recorded. */
export interface RecordingClass {
  /** False where nothing is recorded. */
  readonly recordsChanges: boolean
  openLog(view: GenericView, trx: Queryable): RequestLog
  /** Why a statement that writes a row cannot record it as well; null where it can. */
  statementObstacle(plan: GenericPlan): string | null
  /** What records a row, as a part of the statement that writes it; undefined where that cannot. */
  recordBeside(view: GenericView, write: RowWrite): StatementBeside | undefined
  /** The names of what is recorded of the view's own objects. */
  recordedFields(plan: GenericPlan): readonly string[]
  /** The columns by which one can tell who saw an object. */
  decidingColumns(plan: GenericPlan): readonly string[]
  /** Checks what recording needs. @param knex the database of the view @throws {ConfigurationError} */
  checkRecording(knex: Queryable | undefined): Promise<void>
}

/** What records the row that a request writes, as a part of its statement; undefined where nothing is, or that cannot. */
export function recordedBeside(view: GenericView, write: RowWrite): StatementBeside | undefined {
  return view.plan.recordsChanges ? recordingClass(view.plan.viewClass)?.recordBeside(view, write) : undefined
}

/** The class, where its writes are recorded. */
export function recordingClass(viewClass: object): RecordingClass | undefined {
  const own = viewClass as Partial<RecordingClass>
  return own.recordsChanges === true ? (own as RecordingClass) : undefined
}

/** A view class that shows recorded changes. */
interface ShowingClass {
  readonly name: string
  readonly tellsChanges?: boolean
  checkHistory?(knex: Queryable | undefined): Promise<void>
}

/** @throws {ConfigurationError} the class cannot record what it writes, or shows changes that nobody records */
export async function checkRecordingClass(viewClass: ShowingClass, knex: Queryable | undefined): Promise<void> {
  const recording = recordingClass(viewClass)
  if (!recording && viewClass.tellsChanges) {
    throw new ConfigurationError(`${viewClass.name}: ChangeStreamMixin() tells of recorded changes; add ChangesMixin`)
  }
  await recording?.checkRecording(knex)
  await viewClass.checkHistory?.(knex)
}

/** The work, and then a record of what it wrote, unless it was refused. */
export async function loggingWrites<Result>(
  view: View,
  trx: Queryable,
  work: () => Result | Promise<Result>,
): Promise<Result> {
  const log = openLogs.has(trx) ? undefined : recordingClass(view.plan.viewClass)?.openLog(view as GenericView, trx)
  if (!log) return work()
  logWrites(trx, log)
  openLogs.set(trx, log)
  const result = await work()
  await recordWrites(view, trx)
  return result
}

const openLogs = new WeakMap<object, RequestLog>()

/** Records what the transaction has written so far, while its statements still run as its caller; nothing where that was refused. */
export async function recordWrites({ ctx }: View, trx: Queryable): Promise<void> {
  if (ctx.status < 400) await openLogs.get(trx)?.record()
}
