/**
 * The trust suite at its long sizes: `npm run test:trust` runs every test file that has some, one after the other, in an hour
 * to an hour and a half; `npm run test:trust -- P3` the tests whose titles name P3. TRUST_SEED repeats a run's random data.
 */
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs')
const names = process.argv.slice(2)
/** By what a file takes its sizes from, whatever its titles say: a tag that is missing must not leave out a file. */
const files = readdirSync('test', { recursive: true })
  .map((path) => join('test', String(path)))
  .filter((path) => path.endsWith('.test.ts') && /support\/size\.js'/.test(readFileSync(path, 'utf8')))
const chosen =
  names.length > 0
    ? ['-t', names.map((name) => `(?:\\[[^\\]]*|^)\\b${name}(?!\\d)`).join('|')]
    : // these take hours, and are run by their names only
      [...files, '-t', '^(?!.*\\bP1[56]\\b)']
const args = ['run', '--config', '.config/vitest.config.ts', '--no-file-parallelism', ...chosen]
spawn(process.execPath, [vitest, ...args], { stdio: 'inherit', env: { ...process.env, TRUST: 'long' } }).on(
  'exit',
  (code) => {
    process.exitCode = code ?? 1
  },
)
