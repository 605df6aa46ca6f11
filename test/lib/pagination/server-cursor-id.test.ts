import { describe, expect, it } from 'vitest'
import type { Caller } from '../../../lib/http/caller.js'
import { frame, mac } from '../../../lib/kernel/signing.js'
import { readServerCursorId, writeServerCursorId } from '../../../lib/pagination/server-cursor-pagination.js'

const secret = '0123456789abcdef0123456789abcdef'
const id = Buffer.from('000102030405060708090a0b0c0d0e0f', 'hex')
const user: Caller = { kind: 'user', id: '7' }
const scope = { secret, caller: user, view: 'city-export', path: frame() }

describe('the id of a server cursor', () => {
  it.each<[string | undefined, Caller, string]>([
    ['n1', user, 'n1.AAECAwQFBgcICQoLDA0OD_Qkss5l85U8OkKRiz8F4_6usSmB9S2wDcsuPa_3NnsV'],
    [undefined, user, 'AAECAwQFBgcICQoLDA0OD_Qkss5l85U8OkKRiz8F4_6iNnW5lW7RqGwHy6lBDZG7'],
    [
      undefined,
      { kind: 'ip', address: '203.0.113.7' },
      'AAECAwQFBgcICQoLDA0ODxq0zg30o2G3g55ZKA4s8kYHKxjBG8x2Dqii5CLhnpNC',
    ],
  ])('of node %s and caller %j is that of the wire format', (node, caller, text) => {
    expect(writeServerCursorId({ ...scope, caller }, id, node)).toBe(text)
    expect(readServerCursorId({ ...scope, caller }, text)).toEqual(id)
  })

  const text = writeServerCursorId(scope, id, 'n1')

  it.each([
    ['another user', { ...scope, caller: { kind: 'user', id: '8' } as const }, text],
    ['an address that looks like the user', { ...scope, caller: { kind: 'ip', address: '7' } as const }, text],
    ['another view', { ...scope, view: 'other' }, text],
    ['another path', { ...scope, path: frame('{id}', '1') }, text],
    ['another secret', { ...scope, secret: 'another-secret-of-32-characters!' }, text],
    ['another node', scope, text.replace('n1.', 'n2.')],
    ['no node', scope, text.replace('n1.', '')],
    ['a node in capitals', scope, text.replace('n1.', 'N1.')],
    ['padding', scope, `${text}==`],
    ['nothing', scope, ''],
    ['a keyset cursor', scope, 'bmV4dDppbnQ6NDI6Nzg3Y2NiY2UxOGVjZDMyNjU3MGU4MmNlZjA5MTFmODY'],
  ])('[D15 D23] is not read with %s', (_name, of, id) => {
    expect(readServerCursorId(of, id)).toBeNull()
  })

  it('[D15] is not read after any change of one character', () => {
    for (let index = 3; index < text.length; index++) {
      const other = text[index] === 'A' ? 'B' : 'A'
      expect(readServerCursorId(scope, text.slice(0, index) + other + text.slice(index + 1))).toBeNull()
    }
  })

  it('[D12] is not read when signed for another purpose', () => {
    const body = Buffer.concat([id, mac(secret, 'server-cursor/owner/v1', ['user', '7'], 16)])
    const signature = mac(secret, 'cursor/mac/v1', ['', 'city-export', frame(), body], 16)
    expect(readServerCursorId(scope, Buffer.concat([body, signature]).toString('base64url'))).toBeNull()
  })
})
