/**
 * Starts the contender as an application would be deployed: compiled, without a loader. Builds what is missing or older
 * than its source first: the package by `npm run build`, the server by the compiler.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const at = (path) => fileURLToPath(new URL(path, import.meta.url))

function run(...command) {
  const { status } = spawnSync('npx', ['--no-install', ...command], { cwd: at('../..'), stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}

if (!existsSync(at('../../dist/lib/index.js'))) run('tsx', '.config/build.ts')
const modified = (path) => (existsSync(at(path)) ? statSync(at(path)).mtimeMs : 0)
if (['server', 'books'].some((name) => modified(`dist/${name}.js`) < modified(`${name}.ts`))) {
  run('tsc', '-p', '.config/tsconfig.bench.json')
}
await import('./dist/server.js')
