/** Values of JSON as parameters of a URL: what a body, or the arguments of a tool, say in place of one. */
import { ValidationError } from '../../kernel/errors.js'
import { numeralAt } from '../../kernel/json-numerals.js'

/** A value as a URL has it: a list by its items with commas between them. @throws ValidationError no URL can say it */
export function parameterText(container: object, key: string): string {
  const value: unknown = (container as Readonly<Record<string, unknown>>)[key]
  if (!Array.isArray(value)) return scalarAt(container, key)
  return value
    .map((_, index) => {
      const text = scalarAt(value, index)
      if (text === '' || text.includes(','))
        throw new ValidationError('No item of a list may be empty or hold a comma.')
      return text
    })
    .join(',')
}

function scalarAt(container: object, key: string | number): string {
  const value: unknown = (container as Record<string | number, unknown>)[key]
  if (typeof value === 'string' && value.isWellFormed()) return value
  if (typeof value === 'number') return numeralAt(container, key) ?? String(value)
  if (typeof value === 'boolean') return String(value)
  if (value === null) throw new ValidationError('Ask for what has no value by a lookup: isnull.')
  throw new ValidationError('Give a text, a number, true, false, or a list of them.')
}
