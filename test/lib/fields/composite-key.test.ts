/** Keys of several columns as text: what is written is read back, and no two keys are written alike. */
import { Model } from 'objection'
import { expect, it } from 'vitest'
import { type CompositeKey, compositeKey } from '../../../lib/fields/composite-key.js'
import { seededRandom } from '../../support/seeded-random.js'

class Place extends Model {
  static override tableName = 'places'
  static override idColumn = ['country', 'town', 'street']
  static override jsonSchema = {
    type: 'object',
    properties: { country: { type: 'string' }, town: { type: 'string' }, street: { type: 'string' } },
  }
}

const key = compositeKey(Place) as CompositeKey
const SIGNS = ['a', 'b', ',', '"', '\\', ' ', '%', '/', '.', 'é', '🏖', '2C', '[', '\u2028']

it('reads back each key that it has written, and no other from it', () => {
  const random = seededRandom(7)
  const text = () => Array.from({ length: random(5) }, () => SIGNS[random(SIGNS.length)]).join('')
  const written = new Map<string, string>()
  for (let round = 0; round < 20_000; round++) {
    const values = [text(), text(), text()]
    const path = key.toText(values, {}) as string
    expect(key.fromText(path, {})).toEqual(values)
    const known = written.get(path)
    if (known !== undefined) expect(JSON.stringify(values)).toBe(known)
    written.set(path, JSON.stringify(values))
  }
  expect(written.size).toBeGreaterThan(15_000)
})

it('reads any text as a key of as many values, or as none', () => {
  const random = seededRandom(11)
  let read = 0
  for (let round = 0; round < 20_000; round++) {
    const text = Array.from({ length: random(12) }, () => SIGNS[random(SIGNS.length)]).join('')
    const values = key.fromText(text, {})
    if (!values) continue
    read++
    expect(values).toHaveLength(3)
    expect(key.fromText(key.toText(values, {}) as string, {})).toEqual(values)
  }
  expect(read).toBeGreaterThan(500)
})

it.each([['a,b'], ['a,b,c,d'], ['"a,b,c'], ['"a"b,c,d'], ['a"b,c,d'], ['"\\a",b,c'], ['']])(
  'reads no key from %j',
  (text) => {
    expect(key.fromText(text, {})).toBeUndefined()
  },
)

it('has no text where a column holds nothing', () => {
  expect(key.toText(['a', null, 'c'], {})).toBeUndefined()
})
