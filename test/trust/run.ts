/**
 * The trust suite at its long sizes: `npm run test:trust` runs all of it, one file after the other, in an hour to an
 * hour and a half; `npm run test:trust -- P3` the tests whose titles name P3. TRUST_SEED repeats a run's random data.
 */
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs')
const names = process.argv.slice(2)
/** All runs, which are in the tests of what they are about, P4 in those of throttles, and promises with a long size. */
const ALL = ['P\\d+', 'B17', 'E3', 'E25', 'F7', 'I16', 'I21', 'I29', 'I30']
const pattern = (names.length > 0 ? names : ALL).map((name) => `\\[[^\\]]*\\b${name}(?!\\d)`).join('|')
const args = ['run', '--config', '.config/vitest.config.ts', '--no-file-parallelism', '-t', pattern]
spawn(process.execPath, [vitest, ...args], { stdio: 'inherit', env: { ...process.env, TRUST: 'long' } }).on(
  'exit',
  (code) => {
    process.exitCode = code ?? 1
  },
)
