/** Atomic writes into the folder of collected files: each file whole or not at all. */

import { randomBytes } from 'node:crypto'
import { link, lstat, mkdir, open, readdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { getOrInsert } from '../kernel/maps.js'
import { isWithin } from './find-sources.js'

/** Folders of files in the making; hidden, so never served. */
const TEMPORARY = '.collecting-'
/** What a run that was killed has left is removed after this time. */
const STALE_MILLISECONDS = 3_600_000

/** Writes into one folder. Files appear under their names by renaming. */
export class Publisher {
  /** The folder, links resolved. */
  readonly root: string
  written = 0
  unchanged = 0
  readonly #temporary: string
  readonly #checked = new Map<string, Promise<void>>()
  #count = 0

  private constructor(root: string) {
    this.root = root
    this.#temporary = join(root, `${TEMPORARY}${randomBytes(6).toString('hex')}`)
  }

  /** Creates the folder where it does not exist. */
  static async open(folder: string): Promise<Publisher> {
    await mkdir(folder, { recursive: true })
    const publisher = new Publisher(await realpath(folder))
    await publisher.#removeStale()
    await mkdir(publisher.#temporary)
    return publisher
  }

  /**
   * Gives a file this content; one that has it already is not touched.
   * @param sameAs a file of ours with this content, to be linked to where there is nothing yet and the file system can
   * @throws Error the name leads out of the folder
   */
  async put(name: string, content: Buffer, sameAs?: string): Promise<void> {
    const path = join(this.root, name)
    await this.#prepareFolder(dirname(path))
    const held = await compare(path, content)
    if (held === 'same') {
      this.unchanged++
      return
    }
    // a link is as old as what it leads to: a compressed sibling of what was here would look newer
    const isLinked = sameAs !== undefined && held === 'nothing' && (await this.#link(sameAs, path))
    if (!isLinked) await this.#replace(path, content)
    this.written++
  }

  /** Like `put`, and on the disk when it returns: for the file that the others count by. */
  async putLast(name: string, content: Buffer): Promise<void> {
    const path = join(this.root, name)
    if ((await compare(path, content)) !== 'same') await this.#replace(path, content, { flush: true })
  }

  async close(): Promise<void> {
    await rm(this.#temporary, { recursive: true, force: true })
  }

  async #replace(path: string, content: Buffer, { flush = false } = {}): Promise<void> {
    const temporary = this.#temporaryPath()
    if (flush) await writeFlushed(temporary, content)
    else await writeFile(temporary, content)
    await rename(temporary, path)
  }

  /** False where files cannot be linked. */
  async #link(name: string, path: string): Promise<boolean> {
    const temporary = this.#temporaryPath()
    try {
      await link(join(this.root, name), temporary)
    } catch {
      return false
    }
    await rename(temporary, path)
    return true
  }

  #temporaryPath(): string {
    return join(this.#temporary, String(this.#count++))
  }

  /** Creates the folder of a file, once, and makes sure that no link leads out of ours. */
  #prepareFolder(folder: string): Promise<void> {
    return getOrInsert(this.#checked, folder, () => this.#checkFolder(folder))
  }

  async #checkFolder(folder: string): Promise<void> {
    // from the top: below a link that leads out nothing is created either
    if (folder !== this.root) await this.#prepareFolder(dirname(folder))
    await mkdir(folder, { recursive: true })
    if (!isWithin(this.root, await realpath(folder)))
      throw new Error(`${folder}: is a link that leads out of ${this.root}`)
  }

  async #removeStale(): Promise<void> {
    const before = Date.now() - STALE_MILLISECONDS
    for (const name of await readdir(this.root)) {
      if (!name.startsWith(TEMPORARY)) continue
      const path = join(this.root, name)
      // another run may be ending just now
      const found = await stat(path).catch(() => undefined)
      if (found && found.mtimeMs < before) await rm(path, { recursive: true, force: true })
    }
  }
}

/** What stands at a path. */
async function compare(path: string, content: Buffer): Promise<'same' | 'other' | 'nothing'> {
  try {
    const found = await lstat(path)
    const isSame = found.isFile() && found.size === content.length && (await readFile(path)).equals(content)
    return isSame ? 'same' : 'other'
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'nothing'
    throw error
  }
}

async function writeFlushed(path: string, content: Buffer): Promise<void> {
  const file = await open(path, 'w')
  try {
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
}
