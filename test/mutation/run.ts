/**
 * Changes the source in small ways, one at a time, and tells which changes no test notices: `npm run test:mutants`, 25 in
 * each area; `npm run test:mutants -- cursors parsers` these areas, `-- cursors/7` the one of that number again.
 *
 * MUTANTS is how many in each area, MUTATION_SEED chooses others, and MUTATION_PREFIX is a command to run each through,
 * such as `flock file`. A mutant has 60 seconds, or MUTATION_SECONDS on a busy machine: the tests of its area first, then
 * others that reach its file.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startPostgres } from '../../examples/support/postgres.js'
import { findFreePort } from '../support/program.js'
import { seededRandom } from '../support/seeded-random.js'
import { type Mutant, mutantsOf } from './mutants.js'

interface Area {
  /** Files and folders that are changed. */
  readonly sources: readonly string[]
  /** Tests that come first. */
  readonly tests: readonly string[]
}

const AREAS: Readonly<Record<string, Area>> = {
  permissions: {
    sources: [
      'lib/permissions',
      'plugins/permissions.ts',
      'lib/views/request/parents.ts',
      'lib/views/request/require-user.ts',
    ],
    tests: [
      'test/lib/permissions',
      'test/api/permissions',
      'test/api/nested-routes',
      'test/api/row-locks',
      'test/api/configuration',
      'test/trust/access-matrix',
    ],
  },
  transactions: {
    sources: [
      'lib/postgres/in-transaction.ts',
      'lib/views/request/in-view-transaction.ts',
      'lib/views/request/run-action.ts',
      'lib/views/steps/object-to-write.ts',
      'lib/views/steps/hold-rows.ts',
      'lib/views/steps/bulk-objects.ts',
      'lib/views/steps/concurrency.ts',
      'lib/views/steps/write-conditions.ts',
      'lib/views/steps/write-by-statement.ts',
      'lib/rows/row-update.ts',
      'plugins/transaction.ts',
    ],
    tests: [
      'test/api/writes-by-statement',
      'test/plugins/transaction',
      'test/api/row-locks',
      'test/api/optimistic-concurrency',
      'test/api/bulk',
      'test/api/actions',
      'test/api/composite-keys',
      'test/api/triggers-and-hooks',
      'test/api/resource-routes',
    ],
  },
  cursors: {
    sources: [
      'lib/pagination/cursor-pagination.ts',
      'lib/pagination/cursor-token.ts',
      'lib/pagination/server-cursor-pagination.ts',
      'lib/pagination/server-cursor-store.ts',
      'lib/queryset/database-cursor.ts',
      'lib/queryset/keyset.ts',
      'lib/queryset/where-beyond.ts',
    ],
    tests: [
      'test/lib/pagination',
      'test/lib/queryset/keyset',
      'test/lib/queryset/database-cursor',
      'test/api/server-cursor',
      'test/api/cursor',
      'test/api/configuration',
    ],
  },
  filters: {
    sources: ['lib/filters', 'lib/filters/relations'],
    tests: ['test/lib/filters', 'test/api/filter', 'test/api/lookups', 'test/api/related-', 'test/api/search'],
  },
  rules: {
    sources: [
      'lib/rules',
      'lib/queryset/visible-rows.ts',
      'lib/queryset/visible-fields.ts',
      'lib/serializers/check-written.ts',
      'lib/serializers/guard-fields.ts',
      'lib/serializers/limited-fields.ts',
      'lib/serializers/readable-at.ts',
      'lib/serializers/shown-by.ts',
    ],
    tests: ['test/lib/rules', 'test/api/rule', 'test/api/field-rules', 'test/trust/field-rules'],
  },
  nested: {
    sources: [
      'lib/serializers/lock-rows.ts',
      'lib/serializers/replace-sets.ts',
      'lib/serializers/split-writes.ts',
      'lib/serializers/validate-nested.ts',
      'lib/serializers/validate-related.ts',
      'lib/serializers/write-links.ts',
      'lib/serializers/write-relations.ts',
      'lib/serializers/write-tree.ts',
    ],
    tests: ['test/lib/serializers', 'test/api/saving', 'test/api/nested', 'test/api/written-rows', 'test/api/links-'],
  },
  changes: {
    sources: ['lib/changes'],
    tests: ['test/lib/changes', 'test/api/changes', 'test/api/change-streams', 'test/api/client-changes'],
  },
  webhooks: {
    sources: ['lib/webhooks'],
    tests: ['test/lib/webhooks', 'test/api/webhook'],
  },
  parsers: {
    sources: ['lib/parsers'],
    tests: ['test/lib/parsers', 'test/api/content-negotiation', 'test/api/uploads'],
  },
  fields: {
    sources: ['lib/fields'],
    tests: [
      'test/lib/fields',
      'test/api/fields',
      'test/api/types-of-columns',
      'test/api/values-sent-back',
      'test/api/uploads',
    ],
  },
  rows: {
    sources: ['lib/rows'],
    tests: [
      'test/lib/rows',
      'test/api/row-path',
      'test/api/rows-and-instances',
      'test/api/nested-lists',
      'test/api/writes-by-statement',
    ],
  },
  serializers: {
    sources: ['lib/serializers'],
    tests: [
      'test/lib/serializers',
      'test/api/serializers',
      'test/api/fields-and-expand',
      'test/api/merge-patch',
      'test/api/json-patch',
      'test/api/relations',
      'test/api/writes',
      'test/api/bulk',
    ],
  },
  queryset: {
    sources: ['lib/queryset'],
    tests: [
      'test/lib/queryset',
      'test/api/querysets',
      'test/api/queryset-statements',
      'test/api/own-querysets',
      'test/api/relations',
      'test/api/rules',
      'test/api/unseen-writes',
    ],
  },
  aggregates: {
    sources: ['lib/aggregates', 'lib/views/aggregates.ts', 'lib/views/steps/read-aggregates.ts'],
    tests: ['test/api/aggregate', 'test/api/facets'],
  },
  openapi: {
    sources: ['lib/openapi'],
    tests: [
      'test/lib/openapi',
      'test/api/openapi',
      'test/api/output-schemas',
      'test/api/related-schemas',
      'test/api/client-document',
    ],
  },
  explain: {
    sources: ['lib/explain'],
    tests: ['test/api/explain', 'test/lib/cli/explain', 'test/golden'],
  },
  idempotency: {
    sources: ['lib/idempotency', 'plugins/idempotency.ts'],
    tests: ['test/lib/idempotency', 'test/api/idempotency'],
  },
  throttling: {
    sources: ['lib/throttling', 'plugins/throttle.ts'],
    tests: ['test/lib/throttling', 'test/api/throttling', 'test/plugins/throttle'],
  },
  ids: {
    sources: ['lib/ids'],
    tests: [
      'test/lib/ids',
      'test/api/external-ids',
      'test/api/stored-ids',
      'test/api/patched-ids',
      'test/api/replaced-id-keys',
    ],
  },
  authentication: {
    sources: ['lib/authentication', 'lib/jwt', 'lib/api-keys', 'lib/http/challenges.ts'],
    tests: [
      'test/lib/jwt',
      'test/lib/api-keys',
      'test/api/authentication',
      'test/api/jwt',
      'test/api/callers-of-two-kinds',
    ],
  },
  client: {
    sources: ['lib/client'],
    // those of the bundle, of types and of the document compile for long
    tests: ['test/lib/client', 'test/api/client-answers', 'test/api/client-changes', 'test/api/client-requests'],
  },
  views: {
    sources: ['lib/views', 'lib/views/checks', 'lib/views/mixins', 'lib/views/request', 'lib/views/steps'],
    tests: [
      'test/lib/views',
      'test/api/generic-views',
      'test/api/resource-routes',
      'test/api/actions',
      'test/api/bulk',
      'test/api/soft-deletes',
      'test/api/optimistic-concurrency',
      'test/api/configuration',
      'test/api/nested-routes',
      'test/api/overrides',
    ],
  },
  router: {
    sources: ['lib/router'],
    tests: [
      'test/lib/router',
      'test/api/adapters',
      'test/api/api-root',
      'test/api/nested-routes',
      'test/api/other-middleware',
    ],
  },
  models: {
    sources: ['lib/models'],
    tests: [
      'test/lib/models',
      'test/api/mappers',
      'test/api/types-of-columns',
      'test/api/foreign-schemas',
      'test/api/relations',
      'test/api/objection-plugins',
    ],
  },
  postgres: {
    sources: ['lib/postgres'],
    tests: [
      'test/lib/postgres',
      'test/api/database-refusals',
      'test/api/prepared-statements',
      'test/api/row-level-security',
      'test/api/changed-schemas',
      'test/api/one-transaction',
    ],
  },
  kernel: { sources: ['lib/kernel'], tests: ['test/lib/kernel', 'test/api/errors', 'test/api/problem-details'] },
  http: {
    sources: ['lib/http', 'lib/caching', 'plugins'],
    tests: [
      'test/lib/http',
      'test/lib/caching',
      'test/plugins',
      'test/api/conditional-requests',
      'test/api/prefer',
      'test/api/abandoned-requests',
    ],
  },
  pagination: { sources: ['lib/pagination'], tests: ['test/lib/pagination', 'test/api/pagination', 'test/api/cursor'] },
  tools: { sources: ['lib/mcp'], tests: ['test/api/mcp'] },
  cli: { sources: ['lib/cli', 'lib/cli/init', 'lib/cli/schema'], tests: ['test/lib/cli'] },
  assets: { sources: ['lib/assets'], tests: ['test/lib/assets', 'test/plugins', 'test/api/app-version'] },
  answers: {
    sources: ['lib/renderers', 'lib/patches', 'lib/metadata', 'lib/versioning', 'lib/metering', 'lib/replicas'],
    tests: [
      'test/lib/renderers',
      'test/lib/patches',
      'test/api/content-negotiation',
      'test/api/json-patch',
      'test/api/metadata',
      'test/api/versioning',
      'test/lib/metering',
      'test/api/metering',
      'test/api/replicas',
      'test/api/streams',
    ],
  },
  factories: { sources: ['lib/factories'], tests: ['test/lib/factories', 'test/api/factories', 'test/api/table'] },
}

