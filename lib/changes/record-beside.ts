/** Change record of a row in the statement that writes it. */

import { externalIds } from '../ids/external-ids.js'
import { getOrInsert } from '../kernel/maps.js'
import { oncePer } from '../kernel/once-per.js'
import { describeModel } from '../models/describe-model.js'
import type { Column } from '../models/model-description.js'
import type { ModelClass } from '../models/objection.js'
import type { Queryable } from '../postgres/pg-types.js'
import type { SqlPart } from '../queryset/sql-part.js'
import type { RowWrite } from '../queryset/visible-rows.js'
import { objectText } from '../rows/json-text.js'
import type { RowPlan } from '../rows/row-shape.js'
import { LIST_ALIAS } from '../rows/sql-parts.js'
import type { StatementBeside } from '../rows/write-sql.js'
import type { GenericPlan } from '../views/action-plan.js'
import type { GenericView } from '../views/generic-view.js'
import { recordingClass } from '../views/request/log-writes.js'
import type { Recorded } from './change-log.js'
import { tableIn } from './changes-table.js'
import { hearerOf } from './committed-changes.js'
import { flatPlan, keptCell } from './read-images.js'
import { originOf, type RecordingViewClass, recordingOf } from './recording.js'

/** Types of keys whose text is what clients have. */
const PLAIN_KEYS: ReadonlySet<string> = new Set(['int2', 'int4', 'int8', 'uuid', 'text', 'varchar'])

/** Why what is recorded of a row is not written by the statement that writes the row; null where it is. */
export function statementObstacle({ action, viewClass, rules, database }: GenericPlan): string | null {
  const model = viewClass.modelClass()
  const { primaryKey, columns } = describeModel(model)
  const [key = '', ...others] = primaryKey
  const { shown, nested = [] } =
    recordingOf(viewClass as RecordingViewClass & typeof viewClass, rules).of(model, undefined) ?? {}
  if (!WRITTEN_BESIDE.has(action)) return 'its changes are recorded, of each object'
  // which a foreign key may delete with it
  if (action === 'destroy' && nested.length > 0)
    return 'its changes are recorded, and those of objects that are nested in it'
  if (database) return 'its changes are recorded, and its statements run as a role'
  if (!shown || !flatPlan(shown))
    return `its changes are recorded, which PostgreSQL cannot write of ${shown?.name ?? 'its objects'}`
  const isPlain = others.length === 0 && PLAIN_KEYS.has(columns.get(key)?.type ?? '') && !externalIds(model)
  return isPlain ? null : 'its changes are recorded by keys that PostgreSQL cannot write'
}

/** Actions whose one object one statement writes. */
const WRITTEN_BESIDE: ReadonlySet<string> = new Set(['create', 'update', 'partialUpdate', 'destroy'])

/** Part of the writing statement that records the row; undefined where that is not possible. */
export function recordBeside(view: GenericView, write: RowWrite): StatementBeside | undefined {
  const { ctx, plan, knex } = view
  const { viewClass, rules } = plan
  const way = write === 'create' ? plan.inserting : plan.writing
  if (!recordingClass(viewClass) || way.because !== null) return undefined
  const model = viewClass.modelClass()
  const recorded = recordingOf(viewClass as RecordingViewClass & typeof viewClass, rules).of(model) as Recorded
  const database = (knex ?? model.knex()) as Queryable
  const table = tableIn(database)
  const { shape, columns, statement } = getOrInsert(statements(recorded)[write], table, () => {
    const parts = partsOf(model, recorded, table)
    return { shape: `|${write} ${table} ${++made}`, ...BESIDE[write](parts) }
  })
  const { caller, requestId } = originOf(ctx)
  const tell = hearerOf(database)
  if (tell) view.afterCommit(tell)
  return { shape, columns, statement, values: [model.tableName, caller, requestId] }
}

type Kept = Omit<StatementBeside, 'values'>

/** By the name of the table of changes. */
const statements = oncePer((_recorded: Recorded) => ({
  create: new Map<string, Kept>(),
  update: new Map<string, Kept>(),
  delete: new Map<string, Kept>(),
}))
/** Tells apart what two view sets record of one model. */
let made = 0

/** Parts of such a statement. */
interface Parts {
  readonly table: string
  /** What they read of a row, and of one that was there besides. */
  readonly columns: readonly Column[]
  readonly deciding: readonly Column[]
  /** The text of the key. */
  readonly key: SqlPart
  /** JSON of the row. */
  readonly json: SqlPart
  /** Columns that decide who saw the row. */
  readonly was: SqlPart
}

function partsOf(model: ModelClass, { shown, deciding }: Recorded, table: string): Parts {
  const { primaryKey, columns } = describeModel(model)
  const plan = flatPlan(shown) as RowPlan
  const read = plan.columns.map(({ column }) => column)
  const cells = deciding.map((column) => `${keptCell(column, '??')} as ??`)
  return {
    table,
    columns: [...read, columns.get(primaryKey[0] as string) as Column],
    deciding,
    key: { sql: '??::text', bindings: [`c${read.length}`] },
    json: objectText(plan.object, plan),
    was: {
      sql: `(select row_to_json(r.*) from (select ${cells.join(', ')}) as r)`,
      bindings: deciding.flatMap(({ column }, index) => [`c${read.length + 1 + index}`, column]),
    },
  }
}

function insertBeside({ table, columns, key, json }: Parts): Omit<Kept, 'shape'> {
  return {
    columns,
    statement: ({ written }) => ({
      sql:
        `insert into ${table} (model, key, action, caller, request_id, after) ` +
        `select ?, ${key.sql}, 'create', ?, ?::uuid, (${json.sql})::json from ${written.sql} as ??`,
      bindings: [null, ...key.bindings, null, null, ...json.bindings, ...written.bindings, LIST_ALIAS],
    }),
  }
}

function deleteBeside({ table, columns, deciding, key, json, was }: Parts): Omit<Kept, 'shape'> {
  return {
    columns: [...columns, ...deciding],
    statement: ({ written }) => ({
      sql:
        `insert into ${table} (model, key, action, caller, request_id, before, was) ` +
        `select ?, ${key.sql}, 'delete', ?, ?::uuid, (${json.sql})::json, ${was.sql} from ${written.sql} as ??`,
      bindings: [null, ...key.bindings, null, null, ...json.bindings, ...was.bindings, ...written.bindings, LIST_ALIAS],
    }),
  }
}

function updateBeside({ table, columns, deciding, key, json, was }: Parts): Omit<Kept, 'shape'> {
  return {
    columns: [...columns, ...deciding],
    statement: ({ written, stored }) => ({
      sql:
        `insert into ${table} (model, key, action, caller, request_id, before, after, was) ` +
        `select ?, s.key, 'update', ?, ?::uuid, s.json::json, w.json::json, s.was ` +
        `from (select ${key.sql} as key, (${json.sql}) as json, ${was.sql} as was from ${stored.sql} as ??) as s, ` +
        `(select (${json.sql}) as json from ${written.sql} as ??) as w where s.json is distinct from w.json`,
      bindings: [
        ...[null, null, null, ...key.bindings, ...json.bindings, ...was.bindings],
        ...[...stored.bindings, LIST_ALIAS, ...json.bindings, ...written.bindings, LIST_ALIAS],
      ],
    }),
  }
}

const BESIDE = { create: insertBeside, update: updateBeside, delete: deleteBeside } as const
