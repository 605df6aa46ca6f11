/** `staticfiles.json`: which hashed name each static file has, as we write it, or another tool (wire format, section 7). */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isRecord } from '../kernel/records.js'
import { isAssetName } from './asset-name.js'
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

const HASH = /^[A-Za-z0-9._-]{1,128}$/

/** Reads the manifest of a folder. Undefined where there is none; a broken one counts as absent and is warned about. */
export function loadManifest(root: string): Manifest | undefined {
  const file = join(root, MANIFEST_NAME)
  try {
    return parseManifest(readFileSync(file, 'utf8'))
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code !== 'ENOENT' && code !== 'ENOTDIR') {
      process.emitWarning(`${file} is not used: ${message}. Run "koa-viewsets collectstatic" again.`, {
        code: 'KOA_VIEWSETS_MANIFEST',
      })
    }
    return undefined
  }
}

/**
 * Reads a manifest of ours, or of another tool that has `paths` and `hash`.
 * @throws Error it is no manifest, or leads out of its folder
 */
export function parseManifest(text: string): Manifest {
  const { paths, hash } = readObject(parseJson(text), 'it')
  if (typeof hash !== 'string' || !HASH.test(hash)) throw new Error('its hash is missing or malformed')
  const entries = Object.entries(readObject(paths, 'its paths'))
  for (const [original, hashed] of entries) {
    if (!isAssetName(original) || typeof hashed !== 'string' || !isAssetName(hashed)) {
      throw new Error(`its entry ${JSON.stringify(original).slice(0, 64)} does not name a file in its folder`)
    }
  }
  return { paths: new Map(entries as [string, string][]), hash }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error('it is not JSON')
  }
}

function readObject(value: unknown, name: string): Readonly<Record<string, unknown>> {
  if (isRecord(value)) return value
  throw new Error(`${name} must be an object`)
}
