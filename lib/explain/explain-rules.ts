/** Tells which rows rules let a caller see and write, and from which view sets related objects come. */

import { describeModel } from '../models/describe-model.js'
import { type ModelClass, modelName } from '../models/objection.js'
import { nativeSql, type Queryable } from '../postgres/pg-types.js'
import type { RowCondition, RowWrite } from '../queryset/visible-rows.js'
import type { RuleAction } from '../rules/rule.js'
import type { RelationGraph } from '../serializers/contract.js'
import { serializerPlan } from '../serializers/plan.js'
import { actionNamed } from '../views/actions.js'
import type { GenericAPIView } from '../views/generic-api-view.js'
import { namedClass } from '../views/related-view-set.js'
import type { Subject } from './subject.js'

/** A sentence for each rule of the models that an action reads and writes, as they are for the caller; without a request, for those that ask none. */
export function explainRules({ view, isAsked }: Subject<GenericAPIView>): readonly string[] {
  const { rules, viewClass, action } = view.plan
  const own = viewClass.modelClass()
  const { serializerClass, related } = viewClass
  const relations = serializerClass ? serializerPlan(serializerClass).relations : {}
  const told: string[] = []
  const tell = (verb: string, model: ModelClass, action: RuleAction) => {
    const condition = rules?.ruleOf(model)?.conditionOf(action)
    if (!rules || condition === undefined) return
    const isOpen = !isAsked && rules.asksCaller
    const rows = isOpen ? undefined : rules.of(view.ctx).rows(model, action)
    told.push(
      `${verb} ${modelName(model)} where ${isOpen ? 'its rule says so' : rows ? sqlOf(view, model, rows) : 'true'}`,
    )
  }
  for (const model of new Set([own, ...modelsIn(own, relations)])) tell('reads', model, 'read')
  const write = WRITES[actionNamed(action)?.writes ?? 'nothing']
  if (write) tell(write.verb, own, write.write)
  for (const [relation, named] of Object.entries(related)) told.push(`${relation} from ${namedClass(named)?.name}`)
  return told
}

const WRITES: Readonly<Record<string, { readonly verb: string; readonly write: RowWrite } | undefined>> = {
  insert: { verb: 'creates', write: 'create' },
  update: { verb: 'changes', write: 'update' },
  delete: { verb: 'deletes', write: 'delete' },
}

function modelsIn(owner: ModelClass, graph: RelationGraph): readonly ModelClass[] {
  const { relations } = describeModel(owner)
  return Object.entries(graph).flatMap(([name, inner]) => {
    const relation = relations.get(name)
    return relation ? [relation.model, ...modelsIn(relation.model, inner)] : []
  })
}

function sqlOf({ trx, knex }: GenericAPIView, model: ModelClass, rows: RowCondition): string {
  const { sql, bindings } = rows.where(model.tableName)
  return nativeSql(((trx ?? knex ?? model.knex()) as Queryable).raw(sql, bindings as never)).text
}
