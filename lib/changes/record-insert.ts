/** The record of a row that one statement inserts, made by the same statement. */

import { atResponseEnd } from '../http/response-end.js'
import { externalIds } from '../ids/external-ids.js'
import { oncePer } from '../kernel/once-per.js'
import { describeModel } from '../models/describe-model.js'
import type { Column } from '../models/model-description.js'
import type { ModelClass } from '../models/objection.js'
import type { Queryable } from '../postgres/pg-types.js'
import { objectText } from '../rows/json-text.js'
import type { RowPlan } from '../rows/row-shape.js'
import type { StatementBeside } from '../rows/write-sql.js'
import type { SerializerClass } from '../serializers/contract.js'
import type { GenericPlan } from '../views/action-plan.js'
import type { GenericView } from '../views/generic-view.js'
import { recordingClass } from '../views/request/log-writes.js'
import { tableIn } from './changes-table.js'
import { hearerOf } from './committed-changes.js'
import { flatPlan } from './read-images.js'
import { originOf, type RecordingViewClass, recordingOf } from './recording.js'

/** Types of keys whose text is what clients have. */
const PLAIN_KEYS: ReadonlySet<string> = new Set(['int2', 'int4', 'int8', 'uuid', 'text', 'varchar'])

/** Why what is recorded of a new row is not written by the INSERT; null where it is. */
export function insertObstacle({ action, viewClass, rules, database }: GenericPlan): string | null {
  const model = viewClass.modelClass()
  const { primaryKey, columns } = describeModel(model)
  const [key = '', ...others] = primaryKey
  const { shown } = recordingOf(viewClass as RecordingViewClass & typeof viewClass, rules).of(model, undefined) ?? {}
  if (action !== 'create') return 'its changes are recorded, of each object'
  if (database) return 'its changes are recorded, and its statements run as a role'
  if (!shown || !flatPlan(shown))
    return `its changes are recorded, which PostgreSQL cannot write of ${shown?.name ?? 'its objects'}`
  const isPlain = others.length === 0 && PLAIN_KEYS.has(columns.get(key)?.type ?? '') && !externalIds(model)
  return isPlain ? null : 'its changes are recorded by keys that PostgreSQL cannot write'
}

/** What records a row that is inserted; undefined where the INSERT cannot. */
export function recordInsert({ ctx, plan, knex }: GenericView): StatementBeside | undefined {
  const { viewClass, rules } = plan
  if (!recordingClass(viewClass) || plan.inserting.because !== null) return undefined
  const model = viewClass.modelClass()
  const recording = recordingOf(viewClass as RecordingViewClass & typeof viewClass, rules)
  const table = tableIn((knex ?? model.knex()) as Queryable)
  const known = statements(recording)
  let statement = known.get(table)
  if (!statement) {
    statement = makeStatement(model, recording.of(model, undefined)?.shown as SerializerClass, table)
    known.set(table, statement)
  }
  const { caller, requestId } = originOf(ctx)
  const tell = hearerOf((knex ?? model.knex()) as Queryable)
  // by then it is committed, whatever stands around it
  if (tell) atResponseEnd(ctx, tell)
  return { ...statement, values: [model.tableName, caller, requestId] }
}

type Kept = Omit<StatementBeside, 'values'>

/** By the name of the table of changes. */
const statements = oncePer<object, Map<string, Kept>>(() => new Map())

function makeStatement(model: ModelClass, shown: SerializerClass, table: string): Kept {
  const { primaryKey, columns } = describeModel(model)
  const plan = flatPlan(shown) as RowPlan
  const read = plan.columns.map(({ column }) => column)
  const json = objectText(plan.object, plan)
  return {
    shape: `|change ${table}`,
    columns: [...read, columns.get(primaryKey[0] as string) as Column],
    head: {
      sql:
        `insert into ${table} (model, key, action, caller, request_id, after) ` +
        `select ?, c${read.length}::text, 'create', ?, ?::uuid, (${json.sql})::json`,
      bindings: [model.tableName, null, null, ...json.bindings],
    },
  }
}
