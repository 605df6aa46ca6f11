/** The recorded changes of an object, as far as the caller may read its fields now. */

import type { Model } from 'objection'
import { ConfigurationError } from '../kernel/errors.js'
import { copyNumerals } from '../kernel/json-numerals.js'
import { parseJson } from '../kernel/parse-json.js'
import { isRecord } from '../kernel/records.js'
import { type ModelClass, modelOf } from '../models/objection.js'
import { deletionOf } from '../models/soft-deletes.js'
import type { Queryable } from '../postgres/pg-types.js'
import { ownRows } from '../queryset/own-row.js'
import { readExactly } from '../queryset/read-exactly.js'
import { readsWholeRows } from '../queryset/reads-whole-rows.js'
import { selectsWholeRows } from '../queryset/shown-rows.js'
import { seenRelated, visibleRowsIn } from '../queryset/visible-rows.js'
import { whereRows } from '../queryset/where-keys.js'
import type { BoundField, SerializerClass } from '../serializers/contract.js'
import { findOwnReadable } from '../serializers/limited-fields.js'
import { NestedSerializer } from '../serializers/nested-serializer.js'
import { serializerPlan } from '../serializers/plan.js'
import { isReadableAt } from '../serializers/readable-at.js'
import { isBuiltIn } from '../views/built-in.js'
import { type GenericView, serializerClassOf, serializerContextOf } from '../views/generic-view.js'
import { querysetOf } from '../views/steps/visible-query.js'
import { keyTexts } from './change-log.js'
import { showsTheSame } from './recorded-names.js'
import { type RecordingViewClass, recordingOf } from './recording.js'
import { type RecordedChange, selectChanges } from './select-changes.js'

/** Range of an object's changes. */
export interface HistoryPage {
  /** Before the one with this id. @default the last */
  readonly before?: number | string
  /** The most of them. @default 25 */
  readonly limit?: number
}

/**
 * The changes of an object, the last first.
 * @throws {ConfigurationError} the view's queryset makes something else of columns, which are recorded as they are
 */
export async function readHistory(view: GenericView, object: Model, page: HistoryPage): Promise<readonly unknown[]> {
  const model = modelOf(object)
  if (!view.plan.resource.isWholeTable && makesColumns(view)) {
    throw new ConfigurationError(
      `${view.plan.viewClass.name}: a history shows columns as they are recorded, and getQueryset() makes something else of them; mask them by rules, or give them to a view set without history`,
    )
  }
  const knex = (view.trx ?? view.knex ?? model.knex()) as Queryable
  const names = await readableNames(view, object, knex)
  const changes = await selectChanges(knex, {
    model: model.tableName,
    keys: keyTexts(object, serializerContextOf(view)),
    isSoft: deletionOf(model) !== undefined,
    before: page.before,
    limit: page.limit ?? 25,
  })
  return changes.map(({ id, action, madeAt, caller, requestId, before, after }) => ({
    id,
    action,
    made_at: madeAt,
    caller,
    request_id: requestId,
    before: only(names, before),
    after: only(names, after),
  }))
}

/** True where the view's queryset may show something else than its rows have; what it loads with them is none of that. */
export function makesColumns(view: GenericView): boolean {
  const { viewClass, resource } = view.plan
  const query = querysetOf(view)
    .clone()
    .clear(/^(eager|modifyGraph)/)
  if (readsWholeRows(query)) return false
  const rows = query
    .clone()
    .clearSelect()
    .clear(/^(groupBy|having)/)
  if (!readsWholeRows(rows)) return true
  return !selectsWholeRows(query, { name: viewClass.name, model: resource.model })
}

/**
 * Fields of an object that may be shown, by their names; of objects that are nested in one, those of these. Where there are
 * keys of related objects, another view set may have recorded these as a whole.
 */
export interface ShownNames {
  readonly [name: string]: ShownNames | 'keys' | true
}

