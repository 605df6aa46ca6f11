/** Refuses names in a body that no field has, at any depth, where the class says so or a client prefers it. */

import { readForm } from '../../fields/json-text.js'
import { type ErrorMessages, ValidationError } from '../../kernel/errors.js'
import { UnknownNames } from '../../kernel/unknown-names.js'
import type { SerializerClass, SerializerPlan } from '../../serializers/contract.js'
import { NestedSerializer } from '../../serializers/nested-serializer.js'
import { serializerPlan } from '../../serializers/plan.js'
import { standardSchemaOf } from '../../serializers/schema-serializer.js'
import { forcedWithin, keyNamesOf } from '../../serializers/validate-nested.js'
import { actionNamed, changesMany, takesMany } from '../actions.js'
import type { GenericView } from '../generic-view.js'
import { inputClassOf } from '../input-class.js'
import { refusesUnknown } from '../request/heeded-preferences.js'
import { keyNames } from './bulk-objects.js'

/**
 * Refuses them where the class says so (`strictBody`), or the client prefers it.
 * @throws ValidationError the body has names that are none of the serializer's, which would be ignored
 */
export function refuseUnknownNames(view: GenericView): void {
  const { action, inputSerializer, viewClass } = view.plan
  const { strictBody } = viewClass
  if (!refusesUnknown(view)) return
  const { writes } = actionNamed(action) ?? {}
  if (!inputSerializer && (writes === undefined || writes === 'delete')) return
  const keys = changesMany(action) ? keyNames(view).map(({ name }) => name) : []
  const errors = unknownIn(view.seenClass(inputClassOf(view)), view.body.data, {
    keys,
    isList: takesMany(action),
    textual: view.body.textual,
    isWritten: strictBody === 'writable',
    unknown: new UnknownNames('body'),
  })
  if (errors) throw new ValidationError(errors)
}

interface Search {
  /** Names by which items name objects. */
  readonly keys: readonly string[]
  readonly isList: boolean
  /** It is a form, whose strings may be JSON. */
  readonly textual: boolean
  /** Names of fields that no client may write are refused, too. */
  readonly isWritten: boolean
  readonly unknown: UnknownNames
}

/** Messages by name; values of another shape than the serializer's are left to its validation. */
function unknownIn(serializer: SerializerClass, value: unknown, search: Search): ErrorMessages | undefined {
  const values: readonly unknown[] = search.isList ? (Array.isArray(value) ? value : []) : [value]
  const errors: ErrorMessages = {}
  for (const [position, one] of values.entries()) {
    const found = unknownInObject(serializer, one, search)
    if (!found) continue
    if (!search.isList) return found
    errors[position] = found
  }
  return Object.keys(errors).length > 0 ? errors : undefined
}

/** The names that a client may send, or sees. */
function shownNames(byName: SerializerPlan['byName'], { isWritten }: Search): readonly string[] {
  return [...byName.values()].filter((one) => one.writable || (one.readable && !isWritten)).map(({ name }) => name)
}

function unknownInObject(serializer: SerializerClass, value: unknown, search: Search): ErrorMessages | undefined {
  // a schema of another library is as strict as it says
  if (typeof value !== 'object' || value === null || Array.isArray(value) || standardSchemaOf(serializer))
    return undefined
  const plan = serializerPlan(serializer)
  const { byName } = plan
  const errors: ErrorMessages = {}
  for (const [name, inner] of Object.entries(value)) {
    if (search.unknown.isFull) break
    const bound = byName.get(name)
    const isHidden = bound?.input === 'nothing' && !bound.readable
    if (!bound || isHidden || (search.isWritten && !bound.writable)) {
      if (search.keys.includes(name)) continue
      if (bound && !isHidden) errors[name] = ['This field is read-only.']
      else search.unknown.note(name, () => shownNames(byName, search), errors)
    } else if (bound.writable && bound.field instanceof NestedSerializer) {
      const { serializerClass, many } = bound.field
      const value = search.textual ? readForm(bound.field, inner) : inner
      const keys = many ? keyNamesOf(serializerPlan(serializerClass), forcedWithin(plan, bound)) : []
      const found = unknownIn(serializerClass, value, { ...search, keys, isList: many })
      if (found) errors[name] = found
    }
  }
  return Object.keys(errors).length > 0 ? errors : undefined
}
