import { describe, expect, it } from 'vitest'
import { callerOf, canonicalAddress } from '../../../lib/http/caller.js'
import type { Context } from '../../../lib/http/context.js'

describe('canonicalAddress', () => {
  it.each([
    ['203.0.113.7', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['::ffff:cb00:7107', '203.0.113.7'],
    ['::FFFF:CB00:7107', '203.0.113.7'],
    ['2001:DB8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:0:0:1::', '2001:db8::/64'],
    ['2001:db8:0:2::', '2001:db8:0:2::/64'],
    ['0:0:0:1::', '0:0:0:1::/64'],
    ['::1', '::/64'],
    ['::', '::/64'],
    ['fe80::1%eth0', 'fe80::/64'],
    ['::ffff:203.0.113.7%eth0', '203.0.113.7'],
    ['0:0:0:0:0:FFFF:203.0.113.7', '203.0.113.7'],
    ['64:ff9b::203.0.113.7', '64:ff9b::/64'],
    ['1:2:3:4:5:6:203.0.113.7', '1:2:3:4::/64'],
    ['1:2:3:0004:5:6:7:8', '1:2:3:4::/64'],
    ['1:0:3::', '1:0:3::/64'],
    ['1::8', '1::/64'],
    ['1:2:3:4:5:6:7::', '1:2:3:4::/64'],
    ['203.0.113.7:51234', '203.0.113.7'],
    ['[2001:db8:1:2:3:4:5:6]:443', '2001:db8:1:2::/64'],
    ['[::1]', '::/64'],
    ['', ''],
    [undefined, ''],
  ])('writes %s as %s', (address, text) => {
    expect(canonicalAddress(address)).toBe(text)
  })
})

describe('callerOf', () => {
  const of = (user: unknown, ip = '203.0.113.7') => callerOf({ state: { user }, ip, app: {}, headers: {} } as Context)

  it('is nobody whose id is an object that has no text of its own', () => {
    expect(() => of({ id: { tenant: 1, number: 7 } })).toThrow('ctx.state.user: its id is an object')
    expect(of({ id: { toString: () => '507f1f77bcf86cd799439011' } })).toEqual({
      kind: 'user',
      id: '507f1f77bcf86cd799439011',
    })
  })

  it.each([
    [Number.NaN, 'NaN'],
    [2 ** 53, '9007199254740992'],
    [[1, 2 ** 53], '9007199254740992'],
    [Promise.resolve(7), 'an object'],
    [Object.create(null), 'an object'],
    [() => 7, 'a function'],
    [Symbol('7'), 'a symbol'],
    [true, 'a boolean'],
  ])('is nobody whose id is one that others have, too: %o', (id, kind) => {
    expect(() => of({ id })).toThrow(`ctx.state.user: its id is ${kind}, by which no caller is told from another one`)
  })

  it.each([
    ['bytes that are no UTF-8', Buffer.from([0xff]), Buffer.from([0xfe])],
    ['keys of several columns', ['a,b', 'c'], ['a', 'b,c']],
    ['keys of several columns, one of them null', [null, 1], ['null', 1]],
    ['large numbers', 2n ** 53n, 2n ** 53n + 1n],
  ])('tells apart %s', (_what, one, other) => {
    expect(of({ id: one })).not.toEqual(of({ id: other }))
  })

  it('is the address of whose id is an empty text', () => {
    expect(of({ id: '' })).toEqual({ kind: 'ip', address: '203.0.113.7' })
  })

  it('is the user, or the address of anybody else', () => {
    expect(of({ id: 7 })).toEqual({ kind: 'user', id: '7' })
    expect(of({ id: 7, isAnonymous: true })).toEqual({ kind: 'ip', address: '203.0.113.7' })
    expect(of(undefined, '::1')).toEqual({ kind: 'ip', address: '::/64' })
  })

  it('[D16] tells a user from an address of the same text', () => {
    expect(of({ id: '203.0.113.7' })).not.toEqual(of(null))
  })
})
