/**
 * Keys that reach for a prototype, in values of JSON that are sent back as they were read (promises A4, B17): such a body is
 * read where each of them stands in a member that is compared with what is stored, or that nothing reads.
 */

import { ArrayField } from '../../fields/array-field.js'
import { JSONField } from '../../fields/json-field.js'
import { hasForbidden, isForbidden } from '../../fields/json-text.js'
import { ForbiddenKey } from '../../parsers/json-parser.js'
import type { ParsedBody } from '../../parsers/parser.js'
import type { BoundField, SerializerClass } from '../../serializers/contract.js'
import { NestedSerializer } from '../../serializers/nested-serializer.js'
import { serializerPlan } from '../../serializers/plan.js'
import { standardSchemaOf } from '../../serializers/schema-serializer.js'
import { actionNamed } from '../actions.js'
import type { GenericView } from '../generic-view.js'
import { inputClassOf } from '../input-class.js'
import type { View } from '../view.js'
import { memberOfBody } from './enclose.js'

/** @throws the error, unless it is about such a body, and the action is ours and changes objects that are there */
export function bodyOfStored(view: View, error: unknown): ParsedBody {
  const { action, resource } = view.plan
  const isUpdate = actionNamed(action)?.serializerMethod === 'update'
  if (!(error instanceof ForbiddenKey) || !error.data || !isUpdate || !resource) throw error
  const { overrides } = resource
  // code of the application's is never given them to read
  const isRead =
    overrides.hasPartOf(action) || overrides.first(['getInputSerializer', 'getSerializer', 'getObjectToWrite'])
  if (isRead || (resource.ownHook(action) ?? resource.objectObstacle) !== null) throw error
  const data = error.data()
  const name = memberOfBody(view as GenericView)
  const serializer = inputClassOf(view as GenericView)
  const isFound = name === undefined ? isAmongStored(serializer, data) : isWithin(serializer, name, data)
  if (!isFound) throw error
  return { data, textual: false }
}

/** True where what stands beside the objects has no such key. */
function isWithin(serializer: SerializerClass, name: string, data: unknown): boolean {
  return Object.entries(Object(data) as object).every(([key, value]) =>
    key === name ? isAmongStored(serializer, value) : !isForbidden(key, value) && !hasForbidden(value),
  )
}

function isAmongStored(serializer: SerializerClass, data: unknown): boolean {
  if (standardSchemaOf(serializer)) return !hasForbidden(data)
  const { byName } = serializerPlan(serializer)
  return [data].flat().every((object) =>
    Object.entries(Object(object) as object).every(([name, value]) => {
      const bound = byName.get(name)
      if (isForbidden(name, value)) return false
      if (bound?.writable && bound.field instanceof NestedSerializer) {
        return isAmongStored(bound.field.serializerClass, value)
      }
      return (bound !== undefined && isCompared(bound)) || !hasForbidden(value)
    }),
  )
}

/** True for what is shown and not written, and for JSON, whose own check refuses such keys where nothing like it is stored. */
function isCompared({ readable, writable, field }: BoundField): boolean {
  if (!readable) return false
  const json: unknown = field instanceof ArrayField ? field.options.child : field
  return !writable || (json instanceof JSONField && json.toInternalValue === JSONField.prototype.toInternalValue)
}
