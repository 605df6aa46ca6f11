/** The static files of an application: their URLs, and where they lie (wire format, section 7). */
import { readFileSync, realpathSync, type Stats, statSync } from 'node:fs'
import { realpath, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { publicPath } from '../http/public-url.js'
import { ConfigurationError } from '../kernel/errors.js'
import { checkKinds } from '../kernel/option-kinds.js'
import { oneLine } from '../kernel/quote.js'
import { currentSettings, type Settings, setting } from '../kernel/settings.js'
import { encodeAssetName, encodeSuffix, isAssetName, isHidden } from './asset-name.js'
import { contentHash } from './content-hash.js'
import { isWithin } from './find-sources.js'
import type { Manifest } from './manifest.js'
import { loadManifest } from './manifest.js'
import { currentGeneration, refresh } from './refresh.js'

export interface StaticFilesOptions {
  /** The folder that `collectstatic` has filled. @default the setting `staticRoot`, 'staticfiles' */
  readonly root?: string | undefined
  /** Where the files are mounted. @default the path of the setting `staticUrl`, '/static' */
  readonly prefix?: string | undefined
  /** Folders of sources, looked through in order while the root has no manifest. @default [root] */
  readonly dirs?: readonly string[] | undefined
}

/** A file that may be sent. */
export interface FoundFile {
  /** One of the folders, and the file's name in it, which is that of a compressed sibling where one suits. */
  readonly folder: string
  readonly name: string
  readonly encoding: string | undefined
  /** True when other requests get another encoding of it. */
  readonly varies: boolean
  /** An entity tag (RFC 9110 section 8.8.3). */
  readonly etag: string
  readonly modified: Date
  /** True for a name with a hash: what it names never changes. */
  readonly immutable: boolean
}

const DEFAULT_ROOT = 'staticfiles'
const DEFAULT_PREFIX = '/static'
const PREFIX = /^(?:\/[\w.~%!$&*+,;=:@-]+)*\/?$/
const ENCODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const
/** What the system says of a path that is no file for us. */
const NO_FILE = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP', 'EACCES', 'EPERM', 'EINVAL'])
/** Names that are not in the manifest are warned about, each once and so many in all. */
const MAX_WARNINGS = 100

let mounted: StaticFiles | undefined

/** Reads the settings of static files, so that a wrong one is found now. @throws ConfigurationError */
export function checkStaticSettings(): void {
  for (const name of ['staticRoot', 'staticUrl', 'staticDevVersionQuery'] as const) setting(name)
}

/** The files that `staticAssets()` has mounted last, or those of the settings. */
export function currentStaticFiles(): StaticFiles {
  mounted ??= new StaticFiles()
  return mounted
}

/** Makes these the files that `staticPath()` and the application version go by. */
export function mountStaticFiles(files: StaticFiles): void {
  mounted = files
  refresh()
}

export class StaticFiles {
  readonly #options: StaticFilesOptions
  readonly #warned = new Set<string>()
  readonly #hashes = new Map<string, { readonly modified: number; readonly size: number; readonly hash: string }>()
  #loaded: Loaded | undefined

  /** @throws ConfigurationError an option is wrong, or a setting has a value that it cannot have */
  constructor(options: StaticFilesOptions = {}) {
    checkKinds('staticAssets()', options, { kinds: { root: 'name', prefix: 'text', dirs: 'names' } })
    checkStaticSettings()
    if (options.prefix !== undefined && !PREFIX.test(options.prefix)) {
      throw new ConfigurationError(
        `staticAssets({ prefix }) is ${JSON.stringify(options.prefix)}: give a path such as /static`,
      )
    }
    this.#options = options
  }

  /** The path that the files are mounted under, without a slash at its end. */
  get prefix(): string {
    const prefix = this.#options.prefix ?? pathOf(setting('staticUrl')) ?? DEFAULT_PREFIX
    return prefix.replace(/\/+$/, '')
  }

  /** The manifest's hash; undefined without a manifest. */
  get hash(): string | undefined {
    return this.#load().manifest?.hash
  }

  /** The URL of a file, under its hashed name where there is a manifest. A `#fragment` stays. */
  url(name: string): string {
    const [file, fragment] = this.#split(name)
    const { manifest, base } = this.#load()
    const hashed = manifest?.paths.get(file)
    if (manifest && hashed === undefined) this.#warn(file)
    return base + encodeAssetName(inside(hashed ?? file)) + fragment
  }

  /** Like `url()`; without a manifest it ends in `?v=` and the hash of the file as it is now. */
  versionedUrl(name: string): string {
    const { addsVersions, base } = this.#load()
    if (!addsVersions) return this.url(name)
    const [file, fragment] = this.#split(name)
    const hash = this.#hashOf(file)
    return base + encodeAssetName(inside(file)) + (hash === undefined ? '' : `?v=${hash}`) + fragment
  }

  /**
   * Finds the file of a name from a URL. Undefined for what is no file of ours: names that lead out, by links too,
   * hidden ones, folders.
   * @param accepts whether the client takes an encoding
   */
  async find(name: string, accepts: (encoding: string) => boolean): Promise<FoundFile | undefined> {
    if (!isAssetName(name) || isHidden(name)) return undefined
    const loaded = this.#load()
    const immutable = loaded.hashed.has(name)
    let variants = loaded.variants.get(name)
    if (!variants) {
      variants = await findVariants(loaded.folders, name, immutable)
      if (!variants) return undefined
      // what a hash names does not change, so it is looked for once
      if (immutable) loaded.variants.set(name, variants)
    }
    const { folder, plain, compressed, tag } = variants
    const chosen = compressed.find(({ encoding }) => accepts(encoding))
    return {
      folder,
      name: name + (chosen?.extension ?? ''),
      encoding: chosen?.encoding,
      varies: compressed.length > 0,
      etag: chosen ? tag.replace(/"$/, `-${chosen.encoding}"`) : tag,
      modified: (chosen?.stats ?? plain).mtime,
      immutable,
    }
  }

  #load(): Loaded {
    const generation = currentGeneration()
    const settings = currentSettings()
    if (this.#loaded?.generation !== generation || this.#loaded.settings !== settings) {
      const root = resolve(this.#options.root ?? setting('staticRoot') ?? DEFAULT_ROOT)
      const manifest = loadManifest(root)
      const folders = manifest ? [root] : (this.#options.dirs ?? [root]).map((folder) => resolve(folder))
      this.#loaded = {
        generation,
        settings,
        manifest,
        folders,
        base: `${(setting('staticUrl') ?? publicPath(this.prefix)).replace(/\/+$/, '')}/`,
        addsVersions: manifest === undefined && setting('staticDevVersionQuery') !== false,
        hashed: new Set(manifest?.paths.values()),
        variants: new Map(),
      }
    }
    return this.#loaded
  }

  /** A name and its fragment. A file whose name has a `#` wins. */
  #split(name: string): [file: string, fragment: string] {
    const at = name.indexOf('#')
    if (at === -1 || this.#load().manifest?.paths.has(name)) return [name, '']
    return [name.slice(0, at), encodeSuffix(name.slice(at))]
  }

  /** The hash of a file's content, kept until the file is modified; undefined for what is no file of ours. */
  #hashOf(name: string): string | undefined {
    if (!isAssetName(name) || isHidden(name)) return undefined
    for (const folder of this.#load().folders) {
      try {
        const path = realpathSync(join(folder, name))
        if (!isWithin(realpathSync(folder), path)) continue
        const { mtimeMs: modified, size } = statSync(path)
        const known = this.#hashes.get(path)
        if (known?.modified === modified && known.size === size) return known.hash
        const hash = contentHash(readFileSync(path))
        this.#hashes.set(path, { modified, size, hash })
        return hash
      } catch {
        // a page is not worth less for a file that cannot be read
      }
    }
    return undefined
  }

  #warn(name: string): void {
    if (this.#warned.has(name) || this.#warned.size >= MAX_WARNINGS) return
    this.#warned.add(name)
    process.emitWarning(`staticPath("${oneLine(name.slice(0, 62))}"): the manifest has no such file`, {
      code: 'KOA_VIEWSETS_STATIC_FILE',
    })
  }
}

/** What was read from disk, until the next `refresh()`. */
interface Loaded {
  readonly generation: number
  readonly settings: Settings
  readonly manifest: Manifest | undefined
  readonly folders: readonly string[]
  /** What URLs begin with. */
  readonly base: string
  /** Whether URLs end in `?v=`. */
  readonly addsVersions: boolean
  readonly hashed: ReadonlySet<string>
  readonly variants: Map<string, Variants>
}

/** A file and its compressed siblings. */
interface Variants {
  readonly folder: string
  readonly tag: string
  readonly plain: Stats
  readonly compressed: readonly { readonly encoding: string; readonly extension: string; readonly stats: Stats }[]
}

async function findVariants(
  folders: readonly string[],
  name: string,
  immutable: boolean,
): Promise<Variants | undefined> {
  for (const folder of folders) {
    const plain = await statWithin(folder, name)
    if (!plain) continue
    const siblings = await Promise.all(
      ENCODINGS.map(async ([encoding, extension]) => ({
        encoding,
        extension,
        stats: await statWithin(folder, name + extension),
      })),
    )
    // one that is older than its file was made from another content
    const compressed = siblings.filter(
      (sibling): sibling is typeof sibling & { stats: Stats } =>
        sibling.stats !== undefined && (immutable || sibling.stats.mtimeMs >= plain.mtimeMs),
    )
    return { folder, plain, compressed, tag: entityTag(name, plain, immutable) }
  }
  return undefined
}

/** A file in a folder; undefined when there is none or a link leads out of it. */
async function statWithin(folder: string, name: string): Promise<Stats | undefined> {
  try {
    const path = await realpath(join(folder, name))
    if (!isWithin(await realpath(folder), path)) return undefined
    const stats = await stat(path)
    return stats.isFile() ? stats : undefined
  } catch (error) {
    if (NO_FILE.has((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}

/** An entity tag (RFC 9110 section 8.8.3): strong for a name with a hash, which says what the bytes are. */
function entityTag(name: string, { size, mtimeMs }: Stats, immutable: boolean): string {
  return immutable ? `"${contentHash(name)}"` : `W/"${size.toString(16)}-${Math.trunc(mtimeMs).toString(16)}"`
}

/** A name that stays below the prefix, whatever was given. */
function inside(name: string): string {
  if (isAssetName(name)) return name
  const segments = name.split('/').filter((segment) => !/^\.{0,2}$/.test(segment))
  return segments.join('/')
}

/** The path of a URL setting, which may have a host. */
function pathOf(url: string | undefined): string | undefined {
  return url === undefined ? undefined : new URL(url, 'http://host').pathname
}
