/** The application's version: one identifier for all that it serves (wire format, section 8). */
import { currentSettings, type Settings, setting } from '../kernel/settings.js'
import { frame } from '../kernel/signing.js'
import { contentHash } from './content-hash.js'
import { currentGeneration, refresh } from './refresh.js'
import { checkStaticSettings, currentStaticFiles } from './static-files.js'
import { readComponents } from './version-components.js'

/** A version and where it comes from, as `GET /version` shows it. */
export interface AppVersion {
  /** The version, 1 to 128 characters. */
  readonly version: string
  /** Where it comes from: the setting, the manifest of static files, the registered components, or nowhere. */
  readonly source: 'explicit' | 'manifest' | 'computed' | 'unknown'
  /** How many files of each registered component there are. */
  readonly components: Readonly<Record<string, number>>
}

interface Known {
  readonly appVersion: AppVersion
  readonly generation: number
  readonly settings: Settings
}

let known: Known | undefined

/** Reads the settings that the version is computed from, so that a wrong one is found now. @throws ConfigurationError */
export function checkVersionSettings(): void {
  setting('appVersion')
  checkStaticSettings()
}

/**
 * The version of the application: the setting `appVersion`, else the hash of the static files' manifest and the
 * registered components, else `unknown`. Computed once, until `refreshAppVersion()`.
 * @throws ConfigurationError the setting is no version
 */
export function getAppVersion(): string {
  return describeAppVersion().version
}

/** The version with its source and its components. */
export function describeAppVersion(): AppVersion {
  const generation = currentGeneration()
  const settings = currentSettings()
  if (known === undefined || known.generation !== generation || known.settings !== settings) {
    known = { appVersion: computeAppVersion(), generation, settings }
  }
  return known.appVersion
}

/**
 * Reads manifest and components again, in this process; what `POST /cache/bust` does.
 * @returns the version as it is now
 */
export function refreshAppVersion(): string {
  refresh()
  return getAppVersion()
}

function computeAppVersion(): AppVersion {
  const { hash, counts: components } = readComponents()
  const explicit = setting('appVersion')
  if (explicit !== undefined) return { version: explicit, source: 'explicit', components }
  const manifest = currentStaticFiles().hash
  if (manifest !== undefined) {
    const version = hash === undefined ? manifest : contentHash(frame(manifest, hash))
    return { version, source: 'manifest', components }
  }
  return hash === undefined
    ? { version: 'unknown', source: 'unknown', components }
    : { version: hash, source: 'computed', components }
}
