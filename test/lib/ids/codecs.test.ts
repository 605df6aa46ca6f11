/** What holds for every mode: one text for one value, and nothing else is read. */
import fc from 'fast-check'
import { Model } from 'objection'
import { describe, expect, it } from 'vitest'
import { Signer } from '../../../lib/ids/codecs.js'
import { Uuid7 } from '../../../lib/ids/new-public-id.js'
import { AuthenticationFailed, type IDConfig, IDMixin, type PublicIDConfig, PublicIDMixin } from '../../../lib/index.js'
import { mac } from '../../../lib/kernel/signing.js'
import { anyCharacter } from '../../support/any-character.js'

const LETTERS = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789']
const alphabets = fc.shuffledSubarray(LETTERS, { minLength: 2 }).map((letters) => letters.join(''))
const keys = fc.oneof(fc.nat(), fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }), fc.constantFrom(2n ** 63n - 1n, 2n ** 53n))
const hmacKeys = ['current-hmac-key-0123456789', 'previous-hmac-key-0123456789']

function idsOf(config: IDConfig) {
  return class Article extends IDMixin(Model) {
    static override tableName = 'articles'
    static override idConfig = config
  }
}

function publicIdsOf(config: PublicIDConfig) {
  return class Article extends PublicIDMixin(Model) {
    static override tableName = 'articles'
    static override publicIdConfig = config
  }
}

describe.each([
  ['signed', (alphabet: string) => idsOf({ mode: 'signed', alphabet, hmacKeys })],
  ['encoded', (alphabet: string) => idsOf({ mode: 'encoded', alphabet })],
  ['encoded_pk', (alphabet: string) => publicIdsOf({ strategy: 'encoded_pk', alphabet, width: 12 })],
  ['raw', () => idsOf({ mode: 'raw' })],
])('%s ids', (_, make) => {
  it('stand for one key each', () => {
    fc.assert(
      fc.property(alphabets, keys, (alphabet, key) => {
        const ids = make(alphabet)
        expect(String(ids.decodeId(ids.encodeId(key)))).toBe(String(key))
      }),
    )
  })

  it('are the only text that is read', () => {
    const texts = fc.oneof(
      fc.string({ unit: anyCharacter }),
      alphabets,
      fc.string({ unit: fc.constantFrom(...'ab01.-') }),
      fc.nat().map(String),
    )
    fc.assert(
      fc.property(texts, (text) => {
        const ids = make('ab01')
        const key = ids.decodeId(text)
        if (key !== undefined) expect(ids.encodeId(key)).toBe(text)
      }),
      { numRuns: 2_000 },
    )
  })

  it.each([1.5, Number.NaN, 2 ** 53, '', 'x', '1.0', 2n ** 63n, -(2n ** 63n) - 1n] as (number | string | bigint)[])(
    'are of no key such as %s',
    (key) => {
      expect(() => make('ab01').encodeId(key)).toThrow(TypeError)
    },
  )
})

describe('signed ids', () => {
  it('are signed as the wire format says, however long the parts are', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 600 }),
        fc.string({ maxLength: 200 }),
        fc.option(fc.string({ unit: 'grapheme', maxLength: 600 }), { nil: undefined }),
        fc.integer({ min: 8, max: 32 }),
        (table, text, user, bytes) => {
          const parts = user === undefined ? [table, text] : [table, text, 'user', user]
          expect(new Signer('a secret of 16 characters', table, bytes).sign(text, user)).toBe(
            mac('a secret of 16 characters', 'id/v1', parts, bytes).toString('hex'),
          )
        },
      ),
    )
  })

  it('of the moment before and after are none', () => {
    let now = 0
    const ids = idsOf({ mode: 'signed', alphabet: 'abcdef', hmacKeys, now: () => now })
    const id = ids.encodeId(7, { notBefore: new Date(10_000), notAfter: 20 })
    for (const [second, found] of [
      [9.999, undefined],
      [10, 7],
      [19.999, 7],
      [20, undefined],
    ] as const) {
      now = second * 1000
      expect(ids.decodeId(id)).toBe(found)
    }
    const open = ids.encodeId(7, { notBefore: 10 })
    expect([ids.decodeId(open), open.split('.')]).toEqual([
      7,
      [expect.any(String), expect.stringMatching(/^[a-f]+-$/), expect.any(String)],
    ])
    expect(() => ids.encodeId(7, { notAfter: -1 })).toThrow(TypeError)
    expect(() => ids.encodeId(7, { notAfter: new Date('x') })).toThrow(TypeError)
  })

  it('that must expire are not read without an end', () => {
    const eternal = idsOf({ mode: 'signed', alphabet: 'abcdef', hmacKeys })
    const expiring = idsOf({ mode: 'signed', alphabet: 'abcdef', hmacKeys, expiresIn: 60 })
    expect(expiring.decodeId(eternal.encodeId(7))).toBeUndefined()
    expect(expiring.decodeId(eternal.encodeId(7, { notBefore: 1 }))).toBeUndefined()
    expect(expiring.decodeId(expiring.encodeId(7))).toBe(7)
    expect(eternal.decodeId(expiring.encodeId(7))).toBe(7)
  })

  it('per user need one', () => {
    const ids = idsOf({ mode: 'signed', alphabet: 'abcdef', hmacKeys, includeUser: true })
    for (const user of [undefined, null, false, {}, { isAnonymous: true, id: 1 }, { isAuthenticated: false, id: 1 }]) {
      expect(() => ids.encodeId(7, { user })).toThrow(AuthenticationFailed)
      expect(ids.decodeId(ids.encodeId(7, { user: 1 }), { user })).toBeUndefined()
    }
    expect(ids.decodeId(ids.encodeId(7, { user: { id: 0 } }), { user: { id: '0' } })).toBe(7)
    expect(ids.encodeId(7, { user: 'a' })).not.toBe(ids.encodeId(7, { user: 'b' }))
  })

  it('of other modes have no moments', () => {
    for (const mode of ['encoded', 'raw', 'random']) {
      expect(() => idsOf({ mode, alphabet: 'abcdef' }).encodeId(7, { notAfter: 10 })).toThrow(TypeError)
    }
  })
})

describe('UUIDs of version 7', () => {
  it('never decrease, though the clock stands still or steps back', () => {
    let now = 1_000
    const uuid7 = new Uuid7({ now: () => now, random: (bytes) => new Uint8Array(bytes).fill(255) })
    let last = ''
    for (let round = 0; round < 500; round++) {
      if (round % 50 === 0) now -= 10
      if (round % 70 === 0) now += 25
      const next = uuid7.next()
      expect(next).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      expect(next > last).toBe(true)
      last = next
    }
  })
})
