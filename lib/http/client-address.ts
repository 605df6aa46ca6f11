/** Addresses of callers in one spelling (wire format, section 10). */

import { isIP } from 'node:net'

/**
 * The address of a caller in one spelling: a port (as some proxies write it) and a zone are dropped, an IPv4-mapped address is IPv4, and
 * IPv6 is cut to its /64, which is what one subscriber has.
 * @example canonicalAddress('::ffff:203.0.113.7') // '203.0.113.7'
 * @example canonicalAddress('2001:DB8:1:2:3:4:5:6') // '2001:db8:1:2::/64'
 */
export function canonicalAddress(text: string | undefined): string {
  const [address = ''] = withoutPort(text ?? '').split('%', 1)
  if (isIP(address) !== 6) return address
  // as Node writes IPv4 on a socket that takes both
  const mapped = address.startsWith('::ffff:') ? address.slice(7) : ''
  if (isIP(mapped) === 4) return mapped
  const groups = groupsOf(address)
  const [high = 0, low = 0] = groups.slice(6)
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    return [high >> 8, high & 255, low >> 8, low & 255].join('.')
  }
  const network = groups.slice(0, 4)
  while (network.at(-1) === 0) network.pop()
  return `${network.map((group) => group.toString(16)).join(':')}::/64`
}

/** Without `:port`, which is another one for each connection of the same caller. */
function withoutPort(text: string): string {
  return text.replace(/^\[(.*)\](?::\d+)?$|^(\d+(?:\.\d+){3}):\d+$/, '$1$2')
}

/** The eight groups of an IPv6 address. */
function groupsOf(address: string): number[] {
  const [left = '', right = ''] = address.split('::', 2)
  const head = readGroups(left)
  const tail = readGroups(right)
  return [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => 0), ...tail]
}

/** The groups between colons; the last four bytes may be written as IPv4. */
function readGroups(part: string): number[] {
  if (part === '') return []
  return part.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)]
    const [first = 0, second = 0, third = 0, fourth = 0] = group.split('.').map(Number)
    return [first * 256 + second, third * 256 + fourth]
  })
}
