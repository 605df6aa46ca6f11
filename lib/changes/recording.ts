/** Recording of a view set: its statics about changes, read once. */

import { userText } from '../http/caller.js'
import { type Context, isDescribing } from '../http/context.js'
import { requestIdOf } from '../http/problem.js'
import { ConfigurationError } from '../kernel/errors.js'
import { wrongKind } from '../kernel/kinds.js'
import { oncePer } from '../kernel/once-per.js'
import { checkKinds } from '../kernel/option-kinds.js'
import { setting } from '../kernel/settings.js'
import { oncePerCatalogue } from '../models/describe-model.js'
import { type ModelClass, modelName } from '../models/objection.js'
import { areOfOneTable } from '../models/one-table.js'
import type { Queryable } from '../postgres/pg-types.js'
import type { RuleSet } from '../rules/rule-set.js'
import type { SerializerClass } from '../serializers/contract.js'
import { NestedSerializer } from '../serializers/nested-serializer.js'
import { serializerPlan } from '../serializers/plan.js'
import { originalOf } from '../views/action-options.js'
import { type GenericView, serializerContextOf } from '../views/generic-view.js'
import type { GenericViewClass } from '../views/generic-view-class.js'
import { declaredInput } from '../views/input-class.js'
import { resourceOf } from '../views/resource.js'
import { ChangeLog, clientKey, type Recorded } from './change-log.js'
import { requireChangesTable } from './changes-table.js'
import { askedColumns, decidingColumns, noteAsked } from './deciding-columns.js'
import type { ChangeOrigin } from './insert-changes.js'
import { nestedRows, recordedClass, unseen } from './recorded-fields.js'
import { noteNames } from './recorded-names.js'

/** What of a view set's objects is recorded. Annotate with this type to leave subclasses free. */
export type Changes =
  | boolean
  | {
      /** The serializer that shows what is recorded. @default that of the view set */
      readonly serializer?: SerializerClass
      /** Names of its fields. @default those that show the object's own row, and the keys of what it points to */
      readonly fields?: readonly string[]
      /**
       * Columns that the application's querysets ask about, by which one can tell later who saw a row: `tenantId`.
       * @default the primary key, foreign keys, the mark of deleted rows, and columns that the serializer shows
       */
      readonly visibleBy?: readonly string[]
    }

/** A view set that records its changes. */
export interface RecordingViewClass extends GenericViewClass {
  readonly changes: Changes
}

