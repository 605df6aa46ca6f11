/**
 * The tests with a database, through PgBouncer: `npm run test:pgbouncer` runs them once in session mode and once in
 * transaction mode. What follows `--` is for vitest: `npm run test:pgbouncer -- test/api/filters.test.ts`.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs')
const given = process.argv.slice(2)
const tests = given.length > 0 ? given : ['test/api', 'test/contracts', 'test/lib', 'test/plugins']

for (const mode of ['session', 'transaction']) {
  console.log(`\nThrough PgBouncer, pool_mode = ${mode}`)
  const run = spawn(process.execPath, [vitest, 'run', '--config', '.config/vitest.config.ts', ...tests], {
    stdio: 'inherit',
    env: { ...process.env, PGBOUNCER: mode },
  })
  const [code] = (await once(run, 'exit')) as [number | null]
  if (code !== 0) process.exitCode = code ?? 1
}
