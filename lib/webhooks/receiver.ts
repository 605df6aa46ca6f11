/**
 * SSRF protection: where a webhook may go. URLs are given by customers, so they may name what only this server reaches: the requests it sends
 * must not be forged (OWASP API Security Top 10 2023, API7: Server Side Request Forgery).
 */
import { isIP } from 'node:net'
import { AddressRanges, isPublicAddress } from './address-ranges.js'
import { resolveHost } from './resolve-host.js'
import { Undeliverable } from './undeliverable.js'

/** Which receivers there may be. */
export interface ReceiverOptions {
  /** Whether `http:` will do: what is sent can be read on its way, and whoever is on it can answer. @default false */
  readonly allowHttp?: boolean
  /**
   * Addresses that receivers may have although they are not public, for those in a network of one's own: ranges such as
   * `10.1.0.0/16`, or single addresses.
   * @default none
   */
  readonly allowedAddresses?: readonly string[]
}

/** Finds the addresses of a host. The signal is aborted when nobody waits for them any more. */
export type Resolve = (host: string, signal: AbortSignal) => Promise<readonly string[]>

/**
 * Why no webhook is sent to this URL, as a short sentence; undefined where one may be. That is all that a URL itself tells:
 * which addresses its host has is looked up for each attempt, as they change.
 * @throws {ConfigurationError} a range of `allowedAddresses` is malformed
 */
export function receiverProblem(url: string, options: ReceiverOptions = {}): string | undefined {
  const { allowHttp = false, allowedAddresses = [] } = options
  const allowed = new AddressRanges(allowedAddresses)
  if (!URL.canParse(url)) return 'the URL is malformed'
  const { protocol, username, password, hostname } = new URL(url)
  if (protocol !== 'https:' && !(allowHttp && protocol === 'http:')) {
    return `the URL does not begin with https://${allowHttp ? ' or http://' : ''}`
  }
  if (username !== '' || password !== '') return 'the URL has a user or a password'
  const literal = addressIn(hostname)
  return literal === undefined ? undefined : addressProblem([literal], allowed)
}

/**
 * The addresses of the host of a URL that `receiverProblem()` has nothing against. One that may not be reached is a reason
 * against all: a name that leads to both is made for that.
 * @throws {Undeliverable} it has none, or one that may not be reached
 */
export async function addressesOf(
  { hostname }: URL,
  { allowedAddresses = [], resolve = resolveHost }: ReceiverOptions & { readonly resolve?: Resolve },
  signal: AbortSignal,
): Promise<readonly string[]> {
  const literal = addressIn(hostname)
  const addresses = literal === undefined ? await found(resolve, hostname, signal) : [literal]
  const problem = addressProblem(addresses, new AddressRanges(allowedAddresses))
  if (problem !== undefined) throw new Undeliverable(problem)
  return addresses
}

async function found(resolve: Resolve, host: string, signal: AbortSignal): Promise<readonly string[]> {
  try {
    return [...(await resolve(host, signal))]
  } catch (error) {
    throw Undeliverable.by('the host was not found', error)
  }
}

/** The address that a URL has in place of a name. `URL` has made the usual spelling of others, such as `0x7f.1`. */
function addressIn(hostname: string): string | undefined {
  const address = hostname.replace(/^\[(.*)\]$/, '$1')
  return isIP(address) === 0 ? undefined : address
}

/** Addresses are not told: those of names within a network are nobody's business. */
function addressProblem(addresses: readonly string[], allowed: AddressRanges): string | undefined {
  if (addresses.length === 0) return 'the host has no address'
  const isOpen = (address: string) => isPublicAddress(address) || allowed.has(address)
  return addresses.every(isOpen) ? undefined : 'the host has an address that is not public'
}
