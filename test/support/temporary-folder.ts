/**
 * A temporary folder for the whole run, removed behind it with whatever tests and their programs have left there. It is in
 * memory where there is room, unless TMPDIR says where: the tests create and drop a database each.
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const MEMORY = '/dev/shm'
/** In bytes: several times what a run leaves there. */
const ROOM = 6 * 2 ** 30

export default function setup(): () => void {
  // a short name, as sockets lie in folders below it
  const folder = realpathSync(mkdtempSync(join(hasRoom() ? MEMORY : tmpdir(), 'kv-')))
  // PostgreSQL may run as another user
  chmodSync(folder, 0o755)
  const before = process.env['TMPDIR']
  process.env['TMPDIR'] = folder
  return () => {
    if (before === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = before
    for (const path of mountsBelow(folder)) execFileSync('umount', [path])
    rmSync(folder, { recursive: true, force: true })
  }
}

function hasRoom(): boolean {
  if (process.env['TMPDIR'] !== undefined || !existsSync(MEMORY)) return false
  const { bavail, bsize } = statfsSync(MEMORY)
  // PostgreSQL, as another user, must get in, and its binaries run there
  return bavail * bsize > ROOM && !/^\S+ \/dev\/shm \S+ \S*noexec/m.test(readFileSync('/proc/mounts', 'utf8'))
}

/** What tests have mounted that did not run to their end, as files do of which no test was asked for. */
function mountsBelow(folder: string): readonly string[] {
  const mounts = existsSync('/proc/mounts') ? readFileSync('/proc/mounts', 'utf8').split('\n') : []
  return mounts.map((line) => line.split(' ')[1] ?? '').filter((path) => path.startsWith(`${folder}/`))
}
