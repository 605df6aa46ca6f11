/** The older application of test/adoption, installed by npm as it was and with this package, once for each state of both. */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, relative } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import type { ClientConfig } from 'pg'
import { createFolder } from './files.js'

const ADOPTION = fileURLToPath(new URL('../adoption', import.meta.url))
const BEFORE = join(ADOPTION, 'workshop')
/** What its maintainer writes beside the package, whose peer is knex 3. */
const INSTALLED = ['knex@^3.1.0']
/** What is moved, and so no more in its folder. */
const REMOVED = 'src/routes/parts.ts'

export type State = 'before' | 'after'

/** A program of npm's, in a folder. @throws {Error} it has failed */
function npm(folder: string, ...args: string[]): void {
  const options = ['--no-audit', '--no-fund', '--prefer-offline']
  const { status, stderr } = spawnSync('npm', [...args, ...options], { cwd: folder, encoding: 'utf8' })
  if (status !== 0) throw new Error(`npm ${args.join(' ')}: ${stderr}`)
}

/** Where both are installed. @param tarball the package as npm packs it */
export function installWorkshop(tarball: string, manifest: string): string {
  const { dependencies, peerDependencies } = JSON.parse(manifest) as Record<string, unknown>
  const hash = createHash('sha256')
    .update(readFileSync(join(BEFORE, 'package-lock.json')))
    .update(JSON.stringify([dependencies, peerDependencies, INSTALLED]))
  const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'koa-viewsets')
  const folder = join(cache, `workshop-${hash.digest('hex').slice(0, 16)}`)
  if (existsSync(folder)) return folder
  const making = `${folder}.${process.pid}`
  const before = join(making, 'before')
  mkdirSync(before, { recursive: true })
  for (const name of ['package.json', 'package-lock.json']) cpSync(join(BEFORE, name), join(before, name))
  npm(before, 'ci')
  const after = join(making, 'after')
  cpSync(before, after, { recursive: true, verbatimSymlinks: true })
  npm(after, 'install', ...INSTALLED, tarball)
  // another run may have been faster
  if (existsSync(folder)) rmSync(making, { recursive: true })
  else renameSync(making, folder)
  return folder
}

/** The application in a folder of its own, over what is installed. @param packed the package, unpacked */
export function workshopIn(state: State, installed: string, packed: string): string {
  const app = createFolder()
  cpSync(BEFORE, app, { recursive: true })
  if (state === 'after') {
    cpSync(join(ADOPTION, 'moved'), app, { recursive: true })
    rmSync(join(app, REMOVED))
  }
  cpSync(join(installed, state, 'package.json'), join(app, 'package.json'))
  const from = join(installed, state, 'node_modules')
  const modules = join(app, 'node_modules')
  mkdirSync(modules)
  for (const name of readdirSync(from)) {
    if (name !== 'koa-viewsets') symlinkSync(join(from, name), join(modules, name))
  }
  if (state === 'after') {
    cpSync(packed, join(modules, 'koa-viewsets'), { recursive: true })
    const own = join(from, 'koa-viewsets/node_modules')
    if (existsSync(own)) cpSync(own, join(modules, 'koa-viewsets/node_modules'), { recursive: true })
  }
  return app
}

/** What mocha says of a test, or of a hook that has failed. */
interface Tested {
  readonly fullTitle: string
  readonly err: { readonly message?: string }
}

/** What its compiler says, and the titles of its tests, those that fail with their errors. */
export function runWorkshop(app: string, { host, port, user, password = '', database }: ClientConfig) {
  const run = (program: string, ...args: string[]) =>
    spawnSync(process.execPath, [join('node_modules', program), ...args], {
      cwd: app,
      encoding: 'utf8',
      env: {
        PATH: process.env['PATH'],
        NODE_ENV: 'test',
        PGPORT: String(port ?? ''),
        // as versions of pg of its day read it
        DATABASE_URL: `postgres://${user}:${String(password)}@${encodeURIComponent(String(host))}/${database}`,
      },
    })
  const compiled = run('typescript/bin/tsc').stdout
  const { stdout, stderr } = run('mocha/bin/mocha.js', '--exit', '--reporter', 'json', 'build/test/*.spec.js')
  const begin = stdout.indexOf('{\n  "stats"')
  if (begin < 0) throw new Error(`${compiled}${stdout}${stderr}`)
  const { tests, failures } = JSON.parse(stdout.slice(begin)) as Readonly<
    Record<'tests' | 'failures', readonly Tested[]>
  >
  return {
    compiled,
    titles: tests.map(({ fullTitle }) => fullTitle),
    failed: failures.map(({ fullTitle, err }) => `${fullTitle}: ${err.message}`),
  }
}

interface Locked {
  readonly hasInstallScript?: boolean
}

/** The folders of the packages that came with ours, ours among them, and whether npm runs a script of theirs. */
export function addedPackages(installed: string) {
  const locked = (state: State) => {
    const file = join(installed, state, 'node_modules/.package-lock.json')
    return (JSON.parse(readFileSync(file, 'utf8')) as { packages: Readonly<Record<string, Locked>> }).packages
  }
  const before = locked('before')
  return Object.entries(locked('after'))
    .filter(([path]) => !(path in before))
    .map(([path, { hasInstallScript = false }]) => ({ path, hasInstallScript, folder: join(installed, 'after', path) }))
}

/** The files that the move has written anew or changed, with the lines of each that were not in it. */
export function movedFiles(): Readonly<Record<string, number>> {
  const moved = join(ADOPTION, 'moved')
  const files = readdirSync(moved, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const names = files.map((entry) => relative(moved, join(entry.parentPath, entry.name))).sort()
  return Object.fromEntries(
    names.map((name) => {
      const old = join(BEFORE, name)
      const known = new Set(existsSync(old) ? readFileSync(old, 'utf8').split('\n') : [''])
      return [
        name,
        readFileSync(join(moved, name), 'utf8')
          .split('\n')
          .filter((line) => !known.has(line)).length,
      ]
    }),
  )
}
