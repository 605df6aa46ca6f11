/** `staticfiles.json`: which hashed name each static file has (wire format, section 7). */
import { contentHash } from './content-hash.js'

export const MANIFEST_NAME = 'staticfiles.json'

/** What `collectStatic()` has published: `staticfiles.json`. */
export interface Manifest {
  /** Hashed names by original name. */
  readonly paths: ReadonlyMap<string, string>
  /** A hash of all files together. */
  readonly hash: string
}

/** The manifest of these files. */
export function createManifest(paths: ReadonlyMap<string, string>): Manifest {
  const sorted = [...paths].sort(([left], [right]) => (left < right ? -1 : 1))
  return { paths: new Map(sorted), hash: contentHash(JSON.stringify(sorted)) }
}

/** The manifest as it is written to disk. */
export function writeManifest({ paths, hash }: Manifest): string {
  return `${JSON.stringify({ version: '1.1', paths: Object.fromEntries(paths), hash }, undefined, 2)}\n`
}
