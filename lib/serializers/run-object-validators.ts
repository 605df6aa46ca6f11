/** Runs the `validators` of a serializer, which are about several fields of an object together. */
import { runValidators } from '../fields/run-validators.js'
import { ValidationError } from '../kernel/errors.js'
import type { AnySerializer, BoundField } from './contract.js'
import type { Item } from './validated-item.js'

/**
 * Validators see the validated data; where some of an object changes (PATCH), beside it what the object shows of its other
 * columns. What a schema returns is laid over the data: names that it drops stay, and nested objects stay as they are.
 */
export async function runObjectValidators(serializer: AnySerializer, item: Item): Promise<void> {
  const { plan, context } = serializer
  const stored = item.partial && item.current ? shownValues(serializer, item, item.current) : {}
  try {
    const checked = await runValidators(plan.validators, { ...stored, ...item.value }, context)
    if (typeof checked !== 'object' || checked === null) {
      throw new Error(`${serializer.constructor.name}: a schema among its validators made no object of the data`)
    }
    const nested = new Set(plan.fields.filter(({ input }) => input === 'objects').map(({ name }) => name))
    for (const [name, value] of Object.entries(checked)) {
      if (!Object.hasOwn(stored, name) && !nested.has(name)) item.value[name] = value
    }
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error
    item.errors = error.errors
  }
}

/** What a client would send of the columns that it leaves as they are. */
function shownValues({ plan, context }: AnySerializer, { value }: Item, current: object): Record<string, unknown> {
  // they are the application's, and see what rules keep from its caller
  const columns = plan.fields.filter(
    ({ name, column, writable, access, field, input }) =>
      column && (writable || access?.isKept) && !field.writeOnly && input === 'value' && !Object.hasOwn(value, name),
  )
  return Object.fromEntries(columns.map((bound) => [bound.name, shown(bound, current, context)]))
}

function shown({ field, column }: BoundField, current: object, context: AnySerializer['context']): unknown {
  const stored = (current as Readonly<Record<string, unknown>>)[(column as { property: string }).property]
  return stored === null || stored === undefined ? null : field.toRepresentation(stored, context)
}
