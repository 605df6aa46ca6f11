/** A temporary folder for the whole run, removed behind it with whatever tests and their programs have left there. */
import { chmodSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
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
    rmSync(folder, { recursive: true, force: true })
  }
}
