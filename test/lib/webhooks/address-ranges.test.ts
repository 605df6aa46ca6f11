/** Which addresses are public, and ranges of others. */
import { describe, expect, it } from 'vitest'
import { ConfigurationError } from '../../../lib/kernel/errors.js'
import { AddressRanges, isPublicAddress } from '../../../lib/webhooks/address-ranges.js'

describe('public addresses', () => {
  it.each([
    '1.1.1.1',
    '8.8.8.8',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.0',
    '169.253.255.255',
    '172.15.255.255',
    '172.32.0.0',
    '192.0.1.0',
    '192.167.255.255',
    '192.169.0.0',
    '198.17.255.255',
    '198.20.0.0',
    '223.255.255.255',
    '2001:200::1',
    '2001:4860:4860::8888',
    '2606:4700::1111',
    '2a00:1450:4001:81c::200e',
    '3ffe:ffff::1',
  ])('%s is one', (address) => {
    expect(isPublicAddress(address)).toBe(true)
  })

  it.each([
    ['unspecified', '0.0.0.0', '0.1.2.3', '::'],
    ['private', '10.0.0.0', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.0.1', '192.168.255.255'],
    ['shared', '100.64.0.0', '100.127.255.255', '100.100.100.200'],
    ['loopback', '127.0.0.1', '127.255.255.255', '::1'],
    ['link-local', '169.254.0.0', '169.254.169.254', '169.254.255.255', 'fe80::1', 'febf:ffff::1'],
    ['of the IETF', '192.0.0.1', '192.0.0.192', '192.0.0.255', '2001::1', '2001:1ff::1'],
    ['documentation', '192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1', '3fff:fff::1'],
    ['benchmarking', '198.18.0.0', '198.19.255.255', '2001:2::1'],
    ['special', '192.31.196.1', '192.52.193.1', '192.88.99.1', '192.175.48.1', '2620:4f:8000::1', '100::1', '5f00::1'],
    ['multicast', '224.0.0.1', '239.255.255.255', 'ff02::1', 'ff0e::1'],
    ['reserved', '240.0.0.1', '255.255.255.255', '4000::1', 'e000::1'],
    ['unique or site local', 'fc00::1', 'fd00:ec2::254', 'fdff::1', 'fec0::1'],
    ['IPv4-mapped', '::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:8.8.8.8', '::ffff:0:8.8.8.8'],
    ['IPv4-compatible', '::127.0.0.1', '::7f00:1', '::8.8.8.8'],
    ['NAT64', '64:ff9b::7f00:1', '64:ff9b::8.8.8.8', '64:ff9b:1::1', '64:ff9b:1:ffff::8.8.8.8'],
    ['6to4', '2002::', '2002:7f00:1::1', '2002:808:808::1'],
    ['Teredo', '2001:0:7f00:1::1'],
    ['of the host of a cloud', '168.63.129.16'],
    [
      'none at all',
      '',
      'localhost',
      '127.1',
      '0x7f000001',
      '8.8.8.8/32',
      '8.8.8.8 ',
      '2606:4700::1%eth0',
      'fe80::1%lo',
    ],
  ])('%s ones are none', (_, ...addresses) => {
    expect(addresses.filter(isPublicAddress)).toEqual([])
  })
})

describe('ranges', () => {
  it('hold what is in them, and nothing of the other family', () => {
    const ranges = new AddressRanges(['10.1.0.0/16', '127.0.0.1', 'fd00::/8', '::1', '::ffff:0:0/96', '192.168.1.7/24'])
    const inside = ['10.1.2.3', '127.0.0.1', 'fd12::3', '::1', '::ffff:8.8.8.8', '192.168.1.1']
    const outside = ['10.2.0.0', '127.0.0.2', 'fe80::1', '::2', '8.8.8.8', '192.168.2.1', 'fd00::1%lo', '']
    expect([...inside, ...outside].filter((address) => ranges.has(address))).toEqual(inside)
    expect(new AddressRanges(['127.0.0.0/8']).has('::ffff:127.0.0.1')).toBe(false)
    expect(new AddressRanges(['0.0.0.0/0']).has('1.2.3.4')).toBe(true)
    expect(new AddressRanges([]).has('127.0.0.1')).toBe(false)
  })

  it.each([
    '',
    '10.0.0',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
    '::/129',
    'fe80::%lo/64',
    'localhost',
    '*',
  ])('are not %j', (range) => {
    expect(() => new AddressRanges(['10.0.0.0/8', range])).toThrow(ConfigurationError)
  })
})
