/** JSON that is written in pieces, compared with what it spells. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ConfigurationError } from '../../../lib/kernel/errors.js'
import { JSONRenderer, JsonText, LONGEST_PIECE, NDJSONRenderer } from '../../../lib/renderers/json-renderers.js'

const renderer = new JSONRenderer()
const value = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 30 }), fc.constant('é'.repeat(LONGEST_PIECE)), fc.nat())
/** A list's JSON, cut into texts and bytes. */
const written = fc
  .tuple(fc.array(value, { maxLength: 5 }), fc.array(fc.tuple(fc.nat(100_000), fc.boolean()), { maxLength: 4 }))
  .map(([list, cuts]) => ({ list, pieces: cut(JSON.stringify(list), cuts) }))

function cut(text: string, cuts: readonly (readonly [number, boolean])[]): (string | Buffer)[] {
  const places = cuts.map(([place, bytes]) => [place % text.length, bytes] as const).sort(([a], [b]) => a - b)
  // a pair of surrogates is one character, in bytes as well
  const safe = places.filter(([place]) => !/[\udc00-\udfff]/.test(text[place] ?? ''))
  return [[0, false] as const, ...safe].map(([place, bytes], index) => {
    const piece = text.slice(place, safe[index]?.[0])
    return bytes ? Buffer.from(piece) : piece
  })
}

function spell(body: string | Buffer): string {
  return typeof body === 'string' ? body : body.toString()
}

describe('JSON in pieces', () => {
  it('is the list it spells', () => {
    fc.assert(
      fc.property(written, ({ list, pieces }) => {
        const text = new JsonText(...pieces)
        expect(spell(renderer.render(text))).toBe(JSON.stringify(list))
        expect(text.text).toBe(JSON.stringify(list))
        expect(text.toJSON()).toEqual(list)
      }),
    )
  })

  it('may be cut within a character where it is bytes', () => {
    const bytes = Buffer.from('["é😀"]')
    for (let place = 1; place < bytes.length; place++) {
      const text = new JsonText(bytes.subarray(0, place), bytes.subarray(place))
      expect(text.toJSON()).toEqual(['é😀'])
      expect(spell(renderer.render({ results: text }))).toBe('{"results":["é😀"]}')
    }
  })

  it('stands in an envelope as its results', () => {
    fc.assert(
      fc.property(written, fc.boolean(), ({ list, pieces }, isFirst) => {
        const around = isFirst ? [{}, { next: 'é' }] : [{ count: 3, next: null }, {}]
        const [before, after] = around
        const body = renderer.render({ ...before, results: new JsonText(...pieces), ...after })
        expect(spell(body)).toBe(JSON.stringify({ ...before, results: list, ...after }))
      }),
    )
  })

  it('leaves out of its envelope what JSON has no form for', () => {
    const envelope = { previous: undefined, results: new JsonText('[1]'), next: undefined, made: () => 1 }
    expect(spell(renderer.render(envelope))).toBe('{"results":[1]}')
  })
})

describe('what JSON has nothing of', () => {
  it.each([[() => 1], [{ toJSON() {} }], [Symbol('one')]])('is null in a list, and on a line: %o', (one) => {
    expect(renderer.render([one])).toBe('[null]')
    expect(new NDJSONRenderer().render([one])).toBe('null\n')
  })

  function* given() {
    yield 1
  }
  async function* waiting() {
    yield 1
  }

  it.each<[string, unknown]>([
    ['Map', new Map([['a', 1]])],
    ['Set', new Set()],
    ['Generator', given()],
    ['AsyncGenerator', waiting()],
    ['Map Iterator', new Map().values()],
    ['URLSearchParams', new URLSearchParams('a=1')],
  ])('is told: a %s', (name, data) => {
    const message = `JSON has nothing of what is in a ${name}: answer with a list or a plain object`
    expect(() => renderer.render(data)).toThrow(new ConfigurationError(message))
  })

  it.each<[unknown, string]>([
    [Object.assign(new Map(), { toJSON: () => [1] }), '[1]'],
    [Object.assign(new Set([1]), { items: 1 }), '{"items":1}'],
    [Object.create(null), '{}'],
    [new (class {})(), '{}'],
    [Symbol('a'), 'null'],
  ])('%# is none of it', (data, text) => {
    expect(renderer.render(data)).toBe(text)
  })
})
