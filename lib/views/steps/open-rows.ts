/** Opens an answer's rows, where nothing of the application needs instances of them. */

import { readsRawRows } from '../../postgres/run-statement.js'
import { JSONRenderer } from '../../renderers/json-renderers.js'
import { RowAccess } from '../../rows/row-access.js'
import type { SerializerClass } from '../../serializers/contract.js'
import { type GenericView, serializerContextOf } from '../generic-view.js'
import type { RowAnswer } from '../overrides.js'
import { rendererOf } from '../request/respond.js'
import { countSqlOf } from './count-related.js'
import { answerClass } from './selection.js'

/** Gets the reason why rows are not read, as a sentence for `explain()`; without it none is made. */
export type Tell = (because: string) => undefined

export interface RowAccessRequest {
  /** The serializer class of the answer. */
  readonly shown?: SerializerClass
  readonly tell?: Tell | undefined
}

/** The view's rows, where nothing of the application needs instances of them; else undefined. */
export function openRows(view: GenericView, answer: RowAnswer, options: RowAccessRequest = {}): RowAccess | undefined {
  const { tell } = options
  // before it is asked what is shown
  const { because, of } = view.plan.readings(answer)
  if (because !== null) return tell?.(because)
  const reading = of(options.shown ?? answerClass(view))
  if (reading.way === 'instances') return tell?.(reading.because)
  const { plan, statements, way } = reading
  const knex = view.trx ?? view.knex
  if (!knex || !readsRawRows(knex)) return tell?.("its queries do not run on pg's own client by knex")
  if (answer !== 'stream' && rendererOf(view).constructor !== JSONRenderer)
    return tell?.(`${rendererOf(view).constructor.name} takes values, not JSON`)
  return new RowAccess({
    model: view.plan.resource.model,
    plan,
    knex,
    statements,
    client: view.ctx.req.socket,
    native: way === 'native',
    countSql: plan.varies ? countSqlOf(view) : undefined,
    visible: view.visibleRows,
    readsQueries: Object.keys(view.plan.viewClass.related).length > 0,
    context: () => serializerContextOf(view),
  })
}
