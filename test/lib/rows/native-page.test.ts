/** Pages that PostgreSQL has written, compared with the rows that they are made of. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { NativePage } from '../../../lib/rows/native-page.js'

interface Row {
  readonly json: string
  readonly position: readonly (string | null)[]
}

const spaces = fc.constantFrom('', ' ', '\n', '\t')
/** An object as `row_to_json` writes it: a `json` column keeps its white space. */
const row = fc.record({
  json: fc
    .tuple(fc.jsonValue({ maxDepth: 3 }), fc.string({ unit: 'grapheme' }), spaces)
    .map(
      ([value, text, space]) =>
        `{"value":${space}${JSON.stringify(value, null, space)},"text":${JSON.stringify(text)}}`,
    ),
  position: fc.tuple(fc.option(fc.string()), fc.nat().map(String)),
})
const rows = fc.array(row, { minLength: 1, maxLength: 8 })
const places = fc.array(fc.nat(1000), { maxLength: 3 })
/** Which part of a page is shown, and whether backwards. */
const part = fc.tuple(fc.nat(8), fc.nat(8), fc.boolean())

/** A page as `row-format.ts` reads it. */
function pageOf(list: readonly Row[], separator: string, positions: readonly string[], cuts: readonly number[]) {
  const bytes = Buffer.from(list.map(({ json }) => json).join(separator))
  const ends = [...cuts.map((cut) => cut % bytes.length), bytes.length].sort((a, b) => a - b)
  const json = ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end))
  return { texts: [String(list.length), ...positions], json }
}

function expectPart(page: NativePage, list: readonly Row[], [from, to, backwards]: readonly [number, number, boolean]) {
  const shown = list.slice(from, to).map(({ json }) => json)
  const text = page.results(from, Math.max(from, Math.min(to, list.length)), backwards)
  expect(text.text).toBe(`[${(backwards ? shown.reverse() : shown).join(',')}]`)
}

it('shows each part of a page with positions, in both directions, and tells the position of each row', () => {
  fc.assert(
    fc.property(rows, places, fc.array(part, { minLength: 1 }), (list, cuts, parts) => {
      // any text as JSON, numbers as they are
      const texts = list.map(({ position }) => JSON.stringify(position[0])).join('\u001e')
      const terms = [texts, list.map(({ position }) => position[1]).join('\u001e')]
      const page = new NativePage(pageOf(list, '\u001e', terms, cuts), 0)
      expect(page.length).toBe(list.length)
      for (const shown of parts) expectPart(page, list, shown)
      expect(list.map((_, index) => page.position(index))).toEqual(list.map(({ position }) => position))
    }),
  )
})

it('shows each part of a page that was read as a whole', () => {
  fc.assert(
    fc.property(rows, places, fc.array(part, { minLength: 1 }), (list, cuts, parts) => {
      const page = new NativePage(pageOf(list, ',', [], cuts), 0)
      for (const shown of parts) expectPart(page, list, shown)
      expectPart(page, list, [0, list.length, false])
    }),
  )
})

it('is read from a text where pg has read it', () => {
  const page = new NativePage({ texts: ['7', '2', '"1"\u001e"é"'], json: ['{"a":"é"}\u001e{"a":2}'] }, 1)
  expect(page.results(0, 1).text).toBe('[{"a":"é"}]')
  expect(page.results(0, 2, true).text).toBe('[{"a":2},{"a":"é"}]')
  expect(page.position(1)).toEqual(['é'])
})

it('has no rows where there are none', () => {
  for (const page of [new NativePage(undefined, 0), new NativePage({ texts: ['0', null], json: [] }, 0)]) {
    expect(page.length).toBe(0)
    expect(page.results(0, 0).text).toBe('[]')
  }
})
