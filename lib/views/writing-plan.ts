/**
 * How an action writes the object that a path names, how it holds, changes and deletes rows, and whether code of the application
 * looks at objects around it: decided of its class.
 */

import { reasonOf } from '../kernel/reasons.js'
import { traitsOf } from '../models/model-traits.js'
import { modelName } from '../models/objection.js'
import { areOfOneTable } from '../models/one-table.js'
import type { RowWrite } from '../queryset/visible-rows.js'
import { lookingCode, writingCode } from '../rows/own-code.js'
import { updateObstacle } from '../rows/row-update.js'
import { serializerPlan } from '../serializers/plan.js'
import { actionsOf } from './action-options.js'
import type { GenericPlan, Way } from './action-plan.js'
import { actionNamed, takesMany } from './actions.js'
import type { GenericView } from './generic-view.js'
import type { GenericViewClass } from './generic-view-class.js'
import { declaredInput, uploadClassesOf } from './input-class.js'
import { INPUT, SHOWING } from './overrides.js'
import { recordingClass } from './request/log-writes.js'
import type { Resource } from './resource.js'

const DELETING: ReadonlySet<string> = new Set(['destroy', 'bulkDestroy', 'restoreDeleted', 'purgeDeleted'])

/**
 * @internal The object on the path is changed or deleted by one statement that finds it, or in a transaction that holds its row
 * before. A request only reads it; what depends on its connection and its caller is asked besides.
 */
export class WritingPlan implements Way<'statement' | 'transaction'> {
  readonly way: 'statement' | 'transaction'
  readonly because: string | null
  /** What it does to the rows that it names, as rules call it. */
  readonly does: RowWrite | 'read'
  /**
   * The rows that it names are locked by a statement of ours, by one with the conditions of the view's queryset where these
   * are on columns of the row, by that queryset, or not at all.
   */
  readonly holding: Way<'statement' | 'condition' | 'queryset' | 'none'>
  /** A row is changed by a statement of ours, or by the model's `$query().patch()`. */
  readonly changing: Way<'statement' | 'model'>
  /** The version of a changed row, and whether the queryset has it, is told by the UPDATE, or asked once more. */
  readonly telling: Way<'update' | 'select'>
  /** Rows are deleted by one statement, or each by the model's `$query().delete()`; or they are marked as deleted. */
  readonly deleting: Way<'statement' | 'model' | 'mark'>
  /** Its rows go, and are not only marked; undefined for an action of the application's own, of which nobody knows. */
  readonly removes: boolean | undefined
  /** What is related to an object is loaded before it is written, because code of the application may look at it. */
  readonly before: Way<'unseen' | 'loaded'>
  /** The same of an object that was saved. */
  readonly saved: Way<'unseen' | 'loaded'>

  constructor(plan: GenericPlan) {
    const { resource, action } = plan
    const { view } = resource
    const { updateObstacle, deleteObstacle, bulkDeleteObstacle } = traitsOf(resource.model.model)
    const marks = marksDeleted(view, action)
    const known = actionNamed(action)
    this.removes = known && known.writes === 'delete' && !marks
    this.does = actionsOf(view).get(action)?.rule ?? (DELETING.has(action) ? 'delete' : 'update')
    this.holding = holdingOf(resource)
    this.changing = wayOf('statement', 'model', updateObstacle)
    this.telling = wayOf('update', 'select', whyAsked(resource, action) ?? updateObstacle)
    this.deleting = marks
      ? { way: 'mark', because: null }
      : wayOf('statement', 'model', takesMany(action) ? bulkDeleteObstacle : deleteObstacle)
    const { before, saved } = whyLoaded(resource, action)
    this.before = wayOf('unseen', 'loaded', before)
    this.saved = wayOf('unseen', 'loaded', saved)
    this.because = writeObstacles(plan, this)
    this.way = this.because === null ? 'statement' : 'transaction'
  }
}

/** True for an action that marks rows as deleted, which stay. */
export function marksDeleted({ softDelete }: Pick<GenericViewClass, 'softDelete'>, action: string): boolean {
  return softDelete !== null && actionNamed(action)?.writes === 'delete' && action !== 'purgeDeleted'
}

function wayOf<Fast extends string, General extends string>(
  fast: Fast,
  general: General,
  because: string | null,
): Way<Fast | General> {
  return { way: because === null ? fast : general, because }
}

function holdingOf({ view, model, lookup, queryObstacle }: Resource): WritingPlan['holding'] {
  const { tableName } = model.model
  if (!model.lockable) return { way: 'none', because: `PostgreSQL locks no rows of "${tableName}"` }
  const because =
    (lookup.unique ? null : `${view.name}: lookupField is not unique`) ??
    (model.isView ? `"${tableName}" is a view` : null) ??
    (model.secured ? `"${tableName}" has row level security` : null) ??
    traitsOf(model.model).holdObstacle
  if (because !== null) return { way: 'queryset', because: queryObstacle ?? because }
  return wayOf('statement', 'condition', queryObstacle)
}