/** What is recorded of the object, and is neither kept from the caller nor masked. */
async function readableNames(view: GenericView, object: Model, knex: Queryable): Promise<ShownNames> {
  const model = modelOf(object)
  const context = serializerContextOf(view)
  const [row] = view.visibleFields
    ? ((await readExactly(whereRows(ownRows(model, knex), [object]))) as Model[])
    : [object]
  const seen = row && seenClass(view, model)
  if (!seen) return {}
  await findOwnReadable(serializerPlan(seen), [row], { context })
  return shownNames(view, seen, { mayRead: (bound) => isReadableAt(bound, row, context), chosen: chosenClass(view) })
}

/** What is recorded of objects, and the caller may read of all of them. */
export function readableOfAll(view: GenericView): ShownNames {
  const seen = seenClass(view, view.plan.resource.model.model)
  return seen ? shownNames(view, seen, { mayRead: isOpen, chosen: chosenClass(view) }) : {}
}

/** True for a field that the caller may read of all objects. */
function isOpen({ access }: BoundField): boolean {
  return (access?.read ?? 'all') === 'all'
}

function seenClass(view: GenericView, model: ModelClass): SerializerClass | undefined {
  const { plan } = view
  const recorded = recordingOf(plan.viewClass as RecordingViewClass & typeof plan.viewClass, plan.rules).of(
    model,
    undefined,
  )
  return recorded && view.seenClass(recorded.shown)
}

/** Filter of the recorded fields that are shown. */
interface Showing {
  readonly mayRead: (bound: BoundField) => boolean
  /** What the view shows this caller; undefined where it shows all callers the same. */
  readonly chosen: SerializerClass | undefined
}

function shownNames(view: GenericView, recorded: SerializerClass, { mayRead, chosen }: Showing): ShownNames {
  const { readable, model: description } = serializerPlan(recorded)
  const visible = visibleRowsIn(serializerContextOf(view))
  const { model } = description ?? view.plan.resource.model
  const shown = readable.flatMap((bound): [string, ShownNames[string]][] => {
    const { access, relation, name, field } = bound
    const isLimited = relation && seenRelated(visible, { owner: model, relation }) !== undefined
    if (access?.mask !== undefined || isLimited || !mayRead(bound)) return []
    const own = chosen && serializerPlan(chosen).byName.get(name)
    if (chosen && !(own?.readable && showsTheSame({ bound, by: recorded }, { bound: own, by: chosen }))) return []
    if (!(field instanceof NestedSerializer)) return [[name, relation ? 'keys' : true]]
    if (own && !(own.field instanceof NestedSerializer)) return []
    // which rows were nested is not known any more
    const inner = { mayRead: isOpen, chosen: (own?.field as NestedSerializer | undefined)?.serializerClass }
    return [[name, shownNames(view, field.serializerClass, inner)]]
  })
  return Object.fromEntries(shown)
}

/** What the view chooses to show this caller; undefined where it shows all callers the same. */
function chosenClass(view: GenericView): SerializerClass | undefined {
  return isBuiltIn(view, 'getSerializerClass') ? undefined : serializerClassOf(view)
}

/** An image of an object, of which only these fields are shown. */
export function only(names: ShownNames, text: RecordedChange['before']): unknown {
  const image = text === null ? null : parseJson(text)
  if (!isRecord(image)) return null
  const shown = shownPart(image, names)
  copyNumerals(image, shown)
  return shown
}

function shownPart(value: unknown, names: ShownNames[string]): unknown {
  if (typeof names === 'object' && Array.isArray(value)) return value.map((item) => shownPart(item, names))
  if (typeof names !== 'object' || !isRecord(value)) return value
  const shown = Object.entries(value).flatMap(([name, part]) => {
    const own = Object.hasOwn(names, name) ? names[name] : undefined
    const isHidden = own === undefined || (own === 'keys' && [part].flat().some(isRecord))
    return isHidden ? [] : [[name, shownPart(part, own)] as const]
  })
  return Object.fromEntries(shown)
}
