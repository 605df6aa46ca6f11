/** Collects static files under hashed names (wire format, section 7). */

import { readFile, realpath } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { forEachAtOnce } from '../kernel/at-once.js'
import { checkKinds } from '../kernel/option-kinds.js'
import { hashedName } from './asset-name.js'
import { contentHash } from './content-hash.js'
import { findSources, isWithin, type Problems, type Sources } from './find-sources.js'
import { hashSheets, readSheet, type Sheet } from './hash-sheets.js'
import { createManifest, MANIFEST_NAME, type Manifest, writeManifest } from './manifest.js'
import { Publisher } from './publish.js'

/** Options of `collectStatic()`. */
export interface CollectOptions {
  /** Folders of sources. Their files share one tree, and no two may have one name. */
  readonly staticDirs: readonly string[]
  /** The folder to fill. Created where it does not exist; nothing in it is removed. */
  readonly staticRoot: string
  /** Called after each file. */
  readonly onProgress?: ((progress: { readonly done: number; readonly total: number }) => void) | undefined
}

/** What `collectStatic()` has done. */
export interface Collected {
  /** The files by their own names, as the manifest on the disk has them. */
  readonly manifest: Manifest
  /** How many files were written. */
  readonly written: number
  /** How many files had their content already. */
  readonly unchanged: number
}

/** Why nothing was published: all that is wrong with the files, each as one line. */
export class CollectError extends Error {
  override readonly name: string = 'CollectError'
  /** What is wrong, a line each. */
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.problems = problems
  }
}

/** Files read at once: more are no faster, and all are in memory. */
const CONCURRENCY = 16

/**
 * Copies the files of the folders into one, each under its own name and under one with its content's hash, rewrites the
 * references of style sheets to the hashed names, and writes `staticfiles.json` last. Whoever reads meanwhile sees the
 * old manifest, all of whose files stay. Files that are there already are not written again.
 *
 * Left out are files and folders whose names begin with a dot, and files that end in `~`.
 * @throws CollectError files of one name, references to files that are not there, links that lead out; the manifest is
 * then as it was
 * @example await collectStatic({ staticDirs: ['public'], staticRoot: 'staticfiles' })
 */
export async function collectStatic(options: CollectOptions): Promise<Collected> {
  checkKinds('collectStatic()', options, {
    kinds: { staticDirs: 'names', staticRoot: 'name', onProgress: 'function' },
  })
  const { staticDirs, staticRoot, onProgress } = options
  const problems: Problems = []
  if (staticDirs.length === 0) problems.push('staticDirs: give at least one folder')
  const sources = await findSources(staticDirs, problems)
  const sheets = await readSheets(sources, problems)
  if (problems.length === 0) await checkRoot(staticRoot, staticDirs, problems)
  if (problems.length > 0) throw new CollectError(problems)

  const publisher = await Publisher.open(staticRoot)
  try {
    const paths = await publishAll({ sources, sheets, publisher, onProgress })
    const manifest = createManifest(paths)
    await publisher.putLast(MANIFEST_NAME, Buffer.from(writeManifest(manifest)))
    return { manifest, written: publisher.written, unchanged: publisher.unchanged }
  } finally {
    await publisher.close()
  }
}

interface Publication {
  readonly sources: Sources
  readonly sheets: ReadonlyMap<string, Sheet>
  readonly publisher: Publisher
  readonly onProgress: CollectOptions['onProgress']
}

/** Writes all files but the manifest. Returns hashed names by name. */
async function publishAll({ sources, sheets, publisher, onProgress }: Publication): Promise<Map<string, string>> {
  const names = new Map<string, string>()
  let done = 0
  const publish = async (name: string, original: Buffer, hashed: string, content: Buffer) => {
    // what an earlier collection has named, collected once more, is no collision as long as it says the same
    const other = sources.get(hashed)
    if (other !== undefined && !(await readFile(other)).equals(content)) {
      throw new CollectError([`${other}: has the name that ${name} is published under; rename it`])
    }
    await publisher.put(hashed, content)
    await publisher.put(name, original, content === original ? hashed : undefined)
    onProgress?.({ done: ++done, total: sources.size })
  }
  await forEachAtOnce([...sources], CONCURRENCY, async ([name, path]) => {
    if (sheets.has(name)) return
    const content = await readFile(path)
    const hashed = hashedName(name, contentHash(content))
    names.set(name, hashed)
    await publish(name, content, hashed, content)
  })
  await forEachAtOnce(hashSheets(sheets, names), CONCURRENCY, async ({ name, hashed, content }) => {
    await publish(name, Buffer.from((sheets.get(name) as Sheet).text, 'latin1'), hashed, content)
  })
  return names
}

async function readSheets(sources: Sources, problems: Problems): Promise<Map<string, Sheet>> {
  const contents = new Map<string, Buffer>()
  const sheets = [...sources].filter(([name]) => /\.css$/i.test(name))
  await forEachAtOnce(sheets, CONCURRENCY, async ([name, path]) => {
    contents.set(name, await readFile(path))
  })
  const collection = { has: (target: string) => sources.has(target), problems }
  return new Map(
    sheets.map(([name, path]) => [name, readSheet(name, { path, content: contents.get(name) as Buffer }, collection)]),
  )
}

/** A folder that is collected cannot hold what is collected from it. */
async function checkRoot(root: string, folders: readonly string[], problems: Problems): Promise<void> {
  const target = await realTarget(resolve(root))
  for (const folder of folders) {
    const source = await realpath(folder)
    if (isWithin(source, target) || isWithin(target, source)) {
      problems.push(`${folder}: overlaps with ${root}, which it is collected into; choose a folder beside it`)
    }
  }
}

/** Where a path leads, also when it does not exist yet. */
async function realTarget(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(path) === path) throw error
    return join(await realTarget(dirname(path)), basename(path))
  }
}
