/** Every vector of the wire format, section 4. */
import { Model } from 'objection'
import { describe, expect, it } from 'vitest'
import { randomId, Uuid7 } from '../../../lib/ids/new-public-id.js'
import { type EncodeContext, type IDConfig, IDMixin, type PublicIDConfig, PublicIDMixin } from '../../../lib/index.js'

const A = 'mn7swcxDfgkGrBtv4qj6phd3b952CzF8'
const K1 = 'current-hmac-key-0123456789'
const K2 = 'previous-hmac-key-0123456789'
const MOMENT = new Date('2026-01-02T03:04:05Z')
const GREATEST = 2n ** 63n - 1n

function model(config: IDConfig, table = 'articles') {
  return class Article extends IDMixin(Model) {
    static override tableName = table
    static override idConfig = config
  }
}

function publicModel(config: PublicIDConfig) {
  return class Article extends PublicIDMixin(Model) {
    static override tableName = 'articles'
    static override publicIdConfig = config
  }
}

const encoded = { mode: 'encoded', alphabet: A }
const signed = { mode: 'signed', alphabet: A, hmacKeys: [K1] }

describe('encoded ids', () => {
  it.each([
    [0, 'm'],
    [1, 'n'],
    [31, '8'],
    [32, 'nm'],
    [42, 'nk'],
    [10042, 'g95'],
    [999999, 'F4q8'],
    [2 ** 32, 'wmmmmmm'],
    [2 ** 53 - 1, 'D8888888888'],
    [String(2n ** 53n), 'fmmmmmmmmmm'],
    [String(GREATEST), 'D888888888888'],
  ])('write %s as %s and read it back', (pk, id) => {
    expect(model(encoded).encodeId(pk)).toBe(id)
    expect(model(encoded).decodeId(id)).toBe(pk)
  })

  it.each(['mnk', '', 'mm', 'fmmmmmmmmmmmm', '8888888888888', 'nk.', 'nK', 'n k', 'é'])('do not read %j', (id) => {
    expect(model(encoded).decodeId(id)).toBeUndefined()
  })

  it('fill up to a width, and read exactly that form', () => {
    const padded = publicModel({ strategy: 'encoded_pk', alphabet: A, width: 8 })
    expect(padded.encodeId(42)).toBe('mmmmmmnk')
    expect(padded.decodeId('mmmmmmnk')).toBe(42)
    expect(padded.decodeId(padded.encodeId(0))).toBe(0)
    expect(padded.decodeId(padded.encodeId(GREATEST))).toBe(String(GREATEST))
    for (const id of ['nk', 'mmmmmnk', 'mmmmmmmnk', 'mmmmmmmmmmmmm', '']) expect(padded.decodeId(id)).toBeUndefined()
  })
})