/** Recording of a view set, under the rules of its router. */
class Recording {
  readonly #view: RecordingViewClass
  readonly #rules: RuleSet | undefined
  readonly #own = perAsked(() => this.#decideOwn())
  /** By the serializers that nest them: a model may be nested by several. */
  readonly #nested = oncePer((shownBy: SerializerClass) =>
    perAsked((model): Recorded => {
      const shown = recordedClass(shownBy, { rules: this.#rules })
      return {
        shown,
        mark: undefined,
        deciding: decidingColumns(model, { shown, serializer: shownBy, rules: this.#rules }),
        nested: nestedRows(shownBy),
      }
    }),
  )

  constructor(view: RecordingViewClass, rules: RuleSet | undefined) {
    this.#view = view
    this.#rules = rules
  }

  /** Undefined for a model that nothing shows. @param shownBy the serializer that writes its objects */
  of(model: ModelClass, shownBy?: SerializerClass): Recorded | undefined {
    const own = this.#view.modelClass()
    if (areOfOneTable(model, own)) return this.#own(own)
    return shownBy && clientKey(model) ? this.#nested(unseen(shownBy))(model) : undefined
  }

  #decideOwn(): Recorded | undefined {
    const { changes, serializerClass } = this.#view
    const { serializer = serializerClass, fields: only, visibleBy } = typeof changes === 'object' ? changes : {}
    const model = this.#view.modelClass()
    if (!serializer || !clientKey(model)) return undefined
    const rules = this.#rules
    const shown = recordedClass(serializer, { of: model, only, rules })
    const mark = resourceOf(this.#view).deletion?.column
    const taking = unseen(serializerClass ?? serializer)
    const nesting = new Set([declaredInput(this.#view) ?? taking, taking])
    return {
      shown,
      mark,
      deciding: decidingColumns(model, { shown, serializer: taking, rules, mark, named: visibleBy }),
      nested: [...nesting].flatMap(nestedRows),
    }
  }
}

/** Once for each model, and again where another view set has come that tells by more columns who sees its objects. */
function perAsked<T>(make: (model: ModelClass) => T): (model: ModelClass) => T {
  const made = oncePer((_model: ModelClass): { count?: number; value?: T } => ({}))
  return (model) => {
    const known = made(model)
    const { size } = askedColumns(model)
    if (known.count !== size) Object.assign(known, { value: make(model), count: size })
    return known.value as T
  }
}

/** Views without rules. */
const FREE = {}
const recordings = oncePerCatalogue((view: RecordingViewClass) =>
  oncePer((rules: object) => new Recording(view, rules === FREE ? undefined : (rules as RuleSet))),
)

/** How a view set records what it writes, whichever action does so. @throws {ConfigurationError} its statics say what cannot be */
export function recordingOf(view: RecordingViewClass, rules: RuleSet | undefined): Recording {
  return recordings(originalOf(view))(rules ?? FREE)
}

/** The names of what is recorded of the view set's own objects. */
export function recordedFields(view: RecordingViewClass, rules: RuleSet | undefined): readonly string[] {
  const { shown } = recordingOf(view, rules).of(view.modelClass()) ?? {}
  return shown ? serializerPlan(shown).readable.map(({ name }) => name) : []
}

/** The columns by which one can tell who saw the view set's own objects. */
export function recordedColumns(view: RecordingViewClass, rules: RuleSet | undefined): readonly string[] {
  const { deciding = [] } = recordingOf(view, rules).of(view.modelClass()) ?? {}
  return deciding.map(({ property }) => property)
}

/** Origin of a change: caller and request. */
export function originOf(ctx: Context): ChangeOrigin {
  if (isDescribing(ctx)) return { caller: null, requestId: null }
  return { caller: userText(ctx) ?? null, requestId: requestIdOf(ctx) ?? null }
}

/** The log of a request's transaction. */
export function openLog(view: GenericView, trx: Queryable): ChangeLog {
  const { ctx, plan } = view
  const recording = recordingOf(plan.viewClass as RecordingViewClass & typeof plan.viewClass, plan.rules)
  // without the view, whose caller may see less
  const { view: _, ...context } = serializerContextOf(view)
  return new ChangeLog(trx, {
    origin: originOf(ctx),
    context,
    // what is marked leaves what is nested where it is; code of the application's may do as it likes
    deletes: plan.writing.removes !== false,
    recorded: (model, shownBy) => recording.of(model, shownBy),
  })
}

const STREAM = { perCaller: 'size', seconds: 'seconds' } as const

/** @throws {ConfigurationError} the view set cannot record its changes */
export async function checkRecording(view: RecordingViewClass, knex: Queryable | undefined): Promise<void> {
  try {
    void setting('changesRetention')
    checkStatic(view.changes)
    const { changeStream = {} } = view as { changeStream?: unknown }
    checkKinds('static changeStream', changeStream, { kinds: STREAM })
    const model = view.modelClass()
    if (!clientKey(model)) {
      throw new ConfigurationError(
        `changes: objects of ${modelName(model)} have no primary key, or ids that differ from user to user, or expire: a change could not name them`,
      )
    }
    const recording = recordingOf(view, undefined)
    if (view.changes !== false && !recording.of(model)) {
      throw new ConfigurationError(
        'changes: getSerializerClass() chooses for each request what shows objects; name what shows changes: static changes = { serializer }',
      )
    }
    const taking = declaredInput(view)
    if (taking) checkNested(recording, taking, new Set())
    const own = recording.of(model)
    if (own) {
      noteAsked(model, own.deciding)
      noteNames(view.name, model, own.shown)
    }
    if (knex) await requireChangesTable(knex)
  } catch (error) {
    throw error instanceof ConfigurationError ? new ConfigurationError(`${view.name}: ${error.message}`) : error
  }
}

/** What a serializer nests, at any depth, can be recorded. @throws {ConfigurationError} */
function checkNested(recording: Recording, serializer: SerializerClass, seen: Set<SerializerClass>): void {
  if (seen.has(serializer)) return
  seen.add(serializer)
  for (const { field, relation, writable } of serializerPlan(serializer).fields) {
    if (!(writable && relation && field instanceof NestedSerializer)) continue
    recording.of(relation.model, field.serializerClass)
    checkNested(recording, field.serializerClass, seen)
  }
}

function checkStatic(changes: unknown): void {
  if (typeof changes === 'boolean') return
  const wrong = wrongKind(changes, 'record')
  if (wrong !== undefined) throw new ConfigurationError(`static changes ${wrong}`)
  const { serializer, fields, visibleBy, ...others } = changes as Record<string, unknown>
  const [unknown] = Object.keys(others)
  if (unknown !== undefined)
    throw new ConfigurationError(`static changes has no option "${unknown}"; take serializer, fields or visibleBy`)
  const wrongFields = fields === undefined ? undefined : wrongKind(fields, 'names')
  if (wrongFields !== undefined) throw new ConfigurationError(`static changes: fields ${wrongFields}`)
  const wrongColumns = visibleBy === undefined ? undefined : wrongKind(visibleBy, 'names')
  if (wrongColumns !== undefined) throw new ConfigurationError(`static changes: visibleBy ${wrongColumns}`)
  const wrongSerializer = serializer === undefined ? undefined : wrongKind(serializer, 'function')
  if (wrongSerializer !== undefined) throw new ConfigurationError(`static changes: serializer ${wrongSerializer}`)
}
