import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Hmac } from '../../../lib/kernel/hmac.js'
import { decodeBase64Url, derive, encodeBase64Url, equalBytes, frame, mac } from '../../../lib/kernel/signing.js'
import { anyCharacter } from '../../support/any-character.js'
import { size } from '../../trust/support/size.js'

const S = '0123456789abcdef0123456789abcdef'

/** Views, orderings, filters and payloads of the signed keyset cursors (docs/reference/wire-format.md, section 2), with their tokens. */
const cursors = [
  ['book', '-id', frame(), 'next:int:42', 'bmV4dDppbnQ6NDI6Nzg3Y2NiY2UxOGVjZDMyNjU3MGU4MmNlZjA5MTFmODY'],
  ['book', '-id', frame(), 'prev:int:10', 'cHJldjppbnQ6MTA6YTQ5NDk4N2Y2OTI1MWU3MDYyMjEwNjY3MDRjYTNlYWE'],
  [
    'book',
    '-published_on,-id',
    frame(),
    'prev:null,int:,7',
    'cHJldjpudWxsLGludDosNzo3MWRhYmQyNDQ5ZTE3M2U3MTJkMWM2MTIwZTQ5OGYwOQ',
  ],
  [
    'book',
    '-id',
    frame('status', 'open', 'tag', 'b', 'tag', 'a'),
    'next:int:42',
    'bmV4dDppbnQ6NDI6YzM0NTdiNWI1MDJkMTdkNjhkNmE0YjQ3NTY2ZWNlNjA',
  ],
  [
    'review',
    'id',
    frame('{book_id}', '7'),
    'next:uuid:12345678-1234-5678-1234-567812345678',
    'bmV4dDp1dWlkOjEyMzQ1Njc4LTEyMzQtNTY3OC0xMjM0LTU2NzgxMjM0NTY3ODphYzBhMjg4MGU2YzM0YWE5YzdmZjBkYTcxOGIwZGIwMw',
  ],
] as const

describe('frame', () => {
  it.each([
    [[], ''],
    [['a', ''], '1:a,0:,'],
    [['é', '1:2,'], '2:é,4:1:2,,'],
    [['book', '-id', '', 'next:int:42'], '4:book,3:-id,0:,11:next:int:42,'],
    [
      ['book', '-id', frame('status', 'open', 'tag', 'b', 'tag', 'a'), 'next:int:42'],
      '4:book,3:-id,36:6:status,4:open,3:tag,1:b,3:tag,1:a,,11:next:int:42,',
    ],
    [['{book_id}', '7'], '9:{book_id},1:7,'],
    [[Uint8Array.of(0x61, 0x62).subarray(1)], '1:b,'],
  ])('joins %j', (parts, text) => {
    expect(frame(...parts).toString()).toBe(text)
  })

  it('gives different bytes for different lists', () => {
    const list = fc.array(fc.string({ unit: fc.constantFrom('1', ':', ',', 'a', 'é') }), { maxLength: 4 })
    fc.assert(
      fc.property(list, list, (left, right) => {
        expect(frame(...left).equals(frame(...right))).toBe(JSON.stringify(left) === JSON.stringify(right))
      }),
    )
  })
})

describe('Hmac', () => {
  it('signs as createHmac does, texts and bytes, short and long', () => {
    const text = fc.string({ unit: anyCharacter, maxLength: 600 })
    const message = fc.oneof(text, fc.uint8Array({ maxLength: 1_500 }))
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 64 }),
        text,
        fc.array(message, { maxLength: 3 }),
        (key, prefix, messages) => {
          const hmac = new Hmac(Buffer.from(key), prefix)
          for (const one of messages) {
            expect(hmac.hex(one)).toBe(createHmac('sha256', key).update(prefix).update(one).digest('hex'))
          }
        },
      ),
      { numRuns: size(100, 500) },
    )
  })
})