/** The kinds of changes, of which each gets its share. */
const KINDS: readonly RegExp[] = [
  / to (?!true|false)/,
  /bound/,
  /await/,
  /lock/,
  /branches|guard/,
  /negation|true|false|call/,
]

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** A test that waits for ever is one that has noticed. */
const TEST_MILLISECONDS = 15_000
const CONFIG = ['--config', '.config/vitest.config.ts', '--bail', '1', '--testTimeout', String(TEST_MILLISECONDS)]
const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs')
const { MUTANTS = '25', MUTATION_SEED = '28', MUTATION_SECONDS = '60', MUTATION_PREFIX = '' } = process.env
const SECONDS = Number(MUTATION_SECONDS)

interface Chosen extends Mutant {
  readonly file: string
}

function filesOf(source: string): string[] {
  if (source.endsWith('.ts')) return [source]
  return readdirSync(join(ROOT, source))
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `${source}/${name}`)
}

/** Each kind in turn gives one, so that what is rare is not left out. */
function choose({ sources }: Area): Chosen[] {
  const random = seededRandom(Number(MUTATION_SEED))
  const all = sources
    .flatMap(filesOf)
    .toSorted()
    .flatMap((file) => mutantsOf(file, readFileSync(join(ROOT, file), 'utf8')).map((mutant) => ({ file, ...mutant })))
  const kinds = KINDS.map((kind) => all.filter(({ change }) => kind.test(change)))
  const chosen: Chosen[] = []
  for (let turn = 0; chosen.length < Number(MUTANTS) && kinds.some((kind) => kind.length > 0); turn++) {
    const kind = kinds[turn % kinds.length] as Chosen[]
    if (kind.length > 0) chosen.push(...kind.splice(random(kind.length), 1))
  }
  return chosen
}

