/** Tells which rows and fields rules let a caller see and write, and from which view sets related objects come. */

import { describeModel } from '../models/describe-model.js'
import { type ModelClass, modelName } from '../models/objection.js'
import { nativeSql, type Queryable } from '../postgres/pg-types.js'
import type { FieldUse, RowCondition, RowWrite } from '../queryset/visible-rows.js'
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
    const isOpen = !isAsked && condition !== true && rules.asksCaller(model, action === 'read' ? ['read'] : undefined)
    const rows = isOpen ? undefined : rules.of(view.ctx).rows(model, action)
    told.push(
      `${verb} ${modelName(model)} where ${isOpen ? 'its rule says so' : rows ? sqlOf(view, model, rows) : 'true'}`,
    )
  }
  const write = WRITES[actionNamed(action)?.writes ?? 'nothing']
  for (const model of new Set([own, ...modelsIn(own, relations)])) {
    tell('reads', model, 'read')
    told.push(...explainFields(view, model, { isAsked, use: 'read' }))
  }
  if (write) {
    tell(write.verb, own, write.write)
    if (write.write !== 'delete') told.push(...explainFields(view, own, { isAsked, use: 'write' }))
  }
  for (const [relation, named] of Object.entries(related)) told.push(`${relation} from ${namedClass(named)?.name}`)
  return told
}

/** A sentence for each field of a model that the caller may not read, or set, of all rows. */
function explainFields(
  view: GenericAPIView,
  model: ModelClass,
  { isAsked, use }: { readonly isAsked: boolean; readonly use: FieldUse },
): readonly string[] {
  const { rules } = view.plan
  const visible = isAsked ? rules?.of(view.ctx).fields : rules?.fields.described
  return Object.keys(rules?.ruleOf(model)?.options.fields ?? {}).flatMap((name) => {
    const access = visible?.of(model, name)
    const extent = access?.[use] ?? 'all'
    if (extent === 'all') return []
    const field = `${modelName(model)}.${name}`
    const verb = use === 'read' ? (access?.mask ? 'masks' : 'hides') : 'keeps'
    if (extent === 'none') return [`${verb} ${field}`]
    const rows = isAsked ? rules?.of(view.ctx).fieldRows(model, name, use) : undefined
    return [`${verb} ${field} unless ${rows ? sqlOf(view, model, rows) : 'its rule says otherwise'}`]
  })
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