describe('derive', () => {
  it.each([
    ['cursor/mac/v1', '218a98f393768f81f652d78008c145a1d3b4857c09ba6ac7d600dfb95500a2a5'],
    ['cursor/seal/v1', 'edbb2dafba268b725725adfc156f22b13c3d89012068edd350b5563a6f444aab'],
    ['cursor/nonce/v1', 'a8a062366bd4d366e53ef7bfd2c3729e69e20e248cdb72002c2432c39d8f282d'],
    ['server-cursor/mac/v1', '728b65335d117273d1434ab563012b3b1154b19e607e860a7cb0195798e13572'],
    ['server-cursor/owner/v1', 'ca954f21f286ac40a26b190a6bd05273de37f58b23afb82442a873e00e5f5f2b'],
    ['cache-bust/v1', '1bf62ccb28b642476a39cf0843d383b00f030f6762b72044705c2c63d8df5382'],
    ['id/v1', '589bfdf74fcee1232362845f83a2d5b803ffadb22a5151ad1bc6082c2c0891c5'],
  ])('gives the key of %s, now and again', (label, key) => {
    expect(derive(S, label).toString('hex')).toBe(key)
    expect(derive(S, label)).toBe(derive(S, label))
  })

  it('gives another key for another secret', () => {
    expect(derive('another-secret-of-32-characters!', 'cache-bust/v1')).not.toEqual(derive(S, 'cache-bust/v1'))
  })
})

describe('mac', () => {
  it('signs the cursor C1', () => {
    const signature = mac(S, 'cursor/mac/v1', ['book', '-id', '', 'next:int:42'], 16)
    expect(signature.toString('hex')).toBe('787ccbce18ecd326570e82cef0911f86')
  })

  it.each(cursors)('signs a cursor of %s by %s', (view, ordering, filters, payload, token) => {
    const signature = mac(S, 'cursor/mac/v1', [view, ordering, filters, payload], 16).toString('hex')
    expect(encodeBase64Url(`${payload}:${signature}`)).toBe(token)
    expect(decodeBase64Url(token)?.toString()).toBe(`${payload}:${signature}`)
  })

  it('signs the server cursor of user 7 on node n1', () => {
    const id = Buffer.from('000102030405060708090a0b0c0d0e0f', 'hex')
    const owner = mac(S, 'server-cursor/owner/v1', ['user', '7'], 16)
    const body = Buffer.concat([id, owner])
    const signature = mac(S, 'server-cursor/mac/v1', ['n1', 'city-export', frame(), body], 16)
    expect(encodeBase64Url(Buffer.concat([body, signature]))).toBe(
      'AAECAwQFBgcICQoLDA0OD_Qkss5l85U8OkKRiz8F4_6usSmB9S2wDcsuPa_3NnsV',
    )
  })

  it('has 32 bytes unless told otherwise', () => {
    expect(mac(S, 'id/v1', ['a'])).toHaveLength(32)
    expect(mac(S, 'id/v1', ['a'], 16)).toEqual(mac(S, 'id/v1', ['a']).subarray(0, 16))
  })
})

describe('base64url', () => {
  it('reads what it writes', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        const text = encodeBase64Url(bytes)
        expect(text).toMatch(/^[A-Za-z0-9_-]*$/)
        expect(decodeBase64Url(text)).toEqual(Buffer.from(bytes))
      }),
    )
  })

  it.each([
    ['padding', 'YQ=='],
    ['unused bits that are set', 'YR'],
    ['one character that is no byte', 'A'],
    ['five characters', 'AAAAA'],
    ['the other alphabet', 'a+b/'],
    ['white space', 'YQ '],
    ['a line feed at the end', 'YQ\n'],
    ['letters that are not ASCII', 'YÖ'],
  ])('answers null for %s', (_name, text) => {
    expect(decodeBase64Url(text)).toBeNull()
  })
})

describe('equalBytes', () => {
  it.each([
    ['abc', 'abc', true],
    ['abc', 'abd', false],
    ['abc', 'ab', false],
    ['', '', true],
  ])('compares %j and %j', (left, right, equal) => {
    expect(equalBytes(Buffer.from(left), Buffer.from(right))).toBe(equal)
  })
})
