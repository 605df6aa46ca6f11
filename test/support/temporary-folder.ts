/** A temporary folder for the whole run, removed behind it with whatever tests and their programs have left there. */
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export default function setup(): () => void {
  // a short name, as sockets lie in folders below it
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'kv-')))
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

/** What tests have mounted that did not run to their end, as files do of which no test was asked for. */
function mountsBelow(folder: string): readonly string[] {
  const mounts = existsSync('/proc/mounts') ? readFileSync('/proc/mounts', 'utf8').split('\n') : []
  return mounts.map((line) => line.split(' ')[1] ?? '').filter((path) => path.startsWith(`${folder}/`))
}
