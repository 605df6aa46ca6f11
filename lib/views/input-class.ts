/** The serializer of bodies: the action's own, that of the class for input, or the one that shows objects, too. */

import { oncePer } from '../kernel/once-per.js'
import { areOfOneTable } from '../models/one-table.js'
import type { ForcedValues, SerializerClass, SerializerPlan } from '../serializers/contract.js'
import { serializerPlan } from '../serializers/plan.js'
import { keepsUploads } from '../serializers/store-uploads.js'
import { isForced } from '../serializers/validated-item.js'
import { type GenericView, knownClassOf, serializerClassOf } from './generic-view.js'
import type { GenericViewClass } from './generic-view-class.js'

/** The serializer class of a request's body. */
export function inputClassOf(view: GenericView): SerializerClass {
  const { inputSerializer, viewClass } = view.plan
  return inputSerializer ?? viewClass.inputSerializerClass ?? serializerClassOf(view)
}

/** The serializer class of a request's body; undefined for a view without any, which can only delete. */
export function knownInputClass(view: GenericView): SerializerClass | undefined {
  const { inputSerializer, viewClass } = view.plan
  return inputSerializer ?? viewClass.inputSerializerClass ?? knownClassOf(view)
}

/** The serializer class of bodies by the statics of a class alone; null where only a request says it. */
export function declaredInput({
  inputSerializerClass,
  serializerClass,
}: Pick<GenericViewClass, 'inputSerializerClass' | 'serializerClass'>): SerializerClass | null {
  return inputSerializerClass ?? serializerClass
}

/** What is asked of bodies where the path decides the values of some fields. */
export function askedInput(plan: SerializerPlan, forced: ForcedValues | undefined): SerializerPlan {
  if (!forced) return plan
  return { ...plan, fields: plan.fields.map((one) => (isForced(forced, one) ? { ...one, required: false } : one)) }
}

/** The serializer classes by which objects of the view may name files: those of bodies, and of answers. */
export const uploadClassesOf = oncePer((view: GenericViewClass): readonly SerializerClass[] => {
  const model = view.modelClass()
  const shown = view.serializerClass ? [view.serializerClass] : []
  return [...new Set([...view.takingSerializers(), ...shown])].filter((one) => {
    const plan = serializerPlan(one)
    return areOfOneTable(plan.model?.model, model) && keepsUploads(plan)
  })
})
