/** Checks that the `source` of a field names columns, relations or attributes of the models on its path. */

import { ConfigurationError } from '../kernel/errors.js'
import { didYouMean } from '../kernel/near-miss.js'
import { checkEnds } from '../models/check-joins.js'
import { describeModel } from '../models/describe-model.js'
import { isJoinedByColumns, mappingOf } from '../models/describe-relations.js'
import type { ModelDescription } from '../models/model-description.js'
import { modelName } from '../models/objection.js'
import { checkWhole } from '../queryset/reads-whole-rows.js'
import { checkExtras } from './check-nested.js'
import type { SerializerClass } from './contract.js'

/** Names the model computes for its instances (`static virtualAttributes`). */
export function attributesOf(model: ModelDescription): readonly string[] {
  return model.model.virtualAttributes ?? []
}

/** True for an attribute of the model's class: a getter, or a name among its virtual attributes. */
export function hasAttribute(model: ModelDescription, name: string): boolean {
  if (attributesOf(model).includes(name)) return true
  const descriptor = descriptorOf(model.model.prototype, name)
  return descriptor !== undefined && typeof descriptor.value !== 'function'
}

/**
 * Checks a source step by step: relations lead from model to model, the last step is a column, a relation or an attribute.
 * What stands in a column, and what an attribute returns, is not known before there is an object.
 * @throws {ConfigurationError}
 */
export function checkSource(
  serializer: SerializerClass,
  name: string,
  source: readonly string[],
  root: ModelDescription,
): void {
  let model = root
  for (const [index, step] of source.entries()) {
    if (!model.prepared || model.columns.has(step)) return
    const relation = model.relations.get(step)
    if (!relation) {
      if (hasAttribute(model, step)) return
      throw wrongStep(serializer, name, step, model)
    }
    const next = source[index + 1]
    if (next !== undefined && !relation.single) {
      if (next === 'length' || /^\d+$/.test(next)) return
      throw new ConfigurationError(
        `${serializer.name}: field "${name}" asks a list for "${next}": ${modelName(model.model)}.${step} leads to many ` +
          'objects; nest a serializer with many: true, or declare a SerializerMethodField',
      )
    }
    if (mappingOf(model.model, step).join && !isJoinedByColumns(model.model, step)) {
      throw new ConfigurationError(
        `${serializer.name}: field "${name}" shows what "${step}" of ${modelName(model.model)} leads to, which is not joined by columns; declare a SerializerMethodField for it`,
      )
    }
    checkEnds(model, relation)
    if (relation.narrowed) checkWhole(model.model, step)
    if (next !== undefined) checkExtras(`${serializer.name}: field "${name}"`, relation, [next])
    model = describeModel(relation.model)
  }
}

function wrongStep(
  serializer: SerializerClass,
  name: string,
  step: string,
  model: ModelDescription,
): ConfigurationError {
  const owner = modelName(model.model)
  const isMethod = typeof descriptorOf(model.model.prototype, step)?.value === 'function'
  return new ConfigurationError(
    isMethod
      ? `${serializer.name}: field "${name}" has no source: "${step}" is a method of ${owner}; make it a getter, list it in static virtualAttributes, or declare a SerializerMethodField`
      : `${serializer.name}: field "${name}" has no source: ${owner} has no column, relation or attribute "${step}"${didYouMean(step, sourceNames(model)) || '; correct the name'}, set option source, list in its static virtualAttributes what the queryset selects, or set writeOnly: true and take it in create() and update()`,
  )
}

/** What a step of a source, or a field by its own name, may lead to. */
export function sourceNames(model: ModelDescription): readonly string[] {
  return [...model.columns.keys(), ...model.relations.keys(), ...attributesOf(model)]
}

/** What a class or one above it says of a name; what all objects have is nobody's. */
function descriptorOf(prototype: object, name: string): PropertyDescriptor | undefined {
  for (let own = prototype; Object.getPrototypeOf(own) !== null; own = Object.getPrototypeOf(own) as object) {
    const descriptor = Object.getOwnPropertyDescriptor(own, name)
    if (descriptor) return descriptor
  }
  return undefined
}
