/** A file system of 1 MB, where this user may mount one. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface SmallDisk {
  readonly path: string
  remove(): void
}

/** Mounts it; undefined where that takes rights this user does not have. */
export function mountSmallDisk(): SmallDisk | undefined {
  const path = mkdtempSync(join(tmpdir(), 'small-disk-'))
  const remove = () => rmSync(path, { recursive: true, force: true })
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', path], { stdio: 'ignore' })
  } catch {
    remove()
    return undefined
  }
  return {
    path,
    remove() {
      execFileSync('umount', [path])
      remove()
    },
  }
}
