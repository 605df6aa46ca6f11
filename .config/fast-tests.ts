/** The test files that need no database and start no program, alone or by what they import of `test`: `npm run test:fast`. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const NEEDS_MORE = /\b(?:createDatabase|startPostgres|inject|spawn|fork|execFile|launchPersistentContext)\(/
const IMPORT = /(?:\bfrom |\bimport\()\s*'(\.[^']+)\.js'/g

/** Those that take more than a second, or that change what the files after them in the same process find. */
const LEFT_OUT = [
  'test/api/authentication.test.ts',
  'test/api/jwt.test.ts',
  'test/api/jwt-issuers.test.ts',
  'test/api/jwt-rfc8725.test.ts',
  'test/lib/assets/collect-static.test.ts',
  'test/lib/assets/static-files.test.ts',
  'test/lib/fields/date-time-fields.test.ts',
  'test/lib/ids/codecs.test.ts',
  'test/lib/jwt/remote-key-set.test.ts',
  'test/lib/kernel/signing.test.ts',
  'test/lib/parsers/json-parser.test.ts',
  'test/lib/parsers/multi-part-parser.test.ts',
  'test/plugins/static-assets.test.ts',
]

/** Below the root, in the order of their paths. */
export function fastTests(root: string): string[] {
  const needs = new Map<string, boolean>()
  function needsMore(path: string): boolean {
    const known = needs.get(path)
    if (known !== undefined) return known
    // for circles
    needs.set(path, false)
    const file = join(root, path)
    const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
    const imported = [...text.matchAll(IMPORT)].map(([, name = '']) => `${join(dirname(path), name)}.ts`)
    const found = NEEDS_MORE.test(text) || imported.filter((name) => /^(?:test|examples)\//.test(name)).some(needsMore)
    needs.set(path, found)
    return found
  }
  return readdirSync(join(root, 'test'), { recursive: true })
    .map((name) => join('test', String(name)))
    .filter((path) => path.endsWith('.test.ts') && !LEFT_OUT.includes(path) && !needsMore(path))
    .sort()
}
