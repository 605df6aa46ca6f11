/** How requests of tools name the version of the API: in each place where a view may look for it. */

import type { CalledOperation } from './tools-of.js'

/** What a request says of its version. */
export interface NamedVersion {
  readonly accept: string
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
}

/** @param version that of the options; undefined for each view's own */
export function namedVersion({ versioning }: CalledOperation, version: string | undefined): NamedVersion {
  // JSON where there is any
  const accept = (named: string) => `application/json${named}, */*;q=0.1`
  if (version === undefined) return { accept: accept(''), params: {}, query: {} }
  const query = Object.fromEntries(versioning.map((name) => [name, version]))
  return { accept: accept(`; version=${version}`), params: { version }, query }
}
