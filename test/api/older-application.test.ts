/** An older application of which one resource moves, over the package as npm packs it: `npm run test:adoption`. */
import { execFileSync } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { createFolder } from '../support/files.js'
import { readProjectFile } from '../support/program.js'
import { addedPackages, installWorkshop, movedFiles, runWorkshop, workshopIn } from '../support/workshop.js'

const PROJECT = fileURLToPath(new URL('../..', import.meta.url))
/** The package, unpacked. */
let packed: string
let tarball: string

beforeAll(() => {
  execFileSync('npm', ['run', '--silent', 'build'], { cwd: PROJECT })
  const folder = createFolder()
  const args = ['pack', '--silent', '--pack-destination', folder]
  tarball = join(folder, execFileSync('npm', args, { cwd: PROJECT, encoding: 'utf8' }).trim())
  execFileSync('tar', ['-xf', tarball, '-C', folder])
  packed = join(folder, 'package')
}, 240_000)

describe('an application of 2021, of which one resource moves', () => {
  let installed: string
  let database: TestDatabase

  beforeAll(async () => {
    installed = installWorkshop(tarball, readProjectFile('package.json'))
    database = await createDatabase()
  }, 240_000)
  afterAll(() => database.drop())

  it('compiles by its TypeScript 4.9, and passes the tests that it had', { timeout: 120_000 }, () => {
    const before = runWorkshop(workshopIn('before', installed, packed), database.connection)
    expect(before).toMatchObject({ compiled: '', failed: [] })
    expect(before.titles.length).toBe(29)
    expect(runWorkshop(workshopIn('after', installed, packed), database.connection)).toEqual(before)
  })

  it('changes no other file than these', () => {
    expect(movedFiles()).toEqual({ 'src/api.ts': 90, 'src/app.ts': 3, 'src/server.ts': 3 })
  })

  it('gets no install script, and less than 15 MB', () => {
    const added = addedPackages(installed)
    expect(added.filter(({ hasInstallScript }) => hasInstallScript)).toEqual([])
    const folders = [packed, ...added.filter(({ path }) => !path.includes('koa-viewsets')).map(({ folder }) => folder)]
    const bytes = folders.flatMap((folder) =>
      readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => statSync(join(entry.parentPath, entry.name)).size),
    )
    expect(bytes.reduce((sum, one) => sum + one, 0)).toBeLessThan(15e6)
  })
})
