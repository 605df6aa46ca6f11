/** How the number of related objects is compared: `count(reviews)__gte=3`. */

import { IntegerField } from '../../fields/integer-field.js'
import { ValidationError } from '../../kernel/errors.js'
import { UnknownNames } from '../../kernel/unknown-names.js'
import { SEPARATOR } from '../json-key.js'

const OPERATORS: ReadonlyMap<string, string> = new Map([
  ['eq', '='],
  ['ne', '<>'],
  ['gt', '>'],
  ['gte', '>='],
  ['lt', '<'],
  ['lte', '<='],
])

const number = new IntegerField({ minValue: 0 })

/** The operator of a lookup, `__gte` or nothing for equality. @throws ValidationError there is no such lookup */
export function operatorOf(lookup: string): string {
  const isNamed = lookup.startsWith(SEPARATOR)
  const operator = lookup === '' ? '=' : isNamed ? OPERATORS.get(lookup.slice(SEPARATOR.length)) : undefined
  if (operator !== undefined) return operator
  const name = isNamed ? lookup.slice(SEPARATOR.length) : ''
  throw new ValidationError(new UnknownNames('lookup').message(name, () => OPERATORS.keys()))
}

/** A number of objects. @throws ValidationError it is none */
export function numberOf(text: string): number {
  return number.toInternalValue(number.fromText(text))
}
