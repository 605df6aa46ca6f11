/** Finds related objects that are read from a whole table of which another view set of the API shows a part. */

import { RelatedField } from '../../fields/related-field.js'
import { firstTime } from '../../kernel/once-per.js'
import { isModelClass, type ModelClass, modelName } from '../../models/objection.js'
import type { RuleSet } from '../../rules/rule-set.js'
import type { SerializerClass } from '../../serializers/contract.js'
import { isRelatedCount } from '../../serializers/count-field.js'
import { NestedSerializer } from '../../serializers/nested-serializer.js'
import { serializerPlan } from '../../serializers/plan.js'
import { selectFields } from '../../serializers/select-fields.js'
import { isBuiltIn } from '../built-in.js'
import { type GenericViewClass, hasModel } from '../generic-view-class.js'
import { relatedSource } from '../related-view-set.js'

const isFirst = firstTime()

/**
 * What of the view sets of an API reaches a whole table, though another of them narrows it by its queryset: a sentence for
 * each, with the fix.
 */
export function wholeTables(views: readonly GenericViewClass[], rules: RuleSet | undefined): readonly string[] {
  const narrowing = new Map<string, GenericViewClass>()
  for (const view of views) {
    const isOwn = !isBuiltIn(view.prototype, 'getQueryset')
    if (hasModel(view) && (isOwn || view.queryset !== null)) narrowing.set(view.modelClass().tableName, view)
  }
  if (narrowing.size === 0) return []
  return [...new Set(views.flatMap((view) => wholeTablesOf(view, { narrowing, rules })))]
}

interface Narrowing {
  /** The view sets that show a part of a table, by its name. */
  readonly narrowing: ReadonlyMap<string, GenericViewClass>
  readonly rules: RuleSet | undefined
}

function wholeTablesOf(view: GenericViewClass, { narrowing, rules }: Narrowing): string[] {
  const found: string[] = []
  const seen = new Set<SerializerClass>()
  const look = (serializer: SerializerClass): void => {
    if (seen.has(serializer)) return
    seen.add(serializer)
    const { fields, model } = serializerPlan(serializer)
    for (const { name, field, relation, writable, readable, column } of fields) {
      if (!relation || !model) continue
      // the path decides on it
      const isForced = (column?.property ?? '') === view.parentLookupField || relation.name === view.parentLookupField
      if (isForced) continue
      const isNested = field instanceof NestedSerializer
      const isChosen = field instanceof RelatedField && writable && isModelClass(field.options.queryset)
      if (!(isNested && (readable || writable)) && !isChosen) continue
      const by = narrowing.get(relation.model.tableName)
      const isSaid = rules?.ruleOf(relation.model) ?? relatedSource(view, model.model, relation.name)
      if (by && !isSaid && !relation.narrowed) found.push(told(view, `${serializer.name}.${name}`, relation, by))
      if (isNested) look(field.serializerClass)
    }
  }
  if (!view.serializerClass) return found
  look(view.serializerClass)
  for (const path of Object.keys(view.expandable)) {
    if (isRelatedCount(view.expandable[path])) continue
    look(selectFields(view.serializerClass, view.expandable, { fields: undefined, expand: new Set([path]) }))
  }
  return found
}

function told(
  view: GenericViewClass,
  where: string,
  { name, model }: { readonly name: string; readonly model: ModelClass },
  by: GenericViewClass,
): string {
  return (
    `${view.name}: ${where} reaches all rows of ${modelName(model)}, of which ${by.name} shows a part by its queryset; ` +
    `set static related = { ${name}: ${by.name} }, give the router a rule(${modelName(model)}, …), or choose the rows by the field's own queryset`
  )
}

/** Warns of each once. */
export function warnOfWholeTables(problems: readonly string[], views: object): void {
  if (problems.length === 0 || !isFirst(views)) return
  for (const problem of problems) process.emitWarning(problem, { code: 'KOA_VIEWSETS_WHOLE_TABLE' })
}
