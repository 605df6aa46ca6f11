/** Generated files, known by their header: only these are written over, and links are not followed. */
import { randomUUID } from 'node:crypto'
import { constants, type Stats } from 'node:fs'
import { lstat, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, sep } from 'node:path'

/** Absent on Windows, where links need a right of their own. */
const NO_FOLLOW = constants.O_NOFOLLOW ?? 0

/**
 * The text of a file that begins with the header; undefined where there is none.
 * @throws Error it is a link, no file, or somebody else's
 */
export async function readOwn(path: string, header: string): Promise<string | undefined> {
  const text = await readPlain(path)
  if (text !== undefined && !hasHeader(text, header)) {
    throw new Error(
      `${path} exists, and does not begin with the line that koa-viewsets writes; name another file, or remove it`,
    )
  }
  return text
}

/** True for a string that a command has written, and nobody taken over by removing its first line. */
export function hasHeader(text: string, header: string): boolean {
  return text.startsWith(`${header}\n`) || text.startsWith(`${header}\r\n`)
}

/** The text of a file; undefined where there is none. @throws Error it is a link, or no file */
export async function readPlain(path: string): Promise<string | undefined> {
  const found = await look(path)
  if (!found) return undefined
  if (!found.isFile()) throw new Error(`${path} is no file; remove it`)
  const file = await open(path, constants.O_RDONLY | NO_FOLLOW)
  try {
    return await file.readFile('utf8')
  } finally {
    await file.close()
  }
}

/** Writes a file beside its place, and puts it there: nobody ever sees half of it, and a link is not written through. */
export async function writeOwn(path: string, text: string): Promise<void> {
  const draft = join(dirname(path), `.${randomUUID()}.tmp`)
  try {
    const file = await open(draft, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | NO_FOLLOW)
    try {
      await file.writeFile(text)
    } finally {
      await file.close()
    }
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

/**
 * Makes the folders of a path that there are not.
 * @throws Error one of those below the working folder, or else the last, is a link or no folder
 */
export async function makeFolder(path: string): Promise<void> {
  await checkFolder(path)
  await mkdir(path, { recursive: true })
}

/** @throws Error one of the path's folders below the working folder, or else the last, is a link or no folder */
export async function checkFolder(path: string): Promise<void> {
  for (const folder of foldersOf(path)) {
    const found = await look(folder)
    if (!found) return
    if (!found.isDirectory()) throw new Error(`${folder} is no folder`)
  }
}

function foldersOf(path: string): readonly string[] {
  const base = process.cwd()
  const below = relative(base, path)
  if (below === '') return []
  if (below.startsWith('..') || isAbsolute(below)) return [path]
  const parts = below.split(sep)
  return parts.map((_, index) => join(base, ...parts.slice(0, index + 1)))
}

async function look(path: string): Promise<Stats | undefined> {
  try {
    const found = await lstat(path)
    if (found.isSymbolicLink()) throw new Error(`${path} is a link, which is not followed; name what it leads to`)
    return found
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
