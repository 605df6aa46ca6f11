/** Finds related objects that are read from a whole table of which another view set of the API shows a part. */

import { RelatedField } from '../../fields/related-field.js'
import { firstTime } from '../../kernel/once-per.js'
import { areOfOneDatabase, uniteDatabases } from '../../models/describe-model.js'
import { isModelClass, type ModelClass, modelName } from '../../models/objection.js'
import { areOfOneTable } from '../../models/one-table.js'
import type { RuleSet } from '../../rules/rule-set.js'
import type { SerializerClass } from '../../serializers/contract.js'
import { isRelatedCount } from '../../serializers/count-field.js'
import { NestedSerializer } from '../../serializers/nested-serializer.js'
import { serializerPlan } from '../../serializers/plan.js'
import { selectFields } from '../../serializers/select-fields.js'
import { isBuiltIn } from '../built-in.js'
import { type GenericViewClass, hasModel } from '../generic-view-class.js'
import { relatedSource } from '../related-view-set.js'
import { serializersOfActions } from './models-of.js'

const isFirst = firstTime()

/**
 * What of the view sets of an API reaches a whole table, though another of them narrows it by its queryset: a sentence for
 * each table, with the fix.
 */
export async function wholeTables(
  views: readonly GenericViewClass[],
  rules: RuleSet | undefined,
): Promise<readonly string[]> {
  const shown = views.filter(isNarrowing)
  if (shown.length === 0) return []
  const reached = views.flatMap((view) => reachedBy(view, rules))
  await uniteDatabases([...reached.map(({ model }) => model), ...shown.map((view) => view.modelClass())])
  const found = reached.flatMap((one): Found[] => {
    const by = shown.findLast((view) => {
      const model = view.modelClass()
      return areOfOneTable(model, one.model) && areOfOneDatabase(model, one.model)
    })
    return by ? [{ ...one, by }] : []
  })
  return [...new Set(found.map(({ by }) => by))].map((by) => told(found.filter((one) => one.by === by)))
}

function isNarrowing(view: GenericViewClass): boolean {
  return hasModel(view) && (!isBuiltIn(view.prototype, 'getQueryset') || view.queryset !== null)
}

/** A field that reaches a whole table. */
interface Reaching {
  readonly view: GenericViewClass
  readonly where: string
  /** The name of the relation. */
  readonly name: string
  readonly model: ModelClass
}

interface Found extends Reaching {
  /** The view set that shows a part of it. */
  readonly by: GenericViewClass
}

function reachedBy(view: GenericViewClass, rules: RuleSet | undefined): Reaching[] {
  const found: Reaching[] = []
  const seen = new Set<SerializerClass>()
  const look = (serializer: SerializerClass): void => {
    if (seen.has(serializer)) return
    seen.add(serializer)
    const { fields, readable: shown, model } = serializerPlan(serializer)
    for (const { name, field, relation, writable, readable, column } of new Set([...fields, ...shown])) {
      if (!relation || !model) continue
      // the path decides on it
      const isForced = (column?.property ?? '') === view.parentLookupField || relation.name === view.parentLookupField
      if (isForced) continue
      const isNested = field instanceof NestedSerializer
      const isChosen = field instanceof RelatedField && writable && isModelClass(field.options.queryset)
      if (!(isNested && (readable || writable)) && !isChosen) continue
      const rule = rules?.ruleOf(relation.model)?.options
      // of fields alone a rule says nothing of rows
      const isSaid =
        (rule && !Object.keys(rule).every((one) => one === 'fields')) || relatedSource(view, model.model, relation.name)
      if (!isSaid && !relation.narrowed) {
        found.push({ view, where: `${serializer.name}.${name}`, name: relation.name, model: relation.model })
      }
      if (isNested) look(field.serializerClass)
    }
  }
  for (const serializer of [view.serializerClass, view.inputSerializerClass, ...serializersOfActions(view)])
    if (serializer) look(serializer)
  if (!view.serializerClass) return found
  for (const path of Object.keys(view.expandable)) {
    if (isRelatedCount(view.expandable[path])) continue
    look(selectFields(view.serializerClass, view.expandable, { fields: undefined, expand: new Set([path]) }))
  }
  return found
}

function told(found: readonly Found[]): string {
  const { name, model, by } = found[0] as Found
  const places = new Set(found.map(({ view, where }) => `${view.name} (${where})`))
  return (
    `${by.name} shows a part of ${modelName(model)} by its queryset, and all of it is reached by ${[...places].join(', ')}; ` +
    `set static related = { ${name}: ${by.name} } there, give the router a rule(${modelName(model)}, …), or choose the rows by the field's own queryset`
  )
}

/** Warns of each once. */
export function warnOfWholeTables(problems: readonly string[], views: object): void {
  if (problems.length === 0 || !isFirst(views)) return
  for (const problem of problems) process.emitWarning(problem, { code: 'KOA_VIEWSETS_WHOLE_TABLE' })
}
