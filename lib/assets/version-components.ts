/** Version components: files beside the static ones that the application's version depends on (wire format, section 7). */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ConfigurationError } from '../kernel/errors.js'
import { frame } from '../kernel/signing.js'
import { contentHash, sha256 } from './content-hash.js'
import { refresh } from './refresh.js'

/** What the registered files amount to. */
export interface ComponentState {
  /** A hash of all files together; undefined when there are none. */
  readonly hash: string | undefined
  /** How many files of each component there are. */
  readonly counts: Readonly<Record<string, number>>
}

const components = new Map<string, readonly string[]>()

/**
 * Makes the application's version depend on files that are not static ones, such as templates or translations.
 * `GET /version` says how many of them there are. A file that is missing when the version is computed is left out, with
 * a warning.
 * @param name of the component
 * @param files paths, from the working directory, or file URLs
 * @throws ConfigurationError the name has other files already
 * @example registerVersionComponent('templates', ['views/layout.html', 'views/page.html'])
 */
export function registerVersionComponent(name: string, files: readonly (string | URL)[]): void {
  if (typeof name !== 'string' || name === '' || !Array.isArray(files)) {
    throw new ConfigurationError('registerVersionComponent(): give a name and a list of files')
  }
  const paths = [...new Set(files.map((file) => resolve(file instanceof URL ? fileURLToPath(file) : file)))]
  const known = components.get(name)
  if (known && known.join('\0') !== paths.join('\0')) {
    throw new ConfigurationError(
      `registerVersionComponent(): ${JSON.stringify(name)} is registered with other files already; choose another name`,
    )
  }
  components.set(name, paths)
  refresh()
}

/** Forgets all components. */
export function clearVersionComponents(): void {
  components.clear()
  refresh()
}

/** Reads all files of all components. */
export function readComponents(): ComponentState {
  const sorted = [...components].sort(([left], [right]) => (left < right ? -1 : 1))
  const hashes = sorted.map(([name, paths]) => [name, hashFiles(name, paths)] as const)
  const framed = hashes.map(([name, files]) => frame(name, ...[...files].sort()))
  return {
    hash: hashes.some(([, files]) => files.length > 0) ? contentHash(Buffer.concat(framed)) : undefined,
    counts: Object.fromEntries(hashes.map(([name, files]) => [name, files.length])),
  }
}

function hashFiles(name: string, paths: readonly string[]): string[] {
  return paths.flatMap((path) => {
    try {
      return [sha256(readFileSync(path))]
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      process.emitWarning(
        `The version component ${JSON.stringify(name)} is without ${path}: ${code === 'ENOENT' ? 'it does not exist' : message}`,
        { code: 'KOA_VIEWSETS_VERSION_COMPONENT' },
      )
      return []
    }
  })
}
