/** What holds for text of any field: which characters may be stored, and how long it is. */
import { ValidationError } from '../kernel/errors.js'

/** Refuses what PostgreSQL cannot store (NUL) or would change (a lone surrogate). @throws ValidationError */
export function checkText(text: string): void {
  if (text.includes('\0')) throw new ValidationError('Null characters are not allowed.')
  if (!text.isWellFormed()) throw new ValidationError('Invalid Unicode.')
}

/** @throws ValidationError unless the number of characters is within the limits */
export function checkLength(text: string, minLength: number | undefined, maxLength: number | undefined): void {
  // A character is one or two code units, so most texts need no counting.
  if (minLength !== undefined && text.length < minLength * 2 && countCharacters(text) < minLength) {
    throw new ValidationError(`Ensure this field has at least ${counted(minLength, 'character')}.`)
  }
  if (maxLength !== undefined && text.length > maxLength && countCharacters(text) > maxLength) {
    throw new ValidationError(`Ensure this field has no more than ${counted(maxLength, 'character')}.`)
  }
}

/** `1 item`, `2 items`. */
export function counted(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`
}

/** Characters as PostgreSQL counts them: code points. */
function countCharacters(text: string): number {
  let count = text.length
  for (let index = 0; index < text.length; index++) {
    if ((text.codePointAt(index) ?? 0) > 0xffff) {
      count--
      index++
    }
  }
  return count
}
