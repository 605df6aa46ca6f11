/** Page sizes: their bounds, and the numbers that clients ask by. */

import type { ParameterDescription } from '../filters/filter.js'
import { ConfigurationError } from '../kernel/errors.js'
import type { BasePagination } from './pagination.js'

/**
 * Checks a paginator's sizes: of an instance when it is made, of a subclass, whose attributes are set later, in `check()`.
 * @throws {ConfigurationError} naming class and attribute
 */
export function checkSizes<P extends BasePagination>(paginator: P, size: keyof P & string, maximum: keyof P & string) {
  const most = paginator[maximum] as number
  if (!(Number.isSafeInteger(most) && most >= 1 && most <= MOST)) {
    throw new ConfigurationError(`${paginator.constructor.name}: ${maximum} must be a whole number from 1 to ${MOST}`)
  }
  const usual = paginator[size] as number
  if (!(Number.isSafeInteger(usual) && usual >= 1 && usual <= most)) {
    throw new ConfigurationError(
      `${paginator.constructor.name}: ${size} must be a whole number from 1 to ${maximum} (${most})`,
    )
  }
}

/** No page is larger: beyond it offsets would not be exact. */
const MOST = 1_000_000

const DIGITS = /^[0-9]{1,16}$/

/** A whole number that a client wrote in plain digits; undefined for anything else (promise D1). */
export function wholeNumber(text: string | undefined): number | undefined {
  if (text === undefined || !DIGITS.test(text)) return undefined
  const number = Number(text)
  return Number.isSafeInteger(number) ? number : undefined
}

/** The size of a page: what the client asks for, at most `maximum`; undefined when it asks for nothing usable. */
export function requestedSize(text: string | undefined, maximum: number): number | undefined {
  const size = wholeNumber(text)
  return size === undefined || size === 0 ? undefined : Math.min(size, maximum)
}

/** The parameter by which a client chooses the size of a page. */
export function sizeParameter(name: string, description: string, usual: number, most: number): ParameterDescription {
  return { name, description, schema: { type: 'integer', minimum: 1, maximum: most, default: usual } }
}
