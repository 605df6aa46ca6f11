/** How nested lists are shown: their order, and the part of them (`orderBy`, `modify` and `limit` of `NestedSerializer`). */

import { ConfigurationError } from '../kernel/errors.js'
import { didYouMean } from '../kernel/near-miss.js'
import { describeModel } from '../models/describe-model.js'
import type { ModelDescription, RelationDescription } from '../models/model-description.js'
import { type ModelClass, modelName } from '../models/objection.js'
import { cutOf, modifierProblem, type Narrowed, takesFirst } from '../queryset/reads-whole-rows.js'
import { isPart, type RelatedList } from '../queryset/related-lists.js'
import { canBeTotal, type OrderTerm, orderText, parseOrderTerm, totalOrder } from '../queryset/total-order.js'
import type { BoundField, SerializerClass } from './contract.js'
import { NestedSerializer } from './nested-serializer.js'

const OPTIONS = ['orderBy', 'modify', 'limit'] as const

/** A field in its place. */
interface Placed extends Pick<BoundField, 'name' | 'field' | 'relation'> {
  readonly serializer: SerializerClass
  /** The model whose relations it shows. */
  readonly owner: ModelDescription | undefined
  readonly readOnly: boolean
}

/**
 * The list that a field shows in an order or in part; undefined where it has no such option.
 * @throws {ConfigurationError} the options are of no list, or name what there is not
 */
export function nestedListOf({ serializer, owner, name, field, relation, readOnly }: Placed): RelatedList | undefined {
  if (!(field instanceof NestedSerializer)) return undefined
  const { orderBy = [], modify = [], limit } = field.options
  const given = OPTIONS.find((option) => field.options[option] !== undefined)
  if (given === undefined) return undefined
  const fail = (problem: string) => new ConfigurationError(`${serializer.name}: field "${name}" ${problem}`)
  if (!field.many) throw fail(`has ${given}, which is for lists; set many: true, or leave it out`)
  if (!relation || relation.single) {
    throw fail(
      `has ${given}, and the model has no relation of that name to many objects${didYouMean(field.options.source ?? name, owner?.relations.keys() ?? []) || '; correct its source'}`,
    )
  }
  const { model } = relation
  const modifiers = [modify].flat()
  const list = { relation: relation.name, modifiers, order: orderOf(model, orderBy, fail), limit }
  for (const modifier of modifiers) checkModifier(relation, modifier, fail)
  const own = owner && relation.narrowed ? [(owner.model.getRelation(relation.name) as Narrowed).modify] : []
  if (orderBy.length > 0 && [...modifiers, ...own].some((modifier) => takesFirst(model, modifier))) {
    throw fail('has orderBy, and its rows are the first by the order of a distinctOn(); leave orderBy out')
  }
  if (isPart(list) && !(readOnly || field.readOnly)) {
    throw fail('shows a part of a list, which a client cannot write as a whole; set readOnly: true')
  }
  if (limit !== undefined && describeModel(model).prepared && !canBeTotal(describeModel(model), [])) {
    throw fail(`has a limit, and ${modelName(model)} has no primary key that tells its rows apart; set its idColumn`)
  }
  return list
}

/** Keeps lists of one relation apart that fields show in several orders: those that nobody writes stand beside the relation. */
export function keepListsApart(fields: readonly BoundField[]): readonly BoundField[] {
  const shown = fields.filter(({ field, relation }) => field instanceof NestedSerializer && relation?.single === false)
  const orders = new Map<string, Set<string>>()
  for (const { relation, list } of shown) {
    if (list && isPart(list)) continue
    const name = (relation as RelationDescription).name
    orders.set(name, (orders.get(name) ?? new Set()).add(orderText(list?.order ?? [])))
  }
  return fields.map((bound) => {
    const { list, writable } = bound
    const isOneOfSeveral = list !== undefined && (orders.get(list.relation)?.size ?? 0) > 1
    return isOneOfSeveral && !writable && !isPart(list) ? { ...bound, list: { ...list, isBeside: true } } : bound
  })
}

type Fail = (problem: string) => ConfigurationError

function orderOf(model: ModelClass, texts: readonly string[], fail: Fail): readonly OrderTerm[] {
  const description = describeModel(model)
  const terms = texts.map(parseOrderTerm)
  for (const { property } of description.prepared ? terms : []) {
    const column = description.columns.get(property)
    if (!column) {
      const known = [...description.columns.keys()]
      throw fail(
        `has orderBy "${property}", which is no column of ${modelName(model)}${didYouMean(property, known) || '; correct the name'}`,
      )
    }
    if (!column.isOrdered) {
      throw fail(`has orderBy "${property}", a column of type ${column.type}, which has no order; take another one`)
    }
  }
  return terms.length === 0 ? terms : totalOrder(description, terms)
}

function checkModifier(relation: RelationDescription, name: string, fail: Fail): void {
  const problem = modifierProblem(relation.model, name)
  if (problem !== undefined) throw fail(`has modify "${name}", which ${problem}`)
  const cut = cutOf(relation, name)
  if (cut === undefined) return
  throw fail(`has modify "${name}": it has ${cut}, which counts for the rows of all lists together; use option limit`)
}
