/** Which rows the caller of a request sees and may write, over all paths: the one answer that every query asks for. */

import type { PathStart, Where } from '../../filters/field-path.js'
import { oncePer } from '../../kernel/once-per.js'
import { describeModel } from '../../models/describe-model.js'
import type { ModelClass } from '../../models/objection.js'
import type { Leading, RowCondition, RowWrite, VisibleRows } from '../../queryset/visible-rows.js'
import type { RequestRules } from '../../rules/rule-set.js'
import type { GenericView } from '../generic-view.js'

/** What a view's caller sees; undefined where nothing but the querysets of views narrows it. */
export function visibleRowsFor(view: GenericView): VisibleRows | undefined {
  return view.plan.rules && rowsOf(view)
}

const rowsOf = oncePer((view: GenericView): VisibleRows | undefined => {
  const rules = view.plan.rules?.of(view.ctx)
  return rules && new RequestRows(rules)
})

/** The rules of an API, for one request. */
class RequestRows implements VisibleRows {
  readonly #rules: RequestRules

  constructor(rules: RequestRules) {
    this.#rules = rules
  }

  related({ model }: Leading): RowCondition | undefined {
    return this.#rules.rows(model, 'read')
  }

  ofTable(table: number, leading: Leading | undefined): RowCondition | undefined {
    if (leading) return this.related(leading)
    const model = this.#rules.models.find((one) => describeModel(one).table === table)
    return model && this.#rules.rows(model, 'read')
  }

  written(model: ModelClass, write: RowWrite): RowCondition | undefined {
    return this.#rules.rows(model, write)
  }
}

/** The rows of the view's own model that the rules let its caller see, as a condition; undefined for all of them. */
export function ruledRows(view: GenericView): Where | undefined {
  const { rules, resource } = view.plan
  const rows = rules?.of(view.ctx).rows(resource.model.model, 'read')
  return rows && ((start: PathStart) => rows.where(start.table, () => start.schema))
}
