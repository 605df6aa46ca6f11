/** Change recording for a view set. */

import { described, exclusiveTo } from '../kernel/declarations.js'
import type { Queryable } from '../postgres/pg-types.js'
import type { RowWrite } from '../queryset/visible-rows.js'
import type { StatementBeside } from '../rows/write-sql.js'
import type { GenericPlan } from '../views/action-plan.js'
import type { GenericView } from '../views/generic-view.js'
import type { ViewConstructor } from '../views/mixins/mixin.js'
import type { RequestLog } from '../views/request/log-writes.js'
import { recordBeside, statementObstacle } from './record-beside.js'
import {
  type Changes,
  checkRecording,
  openLog,
  type RecordingViewClass,
  recordedColumns,
  recordedFields,
} from './recording.js'

const KINDS = { changes: 'any' } as const
exclusiveTo('ChangesMixin', 'view', KINDS)

/**
 * Records each change that requests to the view set make, in the transaction that makes it: objects that are created, changed,
 * deleted, restored and purged, one by one or in bulk, and those that are nested in them. What rolls back records nothing.
 * A plain create, PUT, PATCH or DELETE is one statement still, which writes the record, too (`explain()`).
 * @see docs/reference/changes.md
 * @example
 * class BookViewSet extends ChangesMixin(ModelViewSet<Book>) {
 *   static override changes: Changes = { fields: ['title', 'price'] }
 * }
 */
export function ChangesMixin<Base extends ViewConstructor>(base: Base): Base & { changes: Changes } {
  // the rest is internal, and has types that no declaration of an application can name
  const mixed = class extends base {
    /** What is recorded of objects; false records nothing. @default true: what the serializer shows of their own rows */
    static changes: Changes = true

    /** @internal */
    static get recordsChanges(): boolean {
      return this.changes !== false
    }

    /** @internal */
    static openLog(view: GenericView, trx: Queryable): RequestLog {
      return openLog(view, trx)
    }

    /** @internal */
    static statementObstacle(plan: GenericPlan): string | null {
      return statementObstacle(plan)
    }

    /** @internal */
    static recordBeside(view: GenericView, write: RowWrite): StatementBeside | undefined {
      return recordBeside(view, write)
    }

    /** @internal */
    static recordedFields({ viewClass, rules }: GenericPlan): readonly string[] {
      return recordedFields(viewClass as RecordingViewClass & typeof viewClass, rules)
    }

    /** @internal */
    static decidingColumns({ viewClass, rules }: GenericPlan): readonly string[] {
      return recordedColumns(viewClass as RecordingViewClass & typeof viewClass, rules)
    }

    /** @internal */
    static checkRecording(knex: Queryable | undefined): Promise<void> {
      return checkRecording(this as unknown as RecordingViewClass, knex)
    }
  }
  return described(mixed, KINDS)
}