describe('signed ids', () => {
  it.each([
    ['K1', signed, 'articles', 42, {}, 'nk.90ff444fbf7f9c43'],
    ['K2', { ...signed, hmacKeys: [K2] }, 'articles', 42, {}, 'nk.904c0c83a696de4e'],
    ['user 1', { ...signed, includeUser: true }, 'articles', 42, { user: 1 }, 'nk.ac72312b4cfca2c2'],
    ['user 2', { ...signed, includeUser: true }, 'articles', 42, { user: { id: 2 } }, 'nk.1655c3c5d405857d'],
    ['table orders', signed, 'orders', 42, {}, 'nk.0b7d423b525d09cd'],
    ['2^63 - 1', signed, 'articles', String(GREATEST), {}, 'D888888888888.92c4b062f4d9d61c'],
    ['offset 50000', { ...signed, offset: 50000 }, 'articles', 42, {}, 'n425.d24e29b52b9468e8'],
    ['16 bytes', { ...signed, signatureBytes: 16 }, 'articles', 42, {}, 'nk.90ff444fbf7f9c43b5dbb3bcbca0b9ac'],
    [
      'expiry',
      { ...signed, expiresIn: 3600, now: () => MOMENT.getTime() },
      'articles',
      42,
      {},
      'nk.-nphtpx4.100ebfc56fdf70bc',
    ],
    [
      'expiry and start',
      { ...signed, expiresIn: 3600, now: () => MOMENT.getTime() },
      'articles',
      42,
      { notBefore: MOMENT },
      'nk.nphtBBc-nphtpx4.128e848dc8e6235f',
    ],
  ])('of %s are those of the vectors', (_, config, table, pk, context, id) => {
    const articles = model(config, table)
    expect(articles.encodeId(pk, context)).toBe(id)
    expect(articles.decodeId(id, context as EncodeContext)).toBe(pk)
  })

  it('of the key before are read, and of a key that was taken out are not', () => {
    expect(model({ ...signed, hmacKeys: [K1, K2] }).decodeId('nk.904c0c83a696de4e')).toBe(42)
    expect(model(signed).decodeId('nk.904c0c83a696de4e')).toBeUndefined()
  })

  it.each([
    'nk',
    'nk.',
    '.90ff444fbf7f9c43',
    'nk.90FF444FBF7F9C43',
    'n7.90ff444fbf7f9c43',
    '',
    '.',
    '..',
    '-',
    'nk.-.90ff444fbf7f9c43',
    'mnk.90ff444fbf7f9c43',
    'nk.90ff444fbf7f9c4',
    'nk.90ff444fbf7f9c43 ',
    'nk~90ff444fbf7f9c43',
    'nk.90ff444fbf7f9c4é',
  ])('are not %j', (id) => {
    expect(model(signed).decodeId(id)).toBeUndefined()
  })
})

describe('raw ids', () => {
  it.each([
    [42, '42'],
    [0, '0'],
    [-7, '-7'],
    [String(GREATEST), '9223372036854775807'],
    ['-9223372036854775808', '-9223372036854775808'],
  ])('write %s as %s and read it back', (pk, id) => {
    expect(model({ mode: 'raw' }).encodeId(pk)).toBe(id)
    expect(model({ mode: 'raw' }).decodeId(id)).toBe(pk)
  })

  it.each([' 42', '042', '+42', '4_2', '-0', '1e1', '9223372036854775808', '-9223372036854775809', '', '-', '4２'])(
    'do not read %j',
    (id) => {
      expect(model({ mode: 'raw' }).decodeId(id)).toBeUndefined()
    },
  )
})

describe('stored ids', () => {
  const bytes = Uint8Array.from({ length: 16 }, (_, index) => index)

  it('are random texts of one width', () => {
    expect(randomId(undefined, bytes)).toBe('000SYW7RiJxkEgOGusQGwp')
    expect(randomId(A, bytes)).toBe('mmmwnmxnmcmbs447fknrxm5s4v')
    expect(randomId(undefined, new Uint8Array(16))).toBe('0'.repeat(22))
    expect(randomId()).toMatch(/^[0-9A-Za-z]{22}$/)
  })

  it('are UUIDs of version 7', () => {
    const uuid7 = new Uuid7({ now: () => Date.parse('2026-01-02T03:04:05.678Z'), random: (n) => bytes.slice(0, n) })
    expect(uuid7.next()).toBe('019b7ca9-8f2e-7001-8203-040506070809')
  })

  it('read what the column may hold, and UUIDs in either case', () => {
    const random = model({ mode: 'random' })
    for (const id of ['a', '000SYW7RiJxkEgOGusQGwp', '-_', 'x'.repeat(64)]) expect(random.decodeId(id)).toBe(id)
    for (const id of ['', 'x'.repeat(65), 'a b', 'a.b', 'é', 'a\0', "a'"]) expect(random.decodeId(id)).toBeUndefined()
    const uuid7 = publicModel({ strategy: 'uuid7' })
    expect(uuid7.decodeId('019B7CA9-8F2E-7001-8203-040506070809')).toBe('019b7ca9-8f2e-7001-8203-040506070809')
    for (const id of ['019b7ca98f2e70018203040506070809', '{019b7ca9-8f2e-7001-8203-040506070809}', 'x']) {
      expect(uuid7.decodeId(id)).toBeUndefined()
    }
  })
})
