/** Ranges of IP addresses, and which of them are public. */
import { BlockList, isIP } from 'node:net'
import { ConfigurationError } from '../kernel/errors.js'

const BITS = { 4: 32, 6: 128 }

/**
 * A list of ranges. Each family has a list to itself: in one `BlockList`, `::ffff:0:0/96` holds every IPv4 address, and
 * `127.0.0.0/8` what IPv6 makes of it.
 */
export class AddressRanges {
  readonly #lists = { 4: new BlockList(), 6: new BlockList() }

  /**
   * @param ranges in the notation of RFC 4632 and RFC 4291 section 2.3, such as `10.0.0.0/8`, or single addresses
   * @throws {ConfigurationError} one is neither
   */
  constructor(ranges: readonly string[]) {
    for (const range of ranges) {
      const [, address = '', prefix] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(range) ?? []
      const family = isIP(address) as 0 | 4 | 6
      if (family === 0 || Number(prefix ?? 0) > BITS[family]) {
        throw new ConfigurationError(`${JSON.stringify(range)} is no IP address, nor a range such as 10.0.0.0/8`)
      }
      this.#lists[family].addSubnet(address, Number(prefix ?? BITS[family]), `ipv${family}`)
    }
  }

  /** Whether an address is in one of the ranges; false for what is none, and for one with a zone. */
  has(address: string): boolean {
    const family = isIP(address) as 0 | 4 | 6
    return family !== 0 && !address.includes('%') && this.#lists[family].check(address, `ipv${family}`)
  }
}

/** What is reachable over the internet at all: IPv6 has given out nothing but this for it (IANA, Global Unicast Addresses). */
const GLOBAL = new AddressRanges(['0.0.0.0/0', '2000::/3'])

/**
 * What in it is not: the special-purpose address registries of IANA (RFC 6890), and what leads to other addresses.
 * Of IPv6, all is outside of `2000::/3` that is not named here: `::`, `::1`, IPv4-compatible and IPv4-mapped addresses,
 * NAT64 (`64:ff9b::/96`, `64:ff9b:1::/48`), unique local, link-local, site-local and multicast addresses.
 */
const SPECIAL = new AddressRanges([
  // this network, unspecified
  '0.0.0.0/8',
  // private (RFC 1918), and shared by customers of a carrier (RFC 6598)
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '100.64.0.0/10',
  // loopback
  '127.0.0.0/8',
  // link-local, with the metadata of clouds
  '169.254.0.0/16',
  // assignments of the IETF, documentation (RFC 5737), benchmarking (RFC 2544)
  '192.0.0.0/24',
  '192.0.2.0/24',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '198.18.0.0/15',
  // AS112 (RFC 7534, RFC 7535), AMT (RFC 7450), relays of 6to4 (RFC 7526)
  '192.31.196.0/24',
  '192.175.48.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  // multicast; reserved, broadcast
  '224.0.0.0/4',
  '240.0.0.0/4',
  // the host of a virtual machine in Azure, at a public address (Microsoft, "What is IP address 168.63.129.16?")
  '168.63.129.16',
  // assignments of the IETF: Teredo (RFC 4380), benchmarking, ORCHID
  '2001::/23',
  // 6to4 (RFC 3056)
  '2002::/16',
  // documentation (RFC 3849, RFC 9637)
  '2001:db8::/32',
  '3fff::/20',
  // AS112
  '2620:4f:8000::/48',
])

/** Whether an address is one of the internet, of which nothing is known that would make it part of a network within. */
export function isPublicAddress(address: string): boolean {
  return GLOBAL.has(address) && !SPECIAL.has(address)
}
