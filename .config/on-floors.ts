/**
 * Runs a command while each peer, and rate-limiter-flexible, is the lowest version that package.json allows, as `npm run test:floors` does:
 * `node --import tsx .config/on-floors.ts <command>`. They are installed once, beside each other, and are back as they were behind it.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import process from 'node:process'

const ROOT = resolve(import.meta.dirname, '..')
const MODULES = join(ROOT, 'node_modules')
const ASIDE = join(MODULES, '.above-floors')
/**
 * Those of @koa/router are each installed under a name of its own; flydrive finds the clients of its stores beside itself; types
 * are the compiler's.
 */
const ELSEWHERE: ReadonlySet<string> = new Set(['@koa/router', '@types/koa', 'flydrive'])

const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly dependencies: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
}
/** An application's own limiters are of its own version. */
const shared = Object.entries(dependencies).filter(([name]) => name === 'rate-limiter-flexible')
const floors = [...Object.entries(peerDependencies), ...shared]
  .filter(([name]) => !ELSEWHERE.has(name))
  .map(([name, range]): [name: string, version: string] => [name, /\d+(?:\.\d+)*/.exec(range)?.[0] ?? range])

function install(): string {
  const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache')
  const folder = join(cache, 'koa-viewsets', `floors-${floors.map(([, version]) => version).join('-')}`)
  if (existsSync(join(folder, 'package-lock.json'))) return folder
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "private": true }')
  const packages = floors.map(([name, version]) => `${name}@${version}`)
  const args = ['install', '--no-audit', '--no-fund', '--legacy-peer-deps', '--ignore-scripts', ...packages]
  if (spawnSync('npm', args, { cwd: folder, stdio: 'inherit' }).status === 0) return folder
  rmSync(folder, { recursive: true })
  throw new Error(`npm has not installed ${packages.join(' ')}`)
}

function putBack(): void {
  for (const [name] of floors) {
    if (!existsSync(join(ASIDE, name))) continue
    rmSync(join(MODULES, name))
    renameSync(join(ASIDE, name), join(MODULES, name))
  }
  rmSync(ASIDE, { recursive: true, force: true })
}

const folder = install()
// a run that was ended in between
putBack()
for (const [name] of floors) {
  mkdirSync(dirname(join(ASIDE, name)), { recursive: true })
  renameSync(join(MODULES, name), join(ASIDE, name))
  symlinkSync(join(folder, 'node_modules', name), join(MODULES, name))
}
console.log(`On ${floors.map(([name, version]) => `${name} ${version}`).join(', ')}`)
// an interruption ends the command, too: what was there before is put back all the same
process.on('SIGINT', () => {}).on('SIGTERM', () => {})
try {
  const [command = '', ...args] = process.argv.slice(2)
  process.exitCode = spawnSync(command, args, { cwd: ROOT, stdio: 'inherit' }).status ?? 1
} finally {
  putBack()
}
