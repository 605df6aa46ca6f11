/** Source files of `collectstatic`: found in their folders, hidden ones left out. */
import type { Dirent } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { isAssetName, isHidden } from './asset-name.js'
import { MANIFEST_NAME } from './manifest.js'

/** Files by their name in the collection. */
export type Sources = ReadonlyMap<string, string>

/** What is wrong with the files, each as one line. */
export type Problems = string[]

/**
 * All files below the folders. Left out are names that begin with a dot or end in `~`. A symbolic link is followed when
 * it stays in one of the folders.
 * @param problems takes what cannot be collected: two files of one name, links that lead out, odd names
 */
export async function findSources(folders: readonly string[], problems: Problems): Promise<Sources> {
  const roots: (string | undefined)[] = []
  for (const folder of folders) roots.push(await realFolder(folder, problems))
  const walk: Walk = { roots: roots.filter((root) => root !== undefined), sources: new Map(), problems }
  if (problems.length > 0) return walk.sources
  for (const [index, folder] of folders.entries()) {
    const real = roots[index] as string
    await walkFolder(walk, { path: folder, name: '', within: [real] })
  }
  checkNames(walk)
  return walk.sources
}

/** True when the path is the folder or lies in it; both with their links resolved. */
export function isWithin(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep)
}

interface Walk {
  readonly roots: readonly string[]
  readonly sources: Map<string, string>
  readonly problems: Problems
}

interface Folder {
  readonly path: string
  /** The folder's name in the collection; empty for the top. */
  readonly name: string
  /** The real paths of the folders that lead to it, its own last. */
  readonly within: readonly string[]
}

async function realFolder(folder: string, problems: Problems): Promise<string | undefined> {
  try {
    const real = await realpath(folder)
    if ((await stat(real)).isDirectory()) return real
    problems.push(`${folder}: is not a folder`)
  } catch (error) {
    problems.push(`${folder}: ${reasonOf(error)}`)
  }
  return undefined
}

async function walkFolder(walk: Walk, folder: Folder): Promise<void> {
  const entries = await readdir(folder.path, { withFileTypes: true })
  for (const entry of entries.sort((left, right) => (left.name < right.name ? -1 : 1))) {
    const name = folder.name === '' ? entry.name : `${folder.name}/${entry.name}`
    if (isHidden(entry.name) || entry.name.endsWith('~')) continue
    await take(walk, folder, entry, name)
  }
}

async function take(walk: Walk, folder: Folder, entry: Dirent, name: string): Promise<void> {
  const path = join(folder.path, entry.name)
  // bytes that are not UTF-8 were read as U+FFFD, and no such file would be found
  if (!isAssetName(entry.name) || entry.name.includes('\uFFFD')) {
    walk.problems.push(`${JSON.stringify(path)}: such a name cannot stand in a URL of ours; rename it`)
  } else if (entry.isFile()) {
    add(walk, name, path)
  } else if (entry.isDirectory()) {
    await descend(walk, folder, { path, name }, join(folder.within.at(-1) as string, entry.name))
  } else if (entry.isSymbolicLink()) {
    await follow(walk, folder, path, name)
  } else {
    walk.problems.push(`${path}: is neither a file nor a folder`)
  }
}

async function follow(walk: Walk, folder: Folder, path: string, name: string): Promise<void> {
  let real: string
  try {
    real = await realpath(path)
  } catch (error) {
    walk.problems.push(`${path}: is a broken link (${reasonOf(error)})`)
    return
  }
  if (!walk.roots.some((root) => isWithin(root, real))) {
    walk.problems.push(`${path}: links to ${real}, outside the folders; copy it, or name its folder as well`)
    return
  }
  const target = await stat(real)
  if (target.isFile()) add(walk, name, path)
  else if (target.isDirectory()) await descend(walk, folder, { path, name }, real)
  else walk.problems.push(`${path}: is neither a file nor a folder`)
}

async function descend(walk: Walk, parent: Folder, folder: { path: string; name: string }, real: string) {
  if (parent.within.includes(real)) {
    walk.problems.push(`${folder.path}: links to a folder that holds it`)
    return
  }
  await walkFolder(walk, { ...folder, within: [...parent.within, real] })
}

function add({ sources, problems }: Walk, name: string, path: string): void {
  const other = sources.get(name)
  if (other === undefined) sources.set(name, path)
  else problems.push(`${name}: is both ${other} and ${path}; rename or remove one`)
}

/** A name cannot be a file and a folder, nor the manifest's. */
function checkNames({ sources, problems }: Walk): void {
  for (const [name, path] of sources) {
    if (name === MANIFEST_NAME) problems.push(`${path}: has the name of the manifest; rename it`)
    for (let slash = name.lastIndexOf('/'); slash > 0; slash = name.lastIndexOf('/', slash - 1)) {
      const file = sources.get(name.slice(0, slash))
      if (file !== undefined)
        problems.push(`${name.slice(0, slash)}: is both the file ${file} and the folder of ${path}`)
    }
  }
}

/** What the system says, without its error code and path. */
function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return code === 'ENOENT' ? 'does not exist' : message
}
