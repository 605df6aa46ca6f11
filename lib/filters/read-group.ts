/** What a group of conditions asks of a list: each of them read as the parameter of its name is, and the SQL of them all. */

import type { IDContext } from '../ids/codec.js'
import { ValidationError } from '../kernel/errors.js'
import type { SqlPart } from '../queryset/keyset.js'
import type { PathStart } from './field-path.js'
import { type Condition, declaredField, type Filterset, unknownLookup } from './filterset.js'
import { type Group, type GroupLimits, messageAt, parseGroup } from './parse-group.js'

/** A group whose conditions were read. */
export interface ReadGroup {
  readonly values: readonly unknown[]
  /** Costs the database as much as a search. */
  readonly expensive: boolean
  where(start: PathStart): SqlPart
}

type Where = (start: PathStart) => SqlPart

/** @throws ValidationError naming the places of all that is wrong */
export function readGroup(
  text: string,
  filterset: Filterset,
  { limits, caller }: { limits: GroupLimits; caller: IDContext },
): ReadGroup {
  const errors: string[] = []
  const conditions: Condition[] = []
  const read = (group: Group): Where => {
    if (group.kind !== 'leaf') return join(group.kind, group.parts.map(read))
    const condition = readLeaf(group, filterset, { text, caller, errors })
    if (condition) conditions.push(condition)
    return (start) => (condition as Condition).where(start)
  }
  const where = read(parseGroup(text, limits))
  if (errors.length > 0) throw new ValidationError(errors)
  return {
    values: conditions.flatMap(({ values }) => values),
    expensive: conditions.some(({ expensive }) => expensive),
    where,
  }
}

interface Reading {
  readonly text: string
  readonly caller: IDContext
  readonly errors: string[]
}

function readLeaf(
  { name, nameAt, value, valueAt }: Extract<Group, { kind: 'leaf' }>,
  filterset: Filterset,
  { text, caller, errors }: Reading,
): Condition | undefined {
  const filter = filterset.filters.get(name)
  if (!filter) {
    const field = declaredField(name, filterset)
    // all names once: fifty times would be a long answer
    const names = errors.length > 0 ? '' : ` Use one of: ${[...filterset.fields.keys()].join(', ')}.`
    const message = field === undefined ? `Unknown field.${names}` : unknownLookup(filterset, field)
    errors.push(messageAt(text, nameAt, message))
    return undefined
  }
  try {
    return filter.read(value, caller)
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error
    const { messages } = error
    // values of filters have no fields of their own
    for (const message of Array.isArray(messages) ? messages : ['Invalid value.']) {
      errors.push(messageAt(text, valueAt, message))
    }
    return undefined
  }
}

/** What is neither true nor false counts as false, so that `not(x)` is true for all rows but those of `x`. */
function join(kind: 'and' | 'or' | 'not', parts: readonly Where[]): Where {
  return (start) => {
    const sqls = parts.map((part) => part(start))
    const sql = sqls.map((part) => part.sql).join(` ${kind} `)
    return {
      sql: kind === 'not' ? `(${sql}) is not true` : `(${sql})`,
      bindings: sqls.flatMap(({ bindings }) => bindings),
    }
  }
}
