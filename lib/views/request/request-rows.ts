/** Decides which rows the caller of a request sees and may write: `ruledRows()` in the view's own queryset, `RequestRows` wherever else rows of a model are met. */

import type { PathStart, Where } from '../../filters/field-path.js'
import { areOfOneDatabase, describeModel } from '../../models/describe-model.js'
import type { ModelClass } from '../../models/objection.js'
import type {
  FieldUse,
  KeyTarget,
  Leading,
  RowCondition,
  RowWrite,
  SeenRows,
  VisibleRows,
} from '../../queryset/visible-rows.js'
import type { RequestRules } from '../../rules/rule-set.js'
import type { GenericView } from '../generic-view.js'
import { relatedSource } from '../related-view-set.js'
import { openList, relatedListQuery } from './related-list.js'

const ROWS = Symbol('what the caller sees')

/** What a view's caller sees, where more than the querysets of views narrows it. */
export function requestRows(view: GenericView & { [ROWS]?: VisibleRows }): VisibleRows {
  // a property: a WeakMap would keep the request until a full garbage collection
  view[ROWS] ??= new RequestRows(view)
  return view[ROWS]
}

/** Rules of the API, and the view sets from which related objects come, for one request. */
class RequestRows implements VisibleRows {
  readonly #view: GenericView

  constructor(view: GenericView) {
    this.#view = view
  }

  /** Asked each time, as `ruledRows()` does: code of the application may say later who the caller is. */
  get #rules(): RequestRules | undefined {
    const { plan, ctx } = this.#view
    return plan.rules?.of(ctx)
  }

  related({ owner, relation, model }: Leading): SeenRows | undefined {
    const viewClass = relatedSource(this.#view.plan.viewClass, owner, relation)
    if (!viewClass) return this.#rules?.rows(model, 'read')
    // its scope has the rule of its model
    const make = () => relatedListQuery(openList(viewClass, this.#view), this.#view)
    const first = make()
    if (!first) return undefined
    let isTaken = false
    return {
      mayBeLeft: viewClass.mayLeaveQueryset,
      query: () => {
        const query = isTaken ? make() : first
        isTaken = true
        return query ?? first
      },
    }
  }

  ofTable({ owner, table }: KeyTarget, leading: Leading | undefined): SeenRows | undefined {
    if (leading) return this.related(leading)
    const model = this.#rules?.models.find((one) => describeModel(one).table === table && areOfOneDatabase(one, owner))
    return model && this.#rules?.rows(model, 'read')
  }

  allowed(model: ModelClass, does: RowWrite | 'read'): RowCondition | undefined {
    return this.#rules?.rows(model, does)
  }

  ofField(model: ModelClass, property: string, use: FieldUse): RowCondition | undefined {
    return this.#rules?.fieldRows(model, property, use)
  }
}

/** The rows of the view's own model that the rules let its caller see, as a condition; undefined for all of them. */
export function ruledRows(view: GenericView): Where | undefined {
  const { rules, resource } = view.plan
  const rows = rules?.of(view.ctx).rows(resource.model.model, 'read')
  return rows && ((start: PathStart) => rows.where(start.table, () => start.schema))
}
