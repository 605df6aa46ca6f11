/** Characters for texts by chance, of all that there are. */
import fc from 'fast-check'

const FIRST_SURROGATE = 0xd800
const SURROGATES = 0x800
const ALL = 0x110000 - SURROGATES

/**
 * The unit of strings by chance. It gives what fast-check's own `binary` gives, which keeps all characters in a map: a second of
 * work and 122 MB in each process.
 */
export const anyCharacter: fc.Arbitrary<string> = fc
  .nat({ max: ALL - 1 })
  .map((place) => String.fromCodePoint(place < FIRST_SURROGATE ? place : place + SURROGATES), placeOf)

function placeOf(text: unknown): number {
  const point = typeof text === 'string' ? text.codePointAt(0) : undefined
  const isSurrogate = point !== undefined && point >= FIRST_SURROGATE && point < FIRST_SURROGATE + SURROGATES
  if (point === undefined || isSurrogate || String.fromCodePoint(point) !== text) throw new Error('it is no character')
  return point < FIRST_SURROGATE ? point : point - SURROGATES
}
