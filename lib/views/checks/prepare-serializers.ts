/** Compiles the serializers that a view names, and warns of what they may show by mistake. */

import { FileUploadField } from '../../fields/file-upload-field.js'
import { ConfigurationError } from '../../kernel/errors.js'
import { checkSerializer, isSerializer } from '../../serializers/check-serializer.js'
import type { SerializerClass } from '../../serializers/contract.js'
import { NestedSerializer } from '../../serializers/nested-serializer.js'
import { serializerPlan } from '../../serializers/plan.js'
import { expandedBy } from '../../serializers/select-fields.js'
import { warnOfFormat, warnOfNestedSecrets, warnOfNullSlugs, warnOfSecrets } from '../../serializers/warn-of-shown.js'
import { type ActionClass, actionsOf } from '../action-options.js'
import type { GenericViewClass } from '../generic-view-class.js'
import { serializersOfActions } from './models-of.js'

/** Compiles those of the class itself. @throws {ConfigurationError} */
export function prepareSerializers({ serializerClass, inputSerializerClass, expandable }: GenericViewClass): void {
  const seen = new Set<SerializerClass>()
  if (inputSerializerClass) prepareSerializer(inputSerializerClass, seen)
  if (!serializerClass) return
  prepareSerializer(serializerClass, seen)
  warnOfSecrets(serializerClass)
  for (const expansion of Object.values(expandable)) {
    const shown = expandedBy(expansion)
    if (shown) warnOfNestedSecrets(serializerClass, shown)
  }
}

/** Checks those that its actions name, without a catalogue. @throws {ConfigurationError} one is no serializer, or declares what cannot be */
export function checkActions(view: ActionClass): void {
  for (const { action, inputSerializer, querySerializer, outputSerializer, statics } of actionsOf(view).values()) {
    for (const serializer of [inputSerializer, querySerializer, outputSerializer]) {
      if (serializer === undefined) continue
      if (!isSerializer(serializer)) {
        throw new ConfigurationError(
          `${view.name}.${action}: inputSerializer, queryParameters and outputSerializer are serializer classes; extend Serializer or ModelSerializer, or give a schema of zod, valibot or arktype`,
        )
      }
      checkSerializer(serializer)
    }
    const { serializerClass } = statics
    if (serializerClass === undefined || serializerClass === null) continue
    if (!isSerializer(serializerClass)) {
      throw new ConfigurationError(
        `${view.name}.${action}: serializerClass is no serializer class; extend Serializer or ModelSerializer`,
      )
    }
    checkSerializer(serializerClass)
  }
}

/** Compiles those that its actions name. @throws {ConfigurationError} */
export function prepareActions(view: ActionClass): void {
  for (const serializer of serializersOfActions(view)) {
    prepareSerializer(serializer, new Set())
  }
  for (const { action, statics, querySerializer, outputSerializer } of actionsOf(view).values()) {
    if (querySerializer) checkQuery(`${view.name}.${action}`, querySerializer)
    for (const shown of [statics['serializerClass'], outputSerializer]) if (isSerializer(shown)) warnOfSecrets(shown)
  }
}

/** @throws {ConfigurationError} nobody can tell the names of its parameters, or no query can hold one */
function checkQuery(where: string, serializer: SerializerClass): void {
  const { writable } = serializerPlan(serializer)
  if (writable.length === 0) {
    throw new ConfigurationError(
      `${where}: queryParameters names no parameter; give fields, or a schema of an object that has a JSON Schema`,
    )
  }
  const odd = writable.find(({ field }) => field instanceof NestedSerializer || field instanceof FileUploadField)
  if (!odd) return
  throw new ConfigurationError(
    `${where}: queryParameters has "${odd.name}", a ${odd.field.constructor.name}: a query holds no objects and no files; make it part of the input`,
  )
}

function prepareSerializer(serializer: SerializerClass, seen: Set<SerializerClass>): void {
  if (seen.has(serializer)) return
  seen.add(serializer)
  warnOfFormat(serializer)
  warnOfNullSlugs(serializer)
  const { fields, readable: shown } = serializerPlan(serializer)
  for (const { field, readable } of new Set([...fields, ...shown])) {
    if (!(field instanceof NestedSerializer)) continue
    if (readable) warnOfNestedSecrets(serializer, field.serializerClass)
    prepareSerializer(field.serializerClass, seen)
  }
}
