/**
 * The trust suite at its long sizes: `npm run test:trust` runs all of it, one file after the other, in about an hour and
 * a half; `npm run test:trust -- P3` the tests whose titles name P3. TRUST_SEED repeats a run's random data.
 */
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'

const vitest = createRequire(import.meta.url).resolve('vitest/vitest.mjs')
const names = process.argv.slice(2)
const args = ['run', '--config', '.config/vitest.config.ts', '--no-file-parallelism', 'test/trust']
if (names.length > 0) args.push('-t', names.map((name) => `\\b${name}`).join('|'))
spawn(process.execPath, [vitest, ...args], { stdio: 'inherit', env: { ...process.env, TRUST: 'long' } }).on(
  'exit',
  (code) => {
    process.exitCode = code ?? 1
  },
)