/** Why a changed row is asked for what RETURNING of the UPDATE could tell; null where nothing can have changed it since. */
function whyAsked(resource: Resource, action: string): string | null {
  const { view, overrides } = resource
  const { runs = action } = actionNamed(action) ?? {}
  if (runs !== 'update' || overrides.hasPartOf(action)) return `${action}() is no update that comes with the package`
  const overridden = overrides.why(INPUT)
  if (overridden !== null) return overridden
  const serializerClass = declaredInput(view)
  return serializerClass ? resource.stored(runs, serializerClass).because : `${view.name} has no serializerClass`
}

/** The code of the application that looks at an object before it is written, as a sentence; null where there is none. */
function lookedAt({ overrides, objectObstacle }: Resource): string | null {
  return overrides.why(['getObjectToWrite']) ?? objectObstacle
}

/** Why what is related is loaded before an object is written, and once it is saved; null where nobody looks at it. */
function whyLoaded(resource: Resource, action: string): Readonly<Record<'before' | 'saved', string | null>> {
  const { view, overrides } = resource
  const { writes } = actionNamed(action) ?? {}
  const always = (because: string) => ({ before: because, saved: because })
  if (!writes || overrides.hasPartOf(action)) return always(`${action}() is the application's own`)
  const seen = resource.ownHook(action) ?? overrides.why([...SHOWING, ...INPUT])
  if (seen !== null) return always(seen)
  const looks = lookedAt(resource)
  const { plainUpdates, plainDeletes } = traitsOf(resource.model.model)
  const hooks = (isPlain: boolean) =>
    isPlain ? null : `${modelName(resource.model.model)} has hooks or methods of its own`
  if (writes === 'delete') return { before: looks ?? hooks(plainDeletes), saved: 'nothing is saved' }
  const serializerClass = declaredInput(view)
  if (!serializerClass) return always(`${view.name} has no serializerClass`)
  // objects in the input are compared with those that are nested in the object
  const nests = serializerPlan(serializerClass).nesting.some(({ input }) => input === 'objects')
  const nested = nests ? `${serializerClass.name} takes nested objects` : null
  const before = lookingCode(serializerClass, writes) ?? looks ?? nested ?? hooks(plainUpdates)
  const { model } = serializerPlan(serializerClass)
  const isOther = !areOfOneTable(model?.model, resource.model.model)
  const other = isOther ? `${serializerClass.name} is of another model than ${view.name}` : null
  return { before, saved: other ?? writingCode(serializerClass, writes) }
}

/** Why the row of an object is held before it is changed or deleted; null where one statement finds and writes it. */
function writeObstacles(plan: GenericPlan, writing: Omit<WritingPlan, 'way' | 'because'>): string | null {
  const { action, resource, viewClass } = plan
  const { writes, runs = action } = actionNamed(action) ?? {}
  if (!plan.isOurs || !(runs === 'update' || action === 'destroy')) return `${action}() writes in its own way`
  const isVersioned = viewClass.concurrency !== null || viewClass.requireIfMatch
  const { before, holding } = writing
  const isNamed = holding.way === 'statement' || holding.way === 'condition'
  const obstacles = [
    plan.limitsFields ? 'rules say which fields callers may set' : null,
    plan.recordsChanges ? (recordingClass(viewClass)?.statementObstacle(plan) ?? null) : null,
    plan.parent && !plan.parent.isPlain ? 'the objects before it on the path are looked at' : null,
    plan.database ? 'its statements run as a role' : null,
    isVersioned ? `${viewClass.name} has versions of its rows` : null,
    isNamed ? null : holding.because,
    lookedAt(resource),
    resource.ownHook(action),
    ...(writes === 'delete' ? deleteObstacles(plan, writing) : updateObstacles(plan, writing)),
  ]
  return reasonOf(obstacles) ?? before.because
}

type Obstacles = readonly (string | null)[]

function updateObstacles({ viewClass, resource }: GenericPlan, { changing }: Pick<WritingPlan, 'changing'>): Obstacles {
  const overridden = resource.overrides.why(INPUT)
  if (overridden !== null) return [overridden]
  const serializerClass = declaredInput(viewClass)
  if (!serializerClass) return [`${viewClass.name} has no serializerClass`]
  return [changing.because, updateObstacle(serializerClass), resource.stored('update', serializerClass).because]
}

function deleteObstacles({ viewClass, resource }: GenericPlan, { deleting }: Pick<WritingPlan, 'deleting'>): Obstacles {
  const { triggers, model, hasHeirs, isIndirect } = resource.model
  const [keeping] = uploadClassesOf(viewClass)
  return [
    viewClass.statuses.destroy === 200 ? 'it shows what it deletes' : null,
    deleting.way === 'mark' ? 'it marks what it deletes' : null,
    keeping ? `${keeping.name} keeps files` : null,
    // those of a statement run without a row as well, and one that keeps the row would have run twice
    triggers.before.delete || triggers.after.delete ? `triggers run with each delete of "${model.tableName}"` : null,
    hasHeirs || isIndirect ? `"${model.tableName}" has heirs, or rules` : null,
    deleting.because,
  ]
}

/** True for a request that writes an object at which nothing but the package looks before. */
export function writesUnseen({ ctx, body, plan }: GenericView): boolean {
  // a condition may be about all that is shown, and operations are applied to it
  return (
    plan.writing.before.way === 'unseen' && ctx.headers['if-none-match'] === undefined && body.patch !== 'operations'
  )
}