/** What ended a run of tests: the first failure, the end of its time, or nothing. */
async function test(args: readonly string[], seconds: number, url: string): Promise<string | undefined> {
  const timeout = ['timeout', '--kill-after=5', String(seconds)]
  const [command, ...rest]: string[] = [
    ...MUTATION_PREFIX.split(' ').filter(Boolean),
    ...timeout,
    process.execPath,
    vitest,
  ]
  const child = spawn(command as string, [...rest, ...args, ...CONFIG], {
    cwd: ROOT,
    env: { ...process.env, DATABASE_URL: url, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += String(data)))
  const [code] = (await once(child, 'close')) as [number | null]
  if (code === 0) return undefined
  if (code === 124 || code === 137) return /^ *FAIL .*|^ *× .*/m.exec(output)?.[0].trim() ?? TIME
  // files that the first failure breaks off fail as well, and are named without a test
  const failures = [/^ *FAIL .* > .*/m, /^ *FAIL .*/m, /^.*Error: .*/m]
  return failures.map((one) => one.exec(output)?.[0].trim()).find((one) => one !== undefined) ?? `ended with ${code}`
}

const TIME = 'the end of its time'

async function notice({ file, source }: Chosen, { tests }: Area, url: string): Promise<string | undefined> {
  const path = join(ROOT, file)
  const original = readFileSync(path, 'utf8')
  const restore = () => writeFileSync(path, original)
  const stop = () => {
    restore()
    process.exit(130)
  }
  process.once('SIGINT', stop).once('SIGTERM', stop)
  try {
    writeFileSync(path, source)
    const begin = performance.now()
    const near = await test(['run', ...tests], SECONDS, url)
    const left = SECONDS - Math.round((performance.now() - begin) / 1000)
    if (near !== undefined || left < 5) return near
    const others = tests.flatMap((one) => ['--exclude', `${one}*`, '--exclude', `${one}/**`])
    return await test(['related', '--run', file, ...others], left, url)
  } finally {
    restore()
    process.removeListener('SIGINT', stop).removeListener('SIGTERM', stop)
  }
}

const asked = process.argv.slice(2)
const names = asked.length > 0 ? [...new Set(asked.map((one) => one.split('/')[0] as string))] : Object.keys(AREAS)
const port = await findFreePort()
const postgres = await startPostgres({ listen: { host: '127.0.0.1', port }, settings: { max_connections: '200' } })
const { user, password = '', database } = postgres.connection
const url = `postgres://${user}:${password}@127.0.0.1:${port}/${database}`
try {
  for (const name of names) {
    const area = AREAS[name]
    if (!area) throw new Error(`there is no area ${name}: ${Object.keys(AREAS).join(', ')}`)
    const failing = await test(['run', ...area.tests], 10 * SECONDS, url)
    if (failing !== undefined) throw new Error(`${name}: its tests fail before anything is changed: ${failing}`)
    const mutants = choose(area)
    const numbers = asked.filter((one) => one.startsWith(`${name}/`)).map((one) => Number(one.split('/')[1]))
    let noticed = 0
    let tried = 0
    for (const [index, mutant] of mutants.entries()) {
      if (numbers.length > 0 && !numbers.includes(index + 1)) continue
      const how = await notice(mutant, area, url)
      tried++
      if (how !== undefined && how !== TIME) noticed++
      const { file, line, change, before, after } = mutant
      console.log(
        `${name}/${index + 1} ${how === undefined ? 'SURVIVES' : how === TIME ? 'UNDECIDED' : 'noticed'} ${file}:${line} ${change}`,
      )
      console.log(how === undefined || how === TIME ? `    ${before}\n    ${after}` : `    ${how}`)
    }
    console.log(`${name}: ${noticed} of ${tried} noticed`)
  }
} finally {
  await postgres.stop()
}
