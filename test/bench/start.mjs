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

if (!existsSync(at('../../dist/lib/index.js'))) run('tsc', '-p', '.config/tsconfig.build.json')
if (!existsSync(at('dist/server.js')) || statSync(at('dist/server.js')).mtimeMs < statSync(at('server.ts')).mtimeMs) {
  run('tsc', '-p', '.config/tsconfig.bench.json')
}
await import('./dist/server.js')
